"""The worker of one call: it runs a parsed command in a shell process, watches it, and answers with what each command wrote.

    request   {"tree": dump(Block), "root": "/...", "git_environment": {...}, "git_flags": [...], "seconds": 14.8,
               "pipeline_seconds": 8.0, "max_bytes": 24000, "raw": false}  (see `tool`)
    answer    {"number": 0, "status": 0, "head": "...", "tail": "...", "between_bytes": 0, "between_lines": 0, "refused": [],
               "hint": [], "cut": null}         one line for each command of the chain that was run, written when it has ended
              {"status": 0, "stopped": null}    the last line

Bytes travel as text with surrogates for what is no UTF-8. The watching process reads pipes into bounded buffers and never interprets
anything, so that it can end the shell at the deadline whatever that does.
*Not covered here*: confinement, which the process is under before this module runs, and killing the process group afterwards.
Standard library only: this module runs under `python -I -S`.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from diffmem.shell import policy
from diffmem.shell.capture import Capture
from diffmem.shell.control import Inbox, Reports
from diffmem.shell.jobs import Check, Settings
from diffmem.shell.processes import Processes
from diffmem.shell.stops import MAX_COMMANDS, MAX_PROCESSES
from diffmem.shell.tree import Block, load
from diffmem.shell.units import Units

MAX_READ_BYTES = 16_000_000
REFUSED, OUT_OF_TIME, KILLED = 126, 124, 137

_GRACE_SECONDS = 0.5
_CHUNK = 65_536
_KEPT = ("PATH", "LC_ALL", "HOME", "TZ")


def main(request: bytes, write: Callable[[bytes], object], check: Check = policy.check) -> None:
    """Carry out a request and write the answer."""
    call = json.loads(request)
    _Watch(call, check, lambda answer: write(json.dumps(answer).encode() + b"\n")).run()


class _Watch:
    """Starts the shell process and takes its output and its reports until it is done, stopped or out of time."""

    def __init__(self, call: dict[str, Any], check: Check, answer: Callable[[dict[str, Any]], object]) -> None:
        self._call = call
        self._check = check
        self._answer = answer
        self._deadline = time.monotonic() + call["seconds"]
        self._room = 4 * call["max_bytes"]
        self._capture = self._new_capture()
        self._status = 0
        self._stopped: str | None = None
        self._done = False
        self._number: int | None = None
        self._notes: dict[str, Any] = _notes()
        self._cut_at: float | None = None

    def run(self) -> None:
        """Answer with what the call comes to."""
        self._output, writing = os.pipe()
        reports, reporting = os.pipe()
        acknowledged, self._acknowledge = os.pipe()
        os.set_blocking(self._output, False)
        self._pid = os.fork()
        if self._pid == 0:
            for descriptor in (self._output, reports, self._acknowledge):
                os.close(descriptor)
            _run_shell(self._call, self._check, writing, Reports(reporting, acknowledged))
        for descriptor in (writing, reporting, acknowledged):
            os.close(descriptor)
        self._watch(Inbox(reports), reports)
        self._end(reports)
        if self._number is not None:
            self._drain()
            self._finish_unit(self._number, self._status)
        self._answer({"status": self._status, "stopped": self._stopped})

    def _watch(self, inbox: Inbox, reports: int) -> None:
        while not self._done and not self._stopped:
            left = min(self._deadline, self._cut_at or self._deadline) - time.monotonic()
            if left <= 0:
                self._stop("out of time", OUT_OF_TIME)
                return
            ready, _, _ = select.select([self._output, reports], [], [], left)
            if self._output in ready:
                self._take()
            if reports in ready:
                self._receive(inbox)

    def _receive(self, inbox: Inbox) -> None:
        try:
            for kind, *details in inbox.receive():
                self._on(kind, *details)
        except EOFError:
            self._stop("the shell was ended: out of memory or processor time", KILLED)

    def _on(self, kind: str, *details: Any) -> None:
        if kind == "began":
            self._number = details[0]
        elif kind == "ended":
            self._drain()
            self._finish_unit(*details)
            os.write(self._acknowledge, b".")
        elif kind == "finished":
            self._status, self._done = details[0], True
        elif kind == "stop":
            self._stop(details[0], REFUSED)
        elif kind == "cut":
            self._notes["cut"] = details[0]
        elif details[0] not in self._notes[kind]:
            self._notes[kind].append(details[0])

    def _stop(self, reason: str, status: int) -> None:
        if not self._stopped:
            self._stopped, self._status = reason, status

    def _take(self) -> bool:
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._capture.feed(data)
        if self._capture.total_bytes > MAX_READ_BYTES and self._cut_at is None:
            os.kill(self._pid, signal.SIGUSR1)
            self._cut_at = time.monotonic() + 2 * _GRACE_SECONDS
        return bool(data)

    def _drain(self) -> None:
        while self._take():
            pass

    def _finish_unit(self, number: int, status: int) -> None:
        captured = self._capture.result()
        self._answer(
            {
                "number": number,
                "status": status,
                "head": captured.head.decode(errors="surrogateescape"),
                "tail": captured.tail.decode(errors="surrogateescape"),
                "between_bytes": captured.between_bytes,
                "between_lines": captured.between_lines,
                **self._notes,
            }
        )
        self._room -= len(captured.head) + len(captured.tail)
        self._number, self._notes, self._cut_at = None, _notes(), None
        self._capture = self._new_capture()

    def _new_capture(self) -> Capture:
        """Room for the next output: all a call may show, until the outputs before it took a few times that much."""
        most: int = self._call["max_bytes"]
        if self._call["raw"]:
            return Capture(max(0, most - (4 * most - self._room)), True)
        return Capture(most if self._room > 0 else most // 50, False)

    def _end(self, reports: int) -> None:
        """End the shell and everything it started; our own process group is the call's, and we ignore the signal."""
        if not self._done:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.getpgrp() == os.getpid():
                os.killpg(0, signal.SIGTERM)
            else:
                os.kill(self._pid, signal.SIGTERM)
            _wait_for_end(reports, time.monotonic() + _GRACE_SECONDS)
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _notes() -> dict[str, Any]:
    return {"refused": [], "hint": [], "cut": None}


def _wait_for_end(reports: int, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([reports], [], [], left)
        if ready and not os.read(reports, _CHUNK):
            return


def _run_shell(call: dict[str, Any], check: Check, output: int, reports: Reports) -> None:
    """The shell process; does not return."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(null if call["raw"] else output, 2)
        os.closerange(output, output + 1)
        os.chdir(call["root"])
        environment = {name: value for name, value in call["git_environment"].items() if name in _KEPT}
        settings = Settings(call["git_environment"], environment, tuple(call["git_flags"]), check)
        block = load(call["tree"])
        assert isinstance(block, Block)
        processes = Processes(call["pipeline_seconds"], _tokens(MAX_PROCESSES))
        Units(settings, call["root"], processes, reports, _tokens(MAX_COMMANDS)[0], teaches=not call["raw"]).run(block)
    finally:
        os._exit(0)


def _tokens(count: int) -> tuple[int, int]:
    """A pipe that holds `count` bytes, for the shells of a call to take, one at a time, and to put back; taking never waits."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b"." * count)
    return reading, writing
