"""The loop of model and tool: the model investigates, then answers, within a number of turns and a deadline.

    turn 1            commands, or already the answer
    turn 2            the answer, or more commands while turns and time remain
    the last turn     the answer: no commands are taken
    one repair        where an answer cannot be read: once, while time remains

Whatever a model does is an outcome; an error that is raised is an error of the program.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from diffmem.agent.answers import read_answer
from diffmem.agent.commands import answer_text, command_of, commands_in, is_answer
from diffmem.agent.framing import MAX_SHOWN_CHARS, framed
from diffmem.agent.prompts import prompt
from diffmem.agent.task import RUN, Outcome, Run, StopReason, Task
from diffmem.agent.transcript import transcript
from diffmem.errors import DeadlineExceeded, InvalidPlan, ModelError, ModelRefused, ModelTimeout, ToolUnavailable
from diffmem.limits import Deadline
from diffmem.model import ChatModel, Message, Reply, Style, ToolCall, Usage

T = TypeVar("T")

MAX_COMMANDS = 8

_MAX_REPEATED_CHARS = 20_000
_MAX_NAME_CHARS = 64  # providers refuse more
_NOTHING = "(nothing)"  # many providers refuse an empty message
_TWO_MORE_TURNS = 2.2  # times the slowest so far: with less time left than that, the next turn is the last


def investigate(task: Task[T], model: ChatModel, run: Run, deadline: Deadline, *, max_turns: int = 3) -> Outcome[T]:
    """What `model` answers to `task`, having looked around with `run`, by `deadline` whatever the provider does.

    `run` takes a command line and a deadline and gives the output, refusals included. A command gets at most half of
    the time that is left, so that the answer has the other half. At most eight calls are run a turn.
    """
    investigation = _Investigation(task, model, run, deadline, max_turns)
    try:
        return investigation.outcome(investigation.answer(), "plan")
    except _Stopped as stopped:
        return replace(investigation.outcome(None, stopped.reason, str(stopped)), is_refused=True)
    except (ModelTimeout, DeadlineExceeded) as error:
        return investigation.outcome(None, "deadline", str(error))
    except ModelError as error:
        outcome = investigation.outcome(None, "model_error", str(error))
        return replace(outcome, is_refused=isinstance(error, ModelRefused))


class _Stopped(Exception):
    """Ends the loop without an answer."""

    def __init__(self, reason: StopReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: StopReason = reason


class _Investigation(Generic[T]):
    """The messages so far, and what is left of turns and time."""

    def __init__(self, task: Task[T], model: ChatModel, run: Run, deadline: Deadline, max_turns: int) -> None:
        self._task, self._model, self._run, self._deadline = task, model, run, deadline
        self._messages = [Message("system", task.system, plain=task.plain or _with_text_commands(task)), *task.opening]
        self._turns_left = max_turns
        self._turns = 0
        self._slowest_seconds = 0.0
        self._seen: list[tuple[str, str]] = []
        self._usage = Usage()
        self._style: Style = "tools"
        self._has_called = False
        self._has_said_last = False
        self._is_repaired = False
        self._without_tools = False

    def answer(self) -> T:
        """The answer; ends in `_Stopped`, `ModelError` or `DeadlineExceeded` where there is none."""
        while True:
            is_last = self._is_last()
            reply = self._ask(is_last)
            commands = () if is_last or reply.tool_calls else commands_in(reply.text)
            if commands:
                self._show_outputs(commands)
            elif not is_last and any(not is_answer(call) for call in reply.tool_calls):
                self._answer_calls(reply.tool_calls)
            else:
                try:
                    return self._read(reply)
                except InvalidPlan as error:
                    self._ask_again(reply, is_last, str(error))

    def outcome(self, answer: T | None, reason: StopReason, detail: str = "") -> Outcome[T]:
        """The outcome with all that was found until now."""
        return Outcome(
            answer=answer,
            stop_reason=reason,
            turns=self._turns,
            commands=tuple(command for command, _ in self._seen),
            seen=tuple(self._seen),
            usage=self._usage,
            transcript=transcript(self._messages, self._style, detail),
            detail=detail,
        )

    def _is_last(self) -> bool:
        return self._turns_left <= 1 or self._deadline.remaining() < self._slowest_seconds * _TWO_MORE_TURNS

    def _ask(self, is_last: bool) -> Reply:
        self._deadline.check("the investigation")
        if is_last and not self._has_said_last:
            self._say("agent_last")
            self._has_said_last = True
        self._turns += 1
        self._turns_left -= 1
        started = time.monotonic()
        try:
            reply = self._model.complete(
                self._messages,
                tools=() if self._without_tools else (RUN,),
                schema=self._schema(is_last),
                deadline=self._deadline,
                tool_choice="none" if is_last else "auto",
            )
        except ModelError:
            self._usage += Usage(llm_calls=1)
            raise
        self._slowest_seconds = max(self._slowest_seconds, time.monotonic() - started)
        return self._received(reply)

    def _schema(self, is_last: bool) -> dict[str, Any] | None:
        """The schema of the answer, where its shape shall bind: not on a model that writes an answer in plain lines."""
        if is_last and self._style == "text" and self._task.parse_lines and not self._is_repaired:
            return None
        return {**self._task.schema, "title": self._task.schema_name}

    def _received(self, reply: Reply) -> Reply:
        """The reply, now said, its calls under ids of their own: some providers give every call the same."""
        self._usage += reply.usage
        self._style = reply.style
        calls = tuple(
            ToolCall(f"turn_{self._turns}_{n}", call.name, call.arguments) for n, call in enumerate(reply.tool_calls, 1)
        )
        self._has_called = self._has_called or any(command_of(call) for call in calls)
        said = reply.text[:_MAX_REPEATED_CHARS] or ("" if calls else _NOTHING)
        self._messages.append(Message("assistant", said, tuple(map(_repeatable, calls))))
        return Reply(reply.text, calls, reply.usage, reply.finish_reason, reply.style)

    def _read(self, reply: Reply) -> T:
        answer = read_answer(answer_text(reply), self._task)
        if self._without_tools and not self._has_called:
            self._model.prefer_text()
        return answer

    def _answer_calls(self, calls: Sequence[ToolCall]) -> None:
        """Run what the calls ask for, in order, each result a message of its own."""
        for n, call in enumerate(calls):
            command = command_of(call)
            if command is None:
                result = f"There is no tool {call.name[:60]!r}. The one tool is {RUN.name}(command)."
            elif n >= MAX_COMMANDS:
                result = f"Not run: at most {MAX_COMMANDS} calls a turn. Put several commands in one call, one a line."
            else:
                result = framed(command, self._output(command), MAX_SHOWN_CHARS // min(len(calls), MAX_COMMANDS))
            self._messages.append(Message("tool", result, tool_call_id=call.id))

    def _show_outputs(self, commands: Sequence[str]) -> None:
        """Run commands that were given in text."""
        outputs = [framed(command, self._output(command), MAX_SHOWN_CHARS // len(commands)) for command in commands]
        self._messages.append(Message("user", "\n\n".join(outputs)))

    def _output(self, command: str) -> str:
        self._deadline.check("the investigation")
        try:
            output = self._run(command, self._deadline.within(self._deadline.remaining() / 2))
        except ToolUnavailable as error:
            output = str(error)
        except DeadlineExceeded:
            self._deadline.check("a command")
            output = "stopped: it took too long"
        self._seen.append((command[:_MAX_REPEATED_CHARS], output))
        return output

    def _ask_again(self, reply: Reply, is_last: bool, why: str) -> None:
        """Say what is wrong with an answer, once; in text where the model has shown no sign of knowing tools."""
        wants_commands = bool(reply.tool_calls) or bool(commands_in(reply.text))
        if self._is_repaired:
            raise _Stopped("turn_limit" if is_last and wants_commands else "invalid_plan", why)
        for call in reply.tool_calls:
            self._messages.append(Message("tool", "Not run: no more commands are taken.", tool_call_id=call.id))
        self._say("agent_repair", _complaint(reply, why))
        self._is_repaired = True
        self._turns_left += 1
        self._without_tools = not self._has_called

    def _say(self, name: str, why: str = "") -> None:
        said = (prompt(name).replace("{why}", why), prompt(f"{name}_plain").replace("{why}", why))
        self._messages.append(Message("user", said[0], plain=said[1]))


def _repeatable(call: ToolCall) -> ToolCall:
    """The call as it is repeated to the model: whatever it said, at no more length than it may say in words."""
    said = json.dumps(call.arguments)
    arguments = call.arguments if len(said) <= _MAX_REPEATED_CHARS else {"input": said[:_MAX_REPEATED_CHARS]}
    return ToolCall(call.id, call.name[:_MAX_NAME_CHARS], arguments)


def _with_text_commands(task: Task[T]) -> str:
    return f"{task.system}\n\n{prompt('agent_commands_plain')}"


def _complaint(reply: Reply, why: str) -> str:
    if reply.finish_reason == "length":
        return "it was cut off before its end, so it has to be shorter"
    if not reply.text and not reply.tool_calls:
        return "it is empty"
    return why
