"""Erasing a user: the manifest first, so that no reader and no writer finds the memory from then on.

A writer in flight fails at its compare-and-swap, whose generation is gone, and removes what it had uploaded. Whoever
begins a new memory of the same user meanwhile is not disturbed: its packs bear its own id.

*Covered*: a crash in the middle; erasing again, or `maintain`, finishes. *Not covered*: what the bucket itself keeps of
deleted objects, which `retained` tells, and caches of other machines and processes, which are emptied when they next
ask for the user.
"""

from dataclasses import dataclass
from datetime import datetime

from diffmem.errors import (
    BucketBusy,
    CorruptObject,
    GenerationMismatch,
    ObjectNotFound,
    OutcomeUnknown,
    StorageUnavailable,
    UnknownUser,
)
from diffmem.limits import Deadline
from diffmem.repository.manifest import decode
from diffmem.repository.names import belongs_to, manifest_name, user_prefix
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.removal import Removed, remove
from diffmem.storage import Bucket, Object, Retention

_TRIES = 12


@dataclass(frozen=True, slots=True)
class Erased:
    """The receipt: what was deleted, and what the bucket keeps of deleted objects nevertheless."""

    objects: int
    bytes: int
    generations: tuple[int, ...]
    retained: tuple[Retention, ...]
    erased_at: datetime


def erase(parts: Parts, user: str, deadline: Deadline) -> Erased:
    """See `Repositories.erase`."""
    uid = parts.uid(user)
    patience = Patience(parts, deadline)
    with parts.writers.hold(uid, deadline):
        manifest = _delete_manifest(parts.bucket, uid, patience, deadline)
        rest = remove_leftovers(parts, uid, patience, deadline)
        parts.forget(uid)
    if not manifest.objects and not rest.objects:
        raise UnknownUser(f"no memory of {user!r}")
    gone = manifest + rest
    retained = parts.bucket.retention(deadline)
    return Erased(gone.objects, gone.bytes, gone.generations, retained, parts.clock())


def _delete_manifest(bucket: Bucket, uid: str, patience: Patience, deadline: Deadline) -> Removed:
    """Delete the manifest of the memory that is there now, and not that of a later one."""
    name = manifest_name(uid)
    erased: tuple[str, Removed] | None = None
    for _ in range(_TRIES):
        try:
            found = _read(bucket, name, deadline)
        except ObjectNotFound:
            return erased[1] if erased else Removed()
        repository_id = _id_of(found.data, name)
        if erased and erased[0] != repository_id:
            return erased[1]
        erased = (repository_id, Removed(1, len(found.data), (found.generation,)))
        try:
            bucket.delete(name, deadline, if_generation=found.generation or None)
        except (GenerationMismatch, ObjectNotFound):
            continue
        except BucketBusy as error:
            patience.busy(error)
        except OutcomeUnknown:
            patience.lost()
        else:
            return erased[1]
        patience.wait()
    raise StorageUnavailable("the manifest could not be deleted; repeating the request is safe")


def _read(bucket: Bucket, name: str, deadline: Deadline) -> Object:
    """The manifest; of one that the bucket cannot read, nothing, in generation 0: it can be erased all the same."""
    try:
        return bucket.get(name, deadline)
    except CorruptObject:
        return Object(b"", 0)


def _id_of(data: bytes, name: str) -> str:
    """The repository's id; a damaged manifest has none, and can be erased all the same."""
    try:
        return decode(data, name).id
    except CorruptObject:
        return ""


def remove_leftovers(parts: Parts, uid: str, patience: Patience, deadline: Deadline) -> Removed:
    """Delete the packs of every memory of this user that has no manifest any more.

    A pack is uploaded only when the manifest of its repository is there. So of what is listed while there is none, or
    the manifest of another repository, all else belongs to erased ones.
    """
    listed = [one for one in parts.bucket.list(user_prefix(uid), deadline) if one.name != manifest_name(uid)]
    living = _living_id(parts.bucket, uid, deadline)
    doomed = [one for one in listed if living is None or not belongs_to(one.name, living)]
    return remove(parts.bucket, doomed, patience, deadline)


def _living_id(bucket: Bucket, uid: str, deadline: Deadline) -> str | None:
    name = manifest_name(uid)
    try:
        return decode(bucket.get(name, deadline).data, name).id
    except ObjectNotFound:
        return None
