"""Taking something out of a memory's history as well as out of its head.

    write the history again         into one new base pack, uploaded beside the old packs
    swap the manifest               with `epoch` one higher, and the old packs listed as `erase_pending`
    delete the old packs            and, behind a fence, whatever else crashed writers left of them
    swap the manifest               with nothing pending any more

From the first swap on every reader drops what it has cached of the old epoch, and every writer starts from the new
head. A crash after it leaves the mark, and whoever opens the memory next finishes.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from diffmem.errors import Conflict, StorageError
from diffmem.git.packs import Pack, Scratch, pack_history
from diffmem.git.rewriting import Reword, Rewriting, Transform
from diffmem.git.rewriting import rewrite as rewrite_history
from diffmem.limits import Deadline
from diffmem.repository.collect import collect
from diffmem.repository.hydrate import Hydrated
from diffmem.repository.manifest import BASE_LEVEL, StoredPack
from diffmem.repository.names import new_pack, pack_objects, user_prefix
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.removal import Removed, remove
from diffmem.repository.swap import read, read_and, swap
from diffmem.repository.upload import upload, withdraw
from diffmem.storage import Retention

_TRIES = 6


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a rewriting did. `commits` maps old shas to new ones (of a dropped commit: to what became of its parent).

    `files` are the paths whose content changed or went in some commit. `removed` is what was deleted from the bucket;
    `retained` is what the bucket keeps of it nevertheless. Where nothing had to change, `commits` is empty and
    nothing was written.
    """

    head: str
    epoch: int
    commits: Mapping[str, str]
    dropped: int
    files: tuple[str, ...]
    removed: Removed
    retained: tuple[Retention, ...]
    rewritten_at: datetime


def rewrite(
    parts: Parts,
    user: str,
    transform: Transform,
    deadline: Deadline,
    *,
    reword: Reword,
    drop_empty: bool,
    dry_run: bool,
) -> Rewritten:
    """See `Repositories.rewrite`."""
    patience = Patience(parts, deadline)
    with parts.writers.hold(parts.uid(user), deadline):
        for _ in range(_TRIES):
            base, (done, pack) = read_and(
                parts, user, deadline, lambda now: _written(parts, now, transform, reword, drop_empty, deadline)
            )
            if pack is None or dry_run:
                return _report(parts, base, done, Removed(), ())
            before = base.manifest
            made = Made(done.head, before.commits - done.dropped, before.head_recorded_at, pack)
            written = put_history(parts, base, made, patience, deadline)
            if written:
                removed = finish_erasure(parts, user, patience, deadline)
                return _report(parts, written, done, removed, parts.bucket.retention(deadline))
            patience.wait()
    raise Conflict("the memory was written to each time while its history was being rewritten")


def _written(
    parts: Parts, base: Hydrated, transform: Transform, reword: Reword, drop_empty: bool, deadline: Deadline
) -> tuple[Rewriting, Pack | None]:
    """The rewritten history and its one pack; no pack where nothing changes."""
    with parts.cache.scratch() as directory:
        scratch = Scratch(directory, base.place.objects)
        done = rewrite_history(scratch, base.manifest.head, transform, reword, drop_empty, deadline)
        return done, pack_history(scratch, done.head, deadline) if done.commits else None


@dataclass(frozen=True, slots=True)
class Made:
    """A whole history in one pack, to take the place of another; `recorded_at` is the head's."""

    head: str
    commits: int
    recorded_at: int
    pack: Pack


def put_history(parts: Parts, base: Hydrated, made: Made, patience: Patience, deadline: Deadline) -> Hydrated | None:
    """The repository with another history; None where another writer was quicker, or that is not known.

    The packs of the old one are then listed as `erase_pending`; `finish_erasure` deletes them.
    """
    before = base.manifest
    stored = StoredPack.of(new_pack(before.seq + 1, made.pack.trailer, before.id), made.pack, BASE_LEVEL)
    upload(parts.bucket, base.uid, stored.name, made.pack, patience, deadline)
    manifest = replace(
        before,
        epoch=before.epoch + 1,
        head=made.head,
        commits=made.commits,
        head_recorded_at=made.recorded_at,
        packs=(stored,),
        tail=(),
        erase_pending=(*before.erase_pending, *(old.name for old in before.packs)),
    )
    written = swap(parts, parts.bucket, base, manifest, patience, deadline, fresh=[made.pack])
    if written is None:
        now = read(parts, parts.bucket, before.user, deadline)
        if stored in now.manifest.packs:
            return now
        if now.generation != base.generation:
            withdraw(parts.bucket, base.uid, [stored.name], deadline)
    return written


def _report(
    parts: Parts, now: Hydrated, done: Rewriting, removed: Removed, retained: tuple[Retention, ...]
) -> Rewritten:
    return Rewritten(
        head=done.head,
        epoch=now.manifest.epoch,
        commits=done.commits,
        dropped=done.dropped,
        files=done.paths,
        removed=removed,
        retained=retained,
        rewritten_at=parts.clock(),
    )


def finish_erasure(parts: Parts, user: str, patience: Patience, deadline: Deadline) -> Removed:
    """Delete what the manifest lists as `erase_pending`, and all else that it does not name; then clear the mark.

    The listed packs need no fence: they were named once, so that no manifest can ever name them again.
    """
    base = read(parts, parts.bucket, user, deadline)
    if not base.manifest.erase_pending:
        return Removed()
    doomed = {part for name in base.manifest.erase_pending for part in pack_objects(base.uid, name)}
    listed = [one for one in parts.bucket.list(user_prefix(base.uid), deadline) if one.name in doomed]
    removed = remove(parts.bucket, listed, patience, deadline)
    rest = collect(parts, user, patience, deadline)
    if rest is None:
        return removed
    for _ in range(_TRIES):
        now = read(parts, parts.bucket, user, deadline)
        left = tuple(name for name in now.manifest.erase_pending if name not in base.manifest.erase_pending)
        if left == now.manifest.erase_pending:
            break
        if swap(parts, parts.bucket, now, replace(now.manifest, erase_pending=left), patience, deadline):
            break
        patience.wait()
    return removed + rest


def try_to_finish_erasure(parts: Parts, user: str, deadline: Deadline) -> None:
    """As `finish_erasure`, for whoever only wants to read: where the bucket refuses, the mark stays for the next."""
    with suppress(StorageError):
        finish_erasure(parts, user, Patience(parts, deadline), deadline)
