"""How long it takes to open and to write a memory in a bucket far away; see README.md."""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from diffmem.limits import Deadline
from diffmem.repository import Repositories
from diffmem.storage import Bucket, Object
from tests.bench.storage.history import History
from tests.bench.storage.rivals import Bundles, Tar
from tests.support.machines import USER, deadline
from tests.support.model_bucket import ModelBucket
from tests.support.wrapped import Slow

GET_SECONDS, PUT_SECONDS = 0.03, 0.06
MOST_BUNDLES = 1_000  # reading takes a minute then, and ten times as many are ten times as many requests


class Metered(Slow):
    """A bucket as far away as the benchmark says, that counts calls and bytes."""

    def __init__(self, inner: Bucket) -> None:
        super().__init__(inner, get_seconds=GET_SECONDS, put_seconds=PUT_SECONDS)
        self.gets = self.puts = self.bytes = 0

    def get(self, name: str, deadline: Deadline) -> Object:
        found = super().get(name, deadline)
        self.gets, self.bytes = self.gets + 1, self.bytes + len(found.data)
        return found

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        found = super().get_if_changed(name, generation, deadline)
        self.gets, self.bytes = self.gets + 1, self.bytes + (len(found.data) if found else 0)
        return found

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        generation = super().put(name, data, deadline, if_generation=if_generation)
        self.puts, self.bytes = self.puts + 1, self.bytes + len(data)
        return generation


@dataclass
class Row:
    """One kind of request, measured some times; `gets`, `puts` and `kilobytes` are per request."""

    way: str
    commits: int
    what: str
    milliseconds: list[float] = field(default_factory=list)
    gets: float = 0
    puts: float = 0
    kilobytes: float = 0

    def __str__(self) -> str:
        ordered = sorted(self.milliseconds)
        p50, p95 = statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        cells = (f"{p50:.0f}", f"{p95:.0f}", f"{self.gets:.2f}", f"{self.puts:.2f}", f"{self.kilobytes:.0f}")
        return f"| {self.way} | {self.commits} | {self.what} | " + " | ".join(cells) + " |"


def measure(way: str, commits: int, what: str, times: int, bucket: Metered, act: Callable[[], None]) -> Row:
    """Do something some times, and say what it took."""
    row = Row(way, commits, what)
    before = bucket.gets, bucket.puts, bucket.bytes
    for _ in range(times):
        began = time.perf_counter()
        act()
        row.milliseconds.append((time.perf_counter() - began) * 1000)
    row.gets, row.puts = (bucket.gets - before[0]) / times, (bucket.puts - before[1]) / times
    row.kilobytes = (bucket.bytes - before[2]) / times / 1000
    print(row, flush=True)
    return row


def new_machine(bucket: Bucket, directory: Path) -> Repositories:
    return Repositories(bucket, Path(tempfile.mkdtemp(dir=directory)), cache_max_bytes=1 << 30, id_secret=None)


def grow(repositories: Repositories, history: History, commits: int) -> None:
    while history.number < commits:
        edit, tx = history.next()
        repositories.commit(USER, edit, deadline(), create=True, tx=tx).snapshot.close()


def diffmem(sizes: list[int], directory: Path, repeats: int) -> list[Row]:
    """DiffMem's rows, at each size in turn."""
    stored, history, rows = ModelBucket(), History(), []
    builder = new_machine(stored, directory)
    for size in sizes:
        grow(builder, history, size)
        rows += _rows(stored, history, size, directory, repeats)
    return rows


def _rows(stored: Bucket, history: History, size: int, directory: Path, repeats: int) -> list[Row]:
    far = Metered(stored)
    warm = new_machine(far, directory)
    cold = measure("DiffMem", size, "cold open", repeats, far, lambda: _open(new_machine(far, directory)))
    _open(warm)
    again = measure("DiffMem", size, "warm open", repeats * 2, far, lambda: _open(warm))
    _commit(warm, history)
    return [cold, again, measure("DiffMem", size, "commit", repeats * 10, far, lambda: _commit(warm, history))]


def _open(repositories: Repositories) -> None:
    repositories.open(USER, deadline()).close()


def _commit(repositories: Repositories, history: History) -> None:
    grow(repositories, history, history.number + 1)


def rivals(sizes: list[int], directory: Path) -> None:
    """The rows of the two simpler ways."""
    for way, reads in ((Bundles, 1), (Tar, 5)):
        stored, history = ModelBucket(), History()
        rival, far = way(stored, directory), Metered(stored)
        for size in sizes:
            if way is Bundles and size > MOST_BUNDLES:
                continue
            rival.grow(history, size)
            rival.bucket = far
            measure(rival.name, size, "cold open", reads, far, rival.read)
            measure(rival.name, size, "warm open", 10, far, rival.refresh)
            measure(rival.name, size, "commit", 10, far, partial(rival.push, history))
            rival.bucket = stored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 1_000, 10_000])
    parser.add_argument("--repeats", type=int, default=20, help="cold opens a size; commits are ten times as many")
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    parser.add_argument("--directory", default=memory, help="where the caches lie: in memory, as on Cloud Run")
    parser.add_argument("--alone", action="store_true", help="without the two simpler ways")
    options = parser.parse_args()
    print("| way | commits | request | p50 ms | p95 ms | GETs | PUTs | kB |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        rows = diffmem(options.sizes, Path(directory), options.repeats)
        if not options.alone:
            rivals(options.sizes, Path(directory))
    cold = [statistics.median(row.milliseconds) for row in rows if row.what == "cold open"]
    if len(cold) > 1:
        print(f"\ncold open, {options.sizes[-1]} against {options.sizes[-2]} commits: x{cold[-1] / cold[-2]:.2f}")


if __name__ == "__main__":
    main()
