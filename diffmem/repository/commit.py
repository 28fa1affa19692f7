"""COMMIT: an edit becomes a commit on the newest head, once, whatever the network does.

    READ                   with this process's lock of the user held
    look for the Tx        a request that is repeated finds its own commit
    edit(snapshot)         again on every new head
    commit and its pack    into the tail, or folded (`fold`), the folded pack uploaded under a fresh name
    PUT the manifest       if its generation is still the one that was read; nobody below us repeats it

A first commit that needs a stored pack begins the memory before it uploads: packs without a manifest count as left over
from an erased memory.

After 429 nothing was written: wait, and begin again. After anything else but success the outcome is unknown: begin
again, and the Tx shows whether the commit is there. A folded pack that lost is removed once the manifest has moved on
without it, since nothing can name it any more; while the outcome is unknown it stays. So are the packs that were
joined into one that is now named.

*Covered*: a commit lands once or not at all, and only in the repository that the first READ found: where that was
erased meanwhile, the commit fails, whatever has been begun under the user since. *Not covered*: what the edit does;
it must depend on nothing but the snapshot.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from diffmem.errors import (
    Conflict,
    GitError,
    StorageUnavailable,
    UnknownUser,
    UnsafePath,
)
from diffmem.git.packs import Pack, Scratch, join
from diffmem.git.writing import FileChange, difference, write_commit
from diffmem.limits import Deadline
from diffmem.repository.change import Change, draft
from diffmem.repository.files import remove_tree, stubbornly
from diffmem.repository.fold import Placed, place_pack
from diffmem.repository.hydrate import HistoryReplaced, Hydrated
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.repository.snapshot import Snapshot
from diffmem.repository.swap import swap
from diffmem.repository.upload import upload, withdraw
from diffmem.storage import MeteredBucket

Edit = Callable[[Snapshot], Change | None]

_MAX_ATTEMPTS = 40
_MAX_MENDS = 2
_MAX_CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of an edit. `commit` is None where it wanted nothing, or nothing that was not there already.

    `duplicate` says that the commit had been made before, by a request with the same `tx`. The caller closes
    `snapshot`, which is at the resulting head.
    """

    commit: str | None
    files: tuple[FileChange, ...]
    snapshot: Snapshot
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class _Built:
    """A commit as it will be written: on this parent, in this pack."""

    parent: str
    sha: str
    pack: Pack
    files: tuple[FileChange, ...]
    blobs: Mapping[str, str | None]
    recorded_at: int


def commit(parts: Parts, user: str, edit: Edit, deadline: Deadline, *, create: bool, tx: str | None) -> Committed:
    """What becomes of `edit`; see `Repositories.commit`."""
    with parts.writers.hold(parts.uid(user), deadline):
        return _Commit(parts, user, deadline, create=create, tx=tx).run(edit)


def create(parts: Parts, user: str, deadline: Deadline) -> bool:
    """Whether a memory of `user` was begun now, and not before."""
    with parts.writers.hold(parts.uid(user), deadline):
        return _Commit(parts, user, deadline, create=True, tx=None).begin()


class _Commit:
    """The tries of one commit, and what they left in the bucket."""

    def __init__(self, parts: Parts, user: str, deadline: Deadline, *, create: bool, tx: str | None) -> None:
        self._parts = parts
        self._user = user
        self._uid = parts.uid(user)
        self._deadline = deadline
        self._create = create
        self._tx = tx or secrets.token_hex(16)
        self._bucket = MeteredBucket(parts.bucket)
        self._patience = Patience(parts, deadline)
        self._may_be_there = tx is not None
        self._id: str | None = None
        self._newborn: Hydrated | None = None
        self._built: _Built | None = None
        self._tried: tuple[int, Placed] | None = None
        self._uploaded: dict[str, int] = {}
        self._mends = 0

    def run(self, edit: Edit) -> Committed:
        """Try until the commit is there, the edit wants nothing, time is over, or others won every time."""
        try:
            for _ in range(_MAX_ATTEMPTS):
                done = self._try(edit)
                if done:
                    return done
                self._patience.wait()
            raise Conflict(f"other writers won {_MAX_ATTEMPTS} times in a row")
        finally:
            self._drop_newborn()

    def begin(self) -> bool:
        """Try until there is a memory, and say whether it is ours."""
        try:
            for _ in range(_MAX_ATTEMPTS):
                base = self._read()
                if base.generation:
                    return self._newborn is not None and base.manifest.id == self._newborn.manifest.id
                if self._put(base, Placed(base.manifest)):
                    return True
                self._patience.wait()
            raise Conflict(f"other writers won {_MAX_ATTEMPTS} times in a row")
        finally:
            self._drop_newborn()

    def _read(self) -> Hydrated:
        """The repository now: always the same one, and before there is one, a newborn of ours."""
        if self._deadline.expired:
            raise StorageUnavailable("out of time; repeating the request is safe")
        found = self._parts.hydrator.read(self._bucket, self._uid, self._user, self._deadline)
        if self._id and (found is None or found.manifest.id != self._id):
            self._remove_lost(None)
            raise UnknownUser(f"no memory of {self._user!r} any more")
        if found:
            self._id = found.manifest.id
            self._remove_lost(found)
            return found
        if not self._create:
            raise UnknownUser(f"no memory of {self._user!r}")
        if self._newborn is None:
            self._newborn = stubbornly(partial(self._parts.newborn, self._user, self._deadline))
        return self._newborn

    def _try(self, edit: Edit) -> Committed | None:
        """One try on the head as it is now; None where it must be made again."""
        base = self._read()
        try:
            return self._found(base) or self._write(base, edit)
        except HistoryReplaced:
            return None
        except (GitError, FileNotFoundError):
            self._mends += 1
            if self._mends > _MAX_MENDS:
                raise
            self._mend(base)
            return None

    def _found(self, base: Hydrated) -> Committed | None:
        """The commit, where an earlier try or an earlier request has made it."""
        if not (self._may_be_there and base.generation):
            return None
        sha = self._parts.transactions.find(base, self._tx, self._deadline)
        if sha is None:
            return None
        ours = self._built if self._built and self._built.sha == sha else None
        files = ours.files if ours else self._files_of(base, sha)
        snapshot = self._parts.snapshot(base, self._bucket, self._deadline)
        return Committed(sha, files, snapshot, duplicate=ours is None)

    def _files_of(self, base: Hydrated, sha: str) -> tuple[FileChange, ...]:
        with self._parts.cache.scratch() as directory:
            scratch = Scratch(directory, base.place.objects)
            return difference(scratch, f"{sha}^", sha, self._deadline).changes

    def _write(self, base: Hydrated, edit: Edit) -> Committed | None:
        """Make the commit, unless it is made already for this head, and put it into the bucket."""
        change = None
        if self._built is None or self._built.parent != base.manifest.head:
            self._built = None
            with self._parts.snapshot(base, self._bucket, self._deadline) as snapshot:
                change = edit(snapshot)
            if change is None:
                return self._nothing(base)
        placed = self._prepare(base, change)
        if placed is None:
            return self._nothing(base)
        if placed.uploads and not base.generation:
            self._put(base, Placed(base.manifest))  # no pack may be uploaded that no manifest could name (`erase`)
            return None
        return self._finish(base, placed)

    def _prepare(self, base: Hydrated, change: Change | None) -> Placed | None:
        """The next manifest; None where the commit would change nothing."""
        if self._built and self._tried and self._tried[0] == base.generation:
            return self._tried[1]
        with self._parts.cache.scratch() as directory:
            scratch = Scratch(directory, base.place.objects)
            if change:
                self._built = self._build(scratch, base, change)
            elif self._built:
                scratch.write(self._built.pack)
            return self._place(scratch, base, self._built) if self._built else None

    def _build(self, scratch: Scratch, base: Hydrated, change: Change) -> _Built | None:
        now = self._now(base)
        parent = base.manifest.head
        sha, pack = write_commit(scratch, draft(change, parent, self._tx, now), self._deadline)
        found = difference(scratch, parent, sha, self._deadline)
        unasked = sorted(found.blobs.keys() - change.files.keys())
        if unasked:
            raise UnsafePath(f"{unasked[0]!r} is a file, and would have to be a folder")
        return _Built(parent, sha, pack, found.changes, found.blobs, int(now.timestamp())) if found.changes else None

    def _now(self, base: Hydrated) -> datetime:
        """The committer date: never before the head's, so that history stays in order where clocks differ a little."""
        now = self._parts.clock()
        head = datetime.fromtimestamp(base.manifest.head_recorded_at, UTC)
        return head if now < head < now + _MAX_CLOCK_SKEW else now

    def _place(self, scratch: Scratch, base: Hydrated, built: _Built) -> Placed:
        manifest = replace(
            base.manifest,
            head=built.sha,
            commits=base.manifest.commits + 1,
            head_recorded_at=built.recorded_at,
        )
        return place_pack(manifest, built.pack, partial(join, scratch, deadline=self._deadline))

    def _finish(self, base: Hydrated, placed: Placed) -> Committed | None:
        """Upload what has to be, and swap the manifest."""
        if self._tried != (base.generation, placed):
            for stored, pack in placed.uploads:
                self._uploaded[stored.name] = base.generation
                upload(self._bucket, self._uid, stored.name, pack, self._patience, self._deadline)
        self._tried = (base.generation, placed)
        written = self._put(base, placed)
        if written is None or self._built is None:
            return None
        self._parts.transactions.add(written, self._built.parent, self._tx)
        self._parts.shelves.carry_on(written.history, self._built.parent, self._built.sha, self._built.blobs)
        joined = (pack.name for pack in base.manifest.packs if pack not in written.manifest.packs)
        withdraw(self._bucket, self._uid, joined, self._deadline)
        snapshot = self._parts.snapshot(written, self._bucket, self._deadline)
        return Committed(self._built.sha, self._built.files, snapshot)

    def _put(self, base: Hydrated, placed: Placed) -> Hydrated | None:
        """The repository with the next manifest in the bucket; None where it may not be there."""
        fresh = [pack for _, pack in placed.uploads]
        written = swap(self._parts, self._bucket, base, placed.manifest, self._patience, self._deadline, fresh=fresh)
        self._may_be_there = written is None
        return written

    def _nothing(self, base: Hydrated) -> Committed:
        """The answer where nothing is to be written; a newborn then lives until its snapshot is closed."""
        on_close = None
        if base is self._newborn:
            self._newborn = None
            on_close = partial(remove_tree, base.place.root)
        return Committed(None, (), self._parts.snapshot(base, self._bucket, self._deadline, on_close=on_close))

    def _mend(self, base: Hydrated) -> None:
        """Take away what is damaged of the cache, where git has failed; the next READ fetches it."""
        base.place.remove_damaged(base.manifest.trailers)
        if base is self._newborn:
            self._drop_newborn()

    def _remove_lost(self, now: Hydrated | None) -> None:
        """Delete the packs of tries that can no longer succeed, because the manifest has moved on without them."""
        named = {pack.name for pack in now.manifest.packs} if now else set()
        generation = now.generation if now else -1
        lost = [name for name, tried in self._uploaded.items() if tried != generation and name not in named]
        withdraw(self._bucket, self._uid, lost, self._deadline)
        self._uploaded = {name: tried for name, tried in self._uploaded.items() if name not in lost}

    def _drop_newborn(self) -> None:
        if self._newborn:
            remove_tree(self._newborn.place.root)
            self._newborn = None
