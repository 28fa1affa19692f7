"""What a command prints: answers on standard output, progress and notes on standard error.

*Covered*: what somebody wrote into a memory, a file's name or a commit gives a terminal no orders. *Not covered*: what
goes into a pipe or a file; that is as it was written.
"""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_BAR = 24
_STEPS = 10


def show_json(data: Any) -> None:
    """Print `data` as JSON that people can read."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def show_text(text: str) -> None:
    """Print a text, and end its last line; nothing where there is none."""
    shown = visible(text) if sys.stdout.isatty() else text
    print(shown, end="" if not text or text.endswith("\n") else "\n")


def visible(text: str) -> str:
    """`text` with a sign in place of each character that would not be seen, line ends and tabs aside."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def show_rows(rows: Iterable[Sequence[str]]) -> None:
    """Print rows with their columns, but the last, as wide as they need to be."""
    kept = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in kept), strict=True)]
    for row in kept:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        print("  ".join((*cells, row[-1])).rstrip())


def note(text: str) -> None:
    """Print a line beside the answer."""
    print(visible(text), file=sys.stderr)


class Progress:
    """How far a command has come: a bar on a terminal, else a line at every tenth; nothing where it is `quiet`."""

    def __init__(self, total: int, *, quiet: bool, stream: TextIO | None = None) -> None:
        self._total = total
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._done = 0

    def step(self, what: str) -> None:
        """Another is done, and it was `what`."""
        before, self._done = self._done, self._done + 1
        if self._quiet:
            return
        if self._stream.isatty():
            self._draw(what)
        elif self._done in (1, self._total) or _tenth(before, self._total) < _tenth(self._done, self._total):
            print(visible(f"{self._done} of {self._total}: {what}"), file=self._stream, flush=True)

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        if not self._quiet:
            self._clear()
            print(visible(text), file=self._stream, flush=True)

    def close(self) -> None:
        """Leave nothing of the bar."""
        if not self._quiet:
            self._clear()

    def _draw(self, what: str) -> None:
        filled = _BAR * self._done // max(1, self._total)
        bar = "#" * filled + "-" * (_BAR - filled)
        line = visible(f"[{bar}] {self._done}/{self._total}  {what}").replace("\n", " ")
        self._stream.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()

    def _clear(self) -> None:
        if self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _tenth(done: int, total: int) -> int:
    return done * _STEPS // max(1, total)
