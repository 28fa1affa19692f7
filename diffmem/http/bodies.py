"""Request bodies: read within their limit, decoded, and validated against a model of `diffmem.api.requests`."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

import flask
from pydantic import BaseModel
from werkzeug.exceptions import ClientDisconnected

from diffmem.api.requests import validation
from diffmem.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from diffmem.limits import Limits

M = TypeVar("M", bound=BaseModel)

_CHUNK_BYTES = 256 * 1024
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # one that is cut off, too: there is no going back
_BRACKETS = re.compile(rb"[\[{\]}]")


def raw(request: flask.Request, max_bytes: int) -> bytes:
    """The body as it was sent.

    Raises:
        TooLarge: over `max_bytes`, also where the sender did not say how long the body is.
        UnsupportedMediaType: the body is compressed.
    """
    return b"".join(_chunks(request, max_bytes))


@contextmanager
def as_file(request: flask.Request, max_bytes: int) -> Iterator[BinaryIO]:
    """The body as it was sent, in a file on disk that has no name and stands at its beginning; raises as `raw` does."""
    with tempfile.TemporaryFile() as file:
        for chunk in _chunks(request, max_bytes):
            file.write(chunk)
        file.seek(0)
        yield file


def _chunks(request: flask.Request, max_bytes: int) -> Iterator[bytes]:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("Content-Encoding is not supported: send the body as it is")
    if (request.content_length or 0) > max_bytes:
        raise TooLarge(f"the body is over {max_bytes} bytes")
    received = 0
    try:
        while chunk := request.stream.read(_CHUNK_BYTES):
            received += len(chunk)
            if received > max_bytes:
                raise TooLarge(f"the body is over {max_bytes} bytes")
            yield chunk
    except ClientDisconnected as error:
        raise InvalidRequest("the body ended before its Content-Length") from error


def json_model(request: flask.Request, model: type[M], limits: Limits) -> M:
    """The JSON body as an instance of `model`; an empty body counts as `{}`.

    Raises:
        InvalidRequest: naming the offending field and value.
        TooLarge, UnsupportedMediaType: see `raw`.
    """
    data = raw(request, limits.max_body_bytes)
    if data and request.mimetype != "application/json" and not request.mimetype.endswith("+json"):
        raise UnsupportedMediaType(f"Content-Type must be application/json, not {request.mimetype!r}")
    _check_depth(data, limits.max_json_depth)
    with validation():
        return model.model_validate_json(data or b"{}")


def query_model(request: flask.Request, model: type[M]) -> M:
    """The query string as an instance of `model`; a parameter given twice is refused."""
    values = {}
    for name, found in request.args.lists():
        if len(found) > 1:
            raise InvalidRequest(f"{name}: given {len(found)} times")
        values[name] = found[0]
    with validation():
        return model.model_validate(values, strict=False)


def refuse_query(request: flask.Request) -> None:
    """Raise `InvalidRequest` for a query string, at an address that takes none: a `?dry_run=true` is not overlooked."""
    for name in request.args:
        raise InvalidRequest(f"{name}: this address takes no parameters; what it takes stands in the body")


def _check_depth(data: bytes, max_depth: int) -> None:
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b'""', data)):
        depth += 1 if bracket in b"[{" else -1
        if depth > max_depth:
            raise InvalidRequest(f"the body nests deeper than {max_depth} levels")
