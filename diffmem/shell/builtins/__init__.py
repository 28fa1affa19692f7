"""The commands that the interpreter carries out itself.

Their words have passed the policy; their sizes are bounded here.
Standard library only: this package runs in the worker.
"""

from collections.abc import Callable, Mapping

from diffmem.shell.builtins import conditions, control, dates, numbers, places, printing, reading, xargs
from diffmem.shell.builtins.shell import Shell

Builtin = Callable[[Shell, list[str]], int]

BUILTINS: Mapping[str, Builtin] = {
    "[": conditions.bracket,
    "test": conditions.test,
    "true": control.true,
    ":": control.true,
    "false": control.false,
    "break": control.leave,
    "continue": control.again,
    "exit": control.leave_shell,
    "let": control.let,
    "unset": control.unset,
    "date": dates.date,
    "seq": numbers.seq,
    "cd": places.cd,
    "pwd": places.pwd,
    "basename": places.basename,
    "dirname": places.dirname,
    "echo": printing.echo,
    "printf": printing.printf,
    "read": reading.read,
    "tac": reading.tac,
    "xargs": xargs.xargs,
}
"""By name; each takes the words after its name and gives a status."""

PROGRAMS = frozenset(
    ("[", "test", "true", "false", "date", "seq", "pwd", "basename", "dirname", "echo", "printf", "tac")
)
"""Those that exist as programs too, so that xargs can run them."""

__all__ = ["BUILTINS", "PROGRAMS", "Shell"]
