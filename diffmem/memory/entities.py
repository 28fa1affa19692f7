"""Entity files: one person or theme each, with front matter and `##` sections of facts.

    ---
    name: Maya
    aliases: ["my wife"]
    kind: people
    cues: ["marriage", "ceramics"]
    ---

    # Maya

    ## Work

    - Works at Acme as a nurse. ^[2026-03-05-dinner#3]

Reading is lenient and quick, line by line: a file that a person made has a name even without front matter.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from diffmem.memory import frontmatter
from diffmem.memory.names import name_key, slug

__all__ = ["Entity", "Section", "find_entity", "is_entity_path", "name_key", "parse_entity", "render_entity", "slug"]

_PATH = re.compile(r"memories/([^/]+)/(?:.*/)?([^/]+)\.md")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FACT = re.compile(r"[ \t]*[-*+][ \t]+\S")


@dataclass(frozen=True, slots=True)
class Section:
    """A `##` section: its heading's text and its lines (from 1, both ends included, heading first)."""

    heading: str
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True)
class Entity:
    """What an entity file says of itself; `kind` is its folder's name where the front matter names none."""

    path: str
    name: str
    aliases: tuple[str, ...] = ()
    kind: str = ""
    cues: tuple[str, ...] = ()
    always_load: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    facts: int = 0
    lines: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)

    def section(self, heading: str) -> Section | None:
        """The first section under `heading`, case and blanks aside."""
        key = name_key(heading)
        return next((section for section in self.sections if name_key(section.heading) == key), None)


def is_entity_path(path: str) -> bool:
    """Whether an entity file lies at `path`: Markdown in a folder under `memories/`."""
    return _PATH.fullmatch(path) is not None


def parse_entity(path: str, data: bytes) -> Entity:
    """The entity at `path`; never an error, whatever the bytes are."""
    text = data.decode("utf-8", "replace")
    head, _ = frontmatter.read(text)
    lines = text.split("\n")
    place = frontmatter.locate(text)
    first = text.count("\n", 0, place.body) if place else 0
    headings, facts = _outline(lines, first)
    title = next((heading for level, heading, _ in headings if level == 1 and heading), None)
    folder, file_name = _named(path)
    return Entity(
        path=path,
        name=_one_line(frontmatter.text_field(head, "name") or title or file_name.replace("-", " ")),
        aliases=tuple(_one_line(alias) for alias in frontmatter.list_field(head, "aliases")),
        kind=_one_line(frontmatter.text_field(head, "kind") or folder),
        cues=tuple(_one_line(cue) for cue in frontmatter.list_field(head, "cues")),
        always_load=frontmatter.list_field(head, "always_load"),
        sections=_sections(headings, len(lines) - (lines[-1] == "")),
        facts=facts,
        lines=len(lines) - (lines[-1] == ""),
    )


def render_entity(entity: Entity) -> bytes:
    """A new file for `entity`: its front matter and its name as the title, no sections yet."""
    head = {
        "name": entity.name,
        "aliases": entity.aliases,
        "kind": entity.kind,
        "cues": entity.cues,
        "always_load": entity.always_load,
    }
    return f"{frontmatter.write(head)}\n# {entity.name}\n".encode("utf-8", "replace")


def find_entity(entities: Iterable[Entity], name: str, kind: str | None = None) -> Entity | None:
    """The entity that `name` belongs to: as its name, an alias, or the name that a person gave its file.

    An entity of `kind` counts before others, then a name before an alias before a file; among equals the first by path.
    """
    key = name_key(name)
    ranked = [(entity.kind != kind, _rank(entity, key), entity.path, entity) for entity in entities]
    return min((found for found in ranked if found[1] is not None), default=(None,))[-1]


def _rank(entity: Entity, key: str) -> int | None:
    if name_key(entity.name) == key:
        return 0
    if key in map(name_key, entity.aliases):
        return 1
    stem = _named(entity.path)[1]
    by_hand = stem != slug(entity.name)
    return 2 if by_hand and key and key in (name_key(stem), name_key(stem.replace("-", " "))) else None


def _named(path: str) -> tuple[str, str]:
    match = _PATH.fullmatch(path)
    return (match[1], match[2]) if match else ("", path.rpartition("/")[2].removesuffix(".md"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _outline(lines: list[str], first: int) -> tuple[list[tuple[int, str, int]], int]:
    """The headings as `(level, text, line)` and the number of facts, outside of fenced code."""
    headings: list[tuple[int, str, int]] = []
    facts, fence = 0, ""
    for number, line in enumerate(lines[first:], first + 1):
        line = line.removesuffix("\r")
        fence, inside = _fenced(line, fence)
        if inside:
            continue
        if heading := _HEADING.fullmatch(line):
            headings.append((len(heading[1]), (heading[2] or "").strip(), number))
        facts += _FACT.match(line) is not None
    return headings, facts


def _fenced(line: str, fence: str) -> tuple[str, bool]:
    """The fence that is open after `line`, and whether `line` belongs to fenced code (CommonMark 4.5)."""
    match = _FENCE.fullmatch(line)
    if not fence:
        opens = match is not None and not (match[1][0] == "`" and "`" in match[2])
        return (match[1], True) if match and opens else ("", False)
    closes = match is not None and match[1].startswith(fence) and not match[2].strip()
    return ("" if closes else fence), True


def _sections(headings: list[tuple[int, str, int]], last_line: int) -> tuple[Section, ...]:
    starts = [(level, heading, line) for level, heading, line in headings if level <= 2]
    ends = [*(line - 1 for _, _, line in starts[1:]), last_line]
    pairs = zip(starts, ends, strict=False)
    return tuple(Section(heading, line, end) for (level, heading, line), end in pairs if level == 2)
