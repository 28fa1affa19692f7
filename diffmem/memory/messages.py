"""What a session is: messages or a transcript, when it happened, and the digest of what was said."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal
from zoneinfo import ZoneInfo

State = Literal["pending", "distilled", "archived", "open"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `at` is aware."""

    role: str
    content: str
    name: str | None = None
    at: datetime | None = None
    id: str | None = None

    @property
    def label(self) -> str:
        """Who speaks, as it stands before the content: the name or else the role, on one line."""
        return " ".join((self.name or "").split()) or " ".join(self.role.split()) or "message"


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation, as messages or as a transcript (one of the two), and what is known of it.

    `digest` names the content it was remembered with (`content_digest`), also after a person has edited the file.
    """

    session_id: str
    occurred_at: datetime
    messages: tuple[Message, ...] = ()
    transcript: str | None = None
    timezone: str | None = None
    source: str | None = None
    conversation: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    instructions: str | None = None
    state: State = "pending"
    digest: str = ""

    @property
    def local_time(self) -> datetime:
        """`occurred_at` in the session's own zone: `timezone` where it names one, else the offset it came with."""
        zone = zone_of(self.timezone)
        return self.occurred_at if zone is None else self.occurred_at.astimezone(zone)


def zone_of(name: str | None) -> tzinfo | None:
    """The IANA zone `name`; None where there is no such zone."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, LookupError):
        return None


def content_digest(messages: Sequence[Message], transcript: str | None) -> str:
    """SHA-256, in hex, of what was said: by whom, in which order, and when, where the messages say so."""
    content: Any = transcript if transcript is not None else [_canonical(message) for message in messages]
    return hashlib.sha256(json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(message: Message) -> list[str | None]:
    at = message.at.astimezone(UTC).isoformat() if message.at else None
    return [message.role, message.name, message.content, at, message.id]


def new_session(
    *,
    now: datetime,
    session_id: str | None = None,
    messages: Sequence[Message] = (),
    transcript: str | None = None,
    occurred_at: datetime | None = None,
    timezone: str | None = None,
    source: str | None = None,
    conversation: str | None = None,
    metadata: Mapping[str, str] | None = None,
    instructions: str | None = None,
) -> Session:
    """A session as it was sent, with what was left out filled in and text that cannot be stored made storable.

    It happened when its last message did, else `now`. Without an id it is named by its content, and by `occurred_at`
    where that was given, so that sending it again is the same session.
    """
    kept = tuple(storable(message) for message in messages)
    text = _clean(transcript) if transcript is not None else None
    digest = content_digest(kept, text)
    times = [message.at for message in kept if message.at]
    named_by = digest if occurred_at is None else f"{digest} {occurred_at.astimezone(UTC).isoformat()}"
    return Session(
        session_id=_clean(session_id) if session_id else f"s-{hashlib.sha256(named_by.encode()).hexdigest()[:16]}",
        occurred_at=occurred_at or (times[-1] if times else now),
        messages=kept,
        transcript=text,
        timezone=timezone,
        source=source,
        conversation=conversation,
        metadata=dict(metadata or {}),
        instructions=instructions,
        digest=digest,
    )


def storable(message: Message) -> Message:
    """`message` with what UTF-8 cannot hold, or a file of text must not, replaced."""
    name, known_as = (_clean(text) if text else None for text in (message.name, message.id))
    return replace(message, role=_clean(message.role), content=_clean(message.content), name=name, id=known_as)


def _clean(text: str) -> str:
    """`text` with halves of characters joined or replaced: JSON can name them, UTF-8 cannot hold them. NUL goes too."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
