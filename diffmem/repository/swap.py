"""Reading the manifest and putting another in its place: the one step by which anything ever changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from diffmem.errors import BucketBusy, GenerationMismatch, GitError, OutcomeUnknown, UnknownUser
from diffmem.git.packs import Pack
from diffmem.limits import Deadline
from diffmem.repository.hydrate import Hydrated
from diffmem.repository.manifest import Manifest, encode
from diffmem.repository.names import manifest_name
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.storage import Bucket

T = TypeVar("T")

_MENDS = 2


def read(parts: Parts, bucket: Bucket, user: str, deadline: Deadline) -> Hydrated:
    """The user's repository as `bucket` has it now.

    Raises:
        UnknownUser: there is none.
    """
    found = parts.hydrator.read(bucket, parts.uid(user), user, deadline)
    if found is None:
        raise UnknownUser(f"no memory of {user!r}")
    return found


def read_and(parts: Parts, user: str, deadline: Deadline, act: Callable[[Hydrated], T]) -> tuple[Hydrated, T]:
    """The user's repository now, and what `act` gives for it.

    Where a part of the cache is damaged, or vanishes under `act` because others erase or rewrite, it is fetched again.

    Raises:
        UnknownUser: there is none.
    """
    for _ in range(_MENDS):
        base = read(parts, parts.bucket, user, deadline)
        try:
            return base, act(base)
        except (GitError, FileNotFoundError):
            base.place.remove_damaged(base.manifest.trailers)
    base = read(parts, parts.bucket, user, deadline)
    return base, act(base)


def swap(
    parts: Parts,
    bucket: Bucket,
    base: Hydrated,
    manifest: Manifest,
    patience: Patience,
    deadline: Deadline,
    *,
    fresh: Sequence[Pack] = (),
) -> Hydrated | None:
    """The repository with `manifest`, one `seq` later, in place of that of `base`; `fresh` are the packs it adds.

    None where it was not written, or that is not known; `patience` then knows how long to wait.
    """
    following = replace(manifest, seq=base.manifest.seq + 1)
    data = encode(following)
    try:
        generation = bucket.put(manifest_name(base.uid), data, deadline, if_generation=base.generation)
    except BucketBusy as error:
        patience.busy(error)
        return None
    except (GenerationMismatch, OutcomeUnknown):
        patience.lost()
        return None
    return parts.hydrator.adopt(base.uid, following, generation, data, fresh)
