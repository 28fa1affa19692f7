"""Buckets around a bucket: one that calls a hook at each step, one whose replies get lost, one that is slow."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

from diffmem.errors import OutcomeUnknown
from diffmem.limits import Deadline
from diffmem.storage import Bucket, Listed, Object, Retention

Moment = Literal["before", "after"]
Hook = Callable[[Moment, str, str], None]


class Wrapped(Bucket):
    """Passes everything on."""

    def __init__(self, inner: Bucket) -> None:
        self.inner = inner

    @property
    def url(self) -> str:
        return self.inner.url

    def get(self, name: str, deadline: Deadline) -> Object:
        return self.inner.get(name, deadline)

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        return self.inner.get_if_changed(name, generation, deadline)

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        return self.inner.put(name, data, deadline, if_generation=if_generation)

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        return self.inner.list(prefix, deadline)

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        self.inner.delete(name, deadline, if_generation=if_generation)

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        return self.inner.retention(deadline)

    def preload(self) -> None:
        self.inner.preload()

    def close(self) -> None:
        self.inner.close()


class Hooked(Wrapped):
    """Calls `hook(moment, operation, name)` before and after each call that reaches the bucket.

    Operations are get, put, list and delete. What the hook raises is raised. `calls` holds every operation and name,
    in order.
    """

    def __init__(self, inner: Bucket, hook: Hook = lambda moment, operation, name: None) -> None:
        super().__init__(inner)
        self.hook = hook
        self.calls: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def names(self, operation: str) -> list[str]:
        """The names of all calls of an operation."""
        return [name for kind, name in self.calls if kind == operation]

    def get(self, name: str, deadline: Deadline) -> Object:
        self._before("get", name)
        found = self.inner.get(name, deadline)
        self.hook("after", "get", name)
        return found

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        self._before("get", name)
        found = self.inner.get_if_changed(name, generation, deadline)
        self.hook("after", "get", name)
        return found

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        self._before("put", name)
        generation = self.inner.put(name, data, deadline, if_generation=if_generation)
        self.hook("after", "put", name)
        return generation

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        self._before("list", prefix)
        found = list(self.inner.list(prefix, deadline))
        self.hook("after", "list", prefix)
        return iter(found)

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        self._before("delete", name)
        self.inner.delete(name, deadline, if_generation=if_generation)
        self.hook("after", "delete", name)

    def _before(self, operation: str, name: str) -> None:
        with self._lock:
            self.calls.append((operation, name))
        self.hook("before", operation, name)


class Lossy(Wrapped):
    """Loses the reply of a share of all writes: half of those before they take effect, half after."""

    def __init__(self, inner: Bucket, share: float, seed: int) -> None:
        super().__init__(inner)
        self.lost = 0
        self._share = share
        self._random = random.Random(seed)

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        fate = self._random.random()
        if fate < self._share / 2:
            self._lose(name)
        generation = self.inner.put(name, data, deadline, if_generation=if_generation)
        if fate < self._share:
            self._lose(name)
        return generation

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        fate = self._random.random()
        if fate < self._share / 2:
            self._lose(name)
        self.inner.delete(name, deadline, if_generation=if_generation)
        if fate < self._share:
            self._lose(name)

    def _lose(self, name: str) -> None:
        self.lost += 1
        raise OutcomeUnknown(f"the reply for {name!r} was lost")


class Slow(Wrapped):
    """Takes its time, as a bucket far away does."""

    def __init__(self, inner: Bucket, *, get_seconds: float, put_seconds: float) -> None:
        super().__init__(inner)
        self._get_seconds = get_seconds
        self._put_seconds = put_seconds

    def get(self, name: str, deadline: Deadline) -> Object:
        time.sleep(self._get_seconds)
        return self.inner.get(name, deadline)

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        time.sleep(self._get_seconds)
        return self.inner.get_if_changed(name, generation, deadline)

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        time.sleep(self._get_seconds)
        return self.inner.list(prefix, deadline)

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        time.sleep(self._put_seconds)
        return self.inner.put(name, data, deadline, if_generation=if_generation)
