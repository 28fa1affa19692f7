"""The Markdown of a repository as passages: a message of a session, a section of an entity file, a paragraph of a note.

A passage is what a pointer can name: whole lines of one file, not headings alone. `index.md` is made by code from
the others, and `profile.md` is in every context: both are left out.
Sessions are read in one quick scan, because a request reads all of them; the format is `diffmem.memory`'s.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Literal

from diffmem.memory import Entity, is_entity_path, parse_entity, stem_of
from diffmem.planner.words import words

Kind = Literal["session", "entity", "note"]

_MESSAGE = re.compile(r"^<!-- (\{.*\}) -->\n(?:\*\*(.{1,200}?):\*\*[ \t]?)?", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_SECTION = re.compile(r"^ {0,3}#{1,6}[ \t]+.*$", re.MULTILINE)
_CONTENT = re.compile(r"^(?! {0,3}#{1,6}(?:[ \t]|$))[ \t]*\S", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_SPEAKER = re.compile(r"(?:\[[^\]\n]{1,40}\][ \t]*)?\**([^\W\d_][\w .'-]{0,40}?)\**:\**[ \t]")
_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)-|(\d{4})-(\d\d)(?:-(\d\d))?")
_LINE_CHARS = 600
_READ_ANYWAY = ("index.md", "profile.md")


@dataclass(slots=True)
class Passage:
    """Lines `line_start` to `line_end` of the document at index `document`, who says them, and their words."""

    document: int
    line_start: int
    line_end: int
    label: str
    assistant: bool
    text: str
    words: list[str]


@dataclass(slots=True)
class Document:
    """One file: its passages are `corpus.passages[first:end]`; `day` is when it happened, where its path says so.

    Of `entity` only what stands above the sections is known.
    """

    path: str
    kind: Kind
    day: date | None
    first: int
    end: int = 0
    entity: Entity | None = None


@dataclass(slots=True)
class Corpus:
    """What was read: documents and passages, each in the order of reading."""

    documents: list[Document] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)

    def add(self, path: str, data: bytes, max_chars: int) -> None:
        """Read one file; a passage of more than `max_chars` is cut at line ends."""
        text = data.decode("utf-8", "replace")
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        kind = kind_of(path)
        document = Document(path, kind, day_of(path), len(self.passages))
        if kind == "entity":
            document.entity = parse_entity(path, _above_sections(text).encode())
        index = len(self.documents)
        for passage in _passages(text, kind, index):
            self.passages += _cut(passage, max_chars)
        document.end = len(self.passages)
        self.documents.append(document)


def _above_sections(text: str) -> str:
    """The front matter and the title: all that names an entity."""
    head = _FRONT_MATTER.match(text)
    end = text.find("\n## ", head.end() - 1 if head else 0)
    return text if end < 0 else text[: end + 1]


def is_readable(path: str) -> bool:
    """Whether the planner reads the file at `path`."""
    return path.endswith(".md") and path not in _READ_ANYWAY


def kind_of(path: str) -> Kind:
    """What lies at `path`."""
    if stem_of(path) is not None:
        return "session"
    return "entity" if is_entity_path(path) else "note"


def day_of(path: str) -> date | None:
    """The day that `path` names: a session's, or the first of a timeline's month."""
    match = _DATE.search(path)
    if match is None:
        return None
    year, month, day = match[1] or match[4], match[2] or match[5], match[3] or match[6] or "1"
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def newest_first(paths: tuple[str, ...]) -> list[str]:
    """Readable `paths`: what is no session first, then sessions from the newest to the oldest."""
    readable = [path for path in paths if is_readable(path)]
    sessions = [path for path in readable if kind_of(path) == "session"]
    others = [path for path in readable if kind_of(path) != "session"]
    return others + sorted(sessions, key=lambda path: (day_of(path) or date.min, path), reverse=True)


def _passages(text: str, kind: Kind, document: int) -> Iterator[Passage]:
    messages = list(_MESSAGE.finditer(text)) if kind == "session" else []
    return _of_messages(text, messages, document) if messages else _of_paragraphs(text, kind, document)


def _of_messages(text: str, messages: list[re.Match[str]], document: int) -> Iterator[Passage]:
    line, at = 1, 0
    for order, message in enumerate(messages, 1):
        start = message.start()
        end = messages[order].start() if order < len(messages) else len(text)
        line += text.count("\n", at, start)
        at = start
        content = text[message.end() : end].rstrip("\n")
        last = line + text.count("\n", start, message.end()) + content.count("\n")
        assistant = '"role":"assistant"' in message[1]
        yield Passage(document, line, last, message[2] or "", assistant, content, words(content))


def _of_paragraphs(text: str, kind: Kind, document: int) -> Iterator[Passage]:
    head = _FRONT_MATTER.match(text)
    at, line = (head.end(), 1 + text.count("\n", 0, head.end())) if head else (0, 1)
    for part, heading in _parts(text[at:], whole_sections=kind == "entity"):
        stripped = part.strip("\n")
        if _CONTENT.search(stripped):
            start = line + len(part) - len(part.lstrip("\n"))
            speaker = _SPEAKER.match(stripped) if kind == "session" else None
            label = speaker[1] if speaker else ""
            last = start + stripped.count("\n")
            yield Passage(document, start, last, label, False, stripped, words(f"{heading} {stripped}"))
        line += part.count("\n")


def _parts(text: str, *, whole_sections: bool) -> Iterator[tuple[str, str]]:
    """The parts of `text`, which add up to it, each with the headings above it."""
    starts = [0, *(match.start() for match in _SECTION.finditer(text) if match.start() > 0), len(text)]
    title = ""
    for start, end in pairwise(starts):
        section = text[start:end]
        heading = section.split("\n", 1)[0] if section.lstrip().startswith("#") else ""
        if heading.lstrip().startswith("# "):
            title = heading
        if whole_sections:
            yield section, title
            continue
        for part in _paragraphs(section):
            yield part, "" if part.startswith("#") else heading


def _paragraphs(section: str) -> Iterator[str]:
    ends = [match.end() for match in _PARAGRAPH_END.finditer(section)]
    for start, end in zip([0, *ends], [*ends, len(section)], strict=True):
        part = section[start:end]
        if len(part) > _LINE_CHARS:
            yield from part.splitlines(keepends=True)
        elif part:
            yield part


def _cut(passage: Passage, max_chars: int) -> Iterator[Passage]:
    """`passage` in parts of whole lines, each of at most `max_chars` where its lines allow."""
    if len(passage.text) <= max_chars or passage.line_start == passage.line_end:
        yield passage
        return
    lines = passage.text.split("\n")
    number = passage.line_end - len(lines) + 1
    start, group = passage.line_start, [lines[0]]
    for line in lines[1:]:
        number += 1
        if sum(map(len, group)) + len(line) > max_chars:
            yield _part(passage, start, number - 1, group)
            start, group = number, []
        group.append(line)
    yield _part(passage, start, number, group)


def _part(passage: Passage, start: int, end: int, lines: list[str]) -> Passage:
    text = "\n".join(lines)
    return Passage(passage.document, start, end, passage.label, passage.assistant, text, words(text))
