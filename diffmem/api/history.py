"""GET log, diff and blame: what memory learned, when, and from which session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.requests import BlameQuery, DiffQuery, LogQuery
from diffmem.errors import UnknownPath
from diffmem.git import BlamedLine, Commit
from diffmem.git.paths import unsafe_reason
from diffmem.memory import citations, message_lines, parse_head, stem_of
from diffmem.repository import Snapshot


@dataclass(frozen=True, slots=True)
class CommitRow:
    """One commit: when it happened, when it was recorded, and what it says of itself."""

    sha: str
    occurred_at: datetime
    recorded_at: datetime
    subject: str
    session_id: str | None
    writer: str | None
    trailers: Mapping[str, str]
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class Log:
    """Commits, newest first."""

    user: str
    head: str
    commits: Sequence[CommitRow]


@dataclass(frozen=True, slots=True)
class BlameRow:
    """One line (from 1) and where it came from; `message` is the message of the session that the line cites."""

    line: int
    text: str
    commit: str
    occurred_at: datetime
    recorded_at: datetime
    session_id: str | None
    session_path: str | None
    message: int | None


@dataclass(frozen=True, slots=True)
class Blame:
    """Every line of one file."""

    user: str
    head: str
    path: str
    lines: Sequence[BlameRow]


def get_log(app: Application, call: Call, user: str, query: LogQuery) -> Answer:
    """Commits, newest first: of the whole memory, or of those that touched `path` (a file or a folder)."""
    watch = call.watch
    _check_path(query.path)
    with app.repositories.open(user, call.deadline, as_of=query.as_of) as snapshot:
        commits = snapshot.log(
            paths=[query.path] if query.path else (), max_count=query.limit, since=query.since, until=query.until
        )
        answer = Log(user, snapshot.head, [_row(commit) for commit in commits])
    return Answer(200, answer, timings_ms=watch.milliseconds())


def get_diff(app: Application, call: Call, user: str, query: DiffQuery) -> Answer:
    """A unified diff from a commit or time to another; `to` is the head, and `from` the parent of `to`, by default."""
    watch = call.watch
    _check_path(query.path)
    with app.repositories.open(user, call.deadline, as_of=query.as_of) as snapshot:
        new = revision(snapshot, query.to or "HEAD")
        old = revision(snapshot, query.from_ or f"{new}~1")
        data = snapshot.diff(old, new, paths=[query.path] if query.path else ())
    return Answer(200, data, "text/x-diff; charset=utf-8", timings_ms=watch.milliseconds())


def get_blame(app: Application, call: Call, user: str, path: str, query: BlameQuery) -> Answer:
    """For each line of a file: the session and the message it came from, when it happened, when it was learned."""
    watch = call.watch
    with app.repositories.open(user, call.deadline, as_of=query.as_of) as snapshot:
        commits = {commit.sha: commit for commit in snapshot.log()}
        origins = _Origins(snapshot, path)
        rows = [_blame_row(line, commits[line.commit], origins) for line in snapshot.blame(path)]
        answer = Blame(user, snapshot.head, path, rows)
    return Answer(200, answer, timings_ms=watch.milliseconds())


def _check_path(path: str | None) -> None:
    reason = unsafe_reason(path.rstrip("/")) if path else None
    if reason:
        raise UnknownPath(f"no file {path!r}: it {reason}")


def revision(snapshot: Snapshot, text: str) -> str:
    """The sha of the commit that `text` names: a revision, or the newest commit recorded at a time (RFC 3339).

    Raises:
        UnknownCommit: there is none.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return snapshot.resolve(text)
    if moment.tzinfo is None:
        return snapshot.resolve(text)
    return snapshot.newest_at(moment)


class _Origins:
    """From a line of the file at `path` to the session and the message it came from."""

    def __init__(self, snapshot: Snapshot, path: str) -> None:
        self._snapshot = snapshot
        self._path = path
        self._sessions = {stem: other for other in snapshot.paths() if (stem := stem_of(other))}
        self._messages: dict[int, int] = {}
        self._ids: dict[str, str] = {}
        if stem_of(path):
            for number, start, end in message_lines(snapshot.read(path).decode("utf-8", "replace")):
                self._messages.update(dict.fromkeys(range(start, end + 1), number))

    def of(self, line: BlamedLine) -> tuple[str | None, int | None]:
        """The session's path and the message's number, as far as they are known."""
        if stem_of(self._path):
            return self._path, self._messages.get(line.line)
        cited = citations(line.text)
        return (self._sessions.get(cited[-1][0]), cited[-1][1]) if cited else (None, None)

    def session_id(self, path: str) -> str:
        """The id of the session archived at `path`."""
        if path not in self._ids:
            self._ids[path] = parse_head(self._snapshot.read(path)).session_id
        return self._ids[path]


def _blame_row(line: BlamedLine, commit: Commit, origins: _Origins) -> BlameRow:
    session_path, message = origins.of(line)
    session_id = origins.session_id(session_path) if session_path else commit.trailers.get("Session-Id")
    return BlameRow(
        line=line.line,
        text=line.text,
        commit=line.commit,
        occurred_at=commit.occurred_at,
        recorded_at=commit.recorded_at,
        session_id=session_id,
        session_path=session_path,
        message=message,
    )


def _row(commit: Commit) -> CommitRow:
    return CommitRow(
        sha=commit.sha,
        occurred_at=commit.occurred_at,
        recorded_at=commit.recorded_at,
        subject=commit.subject,
        session_id=commit.trailers.get("Session-Id"),
        writer=commit.trailers.get("Writer"),
        trailers=commit.trailers,
        paths=commit.paths,
    )
