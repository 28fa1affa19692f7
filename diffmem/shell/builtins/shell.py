"""What a builtin needs of the shell that runs it.

Standard library only: this module runs in the worker.
"""

from collections.abc import Sequence
from typing import Protocol

from diffmem.shell.state import State


class Shell(Protocol):
    """The shell, as its builtins see it."""

    state: State

    def write(self, data: bytes) -> None:
        """Write to standard output."""

    def complain(self, message: str) -> None:
        """Write a line to standard error, with the shell's prefix."""

    def complain_as(self, name: str, message: str) -> None:
        """Write a line to standard error as the program `name` would."""

    def trace(self, line: str) -> None:
        """Write a line to standard error as it is."""

    def run(self, argv: Sequence[str]) -> int:
        """The status of one command, given as final words, which are checked; its standard input is empty."""


def encoded(text: str) -> bytes:
    """The bytes of a word."""
    return text.encode(errors="surrogateescape")


def options(arguments: Sequence[str], valued: Sequence[str] = ()) -> tuple[dict[str, list[str]], list[str]]:
    """Options, each with the values given to it, and operands.

    `arguments` are in the policy's form: every option is a word of its own, `--long=value` or followed by its value
    where it is one of `valued`, and `--` stands before the operands.
    """
    found: dict[str, list[str]] = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            break
        name, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        found.setdefault(name, []).append(words.pop(0) if word in valued and words else value)
    return found, words
