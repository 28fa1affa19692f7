"""Commands for the tool, from whatever a model says: its tool calls, or its words."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffmem.agent.answers import MAX_TEXT_CHARS, json_values
from diffmem.agent.task import RUN
from diffmem.model import Reply, ToolCall

_MAX_LINES = 40

_KEYS = ("command", "commands", "cmd", "cmds", "input", "script", "code", "bash")
_RUNNER = re.compile(r"run|bash|shell|terminal|exec|command|^sh$", re.IGNORECASE)
_ANSWER = re.compile(r"plan|answer|final|submit|respond|response|result|json|pointer", re.IGNORECASE)
_CUT_OFF = re.compile(r'"(?:command|cmd)"\s*:\s*"((?:[^"\\]|\\.)*)')
_PROMPTED = re.compile(r"[ \t]*(?:[-*>] )?`?\$[ \t]+(\S.*?)`?[ \t]*")
_FENCE = re.compile(r"[ \t]*```\w*[ \t]*")


def command_of(call: ToolCall) -> str | None:
    """The command that a tool call asks for; None where it is a call of some other tool, or asks for nothing."""
    if call.name == RUN.name or _RUNNER.search(call.name):
        return _given(call.arguments, _KEYS) or _first_text(call.arguments) or None
    return _given(call.arguments, ("command", "commands")) or None


def is_answer(call: ToolCall) -> bool:
    """Whether a call of a tool that does not exist is by its name an answer (`submit_plan`)."""
    return command_of(call) is None and _ANSWER.search(call.name) is not None


def answer_text(reply: Reply) -> str:
    """The words of a reply that may hold its answer, arguments of calls that are answers included."""
    arguments = [json.dumps(dict(call.arguments)) for call in reply.tool_calls if is_answer(call)]
    return "\n".join([reply.text, *arguments])


def commands_in(text: str) -> tuple[str, ...]:
    """Commands in the words of a model that made no tool call, at most one string: several lines are one batch.

    Read are tool calls written as JSON (`{"name": "run", "arguments": {...}}`, `{"command": "..."}`), and lines that
    begin with `$ ` where such a line comes first: what follows them is the model's guess at their output.
    """
    written = [command for value in json_values(text) for command in _written_calls(value)]
    lines = (written or list(_prompted(text[:MAX_TEXT_CHARS])))[:_MAX_LINES]
    return ("\n".join(lines),) if lines else ()


def _given(arguments: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((found for key in keys if (found := _command(arguments.get(key)))), "")


def _first_text(arguments: Mapping[str, Any]) -> str:
    return next((found for value in arguments.values() if (found := _command(value))), "")


def _command(value: Any) -> str:
    if isinstance(value, str):
        return _whole(value).strip()
    if isinstance(value, dict):
        return _given(value, _KEYS)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        # ["git", "log"] is one command's words; ["git log", "ls"] are commands.
        return "\n".join(value) if any(" " in item for item in value[:1]) or len(value) == 1 else shlex.join(value)
    return ""


def _whole(text: str) -> str:
    """The command within JSON that broke off, or the text itself."""
    match = _CUT_OFF.search(text) if text.lstrip().startswith("{") else None
    if match is None:
        return text
    try:
        return str(json.loads(f'"{match[1]}"', strict=False))
    except ValueError:
        return match[1]


def _written_calls(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict) or not item:
            continue
        arguments = item.get("arguments", item.get("parameters"))
        if isinstance(item.get("name"), str) and isinstance(arguments, dict | str):
            given = arguments if isinstance(arguments, dict) else {"input": arguments}
            yield from filter(None, [command_of(ToolCall("", item["name"], given))])
        elif set(item) <= set(_KEYS):
            yield from filter(None, [_given(item, _KEYS)])


def _prompted(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.strip() or _FENCE.fullmatch(line):
            continue
        match = _PROMPTED.fullmatch(line)
        if match is None:
            return
        yield match[1]
