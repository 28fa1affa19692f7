"""A chat model of the protocol that answers from a script, for tests of what is done with answers.

    model = ScriptedModel([edits({"op": "add", ...}), ModelError("out of order")])
    model.asked[0]        # the messages of the first call

Call n gets entry n of the script; the last one is repeated for ever. An entry is a reply, its text, an error to raise,
or a function from the messages to one of these.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diffmem.limits import Deadline
from diffmem.model import Message, Reply, ToolCall, ToolSpec, Usage
from diffmem.model.messages import ToolChoice

Entry = Reply | str | Exception | Callable[[Sequence[Message]], Any]
USAGE = Usage(llm_calls=1, prompt_tokens=100, completion_tokens=10)


class ScriptedModel:
    """Safe between threads."""

    name = "scripted"

    def __init__(self, script: Sequence[Entry]) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.asked: list[Sequence[Message]] = []

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.asked)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        schema: Mapping[str, Any] | None = None,
        deadline: Deadline,
        tool_choice: ToolChoice = "auto",
    ) -> Reply:
        """The next entry of the script."""
        with self._lock:
            entry = self._script[min(len(self.asked), len(self._script) - 1)]
            self.asked.append(tuple(messages))
        while callable(entry):
            entry = entry(messages)
        if isinstance(entry, Exception):
            raise entry
        return Reply(entry, usage=USAGE) if isinstance(entry, str) else entry

    def prefer_text(self) -> None:
        """Nothing to take note of."""


def edits(*items: Mapping[str, Any], summary: str = "") -> str:
    """An answer that is an edit plan."""
    return json.dumps({"summary": summary, "edits": list(items)})


def runs(command: str) -> Reply:
    """An answer that calls the tool."""
    return Reply("", (ToolCall("call_1", "run", {"command": command}),), USAGE, "tool_calls")


def said(messages: Sequence[Message]) -> str:
    """Everything that one call showed the model."""
    return "\n".join(message.content for message in messages)
