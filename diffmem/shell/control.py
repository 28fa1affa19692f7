"""What the shell's processes tell the worker that watches them: one JSON object a line, each write atomic.

Standard library only: this module runs in the worker.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

_MAX_TEXT = 600


class Reports:
    """The writing end, shared by the shell and its subshells; the acknowledgements come back to the shell alone."""

    def __init__(self, descriptor: int, acknowledgements: int) -> None:
        self._descriptor = descriptor
        self._acknowledgements = acknowledgements

    def began(self, number: int) -> None:
        """The top-level command of this number starts."""
        self._send("began", number)

    def ended(self, number: int, status: int) -> None:
        """The command ended and its output is complete; comes back when the output has been taken."""
        self._send("ended", number, status)
        os.read(self._acknowledgements, 1)

    def refused(self, message: str) -> None:
        """A simple command was refused."""
        self._send("refused", message[:_MAX_TEXT])

    def hint(self, message: str) -> None:
        """Something the model should know beside the output."""
        self._send("hint", message[:_MAX_TEXT])

    def cut(self, reason: str) -> None:
        """The command was ended before its end; those after it still run."""
        self._send("cut", reason)

    def stop(self, reason: str) -> None:
        """A bound of the call is reached: everything is to be ended."""
        self._send("stop", reason[:_MAX_TEXT])

    def finished(self, status: int) -> None:
        """Nothing is left to run."""
        self._send("finished", status)

    def _send(self, *message: object) -> None:
        os.write(self._descriptor, json.dumps(message).encode() + b"\n")


class Inbox:
    """The reading end: complete messages out of what has arrived."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = b""

    def receive(self) -> Iterator[list[Any]]:
        """The messages that are complete after one read, which waits where nothing has arrived.

        Raises:
            EOFError: every writer is gone.
        """
        data = os.read(self._descriptor, 65536)
        if not data:
            raise EOFError
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        yield from (json.loads(line) for line in lines)
