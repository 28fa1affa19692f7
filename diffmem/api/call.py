"""What every function of the API takes and gives: a `Call` and an `Answer`."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from diffmem.limits import Deadline
from diffmem.model import Usage


class Phase(NamedTuple):
    """A part of a request's work, from `began` to `ended` in seconds of the monotonic clock."""

    name: str
    began: float
    ended: float


class Stopwatch:
    """Which phases a request went through, and how long each took; made when the request's work begins."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._spans: list[Phase] = []

    @property
    def spans(self) -> tuple[Phase, ...]:
        """The phases so far, in the order in which they ended; one that failed counts too."""
        return tuple(self._spans)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside to `name`."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._spans.append(Phase(name, began, time.monotonic()))

    def milliseconds(self) -> dict[str, int]:
        """Whole milliseconds by phase, and `total`."""
        seconds: dict[str, float] = {}
        for span in self._spans:
            seconds[span.name] = seconds.get(span.name, 0.0) + span.ended - span.began
        total = time.monotonic() - self._start
        return {name: round(spent * 1000) for name, spent in (*seconds.items(), ("total", total))}


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the API sees it: no HTTP, no Flask. `deadline` is the platform's; a body's budget is shorter.

    `headers` have lower-case names. `url` is the whole address as the caller wrote it, `query` its query string.
    `watch` times the phases of the work, for the answer and the log.
    """

    deadline: Deadline
    now: datetime
    may_write: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    query: str = ""
    watch: Stopwatch = field(default_factory=Stopwatch)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a frozen dataclass (or plain data) as JSON, or bytes of `media_type`.

    Those bytes may be an open file, which whoever sends them closes.

    `log` holds what the request's log line says besides the status: numbers and closed sets, never content.
    """

    status: int
    content: Any
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    log: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


def usage_log(usage: Usage) -> dict[str, int]:
    """What a log line says of the calls to a model."""
    return {
        "llm_calls": usage.llm_calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
    }
