"""What an edit wants written, checked and put into a commit's words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from diffmem.errors import UnsafePath
from diffmem.git.paths import unsafe_reason
from diffmem.git.writing import NAME, Draft

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,39}")
_MAX_SUBJECT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Change:
    """One commit to be made on the snapshot that the edit was shown.

    `files` maps paths to contents; None deletes, and deleting what is not there does nothing. `trailers` end the
    message (`Session-Id`, `Writer`, ...; `Tx` is added by the commit). `occurred_at` is the author date, now where it
    is None.
    """

    files: Mapping[str, bytes | None]
    subject: str
    body: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict)
    occurred_at: datetime | None = None
    author: str = NAME


def draft(change: Change, parent: str, tx: str, now: datetime) -> Draft:
    """The commit that `change` asks for on `parent`.

    Raises:
        UnsafePath: a path that a memory must not hold, or that is also a folder of another.
    """
    check_paths(change.files)
    return Draft(
        parent=parent,
        files=change.files,
        message=_message(change, tx),
        author=change.author,
        occurred_at=change.occurred_at or now,
        recorded_at=now,
    )


def check_paths(files: Mapping[str, bytes | None]) -> None:
    """Raise `UnsafePath` where a file of `files` must not exist, or two of them cannot exist together."""
    for path in files:
        reason = unsafe_reason(path)
        if reason:
            raise UnsafePath(f"{path!r} {reason}")
    written = {path for path, content in files.items() if content is not None}
    for path in written:
        folder = path
        while folder := folder.rpartition("/")[0]:
            if folder in written:
                raise UnsafePath(f"{folder!r} cannot be a file and the folder of {path!r}")


def _message(change: Change, tx: str) -> str:
    """Subject, body and trailers; only the last paragraph holds trailers, so that no body can forge one."""
    trailers = {**change.trailers, "Tx": tx}
    lines = [f"{key}: {_one_line(value)}" for key, value in trailers.items() if _KEY.fullmatch(key)]
    parts = (_one_line(change.subject)[:_MAX_SUBJECT_CHARS] or "Change", _text(change.body), "\n".join(lines))
    return "\n\n".join(part for part in parts if part) + "\n"


def _one_line(text: str) -> str:
    return " ".join(_text(text).split())


def _text(text: str) -> str:
    visible = "".join(char if char in "\n\t" or char.isprintable() else " " for char in text)
    return visible.encode("utf-8", "replace").decode().strip()
