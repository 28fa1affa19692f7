"""From a payload to messages, by rules.

A rule says where items stand in a payload (`messages`), which of them are messages (`when`), and what a message is made
of. Every field is a template, or a list of alternatives. Rules are tried in order: the first whose `when` holds takes
an item, and an item that none takes is ignored and counted. An empty `when` takes none.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf

from diffmem.errors import InvalidRequest, TooLarge
from diffmem.hooks.places import Path, Place, parse_path
from diffmem.hooks.templates import Scope, Template, first_text, parse_template
from diffmem.hooks.times import moment
from diffmem.hooks.users import user_id
from diffmem.limits import Limits

_LIMITS = Limits()
_MAX_LABEL_CHARACTERS = 200
_MAX_ALTERNATIVES = 50


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message that a webhook brought. `at` is None where the sender does not say; `id` where nothing names it."""

    user: str
    conversation: str
    role: str
    content: str
    name: str | None = None
    at: datetime | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a payload holds: messages, rule by rule, and how many of its items are none."""

    messages: tuple[Incoming, ...] = ()
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """What the items of one payload share. `delivery` names it, and is the same where it comes again; or is None."""

    hook: str
    headers: Mapping[str, str]
    now: datetime
    delivery: str | None
    user: tuple[Template, ...] = ()


def _listed(value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(item, str) for item in values):
        raise ValueError("must be a text or a list of texts")
    if len(values) > _MAX_ALTERNATIVES:
        raise ValueError(f"must be at most {_MAX_ALTERNATIVES} alternatives")
    return list(values)


def _templates(value: Any) -> tuple[Template, ...]:
    return tuple(parse_template(text) for text in _listed(value))


def _paths(value: Any) -> tuple[Path, ...]:
    return tuple(parse_path(text) for text in _listed(value))


Templates = Annotated[tuple[InstanceOf[Template], ...], BeforeValidator(_templates)]
Paths = Annotated[tuple[InstanceOf[Path], ...], BeforeValidator(_paths)]

_ALWAYS = (parse_template(""),)


class Rule(BaseModel):
    """Where messages stand and what they are made of. Of the paths in `messages`, the first that finds any counts."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    messages: Paths = (parse_path("$"),)
    when: Templates = _ALWAYS
    user: Templates = ()
    conversation: Templates = ()
    id: Templates = ()
    role: Templates = (parse_template("user"),)
    name: Templates = ()
    time: Templates = ()
    text: Annotated[Templates, Field(min_length=1)]

    def items(self, payload: Place) -> list[Place]:
        """The items that this rule looks at."""
        found = ([*path.find(payload)] for path in self.messages)
        return next((items for items in found if items), [])

    def takes(self, item: Place, source: Source) -> bool:
        """Whether `item` is a message by this rule."""
        return first_text(self.when, Scope(item, source.headers)) is not None

    def message(self, item: Place, source: Source) -> Incoming:
        """The message that `item` is.

        Raises:
            InvalidRequest: it names no user, or has no text.
            TooLarge: its text is.
        """
        scope = Scope(item, source.headers)
        return Incoming(
            user=user_id(_required("user", self._user(scope, source), item)),
            conversation=_identifier(first_text(self.conversation, scope)) or source.hook,
            role=_label(first_text(self.role, scope)) or "user",
            content=_bounded(_required("text", first_text(self.text, scope), item), item),
            name=_label(first_text(self.name, scope)),
            at=moment(first_text(self.time, scope), source.now),
            id=_identifier(first_text(self.id, scope) or _place_id(source, item)),
        )

    def _user(self, scope: Scope, source: Source) -> str | None:
        own = first_text(self.user, scope)
        return first_text(source.user, Scope(scope.item, scope.headers, own)) if source.user else own


def read(rules: Sequence[Rule], payload: Any, source: Source) -> Delivery:
    """The messages of `payload`, each once: all of them, or an error and none.

    Raises:
        InvalidRequest: a message without a user or a text; the error names the field, never a value.
        TooLarge: too many items, or a text that is too long.
    """
    found: dict[tuple[str | int, ...], Incoming | None] = {}
    for rule, item in _candidates(rules, Place(payload)):
        if found.setdefault(item.keys, None) is None and rule.takes(item, source):
            found[item.keys] = rule.message(item, source)
        if len(found) > _LIMITS.max_messages:
            raise TooLarge(f"more than {_LIMITS.max_messages} items in one payload")
    messages = tuple(message for message in found.values() if message is not None)
    return Delivery(messages, _ignored(found) if found else 1)


def _ignored(found: Mapping[tuple[str | int, ...], Incoming | None]) -> int:
    """How many items no rule took: not those that other items stand in, nor those that stand in a message."""
    taken = {keys for keys, message in found.items() if message is not None}
    around = {outer for keys in found for outer in _outer(keys)}
    return sum(keys not in taken | around and not any(outer in taken for outer in _outer(keys)) for keys in found)


def _outer(keys: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    return [keys[:length] for length in range(len(keys))]


def _candidates(rules: Sequence[Rule], payload: Place) -> Iterator[tuple[Rule, Place]]:
    for rule in rules:
        for item in rule.items(payload):
            yield rule, item


def _required(field: str, text: str | None, item: Place) -> str:
    if not text:
        raise InvalidRequest(f"{field}: the mapping finds none in the message at {item.pointer or '/'!r}")
    return text


def _bounded(text: str, item: Place) -> str:
    if len(text) > _LIMITS.max_message_chars:
        raise TooLarge(f"the text of the message at {item.pointer!r} is over {_LIMITS.max_message_chars} characters")
    return text


def _label(text: str | None) -> str | None:
    """`text` as one printable line of at most 200 characters; None where nothing is left."""
    line = "".join(char if char.isprintable() else " " for char in text or "")
    return " ".join(line.split())[:_MAX_LABEL_CHARACTERS] or None


def _identifier(text: str | None) -> str | None:
    """`text` where it can be a label, else its hash: what is different stays different."""
    stripped = (text or "").strip()
    if stripped.isprintable() and len(stripped) <= _MAX_LABEL_CHARACTERS:
        return stripped or None
    return f"sha256-{hashlib.sha256(stripped.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _place_id(source: Source, item: Place) -> str | None:
    return f"{source.delivery}{item.pointer}" if source.delivery else None
