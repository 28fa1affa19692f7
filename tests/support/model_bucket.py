"""A bucket in a dictionary, as the interface describes it, with faults in the order they were scripted."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Literal

from diffmem.errors import BucketBusy, GenerationMismatch, ObjectNotFound, OutcomeUnknown
from diffmem.limits import Deadline
from diffmem.storage import Bucket, Listed, Object, Retention

Fault = Literal["none", "busy", "lost_before", "lost_after"]


class ModelBucket(Bucket):
    """`faults` are taken by writes, one each; a write without one succeeds."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.faults: deque[Fault] = deque()
        self._generation = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return "model:"

    def get(self, name: str, deadline: Deadline) -> Object:
        with self._lock:
            if name not in self.objects:
                raise ObjectNotFound(f"no object {name!r}")
            return self.objects[name]

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        found = self.get(name, deadline)
        return None if found.generation == generation else found

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        with self._lock:
            fault = self._before(name)
            self._check(name, if_generation)
            self._generation += 1
            self.objects[name] = Object(data, self._generation)
            self._after(name, fault)
            return self._generation

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        with self._lock:
            found = sorted(self.objects.items())
        return (Listed(name, one.generation, len(one.data)) for name, one in found if name.startswith(prefix))

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        with self._lock:
            fault = self._before(name)
            if name not in self.objects:
                raise ObjectNotFound(f"no object {name!r}")
            self._check(name, if_generation)
            del self.objects[name]
            self._after(name, fault)

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        return (Retention("soft_delete", "7 days", 604_800),)

    def preload(self) -> None:
        return

    def close(self) -> None:
        return

    def _before(self, name: str) -> Fault:
        fault = self.faults.popleft() if self.faults else "none"
        if fault == "busy":
            raise BucketBusy(f"busy with {name!r}")
        if fault == "lost_before":
            raise OutcomeUnknown(f"no reply for {name!r}")
        return fault

    def _after(self, name: str, fault: Fault) -> None:
        if fault == "lost_after":
            raise OutcomeUnknown(f"no reply for {name!r}")

    def _check(self, name: str, if_generation: int | None) -> None:
        found = self.objects.get(name)
        if if_generation is not None and if_generation != (found.generation if found else 0):
            raise GenerationMismatch(f"{name!r} has another generation")
