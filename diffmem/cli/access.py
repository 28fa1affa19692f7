"""Where a command finds its memory: one interface, whether it is a store or a server that answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self
from urllib.parse import quote

SECONDS = 3600.0


class Failed(Exception):
    """What a command could not do, in one line. `status` and `slug` are the contract's, where it was an answer."""

    def __init__(self, message: str, *, status: int = 0, slug: str = "", retry_after_seconds: float = 0.0) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status
        self.slug = slug
        self.retry_after_seconds = retry_after_seconds


class Misused(Exception):
    """A command line that means nothing: exit code 2."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer: decoded JSON, or else an open file, which the caller closes."""

    status: int
    data: Any
    file: BinaryIO


class Access(Protocol):
    """A memory's routes; a context manager."""

    where: str

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        file: BinaryIO | None = None,
    ) -> Reply:
        """The answer to a request of the contract, with `body` as JSON or the rest of `file` as it is.

        Raises:
            Failed: the answer was a problem, or there was none.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """What the command line says of where the memory is; `environment` is the process's."""

    user: str
    url: str | None
    key_file: Path | None
    store: str | None
    environment: Mapping[str, str]

    def open(self) -> Access:
        """The memory's routes.

        Raises:
            Failed: the configuration, or the key's file, cannot be used.
        """
        if self.url:
            from diffmem.cli.remote import Remote

            return Remote(self.url, self._key())
        from diffmem.cli.direct import Direct

        return Direct(self.configured())

    def configured(self) -> Mapping[str, str]:
        """The environment, with the store that the command line names."""
        return {**self.environment, "DIFFMEM_STORE": self.store} if self.store else self.environment

    def path(self, tail: str = "") -> str:
        """The address of the user's memory, or of what `tail` names in it."""
        return f"/v1/users/{quote(self.user, safe='')}{'/' + tail if tail else ''}"

    def _key(self) -> str | None:
        if self.key_file is None:
            return self.environment.get("DIFFMEM_KEY") or None
        try:
            return self.key_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise Failed(f"the key's file {str(self.key_file)!r} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Failed(f"the key's file {str(self.key_file)!r} holds no key: it is no text") from error


def file_path(path: str) -> str:
    """A path within a memory as an address has it."""
    return quote(path, safe="/")


def given(**values: object) -> dict[str, str]:
    """The parameters that were given, as text; `from_` is `from`, which Python keeps for itself."""
    return {name.rstrip("_"): str(value) for name, value in values.items() if value is not None}
