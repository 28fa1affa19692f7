"""The answer in the words of a model: JSON in fences, in prose, with a comma too many, in Python's spelling, cut off.

This runs when the deadline may be a few milliseconds away, so texts, attempts and repairs are bounded.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import jiter

from diffmem.agent.task import Task
from diffmem.errors import InvalidPlan
from diffmem.model.reading import is_shallow

T = TypeVar("T")

MAX_TEXT_CHARS = 100_000

_MAX_ATTEMPTS = 40
_MAX_REPAIRS = 3
_MAX_REPAIRED_CHARS = 50_000
_OPENING = re.compile(r"[{\[]")
_LOOKS_LIKE_JSON = re.compile(r"""\{\s*["'}]|\[\s*[{\["'\]]""")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>"?)|[{}\[\]]', re.DOTALL)
_BRACKET = re.compile(r"[{}\[\]]")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_PYTHON_NAMES = {"true": "True", "false": "False", "null": "None"}
_DECODER = json.JSONDecoder(strict=False)


def read_answer(text: str, task: Task[T]) -> T:
    """What `task.parse` makes of the text.

    Raises:
        InvalidPlan: it makes nothing of it; the message says why, in words for the model.
    """
    reason = "there is no JSON object in it"
    for value in _by_promise(json_values(text), task.schema):
        try:
            return task.parse(value)
        except InvalidPlan as error:
            reason = str(error)
    for read in (_lines, _partial):
        value = read(text, task)
        if value is not None:
            return task.parse(value)
    raise InvalidPlan(reason)


def json_values(text: str) -> list[Any]:
    """The objects and lists that stand whole in `text`, none within another, in their order; none nested too deeply."""
    text = _unquoted(text.strip())[:MAX_TEXT_CHARS]
    values: list[Any] = []
    at, repairs = 0, _MAX_REPAIRS
    for _ in range(_MAX_ATTEMPTS):
        opening = _OPENING.search(text, at)
        if opening is None:
            break
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            repairs -= 1
            value, at = _repaired(text, opening.start()) if repairs >= 0 else (None, len(text))
        if value is not None and is_shallow(value):
            values.append(value)
    return values


def partial_value(text: str) -> Any:
    """What is there of the object or list that breaks off with the end of `text`; None where none does."""
    text = _unquoted(text.strip())[:MAX_TEXT_CHARS]
    opening = _LOOKS_LIKE_JSON.search(text)
    if opening is None:
        return None
    try:
        value = jiter.from_json(text[opening.start() :].encode("utf-8", "replace"), partial_mode=True)
    except ValueError:
        return None
    return value if is_shallow(value) else None


def _lines(text: str, task: Task[T]) -> Any:
    return task.parse_lines(text[:MAX_TEXT_CHARS]) if task.parse_lines else None


def _partial(text: str, task: Task[T]) -> Any:
    return partial_value(text) if task.takes_partial else None


def _by_promise(values: list[Any], schema: Mapping[str, Any]) -> Iterator[Any]:
    """The values in the order in which they are likely to be the answer: of equals, a model's last word counts."""
    expected = set(schema.get("properties", ()))
    objects = [value for value in values if isinstance(value, dict)]
    others = [value for value in objects if not expected & set(value)]
    yield from reversed([value for value in objects if expected & set(value)])
    yield from reversed([value for value in values if isinstance(value, list) and value])
    if len(others) > 1:
        yield others  # an object a line, where a list of them was asked for
    yield from reversed(others)


def _unquoted(text: str) -> str:
    """The text itself, or what it is as a JSON string."""
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return text


def _repaired(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start`, mended, and where it ends; None where it is none, or breaks off."""
    if not _LOOKS_LIKE_JSON.match(text, start):
        return None, start + 1
    end = _closing(text, start)
    if end is None:
        return None, len(text)
    return _mended(text[start:end]), end


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for bracket, end in brackets(text, start, start + _MAX_REPAIRED_CHARS):
        depth += 1 if bracket in "{[" else -1
        if depth == 0:
            return end
    return None


def brackets(text: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """The brackets of `text` from `start` to `end` that stand in no JSON string, and where each ends.

    A quotation mark whose string does not end opens none; no later one does then, so that none is tried.
    """
    for token in _TOKEN.finditer(text, start, end):
        if token[0] in "{}[]":
            yield token[0], token.end()
        elif not token["end"]:
            yield from ((bracket[0], bracket.end()) for bracket in _BRACKET.finditer(text, token.start(), end))
            return


def _mended(piece: str) -> Any:
    without_commas = _TRAILING_COMMA.sub(r"\1", piece)
    try:
        return json.loads(without_commas, strict=False)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(re.sub(r"\b(?:true|false|null)\b", lambda name: _PYTHON_NAMES[name[0]], without_commas))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
