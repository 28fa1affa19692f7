"""All users' repositories in one bucket: the one door to reading and writing a memory."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from diffmem.errors import UnknownUser
from diffmem.limits import Deadline
from diffmem.repository import commit as committing
from diffmem.repository.cache import Cache
from diffmem.repository.commit import Committed, Edit
from diffmem.repository.hydrate import Hydrated
from diffmem.repository.parts import Parts
from diffmem.repository.snapshot import Snapshot
from diffmem.storage import Bucket, MeteredBucket


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Repositories:
    """One a process, made after the fork; safe between threads, and beside other processes and machines."""

    def __init__(
        self,
        bucket: Bucket,
        cache_dir: Path,
        *,
        cache_max_bytes: int,
        id_secret: str | None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._parts = Parts(bucket, Cache(cache_dir, bucket.url), id_secret, clock)

    def open(self, user: str, deadline: Deadline, *, as_of: datetime | None = None) -> Snapshot:
        """The user's memory as the bucket has it now, or as it was recorded at `as_of`.

        Raises:
            UnknownUser: there is none.
            UnknownCommit: nothing had been recorded at `as_of`.
            CorruptObject: an object of it is damaged; the message names the object.
            StorageUnavailable: the bucket cannot be read in time.
        """
        bucket = MeteredBucket(self._parts.bucket)
        hydrated = self._read(bucket, user, deadline)
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

    def usage(self, user: str, deadline: Deadline) -> tuple[int, int]:
        """Bytes and number of the packs that a memory takes in the bucket."""
        manifest = self._read(MeteredBucket(self._parts.bucket), user, deadline).manifest
        return manifest.size, len(manifest.packs) + len(manifest.tail)

    def _read(self, bucket: MeteredBucket, user: str, deadline: Deadline) -> Hydrated:
        found = self._parts.hydrator.read(bucket, self._parts.uid(user), user, deadline)
        if found is None:
            raise UnknownUser(f"no memory of {user!r}")
        return found
