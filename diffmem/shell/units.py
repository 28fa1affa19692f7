"""The commands of a chain, run one after the other, each with its own output, status and notes.

Standard library only: this module runs in the worker.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from diffmem.shell.control import Reports
from diffmem.shell.interpreter import Interpreter, runs
from diffmem.shell.jobs import Settings
from diffmem.shell.processes import Processes
from diffmem.shell.state import State
from diffmem.shell.stops import KILLED, REFUSED, Interrupted, LoopExit, ShellExit, Stop
from diffmem.shell.teaching import Teacher
from diffmem.shell.tree import Block, Step
from diffmem.shell.watch import Watch

Answer = dict[str, Any]
"""One line of the worker's answer."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a unit ended: with another status than its last command's, cut short, or with the call."""

    status: int | None = None
    cut: str | None = None
    stopped: str | None = None
    is_last: bool = False


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
        ended = _Ended()
        for number, step in enumerate(block.steps):
            if not runs(step.link, self._state.status):
                continue
            ended = self._unit(step)
            self._state.status = self._state.status if ended.status is None else ended.status
            yield self._answer(number, ended.cut)
            if self._reports.stop and not ended.stopped:  # by a subshell that had ended when this was looked at
                ended = _Ended(REFUSED, stopped=self._reports.stop, is_last=True)
                self._state.status = REFUSED
            if ended.is_last:
                break
        yield {"status": self._state.status, "stopped": ended.stopped}

    def _unit(self, step: Step) -> _Ended:
        try:
            self._shell.statement(step.body)
        except LoopExit:
            return _Ended(0)
        except ShellExit as leave:
            return _Ended(leave.status, is_last=True)
        except Interrupted as interrupted:
            ended = _Ended(interrupted.status, cut=str(interrupted))
        except OSError as error:
            ended = _Ended(1, cut=f"stopped: {error.strerror}")
        except MemoryError:
            ended = _Ended(KILLED, cut="stopped: out of memory")
        except Stop as stop:
            ended = _Ended(stop.status, stopped=str(stop), is_last=True)
        else:
            return _Ended()
        self._processes.end()
        return ended

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
