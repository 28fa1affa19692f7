"""Answers as JSON, the same over HTTP and on the command line."""

import dataclasses
import json
from datetime import datetime
from typing import Any


def to_json(content: Any) -> bytes:
    """`content` as UTF-8 JSON: dataclasses as objects, times as RFC 3339, tuples as arrays."""
    return json.dumps(content, default=_plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "items"):
        return dict(value.items())
    raise TypeError(f"{type(value).__name__} has no JSON form")
