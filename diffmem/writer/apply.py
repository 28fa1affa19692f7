"""An edit plan put into effect: each edit checked against the session and the files as they are, then made or refused.

Names come first, then facts in their order. Within one plan a fact of a file is either made or removed, not both. The
plan is gone through until that changes nothing more, so that applying it again changes nothing either.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from diffmem.memory import PROFILE_PATH, is_entity_path
from diffmem.memory.editing import Edited
from diffmem.memory.entities import Entity, render_entity
from diffmem.memory.facts import DEFAULT_SECTION, fact_key
from diffmem.memory.fields import add_to_list
from diffmem.memory.markdown import add_fact, is_bare, remove_empty_sections, remove_fact, replace_fact
from diffmem.memory.names import USER_NAMES, free_slug, name_key
from diffmem.memory.settings import Kind, Settings
from diffmem.memory.timeline import add_event, is_timeline_path, timeline_path
from diffmem.memory.workspace import Workspace
from diffmem.writer.dates import event_date
from diffmem.writer.edits import Edit, EditPlan, Problem
from diffmem.writer.quotes import Source

_MAX_FILE_CHARS = 400_000
_MAX_NAMES = 24
_MAX_PASSES = 6
_FIRST = {"create": 0, "describe": 1}


@dataclass(slots=True)
class _Work:
    """What edits are made with, and which facts this plan has made (`there`) or removed (`gone`) so far."""

    workspace: Workspace
    source: Source
    settings: Settings
    day: date
    claims: dict[tuple[str, str], Literal["there", "gone"]] = field(default_factory=dict)


class _Refused(Exception):
    """An edit that is not made, and why."""


def apply_edits(
    plan: EditPlan, workspace: Workspace, source: Source, settings: Settings, day: date
) -> tuple[Problem, ...]:
    """Make the edits of `plan` in `workspace`; what could not be made, and why.

    `source` is the session they are taken from, `day` the day it happened.
    """
    edits = sorted(plan.edits, key=lambda edit: _FIRST.get(edit.op, len(_FIRST)))
    refused: dict[int, Problem] = {}
    removed: set[int] = set()
    for _ in range(_MAX_PASSES):
        before = workspace.state
        refused = _refused(edits, _Work(workspace, source, settings, day))
        removed |= {at for at, edit in enumerate(edits) if edit.op == "remove" and at not in refused}
        if not refused or workspace.state == before:
            break
    return tuple(problem for at, problem in refused.items() if at not in removed)


def _refused(edits: list[Edit], work: _Work) -> dict[int, Problem]:
    """What could not be made of `edits` in one pass, by place."""
    refused: dict[int, Problem] = {}
    for at, edit in enumerate(edits):
        try:
            _MAKE[edit.op](work, edit)
        except _Refused as why:
            refused[at] = Problem(edit, str(why))
    return refused


def _create(work: _Work, edit: Edit) -> None:
    kind = _kind(work, edit.kind)
    known = _known(work.workspace, edit, kind)
    if known is None and name_key(edit.entity) in USER_NAMES:
        raise _Refused(f"{edit.entity!r} is the user, whose facts go to the entity 'profile'")
    if known is None:
        _new_entity(work, edit, kind)
    else:
        _describe(work, replace(edit, entity=known.path, aliases=(edit.entity, *edit.aliases)))


def _known(workspace: Workspace, edit: Edit, kind: Kind) -> Entity | None:
    """The entity that `edit` would create a second time: by its name, or by an alias that is the name of one."""
    found = workspace.find(edit.entity, kind.name)
    by_alias = (entity for alias in edit.aliases if (entity := workspace.find(alias, kind.name)))
    named = {name_key(alias) for alias in edit.aliases}
    return found or next(
        (known for known in by_alias if known.kind == kind.name and name_key(known.name) in named), None
    )


def _new_entity(work: _Work, edit: Edit, kind: Kind) -> str:
    files = (path for path in work.workspace.paths if path.startswith(f"{kind.folder}/"))
    taken = {name_key(path.rpartition("/")[2].removesuffix(".md")) for path in files}
    path = f"{kind.folder}/{free_slug(edit.entity, taken)}.md"
    aliases = _free_names(work, path, edit.aliases, [edit.entity])
    entity = Entity(path, edit.entity, aliases, kind.name, edit.cues[:_MAX_NAMES], kind.always_load)
    work.workspace.put(path, render_entity(entity).decode())
    return path


def _describe(work: _Work, edit: Edit) -> None:
    path = _target(work, edit, make=False)
    entity = next((known for known in work.workspace.entities if known.path == path), None)
    if entity is None:
        raise _Refused("only an entity has aliases and cues")
    aliases = _free_names(work, path, edit.aliases, entity.names)
    text = work.workspace.text(path)
    for key, old, new in (("aliases", entity.aliases, aliases), ("cues", entity.cues, edit.cues)):
        text = _sound(add_to_list(text, key, new[: max(0, _MAX_NAMES - len(old))]))
    work.workspace.put(path, text)


def _free_names(work: _Work, path: str, names: tuple[str, ...], own: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """`names` without those that the entity at `path` has already, and those by which another one or the user goes."""
    known = {*(name_key(name) for name in own), *USER_NAMES, _title(work.workspace.text(PROFILE_PATH))}
    owners = {name: work.workspace.find(name) for name in names}
    free = [name for name, owner in owners.items() if name_key(name) not in known and owner in (None, _at(work, path))]
    return tuple(free[:_MAX_NAMES])


def _at(work: _Work, path: str) -> Entity | None:
    return next((entity for entity in work.workspace.entities if entity.path == path), None)


def _add(work: _Work, edit: Edit) -> None:
    mark = _mark(work, edit)
    path = _target(work, edit, make=True)
    if is_timeline_path(path):
        raise _Refused("the timeline takes events")
    _claim(work, path, edit.fact, "there")
    section = edit.section or DEFAULT_SECTION
    text = work.workspace.text(path) or ("# Profile\n" if path == PROFILE_PATH else "")
    _put(work, path, add_fact(text, section, edit.fact, mark, before=_later_than(work, path, section)))


def _replace(work: _Work, edit: Edit) -> None:
    mark = _mark(work, edit)
    path = _target(work, edit, make=False)
    if fact_key(edit.old) != fact_key(edit.fact):
        _claim(work, path, edit.old, "gone")
    _claim(work, path, edit.fact, "there")
    anywhere, heading = not is_timeline_path(path), edit.section or None
    _put(
        work,
        path,
        replace_fact(work.workspace.text(path), edit.old, edit.fact, mark, heading=heading, anywhere=anywhere),
    )


def _remove(work: _Work, edit: Edit) -> None:
    _mark(work, edit)
    path = _target(work, edit, make=False)
    _claim(work, path, edit.old, "gone")
    _put(work, path, remove_fact(work.workspace.text(path), edit.old, heading=edit.section or None))
    if is_timeline_path(path):
        tidy(work.workspace, path)


def _event(work: _Work, edit: Edit) -> None:
    day = event_date(edit.date, work.day)
    if day is None and edit.date and name_key(edit.date) not in ("unknown", "none", "null"):
        raise _Refused(f"{edit.date!r} is no date that it can have happened on; 2026-03-05, 2026-03 or 2026, or null")
    if day is None:
        if not edit.entity:
            raise _Refused("an event without a date needs the entity it belongs to")
        return _add(work, edit)
    path = timeline_path(day)
    mark = _mark(work, edit)
    _claim(work, path, edit.fact, "there")
    return _put(work, path, add_event(work.workspace.text(path), day, edit.fact, mark))


_MAKE: dict[str, Callable[[_Work, Edit], None]] = {
    "create": _create,
    "describe": _describe,
    "add": _add,
    "replace": _replace,
    "remove": _remove,
    "event": _event,
}


def tidy(workspace: Workspace, path: str) -> None:
    """Remove the headings of a timeline file under which nothing stands any more, and the file where nothing does."""
    text = remove_empty_sections(workspace.text(path))
    if is_bare(text):
        workspace.remove(path)
    else:
        workspace.put(path, text)


def _mark(work: _Work, edit: Edit) -> str:
    found = work.source.find(edit.quote)
    if found.problem:
        raise _Refused(found.problem)
    return found.mark


def _target(work: _Work, edit: Edit, *, make: bool) -> str:
    """The path of the file that `edit` is about; where `make`, an entity that is unknown is created."""
    wanted = edit.entity
    known = work.workspace.find(wanted, _kind(work, edit.kind).name if edit.kind else None)
    named = _path_named(wanted, work.workspace.paths)
    if named is None and known is not None:
        named = known.path
    is_user = name_key(wanted) in USER_NAMES or name_key(wanted) == _title(work.workspace.text(PROFILE_PATH))
    if named is None and is_user:
        return PROFILE_PATH
    if named is None and not make:
        raise _Refused(f"there is no entity {wanted!r}")
    return named or _new_entity(work, edit, _kind(work, edit.kind))


def _path_named(wanted: str, paths: list[str]) -> str | None:
    """The file that `wanted` is the path of, or the link to, its ending and the first folder left out or not."""
    bare = re.sub(r"\[\[([^|\]]*)(?:\|.*)?\]\]", r"\1", wanted).removesuffix(".md")
    forms = [path for path in (f"{bare}.md", f"memories/{bare}.md") if "/" in bare and path in paths]
    return next((path for path in forms if is_entity_path(path) or is_timeline_path(path)), None)


def _title(text: str) -> str:
    first = next((line for line in text.split("\n") if line.startswith("# ")), "")
    return name_key(first[2:])


def _kind(work: _Work, name: str) -> Kind:
    """The kind called `name`; the last one of the ontology, which is the most general, where there is none."""
    return work.settings.kind(name) or work.settings.kinds[-1]


def _later_than(work: _Work, path: str, section: str) -> Callable[[str], bool]:
    """Whether a heading comes after `section` in the order that the ontology gives."""
    entity = _at(work, path)
    kind = work.settings.kind(entity.kind) if entity else None
    order = [name_key(heading) for heading in kind.sections] if kind else []
    later = set(order[order.index(name_key(section)) + 1 :]) if name_key(section) in order else set()
    return lambda heading: name_key(heading) in later


def _claim(work: _Work, path: str, fact: str, state: Literal["there", "gone"]) -> None:
    key = (path, fact_key(fact))
    if work.claims.setdefault(key, state) != state:
        raise _Refused("another edit of this plan does the opposite")


def _put(work: _Work, path: str, edited: Edited) -> None:
    text = _sound(edited)
    if len(text) > max(_MAX_FILE_CHARS, len(work.workspace.text(path))):
        raise _Refused("the file is full")
    work.workspace.put(path, text)


def _sound(edited: Edited) -> str:
    if edited.problem:
        raise _Refused(edited.problem)
    return edited.text
