"""xargs, which the interpreter carries out itself: its options, and that what it will run is a command of the tool.

Each command it builds is checked again in its final form; here only the words that are known before the input is read.
"""

from diffmem.shell.policy import paths
from diffmem.shell.policy.options import emit, parse, table
from diffmem.shell.policy.values import matching, text
from diffmem.shell.policy.verdict import Admitted, Place, Refused

_COUNT = matching(r"[1-9][0-9]{0,5}", "a number above 0")
_TABLE = table(
    "-0 --null -r --no-run-if-empty -t --verbose -x --exit",
    {
        "-n --max-args -L --max-lines -s --max-chars": _COUNT,
        "-P --max-procs": matching(r"[0-9]{1,3}", "a number"),
        "-I": matching(r".{1,40}", "a short placeholder such as {}"),
        "-d --delimiter": matching(r".|\\[0-9abfnrtvx\\][0-9A-Fa-f]{0,3}", "one character"),
        "-a --arg-file": paths.check,
        "-E": text,
    },
    refused={
        "-i -l -e --replace --eof": "use '-I {}'",
        "-p --interactive -o --open-tty": "there is no terminal",
        "--process-slot-var": "there is no environment",
    },
)


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """`xargs OPTIONS -- COMMAND...`; the argument of a short option is the next word, that of a long one follows `=`.

    Raises:
        Refused: an option outside the table.
    """
    parsed = parse("xargs", words[1:], _TABLE, place, permute=False)
    if parsed.operands[:1] == ("xargs",):
        raise Refused("xargs: does not run xargs", "xargs")
    return Admitted(("xargs", *emit(parsed.options), "--", *parsed.operands), "builtin")
