"""Where a new commit's pack goes: into the manifest's tail, or, with the tail, into a pack of its own.

The tail holds at most 128 KiB. When it is full, its packs and the new one are joined, which makes versions of a file
deltas of each other; what is still small stays in the manifest, the rest becomes an object. Stored packs grow in
powers of two: a new one takes in every smaller one, so that there are never more than 8 of them, and reading a memory
takes at most 17 requests (the manifest, and a pack and an index 8 times), while each byte is written again only as
often as the memory doubles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from diffmem.git.packs import Pack
from diffmem.repository.manifest import Manifest, StoredPack
from diffmem.repository.names import new_pack

MAX_TAIL_BYTES = 128 * 1024
MAX_TAIL_PACKS = 32
MAX_STORED_PACKS = 8


class Join(Protocol):
    """Makes one pack of several."""

    def __call__(self, trailers: Sequence[str], *, by_path: bool) -> Pack:
        """The pack with the objects of those named by their trailers; see `git.packs.join` for `by_path`."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A manifest with a new pack in it, and the packs that must be uploaded before it is written."""

    manifest: Manifest
    uploads: tuple[tuple[StoredPack, Pack], ...] = ()


def place_pack(manifest: Manifest, pack: Pack, join: Join) -> Placed:
    """The manifest with `pack` as its newest."""
    tail = (*manifest.tail, pack)
    if len(tail) <= MAX_TAIL_PACKS and _size(tail) <= MAX_TAIL_BYTES:
        return Placed(replace(manifest, tail=tail))
    joined = join([part.trailer for part in tail], by_path=False)
    if joined.size <= MAX_TAIL_BYTES // 2:
        return Placed(replace(manifest, tail=(joined,)))
    taken = absorbed(manifest.packs, joined.size)
    if taken:
        joined = join([*(part.trailer for part in tail), *(part.trailer for part in taken)], by_path=True)
    stored = StoredPack.of(
        new_pack(manifest.seq + 1, joined.trailer, manifest.id),
        joined,
        1 + max((part.level for part in taken), default=-1),
    )
    kept = tuple(part for part in manifest.packs if part not in taken)
    return Placed(replace(manifest, packs=(*kept, stored), tail=()), ((stored, joined),))


def absorbed(packs: Sequence[StoredPack], size: int) -> tuple[StoredPack, ...]:
    """The stored packs that a new one of `size` bytes takes in: each smaller than twice what has been gathered so far.

    Where more would be left than may be, the smallest go too.
    """
    taken: list[StoredPack] = []
    ordered = sorted(packs, key=lambda pack: pack.size)
    for pack in ordered:
        too_many = len(ordered) - len(taken) + 1 > MAX_STORED_PACKS
        if pack.size >= 2 * size and not too_many:
            break
        taken.append(pack)
        size += pack.size
    return tuple(taken)


def _size(packs: Sequence[Pack]) -> int:
    return sum(pack.size for pack in packs)
