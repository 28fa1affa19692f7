"""Templates: how a mapping says what a text is made of.

    wa-{from}                    text, and what a path finds (`diffmem.hooks.places`); several values with ", " between
    {@webhook-id}{#}             a header of the request; the JSON pointer of the item
    [photo]{?photo}              only where `photo` is there and is not null, false or empty; adds no text itself
    assistant{?kind=bot|app}     only where it is one of these texts
    {text}{!bot_id}              only where it is not there
    acme-{}                      in a hook's own `user`: what the mapping's `user` gives

A template whose path finds nothing, or no text, gives None. Of several templates the first that gives a text counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diffmem.hooks.places import Path, Place, parse_path, text_of

_SLOT = re.compile(r"\{([^{}]*)\}")
_CONDITION = re.compile(r"(?P<path>(?:[^=\[\]]|\[[^\]]*\])+)(?:=(?P<values>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a template is filled from. `own` is the text of `{}`."""

    item: Place
    headers: Mapping[str, str] = field(default_factory=dict)
    own: str | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    path: Path

    def text(self, scope: Scope) -> str | None:
        texts = [text for place in self.path.find(scope.item) if (text := text_of(place.value)) is not None]
        return ", ".join(texts) if texts else None


@dataclass(frozen=True, slots=True)
class _Condition:
    path: Path
    values: frozenset[str]
    is_there: bool

    def text(self, scope: Scope) -> str | None:
        found = [place.value for place in self.path.find(scope.item)]
        if self.values:
            holds = any(text_of(value) in self.values for value in found)
        else:
            holds = any(_is_there(value) for value in found)
        return "" if holds == self.is_there else None


@dataclass(frozen=True, slots=True)
class _Header:
    name: str

    def text(self, scope: Scope) -> str | None:
        return text_of(scope.headers.get(self.name))


@dataclass(frozen=True, slots=True)
class _Pointer:
    def text(self, scope: Scope) -> str | None:
        return scope.item.pointer


@dataclass(frozen=True, slots=True)
class _Own:
    def text(self, scope: Scope) -> str | None:
        return scope.own


@dataclass(frozen=True, slots=True)
class _Literal:
    written: str

    def text(self, scope: Scope) -> str | None:
        return self.written


_Part = _Value | _Condition | _Header | _Pointer | _Own | _Literal


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    parts: tuple[_Part, ...]

    def text(self, scope: Scope) -> str | None:
        """The template filled from `scope`; None where a part of it has nothing to give."""
        texts = []
        for part in self.parts:
            text = part.text(scope)
            if text is None:
                return None
            texts.append(text)
        return "".join(texts)


def parse_template(text: str) -> Template:
    """The template that `text` writes.

    Raises:
        ValueError: saying which part of it is not one.
    """
    return Template(tuple(_parts(text)))


def first_text(templates: Sequence[Template], scope: Scope) -> str | None:
    """The text of the first template that gives one; None where none does."""
    texts = (template.text(scope) for template in templates)
    return next((text for text in texts if text is not None), None)


def _parts(text: str) -> Iterator[_Part]:
    end = 0
    for slot in _SLOT.finditer(text):
        if slot.start() > end:
            yield _literal(text[end : slot.start()])
        yield _slot(slot[1])
        end = slot.end()
    if end < len(text) or not text:
        yield _literal(text[end:])


def _is_there(value: Any) -> bool:
    return value is not None and value is not False and value not in ("", [], {})


def _literal(text: str) -> _Literal:
    if "{" in text or "}" in text:
        raise ValueError(f"{text!r} has a brace without its other half")
    return _Literal(text)


def _slot(text: str) -> _Part:
    if text == "":
        return _Own()
    if text == "#":
        return _Pointer()
    if text.startswith("@"):
        return _Header(text[1:].lower())
    if text[0] not in "?!":
        return _Value(parse_path(text))
    condition = _CONDITION.fullmatch(text[1:])
    if condition is None:
        raise ValueError(f"{{{text}}} is not a condition")
    values = frozenset(condition["values"].split("|")) if condition["values"] is not None else frozenset()
    return _Condition(parse_path(condition["path"]), values, is_there=text[0] == "?")
