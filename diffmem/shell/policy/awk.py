"""awk, which is gawk with `--sandbox` or nothing: mawk and the awk of busybox have no mode without system().

`--sandbox` (gawk manual, "Command-Line Options") disables system(), getline from files and commands, output to files
and commands, extensions, and files added to ARGV. It does not cover `@include`, which reads a file before the program
runs, nor the options that write: they are not in the table.
"""

import re

from diffmem.shell.policy import binaries
from diffmem.shell.policy.options import emit, parse, table, without
from diffmem.shell.policy.programs import check_operands
from diffmem.shell.policy.values import matching, text
from diffmem.shell.policy.verdict import Admitted, Place, Refused

_TABLE = table(
    "-c --traditional -P --posix -r --re-interval -b --characters-as-bytes",
    {
        "-F --field-separator": text,
        "-v --assign": matching(r"[A-Za-z_][A-Za-z0-9_]*=(.|\n)*", "an assignment such as name=value"),
        "-e --source": text,
    },
    refused={
        "-f --file -E --exec -i --include": "write the program in the command",
        "-o --pretty-print -d --dump-variables -p --profile": "it writes a file",
        "-l --load -D --debug": "it runs other code",
    },
)
_INCLUDES = re.compile(r"@(?:\s|\\|#[^\n]*\n)*(?:include|load|nsinclude)")


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """The final line of awk: `gawk --sandbox OPTIONS -- [PROGRAM] FILES`.

    Raises:
        Refused: gawk is not installed, an option outside the table, `@include` or `@load`, or a path outside.
    """
    command = words[0]
    if binaries.find("gawk") is None:
        raise Refused(f"{command} is not available here (it needs gawk); use grep, cut, sed, sort and uniq", command)
    parsed = parse(command, without(words[1:], ("--sandbox",)), _TABLE, place)
    sources = parsed.values("-e", "--source")
    texts = 0 if sources else 1
    if texts and not parsed.operands:
        raise Refused(f"{command}: no program; for example: {command} '{{print $1}}' FILE", command)
    for source in sources or parsed.operands[:1]:
        if _INCLUDES.search(source):
            raise Refused(f"{command}: the program takes in another file (@include, @load)", command)
    check_operands(command, parsed, texts, place)
    return Admitted(("gawk", "--sandbox", *emit(parsed.options), "--", *parsed.operands), "program")
