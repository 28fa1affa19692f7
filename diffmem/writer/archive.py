"""The first half of a write: the transcript, durable before any model is asked.

A session is found by its stem. The same content again is a duplicate; other content takes the place of the old, and the
facts that only the old one taught go with it, so that distilling the new one doubles nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from diffmem.limits import Deadline
from diffmem.memory import Session, find_session, parse_head, render_session, session_path, stem
from diffmem.memory.entities import is_entity_path
from diffmem.memory.markdown import drop_citations, is_bare
from diffmem.memory.messages import State
from diffmem.memory.timeline import is_timeline_path
from diffmem.memory.workspace import Workspace
from diffmem.repository import Change, FileChange, Repositories, Snapshot
from diffmem.writer.apply import tidy
from diffmem.writer.files import settings_of, trailers, with_state
from diffmem.writer.outcome import Mode, Status, StorageUse


@dataclass(frozen=True, slots=True)
class Archived:
    """A session in the archive: what its arrival was, where it lies, and the commit that brought it there."""

    status: Status
    path: str
    state: State
    commit: str
    files: tuple[FileChange, ...]
    storage: StorageUse


def archive(repositories: Repositories, user: str, session: Session, mode: Mode, deadline: Deadline) -> Archived:
    """Make `session` durable, and begin the user's memory where there is none.

    Raises:
        StorageUnavailable: the bucket cannot be reached in time; nothing was acknowledged.
    """
    arrival = _Arrival(session, mode)
    committed = repositories.commit(user, arrival.change, deadline, create=True)
    with committed.snapshot as snapshot:
        commit = committed.commit or _origin(snapshot, arrival.path, session.digest)
        use = StorageUse(snapshot.requests, snapshot.bytes)
    return Archived(arrival.status, arrival.path, arrival.state, commit, committed.files, use)


class _Arrival:
    """A session and what the last head that was shown makes of it."""

    def __init__(self, session: Session, mode: Mode) -> None:
        self._session = session
        self._mode = mode
        self.status: Status = "committed"
        self.path = session_path(session)
        self.state: State = "archived" if mode == "archive" else "pending"

    def change(self, snapshot: Snapshot) -> Change | None:
        """What to write at this head; None for a duplicate."""
        zone = self._session.timezone or settings_of(snapshot).timezone
        session = replace(self._session, timezone=zone, state="archived" if self._mode == "archive" else "pending")
        old_path = find_session(snapshot.paths(), stem(session.session_id))
        if old_path is None:
            self.status, self.path, self.state = "committed", session_path(session), session.state
            return _change(session, {self.path: render_session(session)}, "Archive")
        data = snapshot.read(old_path)
        old = parse_head(data)
        if old.digest != session.digest:
            self.status, self.path, self.state = "amended", session_path(session), session.state
            return _change(session, self._amended(snapshot, session, old_path), "Amend")
        return self._duplicate(session, old_path, data, old.state)

    def _duplicate(self, session: Session, path: str, data: bytes, state: State) -> Change | None:
        self.status, self.path, self.state = "duplicate", path, state
        if self._mode == "archive" or state not in ("archived", "open"):
            return None
        self.state = "pending"
        return _change(session, {path: with_state(data, "pending")}, "Queue")

    def _amended(self, snapshot: Snapshot, session: Session, old_path: str) -> Mapping[str, bytes | None]:
        workspace = Workspace.of(snapshot)
        drop_session(workspace, stem(session.session_id))
        changes = workspace.changes(session.local_time.date().isoformat())
        return {**changes, old_path: None, self.path: render_session(session)}


def drop_session(workspace: Workspace, session_stem: str) -> None:
    """Take out of `workspace` what only that session taught: facts, events, and entities of which nothing is left."""
    for path in workspace.paths:
        text = workspace.text(path)
        if f"^[{session_stem}" not in text:
            continue
        workspace.put(path, drop_citations(text, session_stem))
        if is_timeline_path(path):
            tidy(workspace, path)
        elif is_entity_path(path) and is_bare(workspace.text(path)):
            workspace.remove(path)


def _change(session: Session, files: Mapping[str, bytes | None], verb: str) -> Change:
    return Change(
        files=files,
        subject=f"{verb} session {session.session_id}",
        trailers=trailers(session, "archive"),
        occurred_at=session.occurred_at,
    )


def _origin(snapshot: Snapshot, path: str, digest: str) -> str:
    """The commit that a duplicate was first answered with: the latest about this content."""
    commits = snapshot.log(paths=[path])
    about = (commit.sha for commit in commits if commit.trailers.get("Session-Digest") == digest)
    return next(about, commits[0].sha if commits else snapshot.head)
