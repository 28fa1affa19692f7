"""A commit made from contents, as a pack of its own: one process (fast-import), and a second that says what changed.

The commit's pack holds the new blobs, trees and the commit itself, and needs no other pack to be unpacked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from diffmem.git.packs import Pack, Scratch
from diffmem.git.process import run
from diffmem.limits import Deadline

NAME = "DiffMem"
EMAIL = "memory@diffmem.invalid"  # RFC 2606: no such host can ever exist

ChangeKind = Literal["added", "modified", "deleted", "renamed"]

_FARTHEST_ZONE = timedelta(hours=14)  # fast-import takes none beyond
_KINDS: Mapping[str, ChangeKind] = {"A": "added", "M": "modified", "T": "modified", "D": "deleted", "R": "renamed"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A commit to be made: `files` maps paths to contents, None deletes."""

    parent: str | None
    files: Mapping[str, bytes | None]
    message: str
    author: str
    occurred_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a commit did to one file, with the lines it added and deleted (0 for a binary file)."""

    path: str
    change: ChangeKind
    added: int
    deleted: int


def write_commit(scratch: Scratch, draft: Draft, deadline: Deadline) -> tuple[str, Pack]:
    """The sha of the commit that `draft` describes, and its pack."""
    stream = b"".join(_stream(draft))
    args = ["-c", "fastimport.unpackLimit=0", "-c", "core.logAllRefUpdates=false", "fast-import", "--quiet", "--done"]
    output = run(scratch.checkout, args, deadline, stdin=stream, extra=scratch.environment).output
    return output.decode().strip(), scratch.only_pack()


def _stream(draft: Draft) -> Iterator[bytes]:
    yield b"commit refs/heads/main\nmark :1\n"
    yield f"author {_who(draft.author)} {raw_date(draft.occurred_at)}\n".encode()
    yield f"committer {_who('DiffMem')} {raw_date(draft.recorded_at)}\n".encode()
    yield data(draft.message.encode())
    if draft.parent:
        yield f"from {draft.parent}\n".encode()
    for path, content in draft.files.items():
        yield f"D {quoted(path)}\n".encode() if content is None else f"M 100644 inline {quoted(path)}\n".encode()
        yield b"" if content is None else data(content)
    yield b"\nget-mark :1\ndone\n"


def data(content: bytes) -> bytes:
    """A fast-import `data` command."""
    return b"data %d\n%b\n" % (len(content), content)


def quoted(path: str) -> str:
    """A path as fast-import takes it, whatever it begins with."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def raw_date(moment: datetime) -> str:
    """A time as git stores it: in its own zone, or in UTC where git has no such zone; git knows none before 1970."""
    offset = moment.utcoffset()
    minutes = round(offset.total_seconds() / 60) if offset and abs(offset) <= _FARTHEST_ZONE else 0
    sign = "-" if minutes < 0 else "+"
    return f"{max(0, int(moment.timestamp()))} {sign}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"


def _who(name: str) -> str:
    visible = "".join(character for character in name if character.isprintable() and character not in "<>")
    return f"{' '.join(visible.split()) or NAME} <{EMAIL}>"


ROOT = Draft(
    parent=None,
    files={},
    message="Begin\n",
    author=NAME,
    occurred_at=datetime(2000, 1, 1, tzinfo=UTC),
    recorded_at=datetime(2000, 1, 1, tzinfo=UTC),
)
"""The commit that every memory begins with: always the same bytes, so that two first writers share history."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one commit to another, in the order of the paths.

    `blobs` has every path concerned, old names too, with the sha of its content, or None where there is no file any
    more.
    """

    changes: tuple[FileChange, ...]
    blobs: Mapping[str, str | None]


def difference(scratch: Scratch, old: str, new: str, deadline: Deadline) -> Difference:
    """What changed from `old` to `new`; renames are found by likeness."""
    args = ["diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", "--numstat", old, new]
    output = run(scratch.checkout, args, deadline, extra=scratch.environment).output
    tokens = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    kinds: dict[str, ChangeKind] = {}
    blobs: dict[str, str | None] = {}
    changes: list[FileChange] = []
    for token in tokens:
        if token.startswith(":"):
            *_, sha, status = token.split(" ")
            path = next(tokens)
            if status[0] == "R":
                blobs[path], path = None, next(tokens)
            kinds[path], blobs[path] = _KINDS[status[0]], sha if sha.strip("0") else None
        elif token:
            added, deleted, path = token.split("\t", 2)
            if not path:
                next(tokens)  # a renamed file: the old path, then the new one
                path = next(tokens)
            changes.append(FileChange(path, kinds[path], _lines(added), _lines(deleted)))
    return Difference(tuple(changes), blobs)


def _lines(count: str) -> int:
    return 0 if count == "-" else int(count)
