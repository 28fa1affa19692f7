"""How many requests one key may send: a bucket of tokens for each caller, in this process.

*Covered*: one caller cannot take all of an instance's time. *Not covered*: other instances; each counts on its own, so
a service of n instances lets n times as many through. With `iam` a caller is whom a header names, which the caller
may have written.
"""

import threading
import time
from collections import OrderedDict

from diffmem.errors import RateLimited
from diffmem.limits import Clock

_MAX_CALLERS = 10_000


class RateLimit:
    """Lets a caller send `per_minute` requests at once, and as many a minute after that; 0 lets everything through."""

    def __init__(self, per_minute: int, clock: Clock = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._callers: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, caller: str) -> None:
        """Count a request of `caller`.

        Raises:
            RateLimited: it has none left; the error says how long until it has.
        """
        if not self._per_minute:
            return
        with self._lock:
            left, counted_at = self._callers.pop(caller, (float(self._per_minute), self._clock()))
            now = self._clock()
            left = min(self._per_minute, left + (now - counted_at) * self._per_minute / 60)
            self._callers[caller] = (left - 1 if left >= 1 else left, now)
            if len(self._callers) > _MAX_CALLERS:
                self._callers.popitem(last=False)
        if left < 1:
            seconds = (1 - left) * 60 / self._per_minute
            raise RateLimited(f"more than {self._per_minute} requests a minute with key {caller!r}", seconds)
