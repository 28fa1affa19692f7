"""`test` and `[`, by the rules POSIX gives for each number of arguments.

*Not covered here*: whether a file may be asked about; the policy has checked every word that stands where a file does.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping

from diffmem.shell.builtins.shell import Shell

_INTEGER = re.compile(r"[ \t]*[+-]?[0-9]{1,30}[ \t]*")
_MAX_WORDS = 200


class _Malformed(Exception):
    """The words make no test."""


def test(shell: Shell, arguments: list[str]) -> int:
    """0 where the condition holds, 1 where not, 2 where it is none."""
    return _test(shell, "test", arguments)


def bracket(shell: Shell, arguments: list[str]) -> int:
    """`[ CONDITION ]`."""
    if arguments[-1:] != ["]"]:
        shell.complain("[: missing `]'")
        return 2
    return _test(shell, "[", arguments[:-1])


def _test(shell: Shell, name: str, words: list[str]) -> int:
    try:
        if len(words) > _MAX_WORDS:
            raise _Malformed("too many arguments")
        return int(not _Condition(shell, words).value())
    except _Malformed as malformed:
        shell.complain(f"{name}: {malformed}")
        return 2


class _Condition:
    def __init__(self, shell: Shell, words: list[str]) -> None:
        self._shell = shell
        self._words = words
        self._at = 0

    def value(self) -> bool:
        words = self._words
        if len(words) <= 4:
            return self._short(words)
        result = self._or()
        if self._at < len(words):
            raise _Malformed("too many arguments")
        return result

    def _short(self, words: list[str]) -> bool:
        if len(words) < 2:
            return bool(words and words[0])
        if len(words) == 3 and (words[1] in _BINARY or words[1] in ("-a", "-o")):
            return self._binary(*words)
        if words[0] == "!":
            return not self._short(words[1:])
        if words[0] == "(" and words[-1] == ")" and len(words) > 2:
            return self._short(words[1:-1])
        if len(words) == 2:
            if words[0] in _UNARY or words[0] == "-v":
                return self._unary(*words)
            raise _Malformed(f"{words[0]}: unary operator expected")
        if len(words) == 3:
            raise _Malformed(f"{words[1]}: binary operator expected")
        self._at = 0
        result = self._or()
        if self._at < len(self._words):
            raise _Malformed("too many arguments")
        return result

    def _or(self) -> bool:
        result = self._and()
        while self._take("-o"):
            right = self._and()
            result = result or right
        return result

    def _and(self) -> bool:
        result = self._term()
        while self._take("-a"):
            right = self._term()
            result = result and right
        return result

    def _term(self) -> bool:
        negated = False
        while self._take("!"):
            negated = not negated
        return self._plain() != negated

    def _plain(self) -> bool:
        rest = self._words[self._at :]
        if not rest:
            raise _Malformed("argument expected")
        if len(rest) >= 3 and rest[1] in _BINARY:
            self._at += 3
            return self._binary(*rest[:3])
        if rest[0] == "(":
            self._at += 1
            result = self._or()
            if not self._take(")"):
                raise _Malformed("`)' expected")
            return result
        if len(rest) >= 2 and (rest[0] in _UNARY or rest[0] == "-v"):
            self._at += 2
            return self._unary(*rest[:2])
        self._at += 1
        return bool(rest[0])

    def _take(self, word: str) -> bool:
        taken = self._words[self._at : self._at + 1] == [word]
        self._at += taken
        return taken

    def _unary(self, operator: str, operand: str) -> bool:
        if operator == "-v":
            return operand in self._shell.state.variables
        return _UNARY[operator](operand)

    def _binary(self, left: str, operator: str, right: str) -> bool:
        if operator in ("-a", "-o"):
            return bool(left) and bool(right) if operator == "-a" else bool(left) or bool(right)
        return _BINARY[operator](left, right)


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _Malformed(f"{text}: integer expression expected")
    return int(text)


def _status(path: str, follow: bool = True) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=follow)  # noqa: PTH116 - Path would take "" for "."
    except (OSError, ValueError):
        return None


def _kind(check: Callable[[int], bool], follow: bool = True) -> Callable[[str], bool]:
    def test_kind(path: str) -> bool:
        status = _status(path, follow)
        return status is not None and check(status.st_mode)

    return test_kind


def _newer(left: str, right: str) -> bool:
    first, second = _status(left), _status(right)
    return first is not None and (second is None or first.st_mtime_ns > second.st_mtime_ns)


def _same(left: str, right: str) -> bool:
    first, second = _status(left), _status(right)
    return first is not None and second is not None and os.path.samestat(first, second)


def _has_text(path: str) -> bool:
    status = _status(path)
    return status is not None and status.st_size > 0


_UNARY: Mapping[str, Callable[[str], bool]] = {
    "-n": bool,
    "-z": lambda text: not text,
    "-a": lambda path: _status(path) is not None,
    "-e": lambda path: _status(path) is not None,
    "-f": _kind(stat.S_ISREG),
    "-d": _kind(stat.S_ISDIR),
    "-h": _kind(stat.S_ISLNK, follow=False),
    "-L": _kind(stat.S_ISLNK, follow=False),
    "-b": _kind(stat.S_ISBLK),
    "-c": _kind(stat.S_ISCHR),
    "-p": _kind(stat.S_ISFIFO),
    "-S": _kind(stat.S_ISSOCK),
    "-u": _kind(lambda mode: bool(mode & stat.S_ISUID)),
    "-g": _kind(lambda mode: bool(mode & stat.S_ISGID)),
    "-k": _kind(lambda mode: bool(mode & stat.S_ISVTX)),
    "-s": _has_text,
    "-r": lambda path: os.access(path, os.R_OK),
    "-w": lambda path: False,
    "-x": lambda path: os.access(path, os.X_OK),
    "-t": lambda text: False,
    "-O": lambda path: False,
    "-G": lambda path: False,
    "-N": lambda path: False,
}
_BINARY: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "-eq": lambda a, b: _integer(a) == _integer(b),
    "-ne": lambda a, b: _integer(a) != _integer(b),
    "-lt": lambda a, b: _integer(a) < _integer(b),
    "-le": lambda a, b: _integer(a) <= _integer(b),
    "-gt": lambda a, b: _integer(a) > _integer(b),
    "-ge": lambda a, b: _integer(a) >= _integer(b),
    "-nt": _newer,
    "-ot": lambda a, b: _newer(b, a),
    "-ef": _same,
}
