"""Conversations as ChatGPT and Claude export them (conversations.json), read leniently: what is odd is left out.

ChatGPT: `mapping` is a tree of nodes, since an answer can be asked for again; the branch that was shown last is the one
that `current_node` ends. Claude: `chat_messages` is a list, with the text of attachments beside what was typed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_MAX_ID_CHARS = 150
_MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation; `messages` are those of POST sessions."""

    source: str
    id: str
    title: str
    messages: Sequence[Mapping[str, Any]]

    def body(self) -> dict[str, Any]:
        """The body of POST sessions."""
        metadata = {"title": self.title} if self.title else {}
        found: dict[str, Any] = {"messages": list(self.messages), "source": self.source, "metadata": metadata}
        return found | ({"session_id": f"{self.source}-{self.id}"} if self.id else {})


def conversation(document: Mapping[str, Any]) -> Conversation:
    """What an entry of a conversations.json holds."""
    if "mapping" in document:
        messages = _messages(_chatgpt(node) for node in _branch(document))
        return Conversation("chatgpt", _text(document, "conversation_id", "id"), _title(document, "title"), messages)
    messages = _messages(_claude(entry) for entry in _list(document, "chat_messages"))
    return Conversation("claude", _text(document, "uuid"), _title(document, "name"), messages)


def _branch(document: Mapping[str, Any]) -> list[Any]:
    """The messages from the root to the node that was shown last, each node once."""
    mapping = document["mapping"] if isinstance(document["mapping"], dict) else {}
    at = document.get("current_node") or next(reversed(mapping), None)
    found: dict[str, Any] = {}
    while isinstance(at, str) and at in mapping and at not in found and isinstance(mapping[at], dict):
        found[at] = mapping[at].get("message")
        at = mapping[at].get("parent")
    return list(found.values())[::-1]


def _chatgpt(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict) or _field(message, "metadata").get("is_visually_hidden_from_conversation"):
        return {}
    content = _field(message, "content")
    if content.get("content_type") not in ("text", "multimodal_text", "code"):
        return {}
    texts: list[Any] = [_part(part) for part in _list(content, "parts")] or [content.get("text")]
    return {
        "role": _ROLES.get(str(_field(message, "author").get("role"))),
        "content": "\n".join(text for text in texts if isinstance(text, str)).strip(),
        "at": _seconds(message.get("create_time")),
        "id": _text(message, "id"),
    }


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return str(part or "")
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return "[image]" if "image" in str(part.get("content_type")) else "[attachment]"


def _claude(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict):
        return {}
    blocks = [block for block in _list(message, "content") if isinstance(block, dict)]
    typed = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    texts = typed if any(text.strip() for text in typed) else [str(message.get("text") or "")]
    attached = [each for each in _list(message, "attachments") if isinstance(each, dict)]
    texts += [f"[{each.get('file_name') or 'attachment'}]\n{each.get('extracted_content') or ''}" for each in attached]
    return {
        "role": _ROLES.get(str(message.get("sender"))),
        "content": "\n".join(texts).strip(),
        "at": _iso(message.get("created_at")),
        "id": _text(message, "uuid"),
    }


def _messages(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that somebody said, without the fields that are not known."""
    said = [message for message in found if message.get("role") and message.get("content")]
    return [{name: value for name, value in message.items() if value} for message in said]


def _field(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = message.get(name)
    return value if isinstance(value, dict) else {}


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    value = document.get(name)
    return value if isinstance(value, list) else []


def _text(document: Mapping[str, Any], *names: str) -> str:
    found = next((value for name in names if isinstance(value := document.get(name), str) and value), "")
    return "".join(character for character in found if character.isprintable())[:_MAX_ID_CHARS]


def _title(document: Mapping[str, Any], name: str) -> str:
    return " ".join(_text(document, name).split())[:_MAX_TITLE_CHARS]


def _seconds(value: Any) -> str:
    if not isinstance(value, int | float) or not 86_400 <= value < 4_102_444_800:
        return ""
    return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")


def _iso(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    return moment.isoformat() if moment and moment.tzinfo and 1970 < moment.year < 2100 else ""
