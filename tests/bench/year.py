"""A year of daily sessions for one user through the writer: how large memory grows, and what a write costs.

    python -m tests.bench.year [DAYS]

No network: a bucket on disk, and a model that answers at once with an edit plan of five edits a session, about 60
people and themes. Milliseconds are the writer's own, without a model's share and without storage latency. Run by hand.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from diffmem.limits import Deadline
from diffmem.memory import Message, new_session
from diffmem.model import Message as Said
from diffmem.repository import Repositories
from diffmem.storage import LocalBucket, MeteredBucket
from diffmem.writer import Remembered, remember
from tests.support.scripted_model import ScriptedModel, edits

NAMES = [
    f"{first} {last}"
    for first in ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn")
    for last in ("Ito", "Roy", "Sand", "Tal", "Ude")
]
THEMES = [f"{what} {n}" for what in ("Project", "Trip", "Course") for n in range(10)]
WORDS = ("garden", "river", "market", "letter", "window", "morning", "music", "bridge", "bread", "winter", "paper")
START = datetime(2025, 1, 1, 19, tzinfo=UTC)
REPORTED = (1, 10, 100, 200, 365)


def conversation(day: int, chance: random.Random) -> tuple[list[Message], str]:
    """A session of 24 messages, and the edit plan that a model would write of it."""
    at = START + timedelta(days=day)
    messages, plan = [], []
    for n in range(24):
        subject = chance.choice(NAMES if n % 2 else THEMES)
        sentence = f"{subject} has to do with {' '.join(chance.choices(WORDS, k=14))} on day {day}."
        messages.append(
            Message("user" if n % 2 else "assistant", sentence, at=at + timedelta(minutes=n), id=f"{day}:{n}")
        )
        if n < 4:
            kind = "people" if n % 2 else "contexts"
            section = chance.choice(["Work", "Life", "Plans"])
            plan.append(
                {"op": "add", "entity": subject, "kind": kind, "section": section, "fact": sentence, "quote": sentence}
            )
        elif n == 4:
            plan.append({"op": "event", "date": str(at.date()), "fact": sentence, "quote": sentence})
    return messages, edits(*plan, summary=f"Day {day}")


def main(days: int) -> None:
    """Print a table of the days in `REPORTED`, and the sizes at the end."""
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        bucket = MeteredBucket(LocalBucket(Path(folder) / "bucket"))
        repositories = Repositories(bucket, Path(folder) / "cache", cache_max_bytes=1 << 30, id_secret=None)
        print("session   archive ms   distil ms   requests   KB moved   manifest KB   index KB   largest KB")
        spent: list[float] = []
        for day in range(1, days + 1):
            done, seconds = one_day(repositories, day, chance)
            spent.append(1000 * seconds)
            if day in REPORTED or day == days:
                report(repositories, Path(folder), day, done)
            elif day % 25 == 0:
                print(f"... {day}", end="\r", flush=True)
        print(f"ms a session: p50 {statistics.median(spent):.0f}, p95 {statistics.quantiles(spent, n=20)[-1]:.0f}")


def one_day(repositories: Repositories, day: int, chance: random.Random) -> tuple[Remembered, float]:
    """What became of the session of that day, and the seconds it took."""
    messages, plan = conversation(day, chance)

    def answer(_: Sequence[Said]) -> str:
        return plan

    session = new_session(now=START, session_id=f"day-{day}", messages=messages)
    started = time.perf_counter()
    done = remember(repositories, None, ScriptedModel([answer]), "alex", session, Deadline(60.0))
    assert not done.pending and not done.warnings, done
    return done, time.perf_counter() - started


def report(repositories: Repositories, folder: Path, day: int, done: Remembered) -> None:
    """One line of the table."""
    with repositories.open("alex", Deadline(60.0)) as snapshot:
        sizes = {path: len(data) for path, data in snapshot.read_all(snapshot.paths()).items()}
    memory = {path: size for path, size in sizes.items() if not path.startswith("sessions/")}
    largest = max(memory, key=lambda path: memory[path])
    manifest = max((path.stat().st_size for path in (folder / "bucket").rglob("*") if path.name == "m"), default=0)
    stored = sum(path.stat().st_size for path in (folder / "bucket").rglob("*") if path.is_file())
    print(
        f"{day:7}   {done.timings_ms['archive']:10}   {done.timings_ms['distill']:9}   {done.storage.requests:8}"
        f"   {done.storage.bytes / 1000:8.0f}   {manifest / 1000:11.0f}   {sizes['index.md'] / 1000:8.1f}"
        f"   {memory[largest] / 1000:6.1f} {largest}; {len(sizes)} files, {sum(sizes.values()) / 1000:.0f} KB,"
        f" bucket {stored / 1000:.0f} KB"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 365)
