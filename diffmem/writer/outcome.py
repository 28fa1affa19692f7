"""What came of a write, as the routes answer it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from diffmem.model import Usage
from diffmem.repository import FileChange

Mode = Literal["distill", "archive"]
Status = Literal["committed", "duplicate", "amended"]


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Requests to the bucket, and bytes moved."""

    requests: int = 0
    bytes: int = 0

    def __add__(self, other: "StorageUse") -> "StorageUse":
        return StorageUse(self.requests + other.requests, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A session that is durable. `pending`: its transcript can be searched, and is yet to be distilled.

    `commit` is the one that distilled it, else the one that archived it. `also_distilled` names sessions that had been
    pending and whose turn came within this call.
    """

    status: Status
    user: str
    session_id: str
    commit: str
    files: tuple[FileChange, ...] = ()
    summary: str = ""
    writer: Literal["agent", "archive"] = "archive"
    pending: bool = False
    usage: Usage = field(default_factory=Usage)
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    storage: StorageUse = field(default_factory=StorageUse)
    warnings: tuple[str, ...] = ()
    also_distilled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """Messages that are durable in an open session; `pending` lists the conversation's sessions to be distilled."""

    status: Literal["appended", "duplicate"]
    user: str
    session_id: str
    commit: str
    closed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    files: tuple[FileChange, ...] = ()
    storage: StorageUse = field(default_factory=StorageUse)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Distilled:
    """Sessions that were distilled now, by id, and those that still wait; `commit` is the last one made."""

    user: str
    distilled: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    commit: str | None = None
    usage: Usage = field(default_factory=Usage)
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    storage: StorageUse = field(default_factory=StorageUse)
    warnings: tuple[str, ...] = ()
