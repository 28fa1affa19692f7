"""Which sessions this process is distilling now, so that its threads do not pay a model twice for one.

Not needed for correctness: where two instances distil the same session, the second finds it done and writes nothing.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Claims:
    """One a process; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: set[tuple[str, str]] = set()

    @contextmanager
    def claim(self, user: str, stem: str) -> Iterator[bool]:
        """Whether the session is the caller's until the end of the block; False where another thread has it."""
        key = (user, stem)
        with self._lock:
            is_ours = key not in self._taken
            self._taken.add(key)
        try:
            yield is_ours
        finally:
            if is_ours:
                with self._lock:
                    self._taken.discard(key)
