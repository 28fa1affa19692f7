"""Messages as the Chat Completions API takes them, with tools or with commands in text.

The user speaks first, as many templates demand: where the messages begin with calls, the user says "Begin." before.

In text style a tool call is a line `$ command` of the assistant's, and what it gave is the user's next message. Ids are
numbered anew, nine letters and digits each (Mistral takes no others), so that the same messages are always the same
bytes: providers cache prompts by their prefix.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from diffmem.model.messages import Message, ToolCall, ToolSpec

Rendered = dict[str, Any]

_BEGIN = "Begin."


def with_tools(messages: Sequence[Message]) -> list[Rendered]:
    """The messages with tool calls as tool calls."""
    names: dict[str, str] = {}
    return _begun([_rendered(message, names) for message in messages])


def in_text(messages: Sequence[Message]) -> list[Rendered]:
    """The messages of system, user and assistant alone; neighbours of one role are joined, as many templates demand."""
    joined: list[Rendered] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        content = clean(_in_words(message))
        if joined and joined[-1]["role"] == role:
            joined[-1]["content"] += f"\n\n{content}"
        else:
            joined.append({"role": role, "content": content})
    return _begun(joined)


def without_system(messages: Sequence[Rendered]) -> list[Rendered]:
    """The messages with the system's said by the user, for templates that know no system."""
    said = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if rest and rest[0]["role"] == "user":
        rest[0]["content"] = f"{said}\n\n{rest[0]['content']}"
        return rest
    return [{"role": "user", "content": said}, *rest]


def without_user_after_tool(messages: Sequence[Rendered]) -> list[Rendered]:
    """The messages with what the user says right after a result added to that result (Mistral wants it so)."""
    joined: list[Rendered] = []
    for message in messages:
        if joined and (joined[-1]["role"], message["role"]) == ("tool", "user"):
            joined[-1] = {**joined[-1], "content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined


def with_request(messages: Sequence[Rendered], text: str) -> list[Rendered]:
    """The messages with `text` added to what the user says last."""
    if messages and messages[-1]["role"] == "user":
        return [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n\n{text}"}]
    return [*messages, {"role": "user", "content": text}]


def tool(spec: ToolSpec) -> Rendered:
    """A tool's description."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def compact(schema: Mapping[str, Any]) -> str:
    """The schema as JSON without blanks."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoding of a request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _begun(messages: list[Rendered]) -> list[Rendered]:
    first = next((n for n, message in enumerate(messages) if message["role"] != "system"), len(messages))
    if first < len(messages) and messages[first]["role"] != "user":
        messages.insert(first, {"role": "user", "content": _BEGIN})
    return messages


def _rendered(message: Message, names: dict[str, str]) -> Rendered:
    content = clean(message.content)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": _short(message.tool_call_id or "", names), "content": content}
    if not message.tool_calls:
        return {"role": message.role, "content": content}
    calls = [_call(call, names) for call in message.tool_calls]
    return {"role": message.role, "content": content or None, "tool_calls": calls}


def _call(call: ToolCall, names: dict[str, str]) -> Rendered:
    arguments = clean(json.dumps(call.arguments, ensure_ascii=False))
    function = {"name": call.name, "arguments": arguments}
    return {"id": _short(call.id, names), "type": "function", "function": function}


def _short(call_id: str, names: dict[str, str]) -> str:
    return names.setdefault(call_id, f"call{len(names) + 1:05d}")


def _in_words(message: Message) -> str:
    said = message.content if message.plain is None else message.plain
    lines = [f"$ {line}" for call in message.tool_calls for line in _command(call.arguments).splitlines()]
    return "\n".join(filter(None, [said, *lines]))


def _command(arguments: Mapping[str, Any]) -> str:
    return "\n".join(value for value in arguments.values() if isinstance(value, str))
