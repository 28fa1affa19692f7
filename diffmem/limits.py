"""Bounds that a whole request shares: its deadline, and the sizes nothing may exceed.

One `Deadline` is made at the edge and handed to everything that can block. A part that may take only some of what is
left takes `deadline.within(seconds)`; nothing can extend a deadline.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from diffmem.errors import DeadlineExceeded

Clock = Callable[[], float]


class Deadline:
    """A point in time on a monotonic clock, `seconds` from now."""

    __slots__ = ("_at", "_clock")

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._at = clock() + seconds

    def __repr__(self) -> str:
        return f"Deadline({self.remaining():.3f} s left)"

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return self._clock() >= self._at

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._at - self._clock())

    def check(self, what: str = "the request") -> None:
        """Raise `DeadlineExceeded`, naming `what`, where no time is left."""
        if self.expired:
            raise DeadlineExceeded(f"out of time during {what}")

    def within(self, seconds: float) -> "Deadline":
        """A deadline at most `seconds` from now, and never later than this one."""
        return Deadline(min(seconds, self.remaining()), self._clock)

    def less(self, seconds: float) -> "Deadline":
        """A deadline `seconds` earlier than this one: what is left after keeping a reserve."""
        return Deadline(max(0.0, self.remaining() - seconds), self._clock)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes that hold for every request; the defaults are the contract's."""

    max_body_bytes: int = 8 * 1024 * 1024
    max_json_depth: int = 12
    max_messages: int = 5_000
    max_message_chars: int = 400_000
    max_transcript_chars: int = 4_000_000
    max_file_bytes: int = 2 * 1024 * 1024
    max_import_bytes: int = 256 * 1024 * 1024
    max_command_bytes: int = 20_000
    tool_call_seconds: float = 15.0
    tool_pipeline_seconds: float = 8.0
