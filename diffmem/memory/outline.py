"""What a Markdown file is made of: its headings and facts, and the lines they take (CommonMark, by markdown-it-py).

Only what an edit may touch is a fact: an item of a list, or a paragraph at the top level. Code, quotations, tables,
HTML and front matter are none. Lines count from 0 here, ends excluded; LF alone separates them, as git counts them.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diffmem.memory import frontmatter
from diffmem.memory.facts import fact_key

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at the top level, and the lines it takes (two where it is underlined)."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A list item's own text, or a paragraph.

    `prefix` is what stands before it on its first line: indentation and bullet. `nested` counts the lists it is in
    (0: a paragraph). `whole`: nothing else belongs to the same item, so that it can be removed. `place` is that of
    its text in the outline's shape.
    """

    text: str
    start: int
    end: int
    prefix: str
    nested: int
    whole: bool
    loose: bool
    heading: str
    place: int

    @property
    def key(self) -> str:
        """What identifies this fact within its file."""
        return fact_key(self.text)


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts of one file.

    `blocks` are the lines at which its top-level blocks start. `shape` is the whole of its block structure, as `(type,
    mark-up, content)`: what an edit must leave as it is, but for what it means to change.
    """

    lines: tuple[str, ...]
    body: int
    headings: tuple[Heading, ...]
    facts: tuple[Fact, ...]
    blocks: tuple[int, ...]
    shape: tuple[tuple[str, str, str], ...]


def outline(text: str) -> Outline:
    """The outline of `text`, whatever it holds."""
    place = frontmatter.locate(text)
    offset = place.body if place else len(text) - len(text.removeprefix("\ufeff"))
    body_line = text.count("\n", 0, offset)
    lines = tuple(text.split("\n"))
    # markdown-it also ends lines at a lone CR, git does not.
    source = text[offset:].replace("\r\n", "\n").replace("\r", " ")
    tokens = _parser().parse(source)
    headings = tuple(_headings(tokens, body_line))
    facts = tuple(_facts(tokens, lines, body_line, headings))
    blocks = tuple(
        token.map[0] + body_line for token in tokens if token.level == 0 and token.map and token.nesting >= 0
    )
    shape = tuple((token.type, token.markup, token.content) for token in tokens)
    return Outline(lines, body_line, headings, facts, blocks, shape)


def is_blank(line: str) -> bool:
    """Whether CommonMark takes `line` for a blank one; other blanks of Unicode are text."""
    return not line.strip(" \t\r")


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _headings(tokens: list["Token"], offset: int) -> Iterator[Heading]:
    for token, inline in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            yield Heading(int(token.tag[1]), inline.content, token.map[0] + offset, token.map[1] + offset)


def _facts(tokens: list["Token"], lines: tuple[str, ...], offset: int, headings: tuple[Heading, ...]) -> Iterator[Fact]:
    for place, (parents, token) in enumerate(_with_parents(tokens)):
        if token.type != "paragraph_open" or not token.map or not set(parents) <= {"li", "ul", "ol"}:
            continue
        start, end = token.map[0] + offset, token.map[1] + offset
        prefix = _prefix(lines[start], tokens[place + 1].content)
        if prefix is None or (parents and not _opens_item(tokens, place)):
            continue
        yield Fact(
            text=tokens[place + 1].content,
            start=start,
            end=end,
            prefix=prefix,
            nested=len(parents) // 2,
            whole=not parents or tokens[place + 3].type == "list_item_close",
            loose=not token.hidden,
            heading=next((head.text for head in reversed(headings) if head.start < start), ""),
            place=place + 1,
        )


def _with_parents(tokens: list["Token"]) -> Iterator[tuple[tuple[str, ...], "Token"]]:
    parents: list[str] = []
    for token in tokens:
        if token.nesting < 0:
            parents.pop()
        yield tuple(parents), token
        if token.nesting > 0:
            parents.append(token.tag)


def _opens_item(tokens: list["Token"], place: int) -> bool:
    return tokens[place - 1].type == "list_item_open"


def _prefix(line: str, content: str) -> str | None:
    shown, first = line.rstrip(), content.split("\n")[0].rstrip()
    return shown.removesuffix(first) if first and shown.endswith(first) else None
