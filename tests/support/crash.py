"""A writer that dies: commits to a shared bucket, loses replies, and is killed again and again.

    python -m tests.support.crash '{"bucket": ..., "cache": ..., "writer": 3, "commits": 20, "seed": 7, ...}'

One process forks one life after another. A life repeats every commit that was not acknowledged, under the same `tx`,
until it is killed: at a call to the bucket, or at any moment. The last life is left alone. Acknowledgements are lines
of a file.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from diffmem.repository import Change, Repositories, Snapshot
from diffmem.storage import Bucket, LocalBucket, open_bucket
from tests.support.machines import USER, deadline
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Lossy, Moment


@dataclass(frozen=True)
class Writer:
    """What one writer does; `store` as DIFFMEM_STORE has it. It waits for `pause_share` of the time it should."""

    store: str
    cache: str
    acknowledged: str
    writer: int
    commits: int
    seed: int
    deaths: int
    lost_share: float
    file_bytes: int = 4_000
    pause_share: float = 1.0

    def command(self) -> list[str]:
        """The command line of its process."""
        return [sys.executable, "-m", "tests.support.crash", json.dumps(asdict(self))]


def line_of(writer: int, number: int) -> str:
    """The line that a writer's commit adds to log.md; also its tx."""
    return f"writer {writer} line {number}"


def main() -> None:
    writer = Writer(**json.loads(sys.argv[1]))
    chance = random.Random(writer.seed)
    open_bucket(writer.store).preload()
    for death in range(writer.deaths + 1):
        last = death == writer.deaths
        seed = chance.random()
        pid = os.fork()
        if pid == 0:
            _live(writer, random.Random(seed), mortal=not last)
            os._exit(0)
        if not last and chance.random() < 0.5:
            time.sleep(chance.uniform(0.02, 0.4))
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if last and status:
            sys.exit(f"the last life of writer {writer.writer} ended with {status}")


def _live(writer: Writer, chance: random.Random, *, mortal: bool) -> None:
    calls = chance.randrange(3, 40) if mortal else -1

    def hook(moment: Moment, operation: str, name: str) -> None:
        nonlocal calls
        calls -= 1
        if calls == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    bucket: Bucket = Lossy(open_bucket(writer.store), writer.lost_share, chance.randrange(1 << 30))
    repositories = Repositories(
        Hooked(bucket, hook),
        Path(writer.cache),
        cache_max_bytes=1 << 30,
        id_secret=None,
        sleep=lambda seconds: time.sleep(seconds * writer.pause_share),
    )
    acknowledged = Path(writer.acknowledged)
    done = acknowledged.read_text().splitlines() if acknowledged.exists() else []
    for number in range(writer.commits):
        line = line_of(writer.writer, number)
        if line not in done:
            _commit(repositories, writer, number, line)
            with acknowledged.open("a") as file:
                file.write(line + "\n")


def _commit(repositories: Repositories, writer: Writer, number: int, line: str) -> None:
    text = noise(writer.file_bytes, writer.writer * 1000 + number).encode()

    def edit(snapshot: Snapshot) -> Change:
        before = snapshot.read("log.md") if "log.md" in snapshot.paths() else b""
        assert line.encode() not in before.splitlines(), "the edit was made twice"
        return Change({"log.md": before + line.encode() + b"\n", f"{line}.md": text}, line)

    repositories.commit(USER, edit, deadline(120), create=True, tx=line).snapshot.close()


def local_store(directory: Path) -> tuple[str, LocalBucket]:
    """A bucket in a directory, and its name for a writer."""
    return f"file:{directory}", LocalBucket(directory)


if __name__ == "__main__":
    main()
