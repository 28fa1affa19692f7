"""All users' repositories in one bucket: the one door to reading and writing a memory."""

import copy
import random
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from diffmem.git.packscan import Bounds
from diffmem.git.rewriting import Reword, Transform
from diffmem.limits import Deadline
from diffmem.repository import commit as committing
from diffmem.repository import erase as erasing
from diffmem.repository import importing
from diffmem.repository import maintain as maintaining
from diffmem.repository import rewrite as rewriting
from diffmem.repository.cache import Cache
from diffmem.repository.commit import Committed, Edit
from diffmem.repository.erase import Erased
from diffmem.repository.hydrate import Hydrator
from diffmem.repository.importing import Choose, Imported
from diffmem.repository.maintain import Maintained, Progress
from diffmem.repository.parts import Parts
from diffmem.repository.rewrite import Rewritten
from diffmem.repository.snapshot import Snapshot
from diffmem.repository.swap import read
from diffmem.storage import Bucket, MeteredBucket


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Repositories:
    """One a process, made after the fork; safe between threads, and beside other processes and machines.

    `sleep` is how it waits before a write is tried again, `jitter` a number from 0 to 1 that varies for how long.
    """

    def __init__(
        self,
        bucket: Bucket,
        cache_dir: Path,
        *,
        cache_max_bytes: int,
        id_secret: str | None,
        clock: Callable[[], datetime] = _utc_now,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        cache = Cache(cache_dir, bucket.url, cache_max_bytes)
        self._parts = Parts(bucket, cache, id_secret, clock, sleep, jitter, Hydrator(cache))

    def through(self, bucket: Bucket) -> "Repositories":
        """The same repositories, with all that they share, through `bucket`, which wraps theirs, to count requests."""
        repositories = copy.copy(self)
        repositories._parts = replace(self._parts, bucket=bucket)
        return repositories

    def open(self, user: str, deadline: Deadline, *, as_of: datetime | None = None) -> Snapshot:
        """The user's memory as the bucket has it now, or as it was recorded at `as_of`.

        Raises:
            UnknownUser: there is none.
            UnknownCommit: nothing had been recorded at `as_of`.
            CorruptObject: an object of it is damaged; the message names the object.
            StorageUnavailable: the bucket cannot be read in time.
        """
        bucket = MeteredBucket(self._parts.bucket)
        hydrated = read(self._parts, bucket, user, deadline)
        if hydrated.manifest.erase_pending:
            rewriting.try_to_finish_erasure(self._parts, user, deadline)
            hydrated = read(self._parts, bucket, user, deadline)
        snapshot = self._parts.snapshot(hydrated, bucket, deadline)
        if as_of is None:
            return snapshot
        with snapshot:
            head = snapshot.newest_at(as_of)
            return self._parts.snapshot(hydrated, bucket, deadline, head=head)

    def commit(
        self,
        user: str,
        edit: Edit,
        deadline: Deadline,
        *,
        create: bool = False,
        tx: str | None = None,
    ) -> Committed:
        """What became of `edit`, a function of a snapshot that says what it wants written, or None.

        It is called again, on the new head, whenever others have written meanwhile. Where the user has no memory,
        `create` begins one with the commit. `tx` names the request: a repeated one finds the commit of the first.

        Raises:
            UnknownUser: there is no memory, or it was erased meanwhile.
            UnsafePath: the edit wants a file that a memory must not hold.
            Conflict: others won every time.
            StorageUnavailable: out of time, or the bucket is away; nothing is acknowledged, and repeating is safe.
        """
        return committing.commit(self._parts, user, edit, deadline, create=create, tx=tx)

    def create(self, user: str, deadline: Deadline) -> bool:
        """Whether a memory was begun now; False where there was one. Raises as `commit` does."""
        return committing.create(self._parts, user, deadline)

    def erase(self, user: str, deadline: Deadline) -> Erased:
        """The receipt for a memory of which nothing is left in the bucket, nor in this process and its cache.

        Raises:
            UnknownUser: there is none, and nothing of an earlier one.
            StorageUnavailable: not everything could be deleted; nobody finds the memory any more, and repeating
            finishes.
        """
        return erasing.erase(self._parts, user, deadline)

    def rewrite(
        self,
        user: str,
        transform: Transform,
        deadline: Deadline,
        *,
        reword: Reword = str,
        drop_empty: bool = False,
        dry_run: bool = False,
    ) -> Rewritten:
        """What came of writing a memory's whole history again, and of deleting the old one.

        `transform` gives for a path and a content the one that replaces it, or None to remove the file; it is asked
        once for each pair that ever was. `reword` gives for a message, and for the name and the address of an author,
        the one that replaces it. Dates stay. Commits that are left with nothing stay too, empty, unless `drop_empty`.
        With `dry_run` nothing is written.

        Raises:
            UnknownUser: there is no memory.
            Conflict: other writers were quicker each time.
            StorageUnavailable: out of time, or the bucket is away. Where the new history was in place already, the next
                opener deletes what is left of the old one.
        """
        return rewriting.rewrite(
            self._parts, user, transform, deadline, reword=reword, drop_empty=drop_empty, dry_run=dry_run
        )

    def export(self, user: str, deadline: Deadline, *, as_of: datetime | None = None) -> tuple[str, BinaryIO]:
        """The head, and a bundle of the history that leads to it, as `git clone` takes it: an open file that has no
        name any more, so that closing it is all there is to clean up. Raises as `open` does.
        """
        with self.open(user, deadline, as_of=as_of) as snapshot, self._parts.cache.scratch() as directory:
            return snapshot.head, snapshot.bundle(directory).open("rb")

    def import_bundle(
        self,
        user: str,
        bundle: BinaryIO,
        choose: Choose,
        edit: Edit,
        deadline: Deadline,
        *,
        replace: bool = False,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    ) -> Imported:
        """What came of making a bundle's history the user's memory, as it was written.

        `choose` gives for the bundle's header the name of the ref to take. `edit` may add one commit on top; both are
        in place at once. `bundle` is a file on disk that stands where the bundle begins.

        Raises:
            NotABundle: it is none that can be used, within `bounds`.
            UnsafePath: its history holds a file that a memory must not.
            Conflict: there is a memory already, with something in it, and not `replace`.
            StorageUnavailable: out of time, or the bucket is away; repeating is safe.
        """
        return importing.import_bundle(
            self._parts, user, bundle, choose, edit, deadline, replace=replace, bounds=bounds
        )

    def maintain(
        self, user: str | None, deadline: Deadline, progress: Progress = lambda done, total, one: None
    ) -> tuple[Maintained, ...]:
        """What was done for a user, or for all where it is None: unfinished erasures, rebuilds, garbage collection.

        `progress` is told how many of how many are done, and the latest. Of all users, one that fails is told and
        passed over.

        Raises:
            UnknownUser: there is no such memory, and nothing left of one.
            DeadlineExceeded: before all had their turn.
        """
        return maintaining.maintain(self._parts, user, deadline, progress)

    def usage(self, user: str, deadline: Deadline) -> tuple[int, int]:
        """Bytes and number of the packs that a memory takes in the bucket."""
        manifest = read(self._parts, self._parts.bucket, user, deadline).manifest
        return manifest.size, len(manifest.packs) + len(manifest.tail)
