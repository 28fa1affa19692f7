"""The steps of a consolidation, made by code on parsed files: what a step is not about stands somewhere afterwards.

A drop is about a fact that goes for good: the model's word that another fact of the file says it is believed where that
fact has most of its words, and all of its numbers. A merge keeps no front matter but names, cues and `always_load`.
A section that holds nothing but facts is moved fact by fact, so that what both files say stands once. Any other, with
code, tables or nested lists in it, is moved as it is. After each step the lines of the files it touched are looked for;
where one is missing that the step was not about, the step is taken back.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from diffmem.curation.account import front_matter_lines, line_key, lost_lines
from diffmem.curation.proposal import Proposal, Refusal, Step
from diffmem.curation.weave import link, relinked
from diffmem.memory import PROFILE_PATH, is_entity_path
from diffmem.memory.editing import Edited, line_ending
from diffmem.memory.entities import Entity, render_entity
from diffmem.memory.facts import DEFAULT_SECTION, citation, citations, fact_key
from diffmem.memory.fields import add_to_list
from diffmem.memory.markdown import add_fact, confirm_fact, remove_facts
from diffmem.memory.names import USER_NAMES, free_slug, name_key
from diffmem.memory.outline import Fact, Outline, is_blank, outline
from diffmem.memory.settings import Settings
from diffmem.memory.workspace import Workspace
from diffmem.planner.words import is_english, is_stop_word, words


class _Refused(Exception):
    """A step that is not made, and why."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of a file from a heading (none: what stands before the first) to the next of its level or above."""

    heading: str
    start: int
    content: int
    end: int


def make_steps(proposal: Proposal, workspace: Workspace, settings: Settings) -> tuple[Refusal, ...]:
    """Make the steps of `proposal` in `workspace`, in order; what could not be made, and why."""
    refused: list[Refusal] = []
    for step in proposal.steps:
        state = workspace.state
        try:
            may_go = _MAKE[step.op](workspace, step, settings)
            missing = [line for line in lost_lines(workspace.since(state)) if line_key(line) not in may_go]
            if missing:
                raise _Refused(f"it would lose {missing[0][:100]!r}")
        except _Refused as why:
            workspace.restore(state)
            refused.append(Refusal(step, str(why)))
    return tuple(refused)


def _merge(workspace: Workspace, step: Step, _: Settings) -> set[str]:
    source, target = _entity(workspace, step.entity), _entity(workspace, step.into)
    if source.path == target.path:
        raise _Refused("a file cannot be merged into itself")
    text, heads = workspace.text(source.path), front_matter_lines(workspace.text(target.path))
    names = {name_key(name) for name in source.names}
    for part in _parts(outline(text)):
        is_title = name_key(part.heading) in names
        _carry(workspace, text, replace(part, heading="") if is_title else part, target.path, source.name)
    _describe(workspace, target.path, source)
    for path in workspace.paths:
        workspace.put(path, relinked(workspace.text(path), source.path, target.path))
    workspace.remove(source.path)
    titles = {line_key(name) for name in source.names}
    return heads | front_matter_lines(text) | titles


def _describe(workspace: Workspace, path: str, source: Entity) -> None:
    """Give the entity at `path` the names and cues of the one that is merged into it."""
    text = workspace.text(path)
    known = {name_key(name) for name in _entity(workspace, path).names}
    aliases = [name for name in source.names if name_key(name) not in known]
    for key, values in (("aliases", aliases), ("cues", source.cues), ("always_load", source.always_load)):
        text = _sound(add_to_list(text, key, values))
    workspace.put(path, text)


def _drop(workspace: Workspace, step: Step, _: Settings) -> set[str]:
    path = _path(workspace, step.entity)
    text = workspace.text(path)
    gone, kept = _fact(text, step.fact), _fact(text, step.same_as)
    if gone == kept:
        raise _Refused("it is the same line")
    if not _says(kept, gone):
        raise _Refused(f"{step.same_as!r} does not say most of it")
    marks = [citation(stem, n) for stem, n in citations(gone.text)]
    text = confirm_fact(text, kept, marks)
    workspace.put(path, _sound(remove_facts(text, [_fact(text, step.fact)])))
    return {line_key(line) for line in gone.text.split("\n")} | {gone.key}


def _says(kept: Fact, gone: Fact) -> bool:
    """Whether `kept` has most of the words of `gone` that mean something, and all of its numbers."""
    there, said = set(words(kept.key)), words(gone.key)
    english = is_english(said)
    telling = [word for word in said if not is_stop_word(word, english)] or said
    numbers = {word for word in said if any(map(str.isdigit, word))}
    return 2 * sum(word in there for word in telling) > len(telling) and numbers <= there


def _move(workspace: Workspace, step: Step, _: Settings) -> set[str]:
    source, target = _path(workspace, step.entity), _path(workspace, step.into)
    if source == target:
        raise _Refused("it is in that file already")
    fact = _fact(workspace.text(source), step.fact)
    workspace.put(source, _sound(remove_facts(workspace.text(source), [fact])))
    workspace.put(target, _with_fact(workspace.text(target), step.section or fact.heading or DEFAULT_SECTION, fact))
    return {line_key(line) for line in fact.text.split("\n")} if "\n" in fact.text else set()


def _move_section(workspace: Workspace, step: Step, _: Settings) -> set[str]:
    source, target = _path(workspace, step.entity), _path(workspace, step.into)
    if source == target:
        raise _Refused("it is in that file already")
    _take_section(workspace, source, step.section, target)
    return set()


def _split(workspace: Workspace, step: Step, settings: Settings) -> set[str]:
    source = _entity(workspace, step.entity)
    if workspace.find(step.into) is not None:
        raise _Refused(f"there is an entity {step.into!r} already")
    if name_key(step.into) in USER_NAMES:
        raise _Refused(f"{step.into!r} is the user, whose file is the profile")
    kind = settings.kind(step.kind or source.kind) or settings.kinds[-1]
    taken = [path.rpartition("/")[2].removesuffix(".md") for path in workspace.paths]
    path = f"{kind.folder}/{free_slug(step.into, map(name_key, taken))}.md"
    made = Entity(path, step.into, kind=kind.name, cues=source.cues, always_load=kind.always_load)
    workspace.put(path, render_entity(made).decode())
    heading = _take_section(workspace, source.path, step.section, path)
    pointer = add_fact(workspace.text(source.path), heading, f"See {link(path, step.into)}.")
    workspace.put(source.path, _sound(pointer))
    return set()


_MAKE: dict[str, Callable[[Workspace, Step, Settings], set[str]]] = {
    "merge": _merge,
    "drop": _drop,
    "move": _move,
    "move_section": _move_section,
    "split": _split,
}


def _take_section(workspace: Workspace, source: str, heading: str, target: str) -> str:
    """Move a section from `source` to `target`; its heading, as it stands."""
    text = workspace.text(source)
    part = next(
        (part for part in _parts(outline(text)) if part.heading and name_key(part.heading) == name_key(heading)), None
    )
    if part is None:
        raise _Refused(f"there is no section {heading!r}")
    _carry(workspace, text, part, target, part.heading)
    lines = text.split("\n")
    del lines[part.start : part.end]
    workspace.put(source, "\n".join(lines))
    return part.heading


def _parts(parts: Outline) -> list[_Part]:
    """The file cut at its headings of the first two levels."""
    heads = [head for head in parts.headings if head.level <= 2]
    ends = [*(head.start for head in heads), len(parts.lines)]
    cut = [_Part("", parts.body, parts.body, ends[0])]
    return cut + [_Part(head.text, head.start, head.end, end) for head, end in zip(heads, ends[1:], strict=True)]


def _carry(workspace: Workspace, text: str, part: _Part, target: str, name: str) -> None:
    """Write what stands in `part` of `text` into the file `target`; `name` is the heading of what has none."""
    parts = outline(text)
    facts = [fact for fact in parts.facts if part.content <= fact.start < part.end]
    taken = {line for fact in facts for line in range(fact.start, fact.end)}
    is_plain = all(line in taken or is_blank(parts.lines[line]) for line in range(part.content, part.end))
    now = workspace.text(target)
    if is_plain and all(fact.nested <= 1 for fact in facts):
        for fact in facts:
            now = _with_fact(now, part.heading or DEFAULT_SECTION, fact)
    else:
        now = _with_lines(now, part.heading or name, parts.lines[part.content : part.end], facts)
    workspace.put(target, now)


def _with_fact(text: str, heading: str, fact: Fact) -> str:
    """`text` with `fact`, and with its citations where the fact was there already."""
    marks = [citation(stem, n) for stem, n in citations(fact.text)]
    said = " ".join(fact.text.split())
    for mark in marks:
        said = said.replace(mark, "")
    edited = add_fact(text, heading, " ".join(said.split()), " ".join(marks))
    text = _sound(edited)
    known = next((found for found in outline(text).facts if found.key == fact.key), None)
    return confirm_fact(text, known, marks) if known and citations(known.text) else text


def _with_lines(text: str, heading: str, lines: tuple[str, ...], facts: list[Fact]) -> str:
    """`text` with a section of `lines` as they are at its end, under a heading that it has not got yet."""
    known = {name_key(head.text) for head in outline(text).headings}
    free = next(
        name for n in range(1, 1000) if name_key(name := heading if n == 1 else f"{heading} ({n})") not in known
    )
    end = line_ending(text)
    kept = itertools.dropwhile(is_blank, (line.removesuffix("\r") for line in lines))
    block = end.join([f"## {free}", "", *kept]).rstrip()
    made = f"{text.rstrip()}{end}{end}{block}{end}"
    there = {fact.key for fact in outline(made).facts}
    if any(fact.key not in there for fact in facts):
        raise _Refused("what stands at the end of the other file would swallow it")
    return made


def _fact(text: str, wanted: str) -> Fact:
    found = next((fact for fact in outline(text).facts if fact.key == fact_key(wanted)), None)
    if found is None:
        raise _Refused(f"no fact there reads {wanted!r}")
    return found


def _path(workspace: Workspace, wanted: str) -> str:
    """The file of an entity, or the profile."""
    if wanted in (PROFILE_PATH, "profile") and PROFILE_PATH in workspace.paths:
        return PROFILE_PATH
    return _entity(workspace, wanted).path


def _entity(workspace: Workspace, wanted: str) -> Entity:
    by_path = next((entity for entity in workspace.entities if entity.path == wanted), None)
    found = by_path or workspace.find(wanted)
    if found is None or not is_entity_path(found.path):
        raise _Refused(f"there is no entity {wanted!r}")
    return found


def _sound(edited: Edited) -> str:
    if edited.problem:
        raise _Refused(edited.problem)
    return edited.text
