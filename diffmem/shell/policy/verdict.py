"""What the policy says of a command: it is admitted in a final form, or refused with a message that teaches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["program", "git", "builtin"]
_MAX_MESSAGE = 600


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command runs: `cwd` and `tree` are absolute paths, and `cwd` lies in `tree`."""

    cwd: str
    tree: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """A command that may run, exactly as `argv` says.

    `argv[0]` is a name of `binaries.NAMES` for the kinds "program" and "git", which is looked up with
    `binaries.find`; "builtin" is done by the interpreter. Forced options are in place; for git, the caller puts the
    global flags between `git` and the rest.
    """

    argv: tuple[str, ...]
    kind: Kind


class Refused(Exception):
    """A command that may not run; `message` says what is wrong and what to type instead, `command` the first word."""

    def __init__(self, message: str, command: str = "") -> None:
        self.message = _plain(message)
        super().__init__(self.message)
        self.command = command


class BadValue(ValueError):
    """The argument of an option or an operand is not acceptable; the text continues a sentence that names it."""


def _plain(message: str) -> str:
    """`message` without control characters, and short: it repeats what was typed, which may be anything."""
    if not message.isprintable():
        message = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in message)
    return message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + "..."


def quoted(words: Sequence[str]) -> str:
    """`words` as a person would list them: `'-a', '-b' or '-c'`."""
    names = [f"'{word}'" for word in words]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
