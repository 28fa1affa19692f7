"""The one tool: a command as a person would type it, on one checkout, without an effect, within bounds.

    tool = Tool("require")
    tool.run("grep -rn tea memories | head -5", checkout, deadline)
    ToolResult(output="memories/people/maya.md:12:- Likes tea.", exit_code=0, refused=False, ...)

The text is parsed in this process (`syntax`); its tree runs in a confined worker (`sandbox`, `worker`) under the policy
(`policy`); what it wrote is shaped here again (`output`). `running` does all of that.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

from diffmem.config import SandboxMode
from diffmem.errors import ToolUnavailable
from diffmem.git import Checkout
from diffmem.limits import Deadline, Limits
from diffmem.shell.refusals import Refusal
from diffmem.shell.sandbox import Sandbox, SandboxStatus


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
        from diffmem.shell import running  # at first use: the grammar, the policy and the interpreter

        request = running.Request(command, checkout, deadline, self._limits, raw, max_output_bytes)
        try:
            result, refusals = running.run(request, self._sandbox)
        except ToolUnavailable:
            self._hear(Refusal("sandbox"))
            raise
        for refusal in refusals:
            self._hear(refusal)
        return result

    def status(self) -> SandboxStatus:
        """Which layers of the sandbox are in force here, found by trying."""
        return self._sandbox.status()

    def close(self) -> None:
        """End every process of the tool."""
        self._sandbox.close()


def _ignore(_: Refusal) -> None:
    return
