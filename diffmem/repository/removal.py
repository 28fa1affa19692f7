"""Deleting objects that nothing names any more, many at a time."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from diffmem.errors import BucketBusy, ObjectNotFound, OutcomeUnknown, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.repository.patience import Patience
from diffmem.storage import Bucket, Listed

_THREADS = 16
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Removed:
    """Objects that are gone, their bytes, and their generations."""

    objects: int = 0
    bytes: int = 0
    generations: tuple[int, ...] = ()

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(self.objects + other.objects, self.bytes + other.bytes, (*self.generations, *other.generations))

    @classmethod
    def of(cls, listed: Iterable[Listed]) -> "Removed":
        """What the removal of these objects amounts to."""
        gone = tuple(listed)
        return cls(len(gone), sum(one.size for one in gone), tuple(one.generation for one in gone))


def remove(bucket: Bucket, doomed: Iterable[Listed], patience: Patience, deadline: Deadline) -> Removed:
    """Delete objects; all are gone when this returns, whoever deleted them.

    Raises:
        StorageUnavailable: some may be left.
    """
    objects = tuple(doomed)
    left = [listed.name for listed in objects]
    for _ in range(_TRIES):
        if not left:
            return Removed.of(objects)
        with ThreadPoolExecutor(min(_THREADS, len(left)), "remove") as pool:
            ends = list(pool.map(lambda name: _delete(bucket, name, deadline), left))
        for end in ends:
            if isinstance(end, BucketBusy):
                patience.busy(end)
        left = [name for name, end in zip(left, ends, strict=True) if end]
        patience.wait()
    raise StorageUnavailable("not everything could be deleted; repeating the request is safe")


def _delete(bucket: Bucket, name: str, deadline: Deadline) -> BucketBusy | OutcomeUnknown | None:
    """How a delete ended where it has to be repeated."""
    try:
        bucket.delete(name, deadline)
    except ObjectNotFound:
        return None
    except (BucketBusy, OutcomeUnknown) as error:
        return error
    return None
