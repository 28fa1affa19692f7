"""An untrusted answer becomes a plan, pointer by pointer.

What can be understood is used and put into the one form that `Pointer` has: numbers written as text, swapped or missing
lines, `lines: "12-40"`, a leading `./`, a type that the other fields give away. The rest is rejected with a reason.
"""

import json
from collections.abc import Mapping
from typing import Any, get_args

from diffmem.errors import InvalidPlan
from diffmem.limits import Limits
from diffmem.plan import fields
from diffmem.plan.fields import Unusable
from diffmem.plan.lines import parse_pointer_line
from diffmem.plan.types import Plan, Pointer, PointerType, Priority, Rejected

MAX_POINTERS = 64
MAX_REASON_CHARS = 500
MAX_SYNTHESIS_CHARS = 4_000
MAX_ENTITIES = 64
MAX_ENTITY_CHARS = 200
MAX_COMMITS = 200
MAX_REV_CHARS = 200

_ALIASES: Mapping[str, PointerType] = {
    "section": "file_section",
    "lines": "file_section",
    "diff": "git_diff",
    "log": "git_log",
    "show": "git_show",
    "run": "command",
}
_MUST = frozenset({"must_include", "must", "must-include", "required", "high"})
_DEPTH = 4


def parse_plan(data: object) -> Plan:
    """The plan that the decoded JSON `data` holds; what is wrong with single pointers is in its `rejected`.

    A plan is `{"pointers": [...], ...}`, the same under `plan`, a bare list of pointers, a single pointer, or any of
    these as JSON in a text. Fields that are not known are passed over.

    Raises:
        InvalidPlan: nothing in `data` is a plan.
    """
    found = _unwrapped(data, _DEPTH)
    pointers: list[Pointer] = []
    rejected: list[Rejected] = []
    items = _items(found.get("pointers"))
    for item in items[:MAX_POINTERS]:
        try:
            pointers.append(_pointer(_mapping(item)))
        except Unusable as reason:
            rejected.append(Rejected(_shortened(item), str(reason)))
    if len(items) > MAX_POINTERS:
        rejected.append(Rejected(None, f"{len(items) - MAX_POINTERS} pointers beyond the first {MAX_POINTERS}"))
    synthesis = fields.prose(found.get("synthesis"), MAX_SYNTHESIS_CHARS)
    return Plan(tuple(pointers), synthesis, _entities(found.get("entities")), tuple(rejected))


def _unwrapped(data: object, depth: int) -> Mapping[str, Any]:
    """The mapping that has `pointers`, wherever in `data` it is."""
    if isinstance(data, str):
        data = _decoded(data)
    if isinstance(data, list):
        return {"pointers": data}
    if isinstance(data, dict) and depth:
        if "pointers" in data:
            return data
        if "plan" in data:
            return {**data, **_unwrapped(data["plan"], depth - 1)}
        if "path" in data or "command" in data:
            return {"pointers": [data]}
    raise InvalidPlan(f"no pointers in {fields.shown(data)}")


def _decoded(data: str) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _items(value: object) -> list[Any]:
    if isinstance(value, str):
        value = _decoded(value) or value.splitlines()
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list | None):
        return value or []
    raise InvalidPlan(f"pointers is {fields.shown(value)}, not a list")


def _mapping(item: object) -> Mapping[str, Any]:
    if isinstance(item, dict):
        return item
    found = parse_pointer_line(item) if isinstance(item, str) else None
    if found is None:
        raise Unusable("not a pointer")
    return found


def _pointer(found: Mapping[str, Any]) -> Pointer:
    path, lines = fields.path(fields.text(found, "path", fields.MAX_PATH_CHARS))
    given = fields.line_range(found)
    start, end = given if given != (None, None) else lines
    since, rev = (_revision(found, name) for name in ("since", "rev"))
    command = fields.text(found, "command", Limits().max_command_bytes)
    kind = _type(found, has_lines=(start, end) != (None, None))
    _require(kind, path=path, since=since, rev=rev, command=command)
    in_file = kind in ("file_section", "git_show") and (start, end) != (None, None)
    return Pointer(
        type=kind,
        path=path if kind != "command" else None,
        line_start=(start or 1) if in_file else None,
        line_end=end if in_file else None,
        since=since if kind == "git_diff" else None,
        max_count=_max_count(found) if kind == "git_log" else None,
        rev=rev if kind == "git_show" else None,
        command=command if kind == "command" else None,
        priority=_priority(found.get("priority")),
        est_tokens=_estimate(found),
        reason=fields.prose(found.get("reason"), MAX_REASON_CHARS),
    )


def _type(found: Mapping[str, Any], has_lines: bool) -> PointerType:
    """The type as written, or as the other fields imply it; a whole file and a section of one tell themselves apart."""
    written = str(found.get("type") or found.get("kind") or _implied(found)).strip().lower().replace("-", "_")
    known = next((kind for kind in get_args(PointerType) if kind == written), _ALIASES.get(written))
    if known is None:
        raise Unusable(f"unknown type {fields.shown(written)}; known are {', '.join(get_args(PointerType))}")
    if known in ("file", "file_section"):
        return "file_section" if has_lines else "file"
    return known


def _implied(found: Mapping[str, Any]) -> PointerType:
    order: tuple[tuple[str, PointerType], ...] = (("command", "command"), ("since", "git_diff"), ("rev", "git_show"))
    return next((kind for name, kind in order if found.get(name)), "file")


_NEEDS: Mapping[PointerType, tuple[str, ...]] = {
    "file": ("path",),
    "file_section": ("path",),
    "git_diff": ("path", "since"),
    "git_show": ("path", "rev"),
    "git_log": (),
    "command": ("command",),
}


def _require(kind: PointerType, **values: str | None) -> None:
    missing = [name for name in _NEEDS[kind] if values[name] is None]
    if missing:
        raise Unusable(f"{kind} without {' and '.join(missing)}")


def _revision(found: Mapping[str, Any], name: str) -> str | None:
    rev = fields.text(found, name, MAX_REV_CHARS)
    if rev is not None and (rev.startswith("-") or not rev.isprintable()):
        raise Unusable(f"{name} is {fields.shown(rev)}, not a revision")
    return rev


def _max_count(found: Mapping[str, Any]) -> int | None:
    count = fields.number(found, "max_count")
    return None if count is None or count <= 0 else min(count, MAX_COMMITS)


def _estimate(found: Mapping[str, Any]) -> int | None:
    """`est_tokens` for the record; it is never believed, so a bad one costs nothing."""
    try:
        return fields.number(found, "est_tokens")
    except Unusable:
        return None


def _priority(value: object) -> Priority:
    return "must_include" if isinstance(value, str) and value.strip().lower() in _MUST else "if_budget_allows"


def _entities(value: object) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    names = (item.get("name") if isinstance(item, dict) else item for item in items[:MAX_ENTITIES])
    return tuple(dict.fromkeys(name for name in (fields.prose(each, MAX_ENTITY_CHARS) for each in names) if name))


def _shortened(value: object, depth: int = 3) -> Any:
    """A copy of `value` that is JSON whatever it held, and short enough to be sent back."""
    if isinstance(value, str):
        return fields.clean(value[:200])
    if isinstance(value, bool | None) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, dict) and depth:
        return {fields.clean(str(key)[:50]): _shortened(item, depth - 1) for key, item in list(value.items())[:16]}
    if isinstance(value, list) and depth:
        return [_shortened(item, depth - 1) for item in value[:8]]
    return fields.shown(value) if depth else "…"
