"""Which bucket a `DIFFMEM_STORE` names."""

from pathlib import Path

from diffmem.errors import ConfigError
from diffmem.storage.bucket import Bucket
from diffmem.storage.gcs import GCSBucket
from diffmem.storage.local import LocalBucket


def open_bucket(store: str) -> Bucket:
    """The bucket that `file:PATH` or `gs://BUCKET/PREFIX` names; nothing is connected, imported or made yet.

    Raises:
        ConfigError: neither of the two.
    """
    scheme, _, place = store.partition(":")
    if scheme == "file" and place:
        return LocalBucket(Path(place))
    if scheme == "gs" and place.startswith("//"):
        bucket, _, prefix = place[2:].partition("/")
        if bucket:
            return GCSBucket(bucket, prefix)
    raise ConfigError(f"a store is 'file:PATH' or 'gs://BUCKET/PREFIX', not {store!r}")
