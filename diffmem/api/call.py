"""What every function of the API takes and gives: a `Call` and an `Answer`."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from diffmem.limits import Deadline


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the API sees it: no HTTP, no Flask. `deadline` is the platform's; a body's budget is shorter.

    `headers` have lower-case names. `url` is the whole address as the caller wrote it, `query` its query string.
    """

    request_id: str
    deadline: Deadline
    now: datetime
    caller: str = "anonymous"
    may_write: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a frozen dataclass (or plain data) as JSON, or bytes of `media_type`.

    `log` holds what the request's log line says besides the status: numbers and closed sets, never content.
    """

    status: int
    content: Any
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    log: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


class Stopwatch:
    """Milliseconds by phase, and in all since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._phases: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside to `name`."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._phases[name] = self._phases.get(name, 0.0) + time.monotonic() - began

    def milliseconds(self) -> dict[str, int]:
        """Whole milliseconds by phase, and `total`."""
        phases = {name: round(seconds * 1000) for name, seconds in self._phases.items()}
        return phases | {"total": round((time.monotonic() - self._start) * 1000)}
