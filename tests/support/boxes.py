"""Sandboxes for tests: one wall or none, the directories their calls are about, and what lives below their zygotes."""

import json
import os
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from diffmem.limits import Deadline
from diffmem.shell.sandbox import ALL_LAYERS, Layer, Sandbox

WORKER = Path(__file__).with_name("sandbox_worker.py")
WALLS: tuple[Layer, ...] = ("landlock", "jail")


@dataclass(frozen=True)
class Place:
    """The three directories of a call, and one that belongs to nobody's."""

    tree: Path
    git_dir: Path
    objects: Path
    outside: Path


@dataclass(frozen=True)
class Box:
    """A sandbox and the directories its calls are about; see `sandbox_worker` for what `code` may use."""

    sandbox: Sandbox
    place: Place

    def run(self, code: str, *, seconds: float = 20, max_output_bytes: int = 1_000_000) -> list[Any]:
        """What `code` puts into `found`."""
        found: list[Any] = json.loads(self.raw(code, seconds=seconds, max_output_bytes=max_output_bytes))
        return found

    def raw(self, code: str, *, seconds: float = 20, max_output_bytes: int = 1_000_000) -> bytes:
        """Everything that `code` makes the worker write."""
        place = self.place
        request = textwrap.dedent(code).encode()
        return self.sandbox.call(request, place.tree, place.git_dir, place.objects, Deadline(seconds), max_output_bytes)

    def attempt(self, expression: str) -> Any:
        """The value of `expression` in the worker, or the name of the error it raises."""
        return self.run(f"found.append(attempt(lambda: {expression}))")[0]


@contextmanager
def made_place() -> Iterator[Place]:
    """Directories that every user may enter, with a file in each that anyone could write, and a script in the tree.

    Not below pytest's directory, which is closed to others.
    """
    with tempfile.TemporaryDirectory(prefix="diffmem-sandbox-") as folder:
        Path(folder).chmod(0o755)
        yield _fill(Path(folder))


def _fill(folder: Path) -> Place:
    found = Place(*(folder / name for name in ("tree", "git", "objects", "outside")))
    for path in (found.tree, found.git_dir, found.objects, found.outside):
        path.mkdir()
        (path / "file.txt").write_text(f"in {path.name}\n")
        (path / "file.txt").chmod(0o666)
    script = found.tree / "cat"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    return found


def walled(wall: Layer) -> Sandbox:
    """A sandbox with every layer but the other wall."""
    return Sandbox("require", layers=ALL_LAYERS - set(WALLS) | {wall}, worker=WORKER)


@contextmanager
def walled_box(wall: Layer, place: Place) -> Iterator[Box]:
    """A box behind `wall`; skips the test where this kernel has none such."""
    sandbox = walled(wall)
    try:
        status = sandbox.status()
        if not status.usable:
            pytest.skip(status.detail)
        yield Box(sandbox, place)
    finally:
        sandbox.close()


def is_gone(pid: int) -> bool:
    """Whether no process has this id."""
    return not Path(f"/proc/{pid}").exists()


def zygotes() -> set[int]:
    """The zygotes that this process started."""
    mine = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            line = status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"zygote_main.py" in line:
            mine.add(int(status.parent.name))
    return mine


def assert_idle() -> None:
    """Every zygote has one child, the worker of the next call, and that has none."""
    for zygote in zygotes():
        until = time.monotonic() + 10
        while not _children(zygote) and time.monotonic() < until:
            os.sched_yield()
        (worker,) = _children(zygote)
        assert _children(worker) == set()


def _children(process: int) -> set[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return {int(pid) for one in lists for pid in one.read_text().split()}
