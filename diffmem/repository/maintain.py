"""Housekeeping of one memory or of all: unfinished erasures, rebuilds, garbage. Safe beside readers and writers."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from diffmem.errors import DiffMemError, ObjectNotFound, UnknownUser
from diffmem.limits import Deadline
from diffmem.repository.collect import collect
from diffmem.repository.erase import remove_leftovers
from diffmem.repository.manifest import decode
from diffmem.repository.names import ROOT, manifest_name
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.rebuild import is_due, rebuild
from diffmem.repository.removal import Removed
from diffmem.repository.rewrite import finish_erasure
from diffmem.repository.swap import read
from diffmem.storage import Bucket


@dataclass(frozen=True, slots=True)
class Maintained:
    """What was done for one user; `user` is None where only leftovers of an erased memory were found.

    `bytes` and `packs` are what the memory takes now. `failed` says why nothing, or not everything, was done.
    """

    user: str | None
    removed: Removed
    rebuilt: bool
    bytes: int
    packs: int
    failed: str | None = None


Progress = Callable[[int, int, Maintained], None]


def maintain(parts: Parts, user: str | None, deadline: Deadline, progress: Progress) -> tuple[Maintained, ...]:
    """See `Repositories.maintain`."""
    uids = [parts.uid(user)] if user is not None else _from_anywhere(list(_uids(parts.bucket, deadline)))
    done: list[Maintained] = []
    for uid in uids:
        deadline.check("maintenance")
        done.append(_maintain_one(parts, uid, user, deadline))
        progress(len(done), len(uids), done[-1])
    return tuple(done)


def _from_anywhere(uids: list[str]) -> list[str]:
    """All of them, beginning with any: where time is too short for all, it is not always the same who get no turn."""
    begin = secrets.randbelow(len(uids)) if uids else 0
    return [*uids[begin:], *uids[:begin]]


def _uids(bucket: Bucket, deadline: Deadline) -> Iterator[str]:
    last = None
    for listed in bucket.list(ROOT, deadline):
        uid = listed.name.split("/")[1]
        if uid != last:
            yield uid
        last = uid


def _maintain_one(parts: Parts, uid: str, user: str | None, deadline: Deadline) -> Maintained:
    """One user's turn. What fails for one is told, and does not keep the others waiting."""
    patience = Patience(parts, deadline)
    try:
        found = _user(parts.bucket, uid, deadline)
        if found is not None:
            with suppress(UnknownUser):  # erased meanwhile: what is left of it, if anything, is leftovers
                return _keep_house(parts, found, patience, deadline)
        removed = remove_leftovers(parts, uid, patience, deadline)
    except DiffMemError as error:
        if user is not None:
            raise
        return Maintained(None, Removed(), False, 0, 0, failed=f"{type(error).__name__}: {error}")
    if user is not None and not removed.objects:
        raise UnknownUser(f"no memory of {user!r}")
    return Maintained(None, removed, False, 0, 0)


def _user(bucket: Bucket, uid: str, deadline: Deadline) -> str | None:
    name = manifest_name(uid)
    try:
        return decode(bucket.get(name, deadline).data, name).user
    except ObjectNotFound:
        return None


def _keep_house(parts: Parts, user: str, patience: Patience, deadline: Deadline) -> Maintained:
    erased = finish_erasure(parts, user, patience, deadline)
    due = is_due(read(parts, parts.bucket, user, deadline).manifest)
    rebuilt = due and rebuild(parts, user, patience, deadline)
    removed = erased + (collect(parts, user, patience, deadline) or Removed())
    manifest = read(parts, parts.bucket, user, deadline).manifest
    return Maintained(user, removed, rebuilt, manifest.size, len(manifest.packs) + len(manifest.tail))
