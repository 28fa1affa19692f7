"""Runs the tree as bash would: simple commands under the policy, blocks, conditions and loops.

Standard library only: this module runs in the worker.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diffmem.shell.builtins import BUILTINS, PROGRAMS
from diffmem.shell.builtins.shell import encoded
from diffmem.shell.control import Reports
from diffmem.shell.jobs import Jobs, Settings
from diffmem.shell.policy import Admitted, Refused
from diffmem.shell.processes import Processes
from diffmem.shell.state import State
from diffmem.shell.stops import (
    MAX_ITERATIONS,
    MISSING,
    REFUSED,
    ExpansionError,
    LoopExit,
    ShellExit,
    Stop,
    UnsetError,
)
from diffmem.shell.streams import RedirectError
from diffmem.shell.tree import Block, Command, For, Group, If, Not, Pipeline, Refusal, Statement, While


class Interpreter:
    """One shell; see `Jobs` for `allowance`. It is the `Shell` of its builtins."""

    def __init__(
        self, settings: Settings, state: State, processes: Processes, reports: Reports, allowance: int
    ) -> None:
        self.state = state
        self.jobs = Jobs(settings, state, processes, reports, allowance, self.statement)
        self._processes = processes
        self._reports = reports
        self._iterations = 0
        self._runners: Mapping[type, Callable[[Any], int]] = {
            Command: self._command,
            Refusal: lambda node: self._refused(node.message),
            Pipeline: self.jobs.pipeline,
            Not: lambda node: int(self.statement(node.body) == 0),
            Block: self.block,
            Group: self._group,
            For: self._for,
            While: self._while,
            If: self._if,
        }

    def statement(self, node: Statement) -> int:
        """Run a statement; its status, which `$?` then holds."""
        try:
            self.state.status = self._runners[type(node)](node)
        except UnsetError as error:
            self.complain(str(error))
            raise ShellExit(MISSING) from None
        except (ExpansionError, RedirectError) as error:
            self.complain(str(error))
            self.state.status = 1
        except Refused as refused:
            self.state.status = self._refused(refused.message)
        return self.state.status

    def block(self, block: Block) -> int:
        """Run the statements of a block whose links allow it; the status of the last that ran."""
        for step in block.steps:
            if runs(step.link, self.state.status):
                self.statement(step.body)
        return self.state.status

    def write(self, data: bytes) -> None:
        """Write to standard output."""
        self._processes.write(1, data)

    def complain(self, message: str) -> None:
        """Write a line to standard error, with the shell's prefix."""
        self._processes.write(2, encoded(f"bash: line 1: {message}\n"))

    def complain_as(self, name: str, message: str) -> None:
        """Write a line to standard error as the program `name` would."""
        self._processes.write(2, encoded(f"{name}: {message}\n"))

    def trace(self, line: str) -> None:
        """Write a line to standard error as it is."""
        self._processes.write(2, encoded(f"{line}\n"))

    def run(self, argv: Sequence[str]) -> int:
        """The status of one command that xargs built; its standard input is empty."""
        try:
            admitted = self.jobs.admit(argv)
        except Refused as refused:
            return self._refused(refused.message)
        if admitted.kind != "builtin":
            return self.jobs.program(admitted, ((self.jobs.streams.null, 0),))
        if argv[0] not in PROGRAMS:
            self.complain_as("xargs", f"{argv[0]}: No such file or directory")
            return MISSING
        return BUILTINS[admitted.argv[0]](self, list(admitted.argv[1:]))

    def _command(self, command: Command) -> int:
        argv = self.jobs.expander.arguments(command.words)
        if not argv:
            return self._assign(command)
        admitted = self.jobs.admit(argv)
        if admitted.kind == "builtin":
            return self._builtin(admitted, command)
        with self.jobs.streams.opened(command.redirects) as pairs, self._processes.limited():
            return self.jobs.program(admitted, pairs)

    def _assign(self, command: Command) -> int:
        self.state.substituted = None
        for assignment in command.assignments:
            value = self.jobs.expander.text(assignment.word)
            before = self.state.variables.get(assignment.name, "") if assignment.append else ""
            self.state.variables[assignment.name] = before + value
        with self.jobs.streams.opened(command.redirects):
            return self.state.substituted or 0

    def _builtin(self, admitted: Admitted, command: Command) -> int:
        """A builtin in this process; an assignment before it (`IFS=` before `read` alone may stand there) is undone."""
        separators = self.state.variables.get("IFS")
        for assignment in command.assignments:
            self.state.variables[assignment.name] = self.jobs.expander.text(assignment.word)
        try:
            with self.jobs.streams.replaced(command.redirects), self._processes.limited():
                status = BUILTINS[admitted.argv[0]](self, list(admitted.argv[1:]))
            self.jobs.teach(admitted.argv, status)
            return status
        finally:
            if command.assignments:
                self.state.variables.pop("IFS", None)
                if separators is not None:
                    self.state.variables["IFS"] = separators

    def _refused(self, message: str) -> int:
        self._reports.note("refused", message)
        return REFUSED

    def _group(self, node: Group) -> int:
        with self.jobs.streams.replaced(node.redirects):
            return self.jobs.subshell(node.body) if node.subshell else self.block(node.body)

    def _if(self, node: If) -> int:
        with self.jobs.streams.replaced(node.redirects):
            for condition, body in node.branches:
                if self.block(condition) == 0:
                    return self.block(body)
            return self.block(node.otherwise) if node.otherwise.steps else 0

    def _while(self, node: While) -> int:
        status = 0
        with self.jobs.streams.replaced(node.redirects):
            while (self.block(node.condition) == 0) != node.until:
                ended, status = self._body(node.body)
                if ended:
                    break
        return status

    def _for(self, node: For) -> int:
        status = 0
        words = self.jobs.expander.arguments(node.words)
        with self.jobs.streams.replaced(node.redirects):
            for word in words:
                self.state.variables[node.name] = word
                ended, status = self._body(node.body)
                if ended:
                    break
        return status

    def _body(self, body: Block) -> tuple[bool, int]:
        """Run the body of a loop once: whether the loop ends with it, and the status."""
        self._iterations += 1
        if self._iterations > MAX_ITERATIONS:
            raise Stop(f"loops ran more than {MAX_ITERATIONS} times")
        self._processes.check_time()
        self.state.loops += 1
        try:
            return False, self.block(body)
        except LoopExit as leave:
            if leave.levels > 1 and self.state.loops > 1:
                raise LoopExit(leave.levels - 1, leave.again) from None
            return not leave.again, 0
        finally:
            self.state.loops -= 1


def runs(link: str, status: int) -> bool:
    """Whether a step runs after one that ended with `status`."""
    return link == ";" or (link == "&&") == (status == 0)
