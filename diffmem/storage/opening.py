"""Which bucket a `DIFFMEM_STORE` names."""

from contextlib import suppress
from pathlib import Path

from diffmem.errors import ConfigError
from diffmem.storage.bucket import Bucket, check_name
from diffmem.storage.gcs import GCSBucket
from diffmem.storage.local import LocalBucket

MAX_PREFIX_BYTES = 100  # with the longest name within the 1,024 bytes that Cloud Storage allows


def open_bucket(store: str) -> Bucket:
    """The bucket that `file:PATH` or `gs://BUCKET/PREFIX` names; nothing is connected, imported or made yet.

    Raises:
        ConfigError: neither of the two, or a prefix that no object can have.
    """
    scheme, _, place = store.partition(":")
    if scheme == "file" and place:
        return LocalBucket(Path(place))
    if scheme == "gs" and place.startswith("//"):
        bucket, _, prefix = place[2:].rstrip("/").partition("/")
        if bucket and (not prefix or _is_prefix(prefix)):
            return GCSBucket(bucket, prefix)
    raise ConfigError(f"a store is 'file:PATH' or 'gs://BUCKET/PREFIX', not {store!r}")


def _is_prefix(text: str) -> bool:
    with suppress(ValueError):
        return len(check_name(text).encode()) <= MAX_PREFIX_BYTES
    return False
