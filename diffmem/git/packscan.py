"""A stranger's pack, looked through before git sees it, so that git is not asked for what cannot end well.

Every object is inflated within the size that its header claims, and every delta's result is read from the delta, so
that what git will make of the pack is known: how many objects, how large each, how large together. Format: git's
Documentation/gitformat-pack.txt.

*Covered*: deflate bombs, delta bombs, too many objects, sizes that are not what they claim, a pack that is cut off.
*Not covered*: what the objects say, and how long chains of deltas are; that is `diffmem.git.quarantine`.
"""

import mmap
import zlib
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from diffmem.errors import NotABundle
from diffmem.limits import Deadline

_COMMIT, _TREE, _BLOB, _TAG, _OFFSET_DELTA, _REF_DELTA = 1, 2, 3, 4, 6, 7
_KINDS = {_COMMIT: "commit", _TREE: "tree", _BLOB: "blob", _TAG: "tag", _OFFSET_DELTA: "delta", _REF_DELTA: "delta"}
_HEADER_BYTES = 12
_TRAILER_BYTES = 20
_MAX_VARINT_BYTES = 10
_DELTA_HEADER_BYTES = 2 * _MAX_VARINT_BYTES
_SLACK_BYTES = 128
_MORE_BYTES = 8192
_CHECK_EVERY = 512


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a history may have that somebody else wrote; the defaults hold for every import.

    `max_objects` and `max_object_bytes_together` are of the whole pack, `max_files` and `max_files_bytes` of each
    revision, `max_changes_bytes` of the paths that all commits changed, written one after the other.
    """

    max_objects: int = 500_000
    max_blob_bytes: int = 32 * 1024 * 1024
    max_tree_bytes: int = 4 * 1024 * 1024
    max_commit_bytes: int = 1024 * 1024
    max_object_bytes_together: int = 4 * 1024 * 1024 * 1024
    max_delta_chain: int = 100
    max_commits: int = 100_000
    max_files: int = 20_000
    max_files_bytes: int = 512 * 1024 * 1024
    max_changes_bytes: int = 64 * 1024 * 1024

    def max_bytes(self, kind: str) -> int:
        """How large one object may be; what a delta makes may be a blob."""
        return {"tree": self.max_tree_bytes, "commit": self.max_commit_bytes, "tag": self.max_commit_bytes}.get(
            kind, self.max_blob_bytes
        )


class _Entry(NamedTuple):
    """An object as the pack holds it: its kind, the size that its header claims, and where its data begins."""

    kind: int
    size: int
    at: int


def check_pack(file: BinaryIO, at: int, bounds: Bounds, deadline: Deadline) -> None:
    """Look through the pack that begins at `at` and ends with the file.

    Raises:
        NotABundle: it is no whole pack, or it holds more, or larger objects, than `bounds` allow.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[at : at + 4] != b"PACK" or data[at + 4 : at + 8] not in (b"\0\0\0\2", b"\0\0\0\3"):
            raise NotABundle("no pack follows its header")
        count = int.from_bytes(data[at + 8 : at + _HEADER_BYTES], "big")
        if count > bounds.max_objects:
            raise NotABundle(f"the bundle's pack counts {count} objects; {bounds.max_objects} are allowed")
        end = len(data) - _TRAILER_BYTES
        at += _HEADER_BYTES
        together = 0
        for number in range(count):
            if number % _CHECK_EVERY == 0:
                deadline.check("looking through the pack")
            size, at = _object(data, at, end, bounds)
            together += size
            if together > bounds.max_object_bytes_together:
                raise NotABundle(
                    f"the bundle's objects have more than {bounds.max_object_bytes_together} bytes together"
                )
        if at != end:
            raise NotABundle("the bundle's pack is not as long as its objects")


def _object(data: mmap.mmap, at: int, end: int, bounds: Bounds) -> tuple[int, int]:
    """The size of the object at `at`, once its delta is applied where it is one, and where the next begins."""
    entry = _entry(data, at, end)
    kind = _KINDS[entry.kind]
    if entry.size > bounds.max_bytes(kind):
        raise NotABundle(
            f"the bundle's pack holds a {kind} of {entry.size} bytes; {bounds.max_bytes(kind)} are allowed"
        )
    content, at = _inflated(data, entry, end)
    if kind != "delta":
        return entry.size, at
    _, behind = _varint(content, 0, 0, 0)
    size, _ = _varint(content, behind, 0, 0)
    if size > bounds.max_blob_bytes:
        raise NotABundle(
            f"the bundle's pack holds a delta that makes {size} bytes; {bounds.max_blob_bytes} are allowed"
        )
    return size, at


def _entry(data: mmap.mmap, at: int, end: int) -> _Entry:
    head = data[at : min(end, at + 2 * _MAX_VARINT_BYTES + _TRAILER_BYTES)]
    if not head:
        raise NotABundle("the bundle's pack is cut off")
    kind = head[0] >> 4 & 7
    size, behind = _varint(head, 1, head[0] & 15, 4) if head[0] & 0x80 else (head[0] & 15, 1)
    if kind == _OFFSET_DELTA:
        _, behind = _varint(head, behind, 0, 0)
    elif kind == _REF_DELTA:
        behind += 20
    elif kind not in _KINDS:
        raise NotABundle(f"the bundle's pack holds an object of a kind that git does not have: {kind}")
    return _Entry(kind, size, at + behind)


def _varint(data: bytes, at: int, value: int, shift: int) -> tuple[int, int]:
    """The number of 7 bits a byte that begins at `at`, the lowest bits first, and where it ends."""
    for length, byte in enumerate(data[at : at + _MAX_VARINT_BYTES], 1):
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at + length
    raise NotABundle("the bundle's pack holds a number that does not end")


def _inflated(data: mmap.mmap, entry: _Entry, end: int) -> tuple[bytes, int]:
    """How the content of an entry begins, which has exactly the size that was claimed, and where its data ends."""
    inflater = zlib.decompressobj()
    at, step = entry.at, entry.size + _SLACK_BYTES
    content = bytearray()
    try:
        while not inflater.eof:
            fed = data[at : min(end, at + step)]
            if not fed:
                raise NotABundle("the bundle's pack is cut off")
            content += inflater.decompress(fed, entry.size + 1 - len(content))
            if len(content) > entry.size:
                raise NotABundle("the bundle's pack holds an object that is larger than it claims")
            at, step = at + len(fed), _MORE_BYTES
    except zlib.error as error:
        raise NotABundle("the bundle's pack holds data that cannot be inflated") from error
    if len(content) != entry.size:
        raise NotABundle("the bundle's pack holds an object that is smaller than it claims")
    return bytes(content[:_DELTA_HEADER_BYTES]), at - len(inflater.unused_data)
