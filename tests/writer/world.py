"""One user's memory on a bucket on disk, and the writer over it, for tests of the writer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from diffmem.claims import Claims
from diffmem.limits import Deadline
from diffmem.memory import Message, Session, new_session
from diffmem.model import ChatModel
from diffmem.repository import Change, Repositories
from diffmem.shell import Tool
from diffmem.storage import LocalBucket
from diffmem.writer import Appended, Distilled, Mode, Remembered, append_messages, distill, remember

USER = "alex"
AT = datetime(2026, 3, 5, 19, 30, tzinfo=UTC)  # a Thursday
SECONDS = 60.0
GAP_SECONDS = 1800

SAID = (
    Message("user", "Maya started at Acme yesterday, as a nurse. She’s happy.", "Alex", AT),
    Message("assistant", "Congratulations to her! And you?"),
    Message("user", "I'm vegetarian now. Dinner with Ida next Friday."),
)

CREATE = {"op": "create", "entity": "Maya", "kind": "people", "aliases": ["my wife"], "cues": ["marriage"]}
NURSE = {
    "op": "add",
    "entity": "Maya",
    "section": "Work",
    "fact": "Works at Acme as a nurse.",
    "quote": "Maya started at Acme yesterday, as a nurse",
}
BEGAN = {
    "op": "event",
    "date": "2026-03-04",
    "fact": "Maya began to work at Acme.",
    "quote": "started at Acme yesterday",
}
DIET = {"op": "add", "entity": "profile", "section": "Food", "fact": "Is vegetarian.", "quote": "I'm vegetarian now"}

MAYA = "memories/people/maya.md"


def session(session_id: str = "dinner", messages: Sequence[Message] = SAID, **known: Any) -> Session:
    """A session of two people, as a request would bring it."""
    return new_session(now=AT, session_id=session_id, messages=messages, **known)


def message(content: str, minutes: float = 0, **known: Any) -> Message:
    """A message that was said some minutes after the evening began."""
    return Message("user", content, at=AT + timedelta(minutes=minutes), **known)


@dataclass(slots=True)
class World:
    """What tests write to and read from; a second `World` on the same folder is another instance."""

    folder: Path
    cache: str = "cache"
    claims: Claims | None = None
    tool: Tool | None = None
    repositories: Repositories = field(init=False)

    def __post_init__(self) -> None:
        bucket = LocalBucket(self.folder / "bucket")
        self.repositories = Repositories(bucket, self.folder / self.cache, cache_max_bytes=1 << 30, id_secret=None)

    def remember(
        self,
        model: ChatModel | None,
        remembered: Session | None = None,
        *,
        mode: Mode = "distill",
        seconds: float = SECONDS,
    ) -> Remembered:
        """POST sessions."""
        asked = remembered or session()
        return remember(
            self.repositories, self.tool, model, USER, asked, Deadline(seconds), mode=mode, claims=self.claims
        )

    def append(self, *messages: Message, conversation: str | None = None, now: datetime = AT) -> Appended:
        """POST messages."""
        return append_messages(
            self.repositories,
            USER,
            messages,
            Deadline(SECONDS),
            now=now,
            gap_seconds=GAP_SECONDS,
            conversation=conversation,
        )

    def distill(
        self, model: ChatModel | None, session_id: str | None = None, *, close: bool = False, now: datetime = AT
    ) -> Distilled:
        """POST distill."""
        return distill(
            self.repositories,
            self.tool,
            model,
            USER,
            Deadline(SECONDS),
            now=now,
            gap_seconds=GAP_SECONDS,
            session_id=session_id,
            close=close,
        )

    def write(self, files: Mapping[str, str | None]) -> None:
        """A person's own commit."""
        change = Change({path: text.encode() if text is not None else None for path, text in files.items()}, "By hand")
        self.repositories.commit(USER, lambda _: change, Deadline(SECONDS), create=True).snapshot.close()

    def files(self) -> dict[str, str]:
        """Every file at the head."""
        with self.repositories.open(USER, Deadline(SECONDS)) as snapshot:
            return {path: data.decode() for path, data in snapshot.read_all(snapshot.paths()).items()}

    def log(self) -> list[Any]:
        """The commits, newest first."""
        with self.repositories.open(USER, Deadline(SECONDS)) as snapshot:
            return list(snapshot.log())


def facts(text: str) -> list[str]:
    """The facts of a file, bullets left out."""
    return [line[2:] for line in text.split("\n") if line.startswith("- ")]
