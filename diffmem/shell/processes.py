"""The processes of one shell: started, waited for, and ended together with whatever they started.

A subshell that is told to end (SIGTERM) ends its own processes first. No process leaves the worker's process group,
which is killed as a whole at the end of the call. Standard library only: this module runs in the worker.
"""

import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from diffmem.shell.stops import MAX_PROCESSES, PIPELINE_MEMORY_BYTES, Stop
from diffmem.shell.watch import Watch

Actions = Sequence[tuple[int, int, int]]

_ENDING_SECONDS = 0.5
_POLL_SECONDS = 0.005
_WRITE_BYTES = 4_096


class Processes:
    """The live processes of this shell, by id, and whether each is a subshell.

    `watch` belongs to the outermost shell: a subshell just blocks. `slots` is a pipe with one byte for each process
    that may run at a time, of all shells of a call together.
    """

    def __init__(self, watch: Watch, slots: tuple[int, int]) -> None:
        self._live: dict[int, bool] = {}
        self._watch: Watch | None = watch
        self._slots = slots
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    def spawn(self, path: str, argv: Sequence[str], environment: Mapping[str, str], actions: Actions) -> int:
        """The id of a new process that runs the program at `path`.

        Raises:
            OSError: the program cannot be started.
        """
        self._take_slot()
        with _undisturbed():
            try:
                pid = os.posix_spawn(
                    path, list(argv), environment, file_actions=actions, setsigmask=(), setsigdef=(signal.SIGXFSZ,)
                )
            except OSError:
                self._give_slot()
                raise
            self._live[pid] = False
        return pid

    def fork(self, run: Callable[[], int]) -> int:
        """The id of a new subshell, which ends with the status that `run` returns in it."""
        self._take_slot()
        with _undisturbed():
            try:
                pid = os.fork()
            except OSError as error:
                raise Stop(f"no process can be started: {error.strerror}") from None
            if pid:
                self._live[pid] = True
                return pid
            self._become_subshell()
        status = 1
        try:
            status = run()
        finally:
            os._exit(status)

    def wait(self, pid: int) -> int:
        """The status of a process when it has ended: its own, or 128 and the signal that ended it."""
        while (ended := os.waitpid(pid, os.WNOHANG if self._watch else 0))[0] == 0:
            assert self._watch is not None
            self._watch.pause()
        if self._live.pop(pid, None) is not None:
            self._give_slot()
        status = os.waitstatus_to_exitcode(ended[1])
        return status if status >= 0 else 128 - status

    def check_time(self) -> None:
        """Return where the call still has time."""
        if self._watch:
            self._watch.check_time()

    def read(self, descriptor: int, size: int) -> bytes:
        """What can be read from a pipe; empty at its end."""
        while self._watch and not _ready(descriptor):
            self._watch.pause(reading=descriptor)
        return os.read(descriptor, size)

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`, which may go to this shell itself."""
        while data:
            if self._watch:
                self._watch.pause(writing=descriptor)
            data = data[os.write(descriptor, data[:_WRITE_BYTES]) :]

    @contextmanager
    def limited(self) -> Iterator[None]:
        """What takes longer than a pipeline may is interrupted: the outermost, by the shell that is no subshell."""
        started = self._watch is not None and self._watch.start_limit()
        try:
            yield
        finally:
            if self._watch is not None and started:
                self._watch.end_limit()

    @contextmanager
    def sharing(self, count: int) -> Iterator[None]:
        """Processes that start here share the memory of a pipeline between `count` of them."""
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        share = PIPELINE_MEMORY_BYTES // count
        if soft == resource.RLIM_INFINITY or share >= soft:
            yield
            return
        resource.setrlimit(resource.RLIMIT_DATA, (share, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

    def end(self) -> None:
        """End every live process of this shell and what it started."""
        self._kill(signal.SIGTERM)
        until = time.monotonic() + _ENDING_SECONDS
        while self._reap() and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        self._kill(signal.SIGKILL)
        for pid in list(self._live):
            os.waitpid(pid, 0)
        self._live.clear()
        while self._try_slot():
            pass
        os.write(self._slots[1], b"." * MAX_PROCESSES)

    def _reap(self) -> int:
        for pid in list(self._live):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._live[pid]
        return len(self._live)

    def _become_subshell(self) -> None:
        self._live = {}
        self._watch = None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, self._terminate)

    def _terminate(self, _signal: int, _frame: FrameType | None) -> None:
        self._kill(signal.SIGTERM)
        os._exit(128 + signal.SIGTERM)

    def _kill(self, subshells_by: signal.Signals) -> None:
        for pid, is_subshell in self._live.items():
            with suppress(ProcessLookupError):
                os.kill(pid, subshells_by if is_subshell else signal.SIGKILL)

    def _take_slot(self) -> None:
        if not self._try_slot():
            raise Stop(f"at most {MAX_PROCESSES} processes run at a time; nest fewer pipes and subshells")

    def _try_slot(self) -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(self._slots[0], 1))
        return False

    def _give_slot(self) -> None:
        os.write(self._slots[1], b".")


def _ready(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


@contextmanager
def _undisturbed() -> Iterator[None]:
    """SIGTERM waits, so that no process is started and not known."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
