"""Processes for pieces of the tree: simple commands, the stages of pipelines, subshells, and what `$( )` captures.

A stage that is one program with plain words is started at once; anything else runs in a fork of the interpreter.
Standard library only: this module runs in the worker.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from diffmem.shell.control import Reports
from diffmem.shell.expansion import Expander
from diffmem.shell.policy import Admitted, Refused
from diffmem.shell.processes import Processes
from diffmem.shell.rules import Rules
from diffmem.shell.state import State
from diffmem.shell.stops import KILLED, MAX_COMMANDS, MAX_TEXT, MISSING, ExpansionError, LoopExit, ShellExit, Stop
from diffmem.shell.streams import RedirectError, Streams
from diffmem.shell.tree import Arithmetic, Block, Command, Parameter, Pipeline, Statement, Substitution, Word

Teach = Callable[[Sequence[str], int], None]
Pairs = Sequence[tuple[int, int]]
"""Descriptors to duplicate, in order: from, to."""

_ENDED = "a command was ended before it was done (CPU time or memory): what came of it, also through a pipe, is a part"


@dataclass(frozen=True, slots=True)
class Settings:
    """What all commands of a call share: environments for git and other programs, git's global flags, the policy."""

    git_environment: Mapping[str, str]
    environment: Mapping[str, str]
    git_flags: tuple[str, ...]
    rules: Rules


class Jobs:
    """Starts and waits for what one shell runs.

    `run` interprets a statement in a fork. `allowance` is a descriptor from which each command and each fork takes
    one byte, all the shells of a call together.
    """

    def __init__(
        self,
        settings: Settings,
        state: State,
        processes: Processes,
        reports: Reports,
        allowance: int,
        run: Callable[[Statement], int],
    ) -> None:
        self._settings = settings
        self._state = state
        self._processes = processes
        self._reports = reports
        self._allowance = allowance
        self._run = run
        self.expander = Expander(state, self.substitute)
        self.streams = Streams(settings.rules, state, processes, self.expander.text)
        self.teach: Teach = lambda argv, status: None

    def admit(self, argv: Sequence[str]) -> Admitted:
        """What the policy lets run in place of `argv`, which counts as one command.

        Raises:
            Refused: by the policy.
            Stop: as many commands as a call may run have been run.
        """
        admitted = self._settings.rules.admit(argv, self._state.directory, self._state.tree)
        self._take_allowance()
        return admitted

    def program(self, admitted: Admitted, pairs: Pairs) -> int:
        """The status of a program that is waited for, its streams duplicated from `pairs`."""
        pid = self._spawn(admitted, pairs)
        if pid is None:
            return MISSING
        status = self._wait(pid)
        self.teach(admitted.argv, status)
        return status

    def subshell(self, body: Block) -> int:
        """The status of a block that runs in a fork."""
        with self._processes.limited():
            return self._wait(self._fork(body, ()))

    def pipeline(self, node: Pipeline) -> int:
        """The status of the last stage, when every stage has ended."""
        stages: list[tuple[int | None, Admitted | None]] = []
        reading: int | None = None
        with self._processes.limited(), self._processes.sharing(len(node.stages)):
            try:
                for position, stage in enumerate(node.stages):
                    source, reading, writing = reading, None, None
                    if position < len(node.stages) - 1:
                        reading, writing = os.pipe()
                    both = writing is not None and node.both[position]
                    stages.append(self._stage(stage, source, writing, both, reading))
                    _close(source, writing)
            finally:
                _close(reading)
            statuses = [MISSING if pid is None else self._wait(pid) for pid, _ in stages]
        for (_, admitted), status in zip(stages, statuses, strict=True):
            if admitted is not None:
                self.teach(admitted.argv, status)
        return statuses[-1]

    def substitute(self, body: Block) -> str:
        """What a block writes, without the newlines at its end."""
        only = body.steps[0].body if len(body.steps) == 1 else body
        data, status = self._collect(lambda writing, reading: self._stage(only, None, writing, False, reading)[0])
        self._state.substituted = self._state.status = status
        if len(data) > MAX_TEXT:
            raise ExpansionError(f"more than {MAX_TEXT} characters from $( )")
        return data.replace(b"\0", b"").rstrip(b"\n").decode(errors="surrogateescape")

    def output_of(self, argv: Sequence[str]) -> str:
        """What one program writes, without counting and without hints."""
        admitted = self._settings.rules.admit(argv, self._state.directory, self._state.tree)
        errors = (self.streams.null, 2)
        data, _ = self._collect(lambda writing, _: self._spawn(admitted, [(writing, 1), errors]))
        return data.decode(errors="replace")

    def _collect(self, start: Callable[[int, int], int | None]) -> tuple[bytes, int]:
        """What the process that `start` makes writes into a pipe, up to a bound, and its status."""
        reading, writing = os.pipe()
        data = bytearray()
        with self._processes.limited():
            try:
                pid = start(writing, reading)
                os.close(writing)
                while len(data) <= MAX_TEXT and (chunk := self._processes.read(reading, 65536)):
                    data += chunk
            finally:
                os.close(reading)
            return bytes(data), MISSING if pid is None else self._wait(pid)

    def _wait(self, pid: int) -> int:
        """The status of a process when it has ended; that it was killed is said, since a pipeline's status hides it."""
        status = self._processes.wait(pid)
        if status == KILLED:
            self._reports.note("hint", _ENDED)
        return status

    def _stage(
        self, stage: Statement, source: int | None, target: int | None, both: bool, other: int | None
    ) -> tuple[int | None, Admitted | None]:
        """A process for a stage between two pipe ends; `other` is an end that it must not hold open."""
        pairs = [(fd, number) for fd, number in ((source, 0), (target, 1)) if fd is not None]
        errors = [(1, 2)] if both else []
        admitted = self._plainly_admitted(stage)
        if admitted is not None and isinstance(stage, Command):
            with suppress(RedirectError, Refused), self.streams.opened(stage.redirects) as own:
                self._take_allowance()
                return self._spawn(admitted, [*pairs, *own, *errors]), admitted
        return self._fork(stage, [*pairs, *errors], other), None

    def _plainly_admitted(self, stage: Statement) -> Admitted | None:
        """The program that a stage is, where that can be said here: no error, and nothing else runs or is set."""
        if not isinstance(stage, Command) or not _is_plain(stage):
            return None
        try:
            admitted = self._settings.rules.admit(
                self.expander.arguments(stage.words), self._state.directory, self._state.tree
            )
        except (ExpansionError, Refused):
            return None
        return None if admitted.kind == "builtin" else admitted

    def _spawn(self, admitted: Admitted, pairs: Pairs) -> int | None:
        """The id of a new process for a program; None where it cannot be started, which standard error says."""
        is_git = admitted.kind == "git"
        environment = self._settings.git_environment if is_git else self._settings.environment
        name, *rest = admitted.argv
        path = self._settings.rules.find(name)
        if path is None:
            self._processes.write(2, f"bash: line 1: {name}: command not found\n".encode())
            return None
        argv = [name, *(self._settings.git_flags if is_git else ()), *rest]
        try:
            return self._processes.spawn(path, argv, environment, [(os.POSIX_SPAWN_DUP2, *pair) for pair in pairs])
        except OSError as error:
            self._processes.write(2, f"bash: line 1: {name}: {error.strerror}\n".encode())
            return None

    def _fork(self, node: Statement, pairs: Pairs, other: int | None = None) -> int:
        self._take_allowance()
        return self._processes.fork(lambda: self._in_fork(node, pairs, other))

    def _in_fork(self, node: Statement, pairs: Pairs, other: int | None) -> int:
        self._reports.enter_subshell()
        try:
            for source, fd in pairs:
                os.dup2(source, fd)
            _close(other, *{source for source, _ in pairs if source > 2})
            return self._run(node)
        except ShellExit as leave:
            return leave.status
        except LoopExit:
            return 0
        except Stop as stop:
            self._reports.note("stop", str(stop))
            return stop.status

    def _take_allowance(self) -> None:
        try:
            os.read(self._allowance, 1)
        except BlockingIOError:
            raise Stop(
                f"one call runs at most {MAX_COMMANDS} commands; narrow it, or give many files to one command"
            ) from None


def _is_plain(command: Command) -> bool:
    words = [*command.words, *(redirect.word for redirect in command.redirects)]
    large = any(redirect.kind in ("text", "line") for redirect in command.redirects)
    return bool(command.words) and not command.assignments and not large and all(_is_plain_word(word) for word in words)


def _is_plain_word(word: Word) -> bool:
    for part in word:
        if isinstance(part, Substitution | Arithmetic):
            return False
        if isinstance(part, Parameter) and (
            part.operator in (":=", "=") or not all(map(_is_plain_word, part.arguments))
        ):
            return False
    return True


def _close(*descriptors: int | None) -> None:
    for descriptor in descriptors:
        if descriptor is not None:
            os.close(descriptor)
