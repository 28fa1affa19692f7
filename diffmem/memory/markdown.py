"""Edits of Markdown that leave every byte outside the edited lines as it is: facts added, replaced and removed.

Each edit is checked against a second reading of the file: it must have gained or lost exactly the fact it was about,
and all other blocks must be what they were. An edit that cannot be made so is not made.
"""

import difflib
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from diffmem.limits import Deadline
from diffmem.memory.editing import Edited, line_ending
from diffmem.memory.facts import citation, citations, fact_key, with_citation, without_citation
from diffmem.memory.names import name_key
from diffmem.memory.outline import Fact, Heading, Outline, is_blank, outline
from diffmem.memory.placement import Before, at_the_end, in_section, new_section, roomy

Shape = Sequence[tuple[str, str, str]]
_Gap = tuple[Fact, Sequence[str]]  # a fact that goes, and the lines that it leaves

_GAPS: tuple[Sequence[str], ...] = ((), ("",))
_EDITABLE = ("heading", "bullet", "ordered", "list", "paragraph", "inline")


def add_fact(
    text: str, heading: str, fact: str, mark: str = "", *, before: Before = at_the_end, anywhere: bool = True
) -> Edited:
    """`text` with `fact` as the last item under `heading`, followed by the citation `mark`.

    A fact that the file holds already, under any heading, is not added again: a cited one gets `mark` too. Where not
    `anywhere`, only a fact under that heading counts. A heading that is absent is made as a `##`, in front of the
    first `##` for whose text `before` holds.
    """
    parts = outline(text)
    same = [found for found in parts.facts if found.key == fact_key(fact)]
    known = next((found for found in same if anywhere or name_key(found.heading) == name_key(heading)), None)
    if known is not None:
        return Edited(confirm_fact(text, known, [mark]) if mark and citations(known.text) else text)
    section = next((head for head in parts.headings if name_key(head.text) == name_key(heading)), None)
    places = roomy(in_section(parts, section) if section else new_section(parts, before))
    new = () if section else (heading,)
    tries = ((place, block, worded) for place, block in places for worded in _worded(fact, mark))
    return _first_sound(
        text, parts, fact, (_inserted(text, place, block, (*new, worded)) for place, block, worded in tries)
    )


def replace_fact(
    text: str, old: str, new: str, mark: str = "", *, heading: str | None = None, anywhere: bool = True
) -> Edited:
    """`text` with the fact that reads `old` worded as `new` and citing `mark`; further facts of either wording go.

    `heading`, where the file has it, tells equal facts of different sections apart. Where not `anywhere`, a fact that
    reads `new` under another heading than the old one is another fact. Replacing what is replaced changes nothing.
    """
    parts = outline(text)
    found = _matching(parts, old, heading)
    within = heading if anywhere or not found else found[0].heading
    present = [fact for fact in parts.facts if fact.key == fact_key(new) and fact not in found]
    if not anywhere and within:
        present = [fact for fact in present if name_key(fact.heading) == name_key(within)]
    if not found:
        return Edited(text, "" if present else _unknown(parts, old))
    spare = remove_facts(text, found if present else found[1:])
    if spare.problem or present:
        return spare
    left = outline(spare.text) if len(found) > 1 else parts
    made = (_reworded(spare.text, found[0], worded) for worded in _worded(new, mark))
    return _first_sound(spare.text, left, old, made, lost=(old,))


def remove_fact(text: str, old: str, *, heading: str | None = None) -> Edited:
    """`text` without the facts that read `old`, under `heading` alone where the file has it."""
    parts = outline(text)
    found = _matching(parts, old, heading)
    return remove_facts(text, found) if found else Edited(text, _unknown(parts, old))


def remove_facts(text: str, facts: Sequence[Fact]) -> Edited:
    """`text` without `facts`, which are facts of its outline."""
    for fact in facts:
        if not fact.whole:
            return Edited(text, f"{fact.text!r} has more below it in the same item")
    for fact in sorted(facts, key=lambda fact: -fact.start):
        made = (_Made(_without_lines(text, [(fact, left)])) for left in _GAPS)
        edited = _first_sound(text, outline(text), fact.text, made, lost=(fact.text,))
        if edited.problem:
            return edited
        text = edited.text
    return Edited(text)


def confirm_fact(text: str, fact: Fact, marks: Sequence[str]) -> str:
    """`text` with the citations `marks` after `fact`, a fact of its outline, as far as there is room for them."""
    lines = text.split("\n")
    _cite(lines, fact, marks)
    return "\n".join(lines)


def merge_duplicates(text: str, deadline: Deadline, *, anywhere: bool = True) -> str:
    """`text` with each fact once: the first stays, with the citations of all; where not `anywhere`, once a section.

    Raises:
        DeadlineExceeded: the text is large, or its duplicates stand where few of them can be removed.
    """
    parts = outline(text)
    first: dict[tuple[str, str], Fact] = {}
    again: dict[int, Fact] = {}
    for fact in parts.facts:
        known = first.setdefault((fact.key, "" if anywhere else name_key(fact.heading)), fact)
        if fact.key and known is not fact and fact.whole:
            again[fact.start] = known
    if not again:
        return text
    gone = _removable(text, parts, [fact for fact in parts.facts if fact.start in again], deadline)
    lines = text.split("\n")
    for fact, _ in gone:
        _cite(lines, again[fact.start], [citation(stem, n) for stem, n in citations(fact.text)])
    return _without_lines("\n".join(lines), gone)


def _removable(text: str, parts: Outline, facts: Sequence[Fact], deadline: Deadline) -> list[_Gap]:
    """Those of `facts` that can be removed from `text` together, in order, and what each leaves.

    All are tried at once; where that does not do, halves are, so that one that has to stay costs few readings.
    """
    gone: list[_Gap] = []
    waiting = [facts]
    while waiting:
        batch = waiting.pop()
        for left in _GAPS:
            deadline.check("the merging of duplicates")
            tried = [*gone, *((fact, left) for fact in batch)]
            if _is_without(parts, outline(_without_lines(text, tried)), [fact for fact, _ in tried]):
                gone = tried
                break
        else:
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]] if half else []
    return gone


def _is_without(parts: Outline, made: Outline, facts: Sequence[Fact]) -> bool:
    """Whether `made` is what `parts` is, but for `facts`: between what stays, only around them may anything differ."""
    gone = {fact.place for fact in facts}
    old = list(_stretches(parts.shape, gone))
    new = list(_stretches(made.shape, ()))
    return len(old) == len(new) and all(
        one == other or (had_gone and (change := _difference(one, other))[0] is not None and change[1] == ())
        for (one, had_gone), (other, _) in zip(old, new, strict=True)
    )


def _stretches(shape: Shape, gone: Collection[int]) -> Iterator[tuple[Shape, bool]]:
    """`shape` cut after each text that is not `gone`, and whether a piece holds one that is."""
    start, had_gone = 0, False
    for place, (kind, _, _) in enumerate(shape):
        had_gone = had_gone or place in gone
        if kind == "inline" and place not in gone:
            yield shape[start : place + 1], had_gone
            start, had_gone = place + 1, False
    yield shape[start:], had_gone


def drop_citations(text: str, stem: str) -> str:
    """`text` without the facts that only session `stem` taught; what others taught too loses its citation of `stem`."""
    for fact in reversed(outline(text).facts):
        stems = {other for other, _ in citations(fact.text)}
        if stem not in stems:
            continue
        removed = remove_facts(text, [fact]) if stems == {stem} else Edited(text, "taught by others too")
        text = removed.text if not removed.problem else _unciting(text, fact, stem)
    return text


def is_bare(text: str) -> bool:
    """Whether nothing but headings and blanks follows the front matter."""
    parts = outline(text)
    taken = {line for head in parts.headings for line in range(head.start, head.end)}
    body = range(parts.body, len(parts.lines))
    return all(line in taken or is_blank(parts.lines[line]) for line in body)


def remove_empty_sections(text: str) -> str:
    """`text` without the `##` headings under which nothing stands, and without the blank lines after them."""
    parts = outline(text)
    lines = list(parts.lines)
    for head, end in reversed(_regions(parts)):
        if head.level == 2 and all(is_blank(line) for line in lines[head.end : end]):
            del lines[head.start : end - (end == len(parts.lines) and lines[-1] == "")]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Made:
    """A text that an edit may give, and the contents (of headings, of facts) that it should have gained."""

    text: str
    gained: tuple[str, ...] = ()


def _first_sound(text: str, parts: Outline, about: str, made: Iterable[_Made], *, lost: tuple[str, ...] = ()) -> Edited:
    for candidate in made:
        gone, come = _difference(parts.shape, outline(candidate.text).shape)
        as_meant = come == candidate.gained and gone is not None and [*map(fact_key, gone)] == [*map(fact_key, lost)]
        if as_meant or candidate.text == text:
            return Edited(candidate.text)
    return Edited(text, f"{about!r} cannot be edited here without changing what stands around it")


def _difference(old: Shape, new: Shape) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The contents that only `old` has, and only `new`; None where not only headings, lists and paragraphs differ."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    return _contents(old[head : len(old) - tail]), _contents(new[head : len(new) - tail])


def _contents(shape: Shape) -> tuple[str, ...] | None:
    if any(not kind.startswith(_EDITABLE) for kind, _, _ in shape):
        return None
    return tuple(content for kind, _, content in shape if kind == "inline")


def _matching(parts: Outline, old: str, heading: str | None) -> list[Fact]:
    found = [fact for fact in parts.facts if fact.key == fact_key(old)]
    key = name_key(heading or "")
    if not key or all(name_key(head.text) != key for head in parts.headings):
        return found
    return [fact for fact in found if name_key(fact.heading) == key]


def _unknown(parts: Outline, old: str) -> str:
    near = difflib.get_close_matches(fact_key(old), [fact.key for fact in parts.facts], 1, 0.5)
    nearest = next((fact.text for fact in parts.facts if near and fact.key == near[0]), None)
    return f"no fact here reads {old!r}" + (f"; the nearest reads {nearest!r}" if nearest else "")


def _worded(fact: str, mark: str) -> Iterator[str]:
    """`fact` with its citation, as it is and then escaped: `# 1` and `1. x` after a bullet would be more than text."""
    for wording in (fact, f"\\{fact}", re.sub(r"^(\d+)([.)])", r"\1\\\2", fact)):
        if fact_key(wording) == fact_key(fact):
            yield f"{wording} {mark}".rstrip()


def _inserted(text: str, place: int, block: Sequence[str], contents: tuple[str, ...]) -> _Made:
    lines, rest = text.split("\n"), iter(contents)
    block = [line.replace("\0", next(rest)) if "\0" in line else line for line in block]
    end = line_ending(text).removesuffix("\n")
    if place < len(lines):
        lines[place:place] = [line + end for line in block]
    else:
        lines[-1] += end
        lines += [*(line + end for line in block[:-1]), block[-1]]
    return _Made("\n".join(lines), contents)


def _reworded(text: str, fact: Fact, worded: str) -> _Made:
    lines = text.split("\n")
    end = "\r" if lines[fact.end - 1].endswith("\r") else ""
    lines[fact.start : fact.end] = [f"{fact.prefix}{worded}{end}"]
    return _Made("\n".join(lines), (worded,))


def _unciting(text: str, fact: Fact, stem: str) -> str:
    lines = text.split("\n")
    lines[fact.start : fact.end] = [without_citation(line, stem) for line in lines[fact.start : fact.end]]
    return "\n".join(lines)


def _cite(lines: list[str], fact: Fact, marks: Sequence[str]) -> None:
    """Put the citations `marks` after `fact`, on its last line."""
    line = lines[fact.end - 1]
    end = "\r" if line.endswith("\r") else ""
    lines[fact.end - 1] = functools.reduce(with_citation, marks, line.removesuffix("\r")) + end


def _without_lines(text: str, gaps: Iterable[_Gap]) -> str:
    lines = text.split("\n")
    kept: list[str] = []  # from the end
    at = len(lines)
    for fact, left in sorted(gaps, key=lambda gap: -gap[0].start):
        kept += reversed(lines[fact.end : at])
        above = fact.start == 0 or is_blank(lines[fact.start - 1])
        if above and fact.loose and len(kept) > 1 and is_blank(kept[-1]):
            kept.pop()
        kept += left
        at = fact.start
    kept += reversed(lines[:at])
    return "\n".join(reversed(kept))


def _regions(parts: Outline) -> list[tuple[Heading, int]]:
    ends = [*(head.start for head in parts.headings[1:]), len(parts.lines)]
    return list(zip(parts.headings, ends, strict=False))
