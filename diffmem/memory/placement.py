"""Where a new fact may stand in a file: under its heading, or in a section that is yet to be made.

A place is the line in front of which lines are inserted, and the lines. NUL stands in them for the contents, in order:
the heading of a new section, the fact. Places come in the order of preference: a fence or an HTML comment that is never
closed swallows what is put after it.
"""

from collections.abc import Callable, Iterable, Iterator

from diffmem.memory.outline import Heading, Outline, is_blank

Place = tuple[int, list[str]]
Before = Callable[[str], bool]


def at_the_end(_heading: str) -> bool:
    """The place of a new section: after all others."""
    return False


def in_section(parts: Outline, section: Heading) -> Iterator[Place]:
    """Places of a fact under the heading `section`: its last list where that comes last, else a list of its own."""
    end = next((head.start for head in parts.headings if head.start > section.start), len(parts.lines))
    tail = _after_content(parts, section.end, end)
    blocks = [start for start in parts.blocks if section.end <= start < end]
    block = max(blocks, default=end)
    items = [fact for fact in parts.facts if block <= fact.start < end and fact.nested == 1]
    if items and items[-1].prefix.strip() in ("-", "*", "+"):
        yield tail, [*[""] * items[-1].loose, f"{items[-1].prefix}\0", *_gap(parts, tail)]
    yield tail, ["", "- \0", *_gap(parts, tail)]
    yield section.end, ["", "- \0", *_gap(parts, section.end)]
    for start in reversed(blocks):
        yield start, [*_gap_above(parts, start), "- \0", ""]


def new_section(parts: Outline, before: Before) -> Iterator[Place]:
    """Places of a `##` section with one fact: before the first `##` for whose text `before` holds, else at the end."""
    lines = ["## \0", "", "- \0"]
    for head in parts.headings:
        if head.level == 2 and before(head.text):
            yield head.start, [*_gap_above(parts, head.start), *lines, ""]
            break
    tail = _after_content(parts, 0, len(parts.lines))
    yield tail, [*_gap_above(parts, tail), *lines, *_gap(parts, tail)]
    for start in reversed(parts.blocks):  # an HTML comment or a fence that is never closed takes in all that follows it
        yield start, [*_gap_above(parts, start), *lines, ""]


def roomy(places: Iterable[Place]) -> Iterator[Place]:
    """`places`, then again with the text of a new list further in: what follows, indented, is no part of it then."""
    again: list[Place] = []
    for line, block in places:
        yield line, block
        again.append((line, ["-    \0" if text == "- \0" else text for text in block]))
    yield from again


def _after_content(parts: Outline, start: int, end: int) -> int:
    return next((line + 1 for line in range(end - 1, start - 1, -1) if not is_blank(parts.lines[line])), start)


def _gap(parts: Outline, line: int) -> list[str]:
    return [""] if line < len(parts.lines) and not is_blank(parts.lines[line]) else []


def _gap_above(parts: Outline, line: int) -> list[str]:
    return [""] if line > 0 and not is_blank(parts.lines[line - 1]) else []
