"""Archived sessions: a conversation as one Markdown file, the ground truth that every fact cites.

    <!-- {"n":1,"id":"D1:1","role":"user","name":"Caroline","at":"2023-05-08T13:56:00+00:00"} -->
    **Caroline:** Hey Mel! Good to see you!

The content of a message stands there verbatim; a line of it that looks like a marker gets one leading backslash, which
reading removes. A `transcript`, text of any form, is the body of a file whose front matter says `format: transcript`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, get_args

from diffmem.memory import frontmatter
from diffmem.memory.messages import Message, Session, State, content_digest, new_session
from diffmem.memory.names import short_hash, slug

__all__ = [
    "Message",
    "Numbered",
    "Session",
    "State",
    "content_digest",
    "find_session",
    "message_ids",
    "message_lines",
    "new_session",
    "numbered_messages",
    "parse_head",
    "parse_session",
    "render_messages",
    "render_session",
    "session_path",
    "stem",
    "stem_of",
]

_STEM = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_HASHED = re.compile(r"-[0-9a-f]{8}\Z")
_PATH = re.compile(r"sessions/(?:.*/)?\d\d-([^/]+)\.md")
_MARKER = re.compile(r"^<!-- (\{.*\}) -->\r?$", re.MULTILINE)
_LOOK_ALIKE = re.compile(r"^(\\*<!-- \{)", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*<!-- \{)", re.MULTILINE)
_ANY_LABEL = re.compile(r"\*\*.{1,200}?:\*\*[ \t]?")


@dataclass(frozen=True, slots=True)
class Numbered:
    """A message of an archived file: its number, and the lines it takes (from 1, both ends included, marker first)."""

    n: int
    message: Message
    line_start: int
    line_end: int


def stem(session_id: str) -> str:
    """The name by which facts cite session `session_id`: the id itself where it is plain, else a slug of it and a hash.

    Different ids have different stems.
    """
    if _STEM.fullmatch(session_id) and not _HASHED.search(session_id):
        return session_id
    return f"{slug(session_id)[:50].rstrip('-')}-{short_hash(session_id)}"


def session_path(session: Session) -> str:
    """The path of the archived session: `sessions/YYYY/MM/DD-<stem>.md`, by the day it happened in its own zone."""
    day = session.local_time.date()
    return f"sessions/{day.year:04d}/{day.month:02d}/{day.day:02d}-{stem(session.session_id)}.md"


def stem_of(path: str) -> str | None:
    """The stem of the archived session at `path`; None where `path` is not one of an archived session."""
    match = _PATH.fullmatch(path)
    return match[1] if match else None


def find_session(paths: Iterable[str], session_stem: str) -> str | None:
    """The path among `paths` at which the session of that stem is archived, whatever its date."""
    ending = f"-{session_stem}.md"
    return next((path for path in paths if path.endswith(ending) and stem_of(path) == session_stem), None)


def render_session(session: Session) -> bytes:
    """The archived file of `session`; `parse_session` gives it back, its digest filled in."""
    head = {
        "session": session.session_id,
        "digest": session.digest or content_digest(session.messages, session.transcript),
        "occurred_at": session.occurred_at.isoformat(),
        "timezone": session.timezone,
        "source": session.source,
        "conversation": session.conversation,
        "metadata": dict(session.metadata),
        "instructions": session.instructions,
        "format": "transcript" if session.transcript is not None else None,
        "state": session.state,
    }
    body = render_messages(session.messages, 1) if session.transcript is None else session.transcript + "\n"
    return f"{frontmatter.write(head)}\n{body}".encode()


def render_messages(messages: Iterable[Message], first: int) -> str:
    """The blocks of `messages`, numbered from `first`: what is appended to an open session's file."""
    return "".join(_block(n, message) for n, message in enumerate(messages, first))


def _block(n: int, message: Message) -> str:
    marker = {
        "n": n,
        "id": message.id,
        "role": message.role,
        "name": message.name,
        "at": message.at.isoformat() if message.at else None,
    }
    known = {key: value for key, value in marker.items() if value is not None}
    dumped = json.dumps(known, ensure_ascii=False, separators=(",", ":")).replace("--", r"\u002d\u002d")
    text = _LOOK_ALIKE.sub(r"\\\1", f"**{message.label}:** {message.content}")
    return f"<!-- {dumped} -->\n{text}\n\n"


def parse_session(data: bytes) -> Session:
    """The session that an archived file holds; what a person's edits have made unreadable is left out, never an error.

    A file without front matter becomes a session named by nothing (`session_id` is empty) at the start of 1970.
    """
    text = _decoded(data)
    head, body = frontmatter.read(text)
    return replace(_described(head), **_content(head, body, text))


def _content(head: frontmatter.Fields, body: str, text: str) -> dict[str, Any]:
    if not _is_transcript(head, body):
        return {"messages": tuple(item.message for item in _numbered(text))}
    return {"transcript": body.removeprefix("\n").removesuffix("\n")}


def _is_transcript(head: frontmatter.Fields, body: str) -> bool:
    if frontmatter.text_field(head, "format") == "transcript":
        return True
    return bool(body.strip()) and _MARKER.search(body) is None


def parse_head(data: bytes) -> Session:
    """The session without its content: what the front matter of an archived file says of it, read quickly."""
    end = data.find(b"\n---", 3)
    head = data[: end + 5] if end >= 0 else data
    return _described(frontmatter.read(_decoded(head))[0])


def _described(head: frontmatter.Fields) -> Session:
    state = frontmatter.text_field(head, "state")
    return Session(
        session_id=str(head.get("session") or ""),
        occurred_at=_time(head.get("occurred_at")) or datetime(1970, 1, 1, tzinfo=UTC),
        timezone=frontmatter.text_field(head, "timezone"),
        source=frontmatter.text_field(head, "source"),
        conversation=frontmatter.text_field(head, "conversation"),
        metadata=frontmatter.mapping_field(head, "metadata"),
        instructions=frontmatter.text_field(head, "instructions"),
        state=next((known for known in get_args(State) if known == state), "pending"),
        digest=frontmatter.text_field(head, "digest") or "",
    )


def _time(text: Any) -> datetime | None:
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at


def numbered_messages(data: bytes) -> tuple[Numbered, ...]:
    """The messages of an archived file with the numbers that citations use, in file order; none of a transcript."""
    text = _decoded(data)
    head, body = frontmatter.read(text)
    return () if _is_transcript(head, body) else tuple(_numbered(text))


def message_ids(data: bytes) -> set[str]:
    """The ids of the messages of an archived file, read quickly."""
    known = (_marker(found[1]) or {} for found in _MARKER.finditer(_decoded(data)))
    return {marker["id"] for marker in known if isinstance(marker.get("id"), str)}


def message_lines(text: str) -> list[tuple[int, int, int]]:
    """`(n, line_start, line_end)` of each message of an archived file: lines from 1, both ends included, marker first.

    The blank line after a message is not counted. A transcript has none.
    """
    return [(item.n, item.line_start, item.line_end) for item in numbered_messages(text.encode("utf-8", "replace"))]


def _numbered(text: str) -> Iterator[Numbered]:
    place = frontmatter.locate(text)
    markers = [found for found in _MARKER.finditer(text, place.body if place else 0) if _marker(found[1]) is not None]
    ends = [*(marker.start() for marker in markers[1:]), len(text)]
    line, at = 1, 0
    for order, (marker, end) in enumerate(zip(markers, ends, strict=False), 1):
        line += text.count("\n", at, marker.start())
        at = marker.start()
        block = text[marker.end() : end].removeprefix("\n")
        block = block.removesuffix("\n\n") if block.endswith("\n\n") else block.removesuffix("\n")
        known = _marker(marker[1]) or {}
        n = known.get("n")
        yield Numbered(n if isinstance(n, int) else order, _message(known, block), line, line + 1 + block.count("\n"))


def _marker(dumped: str) -> dict[str, Any] | None:
    try:
        known = json.loads(dumped)
    except (ValueError, RecursionError):
        return None
    return known if isinstance(known, dict) else None


def _message(known: Mapping[str, Any], block: str) -> Message:
    text = {key: value for key in ("name", "id") if isinstance(value := known.get(key), str)}
    role = known.get("role")
    bare = Message(role if isinstance(role, str) else "user", "", at=_time(known.get("at")), **text)
    return replace(bare, content=_unlabelled(_ESCAPED.sub(r"\1", block), bare.label))


def _unlabelled(text: str, label: str) -> str:
    for prefix in (f"**{label}:** ", f"**{label}:**"):
        if text.startswith(prefix):
            return text.removeprefix(prefix)
    return _ANY_LABEL.sub("", text, count=1) if _ANY_LABEL.match(text) else text


def _decoded(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    # A whole file in CRLF went through another system's editor; CRLF inside a message is the message's own.
    return text.replace("\r\n", "\n") if re.match("\ufeff?---[ \t]*\r\n", text) else text
