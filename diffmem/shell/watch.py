"""The shell's eye on its own output while it waits: it takes what is written into bounded buffers, and keeps the time.

The shell's standard output is a pipe to itself. Wherever it would block it waits here instead, so that the pipe never
fills up, and a process that writes or runs too long is noticed at once. Standard library only: this module runs in
the worker.
"""

import os
import select
import signal
import time

from diffmem.shell.capture import Capture, Captured
from diffmem.shell.control import Reports
from diffmem.shell.stops import KILLED, MAX_CPU_SECONDS, MAX_READ_BYTES, OUT_OF_TIME, Interrupted, Stop

_CHUNK = 65_536


class Watch:
    """Belongs to the one shell of a call, not to its subshells. `writing` is for the processes' output.

    Every method that waits raises `Interrupted` where the current command must end, and `Stop` where the call must.
    """

    def __init__(self, reports: Reports, seconds: float, pipeline_seconds: float, max_bytes: int, raw: bool) -> None:
        self._deadline = time.monotonic() + seconds
        self._pipeline_seconds = pipeline_seconds
        self._limit: float | None = None
        self._reports = reports
        self._raw = raw
        self._max_bytes = max_bytes
        self._kept_bytes = 0
        self._output, self.writing = os.pipe()
        self._woken, self._waking = os.pipe()
        for descriptor in (self._output, self._woken, self._waking):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        self._capture = self._new_capture()

    def start_limit(self) -> bool:
        """Give what runs from now on the time of a pipeline; whether it was not limited already."""
        started = self._limit is None
        if started:
            self._limit = time.monotonic() + self._pipeline_seconds
        return started

    def end_limit(self) -> None:
        """What was limited has ended."""
        self._limit = None

    def check_time(self) -> None:
        """Return where there is time left: for the call, and for what is limited."""
        now = time.monotonic()
        if now >= self._deadline:
            raise Stop("out of time", OUT_OF_TIME)
        if time.process_time() > MAX_CPU_SECONDS:
            raise Stop(
                "the loops and patterns themselves took too long; use: grep, sed or awk on the files", OUT_OF_TIME
            )
        if self._limit is not None and now >= self._limit:
            raise Interrupted(f"stopped: it took longer than {self._pipeline_seconds:g} s", OUT_OF_TIME)

    def pause(self, reading: int | None = None, writing: int | None = None) -> None:
        """Wait until a process has ended, or a descriptor is ready, and take what was written meanwhile."""
        self.check_time()
        left = min(self._deadline, self._limit or self._deadline) - time.monotonic()
        readable = [self._output, self._reports.descriptor, self._woken, *([] if reading is None else [reading])]
        ready, _, _ = select.select(readable, [] if writing is None else [writing], [], max(0, left))
        if self._woken in ready:
            os.read(self._woken, _CHUNK)
        if self._output in ready:
            self._take()
        if self._reports.descriptor in ready:
            self._reports.receive()
        if self._reports.stop:
            raise Stop(self._reports.stop)

    def finish(self) -> Captured:
        """The output since the last time, complete where no process is left."""
        while self._take(checked=False):
            pass
        self._reports.receive()
        captured = self._capture.result()
        self._kept_bytes += len(captured.head) + len(captured.tail)
        self._capture = self._new_capture()
        return captured

    def _take(self, checked: bool = True) -> bool:
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._capture.feed(data)
        if checked and self._capture.total_bytes > MAX_READ_BYTES:
            raise Interrupted(f"stopped: it wrote more than {MAX_READ_BYTES // 1_000_000} MB", KILLED)
        return True

    def _new_capture(self) -> Capture:
        """Room for the next output: all that a call may show, until those before it took a few times that much."""
        most = self._max_bytes
        if self._raw:
            return Capture(max(0, most - self._kept_bytes), raw=True)
        return Capture(most if self._kept_bytes < 4 * most else most // 50, raw=False)
