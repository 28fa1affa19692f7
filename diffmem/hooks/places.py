"""Places in a payload: dotted paths, and what they find in decoded JSON.

    text.body                           keys, from the item (the message) that is being read
    photo[-1].file_id                   an element of a list
    entry[*].changes[*].value           every element
    contacts[wa_id=from].profile.name   the elements whose `wa_id` is the item's `from`
    ^.metadata.phone_number_id          from the object around the item; `^^` from the one around that
    $.object                            from the payload itself
    .                                   the item itself

A path that leads nowhere finds nothing: it is never an error of a payload.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

_START = re.compile(r"\$|\^+|")
_STEP = re.compile(
    r"\.?(?P<key>[^.\[\]{}=^$?!#@]+)|\[(?P<index>\*|-?\d{1,6})\]|\[(?P<where>[^\[\]=]+)=(?P<equals>[^\[\]=]+)\]"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A value of a payload: the keys and indices that lead to it, and the objects around it, outermost first."""

    value: Any
    keys: tuple[str | int, ...] = ()
    around: tuple["Place", ...] = ()

    @property
    def pointer(self) -> str:
        """The keys as a JSON pointer (RFC 6901): `/messages/0`; empty for the payload itself."""
        return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in self.keys)

    def inside(self, key: str | int, value: Any) -> "Place":
        """The place of `value`, which stands in this one at `key`."""
        around = (*self.around, self) if isinstance(self.value, Mapping) else self.around
        return Place(value, (*self.keys, key), around)

    def up(self, count: int | None) -> "Place | None":
        """The object that is `count` objects further out, the outermost for None; None where there are not as many."""
        outwards = (self, *reversed(self.around))
        return outwards[-1] if count is None else outwards[count] if count < len(outwards) else None


@dataclass(frozen=True, slots=True)
class _Where:
    """A step to the elements whose `key` has the text that `equals` has in the item."""

    key: str
    equals: "Path"


_Step = tuple[str] | int | _Where | Literal["*"]  # a key is a tuple of one, so that none can be taken for "*"


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path: `ups` objects outwards from the item first (None: to the payload itself), then its steps."""

    ups: int | None
    steps: tuple[_Step, ...]

    def find(self, item: Place) -> Iterator[Place]:
        """The places that the path leads to from `item`, in the payload's order."""
        start = item.up(self.ups)
        found = [start] if start is not None else []
        for step in self.steps:
            found = [place for before in found for place in _inside(before, step, item)]
        yield from found


def parse_path(text: str) -> Path:
    """The path that `text` writes.

    Raises:
        ValueError: it is not one.
    """
    start = _START.match(text)
    prefix = start[0] if start else ""
    rest, steps = text[len(prefix) :], list[_Step]()
    if text == ".":
        return Path(0, ())
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise ValueError(f"{text!r} is not a path: see {rest!r}")
        steps.append(_step(step))
        rest = rest[step.end() :]
    if not text:
        raise ValueError("a path is empty")
    return Path(None if prefix == "$" else len(prefix), tuple(steps))


def text_of(value: Any) -> str | None:
    """A scalar as text: numbers as they are written in JSON, `true`, `false`; None for everything else and for ""."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value).replace("\0", "\ufffd") or None
    return None


def _step(match: re.Match[str]) -> _Step:
    if match["key"] is not None:
        return (match["key"],)
    if match["where"] is not None:
        return _Where(match["where"], parse_path(match["equals"]))
    return "*" if match["index"] == "*" else int(match["index"])


def _inside(place: Place, step: _Step, item: Place) -> Iterator[Place]:
    value = place.value
    if isinstance(step, tuple):
        if isinstance(value, Mapping) and step[0] in value:
            yield place.inside(step[0], value[step[0]])
    elif isinstance(value, list):
        wanted = _indices(value, step, item)
        yield from (place.inside(index, value[index]) for index in wanted)


def _indices(values: list[Any], step: _Step, item: Place) -> Iterator[int]:
    if isinstance(step, _Where):
        texts = {text_of(found.value) for found in step.equals.find(item)} - {None}
        for index, value in enumerate(values):
            found = value.get(step.key) if isinstance(value, dict) else None
            if (found if isinstance(found, str) else text_of(found)) in texts:
                yield index
    elif isinstance(step, int):
        if -len(values) <= step < len(values):
            yield step % len(values)
    else:
        yield from range(len(values))
