"""Who is using a part of the cache: a shared lock of the kernel's on a file, held by whoever reads.

It ends with its holder, also by `kill -9`. Whoever wants to remove the part asks for the lock exclusively and lets the
part be where it does not get it.
"""

import fcntl
import os
import weakref
from pathlib import Path


class Lease:
    """One open lock. It is released once, however often `release` is called, and also when the object is forgotten."""

    def __init__(self, descriptor: int) -> None:
        self._finalizer = weakref.finalize(self, os.close, descriptor)

    def release(self) -> None:
        """Let go of the lock."""
        self._finalizer()


def share(path: Path) -> Lease | None:
    """A shared lock on the file `path`, made where it is missing; None where it or its directory has been removed."""
    return _lock(path, fcntl.LOCK_SH)


def claim(path: Path) -> Lease | None:
    """The exclusive lock on the file `path`; None where somebody holds a lock, or it has been removed."""
    return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(path: Path, operation: int) -> Lease | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        return None
    lease = Lease(descriptor)
    try:
        fcntl.flock(descriptor, operation)
        there = path.stat()
    except (BlockingIOError, FileNotFoundError):
        lease.release()
        return None
    held = os.fstat(descriptor)
    if (held.st_ino, held.st_dev) != (there.st_ino, there.st_dev):
        lease.release()  # the directory was moved away while we waited
        return None
    return lease
