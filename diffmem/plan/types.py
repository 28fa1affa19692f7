"""The types of a plan: pointers into memory, what was rejected of them, and what a model said about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

PointerType = Literal["file", "file_section", "git_diff", "git_log", "git_show", "command"]
Priority = Literal["must_include", "if_budget_allows"]


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a piece of context lies; which fields are set depends on `type` (see `schema`).

    Lines count from 1, ends included; a `line_end` of None is the file's end. A `path` of None is the whole repository,
    which `git_log` alone may name. `since` and `rev` are revisions as they were written, or a day (`2024-03-05`).
    """

    type: PointerType
    path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    since: str | None = None
    max_count: int | None = None
    rev: str | None = None
    command: str | None = None
    priority: Priority = "if_budget_allows"
    est_tokens: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A pointer that cannot be used, as it was received (long values shortened), and why, for a person to read."""

    pointer: Any
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Pointers in order of importance within their priority, and what a model said about them."""

    pointers: Sequence[Pointer]
    synthesis: str = ""
    entities: Sequence[str] = ()
    rejected: Sequence[Rejected] = ()
