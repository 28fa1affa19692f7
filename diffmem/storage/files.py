"""The files under a `LocalBucket`: objects with a header, atomic replacement, and the kernel's locks.

An object's file is a header of 32 bytes (magic, generation, size, CRC-32 of the content) and then the content.
Everything here raises `OSError` as it comes, and `CorruptObject` for bytes that are not an object's.
"""

import fcntl
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from diffmem.errors import CorruptObject, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage.bucket import Listed, Object

MAGIC = b"DMobj\x00\x00\x01"
LAYOUT = struct.Struct(">8sQQI4x")
NUMBER_DIGITS = 20
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.0005, 0.008
MOVE_TRIES = 16


class Header(NamedTuple):
    """What an object's file says of its content."""

    generation: int
    size: int
    crc32: int


def read(path: Path, name: str, *, unless_generation: int) -> Object | None:
    """The object in `path`; None, after reading no more than its header, where it has this generation."""
    with path.open("rb", buffering=0) as file:
        header = _parse(file.read(LAYOUT.size), name)
        if header.generation == unless_generation:
            return None
        data = file.read()
    if len(data) != header.size or zlib.crc32(data) != header.crc32:
        raise CorruptObject(f"object {name!r} is not what was written: its checksum differs")
    return Object(data, header.generation)


def read_header(path: Path, name: str) -> Header | None:
    """The header of the object in `path`; None where there is no such file."""
    try:
        with path.open("rb", buffering=0) as file:
            return _parse(file.read(LAYOUT.size), name)
    except FileNotFoundError:
        return None


def listed(path: Path, name: str) -> Listed | None:
    """The object in `path` as a listing has it; None where it has gone.

    One whose header is damaged is listed all the same, as generation 0, so that it can be deleted.
    """
    try:
        header = read_header(path, name)
    except CorruptObject:
        return Listed(name, 0, 0)
    return Listed(name, header.generation, header.size) if header else None


def write(path: Path, generation: int, data: bytes) -> None:
    """Make `path` an object's file, whatever was there, and sync it."""
    descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        _write_all(descriptor, LAYOUT.pack(MAGIC, generation, len(data), zlib.crc32(data)))
        _write_all(descriptor, data)
        os.fsync(file.fileno())


def move(source: Path, target: Path) -> None:
    """Rename `source` to `target`, making the target's directories, even while `prune` takes them away."""
    for _ in range(MOVE_TRIES):
        with suppress(FileNotFoundError):
            source.replace(target)
            return
        make_directory(target.parent)
    source.replace(target)


def make_directory(path: Path) -> None:
    """Make `path` and its parents, synced; another process may make or remove them meanwhile."""
    if path.is_dir():
        return
    make_directory(path.parent)
    with suppress(FileExistsError, FileNotFoundError):
        path.mkdir(mode=0o700)
        sync_directory(path.parent)


def children(path: Path) -> list[Path]:
    """What lies in a directory; nothing where there is none."""
    try:
        return list(path.iterdir())
    except FileNotFoundError:
        return []


def prune(path: Path, top: Path) -> Path:
    """Remove `path` and its parents below `top` as far as they are empty; gives the first that stays."""
    while path != top:
        try:
            path.rmdir()
        except FileNotFoundError:
            pass
        except OSError:  # not empty
            return path
        path = path.parent
    return path


def sync_directory(path: Path) -> None:
    """Put the names in a directory on the disk; one that has been removed has nothing to keep."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def locked(path: Path, deadline: Deadline) -> Iterator[int]:
    """Hold the lock on the file `path`, made where absent; gives its descriptor.

    The lock belongs to this one opening of the file: it holds off other threads as well as other processes. A child
    forked meanwhile shares it, which is why it is given back by name before the file is closed.

    Raises:
        StorageUnavailable: others held it until the deadline.
    """
    descriptor = _open(path, os.O_RDWR | os.O_CREAT)
    try:
        _lock(descriptor, deadline)
        try:
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def read_number(descriptor: int) -> int:
    """The number in an open file; 0 where it holds none."""
    text = os.pread(descriptor, NUMBER_DIGITS, 0)
    return int(text) if text.isdigit() else 0


def write_number(descriptor: int, number: int) -> None:
    """Write the number into an open file, over the one before it, in one write."""
    os.pwrite(descriptor, b"%0*d\n" % (NUMBER_DIGITS, number), 0)


def _lock(descriptor: int, deadline: Deadline) -> None:
    pause = FIRST_PAUSE_SECONDS
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if deadline.expired:
            raise StorageUnavailable("other writers held the bucket's lock until the deadline")
        time.sleep(min(pause, deadline.remaining()))
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags, mode=0o600)
    except FileNotFoundError:
        make_directory(path.parent)
        return os.open(path, flags, mode=0o600)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _parse(head: bytes, name: str) -> Header:
    if len(head) < LAYOUT.size or not head.startswith(MAGIC):
        raise CorruptObject(f"object {name!r} is not what was written: it has no header")
    _, generation, size, crc32 = LAYOUT.unpack(head)
    return Header(generation, size, crc32)
