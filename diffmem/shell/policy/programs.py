"""The programs whose command line is options and then operands: their final line."""

from diffmem.shell.policy import paths
from diffmem.shell.policy.options import Parsed, emit, parse, without
from diffmem.shell.policy.program_tables import PROGRAMS
from diffmem.shell.policy.verdict import Admitted, BadValue, Place, Refused


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """The final line of one of `PROGRAMS`: the binary, what is forced, the options, `--`, the operands; or a builtin's.

    Raises:
        Refused: an option outside the table, an operand outside the tree, or too many operands.
    """
    command = words[0]
    program = PROGRAMS[command]
    parsed = parse(command, without(words[1:], program.forced), program.table, place)
    if program.most is not None and len(parsed.operands) > program.most:
        why = f": {program.why_most}" if program.why_most else ""
        raise Refused(f"{command} takes at most {program.most} operand(s){why}", command)
    if program.builtin_on_input and not parsed.options and parsed.operands in ((), ("-",)):
        return Admitted((command, "--"), "builtin")
    texts = 0 if program.texts == 1 and parsed.has("-e", "--regexp", "-f", "--file") else program.texts
    check_operands(command, parsed, texts, place)
    return Admitted(
        (program.name or command, *program.forced, *emit(parsed.options), "--", *parsed.operands), "program"
    )


def check_operands(command: str, parsed: Parsed, texts: int, place: Place) -> None:
    """Return where every operand after the first `texts` is a path in the tree, or `-`."""
    for operand in parsed.operands[texts:]:
        try:
            if operand != "-":
                paths.check(operand, place)
        except BadValue as error:
            raise Refused(f"{command}: {operand!r} {error}", command) from None
