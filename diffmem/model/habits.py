"""What a provider takes, guessed from the model's name and mended by what it refuses.

Providers that call themselves OpenAI-compatible refuse one parameter or another with 400, 404, 422 or 500 and words of
their own. A refusal that names a parameter we sent changes the habit; one that names none strips everything optional.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from diffmem.model import wire
from diffmem.model.failure import Failure
from diffmem.model.messages import Message, Style, ToolChoice, ToolSpec

Shape = Literal["json_schema", "json_object", "prompt"]
TokenField = Literal["max_tokens", "max_completion_tokens"]

_REFUSALS = (400, 404, 405, 415, 422, 500, 501)
_REASONING_MODEL = re.compile(r"(?:^|/)(?:gpt-5|o[1-9])(?!\d)")
_TOKEN_FIELDS: tuple[TokenField, ...] = ("max_completion_tokens", "max_tokens")
_OPENAI = re.compile(r"https?://(?:[\w-]+\.)*openai\.com(?:[:/]|$)", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
_SMALL_BILLIONS = 3.0
_JSON_REQUEST = "Answer with one JSON object and nothing else. It fits this JSON schema:\n{}"


@dataclass(frozen=True, slots=True)
class Habits:
    """How to speak to one model: the parameters it takes, and the style of its commands. They only ever get fewer."""

    token_fields: tuple[TokenField, ...]  # the first is used, the others are tried after it
    temperature: bool
    reasoning_effort: bool
    shapes: tuple[Shape, ...] = ("json_schema", "json_object", "prompt")  # likewise
    shape_beside_tools: bool = False
    tools: bool = True
    tool_choice: bool = True
    system_role: bool = True
    user_after_tool: bool = True


def first_guess(name: str, base_url: str) -> Habits:
    """The habits to begin with.

    OpenAI's reasoning models want `max_completion_tokens` and refuse a temperature. Only OpenAI is known to hold a
    schema and offer tools at once: elsewhere the schema's grammar usually forbids the call. Models of up to 3 billion
    weights (by their name: `qwen2.5:1.5b`) hardly ever make a tool call that parses, and give commands in text.
    """
    is_openai = _OPENAI.match(base_url) is not None
    reasons = _REASONING_MODEL.search(name) is not None
    sizes = [float(size) for size in _SIZE.findall(name)]
    return Habits(
        token_fields=_TOKEN_FIELDS if is_openai or reasons else _TOKEN_FIELDS[::-1],
        temperature=not reasons,
        reasoning_effort=reasons,
        shape_beside_tools=is_openai,
        tools=not (sizes and max(sizes) <= _SMALL_BILLIONS),
    )


@dataclass(frozen=True, slots=True)
class Request:
    """One call as the caller wants it, before any habit."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    tool_choice: ToolChoice
    schema: Mapping[str, Any] | None
    max_completion_tokens: int


def style(request: Request, habits: Habits) -> Style:
    """How this call is made."""
    return "tools" if habits.tools and request.tools else "text"


def payload(request: Request, habits: Habits) -> dict[str, Any]:
    """The body of the request."""
    is_text = style(request, habits) == "text"
    messages = wire.in_text(request.messages) if is_text else wire.with_tools(request.messages)
    body: dict[str, Any] = {"model": request.model, **_parameters(request, habits)}
    if not is_text:
        body |= _tools(request, habits)
    # In either style, a shape would keep the model from giving commands.
    may_command = bool(request.tools) and request.tool_choice == "auto"
    if request.schema is not None and (not may_command or (habits.shape_beside_tools and not is_text)):
        messages = _shaped(messages, request.schema, habits.shapes[0], body)
    if not habits.system_role:
        messages = wire.without_system(messages)
    if not habits.user_after_tool:
        messages = wire.without_user_after_tool(messages)
    return {**body, "messages": messages}


def _parameters(request: Request, habits: Habits) -> dict[str, Any]:
    parameters: dict[str, Any] = dict.fromkeys(habits.token_fields[:1], request.max_completion_tokens)
    if habits.temperature:
        parameters["temperature"] = 0
    if habits.reasoning_effort:
        parameters["reasoning_effort"] = "low"
    return parameters


def _tools(request: Request, habits: Habits) -> dict[str, Any]:
    if request.tool_choice == "none" and not habits.tool_choice:
        return {}
    tools = [wire.tool(spec) for spec in request.tools]
    return {"tools": tools, "tool_choice": "none"} if request.tool_choice == "none" else {"tools": tools}


def _shaped(
    messages: list[wire.Rendered], schema: Mapping[str, Any], shape: Shape, body: dict[str, Any]
) -> list[wire.Rendered]:
    if shape == "json_schema":
        name = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "answer")))[:64]
        described = {"name": name, "schema": schema, "strict": _is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": described}
        return messages
    if shape == "json_object":
        body["response_format"] = {"type": "json_object"}
    return wire.with_request(messages, _JSON_REQUEST.format(wire.compact(schema)))


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes the schema: every object closed, every property required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(map(_is_strict, schema.values()))


def mended(habits: Habits, failure: Failure, body: Mapping[str, Any]) -> Habits | None:
    """Other habits, after a refusal of `body`; None where the failure is no refusal or nothing is left to change."""
    if failure.status not in _REFUSALS:
        return None
    message = failure.message.lower()
    for words, change in _CHANGES:
        if re.search(words, message) and (changed := change(habits, body)) != habits:
            return changed
    changed = _stripped(habits, body)
    return changed if failure.status < 500 and changed != habits else None


def _next_token_field(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, token_fields=habits.token_fields[1:])


def _no_token_field(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, token_fields=())


def _no_temperature(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, temperature=False)


def _no_effort(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, reasoning_effort=False)


def _no_system_role(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, system_role=False)


def _no_user_after_tool(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, user_after_tool=False)


def _looser_shape(habits: Habits, body: Mapping[str, Any]) -> Habits:
    if "response_format" not in body:
        return habits
    if "tool_choice" in body:
        return replace(habits, tool_choice=False)  # without tools beside it, the shape may do
    if "tools" in body:
        return replace(habits, shape_beside_tools=False)
    return replace(habits, shapes=habits.shapes[1:])


def _no_tool_choice(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, tool_choice=False) if "tool_choice" in body else habits


def _no_tools(habits: Habits, body: Mapping[str, Any]) -> Habits:
    return replace(habits, tools=False) if "tools" in body else habits


def _stripped(habits: Habits, body: Mapping[str, Any]) -> Habits:
    """First everything optional goes, then the tools."""
    bare = replace(
        habits,
        token_fields=(),
        temperature=False,
        reasoning_effort=False,
        shapes=("prompt",),
        shape_beside_tools=False,
        tool_choice=False,
    )
    return bare if bare != habits else _no_tools(habits, body)


_CHANGES: tuple[tuple[str, Callable[[Habits, Mapping[str, Any]], Habits]], ...] = (
    (r"max_(?:completion_|output_|new_)?tokens", _next_token_field),
    (r"context length|context_length|maximum context|context window", _no_token_field),
    (r"temperature", _no_temperature),
    (r"reasoning", _no_effort),
    (r"(?:user|role).{0,20} after .{0,20}tool", _no_user_after_tool),
    (r"system (?:role|message|prompt)|role.{0,20}system|roles must alternate", _no_system_role),
    (
        r"response_format|response format|json_schema|json schema|json_object|structured output|mime type|grammar",
        _looser_shape,
    ),
    (r"tool_choice|tool choice", _no_tool_choice),
    (r"\btools?\b|tool_use|\bfunctions?\b", _no_tools),
)
