"""Import: a bundle's history becomes a user's memory, whole or not at all.

    read the header            which branch
    let the history in         into a directory of its own (`git.quarantine`); nothing of it is in the bucket yet
    edit                       at most one commit on top, made on a snapshot of what came
    pack                       what the head reaches, and nothing else that the bundle held
    create, where there is none, then swap the manifest, with `epoch` one higher, as a rewriting does

The user is created before the pack is uploaded, because a pack that no manifest can name counts as left over from an
erased memory. Until the swap, readers see what was there before. What the swap replaces is deleted as after a
rewriting; a crash leaves a mark, and the next opener finishes.

*Covered*: sending the same bundle again changes nothing; a memory with something in it is replaced only where that is
asked for. *Not covered*: joining two memories.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, Literal

from diffmem.errors import Conflict
from diffmem.git.bundles import Header, read_header
from diffmem.git.history import is_ancestor
from diffmem.git.packs import Scratch, pack_history
from diffmem.git.packscan import Bounds
from diffmem.git.quarantine import Admitted, admit
from diffmem.git.writing import FileChange, difference, write_commit
from diffmem.limits import Deadline
from diffmem.repository import commit as committing
from diffmem.repository.cache import CachedRepository
from diffmem.repository.change import draft
from diffmem.repository.commit import Edit
from diffmem.repository.files import remove_tree
from diffmem.repository.hydrate import Hydrated
from diffmem.repository.manifest import Manifest
from diffmem.repository.names import new_id
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.removal import Removed
from diffmem.repository.rewrite import Made, finish_erasure, put_history
from diffmem.repository.swap import read
from diffmem.storage import MeteredBucket, Retention

Choose = Callable[[Header], str]

_MAX_CLOCK_SKEW = timedelta(days=1)
_TRIES = 6


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `duplicate`: the memory has that history already, and nothing was written.

    `commit` is the one made on top, None where none was, and `files` what it changed. `removed` is what was deleted of
    the memory that was replaced; `retained` is what the bucket keeps of it nevertheless.
    """

    status: Literal["imported", "replaced", "duplicate"]
    created: bool
    head: str
    commits: int
    commit: str | None = None
    files: tuple[FileChange, ...] = ()
    removed: Removed = Removed()  # noqa: RUF009 - frozen
    retained: tuple[Retention, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ready:
    """A history with the commit on top of it, in one pack."""

    made: Made
    came_as: str
    commit: str | None
    files: tuple[FileChange, ...]


def import_bundle(
    parts: Parts,
    user: str,
    bundle: BinaryIO,
    choose: Choose,
    edit: Edit,
    deadline: Deadline,
    *,
    replace: bool,
    bounds: Bounds,
) -> Imported:
    """See `Repositories.import_bundle`."""
    header = read_header(bundle)
    sha = header.refs[choose(header)]
    base = parts.hydrator.read(parts.bucket, parts.uid(user), user, deadline)
    if base and not replace and not _is_there(base, sha, deadline):
        _check_empty(parts, base, deadline)
    latest = parts.clock() + _MAX_CLOCK_SKEW
    parts.cache.prepare()
    place = parts.cache.temporary_repository()
    try:
        place.prepare()
        admitted = admit(place.bare(sha), bundle, header.pack_at, sha, latest, deadline, bounds)
        ready = _prepared(parts, user, place, admitted, edit, deadline)
    finally:
        remove_tree(place.root)
    return _put(parts, user, ready, deadline, replace=replace)


def _is_there(base: Hydrated, sha: str, deadline: Deadline) -> bool:
    """Whether the memory's history has the commit `sha`."""
    return is_ancestor(base.place.bare(base.manifest.head), sha, base.manifest.head, deadline)


def _check_empty(parts: Parts, base: Hydrated, deadline: Deadline) -> None:
    """Raise `Conflict` where there is anything in a memory that an import would take away."""
    with parts.snapshot(base, MeteredBucket(parts.bucket), deadline) as snapshot:
        if base.manifest.commits > 1 or snapshot.paths():
            raise Conflict(
                f"the memory of {base.manifest.user!r} has {base.manifest.commits} commits: "
                "say 'replace=true' to put the bundle's history in its place"
            )


def _prepared(
    parts: Parts, user: str, place: CachedRepository, admitted: Admitted, edit: Edit, deadline: Deadline
) -> _Ready:
    """What was admitted, with what `edit` puts on top, in one pack."""
    head, commits, recorded_at = admitted.head, admitted.commits, admitted.recorded_at
    hydrated = Hydrated(parts.uid(user), Manifest(user, new_id(), 0, 0, 0, head, commits, recorded_at), 0, place)
    with parts.snapshot(hydrated, MeteredBucket(parts.bucket), deadline) as snapshot:
        change = edit(snapshot)
    with parts.cache.scratch() as directory:
        scratch = Scratch(directory, place.objects)
        if change is None:
            made = Made(head, commits, recorded_at, pack_history(scratch, head, deadline))
            return _Ready(made, head, None, ())
        now = max(parts.clock(), datetime.fromtimestamp(recorded_at, UTC))
        sha, _ = write_commit(scratch, draft(change, head, secrets.token_hex(16), now), deadline)
        files = difference(scratch, head, sha, deadline).changes
        made = Made(sha, commits + 1, int(now.timestamp()), pack_history(scratch, sha, deadline))
        return _Ready(made, head, sha, files)


def _put(parts: Parts, user: str, ready: _Ready, deadline: Deadline, *, replace: bool) -> Imported:
    created = committing.create(parts, user, deadline)
    patience = Patience(parts, deadline)
    with parts.writers.hold(parts.uid(user), deadline):
        for _ in range(_TRIES):
            base = read(parts, parts.bucket, user, deadline)
            if not replace and _is_there(base, ready.came_as, deadline):
                return Imported("duplicate", False, base.manifest.head, base.manifest.commits)
            if not replace:
                _check_empty(parts, base, deadline)
            if put_history(parts, base, ready.made, patience, deadline):
                return _report(parts, user, base, ready, patience, deadline, created=created)
            patience.wait()
    raise Conflict("the memory was written to each time while a bundle was being put in its place")


def _report(
    parts: Parts, user: str, base: Hydrated, ready: _Ready, patience: Patience, deadline: Deadline, *, created: bool
) -> Imported:
    removed = finish_erasure(parts, user, patience, deadline)
    replaced = base.manifest.commits > 1
    return Imported(
        status="replaced" if replaced else "imported",
        created=created,
        head=ready.made.head,
        commits=ready.made.commits,
        commit=ready.commit,
        files=ready.files,
        removed=removed,
        retained=parts.bucket.retention(deadline) if replaced else (),
    )
