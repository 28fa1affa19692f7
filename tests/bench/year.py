"""A year of daily sessions for one user through the real function: how large memory grows, and what a write costs.

    python -m tests.bench.year [DAYS]

The function is served by functions-framework on a bucket on disk, and asks over HTTP a model that answers at once, with
an edit plan of five edits a session about 60 people and themes: the milliseconds are ours. Run by hand.
"""

import random
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from diffmem.demo.server import Client, serving
from diffmem.limits import Deadline
from diffmem.storage import LocalBucket
from tests.support.provider import Provider, Received, Wire, text
from tests.support.scripted_model import edits

NAMES = [
    f"{first} {last}"
    for first in ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn")
    for last in ("Ito", "Roy", "Sand", "Tal", "Ude")
]
THEMES = [f"{what} {n}" for what in ("Project", "Trip", "Course") for n in range(10)]
WORDS = ("garden", "river", "market", "letter", "window", "morning", "music", "bridge", "bread", "winter", "paper")
START = datetime(2025, 1, 1, 19, tzinfo=UTC)
REPORTED = (1, 10, 100, 200, 365)


def conversation(day: int, chance: random.Random) -> tuple[list[dict[str, Any]], str]:
    """A session of 24 messages, and the edit plan that a model would write of it."""
    at = START + timedelta(days=day)
    messages, plan = [], []
    for n in range(24):
        subject = chance.choice(NAMES if n % 2 else THEMES)
        sentence = f"{subject} has to do with {' '.join(chance.choices(WORDS, k=14))} on day {day}."
        said_at = (at + timedelta(minutes=n)).isoformat()
        messages.append(
            {"role": "user" if n % 2 else "assistant", "content": sentence, "at": said_at, "id": f"{day}:{n}"}
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


class Distiller:
    """A provider's script: the edit plan of the day."""

    def __init__(self) -> None:
        self.plan = ""

    def __call__(self, received: Received) -> Wire:
        return text(self.plan)


def main(days: int) -> None:
    """Print a table of the days in `REPORTED`, and the milliseconds of all."""
    chance, distiller = random.Random(7), Distiller()
    with tempfile.TemporaryDirectory() as folder, Provider([distiller]) as provider:
        environment = {
            "DIFFMEM_STORE": f"file:{folder}/bucket",
            "DIFFMEM_CACHE": f"{folder}/cache",
            "DIFFMEM_SANDBOX": "prefer",
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "none",
        }
        with serving(environment, Path(folder) / "log") as client:
            print("session     ms   archive   distil   requests   KB moved   manifest KB   index KB   largest KB")
            spent: list[float] = []
            for day in range(1, days + 1):
                done, seconds = one_day(client, distiller, day, chance)
                spent.append(1000 * seconds)
                if day in REPORTED or day == days:
                    report(client, Path(folder) / "bucket", day, done, spent[-1])
        print(f"ms a session: p50 {statistics.median(spent):.0f}, p95 {statistics.quantiles(spent, n=20)[-1]:.0f}")


def one_day(client: Client, distiller: Distiller, day: int, chance: random.Random) -> tuple[dict[str, Any], float]:
    """The answer of POST sessions for that day, and the seconds it took."""
    messages, distiller.plan = conversation(day, chance)
    started = time.perf_counter()
    done = client.call("POST", "/v1/users/alex/sessions", {"session_id": f"day-{day}", "messages": messages})
    assert not done["pending"] and not done["warnings"], done
    return done, time.perf_counter() - started


def report(client: Client, bucket: Path, day: int, done: dict[str, Any], milliseconds: float) -> None:
    """One line of the table."""
    sizes = {row["path"]: row["bytes"] for row in client.call("GET", "/v1/users/alex/files")["files"]}
    memory = {path: size for path, size in sizes.items() if not path.startswith("sessions/")}
    largest = max(memory, key=lambda path: memory[path])
    stored = list(LocalBucket(bucket).list("v1/", Deadline(60.0)))
    manifest = sum(listed.size for listed in stored if listed.name.endswith("/m"))
    print(
        f"{day:7}   {milliseconds:4.0f}   {done['timings_ms']['archive']:7}   {done['timings_ms']['distill']:6}"
        f"   {done['storage']['requests']:8}   {done['storage']['bytes'] / 1000:8.0f}   {manifest / 1000:11.0f}"
        f"   {sizes['index.md'] / 1000:8.1f}   {memory[largest] / 1000:6.1f} {largest}; {len(sizes)} files,"
        f" {sum(sizes.values()) / 1000:.0f} KB, bucket {sum(listed.size for listed in stored) / 1000:.0f} KB",
        flush=True,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 365)
