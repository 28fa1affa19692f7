"""What an agent is asked to do, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from diffmem.agent.framing import framed
from diffmem.limits import Deadline
from diffmem.model import Message, ToolCall, ToolSpec, Usage

T = TypeVar("T")

StopReason = Literal["plan", "deadline", "turn_limit", "model_error", "invalid_plan"]
Run = Callable[[str, Deadline], str]

RUN = ToolSpec(
    name="run",
    description=(
        "Run read-only shell commands in the repository of memory and return their output. "
        "Several commands go in one call, one a line."
    ),
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "one or more command lines"}},
        "required": ["command"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """One question to a model that has the tool.

    `system` is told first and is the same for every user, so that providers find it in their prompt caches; `plain` is
    told in its place to a model that gives its commands in text. `opening` follows: what the model is shown,
    `calls_already_made` included. The answer is JSON that fits `schema`, named `schema_name`; `parse` validates it,
    decoded, and raises `InvalidPlan`. `parse_lines`, where given, makes of an answer in plain lines what `parse` takes,
    or None.

    An answer that was cut off before its end is put to `parse` only where `takes_partial`: some pointers are a plan,
    but some edits are not an edit.
    """

    system: str
    opening: Sequence[Message]
    schema_name: str
    schema: Mapping[str, Any]
    parse: Callable[[object], T]
    parse_lines: Callable[[str], object] | None = None
    plain: str | None = None
    takes_partial: bool = False


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How an investigation ended; `answer` is there exactly where `stop_reason` is "plan".

    `commands` are those that were run, in order, and `seen` pairs each with its output. `turns` counts how often the
    model was asked, repair question included. `transcript` is every message of the protocol, from the system's to the
    last, as `{"role", "content", "tool_calls"?, "tool_call_id"?}`; a failure is its last entry, of role "error".
    `is_refused`: the provider takes no such question, or no answer could be read; another question may fare better.
    """

    answer: T | None = None
    stop_reason: StopReason = "model_error"
    turns: int = 0
    commands: tuple[str, ...] = ()
    seen: tuple[tuple[str, str], ...] = ()
    usage: Usage = field(default_factory=Usage)
    transcript: tuple[dict[str, Any], ...] = ()
    detail: str = ""
    is_refused: bool = False


def calls_already_made(shown: Sequence[tuple[str, str]]) -> tuple[Message, ...]:
    """Messages that show pairs of a command and its output as calls of the tool that the model has made."""
    messages: list[Message] = []
    for n, (command, output) in enumerate(shown, 1):
        call = ToolCall(f"opening_{n}", RUN.name, {"command": command})
        messages.append(Message("assistant", "", (call,)))
        messages.append(Message("tool", framed(command, output), tool_call_id=call.id))
    return tuple(messages)
