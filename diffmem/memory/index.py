"""`index.md`, the entity manifest: made by code, one line an entity, the latest change first.

- [Maya](memories/people/maya.md): people; marriage, ceramics; aliases: my wife; 12 facts; changed 2026-03-05
"""

import re
from collections.abc import Iterable, Mapping

from diffmem.memory.entities import Entity

INDEX_PATH = "index.md"

_MAX_CUES = 8
_MAX_ALIASES = 8
_TARGET = re.compile(r"(?<!\\)\]\((?:<([^<>]*)>|([^()<>\s]*))\): ")
_CHANGED = re.compile(r"; changed (\d{4}-\d\d-\d\d)\s*\Z")
_INTRO = "# Index\n\nWhat memory knows, by file. Made by code: changes here are overwritten.\n\n"


def render_index(entities: Iterable[Entity], changed: Mapping[str, str] | None = None) -> bytes:
    """The manifest of `entities`; `changed` maps paths to the day of their last change, as `YYYY-MM-DD`."""
    days = changed or {}
    by_path = sorted(entities, key=lambda entity: entity.path)
    latest_first = sorted(by_path, key=lambda entity: days.get(entity.path, ""), reverse=True)
    lines = [_line(entity, days.get(entity.path)) for entity in latest_first]
    return f"{_INTRO}{''.join(lines)}".encode("utf-8", "replace")


def changed_days(index: bytes) -> dict[str, str]:
    """The day of the last change of each path, as an earlier manifest has it."""
    lines = index.decode("utf-8", "replace").split("\n")
    found = ((_TARGET.search(line), _CHANGED.search(line)) for line in lines)
    return {target[1] or target[2]: changed[1] for target, changed in found if target and changed}


def _line(entity: Entity, day: str | None) -> str:
    parts = [entity.kind or "memory"]
    if entity.cues:
        parts.append(", ".join(entity.cues[:_MAX_CUES]))
    if entity.aliases:
        parts.append(f"aliases: {', '.join(entity.aliases[:_MAX_ALIASES])}")
    parts.append(f"{entity.facts} fact{'' if entity.facts == 1 else 's'}")
    if day:
        parts.append(f"changed {day}")
    name = re.sub(r"([\[\]\\])", r"\\\1", entity.name)
    return f"- [{name}]({_target(entity.path)}): {'; '.join(parts)}\n"


def _target(path: str) -> str:
    return f"<{path}>" if re.search(r"[\s()<>]", path) else path
