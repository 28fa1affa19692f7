"""Structured lines on standard output, as Cloud Logging reads them. They hold no content and no user id.

    {"severity": "INFO", "message": "POST /v1/users/{user}/context", "request_id": "105445aa7843...",
     "httpRequest": {"requestMethod": "POST", "status": 200, "latency": "0.142s", ...}, ...}

https://cloud.google.com/logging/docs/structured-logging
"""

import json
import sys
import traceback
from collections.abc import Mapping
from typing import Literal

from diffmem.http.trace import Trace

Severity = Literal["INFO", "WARNING", "ERROR"]


class Logger:
    """Writes the lines of one request, each with its trace; `project` is the one whose traces they point to."""

    def __init__(self, trace: Trace, project: str | None) -> None:
        self._common = {"request_id": trace.id, **_cloud_trace(trace, project)}

    def write(self, severity: Severity, message: str, fields: Mapping[str, object]) -> None:
        """Print one line; `message` is one of a few fixed texts."""
        line = {"severity": severity, "message": message, **self._common, **fields}
        # One write: what threads print in two is mixed.
        sys.stdout.write(json.dumps(line, separators=(",", ":"), default=str) + "\n")
        sys.stdout.flush()


def severity(status: int) -> Severity:
    """Of a request that was answered with `status`."""
    return "ERROR" if status >= 500 else "WARNING" if status >= 400 else "INFO"


def frames(error: BaseException) -> str:
    """Where `error` arose: its type and stack, without its message, which could quote a memory."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__name__}\n{stack}"


def _cloud_trace(trace: Trace, project: str | None) -> dict[str, object]:
    if project is None:
        return {}
    fields: dict[str, object] = {
        "logging.googleapis.com/trace": f"projects/{project}/traces/{trace.id}",
        "logging.googleapis.com/trace_sampled": trace.sampled,
    }
    if trace.span_id:
        fields["logging.googleapis.com/spanId"] = trace.span_id
    return fields
