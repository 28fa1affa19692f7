"""YAML front matter: read leniently, written so that nothing is mangled.

Every scalar is read as the text that stands there: `name: No`, `since: 2023-05-08` and `id: 007` stay what a person
wrote. Lines in the form this module writes are read without the YAML parser, because a request may read thousands.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fields = Mapping[str, Any]

_OPENING = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_SIMPLE_LINE = re.compile(r"([A-Za-z_][\w-]*): (.*)")
_PLAIN = re.compile(r"[A-Za-z0-9_/](?:[\w./@+-]|:(?=\w)| (?=\w))*", re.ASCII)
_SALVAGE = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)
_RESOLVED = re.compile(
    r"(?i:y|n|yes|no|on|off|true|false|null)|[\d._:/+-]+(?:e[\d.+-]+)?|0[xob][\da-f_]+", re.ASCII | re.I
)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", re.ASCII)

MAX_CHARS = 262_144


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Where front matter stands in a text: `text[start:end]` are its lines, `text[body:]` follows its closing line."""

    start: int
    end: int
    body: int


def locate(text: str) -> FrontMatter | None:
    """The place of the front matter of `text`; None where there is none, or where it is never closed."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_CHARS)
    if closing is None:
        return None
    return FrontMatter(opening.end(), closing.start(), closing.end())


def read(text: str) -> tuple[Fields, str]:
    """The fields of the front matter of `text`, and the text after it.

    Values are `str`, lists and mappings of them. YAML that does not parse is salvaged line by line.
    """
    place = locate(text)
    if place is None:
        return {}, text.removeprefix("\ufeff")
    return fields(text[place.start : place.end]), text[place.body :]


def fields(yaml_text: str) -> Fields:
    """The fields that the YAML mapping `yaml_text` holds; see `read`."""
    simple = _simple_fields(yaml_text)
    return _yaml_fields(yaml_text) if simple is None else simple


def _simple_fields(yaml_text: str) -> Fields | None:
    found: dict[str, Any] = {}
    for line in yaml_text.split("\n"):
        if not line:
            continue
        match = _SIMPLE_LINE.fullmatch(line)
        value = _simple_value(match[2]) if match else None
        if match is None or value is None or match[1] in found:
            return None
        found[match[1]] = value
    return found


def _simple_value(text: str) -> Any:
    if _PLAIN.fullmatch(text):
        return text
    if text[:1] not in ('"', "[", "{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if _is_text_only(value) else None


def _is_text_only(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(item, str) for item in value.values())
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str)


def _yaml_fields(yaml_text: str) -> Fields:
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        value = yaml.load(yaml_text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {match[1]: match[2].strip("\"'") for match in _SALVAGE.finditer(yaml_text)}
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def text_field(found: Fields, key: str) -> str | None:
    """The text of field `key`; None where it is absent, blank or not a scalar."""
    value = found.get(key)
    return value if isinstance(value, str) and value.strip() else None


def list_field(found: Fields, key: str) -> tuple[str, ...]:
    """The texts of field `key`, a YAML list or one scalar with commas between, without empty and nested ones."""
    value = found.get(key)
    items: Sequence[Any] = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    texts = (item.strip() for item in items if isinstance(item, str))
    return tuple(text for text in texts if text)


def mapping_field(found: Fields, key: str) -> dict[str, str]:
    """The scalar entries of the mapping `key`, as text."""
    value = found.get(key)
    items = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in items if isinstance(name, str) and isinstance(text, str)}


def write(values: Mapping[str, Any]) -> str:
    """Front matter with one line a field, its two `---` lines included; None, empty lists and mappings are left out.

    Example line: `aliases: ["Mia", "my wife"]`
    """
    lines = [line(key, value) for key, value in values.items() if value is not None and value not in ([], (), {})]
    return "".join(["---\n", *lines, "---\n"])


def line(key: str, value: Any) -> str:
    """One field as a line of front matter: `value` is text, a sequence of texts or a mapping of text to text."""
    return f"{key}: {scalar(value) if isinstance(value, str) else _json(value)}\n"


def scalar(text: str) -> str:
    """`text` as a YAML scalar on one line, quoted wherever any YAML reader could take it for something else."""
    plain = _PLAIN.fullmatch(text) and not _RESOLVED.fullmatch(text)
    return text if plain or _TIMESTAMP.fullmatch(text) else _json(text)


def _json(value: Any) -> str:
    dumped = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return "".join(char if char.isprintable() or ord(char) > 0xFFFF else f"\\u{ord(char):04x}" for char in dumped)
