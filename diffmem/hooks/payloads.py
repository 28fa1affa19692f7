"""Bodies decoded: JSON, forms, and the envelope of a Pub/Sub push."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import from_json

from diffmem.errors import InvalidRequest

_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 1000


def is_form(headers: Mapping[str, str]) -> bool:
    """Whether the body is a form, by its Content-Type."""
    return headers.get("content-type", "").split(";")[0].strip().lower() == _FORM


def decode(body: bytes, headers: Mapping[str, str]) -> Any:
    """The payload: JSON, also where it is the one field `payload` of a form; any other form as an object of texts.

    An empty body is an empty object.

    Raises:
        InvalidRequest: it is neither, or nests too deeply.
    """
    if is_form(headers):
        fields = dict(form(body))
        if fields.keys() != {"payload"}:
            return fields
        body = fields["payload"].encode("utf-8", "surrogatepass")
    try:
        return from_json(body or b"{}", allow_inf_nan=False)
    except ValueError as error:
        raise InvalidRequest("the body is not JSON") from error


def form(body: bytes) -> list[tuple[str, str]]:
    """The fields of a form, or of a query string, in their order, empty ones too.

    Raises:
        InvalidRequest: more fields than any sender has.
    """
    text = body.decode("utf-8", "replace")
    try:
        return parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise InvalidRequest(f"the body has more than {_MAX_FIELDS} fields") from error


def unwrapped(payload: Any) -> Any:
    """A Pub/Sub push with `message.data` decoded: what is JSON as JSON, other text as text.

    Raises:
        InvalidRequest: the data are not base64, or not text.
    """
    message = payload.get("message") if isinstance(payload, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("data"), str):
        return payload
    try:
        data = base64.b64decode(message["data"], validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest("message.data: not base64 of UTF-8 text") from error
    return {**payload, "message": {**message, "data": _json_or_text(data)}}


def _json_or_text(data: str) -> Any:
    try:
        found = from_json(data, allow_inf_nan=False)
    except ValueError:
        return data
    return found if isinstance(found, dict | list) else data
