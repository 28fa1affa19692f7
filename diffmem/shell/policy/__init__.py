"""The policy: from the words of one simple command, after every expansion, to the exact line that runs, or a refusal.

    check(["sort", "-ruo", "x", "f"], cwd, tree)      Refused: sort: option '-o' (in '-ruo') is not available: it
    writes ... check(["head", "-5", "index.md"], cwd, tree)      Admitted(("head", "-n", "5", "--", "index.md"),
    "program")

*Covered*: which programs run at all; an exact table of options for each, parsed as the program parses them; every
operand and every option's argument that names a file; the scripts of sed and awk; revisions, pathspecs and formats of
git.
*Not covered*: time, memory and size of output, which the worker bounds; what a program does with what it may read.

Standard library only: this package runs in the sandbox's worker, which has no site-packages.
"""

from collections.abc import Sequence

from diffmem.shell.policy import awk, binaries, builtins, find, git, hints, programs, sed
from diffmem.shell.policy.program_tables import PROGRAMS
from diffmem.shell.policy.verdict import Admitted, Place, Refused

COMMANDS = frozenset({*PROGRAMS, *builtins.NAMES, "awk", "gawk", "sed", "find", "git"})
"""Every name that can be typed."""


def check(argv: Sequence[str], cwd: str, tree: str) -> Admitted:
    """What may run in place of `argv`, whose words are final: no expansion happens after this.

    `cwd` is an absolute path in `tree`. Admitting again what was admitted changes nothing.

    Raises:
        Refused: with a message that says what to type instead.
    """
    words = tuple(argv)
    if not words or not words[0]:
        raise Refused("an empty word is not a command")
    command, place = words[0], Place(cwd, tree)
    if not all(map(_is_text, words)):
        raise Refused(f"{command}: a word holds a NUL or something that is no text", command)
    if command in PROGRAMS:
        return programs.check(words, place)
    if command in builtins.NAMES:
        return builtins.check(words, place)
    special = {"awk": awk.check, "gawk": awk.check, "sed": sed.check, "find": find.check, "git": git.check}
    if command not in special:
        raise Refused(hints.unknown(command, COMMANDS), command)
    return special[command](words, place)


def _is_text(word: str) -> bool:
    """Whether a word can be an argument of a program: no NUL, and surrogates only for bytes that are not UTF-8."""
    try:
        return b"\0" not in word.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False


__all__ = ["COMMANDS", "Admitted", "Refused", "binaries", "check"]
