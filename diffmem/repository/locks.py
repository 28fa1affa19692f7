"""One lock a key, made when it is first asked for and forgotten when nobody holds or awaits it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from diffmem.errors import StorageUnavailable
from diffmem.limits import Deadline


class KeyedLocks:
    """Locks by key, for the threads of one process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, key: str, deadline: Deadline | None = None) -> Iterator[None]:
        """Hold the lock of `key`.

        Raises:
            StorageUnavailable: others held it until the deadline.
        """
        lock = self._join(key)
        try:
            if not lock.acquire(timeout=deadline.remaining() if deadline else -1):
                raise StorageUnavailable("other requests of this user took all the time")
            try:
                yield
            finally:
                lock.release()
        finally:
            self._leave(key)

    def _join(self, key: str) -> threading.Lock:
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (lock, users + 1)
            return lock

    def _leave(self, key: str) -> None:
        with self._guard:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)
