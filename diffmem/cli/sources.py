"""Conversations in files: text, bodies of POST sessions, and what ChatGPT and Claude export.

A source gives items: a body of POST sessions with a name to show, or, in its place, the reason why there is none.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from diffmem.cli import exports
from diffmem.cli.access import Misused
from diffmem.limits import Limits

_SUFFIXES = (".md", ".txt", ".json", ".jsonl")
_LIMITS = Limits()
_MAX_SESSION_CHARS = 2_000_000


@dataclass(frozen=True, slots=True)
class Item:
    """A session to be remembered, or why it is not (`skipped`)."""

    name: str
    body: Mapping[str, Any]
    skipped: str = ""

    @property
    def occurred_at(self) -> str:
        """When it happened, as far as the file says so; times compare as text where they are all UTC."""
        messages = self.body.get("messages")
        listed = messages if isinstance(messages, list) else []
        times = [message.get("at") for message in listed if isinstance(message, dict)]
        known = self.body.get("occurred_at") or next((time for time in reversed(times) if time), "")
        return _utc(str(known))


def read(paths: Sequence[Path]) -> list[Item]:
    """Every session in these files and folders, the earliest first; what has no time comes last, in its order.

    Raises:
        Misused: a path that is neither a file nor a folder, before anything was read.
    """
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise Misused(f"no file {str(missing[0])!r}")
    items = [item for path in paths for file in _files(path) for item in _read(file)]
    return sorted(items, key=lambda item: item.occurred_at or "~")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())


def _read(path: Path) -> Iterator[Item]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        yield Item(str(path), {}, f"cannot be read: {error.strerror}")
        return
    except UnicodeDecodeError:
        yield Item(str(path), {}, "not UTF-8 text")
        return
    if path.suffix not in (".json", ".jsonl"):
        yield _transcript(path, text)
        return
    try:
        found = _lines(text) if path.suffix == ".jsonl" else json.loads(text)
    except (ValueError, RecursionError):
        yield Item(str(path), {}, "not JSON")
        return
    yield from _documents(path, found)


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _transcript(path: Path, text: str) -> Item:
    """A text as one session, known by its path: a text that has grown replaces what was remembered of it."""
    if not text.strip():
        return Item(str(path), {}, "empty")
    if len(text) > _LIMITS.max_transcript_chars:
        return Item(str(path), {}, f"longer than {_LIMITS.max_transcript_chars} characters: split it")
    known_by = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:9]
    name = re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-")[:40] or "file"
    changed = datetime.fromtimestamp(int(path.stat().st_mtime)).astimezone()
    body = {
        "session_id": f"{name}-{known_by}",
        "transcript": text,
        "occurred_at": changed.isoformat(),
        "source": "file",
    }
    return Item(str(path), body)


def _documents(path: Path, found: Any) -> Iterator[Item]:
    documents = found if isinstance(found, list) else [found]
    if documents and all(isinstance(entry, dict) and {"role", "content"} <= entry.keys() for entry in documents):
        documents = [{"messages": documents}]
    if not documents:
        yield Item(str(path), {}, "no conversations in it")
    for number, document in enumerate(documents, 1):
        name = str(path) if len(documents) == 1 else f"{path}#{number}"
        for item in _document(name, document):
            yield from _parts(item)


def _document(name: str, document: Any) -> Iterator[Item]:
    if not isinstance(document, dict):
        yield Item(name, {}, "not a conversation of a form that is known")
    elif "mapping" in document or "chat_messages" in document:
        conversation = exports.conversation(document)
        shown = f"{name} {conversation.title!r}" if conversation.title else name
        if conversation.messages:
            yield Item(shown, conversation.body())
        else:
            yield Item(shown, {}, "no messages in it")
    elif document.get("messages") or document.get("transcript"):
        yield Item(name, document)
    else:
        yield Item(name, {}, "no 'messages' and no 'transcript'")


def _parts(item: Item) -> Iterator[Item]:
    """The item, or the parts of a conversation that is too long for one session."""
    messages = item.body.get("messages")
    if not isinstance(messages, list) or not item.body.get("session_id"):
        yield item
        return
    parts = list(_cut(messages))
    for number, part in enumerate(parts, 1):
        if len(parts) == 1:
            yield replace(item, body={**item.body, "messages": part})
            return
        body = {**item.body, "messages": part, "session_id": f"{item.body['session_id']}-part-{number}"}
        yield Item(f"{item.name} part {number}", {k: v for k, v in body.items() if k != "occurred_at"})


def _cut(messages: list[Any]) -> Iterator[list[Any]]:
    """The messages in lists that a session takes; one that is too long itself is cut, and says so."""
    part: list[Any] = []
    chars = 0
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        size = len(content) if isinstance(content, str) else 0
        if size > _LIMITS.max_message_chars:
            message = {**message, "content": message["content"][: _LIMITS.max_message_chars - 20] + "\n[cut off here]"}
            size = _LIMITS.max_message_chars
        if part and (len(part) >= _LIMITS.max_messages or chars + size > _MAX_SESSION_CHARS):
            yield part
            part, chars = [], 0
        part.append(message)
        chars += size
    yield part


def _utc(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
