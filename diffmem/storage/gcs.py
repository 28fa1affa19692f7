"""A bucket of Google Cloud Storage: names, deadlines, and which requests are worth repeating.

*Covered*: nothing of the client is imported, and nothing connected, before the first call. Each process has a client of
its own: a child leaves alone what its parent made. Reads are repeated where the bucket was busy or away, or sent
wrong bytes; a listing is repeated page by page. Writes are sent once.

*Not covered*: Cloud Storage takes about one write a second of one object, and answers more with 429 (`BucketBusy`).
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from diffmem.errors import BucketBusy, CorruptObject, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage.bucket import Bucket, Listed, Object, Refused, Retention, check_name

if TYPE_CHECKING:
    from diffmem.storage.gcs_client import Connection, Page

T = TypeVar("T")

READ_TRIES = 6
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0


class GCSBucket(Bucket):
    """The objects of the bucket `name` under `prefix`, a path without a `/` at its ends.

    `endpoint` is a server to use in place of Google's, without credentials.
    """

    def __init__(self, name: str, prefix: str = "", *, endpoint: str | None = None) -> None:
        self._name = name
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint
        self._connections: dict[int, Connection] = {}  # by process: a child keeps its parent's, unused and unclosed
        self._locks: dict[int, threading.Lock] = {}

    @property
    def url(self) -> str:
        """`gs://BUCKET/PREFIX`."""
        return f"gs://{self._name}/{self._prefix}".removesuffix("/")

    def get(self, name: str, deadline: Deadline) -> Object:
        """The object with its generation, in one request; see `Bucket.get`."""
        found = self._get(name, None, deadline)
        assert found is not None  # None answers a precondition, and there was none
        return found

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        """The object, in one request; see `Bucket.get_if_changed`."""
        return self._get(name, generation, deadline)

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        """The new generation, after one request, or two for more than 8 MiB; see `Bucket.put`."""
        path = self._path(name)
        return self._connection().put(path, data, if_generation, _seconds(name, deadline))

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        """The objects, a thousand a request; see `Bucket.list`."""
        page = self._page(prefix, None, deadline)
        while True:
            for found in page.objects:
                yield Listed(found.name.removeprefix(self._prefix), found.generation, found.size)
            if page.next_token is None:
                return
            page = self._page(prefix, page.next_token, deadline)

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        """Remove the object, in one request; see `Bucket.delete`."""
        path = self._path(name)
        self._connection().delete(path, if_generation, _seconds(name, deadline))

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        """What the bucket's settings keep after a delete, in one request.

        Where the settings may not be read (`storage.buckets.get`) a row says so: a bucket has soft delete by default.
        """
        return self._read(self.url, deadline, lambda connection, seconds: connection.retention(seconds))

    def preload(self) -> None:
        """Import the client and make this process's. Raises StorageUnavailable where there are no credentials."""
        self._connection()

    def close(self) -> None:
        """Close the connections of this process."""
        connection = self._connections.pop(os.getpid(), None)
        if connection is not None:
            connection.close()

    def _path(self, name: str) -> str:
        return self._prefix + check_name(name)

    def _get(self, name: str, unless_generation: int | None, deadline: Deadline) -> Object | None:
        path = self._path(name)
        return self._read(name, deadline, lambda connection, seconds: connection.get(path, unless_generation, seconds))

    def _page(self, prefix: str, token: str | None, deadline: Deadline) -> "Page":
        path = self._prefix + prefix
        return self._read(prefix, deadline, lambda connection, seconds: connection.page(path, token, seconds))

    def _read(self, name: str, deadline: Deadline, ask: Callable[["Connection", float], T]) -> T:
        """What `ask` gives, asked again while there is hope and time."""
        for tries in range(1, READ_TRIES + 1):
            try:
                return ask(self._connection(), _seconds(name, deadline))
            except Refused:
                raise
            except (BucketBusy, CorruptObject, StorageUnavailable) as error:
                pause = _pause(error, tries)
                if tries == READ_TRIES or pause >= deadline.remaining():
                    if isinstance(error, BucketBusy):
                        raise StorageUnavailable(str(error), pause) from error
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    def _connection(self) -> "Connection":
        process = os.getpid()
        with self._locks.setdefault(process, threading.Lock()):  # a lock held by a parent's thread is not ours
            if process not in self._connections:
                from diffmem.storage.gcs_client import Connection

                self._connections[process] = Connection(self._name, self._endpoint)
            return self._connections[process]


def _seconds(name: str, deadline: Deadline) -> float:
    """The seconds left, more than 0."""
    if deadline.expired:
        raise StorageUnavailable(f"no time left for {name!r}")
    return deadline.remaining()


def _pause(error: Exception, tries: int) -> float:
    """How long to wait after so many tries: what the bucket asks for, or a growing time with jitter."""
    asked = error.retry_after_seconds if isinstance(error, BucketBusy) else None
    longest = min(FIRST_PAUSE_SECONDS * 2 ** (tries - 1), LONGEST_PAUSE_SECONDS)
    return max(asked or 0.0, random.uniform(longest / 2, longest))
