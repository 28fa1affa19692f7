"""The processes of one shell: started, waited for, and ended together with whatever they started.

Signals that interrupt the shell are blocked but where it waits, so that no process is started and lost and no redirection is
left half undone. A subshell that is told to end (SIGTERM) ends its own processes first. No process leaves the worker's
process group, which is killed as a whole at the end of the call.
Standard library only: this module runs in the worker.
"""

import os
import resource
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from diffmem.shell.stops import MAX_PROCESSES, PIPELINE_MEMORY_BYTES, Interrupted, Stop

_INTERRUPTS = (signal.SIGALRM, signal.SIGUSR1)
_ALL = (*_INTERRUPTS, signal.SIGTERM)
_ENDING_SECONDS = 0.5

Actions = Sequence[tuple[int, int, int]]


class Processes:
    """The live processes of this shell, by id, and whether each is a subshell.

    `slots` is a pipe with one byte for each process that may run at a time, of all shells of a call together.
    """

    def __init__(self, pipeline_seconds: float, slots: tuple[int, int]) -> None:
        self._live: dict[int, bool] = {}
        self._slots = slots
        self._seconds = pipeline_seconds
        self._is_subshell = False
        self._is_timed = False
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, self._terminate)
        signal.signal(signal.SIGALRM, self._late)
        signal.signal(signal.SIGUSR1, _too_much)

    def spawn(self, path: str, argv: Sequence[str], environment: Mapping[str, str], actions: Actions) -> int:
        """The id of a new process that runs the program at `path`.

        Raises:
            OSError: the program cannot be started.
        """
        self._take_slot()
        with _blocked(signal.SIG_BLOCK, _ALL):
            try:
                pid = os.posix_spawn(
                    path,
                    list(argv),
                    environment,
                    file_actions=actions,
                    setsigmask=(),
                    setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
                )
            except OSError:
                self._give_slot()
                raise
            self._live[pid] = False
        return pid

    def fork(self, run: Callable[[], int]) -> int:
        """The id of a new subshell, which ends with the status that `run` returns in it."""
        self._take_slot()
        with _blocked(signal.SIG_BLOCK, _ALL):
            pid = os.fork()
            if pid:
                self._live[pid] = True
                return pid
            self._live = {}
            self._is_subshell = True
        status = 1
        try:
            status = run()
        finally:
            os._exit(status)

    def wait(self, pid: int) -> int:
        """The status of a process when it has ended: its own, or 128 and the signal that ended it."""
        with self.interruptible():
            _, code = os.waitpid(pid, 0)
        if self._live.pop(pid, None) is not None:
            self._give_slot()
        status = os.waitstatus_to_exitcode(code)
        return status if status >= 0 else 128 - status

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Where the shell may be interrupted: `Interrupted` may rise here."""
        with _blocked(signal.SIG_UNBLOCK, () if self._is_subshell else _INTERRUPTS):
            yield

    @contextmanager
    def sharing(self, count: int) -> Iterator[None]:
        """Processes that start here share the memory of a pipeline between `count` of them."""
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        share = PIPELINE_MEMORY_BYTES // count
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (min(soft, share), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What takes longer than a pipeline may is interrupted. The outermost counts, and the shell that waits for subshells."""
        if self._is_subshell or self._is_timed:
            yield
            return
        self._is_timed = True
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._is_timed = False
            self.forget_interrupts()

    def forget_interrupts(self) -> None:
        """Drop interrupts that came too late to interrupt anything."""
        for pending in signal.sigpending() & set(_INTERRUPTS):
            signal.sigtimedwait((pending,), 0)

    def end(self) -> None:
        """End every live process of this shell and what it started."""
        self._kill()
        signal.setitimer(signal.ITIMER_REAL, _ENDING_SECONDS)
        with suppress(Interrupted):
            for pid in list(self._live):
                self.wait(pid)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.forget_interrupts()
        for pid in list(self._live):
            os.kill(pid, signal.SIGKILL)
            self.wait(pid)
        while self._try_slot():
            pass
        os.write(self._slots[1], b"." * MAX_PROCESSES)

    def _take_slot(self) -> None:
        if not self._try_slot():
            raise Stop(
                f"at most {MAX_PROCESSES} processes run at a time; use fewer pipes and subshells inside one another"
            )

    def _try_slot(self) -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(self._slots[0], 1))
        return False

    def _give_slot(self) -> None:
        os.write(self._slots[1], b".")

    def _kill(self) -> None:
        for pid, is_subshell in self._live.items():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if is_subshell else signal.SIGKILL)

    def _terminate(self, _signal: int, _frame: FrameType | None) -> None:
        self._kill()
        os._exit(128 + signal.SIGTERM)

    def _late(self, _signal: int, _frame: FrameType | None) -> None:
        raise Interrupted(f"stopped: it took longer than {self._seconds:g} s", 124)


def _too_much(_signal: int, _frame: FrameType | None) -> None:
    raise Interrupted("stopped: it wrote more than is read", 128 + signal.SIGKILL)


@contextmanager
def _blocked(how: int, signals: Sequence[signal.Signals]) -> Iterator[None]:
    before = signal.pthread_sigmask(how, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
