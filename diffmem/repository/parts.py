"""What the steps of a repository's life share within a process: the bucket, the cache, the memory, the clocks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from diffmem.git import history
from diffmem.git.packs import Pack, Scratch
from diffmem.git.writing import ROOT, write_commit
from diffmem.limits import Deadline
from diffmem.repository.cache import Cache
from diffmem.repository.hydrate import History, Hydrated, Hydrator
from diffmem.repository.locks import KeyedLocks
from diffmem.repository.manifest import Manifest
from diffmem.repository.names import new_id, user_hash
from diffmem.repository.recent import Recent
from diffmem.repository.snapshot import Shelves, Snapshot
from diffmem.repository.views import Views
from diffmem.storage import Bucket, MeteredBucket


@dataclass(frozen=True)
class Parts:
    """The parts, and what is made directly of them."""

    bucket: Bucket
    cache: Cache
    id_secret: str | None
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    hydrator: Hydrator
    writers: KeyedLocks = field(default_factory=KeyedLocks)
    shelves: Shelves = field(default_factory=Shelves)
    views: Views = field(default_factory=Views)
    transactions: "Transactions" = field(default_factory=lambda: Transactions())

    def uid(self, user: str) -> str:
        """What stands for `user` in the names of objects."""
        return user_hash(user, self.id_secret)

    def snapshot(
        self,
        hydrated: Hydrated,
        bucket: MeteredBucket,
        deadline: Deadline,
        *,
        head: str | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> Snapshot:
        """A snapshot of `hydrated`, at its head where no other commit is named."""
        return Snapshot(
            hydrated,
            head or hydrated.manifest.head,
            bucket=bucket,
            deadline=deadline,
            shelves=self.shelves,
            views=self.views,
            repair=lambda before: self.hydrator.repair(bucket, before, deadline),
            on_close=on_close,
        )

    def forget(self, uid: str) -> None:
        """Drop everything that disk and memory hold of a user."""
        self.hydrator.forget(uid)
        self.shelves.forget(uid)
        self.transactions.forget(uid)

    def newborn(self, user: str, deadline: Deadline) -> Hydrated:
        """A repository that holds the first commit of every memory and is in no bucket yet.

        It lies in a directory of its own, which the caller removes.
        """
        self.cache.prepare()
        place = self.cache.temporary_repository()
        place.prepare()
        with self.cache.scratch() as directory:
            head, pack = write_commit(Scratch(directory, place.objects), ROOT, deadline)
        place.install(pack)
        return Hydrated(self.uid(user), _first(user, head, pack), 0, place)


def _first(user: str, head: str, pack: Pack) -> Manifest:
    recorded_at = int(ROOT.recorded_at.timestamp())
    return Manifest(user, new_id(), 0, 0, 0, head, commits=1, head_recorded_at=recorded_at, tail=(pack,))


class Transactions:
    """The `Tx` trailers of the histories that this process has written to, so that a retry finds its commit quickly."""

    def __init__(self) -> None:
        self._known: Recent[History, tuple[str, dict[str, str]]] = Recent(200_000, lambda known: 1 + len(known[1]))

    def find(self, hydrated: Hydrated, tx: str, deadline: Deadline) -> str | None:
        """The sha of the commit with this trailer, or None; one process where the head is new to us."""
        head = hydrated.manifest.head
        before, known = self._known.get(hydrated.history) or (None, {})
        if before != head:
            revs = f"{before}..{head}" if before else head
            known = {**known, **history.transactions(hydrated.place.bare(head), revs, deadline)}
            self._known.put(hydrated.history, (head, known))
        return known.get(tx)

    def add(self, hydrated: Hydrated, parent: str, tx: str) -> None:
        """Note the commit at the head of `hydrated`, made on `parent`, where all before it are known."""
        before, known = self._known.get(hydrated.history) or (None, {})
        if before == parent:
            self._known.put(hydrated.history, (hydrated.manifest.head, {**known, tx: hydrated.manifest.head}))

    def forget(self, uid: str) -> None:
        """Drop what is known of a user's histories."""
        self._known.drop(lambda key: key[0] == uid)
