"""The one table from errors to HTTP statuses, and the problem+json bodies (RFC 9457) made from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from diffmem import errors


@dataclass(frozen=True, slots=True)
class Problem:
    """A row of the table: what a caller is told about one kind of error."""

    status: int
    slug: str
    title: str


_UNAVAILABLE = Problem(503, "storage-unavailable", "The memory's storage cannot be reached; nothing was acknowledged")
_INTERNAL = Problem(500, "internal", "Something went wrong here")

TABLE: Mapping[type[BaseException], Problem] = {
    errors.InvalidRequest: Problem(400, "invalid-request", "The request is not what the contract says"),
    errors.Unauthenticated: Problem(401, "unauthenticated", "A valid key is needed"),
    errors.Forbidden: Problem(403, "forbidden", "This key may not do that"),
    errors.UnknownUser: Problem(404, "unknown-user", "No memory exists for this user"),
    errors.UnknownPath: Problem(404, "unknown-path", "The memory has no such file"),
    errors.UnknownCommit: Problem(404, "unknown-commit", "The memory has no such commit"),
    errors.UnknownRoute: Problem(404, "unknown-route", "Nothing lives at this address"),
    errors.MethodNotAllowed: Problem(405, "method-not-allowed", "This address does not take that method"),
    errors.Conflict: Problem(409, "conflict", "Somebody else changed the memory"),
    errors.PreconditionFailed: Problem(412, "precondition-failed", "The file has changed since it was read"),
    errors.TooLarge: Problem(413, "too-large", "The body is over its limit"),
    errors.UnsupportedMediaType: Problem(415, "unsupported-media-type", "The body is not of a type that is read here"),
    errors.UnsafePath: Problem(422, "unsafe-path", "A memory must not hold a file of this name"),
    errors.NotABundle: Problem(422, "not-a-bundle", "The body is not a usable git bundle"),
    errors.RateLimited: Problem(429, "rate-limited", "Too many requests"),
    errors.StorageError: _UNAVAILABLE,
    errors.DeadlineExceeded: _UNAVAILABLE,
    OSError: _UNAVAILABLE,  # the cache's disk: full, read-only, gone
    errors.ToolUnavailable: Problem(503, "tool-unavailable", "No sandbox is in force for the tool"),
    errors.ConfigError: _INTERNAL,
    errors.GitError: _INTERNAL,
    errors.ModelError: _INTERNAL,
    errors.InvalidPlan: _INTERNAL,
}

DEFAULT_RETRY_AFTER_SECONDS = 5


def row(error: BaseException) -> Problem:
    """The table's row for `error`: its own class's, or that of the nearest class above."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), _INTERNAL)


def body(error: BaseException, request_id: str) -> dict[str, object]:
    """The problem+json body. An internal error's own text stays in the log, and so does the path in a system's."""
    problem = row(error)
    return {
        "type": f"/problems/{problem.slug}",
        "title": problem.title,
        "status": problem.status,
        "detail": _detail(error, problem, request_id),
        "request_id": request_id,
    }


def _detail(error: BaseException, problem: Problem, request_id: str) -> str:
    if problem.status == 500:
        return f"request {request_id} failed; the log says why"
    if isinstance(error, OSError):
        return f"the server's disk or system failed: {error.strerror or type(error).__name__}; repeating is safe"
    return str(error)


def headers(error: BaseException) -> dict[str, str]:
    """`Allow`, `Retry-After` and `WWW-Authenticate`, where the error calls for them."""
    if isinstance(error, errors.MethodNotAllowed):
        return {"Allow": ", ".join(error.allowed)}
    if isinstance(error, errors.Unauthenticated):
        return {"WWW-Authenticate": 'Bearer realm="diffmem"'}
    if row(error).status in (429, 503):
        seconds = getattr(error, "retry_after_seconds", None) or DEFAULT_RETRY_AFTER_SECONDS
        return {"Retry-After": str(max(1, round(seconds)))}
    return {}
