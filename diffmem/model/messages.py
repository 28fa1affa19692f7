"""What is said to a chat model and what comes back: messages, tool calls, usage, and the interface of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from diffmem.limits import Deadline

Role = Literal["system", "user", "assistant", "tool"]
Style = Literal["tools", "text"]
ToolChoice = Literal["auto", "none"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider says it counted; adds up with `+`. `llm_calls` counts answers asked for, received or not."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.llm_calls + other.llm_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is described to a model; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model makes. Arguments that came in any other shape than an object are under `"input"`."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `plain`, where given, is said in place of `content` to a model that gives its commands in text."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    plain: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `style` says how the model was spoken to: with tools, or with commands in the text."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    style: Style = "tools"


class ChatModel(Protocol):
    """A chat model of some provider; safe to use from several threads."""

    @property
    def name(self) -> str:
        """The provider's name for the model."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        schema: Mapping[str, Any] | None = None,
        deadline: Deadline,
        tool_choice: ToolChoice = "auto",
    ) -> Reply:
        """The model's next message, in text style where `tools` is empty or the model takes none.

        `schema` is the JSON schema of the answer, its `title` its name; it binds the model as far as the provider can
        hold it. With tools on offer it usually cannot.

        Raises:
            ModelTimeout: no answer before the deadline.
            ModelError: the provider refused, failed or answered something unusable.
        """

    def prefer_text(self) -> None:
        """Take note that commands in text brought an answer where tool calls did not."""
