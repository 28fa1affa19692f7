"""Reading the manifest and putting another in its place: the one step by which anything ever changes."""

from collections.abc import Sequence
from dataclasses import replace

from diffmem.errors import BucketBusy, GenerationMismatch, OutcomeUnknown, UnknownUser
from diffmem.git.packs import Pack
from diffmem.limits import Deadline
from diffmem.repository.hydrate import Hydrated
from diffmem.repository.manifest import Manifest, encode
from diffmem.repository.names import manifest_name
from diffmem.repository.parts import Parts
from diffmem.repository.patience import Patience
from diffmem.storage import Bucket


def read(parts: Parts, bucket: Bucket, user: str, deadline: Deadline) -> Hydrated:
    """The user's repository as `bucket` has it now.

    Raises:
        UnknownUser: there is none.
    """
    found = parts.hydrator.read(bucket, parts.uid(user), user, deadline)
    if found is None:
        raise UnknownUser(f"no memory of {user!r}")
    return found


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
