"""Every error of the client and of what it stands on is one of DiffMem's."""

import http.client
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import ModuleType

import google.api_core.exceptions
import google.auth.exceptions
import google.cloud.exceptions
import google.cloud.storage.exceptions
import pytest
import requests
import urllib3.exceptions
from hypothesis import given
from hypothesis import strategies as st

from diffmem.errors import (
    BucketBusy,
    CorruptObject,
    GenerationMismatch,
    ObjectNotFound,
    OutcomeUnknown,
    StorageError,
    StorageUnavailable,
)
from diffmem.storage.gcs_errors import FOREIGN, of_put, of_read, of_write, retry_after, translated

MODULES = [
    google.api_core.exceptions,
    google.auth.exceptions,
    google.cloud.exceptions,
    google.cloud.storage.exceptions,
    requests.exceptions,
    urllib3.exceptions,
    http.client,
]
NOW = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


def _errors_of(module: ModuleType) -> Iterator[type[Exception]]:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__:
            yield value


NOT_OURS = {
    google.api_core.exceptions.AsyncRestUnsupportedParameterError,  # of the asynchronous client
    urllib3.exceptions.ProxySchemeUnsupported,  # a ValueError, of a proxy's URL
}
ERRORS = sorted({error for module in MODULES for error in _errors_of(module)} - NOT_OURS, key=str)
ERRORS = [error for error in ERRORS if not issubclass(error, Warning)]


def _example(kind: type[Exception]) -> Exception:
    """An error of this class, without caring what its constructor wants."""
    error = kind.__new__(kind)
    error.args = ("boom",)
    error.__dict__.setdefault("response", None) if not hasattr(kind, "response") else None
    return error


def _answered(status: int, body: str = "", **headers: str) -> Exception:
    response = requests.Response()
    response.status_code = status
    response._content = body.encode()
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    error: Exception = google.api_core.exceptions.from_http_status(status, body, response=response)  # type: ignore[no-untyped-call]
    return error


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_is_caught(kind: type[Exception]) -> None:
    assert issubclass(kind, FOREIGN)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_has_a_translation(kind: type[Exception]) -> None:
    for translation in (of_read, of_write, of_put):
        with pytest.raises(StorageError) as found, translated(translation, "v1/m"):
            raise _example(kind)
        assert type(found.value.__cause__) is kind
        assert "boom" not in str(found.value)


@pytest.mark.parametrize(
    ("status", "read", "delete", "put"),
    [
        (301, StorageUnavailable, OutcomeUnknown, OutcomeUnknown),
        (400, StorageUnavailable, StorageUnavailable, StorageUnavailable),
        (401, StorageUnavailable, StorageUnavailable, StorageUnavailable),
        (403, StorageUnavailable, StorageUnavailable, StorageUnavailable),
        (404, ObjectNotFound, ObjectNotFound, StorageUnavailable),
        (408, StorageUnavailable, OutcomeUnknown, OutcomeUnknown),
        (412, GenerationMismatch, GenerationMismatch, GenerationMismatch),
        (429, BucketBusy, BucketBusy, BucketBusy),
        (500, StorageUnavailable, OutcomeUnknown, OutcomeUnknown),
        (502, StorageUnavailable, OutcomeUnknown, OutcomeUnknown),
        (503, StorageUnavailable, OutcomeUnknown, OutcomeUnknown),
        (504, StorageUnavailable, OutcomeUnknown, OutcomeUnknown),
    ],
)
def test_a_status_means_what_the_table_says(
    status: int, read: type[StorageError], delete: type[StorageError], put: type[StorageError]
) -> None:
    error = _answered(status)
    found = [type(translation(error, "v1/m")) for translation in (of_read, of_write, of_put)]
    for kind, wanted in zip(found, (read, delete, put), strict=True):
        assert issubclass(kind, wanted)


def test_a_missing_bucket_is_not_a_missing_object() -> None:
    error = _answered(404, "The specified bucket does not exist.")
    assert isinstance(of_read(error, "v1/m"), StorageUnavailable)
    assert isinstance(of_write(error, "v1/m"), StorageUnavailable)


def test_an_object_named_like_the_message_is_only_missing() -> None:
    assert isinstance(of_read(_answered(404), "the bucket does not exist"), ObjectNotFound)


def test_wrong_bytes_are_corrupt() -> None:
    error = google.cloud.storage.exceptions.DataCorruption(requests.Response(), "checksum mismatch")
    assert isinstance(of_read(error, "v1/m"), CorruptObject)


def test_an_outage_says_when_to_come_back() -> None:
    error = of_read(_answered(503, Retry_After="7"), "v1/m")
    assert isinstance(error, StorageUnavailable)
    assert error.retry_after_seconds == 7


@given(seconds=st.integers(0, 10**6))
def test_retry_after_is_read_as_seconds_or_as_a_date(seconds: int) -> None:
    assert retry_after(str(seconds), NOW) == seconds
    assert retry_after(format_datetime(NOW + timedelta(seconds=seconds), usegmt=True), NOW) == seconds


@given(text=st.none() | st.text(max_size=20))
def test_retry_after_that_says_nothing_asks_for_nothing(text: str | None) -> None:
    pause = retry_after(text, NOW)
    assert pause is None or pause >= 0
