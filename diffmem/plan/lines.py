"""A plan of one pointer a line, for small models that cannot write JSON.

    memories/people/maya.md:12-40 must her job
    memories/contexts/company.md the whole file
    diff memories/contexts/company.md since 3f2a1b9 what changed
    show memories/people/maya.md at 2024-03-05 as it was then
    log memories/people/maya.md when it changed
    $ rg -n marathon sessions
    = Maya runs marathons.
    entities: maya, company

`must` after the place makes a pointer must_include; the rest of the line is the reason. A path with blanks stands in
backticks. Bullets, numbers and code fences are passed over, and so is every line that is none of these.
"""

import re
from typing import Any

_MAX_LINES = 500
_MAX_LINE_CHARS = 4_000

_BULLET = re.compile(r"(?:[-*•+>]|\d{1,3}[.)])\s+")
_COMMAND = re.compile(r"\$\s+(.+)")
_ENDING = r"\.[A-Za-z]\w{0,9}(?:(?::|#L?)\d+(?:[-–:]L?\d+)?)?"
_PLACE = re.compile(
    r"(?:(?P<verb>diff|log|show|file|cat)\s+)?"
    rf"(?:[`\"'](?P<quoted>[^`\"']+?{_ENDING})[`\"']|(?P<bare>\S+?{_ENDING})(?=[\s,:;]|$))"
    r"[\s,:;-]*",
    re.IGNORECASE,
)
_REVISION = re.compile(r"(?:since|at|@|from)\s+(\S+)\s*|@(\S+)\s*", re.IGNORECASE)
_PRIORITY = re.compile(
    r"\(?(must(?:[_ -]include)?|if[_ -]budget[_ -]allows|optional|maybe)\b\)?[\s,:;-]*", re.IGNORECASE
)
_SYNTHESIS = re.compile(r"(?:=|synthesis:)\s*(.+)", re.IGNORECASE)
_ENTITIES = re.compile(r"entities:\s*(.+)", re.IGNORECASE)
_NONE = re.compile(r"(?:none|nothing)\W*", re.IGNORECASE)
_VERBS = {"diff": "git_diff", "log": "git_log", "show": "git_show"}


def parse_plan_lines(text: str) -> object:
    """What `parse_plan` reads, from a plan of one pointer a line; None where no line says anything."""
    pointers, notes = [], {}
    none = False
    for line in (_bare(line) for line in text.splitlines()[:_MAX_LINES]):
        if match := _SYNTHESIS.fullmatch(line):
            notes["synthesis"] = match[1]
        elif match := _ENTITIES.fullmatch(line):
            notes["entities"] = match[1]
        elif pointer := parse_pointer_line(line):
            pointers.append(pointer)
        none = none or _NONE.fullmatch(line) is not None
    return {"pointers": pointers, **notes} if pointers or notes or none else None


def _bare(line: str) -> str:
    line = line.strip()[:_MAX_LINE_CHARS]
    while match := _BULLET.match(line):
        line = line[match.end() :]
    whole = line[1:-1]
    return whole.strip() if line[:1] == line[-1:] == "`" and "`" not in whole else line


def parse_pointer_line(line: str) -> dict[str, Any] | None:
    """The pointer that a line names, as the fields of JSON; None where it names none."""
    line = line.strip()[:_MAX_LINE_CHARS]
    if match := _COMMAND.fullmatch(line):
        return {"type": "command", "command": match[1]}
    place = _PLACE.match(line)
    if place is None:
        return None
    found: dict[str, Any] = {"type": _VERBS.get((place["verb"] or "").lower(), "file")}
    found["path"] = place["quoted"] or place["bare"]
    rest = line[place.end() :]
    if found["type"] != "file" and (revision := _REVISION.match(rest)):
        found["since" if found["type"] == "git_diff" else "rev"] = revision[1] or revision[2]
        rest = rest[revision.end() :]
    if priority := _PRIORITY.match(rest):
        found["priority"] = "must_include" if priority[1].lower().startswith("must") else "if_budget_allows"
        rest = rest[priority.end() :]
    return {**found, "reason": rest.strip()}
