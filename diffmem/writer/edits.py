"""An edit plan: what a session teaches, as data. The types, and how an untrusted answer becomes them, edit by edit.

    {"summary": "Maya began at Acme", "edits": [
      {"op": "create", "entity": "Maya", "kind": "people", "aliases": ["my wife"], "cues": ["marriage"]},
      {"op": "add", "entity": "Maya", "section": "Work", "fact": "Works at Acme as a nurse.", "quote": "..."}]}

One bad edit is rejected, with the reason, and does not sink the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from diffmem.errors import InvalidPlan
from diffmem.memory.facts import MAX_FACT_CHARS, fact_key, fact_text

Op = Literal["create", "describe", "add", "replace", "remove", "event"]

MAX_EDITS = 200

_MAX_SUMMARY_CHARS = 120
_MAX_SECTION_CHARS = 80
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "create": ("entity",),
    "describe": ("entity",),
    "add": ("entity", "fact", "quote"),
    "replace": ("entity", "old", "fact", "quote"),
    "remove": ("entity", "old", "quote"),
    "event": ("fact", "quote"),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit; which fields are set depends on `op`. Texts are one line each and cannot break the format.

    create     `entity` is a new name of `kind`, with `aliases` and `cues`
    describe   `aliases` and `cues` of an entity that exists
    add        `fact` under `section` of `entity`, which is made where there is none
    replace    the fact that reads `old`, by `fact`
    remove     the fact that reads `old`
    event      `fact` in the timeline on `date`; without a date, in the file of `entity`
    """

    op: Op
    entity: str = ""
    kind: str = ""
    section: str = ""
    old: str = ""
    fact: str = ""
    quote: str = ""
    date: str = ""
    aliases: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """An edit, as it was received or understood, that is not made, and why."""

    edit: Any
    why: str

    def __str__(self) -> str:
        edit = self.edit
        shown = f"{edit.op} {edit.fact or edit.old or edit.entity!r}" if isinstance(edit, Edit) else repr(edit)
        return f"{shown[:300]}: {self.why}"


@dataclass(frozen=True, slots=True)
class EditPlan:
    """Edits in the order in which they are made; none is a good answer. `summary` becomes the commit's subject."""

    summary: str = ""
    edits: tuple[Edit, ...] = ()
    rejected: tuple[Problem, ...] = ()


def _listed(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value or []


_Line = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_FACT_CHARS)]
_Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]
_Names = Annotated[list[_Name], Field(max_length=30), BeforeValidator(_listed)]


class _EditBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    op: Op
    entity: _Name | None = None
    kind: _Name | None = None
    section: _Name | None = None
    old: Annotated[str, Field(max_length=4 * MAX_FACT_CHARS)] | None = None
    fact: _Line | None = None
    quote: Annotated[str, Field(max_length=4_000)] | None = None
    date: Annotated[str, Field(max_length=40)] | None = None
    aliases: _Names = []
    cues: _Names = []


def parse_edits(data: object) -> EditPlan:
    """The edit plan in decoded JSON: an object with `edits`, or a bare list of them.

    Raises:
        InvalidPlan: neither, or a list none of whose items is an edit; what is wrong with single ones is in `rejected`.
    """
    body = {"edits": data} if isinstance(data, list) else data
    if not isinstance(body, dict) or not isinstance(body.get("edits"), list):
        raise InvalidPlan('an object with a list "edits" is needed')
    items = body["edits"]
    read = [_edit(item) for item in items[:MAX_EDITS]]
    if read and not any(isinstance(edit, Edit) for edit in read):
        raise InvalidPlan(f'none of "edits" is an edit: {read[0]}')
    left_out = (
        [Problem(f"{len(items) - MAX_EDITS} more edits", f"at most {MAX_EDITS}")] if len(items) > MAX_EDITS else []
    )
    summary = body.get("summary")
    return EditPlan(
        summary=fact_text(summary)[:_MAX_SUMMARY_CHARS] if isinstance(summary, str) else "",
        edits=tuple(edit for edit in read if isinstance(edit, Edit)),
        rejected=(*(edit for edit in read if isinstance(edit, Problem)), *left_out),
    )


def _edit(item: object) -> Edit | Problem:
    try:
        body = _EditBody.model_validate(item)
    except ValidationError as error:
        first = error.errors()[0]
        return Problem(item, f"{'.'.join(str(part) for part in first['loc']) or 'the edit'}: {first['msg']}")
    edit = _cleaned(body)
    missing = [name for name in _NEEDED[edit.op] if not getattr(edit, name)]
    if missing:
        return Problem(item, f"{edit.op} needs {' and '.join(missing)}")
    if edit.fact and not fact_key(edit.fact):
        return Problem(item, "the fact says nothing")
    return edit


def _cleaned(body: _EditBody) -> Edit:
    return Edit(
        op=body.op,
        entity=fact_text(body.entity or ""),
        kind=fact_text(body.kind or ""),
        section=fact_text(body.section or "").strip("# ")[:_MAX_SECTION_CHARS].strip(),
        old=" ".join((body.old or "").split()),
        fact=fact_text(body.fact or ""),
        quote=(body.quote or "").strip(),
        date=(body.date or "").strip(),
        aliases=tuple(filter(None, map(fact_text, body.aliases))),
        cues=tuple(filter(None, map(fact_text, body.cues))),
    )


def _nullable(description: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "description": description}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _strings(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


# Keeps to OpenAI's structured outputs: objects closed, every property required, what may be absent nullable.
EDITS_SCHEMA: dict[str, Any] = _closed(
    {
        "summary": {"type": "string", "description": "one line: what this session taught"},
        "edits": {
            "type": "array",
            "description": "empty where there is nothing to remember",
            "items": _closed(
                {
                    "op": {"type": "string", "enum": list(get_args(Op))},
                    "entity": _nullable("a name, or 'profile' for the user; null for an event"),
                    "kind": _nullable("create: the kind of entity"),
                    "section": _nullable("add: the heading that the fact belongs under"),
                    "old": _nullable("replace, remove: the fact as it stands in the file"),
                    "fact": _nullable("add, replace, event: one sentence"),
                    "quote": _nullable("word for word from the session"),
                    "date": _nullable("event: 2026-03-05, 2026-03 or 2026; null if unknown"),
                    "aliases": _strings("create, describe: other names"),
                    "cues": _strings("create, describe: words that should bring this entity to mind"),
                }
            ),
        },
    }
)
