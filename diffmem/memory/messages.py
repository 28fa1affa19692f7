"""What a session is: messages or a transcript, when it happened, and the digest of what was said."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
