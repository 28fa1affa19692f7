"""What is seen of one request from outside: its log line, the lines of what was refused in it, its span.

    {"severity": "INFO", "message": "POST /v1/users/{user}/context", "request_id": "105445aa7843...",
     "httpRequest": {"requestMethod": "POST", "status": 200, "latency": "0.142s", "responseSize": "5120"},
     "user": "5994471abb01112afcc18159f6cc74b4", "ms": {"hydrate": 8, "plan": 90, "resolve": 12, "total": 142},
     "storage_requests": 1, "storage_bytes": 412, "stop_reason": "no_model", "context_tokens": 1873, ...}

*Covered*: numbers, closed sets, names from the configuration and the code. *Not covered*, on purpose: bodies, users,
headers, query strings, addresses, the text of a refusal, the message of an unexpected error.
"""

import time
from collections.abc import Mapping

import flask

from diffmem.api.call import Stopwatch
from diffmem.config import Config
from diffmem.errors import DeadlineExceeded, DiffMemError, RequestError, StorageError, ToolUnavailable
from diffmem.http import log, problems, trace
from diffmem.http.routing import Route
from diffmem.http.spans import RequestSpan
from diffmem.repository import user_hash
from diffmem.shell import Refusal
from diffmem.storage import MeteredBucket

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_MAX_REFUSAL_LINES = 20
# Their messages name objects of the bucket and seconds, and no memory.
_SPEAKING = (StorageError, DeadlineExceeded, ToolUnavailable)


class Record:
    """One request, from its arrival to its line."""

    def __init__(self, config: Config, method: str, headers: Mapping[str, str]) -> None:
        self._config = config
        self._began = time.monotonic()
        self._method = method if method in _METHODS else "OTHER"
        self._trace = trace.of(headers)
        self._logger = log.Logger(self._trace, config.project)
        self._refusals = 0
        self._noted: dict[str, object] = {}
        self.route: Route | None = None
        self.watch = Stopwatch()
        self.bucket: MeteredBucket | None = None

    @property
    def request_id(self) -> str:
        """The request's id: that of its trace."""
        return self._trace.id

    def note(self, fields: Mapping[str, object]) -> None:
        """Add to the line; `fields` hold what the module says may be there."""
        self._noted.update(fields)

    def note_user(self, user: str) -> None:
        """Add what stands for `user`, as it does in the bucket."""
        self._noted["user"] = user_hash(user, self._config.id_secret)

    def note_refusal(self, refusal: Refusal) -> None:
        """Write a line for a refusal of the tool; past a bound they are counted only."""
        self._refusals += 1
        if self._refusals <= _MAX_REFUSAL_LINES:
            self._logger.write("WARNING", "tool refused", {"kind": refusal.kind, "command": refusal.command})

    def note_problem(self, error: Exception) -> None:
        """Add what kind of error ended the request; of an unexpected one, where it arose."""
        slug = problems.row(error).slug
        self._noted["problem"] = slug
        if isinstance(error, _SPEAKING):
            self._noted["error"] = f"{type(error).__name__}: {error}"
        elif not isinstance(error, RequestError):
            self._noted["error"] = type(error).__name__
            self._noted["stack"] = log.frames(error)
        if self.route is not None and self.route.scope == "hook" and isinstance(error, DiffMemError):
            names = {name: self._noted.get(name) for name in ("hook", "kind")}
            self._logger.write("WARNING", "webhook rejected", {"problem": slug, **names})

    def finish(self, response: flask.Response, span: RequestSpan | None) -> None:
        """Write the line, describe the span, and see that the response says how long it took."""
        spent = time.monotonic() - self._began
        if "Server-Timing" not in response.headers:
            response.headers["Server-Timing"] = f"total;dur={round(spent * 1000)}"
        fields = self._fields(response, spent)
        self._logger.write(log.severity(response.status_code), self._name, fields)
        if span is not None:
            attributes = {name: value for name, value in self._noted.items() if isinstance(value, str | int)}
            attributes["http.request.method"] = self._method
            attributes["http.response.status_code"] = response.status_code
            if self.route is not None:
                attributes["http.route"] = self.route.pattern
            span.describe(self._name, attributes, self.watch.spans, has_failed=response.status_code >= 500)

    @property
    def _name(self) -> str:
        return f"{self._method} {self.route.pattern if self.route else '(no route)'}"

    def _fields(self, response: flask.Response, spent: float) -> dict[str, object]:
        request: dict[str, object] = {
            "requestMethod": self._method,
            "status": response.status_code,
            "latency": f"{spent:.3f}s",
        }
        if response.content_length is not None:
            request["responseSize"] = str(response.content_length)
        fields: dict[str, object] = {
            "httpRequest": request,
            "ms": {**self.watch.milliseconds(), "total": round(spent * 1000)},
            **self._noted,
        }
        if self.bucket is not None:
            fields["storage_requests"] = self.bucket.requests
            fields["storage_bytes"] = self.bucket.bytes
        if self._refusals:
            fields["tool_refusals"] = self._refusals
        return fields
