"""Waiting before a write is tried again, never past the deadline."""

from diffmem.errors import BucketBusy, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.repository.parts import Parts

_BUSY_SECONDS = 1.0  # Cloud Storage takes about one write a second to one object
_LOST_SECONDS = 0.05
_MAX_SECONDS = 16.0


class Patience:
    """How long one request waits: from one second after 429, from a moment after a lost race, doubled each time."""

    def __init__(self, parts: Parts, deadline: Deadline) -> None:
        self._parts = parts
        self._deadline = deadline
        self._busy = 0
        self._lost = 0
        self._next = 0.0

    def busy(self, error: BucketBusy) -> None:
        """Note a 429: the next wait is at least as long as it asks for."""
        least = max(error.retry_after_seconds or 0.0, min(_MAX_SECONDS, _BUSY_SECONDS * 2.0**self._busy))
        self._next = least * (1.0 + self._parts.jitter() / 2)
        self._busy += 1

    def lost(self) -> None:
        """Note a race that was lost, or whose end is unknown: the next wait is a random part of a growing span."""
        self._next = self._parts.jitter() * min(2.0, _LOST_SECONDS * 2.0**self._lost)
        self._lost += 1

    def wait(self) -> None:
        """Sleep as the last note says.

        Raises:
            StorageUnavailable: that would be past the deadline.
        """
        seconds, self._next = self._next, 0.0
        if seconds >= self._deadline.remaining():
            raise StorageUnavailable("the bucket was busy until time was over; repeating the request is safe")
        if seconds:
            self._parts.sleep(seconds)
