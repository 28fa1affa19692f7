"""The messages of an investigation as plain data, for whoever asks what the model saw and said."""

from collections.abc import Sequence
from typing import Any

from diffmem.model import Message, Style


def transcript(messages: Sequence[Message], style: Style, failure: str = "") -> tuple[dict[str, Any], ...]:
    """One entry a message, as `Outcome.transcript` describes; `failure`, where there was one, is the last entry."""
    entries = [_entry(message, style) for message in messages]
    if failure:
        entries.append({"role": "error", "content": failure})
    return tuple(entries)


def _entry(message: Message, style: Style) -> dict[str, Any]:
    is_plain = style == "text" and message.plain is not None
    entry: dict[str, Any] = {"role": message.role, "content": message.plain if is_plain else message.content}
    if message.tool_calls:
        entry["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in message.tool_calls
        ]
    if message.tool_call_id:
        entry["tool_call_id"] = message.tool_call_id
    return entry
