"""Putting a pack into the bucket: two objects under a name that nobody has used."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from diffmem.errors import BucketBusy, GenerationMismatch, OutcomeUnknown, StorageError, StorageUnavailable
from diffmem.git.packs import Pack
from diffmem.limits import Deadline
from diffmem.repository.names import pack_objects
from diffmem.repository.patience import Patience
from diffmem.storage import Bucket

_TRIES = 6


def upload(bucket: Bucket, uid: str, name: str, pack: Pack, patience: Patience, deadline: Deadline) -> None:
    """Store a pack and its index side by side; both are there when this returns.

    Raises:
        StorageUnavailable: they could not be stored in time; either may be there, and nothing names it.
    """
    parts = dict(zip(pack_objects(uid, name), (pack.data, pack.index), strict=True))
    for _ in range(_TRIES):
        with ThreadPoolExecutor(len(parts), "upload") as pool:
            ends = list(pool.map(lambda part: _put(bucket, part[0], part[1], deadline), parts.items()))
        for end in ends:
            if isinstance(end, BucketBusy):
                patience.busy(end)
            elif end:
                patience.lost()
        parts = {part: data for (part, data), end in zip(parts.items(), ends, strict=True) if end}
        if not parts:
            return
        patience.wait()
    raise StorageUnavailable("a pack could not be stored; repeating the request is safe")


def withdraw(bucket: Bucket, uid: str, names: Iterable[str], deadline: Deadline) -> None:
    """Delete packs that no manifest can name any more; what the bucket refuses is left to garbage collection."""
    parts = [part for name in names for part in pack_objects(uid, name)]
    if parts:
        with ThreadPoolExecutor(len(parts), "withdraw") as pool:
            list(pool.map(lambda part: _delete(bucket, part, deadline), parts))


def _delete(bucket: Bucket, name: str, deadline: Deadline) -> None:
    with suppress(StorageError):
        bucket.delete(name, deadline)


def _put(bucket: Bucket, name: str, data: bytes, deadline: Deadline) -> BucketBusy | OutcomeUnknown | None:
    """How a put ended where it has to be repeated. The name is ours alone, so whatever is there already is this."""
    try:
        bucket.put(name, data, deadline, if_generation=0)
    except GenerationMismatch:
        return None
    except (BucketBusy, OutcomeUnknown) as error:
        return error
    return None
