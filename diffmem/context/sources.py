"""What a pointer points at, as the lines that will stand in the context.

A `Source` is one thing under one heading: a file, a file at a revision, a diff, a log, a command's output. A session is
shown as a conversation (`Caroline: Hey Mel!`), without its front matter and its markers; every other file line by line.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from diffmem.context.headings import neutral
from diffmem.git import Commit
from diffmem.memory import frontmatter
from diffmem.memory.sessions import Numbered, numbered_messages
from diffmem.plan import PointerType

# A pointer into a message means the message; into a longer one (a pasted document) it means those lines.
_WHOLE_MESSAGE_LINES = 30


@dataclass(frozen=True, slots=True)
class Message:
    """The lines of one message of a session in its file (marker first), and among the lines shown (`end` excluded)."""

    line_start: int
    line_end: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Content:
    """The lines to show, where each stands in its file, and which are kept first where there is room for a part.

    `numbers` is empty where there is no file. `order` holds every index into `texts` once.
    """

    texts: Sequence[str]
    numbers: Sequence[int] = ()
    order: Sequence[int] = ()
    messages: Sequence[Message] = ()

    def between(self, first: int | None, last: int | None) -> range:
        """The indexes of the lines `first` to `last` of the file; a message is shown whole."""
        if not self.numbers:
            return range(len(self.texts))
        low, high = first or 1, last or self.numbers[-1]
        start, end = bisect_left(self.numbers, low), bisect_right(self.numbers, high)
        touched = [message for message in self.messages if message.line_start <= high and message.line_end >= low]
        for message in touched:
            if message.line_end - message.line_start <= _WHOLE_MESSAGE_LINES:
                start, end = min(start, message.start), max(end, message.end)
            elif start == end:
                end = start + 1
        return range(start, end)


# Not frozen and slotted: `content` is made when it is first needed, because most of a long plan finds no room.
@dataclass(eq=False)
class Source:
    """One thing that context shows under one heading.

    `day` is set for a session and takes the place of `heading`; `commit` where it is not the one that last touched
    `path`. A source that is not `split` is one block even where lines in its middle are left out.
    """

    type: PointerType
    path: str | None
    heading: str
    load: Callable[[], Content]
    day: date | None = None
    commit: Commit | None = None
    split: bool = True

    @cached_property
    def content(self) -> Content:
        """The lines, made once."""
        return self.load()


def text_content(lines: Sequence[str], order: Sequence[int] = ()) -> Content:
    """Lines that are no file's."""
    return Content([neutral(line) for line in lines], order=order or range(len(lines)))


def file_content(data: bytes) -> Content:
    """Every line of a file (after `\\n` alone), invalid UTF-8 replaced; front matter is the first to be left out."""
    text = data.decode("utf-8", "replace")
    lines = split_lines(text)
    place = frontmatter.locate(text)
    body = text.count("\n", 0, place.body) if place else 0
    while body and body < len(lines) and not lines[body].strip():
        body += 1
    order = range(len(lines)) if not body else [*range(body, len(lines)), *range(min(body, len(lines)))]
    return Content([neutral(line) for line in lines], range(1, len(lines) + 1), order)


def session_content(data: bytes) -> Content:
    """An archived session as a conversation; of a transcript the text; and the notes that people wrote above either."""
    numbered = numbered_messages(data)
    text = data.decode("utf-8", "replace")
    lines = split_lines(text)
    place = frontmatter.locate(text)
    first = text.count("\n", 0, place.body) + 1 if place else 1
    last = numbered[0].line_start - 1 if numbered else len(lines)
    found = [(n, lines[n - 1]) for n in range(first, last + 1) if lines[n - 1].strip() or not numbered]
    found = _without_blank_ends(found)
    messages = []
    for item in numbered:
        start = len(found)
        found += _spoken(item)
        messages.append(Message(item.line_start, item.line_end, start, len(found)))
    numbers, texts = [n for n, _ in found], [neutral(line) for _, line in found]
    return Content(texts, numbers, range(len(texts)), messages)


def split_lines(text: str) -> list[str]:
    """The lines of `text` as git and the tool count them: `\\n` ends a line, and an end at the very end begins none."""
    return text.removesuffix("\n").split("\n") if text else []


def count_lines(data: bytes) -> int:
    """How many lines `split_lines` makes of a file."""
    return data.count(b"\n") + (not data.endswith(b"\n")) if data else 0


def _spoken(item: Numbered) -> list[tuple[int, str]]:
    spoken = f"{item.message.label}: {item.message.content}".split("\n")
    return list(enumerate(spoken, item.line_start + 1))


def _without_blank_ends(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    filled = [index for index, (_, line) in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []
