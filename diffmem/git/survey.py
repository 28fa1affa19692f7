"""Everything that a history holds, looked over without unfolding it: a tree that is there twice is read once.

A few objects can stand for more files than a disk has room for (a tree of ten trees of ten trees ...). So what a tree
amounts to is added up from what its folders amount to, and nothing is listed recursively before that is known.

*Covered*: names, depths, links, submodules and odd modes in every revision; the number and the bytes of the files of
each; times that nothing later could work with; how long the list of all changes is. *Not covered*: what the files say.
"""

import os
import re
import selectors
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from diffmem.errors import DeadlineExceeded, NotABundle, UnsafePath
from diffmem.git.environment import Checkout
from diffmem.git.objects import FILE_MODES, read_objects
from diffmem.git.packscan import Bounds
from diffmem.git.paths import MAX_DEPTH, MAX_PATH_BYTES, unsafe_reason
from diffmem.git.process import kill, run, start
from diffmem.limits import Deadline

_ENTRY = re.compile(rb"([0-7]+) ([^\0]*)\0(.{20})", re.DOTALL)
_FOLDER = b"40000"
_REFUSED = {b"120000": "is a symbolic link", b"160000": "is a submodule"}
_END_OF_TIME = 4_102_444_800  # 2100, as everywhere in the contract
_LOT = 500
_READ_BYTES = 256 * 1024
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What a history amounts to; `recorded_at` is the head's, in seconds since 1970."""

    commits: int
    recorded_at: int


class _Extent(NamedTuple):
    """What a tree amounts to with all its folders; `depth` counts the parts of the longest path in it."""

    files: int
    bytes: int
    depth: int
    path_bytes: int


class _Folder(NamedTuple):
    name: bytes
    sha: str


class _Tree(NamedTuple):
    """What a tree holds itself, and its folders."""

    own: _Extent
    folders: tuple[_Folder, ...]


class _Offence(NamedTuple):
    """An entry of a tree that a memory must not hold, and why."""

    tree: str
    name: bytes
    reason: str


def survey(checkout: Checkout, head: str, bounds: Bounds, latest: datetime, deadline: Deadline) -> Surveyed:
    """What the history of the commit `head` amounts to, where a memory may be made of it.

    Raises:
        UnsafePath: some revision holds what a memory must not; the message names the path.
        NotABundle: it is more than `bounds` allow, has a time outside 1970 to 2100, or was recorded after `latest`.
        GitError: an object is missing.
    """
    roots, recorded_at = _commits(checkout, head, bounds, latest, deadline)
    _check_trees(_Trees(checkout, head, bounds, deadline), roots, bounds)
    _check_changes(checkout, head, bounds, deadline)
    return Surveyed(len(roots), recorded_at)


def _commits(
    checkout: Checkout, head: str, bounds: Bounds, latest: datetime, deadline: Deadline
) -> tuple[list[str], int]:
    """The tree of each commit, the head's first, and when the head was recorded."""
    args = ["log", "--topo-order", f"--max-count={bounds.max_commits + 1}", "--format=%H %T %at %ct", head]
    rows = [line.split(" ") for line in run(checkout, args, deadline).output.decode().splitlines()]
    if len(rows) > bounds.max_commits:
        raise NotABundle(f"the bundle's history has more than {bounds.max_commits} commits")
    for sha, _, *times in rows:
        if not all(text and 0 < int(text) < _END_OF_TIME for text in times):
            raise NotABundle(f"the bundle's commit {sha[:12]} has a time that is not between 1970 and 2100")
        if int(times[1]) > latest.timestamp():
            raise NotABundle(
                f"the bundle's commit {sha[:12]} says that it was recorded at a time that is still to come"
            )
    return [row[1] for row in rows], int(rows[0][3])


class _Trees:
    """Every tree that a history reaches, read once, and the first entry that no memory may hold."""

    def __init__(self, checkout: Checkout, head: str, bounds: Bounds, deadline: Deadline) -> None:
        self._sizes: dict[bytes, int] = {}
        self._trees: dict[str, _Tree] = {}
        self._extents: dict[str, _Extent] = {}
        self._allowed: set[tuple[bytes, bytes]] = set()
        self.offence: _Offence | None = None
        trees = self._listed(checkout, head, bounds, deadline)
        for lot in (trees[at : at + _LOT] for at in range(0, len(trees), _LOT)):
            for found in read_objects(checkout, lot, deadline):
                if found:
                    self._trees[found[0]] = self._read(found[0], found[2])

    def extent(self, root: str) -> _Extent:
        """What a tree amounts to. Trees can be nested deeper than Python's stack, so this does not call itself."""
        waiting = [root]
        while waiting:
            sha = waiting.pop()
            if sha in self._extents:
                continue
            unknown = [folder.sha for folder in self._trees[sha].folders if folder.sha not in self._extents]
            if unknown:
                waiting += [sha, *unknown]
            else:
                self._extents[sha] = self._total(self._trees[sha])
        return self._extents[root]

    def path(self, roots: Sequence[str], tree: str) -> bytes:
        """Where `tree` lies in the first revision that has it, with a slash at the end, or empty for a root."""
        found: dict[str, bytes] = dict.fromkeys(roots, b"")
        waiting = list(found)
        for sha in waiting:
            if sha == tree:
                break
            for folder in self._trees[sha].folders:
                if folder.sha not in found:
                    found[folder.sha] = (found[sha] + folder.name + b"/")[: 2 * MAX_PATH_BYTES]
                    waiting.append(folder.sha)
        return found[tree]

    def longest(self, root: str, measure: str) -> bytes:
        """The path of folders, from `root`, along which an extent's `measure` is largest."""
        names = []
        of = attrgetter(measure)
        while folders := self._trees[root].folders:
            name, root = max(folders, key=lambda folder: int(of(self._extents[folder.sha])))
            names.append(name)
        return b"/".join(names)

    def _listed(self, checkout: Checkout, head: str, bounds: Bounds, deadline: Deadline) -> list[str]:
        """The shas of all trees; the sizes of all blobs are noted on the way."""
        shas = run(checkout, ["rev-list", "--objects", "--no-object-names", head], deadline).output
        args = ["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]
        trees = []
        for line in run(checkout, args, deadline, stdin=shas).output.decode().splitlines():
            sha, kind, size = line.split(" ")
            if int(size) > bounds.max_bytes(kind):
                raise NotABundle(
                    f"the bundle's {kind} {sha[:12]} has {size} bytes; {bounds.max_bytes(kind)} are allowed"
                )
            if kind == "tree":
                trees.append(sha)
            elif kind == "blob":
                self._sizes[bytes.fromhex(sha)] = int(size)
        return trees

    def _read(self, sha: str, data: bytes) -> _Tree:
        entries = _ENTRY.findall(data)
        for mode, name in sorted({(mode, name) for mode, name, _ in entries} - self._allowed):
            self._judge(sha, mode, name)
        folders = tuple(_Folder(name, target.hex()) for mode, name, target in entries if mode == _FOLDER)
        size = sum([self._sizes.get(target, 0) for _, _, target in entries])
        longest = max((len(name) for _, name, _ in entries), default=0)
        return _Tree(_Extent(len(entries) - len(folders), size, 1, longest), folders)

    def _judge(self, tree: str, mode: bytes, name: bytes) -> None:
        reason = _REFUSED.get(mode) or _name_reason(name)
        if reason is None and mode != _FOLDER and mode not in FILE_MODES:
            reason = f"has the mode {mode.decode()}"
        if reason is None:
            self._allowed.add((mode, name))
        elif self.offence is None:
            self.offence = _Offence(tree, name, reason)

    def _total(self, tree: _Tree) -> _Extent:
        files, size, depth, path_bytes = tree.own
        for folder in tree.folders:
            inner = self._extents[folder.sha]
            files, size = files + inner.files, size + inner.bytes
            depth = max(depth, 1 + inner.depth)
            path_bytes = max(path_bytes, len(folder.name) + 1 + inner.path_bytes)
        return _Extent(files, size, depth, path_bytes)


def _name_reason(name: bytes) -> str | None:
    return "has a '/' within a name" if b"/" in name else unsafe_reason(name.decode("utf-8", "surrogateescape"))


def _check_trees(trees: _Trees, roots: Sequence[str], bounds: Bounds) -> None:
    if trees.offence:
        path = trees.path(roots, trees.offence.tree) + trees.offence.name
        raise UnsafePath(f"{_shown(path)} {trees.offence.reason}")
    for root in dict.fromkeys(roots):
        extent = trees.extent(root)
        if extent.depth > MAX_DEPTH:
            raise UnsafePath(f"{_shown(trees.longest(root, 'depth'))} is more than {MAX_DEPTH} folders deep")
        if extent.path_bytes > MAX_PATH_BYTES:
            raise UnsafePath(f"{_shown(trees.longest(root, 'path_bytes'))} is longer than {MAX_PATH_BYTES} bytes")
        if extent.files > bounds.max_files:
            raise NotABundle(f"a revision of the bundle has more than {bounds.max_files} files")
        if extent.bytes > bounds.max_files_bytes:
            raise NotABundle(f"the files of one revision of the bundle have more than {bounds.max_files_bytes} bytes")


def _shown(path: bytes) -> str:
    text = path.decode("utf-8", "surrogateescape")
    return repr(text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "...")


def _check_changes(checkout: Checkout, head: str, bounds: Bounds, deadline: Deadline) -> None:
    """Refuse a history whose list of changed paths would fill a memory: small commits can change everything."""
    args = ["log", "-z", "--name-only", "--no-renames", "--diff-merges=first-parent", "--format=", head]
    written = 0
    for part in _written_by(checkout, args, deadline):
        written += len(part)
        if written > bounds.max_changes_bytes:
            raise NotABundle("the bundle's commits change more files than a memory can keep track of")


def _written_by(checkout: Checkout, args: Sequence[str], deadline: Deadline) -> Iterator[bytes]:
    """What a git process writes, piece by piece; it ends with the iterator, and at the deadline."""
    process = start(checkout, args)
    assert process.stdout is not None and process.stderr is not None
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, "output")
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(deadline.remaining())
                if not ready:
                    raise DeadlineExceeded(f"out of time during git {args[0]}")
                for key, _ in ready:
                    part = os.read(key.fd, _READ_BYTES)
                    if not part:
                        selector.unregister(key.fileobj)
                    elif key.data:
                        yield part
    finally:
        kill(process)
