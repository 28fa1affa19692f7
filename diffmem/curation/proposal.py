"""A proposal of how memory could be put in better order, as data: the types, and how an untrusted answer becomes them.

{"summary": "...", "steps": [
  {"op": "merge", "entity": "memories/people/maya-smith.md", "into": "memories/people/maya.md"},
  {"op": "drop", "entity": "memories/people/maya.md", "fact": "Is a nurse.", "same_as": "Works as a nurse."}]}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from diffmem.errors import InvalidPlan
from diffmem.memory.facts import fact_text

Op = Literal["merge", "drop", "move", "move_section", "split"]

MAX_STEPS = 100

_MAX_SUMMARY_CHARS = 120
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "merge": ("entity", "into"),
    "drop": ("entity", "fact", "same_as"),
    "move": ("entity", "fact", "into"),
    "move_section": ("entity", "section", "into"),
    "split": ("entity", "section", "into"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step; which fields are set depends on `op`. Entities are paths or names.

    merge          all of `entity` into `into`, which is the same person or thing
    drop           `fact`, because it says what `same_as`, in the same file, says
    move           `fact` to the file of `into`, under `section`
    move_section   the section to the file of `into`
    split          the section to a new entity called `into`, of `kind`
    """

    op: Op
    entity: str
    into: str = ""
    section: str = ""
    fact: str = ""
    same_as: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A step that is not made, and why."""

    step: Any
    why: str

    def __str__(self) -> str:
        step = self.step
        shown = (
            f"{step.op} {step.entity!r} {step.fact or step.section or step.into!r}"
            if isinstance(step, Step)
            else repr(step)
        )
        return f"{shown[:300]}: {self.why}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Steps in the order in which they are made; none is a good answer."""

    summary: str = ""
    steps: tuple[Step, ...] = ()
    rejected: tuple[Refusal, ...] = ()


_Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_400)]


class _StepBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    op: Op
    entity: _Text | None = None
    into: _Text | None = None
    section: _Text | None = None
    fact: _Text | None = None
    same_as: _Text | None = None
    kind: _Text | None = None


def parse_proposal(data: object) -> Proposal:
    """The proposal in decoded JSON: an object with `steps`, or a bare list of them.

    Raises:
        InvalidPlan: neither; what is wrong with a single step is in `rejected`.
    """
    body = {"steps": data} if isinstance(data, list) else data
    if not isinstance(body, dict) or not isinstance(body.get("steps"), list):
        raise InvalidPlan('an object with a list "steps" is needed')
    read = [_step(item) for item in body["steps"][:MAX_STEPS]]
    summary = body.get("summary")
    return Proposal(
        summary=fact_text(summary)[:_MAX_SUMMARY_CHARS] if isinstance(summary, str) else "",
        steps=tuple(step for step in read if isinstance(step, Step)),
        rejected=tuple(step for step in read if isinstance(step, Refusal)),
    )


def _step(item: object) -> Step | Refusal:
    try:
        body = _StepBody.model_validate(item)
    except ValidationError as error:
        first = error.errors()[0]
        return Refusal(item, f"{'.'.join(str(part) for part in first['loc']) or 'the step'}: {first['msg']}")
    missing = [name for name in _NEEDED[body.op] if not getattr(body, name)]
    if missing:
        return Refusal(item, f"{body.op} needs {' and '.join(missing)}")
    return Step(
        op=body.op,
        entity=fact_text(body.entity or ""),
        into=fact_text(body.into or ""),
        section=fact_text(body.section or "").strip("# "),
        fact=" ".join((body.fact or "").split()),
        same_as=" ".join((body.same_as or "").split()),
        kind=fact_text(body.kind or ""),
    )


_LINE = re.compile(r"(?:[-*+]\s+|\d+[.)]\s+)?(merge|drop|move_section|move|split)\b[:\s]\s*(.+)", re.IGNORECASE)
_NOTHING = re.compile(r"(?:nothing|none|no steps)\b.*", re.IGNORECASE)
_PARTS: Mapping[str, tuple[str, ...]] = {
    "merge": ("entity", "into"),
    "drop": ("entity", "fact", "same_as"),
    "move": ("entity", "fact", "into", "section"),
    "move_section": ("entity", "section", "into"),
    "split": ("entity", "section", "into", "kind"),
}


def parse_proposal_lines(text: str) -> object:
    """What `parse_proposal` reads, from one step a line (`merge path | path`); None where no line says anything."""
    steps, nothing = [], False
    for line in (line.strip().strip("`") for line in text.split("\n")):
        if match := _LINE.fullmatch(line):
            op = match[1].lower()
            parts = [part.strip() for part in match[2].split("|")]
            steps.append({"op": op, **dict(zip(_PARTS[op], parts, strict=False))})
        nothing = nothing or _NOTHING.fullmatch(line) is not None
    return {"steps": steps} if steps or nothing else None


def _nullable(description: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "description": description}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# Keeps to OpenAI's structured outputs: objects closed, every property required, what may be absent nullable.
PROPOSAL_SCHEMA: dict[str, Any] = _closed(
    {
        "summary": {"type": "string", "description": "one line: what was put in order"},
        "steps": {
            "type": "array",
            "description": "empty where all is in order",
            "items": _closed(
                {
                    "op": {"type": "string", "enum": list(get_args(Op))},
                    "entity": {"type": "string", "description": "the path of the file that the step takes from"},
                    "into": _nullable("merge, move, move_section: the path it goes to; split: the new entity's name"),
                    "section": _nullable("move_section, split: the heading; move: the heading it goes under"),
                    "fact": _nullable("drop, move: the fact as it stands in the file"),
                    "same_as": _nullable("drop: the fact, in the same file, that says the same"),
                    "kind": _nullable("split: the kind of the new entity"),
                }
            ),
        },
    }
)
