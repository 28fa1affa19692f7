"""find: starting points, then an expression whose every word is known together with its argument.

*Covered*: actions that run, delete or write; following links; starting points outside or that look like options;
files named by tests (`-newer`). *Not covered*: how long a regular expression takes, which the limits of the worker
bound.
"""

import difflib
from collections.abc import Callable, Mapping

from diffmem.shell.policy import paths
from diffmem.shell.policy.values import matching, number, one_of, text, widths
from diffmem.shell.policy.verdict import Admitted, BadValue, Place, Refused

_WORDS = (
    "( ) ! , -a -and -o -or -not -daystart -depth -d -mount -xdev -noleaf -warn -nowarn -ignore_readdir_race "
    "-noignore_readdir_race -empty -true -false -executable -readable -writable -nouser -nogroup -print -print0 "
    "-prune -quit -ls"
)
_ALONE = frozenset(_WORDS.split())
_WHOLE = matching(r"[+-]?[0-9]{1,9}", "a number such as 7, +7 or -7")
_SIZE = matching(r"[+-]?[0-9]{1,12}[bcwkMG]?", "a size such as +1k or -2M")
_TYPES = matching(r"[bcdpflsD](,[bcdpflsD])*", "a type such as f or d")
_WITH: Mapping[str, Callable[[str, Place], None]] = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname", "-ilname"), text),
    **dict.fromkeys(("-regex", "-iregex", "-newermt", "-newerat", "-newerct"), text),
    **dict.fromkeys(("-newer", "-anewer", "-cnewer", "-samefile", "-newermm", "-neweram"), paths.inside),
    **dict.fromkeys(("-amin", "-cmin", "-mmin", "-atime", "-ctime", "-mtime", "-used", "-links", "-inum"), _WHOLE),
    **dict.fromkeys(("-maxdepth", "-mindepth"), number),
    **dict.fromkeys(("-uid", "-gid"), _WHOLE),
    "-size": _SIZE,
    "-type": _TYPES,
    "-perm": matching(r"[-/]?([0-7]{1,4}|[ugoa]*[-+=][rwxXst]*(,[ugoa]*[-+=][rwxXst]*)*)", "a mode such as -644"),
    "-regextype": one_of(
        "findutils-default", "emacs", "posix-basic", "posix-extended", "posix-egrep", "grep", "egrep", "sed"
    ),
    "-printf": widths,
}
_RUNS = "it runs a program; use: find ... | xargs grep PATTERN"
_WRITES = "it writes a file; use -print or -printf"
_FOLLOWS = "it follows links out of the memory"
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("-exec", "-execdir", "-ok", "-okdir"), _RUNS),
    **dict.fromkeys(("-fprint", "-fprint0", "-fprintf", "-fls"), _WRITES),
    **dict.fromkeys(("-L", "-H", "-follow", "-xtype"), _FOLLOWS),
    "-delete": "memory is read-only here",
    "-files0-from": "name the starting points",
}


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """The final line of find: `find -P PATHS EXPRESSION`, a path with a leading dash made `./-path`.

    Raises:
        Refused: a word outside the tables, an argument its test does not take, or a starting point outside.
    """
    rest = list(words[1:])
    while rest and rest[0] in ("-P", "--"):
        rest.pop(0)
    starts: list[str] = []
    while rest and not _is_expression(rest[0]):
        starts.append(_start(rest.pop(0), place))
    expression: list[str] = []
    while rest:
        word = rest.pop(0)
        expression.append(word)
        if word in _WITH:
            expression.append(_argument(word, rest, place))
        elif word not in _ALONE:
            raise Refused(_unknown(word), "find")
    return Admitted(("find", "-P", *(starts or ["."]), *expression), "program")


def _is_expression(word: str) -> bool:
    return (word.startswith("-") and len(word) > 1) or word in ("(", ")", "!", ",")


def _start(word: str, place: Place) -> str:
    try:
        paths.inside(word, place)
    except BadValue as error:
        raise Refused(f"find: {word!r} {error}", "find") from None
    return f"./{word}" if word[:1] in ("-", "(", ")", "!", ",") else word


def _argument(word: str, rest: list[str], place: Place) -> str:
    if not rest:
        raise Refused(f"find: '{word}' needs an argument", "find")
    value = rest.pop(0)
    try:
        _WITH[word](value, place)
    except BadValue as error:
        raise Refused(f"find: the argument {value!r} of '{word}' {error}", "find") from None
    return value


def _unknown(word: str) -> str:
    if word in _REFUSED:
        return f"find: '{word}' is not available: {_REFUSED[word]}"
    if not word.startswith("-"):
        return f"find: paths come before the expression: {word!r} (quote patterns: -name '*.md')"
    near = difflib.get_close_matches(word, [*_ALONE, *_WITH], n=1, cutoff=0.6)
    return f"find: '{word}' is not available" + (f"; the nearest that is: '{near[0]}'" if near else "")
