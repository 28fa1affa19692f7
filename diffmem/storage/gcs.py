"""A bucket of Google Cloud Storage."""

from collections.abc import Iterator

from diffmem.limits import Deadline
from diffmem.storage.bucket import Bucket, Listed, Object, Retention


class GCSBucket(Bucket):
    """The objects under `prefix` in a bucket of Google Cloud Storage."""

    def __init__(self, bucket: str, prefix: str = "") -> None:
        self._bucket = bucket
        self._prefix = prefix

    @property
    def url(self) -> str:
        """`gs://BUCKET/PREFIX`."""
        return f"gs://{self._bucket}/{self._prefix}"

    def get(self, name: str, deadline: Deadline) -> Object:
        """As `Bucket.get`."""
        raise NotImplementedError

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        """As `Bucket.get_if_changed`."""
        raise NotImplementedError

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        """As `Bucket.put`."""
        raise NotImplementedError

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        """As `Bucket.list`."""
        raise NotImplementedError

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        """As `Bucket.delete`."""
        raise NotImplementedError

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        """As `Bucket.retention`."""
        raise NotImplementedError

    def preload(self) -> None:
        """As `Bucket.preload`."""

    def close(self) -> None:
        """As `Bucket.close`."""
