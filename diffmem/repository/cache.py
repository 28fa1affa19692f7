"""The warm cache on disk: what may be lost at any time, and what nobody else on the machine may read.

    CACHE/<hash of the bucket's URL>/       0711: other accounts may pass (the tool's sandbox is one), not look around
      <uid>/m                       the last manifest read, with its generation; 0600
      <uid>/<id>-<epoch>/           one repository's history
        lease                       locked by whoever has a snapshot open; its time is that of the last use
        git/                        a bare git directory for our own commands
        objects/pack/               packs, each named by its checksum
        views/<head>/               checkouts (`diffmem.repository.views`)
      tmp/<process>/                what a process is making or removing
        lease                       locked by it; where nobody holds it, the process was killed, and its part goes

Everything is made aside and renamed into place. Nothing here is ever believed without a check against the manifest, and
refs are never read from here.
"""

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from diffmem.errors import ConfigError
from diffmem.git.environment import Checkout
from diffmem.git.packs import Pack
from diffmem.repository import eviction, lease
from diffmem.repository.files import discard, make_directory, remove_tree, stubbornly, write_file
from diffmem.repository.lease import Lease

_GENERATION_BYTES = 8


class CachedRepository:
    """The directory of one history (one id, one epoch) of one user."""

    def __init__(self, root: Path, scratch: Path, note_bytes: Callable[[int], None]) -> None:
        self.root = root
        self.scratch = scratch
        self.note_bytes = note_bytes
        self.objects = root / "objects"
        self.packs = self.objects / "pack"
        self.git_dir = root / "git"
        self.views = root / "views"

    def prepare(self) -> None:
        """Make what is missing of the directories and of the bare git directory."""
        make_directory(self.scratch, 0o711)
        make_directory(self.root.parent, 0o711)
        for directory in (self.root, self.objects, self.packs, self.git_dir, self.git_dir / "refs", self.views):
            make_directory(directory, 0o755)
        if not (self.git_dir / "HEAD").exists():
            write_file(self.git_dir / "HEAD", b"ref: refs/heads/main\n", self.scratch)

    def bare(self, head: str) -> Checkout:
        """The repository without a tree, for commands that need none."""
        return Checkout(self.root / "no-tree", self.git_dir, self.objects, head)

    def use(self) -> Lease | None:
        """Keep the directory from eviction and note its use; None where it has just been removed."""
        held = lease.share(self.root / "lease")
        with suppress(FileNotFoundError):
            os.utime(self.root / "lease")
        return held

    def has(self, trailer: str, psz: int, isz: int) -> bool:
        """Whether both files of a pack are here with these sizes."""
        path = self.packs / f"pack-{trailer}.pack"
        try:
            return path.stat().st_size == psz and path.with_suffix(".idx").stat().st_size == isz
        except OSError:
            return False

    def trailers(self) -> frozenset[str]:
        """The checksums of all packs that lie here."""
        return frozenset(path.stem.removeprefix("pack-") for path in self.packs.glob("pack-*.idx"))

    def install(self, pack: Pack) -> None:
        """Put a pack where git finds it: the pack first, then the index that announces it."""
        path = self.packs / f"pack-{pack.trailer}.pack"
        write_file(path, pack.data, self.scratch, mode=0o444)
        write_file(path.with_suffix(".idx"), pack.index, self.scratch, mode=0o444)
        self.note_bytes(pack.size)

    def remove(self, trailer: str) -> None:
        """Take a pack away, the index first."""
        path = self.packs / f"pack-{trailer}.pack"
        path.with_suffix(".idx").unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def remove_damaged(self, trailers: Iterable[str]) -> int:
        """Take away those of the packs that do not match their checksums; gives how many."""
        damaged = [trailer for trailer in trailers if not self._is_sound(trailer)]
        for trailer in damaged:
            self.remove(trailer)
        return len(damaged)

    def _is_sound(self, trailer: str) -> bool:
        path = self.packs / f"pack-{trailer}.pack"
        try:
            return Pack(path.read_bytes(), path.with_suffix(".idx").read_bytes()).is_whole()
        except OSError:
            return False


class Cache:
    """The directories of all users of one bucket, under `root`, which `prepare` makes.

    They take about `max_bytes`, unless what is in use takes more: whenever a sixteenth of that has been added, or no
    more than that is free on the disk, what was used least recently goes.
    """

    def __init__(self, root: Path, bucket_url: str, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._unswept = max_bytes
        self._root = root / hashlib.sha256(bucket_url.encode()).hexdigest()[:16]
        self._making = self._root / "tmp"
        self._scratch = self._making / secrets.token_hex(8)
        self._lease: Lease | None = None

    def prepare(self) -> None:
        """Make the root, where no other account can write, and a place in it for what this process makes.

        Raises:
            ConfigError: it exists, and another account made it, or may write to it.
        """
        for directory in (self._root, self._making):
            make_directory(directory, 0o711)
        found = self._root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise ConfigError("DIFFMEM_CACHE must be a directory that only the server's own account can write to")
        if not (self._scratch / "lease").exists():
            stubbornly(self._claim_scratch)

    def repository(self, uid: str, repository_id: str, epoch: int) -> CachedRepository:
        """The directory of a history; it may not exist yet."""
        return CachedRepository(self._root / uid / f"{repository_id}-{epoch}", self._scratch, self._note)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty directory that is gone afterwards."""
        directory = self._scratch / secrets.token_hex(8)
        directory.mkdir(parents=True)
        try:
            yield directory
        finally:
            remove_tree(directory)

    def temporary_repository(self) -> CachedRepository:
        """A directory for a history that is nobody's yet."""
        return CachedRepository(self._scratch / secrets.token_hex(8), self._scratch, self._note)

    def load(self, uid: str) -> tuple[int, bytes] | None:
        """The generation and the bytes of the last manifest that was saved, or None."""
        try:
            data = (self._root / uid / "m").read_bytes()
        except OSError:
            return None
        return int.from_bytes(data[:_GENERATION_BYTES], "big"), data[_GENERATION_BYTES:]

    def save(self, uid: str, generation: int, data: bytes) -> None:
        """Keep a manifest for the next process."""
        for directory in (self._scratch, self._root / uid):
            make_directory(directory, 0o711)
        write_file(self._root / uid / "m", generation.to_bytes(_GENERATION_BYTES, "big") + data, self._scratch, 0o600)

    def wipe(self, uid: str, keep: CachedRepository | None = None) -> None:
        """Remove everything of a user, or everything but one history and the manifest.

        With it goes what killed processes were making, of which nobody knows whose it is.
        """
        doomed = [self._root / uid] if keep is None else self._others(uid, keep)
        if doomed:
            stubbornly(self._clear_abandoned)
        for path in doomed:
            discard(path, self._scratch)

    def _others(self, uid: str, keep: CachedRepository) -> list[Path]:
        try:
            return [path for path in (self._root / uid).iterdir() if path != keep.root and path.is_dir()]
        except OSError:
            return []

    def _clear_abandoned(self) -> None:
        self.prepare()
        eviction.clear_abandoned(self._making, self._scratch)

    def _claim_scratch(self) -> None:
        """Make this process's own part of `tmp/`, and let others know that it lives."""
        make_directory(self._scratch, 0o711)
        self._lease = lease.share(self._scratch / "lease")
        if self._lease is None:
            raise FileNotFoundError(self._scratch)  # taken for a killed process's: again
        eviction.clear_abandoned(self._making, self._scratch)

    def _note(self, size: int) -> None:
        """Count bytes that were added, and make room when they are many, or the disk is nearly full."""
        share = self._max_bytes // 16
        with suppress(FileNotFoundError):  # the whole cache was removed meanwhile
            lacking = eviction.shortage(self._root, share)
            with self._lock:
                self._unswept += size
                if self._unswept < share and not lacking:
                    return
                self._unswept = 0
            eviction.clear_abandoned(self._making, self._scratch)
            eviction.evict(self._root, self._making, self._scratch, self._max_bytes, lacking)
