"""What the shell and its subshells have to say beside the output: refusals, hints, and that the call must end.

The shell keeps it; a subshell sends it to the shell through a pipe, one JSON object a line, each write atomic.
Standard library only: this module runs in the worker.
"""

import json
import os
from collections.abc import Sequence
from typing import Literal

Kind = Literal["refused", "hint", "stop"]

_MAX_TEXT = 600
_MAX_NOTES = 12


class Reports:
    """The notes on one command after the other; see `take`."""

    def __init__(self) -> None:
        self.descriptor, self._sending = os.pipe()
        os.set_blocking(self.descriptor, False)
        self._is_subshell = False
        self._buffer = b""
        self._notes: dict[Kind, list[str]] = {}

    def enter_subshell(self) -> None:
        """From here on notes go to the shell this process was forked from."""
        self._is_subshell = True

    def note(self, kind: Kind, text: str) -> None:
        """Note something once."""
        if self._is_subshell:
            os.write(self._sending, json.dumps((kind, text[:_MAX_TEXT])).encode() + b"\n")
        else:
            self._keep(kind, text[:_MAX_TEXT])

    def receive(self) -> None:
        """Take what subshells have sent."""
        try:
            while data := os.read(self.descriptor, 65536):
                *lines, self._buffer = (self._buffer + data).split(b"\n")
                for line in lines:
                    self._keep(*json.loads(line))
        except BlockingIOError:
            return

    @property
    def stop(self) -> str | None:
        """The bound of the call that a subshell reached, if one did."""
        return next(iter(self._notes.get("stop", ())), None)

    def take(self, kind: Kind) -> Sequence[str]:
        """The notes of one kind since they were last taken."""
        return self._notes.pop(kind, [])

    def _keep(self, kind: Kind, text: str) -> None:
        kept = self._notes.setdefault(kind, [])
        if text not in kept and len(kept) < _MAX_NOTES:
            kept.append(text)
