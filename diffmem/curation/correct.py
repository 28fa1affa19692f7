"""A person's own edit of one file: a commit of its own that the writer respects from then on."""

import hashlib
from collections.abc import Callable
from datetime import datetime

from diffmem.errors import InvalidRequest, PreconditionFailed, TooLarge, UnsafePath
from diffmem.limits import Limits
from diffmem.memory import INDEX_PATH
from diffmem.memory.editing import decoded
from diffmem.memory.workspace import Workspace
from diffmem.repository import Change, Snapshot

PERSON = "person"


def etag(data: bytes) -> str:
    """The entity tag of a file: its git blob's id, quoted (RFC 9110, 8.8.3)."""
    blob = b"blob %d\0" % len(data) + data
    return f'"{hashlib.sha1(blob, usedforsecurity=False).hexdigest()}"'


def correction(
    path: str, data: bytes, *, if_match: str | None, if_none_match: str | None, now: datetime
) -> Callable[[Snapshot], Change | None]:
    """An edit that makes `data` the file at `path`, where the preconditions hold at the head it is shown.

    One of the two is needed: `if_match` lists entity tags, or is `*`; `if_none_match` is `*`.

    Raises:
        InvalidRequest: no precondition, or `data` is not UTF-8 text.
        TooLarge: more than a memory's file may have.
        UnsafePath: not a Markdown file, or one that code makes.
    """
    _check(path, data)
    if if_match is None and if_none_match is None:
        raise InvalidRequest("If-Match: send the file's ETag, or 'If-None-Match: *' for a file that is new")
    if if_none_match not in (None, "*"):
        raise InvalidRequest(f"If-None-Match: only '*' is understood, not {if_none_match[:80]!r}")

    def edit(snapshot: Snapshot) -> Change | None:
        current = snapshot.read(path) if path in snapshot.paths() else None
        _check_preconditions(path, current, if_match, if_none_match)
        if current == data:
            return None
        return change_of(snapshot, {path: data}, f"Edit {path}", now)

    return edit


def change_of(
    snapshot: Snapshot,
    files: dict[str, bytes | None],
    subject: str,
    now: datetime,
    *,
    body: str = "",
    writer: str = PERSON,
) -> Change:
    """The change that writes `files`, with the manifest that belongs to them."""
    workspace = Workspace.of(snapshot)
    for path, data in files.items():
        if path.startswith("sessions/"):
            continue
        if data is None:
            workspace.remove(path)
        else:
            workspace.put(path, decoded(data))
    written = {**files, **workspace.changes(f"{now:%Y-%m-%d}")}
    return Change(written, subject, body=body, trailers={"Writer": writer}, occurred_at=now)


def manifest_change(snapshot: Snapshot, now: datetime) -> Change | None:
    """The change that brings `index.md` up to date with the files that it lists; None where it is."""
    if INDEX_PATH not in snapshot.paths():
        return None
    workspace = Workspace.of(snapshot)
    index = workspace.index(f"{now:%Y-%m-%d}")
    if index == snapshot.read(INDEX_PATH):
        return None
    return Change({INDEX_PATH: index}, "Bring the manifest up to date", trailers={"Writer": "code"}, occurred_at=now)


def _check(path: str, data: bytes) -> None:
    if path == INDEX_PATH:
        raise UnsafePath(f"{path!r} is made by code; edit the front matter of the files that it lists")
    if not path.endswith(".md"):
        raise UnsafePath(f"{path!r} is not a Markdown file (.md)")
    if len(data) > Limits().max_file_bytes:
        raise TooLarge(f"{path!r} has {len(data)} bytes; a file may have {Limits().max_file_bytes}")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not UTF-8: {error.reason} at byte {error.start}") from error
    if "\0" in text:
        raise InvalidRequest("the body has a NUL character")


def _check_preconditions(path: str, current: bytes | None, if_match: str | None, if_none_match: str | None) -> None:
    if if_none_match is not None and current is not None:
        raise PreconditionFailed(f"{path!r} exists: its ETag is {etag(current)}")
    if if_match is None:
        return
    if current is None:
        raise PreconditionFailed(f"{path!r} does not exist")
    wanted = {tag.strip() for tag in if_match.split(",")}
    if "*" not in wanted and etag(current) not in wanted:
        raise PreconditionFailed(f"{path!r} has changed: its ETag is {etag(current)}, not {if_match[:80]}")
