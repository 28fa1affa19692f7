"""Distil what waits: for a scheduler, a task queue, or a person who closes a conversation."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from diffmem.claims import Claims
from diffmem.errors import UnknownPath
from diffmem.limits import Deadline
from diffmem.memory import Session, find_session, stem
from diffmem.memory.messages import State
from diffmem.model import ChatModel
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.shell import Tool
from diffmem.writer.distilling import distil_session
from diffmem.writer.files import trailers, with_state
from diffmem.writer.outcome import Distilled, StorageUse
from diffmem.writer.pending import last_message_at, sessions_in

_MIN_SECONDS = 1.0
_MAX_REFUSED = 3  # in a row


def distill(
    repositories: Repositories,
    tool: Tool | None,
    model: ChatModel | None,
    user: str,
    deadline: Deadline,
    *,
    now: datetime,
    gap_seconds: int,
    session_id: str | None = None,
    close: bool = False,
    claims: Claims | None = None,
) -> Distilled:
    """Close what is over and distil what is pending, the oldest first, while time remains; one session, or all.

    Open sessions are over where their last message is further away than the gap, and all of them where `close`. A
    session that was only archived is distilled where it is named. It ends where the provider is away or time is out.

    A session that is refused (by a content filter, or in answers that cannot be read) stays pending and is asked about
    again by the next call, but keeps none waiting: the next one follows. Where two in a row are refused, the third is
    any of the later ones, so that no number of them starves the rest; and where that is refused too, it ends.

    Raises:
        UnknownUser: there is no such memory.
        UnknownPath: there is no such session.
    """
    claims = claims or Claims()
    started = deadline.remaining()
    closing = _Closing(session_id, close, now - timedelta(seconds=gap_seconds))
    committed = repositories.commit(user, closing.change, deadline)
    with committed.snapshot as snapshot:
        done = Distilled(user, commit=committed.commit, storage=StorageUse(snapshot.requests, snapshot.bytes))
    waiting = dict(closing.waiting)
    turns, refused = list(closing.waiting.items()), 0
    while turns and refused < _MAX_REFUSED:
        if model is None or deadline.remaining() < _MIN_SECONDS:
            break
        path, head = turns.pop(0)
        with claims.claim(user, stem(head.session_id)) as is_ours:
            if not is_ours:
                continue
            found = distil_session(repositories, tool, model, user, path, deadline)
        done = replace(
            done,
            distilled=(*done.distilled, *([head.session_id] if found.commit else ())),
            commit=found.commit or done.commit,
            usage=done.usage + found.usage,
            storage=done.storage + found.storage,
            warnings=(*done.warnings, *found.warnings),
        )
        if found.is_done:
            del waiting[path]
        elif not found.is_refused:
            break
        refused = 0 if found.is_done else refused + 1
        if refused == _MAX_REFUSED - 1 and turns:
            del turns[: secrets.randbelow(len(turns))]
    spent = round(1000 * (started - deadline.remaining()))
    return replace(done, pending=tuple(head.session_id for head in waiting.values()), timings_ms={"distill": spent})


@dataclass(slots=True)
class _Closing:
    """Which open sessions are over, and what waits to be distilled then, at the last head that was shown."""

    session_id: str | None
    close: bool
    silent_since: datetime
    waiting: Mapping[str, Session] = field(default_factory=dict)

    def change(self, snapshot: Snapshot) -> Change | None:
        """The states to be written; None where no session changes its own."""
        states: list[State] = ["pending", "open", "archived"] if self.session_id else ["pending", "open"]
        found = sessions_in(snapshot, states, self._paths(snapshot))
        contents = snapshot.read_all(path for path, head in found.items() if head.state != "pending")
        over = {path: data for path, data in contents.items() if self._is_over(found[path], data)}
        self.waiting = {path: head for path, head in found.items() if head.state == "pending" or path in over}
        if not over:
            return None
        last = found[next(reversed(over))]
        return Change(
            files={path: with_state(data, "pending") for path, data in over.items()},
            subject=f"Close {len(over)} session{'' if len(over) == 1 else 's'}",
            trailers=trailers(last, "archive") if len(over) == 1 else {"Writer": "archive"},
            occurred_at=last.occurred_at,
        )

    def _paths(self, snapshot: Snapshot) -> list[str] | None:
        if self.session_id is None:
            return None
        path = find_session(snapshot.paths(), stem(self.session_id))
        if path is None:
            raise UnknownPath(f"no session {self.session_id!r}")
        return [path]

    def _is_over(self, head: Session, data: bytes) -> bool:
        return self.close or head.state == "archived" or last_message_at(data) < self.silent_since
