"""The server's side of one zygote: start it, have it fork a worker for a call, end it.

*Covered*: the zygote gets no environment, no descriptor but its socket, and no controlling terminal; a call that is
over, by its reply, its deadline, its size or the death of its worker, has no process left when `call` returns.
"""

import json
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from diffmem.limits import Deadline
from diffmem.shell import zygote_frames

Reason = Literal["deadline", "died", "too large"]
_START_SECONDS = 10.0
_SWEEP_SECONDS = 5.0


class WorkerFailed(Exception):
    """A call without a whole reply: its deadline passed, its worker died, or it wrote more than it may.

    `partial` holds the whole frames that came before.
    """

    def __init__(self, reason: Reason, detail: str = "", partial: bytes = b"") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.partial = partial


class ZygoteGone(Exception):
    """The zygote could not be started, or is no more."""


class ZygoteProcess:
    """One running zygote. Several threads may call at once."""

    def __init__(self, worker: Path) -> None:
        """Start it and wait until it is ready.

        Raises:
            ZygoteGone: it did not come up; the message says why.
        """
        self._sending = threading.Lock()
        ours, theirs = socket.socketpair()
        with theirs:
            self._control = ours
            self._process = _start(theirs, worker)
        try:
            self._control.settimeout(_START_SECONDS)
            _expect_ready(self._control)
        except ZygoteGone:
            self.close()
            raise

    def alive(self) -> bool:
        """Whether it still listens. It never writes once it is ready: what can be read is the end."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        return not poll.poll(0)

    def call(self, order: Mapping[str, object], request: bytes, deadline: Deadline, max_output_bytes: int) -> bytes:
        """The worker's reply, all frames joined.

        Raises:
            WorkerFailed: no whole reply in time and in bounds.
            ZygoteGone: the zygote died; the call can be made again elsewhere, since it has no effect.
        """
        channel, far_channel = socket.socketpair()
        leash, far_leash = socket.socketpair()
        with channel, leash:
            with far_channel, far_leash:
                self._order(order, far_channel, far_leash)
            try:
                return _Exchange(channel, deadline, max_output_bytes).reply_to(request)
            except WorkerFailed as failed:
                if failed.reason == "died" and not self.alive():
                    raise ZygoteGone("the zygote died") from failed
                raise
            finally:
                _end(leash)

    def close(self) -> None:
        """End it and everything it started."""
        self._control.close()
        try:
            self._process.wait(_SWEEP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Let go of a zygote that belongs to the process this one was forked from."""
        self._control.close()
        self._process.returncode = 0  # it is another process's child: nothing to wait for

    def _order(self, order: Mapping[str, object], channel: socket.socket, leash: socket.socket) -> None:
        try:
            with self._sending:
                zygote_frames.send_order(self._control, json.dumps(order).encode(), channel, leash)
        except OSError as error:
            raise ZygoteGone("the zygote died") from error


class _Exchange:
    """One request and its reply on a channel, under a deadline and a bound."""

    def __init__(self, channel: socket.socket, deadline: Deadline, max_output_bytes: int) -> None:
        self._channel = channel
        self._deadline = deadline
        self._room = max_output_bytes
        self._reply = bytearray()

    def reply_to(self, request: bytes) -> bytes:
        try:
            self._wait()
            self._channel.sendall(zygote_frames.LENGTH.pack(len(request)) + request)
            while (length := zygote_frames.LENGTH.unpack(self._receive(zygote_frames.LENGTH.size))[0]) != 0:
                self._frame(length)
        except TimeoutError as error:
            raise self._failed("deadline") from error
        except (EOFError, OSError) as error:
            raise self._failed("died") from error
        return bytes(self._reply)

    def _frame(self, length: int) -> None:
        if length == zygote_frames.ERROR:
            length = zygote_frames.LENGTH.unpack(self._receive(zygote_frames.LENGTH.size))[0]
            raise self._failed("died", self._receive(min(length, 2000)).decode(errors="replace"))
        if length > self._room:
            raise self._failed("too large")
        self._room -= length
        self._reply += self._receive(length)

    def _receive(self, size: int) -> bytes:
        chunks: list[bytes] = []
        while size:
            self._wait()
            chunk = self._channel.recv(min(size, 1 << 20))
            if not chunk:
                raise EOFError
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _wait(self) -> None:
        remaining = self._deadline.remaining()
        if not remaining:
            raise TimeoutError
        self._channel.settimeout(remaining)

    def _failed(self, reason: Reason, detail: str = "") -> WorkerFailed:
        return WorkerFailed(reason, detail, bytes(self._reply))


def _start(control: socket.socket, worker: Path) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise ZygoteGone("the path of the Python interpreter is unknown")
    script = Path(__file__).with_name("zygote_main.py")
    line = [sys.executable, "-I", "-S", str(script), str(control.fileno()), str(worker)]
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            line,
            env={},
            cwd="/",
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            pass_fds=(control.fileno(),),
            start_new_session=True,
        )
    except OSError as error:
        raise ZygoteGone(f"the zygote could not be started: {error.strerror}") from error


def _expect_ready(control: socket.socket) -> None:
    try:
        length = zygote_frames.receive_length(control)
        text = (
            zygote_frames.receive_frame(control)
            if length == zygote_frames.ERROR
            else zygote_frames.receive(control, length)
        )
    except (EOFError, OSError) as error:
        raise ZygoteGone("the zygote did not come up") from error
    if length == zygote_frames.ERROR:
        raise ZygoteGone(f"the zygote did not come up: {text.decode(errors='replace')}")


def _end(leash: socket.socket) -> None:
    """Let go of the leash and wait until the zygote has: nothing of the call is left then."""
    leash.settimeout(_SWEEP_SECONDS)
    try:
        leash.shutdown(socket.SHUT_WR)
        leash.recv(1)
    except OSError:
        return
