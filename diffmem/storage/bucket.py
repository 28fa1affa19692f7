"""What DiffMem asks of a bucket: named objects with generations, and writes that name the generation they replace.

Every backend keeps the same promises, and one contract suite checks them all:

- An object is read whole with the generation it has; what is read was written by one put.
- A generation is a positive number that grows with every put of a name, over a delete and a new creation too.
- A precondition is checked in the same step as the write it guards.
- A put that raises `GenerationMismatch`, `BucketBusy` or `StorageUnavailable` wrote nothing. After `OutcomeUnknown` it
  may have: read again. No backend repeats a write on its own.
- Reads are repeated under the deadline where the backend can be away for a moment; when time is up they raise
  `StorageUnavailable`, like every call that is given no time at all.

A name is relative to the bucket's prefix: segments of text separated by `/`, as `v1/6f1c/m` (see `check_name`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from diffmem.errors import StorageUnavailable
from diffmem.limits import Deadline

MAX_NAME_BYTES = 900


@dataclass(frozen=True, slots=True)
class Object:
    """An object's content, and the generation that had it."""

    data: bytes
    generation: int


@dataclass(frozen=True, slots=True)
class Listed:
    """An object as a listing names it; `size` in bytes. Both numbers are 0 where they are damaged themselves."""

    name: str
    generation: int
    size: int


@dataclass(frozen=True, slots=True)
class Retention:
    """Something by which the bucket keeps an object after its delete; `seconds` is None where no end is known."""

    kind: Literal["soft_delete", "versioning", "retention_policy"]
    detail: str
    seconds: int | None


class Bucket(Protocol):
    """A place for objects; safe between threads, between processes, and over a fork."""

    @property
    def url(self) -> str:
        """Where the objects are, as `DIFFMEM_STORE` writes it."""

    def get(self, name: str, deadline: Deadline) -> Object:
        """The object now.

        Raises:
            ObjectNotFound: there is none.
            CorruptObject: its bytes are not those that were written.
            StorageUnavailable: it could not be read in time.
        """

    def get_if_changed(self, name: str, generation: int, deadline: Deadline) -> Object | None:
        """The object now, or None where it still has this generation; raises as `get` does."""

    def put(self, name: str, data: bytes, deadline: Deadline, *, if_generation: int | None) -> int:
        """The generation that `data` has got as the new content of `name`.

        `if_generation` is the generation to replace, 0 where there must be none, None to replace whatever is there.

        Raises:
            GenerationMismatch: the precondition does not hold; nothing was written.
            BucketBusy: the bucket asks for patience; nothing was written.
            StorageUnavailable: nothing was written.
            OutcomeUnknown: it may or may not have been written.
        """

    def list(self, prefix: str, deadline: Deadline) -> Iterator[Listed]:
        """The objects whose names begin with `prefix` (any text), in the order of their names' UTF-8 bytes.

        Objects that come or go meanwhile may be in it or not. Raises StorageUnavailable, also between two objects.
        """

    def delete(self, name: str, deadline: Deadline, *, if_generation: int | None = None) -> None:
        """Remove the object, where `if_generation` is given only in that generation.

        Raises:
            ObjectNotFound: there is none; nothing else is raised then.
            GenerationMismatch, BucketBusy, StorageUnavailable: nothing was removed.
            OutcomeUnknown: it may or may not have been removed.
        """

    def retention(self, deadline: Deadline) -> tuple[Retention, ...]:
        """By what, if anything, the bucket keeps objects after their delete. Raises StorageUnavailable."""

    def preload(self) -> None:
        """Do what the first call would otherwise wait for (imports, a client), and ask the bucket nothing.

        Meant for a thread beside other work that a cold process has to do. Raises StorageUnavailable.
        """

    def close(self) -> None:
        """Let go of connections; a later call opens new ones."""


class Refused(StorageUnavailable):
    """The bucket will not do this, now or later: no permission, no credentials, no such bucket."""


def check_name(name: str) -> str:
    """`name`, where it is one that every backend can hold.

    Raises:
        ValueError: empty, longer than `MAX_NAME_BYTES` in UTF-8, with an empty, `.` or `..` segment, or unprintable.
    """
    if not name.isprintable() or len(name.encode()) > MAX_NAME_BYTES:
        raise ValueError(f"not an object name: {name!r}")
    if any(segment in ("", ".", "..") for segment in name.split("/")):
        raise ValueError(f"not an object name: {name!r}")
    return name
