"""One call of the tool, from its text to its result: what only a command needs, and a read without one never loads."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diffmem import git
from diffmem.git import Checkout
from diffmem.limits import Deadline, Limits
from diffmem.shell import syntax
from diffmem.shell.output import UnitOutput, shape
from diffmem.shell.policy import Refused
from diffmem.shell.refusals import Refusal, policy_refusal
from diffmem.shell.sandbox import Sandbox
from diffmem.shell.sandbox_process import WorkerFailed
from diffmem.shell.stops import KILLED, OUT_OF_TIME, REFUSED
from diffmem.shell.tool import ToolResult
from diffmem.shell.tree import Block, dump

_MARGIN_SECONDS = 0.3
_LEAST_SECONDS = 0.1
_ANSWER_BYTES = 64_000_000
_FAILURES: Mapping[str, tuple[str, int]] = {
    "deadline": ("out of time", OUT_OF_TIME),
    "died": ("the tool's process was ended: out of memory or processor time", KILLED),
    "too large": ("it wrote more than is read", KILLED),
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    units: tuple[UnitOutput | None, ...]
    status: int
    stopped: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be run, where, and within which bounds; see `Tool.run`."""

    command: str
    checkout: Checkout
    deadline: Deadline
    limits: Limits
    raw: bool
    max_output_bytes: int


def run(request: Request, sandbox: Sandbox) -> tuple[ToolResult, tuple[Refusal, ...]]:
    """What the command gave, and what may be said elsewhere of what was refused in it.

    Raises:
        ToolUnavailable: the configuration requires a sandbox that this host does not have.
    """
    started = time.monotonic()
    try:
        block = syntax.parse(request.command, request.limits.max_command_bytes)
    except Refused as refused:
        return _refused(refused.message, request.raw, started), (Refusal("syntax"),)
    result = _result(block, _call(block, request, sandbox), request.raw, request.max_output_bytes, started)
    return result, tuple(policy_refusal(text) for text in result.refusals)


def _call(block: Block, request: Request, sandbox: Sandbox) -> _Outcome:
    checkout, deadline = request.checkout, request.deadline.within(request.limits.tool_call_seconds)
    order = {
        "tree": dump(block),
        "root": str(checkout.tree),
        "git_environment": git.environment(checkout),
        "git_flags": git.FLAGS,
        "seconds": deadline.remaining() - _MARGIN_SECONDS,
        "pipeline_seconds": request.limits.tool_pipeline_seconds,
        "max_bytes": request.max_output_bytes,
        "raw": request.raw,
    }
    count = len(block.steps)
    if deadline.remaining() - _MARGIN_SECONDS < _LEAST_SECONDS:
        return _outcome(b"", count, "deadline")
    data = json.dumps(order).encode()
    try:
        answer = sandbox.call(data, checkout.tree, checkout.git_dir, checkout.objects, deadline, _ANSWER_BYTES)
    except WorkerFailed as failed:
        return _outcome(failed.partial, count, failed.reason)
    return _outcome(answer, count)


def _outcome(answer: bytes, count: int, failure: str | None = None) -> _Outcome:
    """The worker's answer, also where it breaks off; see `worker` for its lines."""
    units: list[UnitOutput | None] = [None] * count
    stopped, status = _FAILURES[failure] if failure else (None, 0)
    for line in answer.splitlines():
        data = json.loads(line)
        if "number" in data:
            units[data["number"]] = _unit(data)
        else:
            stopped, status = data["stopped"], data["status"]
    return _Outcome(tuple(units), status, stopped)


def _unit(data: Mapping[str, Any]) -> UnitOutput:
    return UnitOutput(
        data["status"],
        data["head"].encode(errors="surrogateescape"),
        data["tail"].encode(errors="surrogateescape"),
        data["between_bytes"],
        data["between_lines"],
        data["cuts_lines"],
        tuple(data["refused"]),
        tuple(data["hint"]),
        data["cut"],
    )


def _result(block: Block, outcome: _Outcome, raw: bool, max_output_bytes: int, started: float) -> ToolResult:
    ran = [unit for unit in outcome.units if unit is not None]
    refusals = tuple(text for unit in ran for text in unit.refused)
    if outcome.stopped and outcome.status == REFUSED:
        refusals += (outcome.stopped,)
    if raw:
        output = b"".join(unit.head for unit in ran).decode(errors="replace")
        truncated = any(unit.between_bytes or unit.cut for unit in ran)
    else:
        sources = [step.source for step in block.steps]
        shaped = shape(sources, outcome.units, outcome.stopped, secrets.token_hex(3), max_output_bytes)
        output, truncated = shaped.text, shaped.truncated
    return ToolResult(
        output, outcome.status, bool(refusals), truncated or bool(outcome.stopped), _since(started), refusals
    )


def _refused(message: str, raw: bool, started: float) -> ToolResult:
    return ToolResult("" if raw else f"refused: {message}", REFUSED, True, False, _since(started), (message,))


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
