"""The one tool: a command as a person would type it, on one checkout, without an effect, within bounds.

    tool = Tool("require")
    tool.run("grep -rn tea memories | head -5", checkout, deadline)
    ToolResult(output="memories/people/maya.md:12:- Likes tea.", exit_code=0, refused=False, ...)

The text is parsed here (`syntax`); its tree runs in a confined worker (`sandbox`, `worker`) under the policy
(`policy`); what it wrote is shaped here (`output`).
"""

import copy
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from diffmem import git
from diffmem.config import SandboxMode
from diffmem.errors import ToolUnavailable
from diffmem.git import Checkout
from diffmem.limits import Deadline, Limits
from diffmem.shell import syntax
from diffmem.shell.output import UnitOutput, shape
from diffmem.shell.policy import Refused
from diffmem.shell.refusals import Refusal, policy_refusal
from diffmem.shell.sandbox import Sandbox, SandboxStatus
from diffmem.shell.sandbox_process import WorkerFailed
from diffmem.shell.stops import KILLED, OUT_OF_TIME, REFUSED
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
class ToolResult:
    """What one command gave.

    `refused` says that something in it was refused: all of it (`exit_code` 126) or some command of a chain, whose
    others ran. `refusals` has the reasons; they are worth a line in the log each, since they are how an injection
    shows.
    """

    output: str
    exit_code: int
    refused: bool
    truncated: bool
    duration_ms: int
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Outcome:
    units: tuple[UnitOutput | None, ...]
    status: int
    stopped: str | None


class Tool:
    """One a process; threads share it. The first `run` or `status` starts its processes, `close` ends them."""

    def __init__(self, mode: SandboxMode, limits: Limits = Limits(), *, sandbox: Sandbox | None = None) -> None:  # noqa: B008
        self._limits = limits
        self._sandbox = sandbox or Sandbox(mode)
        self._hear: Callable[[Refusal], None] = _ignore

    def telling(self, hear: Callable[[Refusal], None]) -> "Tool":
        """The same tool, with the same processes, that tells `hear` of every refusal, in the thread that runs it."""
        tool = copy.copy(self)
        tool._hear = hear
        return tool

    def run(
        self, command: str, checkout: Checkout, deadline: Deadline, *, raw: bool = False, max_output_bytes: int = 24_000
    ) -> ToolResult:
        """What `command` gives on `checkout`: text for a model, or with `raw` its standard output and nothing else.

        `raw` decodes as UTF-8 with replacement, keeps the first `max_output_bytes`, and has no text for refusals but
        `refusals`. Running out of time is a result (`exit_code` 124), as is every other failure of the command.

        Raises:
            ToolUnavailable: the configuration requires a sandbox that this host does not have.
        """
        started = time.monotonic()
        try:
            block = syntax.parse(command, self._limits.max_command_bytes)
        except Refused as refused:
            self._hear(Refusal("syntax"))
            return _refused(refused.message, raw, started)
        limit = deadline.within(self._limits.tool_call_seconds)
        try:
            outcome = self._call(block, checkout, limit, raw, max_output_bytes)
        except ToolUnavailable:
            self._hear(Refusal("sandbox"))
            raise
        result = _result(block, outcome, raw, max_output_bytes, started)
        for text in result.refusals:
            self._hear(policy_refusal(text))
        return result

    def status(self) -> SandboxStatus:
        """Which layers of the sandbox are in force here, found by trying."""
        return self._sandbox.status()

    def close(self) -> None:
        """End every process of the tool."""
        self._sandbox.close()

    def _call(self, block: Block, checkout: Checkout, deadline: Deadline, raw: bool, max_output_bytes: int) -> _Outcome:
        request = {
            "tree": dump(block),
            "root": str(checkout.tree),
            "git_environment": git.environment(checkout),
            "git_flags": git.FLAGS,
            "seconds": deadline.remaining() - _MARGIN_SECONDS,
            "pipeline_seconds": self._limits.tool_pipeline_seconds,
            "max_bytes": max_output_bytes,
            "raw": raw,
        }
        count = len(block.steps)
        if request["seconds"] < _LEAST_SECONDS:
            return _outcome(b"", count, "deadline")
        data = json.dumps(request).encode()
        try:
            answer = self._sandbox.call(
                data, checkout.tree, checkout.git_dir, checkout.objects, deadline, _ANSWER_BYTES
            )
        except WorkerFailed as failed:
            return _outcome(failed.partial, count, failed.reason)
        return _outcome(answer, count)


def _ignore(_: Refusal) -> None:
    return


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
