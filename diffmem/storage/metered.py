"""A bucket that counts what one request asks of it."""

import threading
from collections.abc import Iterator

from diffmem.limits import Deadline
from diffmem.storage.bucket import Bucket, Listed, Object, Retention


class MeteredBucket(Bucket):
    """The bucket it wraps, with the number of calls and of object bytes moved, both ways.

    A call counts once, whether it succeeds or not, and however often the backend repeats a read or turns a page.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._lock = threading.Lock()
        self._requests = 0
        self._bytes = 0

    @property
    def url(self) -> str:
        """The wrapped bucket's."""
        return self._bucket.url

    @property
    def requests(self) -> int:
        """Calls so far."""
        return self._requests

    def get(self, name: str, deadline: Deadline) -> Object:
        """As `Bucket.get`."""
        self._count(requests=1)
        found = self._bucket.get(name, deadline)
        self._count(size=len(found.data))
        return found

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        """As `Bucket.get_if_changed`."""
        self._count(requests=1)
        found = self._bucket.get_if_changed(name, generation, deadline)
        self._count(size=len(found.data) if found else 0)
        return found

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        """As `Bucket.put`."""
        self._count(requests=1, size=len(data))
        return self._bucket.put(name, data, deadline, if_generation=if_generation)

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        """As `Bucket.list`."""
        self._count(requests=1)
        return self._bucket.list(prefix, deadline)

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        """As `Bucket.delete`."""
        self._count(requests=1)
        self._bucket.delete(name, deadline, if_generation=if_generation)

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        """As `Bucket.retention`."""
        self._count(requests=1)
        return self._bucket.retention(deadline)

    def preload(self) -> None:
        """As `Bucket.preload`."""
        self._bucket.preload()

    def close(self) -> None:
        """Nothing: the wrapped bucket outlives the request."""

    @property
    def bytes(self) -> int:
        """Bytes of objects read and sent so far; a put that failed counts as sent."""
        return self._bytes

    def _count(self, *, requests: int = 0, size: int = 0) -> None:
        with self._lock:
            self._requests += requests
            self._bytes += size
