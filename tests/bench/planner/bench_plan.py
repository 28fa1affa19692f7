"""Milliseconds of `plan_offline`, warm, by hand: `python -m tests.bench.planner.bench_plan [megabytes|commits]`.

Sessions of made-up small talk with entity files beside them, in a real repository on a bucket on disk. `megabytes`
grows the text (0.1, 1 and 4 MB), `commits` the history (50, 1,000 and 10,000; it takes some minutes to make).
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from diffmem.limits import Deadline
from diffmem.memory import Message, Session, render_session, session_path
from diffmem.planner import plan_offline
from diffmem.repository import Snapshot
from tests.support.memories import Memory

NOW = datetime(2026, 7, 1, tzinfo=UTC)
QUESTIONS = (
    "When did Maya start her pottery class?",
    "What did Tom say about the accident on the way to the beach last week?",
    "It is my birthday and I feel so alone. Maya left early this morning, and nobody called.",
    "Which books has Maya read this year?",
)
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvwz" for vowel in "aeio"]
_COMMON_TEXT = (
    "the I you we was is had went to a my of and in that it with for on so at this but really great just about work "
    "home day week birthday beach books read class pottery car trip family friend accident dinner yesterday morning"
)
_COMMON = _COMMON_TEXT.split()
_MESSAGES = 20
_ROUNDS = 5


def main(arguments: Sequence[str]) -> None:
    """Print one line for each size."""
    which = arguments[0] if arguments else "megabytes"
    for label, memory in _by_commits() if which == "commits" else _by_megabytes():
        with memory.open() as snapshot:
            spent = sorted(_milliseconds(snapshot, question) for question in QUESTIONS for _ in range(_ROUNDS))
        print(f"{label:>14}: median {statistics.median(spent):6.1f} ms, worst {spent[-1]:6.1f} ms", flush=True)


def _milliseconds(snapshot: Snapshot, question: str) -> float:
    began = time.perf_counter()
    plan_offline(snapshot, [("user", question)], NOW, 4000, Deadline(20))
    return (time.perf_counter() - began) * 1000


def _by_megabytes() -> Iterator[tuple[str, Memory]]:
    for megabytes in (0.1, 1.0, 4.0):
        with tempfile.TemporaryDirectory() as folder:
            memory, size, files, number = Memory(Path(folder)), 0, {}, 0
            while size < megabytes * 1_000_000:
                path, data = _session(number)
                files[path] = data
                size, number = size + len(data), number + 1
            files.update(_entity(at) for at in range(20))
            memory.write(files, "2026-06-01")
            yield f"{megabytes} MB", memory


def _by_commits() -> Iterator[tuple[str, Memory]]:
    with tempfile.TemporaryDirectory() as folder:
        memory, made = Memory(Path(folder)), 0
        for commits in (50, 1_000, 10_000):
            for number in range(made, commits):
                path, data = _session(number % 400)
                edition = data + b"\n" * (number // 400)
                memory.write(dict([(path, edition), _entity(number % 20, number)]), "2026-06-01")
            made = commits
            yield f"{commits} commits", memory


def _session(number: int) -> tuple[str, bytes]:
    random_words = random.Random(number)
    at = datetime(2025, 1, 1, 12, tzinfo=UTC) + timedelta(hours=13 * number)
    messages = tuple(_message(random_words, turn) for turn in range(_MESSAGES))
    session = Session(f"talk-{number}", at, messages, state="archived")
    return session_path(session), render_session(session)


def _message(random_words: random.Random, turn: int) -> Message:
    words = [
        random_words.choice(_COMMON) if random_words.random() < 0.6 else _invented(random_words)
        for _ in range(random_words.randint(4, 40))
    ]
    return Message("user", " ".join(words).capitalize() + random_words.choice(".?!"), "Maya" if turn % 2 else "Tom")


def _invented(random_words: random.Random) -> str:
    return "".join(random_words.choice(_SYLLABLES) for _ in range(random_words.randint(2, 3)))


def _entity(at: int, edition: int = 0) -> tuple[str, bytes]:
    name = _invented(random.Random(at))
    facts = "".join(f"- Fact {fact} of edition {edition} about {name}.\n" for fact in range(12))
    return f"memories/people/{name}-{at}.md", f"---\nname: {name}\n---\n\n# {name}\n\n## Facts\n\n{facts}".encode()


if __name__ == "__main__":
    main(sys.argv[1:])
