"""Packs as bytes: what git wrote, what its parts are, and several packs made one.

A pack ends with the SHA-1 of what precedes it; git names the file after it, and so does DiffMem. A pack never travels
without its `.idx`, so that nobody has to run index-pack.
"""

import hashlib
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffmem.errors import GitError
from diffmem.git.environment import Checkout
from diffmem.git.process import run
from diffmem.limits import Deadline

_HEADER_BYTES = 12
_TRAILER_BYTES = 20
_FANOUT_AT = 8
_SHA_BYTES = 20


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack file and its index (version 2)."""

    data: bytes
    index: bytes

    @property
    def trailer(self) -> str:
        """The pack's own checksum, 40 hex digits; git calls the file `pack-<trailer>.pack`."""
        return self.data[-_TRAILER_BYTES:].hex()

    @property
    def objects(self) -> int:
        """How many objects the pack's header counts."""
        return int.from_bytes(self.data[8:_HEADER_BYTES], "big")

    @property
    def size(self) -> int:
        """Bytes of both files."""
        return len(self.data) + len(self.index)

    def is_whole(self) -> bool:
        """Whether both files match their checksums and belong together."""
        return (
            self.data[:8] == b"PACK\0\0\0\2"
            and _sealed(self.data)
            and _sealed(self.index)
            and self.index[-2 * _TRAILER_BYTES : -_TRAILER_BYTES] == self.data[-_TRAILER_BYTES:]
        )


def _sealed(data: bytes) -> bool:
    view = memoryview(data)
    return hashlib.sha1(view[:-_TRAILER_BYTES]).digest() == data[-_TRAILER_BYTES:]


class Scratch:
    """A throw-away repository in `directory` that borrows the objects of another and keeps new ones to itself."""

    def __init__(self, directory: Path, borrowed: Path) -> None:
        self.directory = directory
        self.git_dir = directory / "git"
        self.packs = directory / "objects" / "pack"
        (self.git_dir / "refs").mkdir(parents=True)
        self.packs.mkdir(parents=True)
        (self.git_dir / "HEAD").write_bytes(b"ref: refs/heads/main\n")
        self._borrowed = borrowed

    @property
    def checkout(self) -> Checkout:
        """The scratch repository as git's processes take it; it has no tree."""
        return Checkout(self.directory / "tree", self.git_dir, self.directory / "objects", "")

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs besides, to see the borrowed objects."""
        quoted = str(self._borrowed).replace("\\", "\\\\").replace('"', '\\"')
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}

    def borrowed(self, head: str) -> Checkout:
        """The repository that objects are borrowed from, without a tree."""
        return Checkout(self.directory / "tree", self.git_dir, self._borrowed, head)

    def only_pack(self) -> Pack:
        """The one pack that was written here."""
        found = list(self.packs.glob("*.pack"))
        if len(found) != 1:
            raise GitError(f"git wrote {len(found)} packs where one was expected")
        return Pack(found[0].read_bytes(), found[0].with_suffix(".idx").read_bytes())

    def index_of(self, trailer: str) -> bytes:
        """The index of a pack that is here, or borrowed."""
        name = f"pack-{trailer}.idx"
        own = self.packs / name
        return (own if own.exists() else self._borrowed / "pack" / name).read_bytes()

    def write(self, pack: Pack) -> None:
        """Add a pack to what git sees here."""
        path = self.packs / f"pack-{pack.trailer}.pack"
        path.write_bytes(pack.data)
        path.with_suffix(".idx").write_bytes(pack.index)


def join(scratch: Scratch, trailers: Sequence[str], deadline: Deadline, *, by_path: bool) -> Pack:
    """One pack with the objects of several, which `scratch` holds or borrows; versions of a file become deltas.

    With `by_path`, git walks the history to learn which objects were versions of one file. That takes a fifth of a
    second at 10,000 commits, and makes large packs a third smaller; small ones are as good without.
    """
    if by_path:
        names = "".join(f"pack-{trailer}.pack\n" for trailer in trailers)
        return _pack_objects(scratch, ["--stdin-packs"], names.encode(), deadline)
    objects = sorted({name for trailer in trailers for name in object_names(scratch.index_of(trailer))})
    return _pack_objects(scratch, [], "".join(f"{name}\n" for name in objects).encode(), deadline)


def object_names(index: bytes) -> list[str]:
    """The shas of the objects that a pack's index (version 2) lists; see git's Documentation/gitformat-pack.txt."""
    (count,) = struct.unpack_from(">I", index, _FANOUT_AT + 255 * 4)
    start = _FANOUT_AT + 256 * 4
    table = index[start : start + count * _SHA_BYTES].hex()
    return [table[at : at + 2 * _SHA_BYTES] for at in range(0, len(table), 2 * _SHA_BYTES)]


def pack_history(scratch: Scratch, rev: str, deadline: Deadline) -> Pack:
    """One pack with every object that `rev` reaches and no other."""
    return _pack_objects(scratch, ["--revs"], f"{rev}\n".encode(), deadline)


def _pack_objects(scratch: Scratch, args: Sequence[str], stdin: bytes, deadline: Deadline) -> Pack:
    target = Path(tempfile.mkdtemp(dir=scratch.directory))
    command = ["-c", "pack.threads=1", "pack-objects", "-q", "--delta-base-offset", *args, str(target / "pack")]
    run(scratch.checkout, command, deadline, stdin=stdin, extra=scratch.environment)
    path = next(target.glob("*.pack"))
    return Pack(path.read_bytes(), path.with_suffix(".idx").read_bytes())
