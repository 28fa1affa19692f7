"""A bucket in a directory: the development store, and a real one for a single machine.

    DIRECTORY/objects/v1/6f1c/m@       an object, as `files` writes it; `names` says how names become files
    DIRECTORY/generation               the last generation given, in decimal; every put takes a larger one
    DIRECTORY/locks/3f                 locked by whoever writes or deletes an object whose name hashes to 3f
    DIRECTORY/incoming/3f              what the holder of that lock is writing; overwritten by the next, read by nobody

*Covered*: a put is written aside, synced and renamed into place, then its directory is synced: once put has returned
it survives a power cut, and nobody ever reads half of it. The precondition is checked under the lock that the rename is
done under. The locks are the kernel's (flock): they end with the process that holds them, so that `kill -9` leaves
neither a lock nor a torn object, and at most one file a lock in `incoming/`, which goes with the next put or delete of
anything: what was to be erased is not kept there. A reader takes no lock. Generations are
also at least the clock's microseconds, so that losing the file `generation`, which is not synced, brings none back.

*Not covered*: network file systems without a true flock or an atomic rename; a disk that lies about having synced.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from diffmem.errors import GenerationMismatch, ObjectNotFound, OutcomeUnknown, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage import files
from diffmem.storage.bucket import Bucket, Listed, Object, Retention, check_name
from diffmem.storage.names import objects_in, path_of


class LocalBucket(Bucket):
    """The bucket in `directory`, which the first put makes; `clock` gives nanoseconds since 1970."""

    def __init__(self, directory: Path, clock: Callable[[], int] = time.time_ns) -> None:
        self._directory = directory
        self._objects = directory / "objects"
        self._clock = clock

    @property
    def url(self) -> str:
        """`file:` and the directory as it was given."""
        return f"file:{self._directory}"

    def get(self, name: str, deadline: Deadline) -> Object:
        """The object; see `Bucket.get`."""
        found = self.get_if_changed(name, 0, deadline)
        assert found is not None  # no object has generation 0
        return found

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        """The object; of one that has not changed only the header is read."""
        path = self._path(name, deadline)
        with _unavailable(name):
            try:
                return files.read(path, name, unless_generation=generation)
            except FileNotFoundError as error:
                raise ObjectNotFound(f"no object {name!r}") from error

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        """The new generation, when content and name are on the disk.

        Raises as `Bucket.put` does, and CorruptObject where the object to replace has a damaged header.
        """
        path = self._path(name, deadline)
        with _unavailable(name), self._locked(name, deadline) as incoming:
            _check(name, path, if_generation)
            generation = self._next_generation(deadline)
            files.write(incoming, generation, data)
            files.move(incoming, path)
        with _unknown(name):
            files.sync_directory(path.parent)
        return generation

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        """The objects, from the directories that can hold them only; see `Bucket.list`."""
        with _unavailable(prefix):
            for name, path in objects_in(self._objects, prefix):
                _in_time(prefix, deadline)
                found = files.listed(path, name)
                if found:
                    yield found

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        """Remove the object, and the directories that this leaves empty; raises as `Bucket.delete` does."""
        path = self._path(name, deadline)
        with _unavailable(name), self._locked(name, deadline):
            if not path.exists():
                raise ObjectNotFound(f"no object {name!r}")
            _check(name, path, if_generation)
            path.unlink()
        with _unknown(name):
            files.sync_directory(files.prune(path.parent, self._objects))

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        """Nothing: what is deleted is gone."""
        return ()

    def preload(self) -> None:
        """Nothing: there is nothing to wait for."""

    def close(self) -> None:
        """Nothing: no file stays open between two calls."""

    def _path(self, name: str, deadline: Deadline) -> Path:
        _in_time(name, deadline)
        return path_of(self._objects, check_name(name))

    @contextmanager
    def _locked(self, name: str, deadline: Deadline) -> Iterator[Path]:
        """Hold the lock of `name`; gives the file that its holder writes aside."""
        self._clear_incoming()
        lock = hashlib.sha256(name.encode()).hexdigest()[:2]
        with files.locked(self._directory / "locks" / lock, deadline):
            yield self._directory / "incoming" / lock

    def _clear_incoming(self) -> None:
        """Remove what killed writers left: the files whose locks nobody holds."""
        for left in files.children(self._directory / "incoming"):
            with suppress(StorageUnavailable), files.locked(self._directory / "locks" / left.name, Deadline(0)):
                left.unlink(missing_ok=True)

    def _next_generation(self, deadline: Deadline) -> int:
        with files.locked(self._directory / "generation", deadline) as counter:
            last = files.read_number(counter)
            generation = max(last + 1, self._clock() // 1000)
            files.write_number(counter, generation)
            return generation


def _check(name: str, path: Path, if_generation: int | None) -> None:
    if if_generation is None:
        return
    header = files.read_header(path, name)
    generation = header.generation if header else 0
    if generation != if_generation:
        raise GenerationMismatch(f"{name!r} has generation {generation}, not {if_generation}")


def _in_time(name: str, deadline: Deadline) -> None:
    if deadline.expired:
        raise StorageUnavailable(f"no time left for {name!r}")


@contextmanager
def _unavailable(name: str) -> Iterator[None]:
    """Translate what the file system says before anything has changed."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailable(f"the file system failed at {name!r}: {error.strerror}") from error


@contextmanager
def _unknown(name: str) -> Iterator[None]:
    """Translate what the file system says after the change was made and before it was safe."""
    try:
        yield
    except OSError as error:
        raise OutcomeUnknown(f"the file system failed after {name!r} was changed: {error.strerror}") from error
