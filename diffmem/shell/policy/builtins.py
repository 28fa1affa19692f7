"""The commands that the interpreter carries out itself: what their words may be.

*Not covered*: how large their results grow, which is bounded where they are carried out.
"""

import re
from collections.abc import Callable, Mapping

from diffmem.shell.policy import paths, xargs
from diffmem.shell.policy.options import Table, emit, parse, table
from diffmem.shell.policy.values import MAX_WIDTH, character, matching, one_of, text, widths
from diffmem.shell.policy.verdict import Admitted, BadValue, Place, Refused

_NUMERIC = re.compile(r"-[0-9.]")
_FILE_TESTS = frozenset(f"-{letter}" for letter in "abcdefghkprsuwxLOGNS")
_FILE_PAIRS = frozenset(("-nt", "-ot", "-ef"))
_OPTIONS: Mapping[str, Table] = {
    "pwd": table("-L -P"),
    "true": table(),
    "false": table(),
    ":": table(),
    "basename": table("-a --multiple -z --zero", {"-s --suffix": text}),
    "dirname": table("-z --zero"),
    "date": table(
        "-u --utc --universal -R --rfc-email",
        {"-d --date": text, "--rfc-3339": one_of("date", "seconds", "ns")},
        {"-I --iso-8601": one_of("date", "hours", "minutes", "seconds", "ns")},
        refused={
            "-f --file": "it reads a file",
            "-s --set": "it sets the clock",
            "-r --reference": "use: stat -c %y FILE",
        },
    ),
    "read": table(
        "-r -s",
        {"-d": character, "-n -N": matching(r"[0-9]{1,6}", "a number"), "-p": text},
        refused={
            "-a": "there are no arrays",
            "-u": "only standard input is read",
            "-t": "input does not wait",
            "-e -i": "there is no terminal",
        },
    ),
}


_SEQ = table(
    "-w --equal-width",
    {
        "-s --separator": character,
        "-f --format": matching(r"[^%]*%[-+0# ]*[0-9]{0,3}(\.[0-9]{0,2})?[efgEFGaA][^%]*", "a format such as %02g"),
    },
)


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """The admitted form of one of `NAMES`.

    Raises:
        Refused: an option or an operand that the command does not take here.
    """
    return _CHECKS[words[0]](words, place)


def _as_typed(words: tuple[str, ...], _place: Place) -> Admitted:
    return Admitted(words, "builtin")


def _with_options(words: tuple[str, ...], place: Place) -> Admitted:
    parsed = parse(words[0], words[1:], _OPTIONS[words[0]], place)
    return Admitted((words[0], *emit(parsed.options), "--", *parsed.operands), "builtin")


def _anything(words: tuple[str, ...], _place: Place) -> Admitted:
    """`true` and its kind take any words and look at none."""
    return Admitted((words[0],), "builtin")


def _cd(words: tuple[str, ...], place: Place) -> Admitted:
    operands = [word for word in words[1:] if word != "--"]
    if len(operands) > 1:
        raise Refused("cd: too many arguments", "cd")
    if operands and operands[0] not in ("-", "~") and operands[0].startswith("-"):
        raise Refused(f"cd: option '{operands[0]}' is not available", "cd")
    if operands and operands[0] not in ("-", "~"):
        _inside("cd", operands[0], place)
    return Admitted(("cd", *operands), "builtin")


def _printf(words: tuple[str, ...], place: Place) -> Admitted:
    rest = list(words[1:])
    if rest[:1] == ["--"]:
        rest.pop(0)
    elif rest and rest[0].startswith("-v"):
        raise Refused("printf: option '-v' is not available; use NAME=$(printf ...)", "printf")
    if rest:
        try:
            widths(rest[0], place)
        except BadValue as error:
            raise Refused(f"printf: the format {error}", "printf") from None
    return Admitted(("printf", *rest), "builtin")


def _seq(words: tuple[str, ...], place: Place) -> Admitted:
    rest = list(words[1:])
    numbers: list[str] = []
    while rest and (_NUMERIC.match(rest[-1]) or not rest[-1].startswith("-")) and len(numbers) < 3:
        if len(rest) > 1 and rest[-2] in ("-s", "--separator", "-f", "--format"):
            break
        numbers.insert(0, rest.pop())
    parsed = parse("seq", rest, _SEQ, place)
    operands = [*parsed.operands, *numbers]
    if len(operands) > 3:
        raise Refused("seq: takes at most three numbers: seq FIRST STEP LAST", "seq")
    return Admitted(("seq", *emit(parsed.options), "--", *operands), "builtin")


def _test(words: tuple[str, ...], place: Place) -> Admitted:
    """`test` and `[`: whatever an operator takes for a file lies in the tree."""
    for position, word in enumerate(words):
        if word in _FILE_TESTS and position + 1 < len(words):
            _inside(words[0], words[position + 1], place)
        elif word in _FILE_PAIRS and 0 < position < len(words) - 1:
            _inside(words[0], words[position - 1], place)
            _inside(words[0], words[position + 1], place)
    return Admitted(words, "builtin")


def _inside(command: str, path: str, place: Place) -> None:
    try:
        paths.check(path, place)
    except BadValue as error:
        raise Refused(f"{command}: {path!r} {error}", command) from None


_CHECKS: Mapping[str, Callable[[tuple[str, ...], Place], Admitted]] = {
    "cd": _cd,
    "printf": _printf,
    "seq": _seq,
    "test": _test,
    "[": _test,
    "xargs": xargs.check,
    **dict.fromkeys(("echo", "let", "break", "continue", "exit", "unset"), _as_typed),
    **dict.fromkeys(("true", "false", ":"), _anything),
    **dict.fromkeys(("pwd", "basename", "dirname", "date", "read"), _with_options),
}
NAMES = frozenset(_CHECKS)
"""The commands this module knows."""

__all__ = ["MAX_WIDTH", "NAMES", "check"]
