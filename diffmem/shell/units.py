"""The commands of a chain, run one after the other, each with its own output, status and notes.

Standard library only: this module runs in the worker.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from diffmem.shell.control import Reports
from diffmem.shell.interpreter import Interpreter, runs
from diffmem.shell.jobs import Settings
from diffmem.shell.processes import Processes
from diffmem.shell.state import State
from diffmem.shell.stops import Interrupted, LoopExit, ShellExit, Stop
from diffmem.shell.teaching import Teacher
from diffmem.shell.tree import Block, Step
from diffmem.shell.watch import Watch

Answer = dict[str, Any]
"""One line of the worker's answer."""


class Units:
    """Runs the steps of a block as the units whose outputs are kept apart."""

    def __init__(
        self, settings: Settings, tree: str, processes: Processes, reports: Reports, watch: Watch, allowance: int
    ) -> None:
        self._state = State(tree, settings.rules)
        self._processes = processes
        self._reports = reports
        self._watch = watch
        self._shell = Interpreter(settings, self._state, processes, reports, allowance)
        self._teacher = Teacher(self._state.tree, self._shell.jobs.output_of)

    def run(self, block: Block, *, teaches: bool) -> Iterator[Answer]:
        """Run what the links allow: a line for each unit, and the last line."""
        if teaches:
            self._shell.jobs.teach = self._teach
        stopped: str | None = None
        for number, step in enumerate(block.steps):
            if not runs(step.link, self._state.status):
                continue
            ends, stopped, cut = self._unit(step)
            yield self._answer(number, cut)
            if self._reports.stop and not stopped:  # a subshell reached the bound and had ended when that was looked at
                stopped, self._state.status = self._reports.stop, Stop("").status
            if ends or stopped:
                break
        yield {"status": self._state.status, "stopped": stopped}

    def _unit(self, step: Step) -> tuple[bool, str | None, str | None]:
        """Run one unit: whether the call ends with it, the bound of the call it reached, and why it was cut short."""
        try:
            self._shell.statement(step.body)
        except Interrupted as interrupted:
            self._processes.end()
            self._state.status = interrupted.status
            return False, None, str(interrupted)
        except LoopExit:
            self._state.status = 0
        except ShellExit as leave:
            self._state.status = leave.status
            return True, None, None
        except Stop as stop:
            self._processes.end()
            self._state.status = stop.status
            return True, str(stop), None
        return False, None, None

    def _answer(self, number: int, cut: str | None) -> Answer:
        captured = self._watch.finish()
        return {
            "number": number,
            "status": self._state.status,
            "head": captured.head.decode(errors="surrogateescape"),
            "tail": captured.tail.decode(errors="surrogateescape"),
            "between_bytes": captured.between_bytes,
            "between_lines": captured.between_lines,
            "cuts_lines": captured.cuts_lines,
            "refused": self._reports.take("refused"),
            "hint": self._reports.take("hint"),
            "cut": cut,
        }

    def _teach(self, argv: Sequence[str], status: int) -> None:
        for hint in self._teacher.hints(argv, status, self._state.place):
            self._reports.note("hint", hint)
