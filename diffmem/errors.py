"""Every error DiffMem raises, as one tree.

    DiffMemError
    ├── ConfigError                   the environment is wrong; the process does not start
    ├── RequestError                  the caller can mend it
    │   ├── InvalidRequest            not JSON, a bad or unknown field, a bad user id
    │   ├── Unauthenticated           no key, or a wrong one
    │   ├── Forbidden                 a key that may not do this
    │   ├── UnknownUser, UnknownPath, UnknownCommit, UnknownRoute
    │   ├── MethodNotAllowed
    │   ├── Conflict                  other writers won every retry, or an edit no longer applies
    │   ├── PreconditionFailed        If-Match does not name the current blob
    │   ├── TooLarge, UnsupportedMediaType
    │   ├── UnsafePath, NotABundle
    │   └── RateLimited
    ├── StorageError                  the bucket
    │   ├── ObjectNotFound            a GET of an object that is not there
    │   ├── GenerationMismatch        a precondition did not hold: nothing was written
    │   ├── BucketBusy                429: nothing was written, wait
    │   ├── OutcomeUnknown            a write whose reply never came: it may have taken effect
    │   ├── CorruptObject             an object whose bytes are not what their checksum says
    │   └── StorageUnavailable        an outage, or out of time: nothing was acknowledged
    ├── GitError                      git failed where it should not have
    ├── ModelError                    the provider failed or talks nonsense; never reaches a caller
    │   ├── ModelRefused              not this request; the next may be answered
    │   └── ModelTimeout              no answer before the deadline
    ├── InvalidPlan                   a model's answer holds no plan; never reaches a caller
    ├── ToolUnavailable               no OS sandbox where one is required
    └── DeadlineExceeded              the request's time is over; becomes a stop reason or a 503

Messages are safe to show to a caller: they name the value with `!r`, never a path of the host, never a secret, never
another user's data. The HTTP status of each is in one table, `diffmem.http.problems`.
"""


class DiffMemError(Exception):
    """The root of the tree."""


class ConfigError(DiffMemError):
    """A variable of the environment is missing or has a value that nothing can be done with."""


class RequestError(DiffMemError):
    """What the caller sent cannot be served as it is."""


class InvalidRequest(RequestError):
    """The request is not what the contract says; the message names the field and the value."""


class Unauthenticated(RequestError):
    """No credentials, or wrong ones."""


class Forbidden(RequestError):
    """Known credentials that may not do this."""


class UnknownUser(RequestError):
    """No memory exists for this user."""


class UnknownPath(RequestError):
    """The repository has no such file at this revision."""


class UnknownCommit(RequestError):
    """The repository has no such commit."""


class UnknownRoute(RequestError):
    """No route has this path."""


class MethodNotAllowed(RequestError):
    """The route exists, for other methods; `allowed` lists them."""

    def __init__(self, message: str, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.allowed = allowed


class Conflict(RequestError):
    """Other writers won every retry, or the edit no longer applies to what is there now."""


class PreconditionFailed(RequestError):
    """`If-Match` or `If-None-Match` does not hold for the current blob."""


class TooLarge(RequestError):
    """A body or a file over its limit."""


class UnsupportedMediaType(RequestError):
    """A body of a type that the route does not read."""


class UnsafePath(RequestError):
    """A path that a repository of Markdown files must not hold."""


class NotABundle(RequestError):
    """A body that is not a usable git bundle."""


class RateLimited(RequestError):
    """Too many requests from one key; wait `retry_after_seconds`."""

    def __init__(self, message: str, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StorageError(DiffMemError):
    """The bucket did not do what was asked."""


class ObjectNotFound(StorageError):
    """The bucket holds no object of this name."""


class GenerationMismatch(StorageError):
    """The object's generation is not the one the write named; nothing was written."""


class BucketBusy(StorageError):
    """The bucket asks for patience (429); nothing was written."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class OutcomeUnknown(StorageError):
    """A write ended without a usable reply (5xx, reset, time-out): it may or may not have taken effect."""


class CorruptObject(StorageError):
    """An object's bytes do not match their checksum or their format; the message names the object."""


class StorageUnavailable(StorageError):
    """The bucket cannot be reached in time. Nothing was acknowledged and the request is safe to repeat."""

    def __init__(self, message: str, retry_after_seconds: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class GitError(DiffMemError):
    """git exited with an error that no request should be able to cause."""


class ModelError(DiffMemError):
    """The provider refused, failed or answered something unusable."""


class ModelRefused(ModelError):
    """The provider does not take this request (a content filter, its length), or answers nothing; another may do."""


class ModelTimeout(ModelError):
    """The provider did not answer before the deadline."""


class InvalidPlan(DiffMemError):
    """A model's answer from which no plan can be read."""


class ToolUnavailable(DiffMemError):
    """The tool is refused because no OS sandbox is in force and the configuration requires one."""


class DeadlineExceeded(DiffMemError):
    """The time given to this request, or to this part of it, is over."""
