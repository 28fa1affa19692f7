"""Garbage collection: what a crashed writer uploaded, and packs that were joined into others.

    LIST                   what is there
    read the manifest      what is named
    swap the manifest      with `gc` one higher: the fence
    delete                 what was listed and is not named

A writer that uploaded a pack before the LIST, to name it later, read the manifest before the fence; its swap fails, and
it uploads again under another name. A writer that reads the manifest after the fence uploads what no LIST has seen.
Any doubt about the fence aborts: nothing is deleted.
"""

from dataclasses import replace

from diffmem.limits import Deadline
from diffmem.repository.names import manifest_name, pack_objects, user_prefix
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.removal import Removed, remove
from diffmem.repository.swap import read, swap

_TRIES = 6


def collect(parts: Parts, user: str, patience: Patience, deadline: Deadline) -> Removed | None:
    """Delete what the user's manifest does not name. None where other writers were quicker each time: nothing was
    deleted.

    Raises:
        UnknownUser: there is no manifest.
    """
    uid = parts.uid(user)
    for _ in range(_TRIES):
        listed = [one for one in parts.bucket.list(user_prefix(uid), deadline) if one.name != manifest_name(uid)]
        base = read(parts, parts.bucket, user, deadline)
        named = {name for pack in base.manifest.packs for name in pack_objects(uid, pack.name)}
        doomed = [one for one in listed if one.name not in named]
        if not doomed:
            return Removed()
        if swap(parts, parts.bucket, base, replace(base.manifest, gc=base.manifest.gc + 1), patience, deadline):
            return remove(parts.bucket, doomed, patience, deadline)
        patience.wait()
    return None
