"""The top-level commands of a call, run one after the other by the shell process, each with its own output and status.

Standard library only: this module runs in the worker.
"""

import os

from diffmem.shell.control import Reports
from diffmem.shell.interpreter import Interpreter, runs
from diffmem.shell.jobs import Settings
from diffmem.shell.policy.verdict import Place
from diffmem.shell.processes import Processes
from diffmem.shell.state import State
from diffmem.shell.stops import Interrupted, LoopExit, ShellExit, Stop
from diffmem.shell.teaching import hints
from diffmem.shell.tree import Block, Step


class Units:
    """Runs the steps of a block as the units whose outputs are kept apart."""

    def __init__(
        self, settings: Settings, tree: str, processes: Processes, reports: Reports, allowance: int, *, teaches: bool
    ) -> None:
        self._state = State(tree)
        self._processes = processes
        self._reports = reports
        self._shell = Interpreter(settings, self._state, processes, reports, allowance)
        if teaches:
            self._shell.jobs.teach = self._teach

    def run(self, block: Block) -> None:
        """Run what the links allow, report each, and report the end."""
        try:
            for number, step in enumerate(block.steps):
                if runs(step.link, self._state.status):
                    self._unit(number, step)
        except ShellExit as leave:
            self._state.status = leave.status
        except Stop as stop:
            self._reports.stop(str(stop))
            return
        self._reports.finished(self._state.status)

    def _unit(self, number: int, step: Step) -> None:
        self._processes.forget_interrupts()
        self._reports.began(number)
        try:
            self._shell.statement(step.body)
        except Interrupted as interrupted:
            self._processes.end()
            self._state.status = interrupted.status
            self._reports.cut(str(interrupted))
        except LoopExit:
            self._state.status = 0
        except ShellExit as leave:
            self._reports.ended(number, leave.status)
            raise
        self._reports.ended(number, self._state.status)

    def _teach(self, argv: tuple[str, ...], status: int) -> None:
        for hint in hints(argv, status, Place(os.getcwd(), self._state.tree), self._shell.jobs.output_of):
            self._reports.hint(hint)
