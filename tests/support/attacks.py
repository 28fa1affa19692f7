"""The attack corpus, run against a tool and judged by outcome: what was made, printed, changed, left or used up."""

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from diffmem.git import Checkout
from diffmem.limits import Deadline, Limits
from diffmem.shell import Tool, ToolResult

CORPUS = Path(__file__).parent.parent / "shell" / "data" / "vectors.jsonl"
LIMITS = Limits(tool_call_seconds=3.0, tool_pipeline_seconds=1.0)
"""Shorter than the product's, so that endless commands end soon; what these bound, those bound too."""

_CALL_SECONDS = 25.0
_OUTPUT_BYTES = 200_000
MEMORY_BYTES = 1_000_000_000
_PARALLEL = 4
_CANARY = re.compile(r"CANARY-[A-Z]|root:x:0:0:")


@dataclass(frozen=True, slots=True)
class Attack:
    """One line of the corpus."""

    id: str
    command: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What a run of the corpus came to: the result of each attack, and what can only be said of all together."""

    results: Mapping[str, ToolResult]
    seconds: Mapping[str, float]
    markers: frozenset[str]
    changed: bool
    left_running: tuple[str, ...]
    peak_bytes: int

    def bad_outcomes(self, attack: Attack) -> list[str]:
        """What `attack` achieved."""
        result = self.results[attack.id]
        outcomes = {
            "made a file": f"m.{attack.id}" in self.markers,
            "printed what is not its own": bool(_CANARY.search(result.output)),
            "ran too long": self.seconds[attack.id] > _CALL_SECONDS,
            "wrote too much": len(result.output.encode()) > _OUTPUT_BYTES,
        }
        return [outcome for outcome, happened in outcomes.items() if happened]


def corpus(root: Path | None = None) -> list[Attack]:
    """Every attack; with `root`, aimed at the fixture there."""
    lines = (json.loads(line) for line in CORPUS.read_text().splitlines())
    return [Attack(one["id"], one["command"].replace("@ROOT@", str(root)), one["class"], one["why"]) for one in lines]


def run(tool: Tool, root: Path, checkouts: Mapping[str, Checkout]) -> Batch:
    """The whole corpus on `tool`, several calls at a time; attacks of the kind repo-content on checkouts["evil"]."""
    before = _state(root)
    results: dict[str, ToolResult] = {}
    seconds: dict[str, float] = {}

    def attack(one: Attack) -> None:
        deadline = Deadline(_CALL_SECONDS)
        checkout = checkouts["evil" if one.kind == "repo-content" else "memory"]
        results[one.id] = tool.run(one.command, checkout, deadline)
        seconds[one.id] = _CALL_SECONDS - deadline.remaining()

    with _Meter() as meter, ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(attack, corpus(root)))
    left = left_running()
    markers = frozenset(path.name for path in root.rglob("m.*"))
    return Batch(results, seconds, markers, _state(root) != before, left, meter.peak_bytes)


def left_running(*, with_zygotes: bool = False) -> tuple[str, ...]:
    """The command lines of the processes below this one that no tool needs between calls."""
    commands = [_command(pid) for pid in _descendants()]
    return tuple(command for command in commands if with_zygotes or "zygote_main" not in command)


def _state(root: Path) -> str:
    """A digest of everything under the fixture but markers: names, kinds, modes, sizes, contents."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.name.startswith("m."):
            continue
        status = path.lstat()
        digest.update(
            f"{path}\0{status.st_mode}\0{status.st_mtime_ns}\0{status.st_size}\n".encode(errors="surrogateescape")
        )
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _Meter:
    """The largest sum of resident memory of all processes this one started, sampled."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> "_Meter":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(0.05):
            self.peak_bytes = max(self.peak_bytes, max(_memory_of_workers(), default=0))


def _memory_of_workers() -> Iterator[int]:
    """The memory of each call's processes together: each child of a zygote with all below it."""
    children = _children()
    zygotes = [
        pid for pid in _below(_own(), children) if "zygote_main" in _command(pid) and _parent_is_us(pid, children)
    ]
    for zygote in zygotes:
        for worker in children.get(zygote, ()):
            yield sum(map(_resident, [worker, *_below(worker, children)]))


def _own() -> int:
    return int(Path("/proc/self").readlink().name)


def _parent_is_us(pid: int, children: Mapping[int, list[int]]) -> bool:
    return pid in children.get(_own(), ())


def _descendants() -> list[int]:
    return list(_below(_own(), _children()))


def _below(pid: int, children: Mapping[int, list[int]]) -> Iterator[int]:
    for child in children.get(pid, ()):
        yield child
        yield from _below(child, children)


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for pid, fields in _stats():
        children.setdefault(int(fields[1]), []).append(pid)
    return children


def _stats() -> Iterable[tuple[int, list[str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
