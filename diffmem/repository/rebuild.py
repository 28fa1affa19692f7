"""Making one base pack of everything, so that a memory is few requests to read and no byte is stored twice.

Writers go on meanwhile. The base holds all that the manifest named when it was begun; what came later is kept beside
it. Where a garbage collection set its fence meanwhile, the upload may be gone, and the rebuild begins again another
day.
"""

from dataclasses import replace

from diffmem.git.packs import Pack, Scratch, pack_history
from diffmem.limits import Deadline
from diffmem.repository.hydrate import Hydrated
from diffmem.repository.manifest import BASE_LEVEL, Manifest, StoredPack
from diffmem.repository.names import new_pack
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.swap import read, read_and, swap
from diffmem.repository.upload import upload

_MANY_PACKS = 5
_TRIES = 6


def is_due(manifest: Manifest) -> bool:
    """Whether there are many packs, or the rest has grown past half of the largest."""
    sizes = sorted(pack.size for pack in manifest.packs)
    return len(sizes) > 1 and (len(sizes) > _MANY_PACKS or sum(sizes[:-1]) > sizes[-1] / 2)


def rebuild(parts: Parts, user: str, patience: Patience, deadline: Deadline) -> bool:
    """Whether the packs of a memory are now one, apart from what was written meanwhile."""
    began, pack = read_and(parts, user, deadline, lambda now: _packed(parts, now, deadline))
    stored = StoredPack.of(new_pack(began.manifest.seq + 1, pack.trailer, began.manifest.id), pack, BASE_LEVEL)
    upload(parts.bucket, began.uid, stored.name, pack, patience, deadline)
    for _ in range(_TRIES):
        now = read(parts, parts.bucket, user, deadline)
        if stored in now.manifest.packs:
            return True
        if _fence(now.manifest) != _fence(began.manifest):
            return False
        following = _with_base(began.manifest, now.manifest, stored)
        if swap(parts, parts.bucket, now, following, patience, deadline, fresh=[pack]):
            return True
        patience.wait()
    return False


def _packed(parts: Parts, now: Hydrated, deadline: Deadline) -> Pack:
    with parts.cache.scratch() as directory:
        return pack_history(Scratch(directory, now.place.objects), now.manifest.head, deadline)


def _fence(manifest: Manifest) -> tuple[str, int, int]:
    """What must not have changed for an upload to be there still."""
    return manifest.id, manifest.epoch, manifest.gc


def _with_base(began: Manifest, now: Manifest, base: StoredPack) -> Manifest:
    """The manifest `now` with `base` in place of all that the manifest `began` named."""
    names = {pack.name for pack in began.packs}
    trailers = {pack.trailer for pack in began.tail}
    later = tuple(pack for pack in now.packs if pack.name not in names)
    tail = tuple(pack for pack in now.tail if pack.trailer not in trailers)
    return replace(now, packs=(base, *later), tail=tail)
