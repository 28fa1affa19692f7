"""A request's identity in traces: the platform's where one was sent, else a new one.

    X-Cloud-Trace-Context: 105445aa7843bc8bf206b12000100000/1;o=1      span in decimal
    traceparent: 00-105445aa7843bc8bf206b12000100000-0000000000000001-01

https://cloud.google.com/trace/docs/trace-context, https://www.w3.org/TR/trace-context/
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

_CLOUD_TRACE = re.compile(r"([0-9a-f]{32})(?:/([0-9]{1,20}))?(?:;o=([01]))?", re.IGNORECASE)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_SPAN_BITS = 64


@dataclass(frozen=True, slots=True)
class Trace:
    """`id` is 32 hex digits, `span_id` 16 of the caller's span; None: it named none. `sampled`: it is being kept."""

    id: str
    span_id: str | None = None
    sampled: bool = False


def of(headers: Mapping[str, str]) -> Trace:
    """The trace that a request belongs to: of `X-Cloud-Trace-Context`, else of `traceparent`, else its own.

    `headers` have lower-case names.
    """
    if found := _CLOUD_TRACE.fullmatch(headers.get("x-cloud-trace-context", "")):
        span = int(found[2] or 0)
        return Trace(found[1].lower(), f"{span:016x}" if 0 < span < 1 << _SPAN_BITS else None, found[3] == "1")
    if found := _TRACEPARENT.fullmatch(headers.get("traceparent", "")):
        return Trace(found[1], found[2], bool(int(found[3], 16) & 1))
    return Trace(uuid.uuid4().hex)
