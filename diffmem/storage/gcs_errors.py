"""What the Cloud Storage client raises, as DiffMem's errors: the one place that knows both.

    status          a read                    a write
    404             ObjectNotFound            ObjectNotFound; Refused of a put, and where there is no bucket
    412                                       GenerationMismatch
    429             BucketBusy                BucketBusy
    408, 5xx        StorageUnavailable        OutcomeUnknown
    other           Refused                   Refused
    no answer       StorageUnavailable        OutcomeUnknown, or StorageUnavailable where nothing was sent
    bad checksum    CorruptObject             OutcomeUnknown

This module imports the client, which takes 0.3 s: import it at the first call to the bucket, not before.
"""

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import requests
import urllib3.exceptions
from google.api_core.exceptions import GoogleAPICallError, GoogleAPIError
from google.auth.exceptions import GoogleAuthError, TransportError
from google.cloud.storage.exceptions import DataCorruption, InvalidPathError, InvalidResponse

from diffmem.errors import (
    BucketBusy,
    CorruptObject,
    GenerationMismatch,
    ObjectNotFound,
    OutcomeUnknown,
    StorageError,
    StorageUnavailable,
)
from diffmem.storage.bucket import Refused

FOREIGN: tuple[type[Exception], ...] = (
    GoogleAPIError,
    GoogleAuthError,
    InvalidResponse,
    InvalidPathError,
    DataCorruption,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
)
NO_BUCKET = "bucket does not exist"  # how Cloud Storage words a 404 that is not about the object

Translation = Callable[[Exception, str], StorageError]


@contextmanager
def translated(translation: Translation, name: str) -> Iterator[None]:
    """Raise what the client raises in the block as `translation` names it, for the object `name`."""
    try:
        yield
    except FOREIGN as error:
        raise translation(error, name) from error


def of_read(error: Exception, name: str) -> StorageError:
    """What a failed read is to DiffMem."""
    if isinstance(error, DataCorruption):
        return CorruptObject(f"object {name!r} did not arrive as its checksum says")
    return _refusal(error, name) or _unavailable(error, name)


def of_write(error: Exception, name: str) -> StorageError:
    """What a failed delete is to DiffMem."""
    refusal = _refusal(error, name)
    if refusal:
        return refusal
    return _unavailable(error, name) if _never_sent(error) else OutcomeUnknown(_said(error, name))


def of_put(error: Exception, name: str) -> StorageError:
    """What a failed put is to DiffMem: nothing but the bucket can be missing for it."""
    found = of_write(error, name)
    return Refused(f"there is no bucket for {name!r}") if isinstance(found, ObjectNotFound) else found


def retry_after(text: str | None, now: datetime) -> float | None:
    """The seconds that a `Retry-After` asks for, which is seconds or a date; None where it is neither."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _refusal(error: Exception, name: str) -> StorageError | None:
    """What the bucket means by an answer that leaves no doubt; None for every other failure."""
    if isinstance(error, GoogleAuthError) and not isinstance(error, TransportError):
        return Refused(f"the bucket's credentials cannot be used ({type(error).__name__})")
    code = _status(error)
    if code == 404 and NO_BUCKET not in _answer(error).text:
        return ObjectNotFound(f"no object {name!r}")
    if code == 412:
        return GenerationMismatch(f"{name!r} does not have the generation that was named")
    if code == 429:
        return BucketBusy(_said(error, name), _pause(error))
    return Refused(_said(error, name)) if 400 <= code < 500 and code != 408 else None


def _unavailable(error: Exception, name: str) -> StorageUnavailable:
    pause = _pause(error)
    return StorageUnavailable(_said(error, name)) if pause is None else StorageUnavailable(_said(error, name), pause)


def _never_sent(error: Exception) -> bool:
    """Whether the failure came before the request could reach the bucket: no token, or no connection."""
    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", cause)
    return isinstance(error, GoogleAuthError) or isinstance(reason, urllib3.exceptions.ConnectTimeoutError)


def _said(error: Exception, name: str) -> str:
    code = _status(error)
    return f"the bucket answered {code} for {name!r}" if code else f"no answer for {name!r} ({type(error).__name__})"


def _pause(error: Exception) -> float | None:
    return retry_after(_answer(error).headers.get("Retry-After"), datetime.now(UTC))


def _status(error: Exception) -> int:
    """The status of the bucket's answer; 0 where there was none."""
    if isinstance(error, GoogleAPICallError):
        return int(error.code or 0)
    return _answer(error).status_code or 0 if isinstance(error, InvalidResponse) else 0


def _answer(error: Exception) -> requests.Response:
    """The bucket's answer; an empty one where there was none."""
    response = getattr(error, "response", None)
    return response if isinstance(response, requests.Response) else requests.Response()
