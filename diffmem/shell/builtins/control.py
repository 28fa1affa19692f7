"""`true`, `false`, `break`, `continue`, `exit`, `let`, `unset`."""

from diffmem.shell import arithmetic
from diffmem.shell.builtins.shell import Shell
from diffmem.shell.stops import ExpansionError, LoopExit, ShellExit


def true(_shell: Shell, _arguments: list[str]) -> int:
    """0."""
    return 0


def false(_shell: Shell, _arguments: list[str]) -> int:
    """1."""
    return 1


def leave(shell: Shell, arguments: list[str]) -> int:
    """`break [n]`."""
    return _loop(shell, "break", arguments)


def again(shell: Shell, arguments: list[str]) -> int:
    """`continue [n]`."""
    return _loop(shell, "continue", arguments)


def _loop(shell: Shell, name: str, arguments: list[str]) -> int:
    if not shell.state.loops:
        shell.complain(f"{name}: only meaningful in a `for', `while', or `until' loop")
        return 0
    text = arguments[0] if arguments else "1"
    if not (text.isascii() and text.isdigit() and int(text[:6]) > 0):
        shell.complain(f"{name}: {text}: numeric argument required")
        raise ShellExit(128)
    raise LoopExit(int(text[:6]), name == "continue")


def leave_shell(shell: Shell, arguments: list[str]) -> int:
    """`exit [n]`; without a number the last status."""
    if not arguments:
        raise ShellExit(shell.state.status)
    text = arguments[0].removeprefix("-")
    if not (text.isascii() and text.isdigit()):
        shell.complain(f"exit: {arguments[0]}: numeric argument required")
        raise ShellExit(2)
    raise ShellExit(int(arguments[0][:18]) & 0xFF)


def let(shell: Shell, arguments: list[str]) -> int:
    """`let EXPRESSION...`: 1 where the last is 0."""
    value = 0
    if not arguments:
        shell.complain("let: expression expected")
        return 1
    for expression in arguments:
        try:
            value = arithmetic.evaluate(expression, shell.state.variables)
        except ExpansionError as error:
            shell.complain(f"let: {error}")
            return 1
    return int(value == 0)


def unset(shell: Shell, arguments: list[str]) -> int:
    """`unset [-v] NAME...`."""
    for name in arguments:
        if name not in ("-v", "-f", "--"):
            shell.state.variables.pop(name, None)
    return 0
