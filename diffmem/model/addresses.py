"""Addresses of host names, looked up under a deadline.

The system's resolver (getaddrinfo) cannot be interrupted: a thread that waits for it outlives the request by up to half
a minute where a name server is silent. So the call is made in a child process, a bare Python that imports nothing, and
the child is killed when time is over. It costs about 15 ms, hence the memory: an answer is good for five minutes, or
until nothing can be reached there, and an old answer is better than none.

`os.posix_spawn` and not `subprocess`: one fixed program, no shell, no environment, no fork of a process with threads.
"""

import ipaddress
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LOOKUP = """
import _socket, sys
try:
    found = _socket.getaddrinfo(sys.argv[1], 0, 0, _socket.SOCK_STREAM)
except OSError as error:
    sys.exit(str(error))
for family, _, _, _, address in found:
    if family in (_socket.AF_INET, _socket.AF_INET6):
        print("v4" if family == _socket.AF_INET else "v6", address[0])
"""

_MAX_ANSWER_BYTES = 64 * 1024
_STALE_WAIT_SECONDS = 1.0  # for a better answer than the old one
_RETRY_SECONDS = 30.0  # before a lookup that failed is made again


@dataclass(frozen=True, slots=True)
class Address:
    """A numeric address and the family of sockets that reach it."""

    family: socket.AddressFamily
    host: str


class Addresses:
    """A memory of looked-up names. `command` is the program that looks up the name given as its last argument."""

    def __init__(
        self,
        command: Sequence[str] = (sys.executable, "-I", "-S", "-c", LOOKUP),
        *,
        fresh_seconds: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = tuple(command)
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._known: dict[str, tuple[float, tuple[Address, ...]]] = {}
        self._lock = threading.Lock()

    def of(self, host: str, seconds: float) -> tuple[Address, ...]:
        """The addresses of `host`, at least one, within `seconds`. Numbers and `localhost` (RFC 6761) need no lookup.

        Raises:
            TimeoutError: the lookup was cut off.
            OSError: there is no such name.
        """
        if fixed := _without_lookup(host):
            return fixed
        with self._lock:
            looked_up_at, known = self._known.get(host, (0.0, ()))
        if known and self._clock() - looked_up_at < self._fresh_seconds:
            return known
        try:
            found, age = self._look_up(host, min(seconds, _STALE_WAIT_SECONDS) if known else seconds), 0.0
        except OSError:
            if not known:
                raise
            found, age = known, self._fresh_seconds - _RETRY_SECONDS
        with self._lock:
            self._known[host] = (self._clock() - age, found)
        return found

    def doubt(self, host: str) -> None:
        """Look `host` up again next time: nothing was reached at its addresses."""
        with self._lock:
            if host in self._known:
                self._known[host] = (float("-inf"), self._known[host][1])

    def _look_up(self, host: str, seconds: float) -> tuple[Address, ...]:
        answer = _output((*self._command, host), seconds)
        found = tuple(dict.fromkeys(filter(None, map(_address, answer.decode("ascii", "replace").splitlines()))))
        if not found:
            raise OSError(f"no address is known for {host!r}")
        return found


def _without_lookup(host: str) -> tuple[Address, ...]:
    if host == "localhost" or host.endswith(".localhost"):
        return Address(socket.AF_INET, "127.0.0.1"), Address(socket.AF_INET6, "::1")
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return ()
    return (Address(socket.AF_INET if version == 4 else socket.AF_INET6, host),)


def _address(line: str) -> Address | None:
    family, _, host = line.partition(" ")
    return Address(socket.AF_INET if family == "v4" else socket.AF_INET6, host) if host else None


def _output(argv: Sequence[str], seconds: float) -> bytes:
    """What a child process writes to its standard output within `seconds`; it is gone when this returns."""
    until = time.monotonic() + seconds
    reading, writing = os.pipe()
    try:
        try:
            child = _spawn(argv, writing)
        finally:
            os.close(writing)
        try:
            return _read(reading, until)
        finally:
            os.kill(child, signal.SIGKILL)  # it is not reaped yet, so the number is still its own
            os.waitpid(child, 0)
    finally:
        os.close(reading)


def _spawn(argv: Sequence[str], stdout: int) -> int:
    silence = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
    return os.posix_spawn(argv[0], list(argv), {}, file_actions=[*silence, (os.POSIX_SPAWN_DUP2, stdout, 1)])


def _read(fd: int, until: float) -> bytes:
    poll = select.poll()
    poll.register(fd, select.POLLIN | select.POLLHUP)
    answer = b""
    while len(answer) < _MAX_ANSWER_BYTES:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(max(1, int(left * 1000))):
            raise TimeoutError("the name lookup took too long")
        piece = os.read(fd, 4096)
        if not piece:
            break
        answer += piece
    return answer
