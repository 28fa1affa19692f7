"""An edit plan of one edit a line, for small models that cannot write JSON.

    create people | Maya | my wife, Mia
    add Maya | Work | Works at Acme as a nurse. | I started at Acme as a nurse
    replace Maya | Works at Beta. | Works at Acme. | I left Beta for Acme
    remove Maya | Works at Beta. | I left Beta
    event 2026-03-05 | Maya began to work at Acme. | today was my first day
    = Maya works at Acme now.

The last part of a line is the quote. `nothing` is an answer too; every line that is none of these is passed over.
"""

import re
from collections.abc import Mapping
from typing import Any

_BULLET = re.compile(r"(?:[-*•+>]|\d{1,3}[.)])\s+")
_EDIT = re.compile(r"(create|describe|add|replace|remove|event)\b[:\s]\s*(.+)", re.IGNORECASE)
_SUMMARY = re.compile(r"(?:=|summary:)\s*(.+)", re.IGNORECASE)
_NOTHING = re.compile(r"(?:nothing|none|no edits)\b.*", re.IGNORECASE)
_PARTS: Mapping[str, tuple[str, ...]] = {
    "create": ("kind", "entity", "aliases"),
    "describe": ("entity", "aliases", "cues"),
    "add": ("entity", "section", "fact", "quote"),
    "replace": ("entity", "old", "fact", "quote"),
    "remove": ("entity", "old", "quote"),
    "event": ("date", "fact", "quote"),
}


def parse_edit_lines(text: str) -> object:
    """What `parse_edits` reads, from a plan of one edit a line; None where no line says anything."""
    edits: list[dict[str, Any]] = []
    summary, nothing = "", False
    for line in (_BULLET.sub("", line.strip().strip("`"), count=1) for line in text.split("\n")):
        if match := _EDIT.fullmatch(line):
            edits.append(_edit(match[1].lower(), match[2]))
        elif match := _SUMMARY.fullmatch(line):
            summary = match[1]
        nothing = nothing or _NOTHING.fullmatch(line) is not None
    return {"summary": summary, "edits": edits} if edits or nothing or summary else None


def _edit(op: str, rest: str) -> dict[str, Any]:
    names = _PARTS[op]
    parts = [part.strip() for part in rest.split("|", len(names) - 1)]
    return {"op": op, **{name: part for name, part in zip(names, parts, strict=False) if part}}
