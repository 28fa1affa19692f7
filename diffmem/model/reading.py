"""A response body as a `Reply`, whatever the provider put where.

Read: JSON, or an event stream that nobody asked for; the message of the first choice that is one; `content` as text, as
a list of parts or absent; reasoning fields where the content is empty; think tags; calls in `tool_calls` or in the
older `function_call`; arguments as JSON, as JSON within JSON, as an object, as anything; the spellings of usage.
"""

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffmem.model.failure import ExchangeFailed, Failure
from diffmem.model.messages import Reply, ToolCall, Usage

MAX_TOOL_CALLS = 32
MAX_DEPTH = 32

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
_THINK_TAG = re.compile(r"</?(?:think|thinking|reasoning|thought)>", re.IGNORECASE)

_PROMPT_TOKENS = ("prompt_tokens", "input_tokens")
_COMPLETION_TOKENS = ("completion_tokens", "output_tokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_CACHED_TOKENS = ("cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_content_token_count")


def read_reply(data: bytes) -> Reply:
    """The reply in a body that came with status 200.

    Raises:
        ExchangeFailed: it holds none; an error in the body counts as the status that it names.
    """
    try:
        return _reply(_payload(data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")))
    except RecursionError as error:
        raise ExchangeFailed(Failure("a completion nested too deeply", 200)) from error


def _reply(payload: Mapping[str, Any]) -> Reply:
    message, finish_reason = _message(payload)
    return Reply(
        text=_text(message),
        tool_calls=tuple(itertools.islice(_tool_calls(message), MAX_TOOL_CALLS)),
        usage=read_usage(payload.get("usage")),
        finish_reason=finish_reason,
    )


def read_usage(usage: Any) -> Usage:
    """One call's usage; what is missing, or no number of tokens, is 0."""
    fields = _object(usage)
    details = next((_object(fields.get(name)) for name in _DETAILS if name in fields), {})
    return Usage(
        llm_calls=1,
        prompt_tokens=_tokens(fields, _PROMPT_TOKENS),
        completion_tokens=_tokens(fields, _COMPLETION_TOKENS),
        cached_tokens=_tokens(details, _CACHED_TOKENS) or _tokens(fields, _CACHED_TOKENS),
    )


def error_message(payload: Any) -> str:
    """The words of an error, its code at their end: `{"error": {...}}`, `{"error": "..."}`, what is within, or text."""
    inner = payload.get("error") or payload if isinstance(payload, dict) else payload
    if not isinstance(inner, dict):
        return str(inner)
    words = inner.get("message") or inner.get("detail") or inner
    code = inner.get("code") or inner.get("type")
    return f"{words} ({code})" if isinstance(code, str) else str(words)


def _payload(text: str) -> Mapping[str, Any]:
    if text.startswith(("data:", "event:", ":")):
        return _joined_stream(text)
    payload = _decoded(text)
    if not isinstance(payload, dict):
        raise ExchangeFailed(Failure(f"not a chat completion: {text[:80]!r}", 200))
    if payload.get("error") and not payload.get("choices"):
        error = payload["error"]
        code = error.get("code") if isinstance(error, dict) else None
        raise ExchangeFailed(Failure(error_message(payload), code if _is_status(code) else 200))
    return payload


def _is_status(code: Any) -> bool:
    return isinstance(code, int) and 400 <= code <= 599


def _decoded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _joined_stream(text: str) -> Mapping[str, Any]:
    """The chunks of an event stream as the one completion they would have been."""
    message: dict[str, Any] = {"content": ""}
    calls: dict[Any, dict[str, str]] = {}
    finish_reason, usage = None, None
    for chunk in _chunks(text):
        usage = chunk.get("usage") or usage
        choice = _first_object(chunk.get("choices"))
        finish_reason = choice.get("finish_reason") or finish_reason
        delta = _object(choice.get("delta"))
        for name in ("content", *_REASONING_FIELDS):
            if isinstance(delta.get(name), str):
                message[name] = message.get(name, "") + delta[name]
        for part in _list(delta.get("tool_calls")):
            _add_call_part(calls, _object(part))
    if not message["content"] and not calls and len(message) == 1:
        raise ExchangeFailed(Failure("an event stream without a message", 200))
    message["tool_calls"] = [{"id": call["id"], "function": call} for call in calls.values()]
    return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}


def _chunks(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        chunk = _decoded(line[5:]) if line.startswith("data:") else None
        if isinstance(chunk, dict):
            yield chunk


def _add_call_part(calls: dict[Any, dict[str, str]], part: Mapping[str, Any]) -> None:
    call = calls.setdefault(str(part.get("index", len(calls))), {"id": "", "name": "", "arguments": ""})
    call["id"] += str(part.get("id") or "")
    function = _object(part.get("function"))
    for name in ("name", "arguments"):
        call[name] += str(function.get(name) or "")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _first_object(items: Any) -> Mapping[str, Any]:
    return next((item for item in _list(items) if isinstance(item, dict)), {})


def _message(payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    choice = _first_object(payload.get("choices")) or payload
    message = next((choice[name] for name in ("message", "delta") if choice.get(name) is not None), None)
    if not isinstance(message, dict):
        words = message if isinstance(message, str) else choice.get("text")
        if not isinstance(words, str):
            raise ExchangeFailed(Failure("a completion without a message", 200))
        message = {"content": words}
    return message, str(choice.get("finish_reason") or "")


def _text(message: Mapping[str, Any]) -> str:
    content = _joined(message.get("content"))
    spoken = _without_thoughts(content)
    if spoken:
        return spoken
    thoughts = [content, *(_joined(message.get(name)) for name in _REASONING_FIELDS)]
    return next((_untagged(thought) for thought in thoughts if _untagged(thought)), "")


def _joined(content: Any) -> str:
    """Text of a string or of a list of parts: strings, `{"text": "..."}`, `{"text": {"value": "..."}}`."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_joined(part) for part in content[:1000])
    if isinstance(content, dict):
        return next((found for name in ("text", "value", "content") if (found := _leaf(content.get(name)))), "")
    return ""


def _leaf(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("value")
    return value if isinstance(value, str) else ""


def _without_thoughts(text: str) -> str:
    spoken: list[str] = []
    at, thinking = 0, False
    for tag in _THINK_TAG.finditer(text):
        closing = tag[0].startswith("</")
        if closing and not thinking:
            spoken.clear()  # a chat template opened the tag in the prompt: all of this was thought
        elif not closing and not thinking:
            spoken.append(text[at : tag.start()])
        at, thinking = tag.end(), not closing
    return "".join([*spoken, "" if thinking else text[at:]]).strip()


def _untagged(text: str) -> str:
    return _THINK_TAG.sub("", text).strip()


def _tool_calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    listed = message.get("tool_calls")
    items: Sequence[Any] = listed if isinstance(listed, list) else [listed]
    for n, item in enumerate([*items, {"function": message.get("function_call")}]):
        function = item.get("function", item) if isinstance(item, dict) else None
        if isinstance(function, dict) and (function.get("name") or function.get("arguments")):
            arguments = function.get("arguments", function.get("parameters"))
            yield ToolCall(str(item.get("id") or f"call_{n}"), str(function.get("name") or ""), _arguments(arguments))


def _arguments(value: Any) -> Mapping[str, Any]:
    for _ in range(3):  # JSON, within JSON, within JSON
        if not isinstance(value, str):
            break
        decoded = _decoded(value)
        if not isinstance(decoded, dict | list | str):
            break
        value = decoded
    if not is_shallow(value):
        return {}
    return value if isinstance(value, dict) else {"input": value}


def is_shallow(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether decoded JSON is nested no deeper than `depth`: what can just be read cannot always be handled after."""
    items = value.values() if isinstance(value, dict) else _list(value)
    return depth > 0 and all(is_shallow(item, depth - 1) for item in items)


def _tokens(fields: Mapping[str, Any], names: Sequence[str]) -> int:
    return next((number for name in names if (number := _whole(fields.get(name)))), 0)


def _whole(value: Any) -> int:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return 0
    return int(number) if math.isfinite(number) and 0 < number < 1e12 else 0
