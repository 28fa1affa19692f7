"""READ: the manifest by a conditional GET, and whatever packs the cache lacks.

    304                         the cache holds, when its packs are all there
    another id or epoch         what was cached is another history: it is removed
    no object                   the user is gone: so is what was cached
    a pack that is not there    the manifest has moved on since it was read: read it again
    erased or rewritten since   what was put into the cache too late is removed again

A cache is replaced only by bytes that match the sums in the manifest.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from diffmem.errors import Conflict, CorruptObject, ObjectNotFound, StorageUnavailable, UnknownUser
from diffmem.git.packs import Pack
from diffmem.limits import Deadline
from diffmem.repository.cache import Cache, CachedRepository
from diffmem.repository.files import stubbornly
from diffmem.repository.lease import Lease
from diffmem.repository.locks import KeyedLocks
from diffmem.repository.manifest import Manifest, StoredPack, decode
from diffmem.repository.names import manifest_name, pack_objects
from diffmem.repository.recent import Recent
from diffmem.storage import Bucket

_DOWNLOADS = 16
_KNOWN_USERS = 64
_READS = 4


class HistoryReplaced(Conflict):
    """The history that a snapshot stands on was rewritten, and what was cached of it is gone."""


class History(NamedTuple):
    """One history of one user: what is kept in memory of it is kept under this key."""

    uid: str
    id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Known:
    """A manifest and the generation it was read with; generation 0 is a manifest that was never written."""

    manifest: Manifest
    generation: int


@dataclass(frozen=True, slots=True)
class Hydrated:
    """A manifest whose packs are all in `place`, which is not evicted as long as this is referred to."""

    uid: str
    manifest: Manifest
    generation: int
    place: CachedRepository
    lease: Lease | None = None

    @property
    def history(self) -> History:
        """Which history this is."""
        return History(self.uid, self.manifest.id, self.manifest.epoch)

    def is_intact(self) -> bool:
        """Whether all packs are still there."""
        stored = all(self.place.has(pack.trailer, pack.psz, pack.isz) for pack in self.manifest.packs)
        return stored and all(
            self.place.has(pack.trailer, len(pack.data), len(pack.index)) for pack in self.manifest.tail
        )


class Hydrator:
    """Keeps the cache in step with the bucket; shared by all threads of a process."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._lock = threading.Lock()
        self._hydrating = KeyedLocks()
        self._installed: Recent[Path, tuple[int, frozenset[str]]] = Recent(_KNOWN_USERS, lambda _: 1)

    def read(self, bucket: Bucket, uid: str, user: str, deadline: Deadline) -> Hydrated | None:
        """The user's repository as the bucket has it now, or None where there is none.

        Raises:
            CorruptObject: the manifest or a pack is not what its sum says; what was cached stays.
            StorageUnavailable: the bucket could not be read in time.
        """
        self._cache.prepare()
        missing: StoredPack | None = None
        generation = -1
        for _ in range(_READS):
            known = self._read_manifest(bucket, uid, user, deadline)
            if known is None:
                return None
            if missing and known.generation == generation:
                raise CorruptObject(f"{pack_objects(uid, missing.name)[0]!r} is named by the manifest and is not there")
            with self._hydrating.hold(uid, deadline):
                hydrated, missing = stubbornly(partial(self._hydrate, bucket, uid, known, deadline))
            if missing is None:
                return hydrated
            generation = known.generation
        raise StorageUnavailable("the manifest changed faster than its packs could be read")

    def adopt(self, uid: str, manifest: Manifest, generation: int, data: bytes, fresh: Sequence[Pack]) -> Hydrated:
        """What this process has just written, without reading it back; `fresh` are the packs it uploaded."""
        known = Known(manifest, generation)
        self._keep(uid, known, data)
        with self._hydrating.hold(uid):
            hydrated, _ = stubbornly(partial(self._install, uid, known, fresh))
            self._settle(hydrated.place, known)
        return hydrated

    def forget(self, uid: str) -> None:
        """Drop everything cached of a user."""
        with self._lock:
            self._known.pop(uid, None)
        self._cache.wipe(uid)

    def repair(self, bucket: Bucket, before: Hydrated, deadline: Deadline) -> Hydrated:
        """The same history as the bucket has it now, after every cached pack was looked through.

        Raises:
            UnknownUser: the user was erased meanwhile.
            HistoryReplaced: it was rewritten meanwhile.
        """
        now = self._same(bucket, before, deadline)
        if now.place.remove_damaged({*before.manifest.trailers, *now.manifest.trailers}):
            return self._same(bucket, before, deadline)
        return now

    def _same(self, bucket: Bucket, before: Hydrated, deadline: Deadline) -> Hydrated:
        now = self.read(bucket, before.uid, before.manifest.user, deadline)
        if now is None or now.manifest.id != before.manifest.id:
            raise UnknownUser(f"no memory of {before.manifest.user!r} any more")
        if now.manifest.epoch != before.manifest.epoch:
            raise HistoryReplaced("the memory was rewritten while it was being read")
        return now

    def _read_manifest(self, bucket: Bucket, uid: str, user: str, deadline: Deadline) -> Known | None:
        known = self._remembered(uid)
        name = manifest_name(uid)
        try:
            found = bucket.get_if_changed(name, known.generation, deadline) if known else bucket.get(name, deadline)
        except ObjectNotFound:
            self.forget(uid)
            return None
        if found is None:
            return known
        manifest = decode(found.data, name)
        if manifest.user != user:
            raise CorruptObject(f"{name!r} is not the manifest of this user")
        return self._keep(uid, Known(manifest, found.generation), found.data, replaces=known)

    def _remembered(self, uid: str) -> Known | None:
        with self._lock:
            known = self._known.get(uid)
            if known:
                self._known.move_to_end(uid)
                return known
        return self._saved(uid)

    def _saved(self, uid: str) -> Known | None:
        saved = self._cache.load(uid)
        if saved is None:
            return None
        try:
            return Known(decode(saved[1], "the cached manifest"), saved[0])
        except CorruptObject:
            return None

    def _keep(self, uid: str, known: Known, data: bytes, *, replaces: Known | None = None) -> Known:
        """Remember a manifest, unless another thread has already remembered a later one; gives the one to use.

        `replaces` is the one that the bucket was asked about: it is another now, also where its generation is lower,
        because somebody has put a copy of the bucket's files in place of them.
        """
        with self._lock:
            latest = self._known.get(uid)
            if latest and latest is not replaces and latest.generation > known.generation:
                return latest
            self._known[uid] = known
            self._known.move_to_end(uid)
            while len(self._known) > _KNOWN_USERS:
                self._known.popitem(last=False)
        stubbornly(partial(self._cache.save, uid, known.generation, data))
        self._cache.wipe(uid, keep=self._cache.repository(uid, known.manifest.id, known.manifest.epoch))
        return known

    def _install(self, uid: str, known: Known, fresh: Sequence[Pack]) -> tuple[Hydrated, bool]:
        """A manifest with its tail, and the packs that are at hand, in the cache; with whether any had been missing."""
        place = self._cache.repository(uid, known.manifest.id, known.manifest.epoch)
        place.prepare()
        lease = place.use()
        packs = [*fresh, *known.manifest.tail]
        missing = [pack for pack in packs if not place.has(pack.trailer, len(pack.data), len(pack.index))]
        for pack in missing:
            place.install(pack)
        return Hydrated(uid, known.manifest, known.generation, place, lease), bool(missing)

    def _hydrate(
        self, bucket: Bucket, uid: str, known: Known, deadline: Deadline
    ) -> tuple[Hydrated, StoredPack | None]:
        """The cache, brought up to a manifest; with a pack that the bucket does not have, where there is one."""
        hydrated, is_new = self._install(uid, known, ())
        place = hydrated.place
        lacking = [pack for pack in known.manifest.packs if not place.has(pack.trailer, pack.psz, pack.isz)]
        missing = self._download(bucket, uid, place, lacking, deadline) if lacking else None
        if missing is None:
            self._settle(place, known)
        if is_new or lacking:
            self._remove_if_replaced(hydrated)
        return hydrated, missing

    def _remove_if_replaced(self, hydrated: Hydrated) -> None:
        """Remove what was installed of a history that was erased or rewritten between its manifest's GET and now.

        Whoever did so has wiped the cache before. Whoever reads on what is removed here finds it gone, and reads again.
        """
        uid = hydrated.uid
        saved = self._saved(uid)
        with self._lock:
            is_known = uid in self._known
        if saved is None and not is_known:
            self._cache.wipe(uid)
        elif saved is not None and saved.generation > hydrated.generation:
            latest = self._cache.repository(uid, saved.manifest.id, saved.manifest.epoch)
            if latest.root != hydrated.place.root:
                self._cache.wipe(uid, keep=latest)

    def _settle(self, place: CachedRepository, known: Known) -> None:
        """Remove packs of earlier manifests, now that their objects are in the packs of a later one.

        Where this process has not seen the place before, whatever else lies there is from others before it.
        """
        generation, installed = self._installed.get(place.root) or (0, place.trailers())
        if known.generation > generation:
            trailers = frozenset(known.manifest.trailers)
            for trailer in installed - trailers:
                place.remove(trailer)
            self._installed.put(place.root, (known.generation, trailers))

    def _download(
        self, bucket: Bucket, uid: str, place: CachedRepository, packs: list[StoredPack], deadline: Deadline
    ) -> StoredPack | None:
        names = [name for pack in packs for name in pack_objects(uid, pack.name)]
        with ThreadPoolExecutor(min(_DOWNLOADS, len(names)), "hydrate") as pool:
            parts = list(pool.map(lambda name: _get(bucket, name, deadline), names))
        for pack, data, index in zip(packs, parts[::2], parts[1::2], strict=True):
            if data is None or index is None:
                return pack
            _check(pack_objects(uid, pack.name), (data, index), (pack.sha, pack.isha))
            place.install(Pack(data, index))
        return None


def _get(bucket: Bucket, name: str, deadline: Deadline) -> bytes | None:
    try:
        return bucket.get(name, deadline).data
    except ObjectNotFound:
        return None


def _check(names: tuple[str, str], parts: tuple[bytes, bytes], sums: tuple[str, str]) -> None:
    for name, part, expected in zip(names, parts, sums, strict=True):
        if hashlib.sha256(part).hexdigest() != expected:
            raise CorruptObject(f"{name!r} is not what was written: its SHA-256 is another")
