"""What was used lately, kept in memory within a bound: listings, contents, transactions."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that drops what was used least recently when its values weigh more than `max_weight` together."""

    def __init__(self, max_weight: int, weigh: Callable[[V], int]) -> None:
        self._max_weight = max_weight
        self._weigh = weigh
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weight = 0

    def get(self, key: K) -> V | None:
        """The value, which now counts as used, or None."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a value, and drop others where there is no room; one that is too heavy on its own is not kept."""
        with self._lock:
            self._remove(key)
            if self._weigh(value) > self._max_weight:
                return
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._max_weight:
                self._remove(next(iter(self._values)))

    def drop(self, belongs: Callable[[K], bool]) -> None:
        """Forget every key of which `belongs` is true."""
        with self._lock:
            for key in [key for key in self._values if belongs(key)]:
                self._remove(key)

    def _remove(self, key: K) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            self._weight -= self._weigh(value)
