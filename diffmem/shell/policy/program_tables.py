"""The programs whose command line is options and then operands: the exact table of each.

Option names are those of GNU coreutils 9, grep 3, util-linux and file 5. What is not written here does not exist for
the tool.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from diffmem.shell.policy import paths
from diffmem.shell.policy.options import Table, table
from diffmem.shell.policy.values import (
    character,
    matching,
    number,
    one_of,
    signed,
    small,
    text,
)

_FOLLOWS = "it follows links out of the memory"
_FILE_LIST = "it takes file names from a file; use '| xargs'"
_WAITS = "it waits for new lines and never ends; use 'tail -n 20'"
_WHEN = one_of("always", "never", "auto")
_FIELDS = matching(r"[0-9,\- ]{1,200}", "a list of fields such as 1,3-5")


@dataclass(frozen=True, slots=True)
class Program:
    """How a program's words are read: its table, what is forced, and which operands are paths.

    The first `texts` operands are no paths. More than `most` operands are refused, for the reason `why_most`. With
    `builtin_on_input`, a builtin of the same name does what is asked for without a file and without options.
    """

    table: Table
    forced: tuple[str, ...] = ()
    texts: int = 0
    most: int | None = None
    why_most: str = ""
    name: str | None = None
    builtin_on_input: bool = False


_GREP = Program(
    table(
        "-i --ignore-case --no-ignore-case -y -v --invert-match -w --word-regexp -x --line-regexp -c --count -l "
        "--files-with-matches -L --files-without-match -n --line-number -o --only-matching -q --quiet --silent -s "
        "--no-messages -H --with-filename -h --no-filename -b --byte-offset -a --text -I -z --null-data -Z --null -T "
        "--initial-tab -E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -r --recursive "
        "--line-buffered -U --binary",
        {
            "-e --regexp": text,
            "-f --file": paths.check,
            "-A --after-context -B --before-context -C --context -m --max-count": number,
            "--include --exclude --exclude-dir --label --group-separator": text,
            "--binary-files": one_of("binary", "text", "without-match"),
            "-d --directories": one_of("read", "skip", "recurse"),
        },
        {"--color --colour": _WHEN},
        rewritten={
            "-R": "-r",
            "--dereference-recursive": "--recursive",
            "--no-group-separator": "--no-group-separator",
        },
        refused={
            "--exclude-from": "it reads patterns from a file; repeat '--exclude'",
            "-D --devices": "devices are always skipped",
        },
        digits="-C",
    ),
    forced=("-D", "skip"),
    texts=1,
)

PROGRAMS: Mapping[str, Program] = {
    "cat": Program(
        table(
            "-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T --show-tabs -u "
            "-v --show-nonprinting"
        )
    ),
    "head": Program(
        table("-q --quiet --silent -v --verbose -z --zero-terminated", {"-n --lines -c --bytes": signed}, digits="-n")
    ),
    "tail": Program(
        table(
            "-q --quiet --silent -v --verbose -z --zero-terminated",
            {"-n --lines -c --bytes": signed},
            refused={"-f -F --follow --retry --pid -s --sleep-interval": _WAITS},
            digits="-n",
        )
    ),
    "wc": Program(
        table(
            "-c --bytes -m --chars -l --lines -L --max-line-length -w --words",
            refused={"--files0-from": _FILE_LIST},
        )
    ),
    "nl": Program(
        table(
            "-p --no-renumber",
            {
                "-b --body-numbering -f --footer-numbering -h --header-numbering": text,
                "-d --section-delimiter -s --number-separator": character,
                "-n --number-format": one_of("ln", "rn", "rz"),
                "-i --line-increment -l --join-blank-lines -v --starting-line-number": signed,
                "-w --number-width": small,
            },
        )
    ),
    # Of what it cannot seek in, tac makes a temporary file first.
    "tac": Program(table("-b --before -r --regex", {"-s --separator": text}), builtin_on_input=True),
    "rev": Program(table("")),
    "fold": Program(table("-b --bytes -s --spaces", {"-w --width": number}, digits="-w")),
    "paste": Program(table("-s --serial -z --zero-terminated", {"-d --delimiters": text})),
    "comm": Program(
        table("-1 -2 -3 --check-order --nocheck-order --total -z --zero-terminated", {"--output-delimiter": character}),
        most=2,
    ),
    "join": Program(
        table(
            "-i --ignore-case --check-order --nocheck-order --header -z --zero-terminated",
            {
                "-a -v": one_of("1", "2"),
                "-e": text,
                "-j -1 -2": number,
                "-o": matching(r"auto|[0-9., ]{1,200}", "a list of fields such as 1.1,2.2"),
                "-t": character,
            },
        ),
        most=2,
    ),
    "cmp": Program(
        table(
            "-b --print-bytes -l --verbose -s --quiet --silent",
            {"-n --bytes": number, "-i --ignore-initial": matching(r"[0-9]{1,9}(:[0-9]{1,9})?", "a number of bytes")},
        ),
        most=2,
    ),
    "diff": Program(
        table(
            "-u -c -q --brief -s --report-identical-files -y --side-by-side -r --recursive -N --new-file -a --text "
            "-i --ignore-case -w --ignore-all-space -b --ignore-space-change -B --ignore-blank-lines -E "
            "--ignore-tab-expansion -d --minimal -p --show-c-function -t --expand-tabs -T --initial-tab "
            "--suppress-common-lines --left-column --strip-trailing-cr -e --ed -n --rcs --normal",
            {
                "-U -C": number,
                "-W --width": small,
                "-x --exclude -I --ignore-matching-lines -L --label": text,
            },
            {"--unified --context": number, "--color": _WHEN},
            refused={
                "--to-file --from-file": "name the two files",
                "-X --exclude-from": "repeat '-x'",
                "-l --paginate": "there is no pager",
            },
        ),
        forced=("--no-dereference",),
        most=2,
    ),
    "column": Program(
        table(
            "-t --table -x --fillrows -e -L --keep-empty-lines -d --table-noheadings",
            {
                "-s --separator -o --output-separator": character,
                "-c --output-width -l --table-columns-limit": small,
                "-N --table-columns -R --table-right -H --table-hide -W --table-wrap -T --table-truncate -E "
                "--table-noextreme -O --table-order": text,
            },
        )
    ),
    "cut": Program(
        table(
            "-n -s --only-delimited --complement -z --zero-terminated",
            {
                "-b --bytes -c --characters -f --fields": _FIELDS,
                "-d --delimiter --output-delimiter": character,
            },
        )
    ),
    "tr": Program(
        table("-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1"),
        texts=2,
        most=2,
        why_most="it reads standard input only: tr A B < FILE",
    ),
    "ls": Program(
        table(
            "-a --all -A --almost-all -b --escape -B --ignore-backups -c -C -d --directory -f -F -g -G --no-group -h "
            "--human-readable -i --inode -k --kibibytes -l -m -n --numeric-uid-gid -N --literal -o -p -q "
            "--hide-control-chars -Q --quote-name -r --reverse -R --recursive -s --size -S -t -u -U -v -x -X -1 "
            "--author --file-type --full-time --group-directories-first --show-control-chars --si",
            {
                "-I --ignore --hide": text,
                "-w --width -T --tabsize": small,
                "--block-size": matching(r"'?[0-9]{0,4}[KMGkB]?[iB]{0,2}|human-readable|si", "a size such as K or 1M"),
                "--format": one_of("across", "horizontal", "commas", "long", "verbose", "single-column", "vertical"),
                "--indicator-style": one_of("none", "slash", "file-type", "classify"),
                "--quoting-style": one_of(
                    "literal", "shell", "shell-always", "shell-escape", "shell-escape-always", "c", "escape", "locale"
                ),
                "--sort": one_of("none", "size", "time", "version", "extension", "width", "name"),
                "--time": one_of(
                    "atime", "access", "use", "ctime", "status", "birth", "creation", "mtime", "modification"
                ),
                "--time-style": matching(
                    r"(posix-)?(full-iso|long-iso|iso|locale)|\+[^%]{0,99}(%[-_^#]?[A-Za-z%][^%]{0,99}){0,20}",
                    "a time style",
                ),
            },
            {"--color --classify": _WHEN},
            refused={
                "-L --dereference -H --dereference-command-line --dereference-command-line-symlink-to-dir": _FOLLOWS,
                "--hyperlink": "it prints control characters",
            },
        )
    ),
    "du": Program(
        table(
            "-a --all -b --bytes -c --total -h --human-readable -k -m -s --summarize -S --separate-dirs "
            "--apparent-size -0 --null --si -x --one-file-system -P --no-dereference -l --count-links --inodes",
            {"-d --max-depth": number, "--exclude": text, "-t --threshold": signed},
            refused={
                "-L --dereference -D -H --dereference-args": _FOLLOWS,
                "--files0-from": _FILE_LIST,
                "-X --exclude-from": "repeat '--exclude'",
            },
        )
    ),
    "stat": Program(
        table(
            "-t --terse",
            {
                "-c --format --printf": matching(
                    r"([^%\\]|\\.|%%|%[-+#0' ]*[0-9]{0,3}(\.[0-9]{0,2})?[HL]?[aAbBdDfFgGhinNosrtTuUwWxXyYzZ])*",
                    "a format of stat ('%m' is not available)",
                )
            },
            refused={"-L --dereference": _FOLLOWS, "-f --file-system": "it describes the machine"},
        )
    ),
    "file": Program(
        table(
            "-b --brief -i --mime --mime-type --mime-encoding -k --keep-going -N --no-pad -n --no-buffer -r --raw -0 "
            "--print0 -h --no-dereference",
            {"-F --separator": character},
            refused={
                "-L --dereference": _FOLLOWS,
                "-f --files-from": _FILE_LIST,
                "-C --compile": "it writes",
                "-m --magic-file": "it reads another file",
                "-z -Z --uncompress": "decompressing has no bound",
            },
        ),
        forced=("-h",),
    ),
    "sort": Program(
        table(
            "-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort -i "
            "--ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R --random-sort -r "
            "--reverse -V --version-sort -c -C -m --merge -s --stable -u --unique -z --zero-terminated",
            {
                "-k --key": matching(
                    r"[0-9]{1,6}(\.[0-9]{1,6})?[bdfgiMhnRrV]*(,[0-9]{1,6}(\.[0-9]{1,6})?[bdfgiMhnRrV]*)?",
                    "a sort key such as 2,2n",
                ),
                "-t --field-separator": matching(r".|\\0", "one character"),
                "--sort": one_of("general-numeric", "human-numeric", "month", "numeric", "random", "version"),
            },
            {"--check": one_of("quiet", "silent", "diagnose-first")},
            refused={
                "-o --output": "it writes a file; the sorted lines go to standard output",
                "--compress-program": "it runs a program",
                "-T --temporary-directory": "nothing is written",
                "--files0-from": _FILE_LIST,
                "--random-source": "it reads another file",
                "-S --buffer-size --parallel --batch-size": "memory and threads are fixed",
            },
        ),
        forced=("-S", "64M", "--parallel=1"),
    ),
    "uniq": Program(
        table(
            "-c --count -d --repeated -D -i --ignore-case -u --unique -z --zero-terminated",
            {"-f --skip-fields -s --skip-chars -w --check-chars": number},
            {
                "--all-repeated": one_of("none", "prepend", "separate"),
                "--group": one_of("separate", "prepend", "append", "both"),
            },
        ),
        most=1,
        why_most="a second file would be overwritten with the result",
    ),
    "grep": _GREP,
    "egrep": Program(_GREP.table, ("-D", "skip", "-E"), texts=1, name="grep"),
    "fgrep": Program(_GREP.table, ("-D", "skip", "-F"), texts=1, name="grep"),
}
"""By the name that is typed; `Program.name` is the binary where it is another one."""
