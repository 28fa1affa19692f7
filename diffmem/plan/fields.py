"""The fields of a pointer, read from whatever a model wrote in their place.

Each function returns a usable value, or None where the field says nothing (null, an empty text), or raises `Unusable`
with a reason for people to read. pydantic is not used here: almost nothing is refused, and a refusal costs one pointer.
"""

import math
import posixpath
import re
from collections.abc import Mapping
from typing import Any

MAX_LINE = 10_000_000
MAX_PATH_CHARS = 512

_INTEGER = re.compile(r"[Ll]?(-?\d{1,12})(?:\.0*)?")
_RANGE = re.compile(r"[\[(]?\s*[Ll]?(\d{1,12})\s*(?:-|–|—|:|,|\.\.+|to)\s*[Ll]?(\d{1,12})\s*[\])]?")
_PATH_LINES = re.compile(r"(.+?\.\w{1,10})(?::|#L?)(\d{1,12})(?:[-–:]L?(\d{1,12}))?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

LineRange = tuple[int | None, int | None]


class Unusable(Exception):
    """A pointer that cannot be used; the message says why."""


def shown(value: object) -> str:
    """`value` for a message: its repr, at most about 80 characters."""
    text = repr(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 84 else text[:80] + "…"


def text(found: Mapping[str, Any], name: str, max_chars: int) -> str | None:
    """The text of field `name` without blanks at its ends."""
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unusable(f"{name} is {shown(value)}, not text")
    value = clean(value).strip()
    if len(value) > max_chars:
        raise Unusable(f"{name} is longer than {max_chars} characters")
    return value or None


def prose(value: object, max_chars: int) -> str:
    """`value` as text of at most `max_chars` characters; anything but text becomes nothing."""
    return clean(value).strip()[:max_chars] if isinstance(value, str) else ""


def clean(value: str) -> str:
    """`value` as it can be encoded: lone surrogates, which JSON may smuggle in, become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


def number(found: Mapping[str, Any], name: str) -> int | None:
    """The integer of field `name`, from a number or from text such as "12" or "L12"; fractions are cut off."""
    return _integer(found.get(name), name)


def _integer(value: object, name: str) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and (match := _INTEGER.fullmatch(value.strip())):
        value = int(match[1])
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unusable(f"{name} is {shown(value)}, not a number")
    return max(-MAX_LINE, min(value, MAX_LINE))


def line_range(found: Mapping[str, Any]) -> LineRange:
    """First and last line, from `line_start` and `line_end` or a spelling of `lines`; None where open."""
    start, end = _ends(found)
    if end is not None and end <= 0:  # 0 and -1 are how models write "none" and "to the end"
        end = None
    if start == 0:
        start = None if end is None else 1
    if start is not None and start < 0:
        raise Unusable(f"line_start is {start}; lines count from 1")
    if start is not None and end is not None and start > end:
        return end, start
    return start, end


def _ends(found: Mapping[str, Any]) -> LineRange:
    for first, last in (("line_start", "line_end"), ("start_line", "end_line"), ("start", "end")):
        if first in found or last in found:
            start, end = number(found, first), number(found, last)
            if (start, end) != (None, None):
                return start, end
    return _lines(found.get("lines", found.get("line")))


def _lines(value: object) -> LineRange:
    if isinstance(value, Mapping):
        return _ends({key: item for key, item in value.items() if key not in ("lines", "line")})
    if isinstance(value, str) and (match := _RANGE.fullmatch(value.strip())):
        return int(match[1]), int(match[2])
    if isinstance(value, list | tuple):
        numbers = [item for item in (_integer(each, "lines") for each in value) if item is not None]
        return (min(numbers), max(numbers)) if numbers else (None, None)
    line = _integer(value, "lines")
    return line, line


def path(value: str | None) -> tuple[str | None, LineRange]:
    """A normal path relative to the repository, and the lines where `value` names them (`maya.md:12-40`).

    The path is None for the repository itself ("." and "/").
    """
    if value is None:
        return None, (None, None)
    value = value.strip("`'\" ")
    lines: LineRange = (None, None)
    if match := _PATH_LINES.fullmatch(value):
        value, lines = match[1], (int(match[2]), int(match[3] or match[2]))
    if _CONTROL.search(value):
        raise Unusable(f"path {shown(value)} holds a control character")
    normal = posixpath.normpath(value.lstrip("/") or ".")
    if normal == ".." or normal.startswith("../"):
        raise Unusable(f"path {shown(value)} leaves the repository")
    return (None if normal == "." else normal), lines
