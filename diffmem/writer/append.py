"""Chat messages as they come: appended to their conversation's open session, one durable commit a call.

The open session of a conversation is found in the files, not in the process: `state: open` and `conversation` in its
front matter. A silence longer than the gap closes it (`state: pending`), and the next message opens another.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from diffmem.limits import Deadline, Limits
from diffmem.memory import Message, Session, parse_head, parse_session, render_session, session_path, stem, stem_of
from diffmem.memory.editing import decoded, encoded
from diffmem.memory.messages import State, content_digest, storable
from diffmem.memory.names import short_hash, slug
from diffmem.memory.sessions import message_ids, numbered_messages, render_messages
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.writer.files import settings_of, trailers, with_state
from diffmem.writer.outcome import Appended, StorageUse
from diffmem.writer.pending import last_message_at

DEFAULT_CONVERSATION = "chat"

_RECENT = 50  # sessions of a conversation that are read for every message; older ones where one of them may be old
_MAX_SESSION_BYTES = Limits().max_file_bytes // 2
_MAX_PLAIN_CHARS = 30


def append_messages(
    repositories: Repositories,
    user: str,
    messages: Sequence[Message],
    deadline: Deadline,
    *,
    now: datetime,
    gap_seconds: int,
    conversation: str | None = None,
    timezone: str | None = None,
    source: str | None = None,
) -> Appended:
    """What became of `messages`, of which there is at least one: they are durable when this returns.

    A message that does not say when it was said is taken to be said `now`. One whose id the conversation has already is
    not added again; where that goes for all of them, the answer is a duplicate and nothing is written.

    Raises:
        StorageUnavailable: nothing was acknowledged; repeating is safe for messages with ids.
    """
    kept = [storable(message) for message in messages]
    arrival = _Arrival(kept, conversation or DEFAULT_CONVERSATION, now, timedelta(seconds=gap_seconds))
    arrival.timezone, arrival.source = timezone, source
    committed = repositories.commit(user, arrival.change, deadline, create=True)
    with committed.snapshot as snapshot:
        commit = committed.commit or _latest(snapshot, arrival.path)
        use = StorageUse(snapshot.requests, snapshot.bytes)
    return Appended(
        status="appended" if committed.commit else "duplicate",
        user=user,
        session_id=arrival.session_id,
        commit=commit,
        closed=tuple(arrival.closed),
        pending=tuple(arrival.pending),
        files=committed.files,
        storage=use,
    )


@dataclass(slots=True)
class _Open:
    """A session that is being appended to: its file, and the messages that are to go into it."""

    path: str
    data: bytes
    last_at: datetime
    new: list[Message] = field(default_factory=list)

    def add(self, message: Message, at: datetime) -> None:
        """Take `message`, said `at`."""
        self.new.append(replace(message, at=at))
        self.last_at = max(self.last_at, at)

    @property
    def size(self) -> int:
        """About how many bytes the file will have."""
        return len(self.data) + sum(len(message.content) for message in self.new)

    def grown(self, state: State) -> bytes:
        """The file with the new messages at its end, the others byte for byte what they are, in `state`."""
        text = decoded(self.data)
        last = max((item.n for item in numbered_messages(self.data)), default=0)
        gap = "" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        data = encoded(text + gap + render_messages(self.new, last + 1)) if self.new else self.data
        return with_state(data, state, content_digest(parse_session(data).messages, None))


@dataclass(slots=True)
class _Arrival:
    """Messages, and what the last head that was shown makes of them."""

    messages: Sequence[Message]
    conversation: str
    now: datetime
    gap: timedelta
    timezone: str | None = None
    source: str | None = None
    path: str = ""
    session_id: str = ""
    closed: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    _files: dict[str, bytes] = field(default_factory=dict)
    _stems: set[str] = field(default_factory=set)

    def change(self, snapshot: Snapshot) -> Change | None:
        """What to write at this head; None where every message is there already."""
        paths = self._paths(snapshot)
        recent = self._read(snapshot, paths[-_RECENT:])
        self.closed, self._files = [], {}
        self._stems = {found for path in snapshot.paths() if (found := stem_of(path))}
        zone = self.timezone or settings_of(snapshot).timezone
        current = self._open(recent)
        new = self._new(snapshot, recent, paths[:-_RECENT])
        for message in new:
            current = self._appended(message, current, zone)
        if current and current.new:
            self._files[current.path] = current.grown("open")
        heads = {path: parse_head(data) for path, data in {**recent, **self._files}.items()}
        self.pending = [head.session_id for head in heads.values() if head.state == "pending"]
        self.path = current.path if current else next(reversed(recent), "")
        if self.path:
            self.session_id = heads[self.path].session_id
        return self._written(len(new), current) if new and current else None

    def _paths(self, snapshot: Snapshot) -> list[str]:
        """Where the sessions of the conversation lie, oldest first."""
        name = re.compile(rf"{re.escape(self._prefix)}-\d{{4}}-\d\d-\d\d-[0-9a-f-]+")
        return [path for path in snapshot.paths() if name.fullmatch(stem_of(path) or "")]

    def _read(self, snapshot: Snapshot, paths: Sequence[str]) -> dict[str, bytes]:
        found = snapshot.read_all(paths)
        return {path: data for path, data in found.items() if parse_head(data).conversation == self.conversation}

    def _new(self, snapshot: Snapshot, recent: dict[str, bytes], older: Sequence[str]) -> list[Message]:
        """The messages that are not there yet. One that was said before the latest may be in any session."""
        new = _unknown(self.messages, recent.values())
        latest = last_message_at(recent[next(reversed(recent))]) if recent else self.now
        if any(message.id and message.at and message.at <= latest for message in new):
            for start in range(0, len(older), _RECENT):
                new = _unknown(new, self._read(snapshot, older[start : start + _RECENT]).values())
        return new

    def _open(self, recent: dict[str, bytes]) -> _Open | None:
        opened = [path for path, data in recent.items() if parse_head(data).state == "open"]
        return _Open(opened[-1], recent[opened[-1]], last_message_at(recent[opened[-1]])) if opened else None

    def _appended(self, message: Message, current: _Open | None, zone: str | None) -> _Open:
        """The session that takes `message`: the current one, or a new one where that is over or full."""
        at = message.at or self.now
        if current and (at - current.last_at > self.gap or current.size > _MAX_SESSION_BYTES):
            self._files[current.path] = current.grown("pending")
            self.closed.append(parse_head(current.data).session_id)
            current = None
        if current is None:
            current = self._begun(at, zone)
        current.add(message, at)
        return current

    def _begun(self, at: datetime, zone: str | None) -> _Open:
        name = f"{self._prefix}-{at:%Y-%m-%d-%H%M%S}"
        taken = (n for n in range(2, 1000) if stem(f"{name}-{n}") not in self._stems)
        session_id = f"{name}-{next(taken)}" if stem(name) in self._stems else name
        self._stems.add(stem(session_id))
        session = Session(
            session_id, at, timezone=zone, source=self.source, conversation=self.conversation, state="open"
        )
        return _Open(session_path(session), render_session(session), at)

    @property
    def _prefix(self) -> str:
        """How the ids of the conversation's sessions begin: its slug where that says all, else with a hash."""
        plain = slug(self.conversation)
        says_all = plain == self.conversation and len(plain) <= _MAX_PLAIN_CHARS
        return plain if says_all else f"{plain[:24].rstrip('-')}-{short_hash(self.conversation)}"

    def _written(self, count: int, current: _Open) -> Change:
        head = parse_head(self._files[current.path])
        return Change(
            files=dict(self._files),
            subject=f"Append {count} message{'' if count == 1 else 's'} to {head.session_id}",
            trailers=trailers(head, "archive"),
            occurred_at=current.last_at,
        )


def _unknown(messages: Sequence[Message], archives: Iterable[bytes]) -> list[Message]:
    """The messages whose ids no archive has, each id once; those without an id all."""
    known = set().union(*(message_ids(data) for data in archives)) if any(message.id for message in messages) else set()
    new: list[Message] = []
    for message in messages:
        if message.id is None or message.id not in known:
            new.append(message)
            known.add(message.id or "")
    return new


def _latest(snapshot: Snapshot, path: str) -> str:
    commits = snapshot.log(paths=[path], max_count=1)
    return commits[0].sha if commits else snapshot.head
