"""What the resolver gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from diffmem.plan import PointerType, Priority, Rejected


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of the context. `content` stands in the context as it is here.

    `lines` are those of the file that the block shows, from 1, ends included; None where it shows no lines of a file.
    `commit` last touched `path` (for `git_show`: is the revision shown), and `occurred_at` is that commit's.
    `truncated`: room was found for a part only.
    """

    type: PointerType
    path: str | None
    lines: tuple[int, int] | None
    commit: str | None
    occurred_at: datetime | None
    priority: Priority
    reason: str
    tokens: int
    truncated: bool
    content: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """The context, what it is made of, and what could not be used of the plan."""

    text: str
    blocks: Sequence[Block]
    tokens: int
    rejected: Sequence[Rejected]
    warnings: Sequence[str]
