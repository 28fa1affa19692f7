"""Hints beside the true output of well-meant mistakes: in a pattern, in a path, in how far the history reaches.

    grep "tea|coffee" f       '|' is an ordinary character in a basic pattern: grep -E 'tea|coffee'
    cat People/wife.md        'People/wife.md' does not exist; the nearest: memories/people/wife.md
    git show HEAD~50          the history has 13 commits: the oldest is HEAD~12

Standard library only: this module runs in the worker.
"""

import difflib
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from diffmem.shell.policy import binaries, paths
from diffmem.shell.policy.verdict import Place

_MAX_FILES = 5_000
_MAX_PATHS = 2
_MAX_HINTS = 8
_EXTENDED = frozenset(("-E", "--extended-regexp", "-P", "--perl-regexp", "-F", "--fixed-strings"))
_ORDINARY = re.compile(r"(?<!\\)\||(?<=[\])])[+?]")
_DIGIT = re.compile(r"(?<!\\)\\d")
_ANCESTOR = re.compile(r"\b(?:HEAD|main|@)(?:[~^][0-9]*)+")
_READERS = frozenset((*binaries.NAMES, "cd"))
_TEXT_FIRST = frozenset(("grep", "sed", "gawk"))
_NEAR = 0.75


class Teacher:
    """Hints for one call; there are only so many. `output_of` gives what an admitted program writes."""

    def __init__(self, tree: str, output_of: Callable[[Sequence[str]], str]) -> None:
        self._tree = tree
        self._output_of = output_of
        self._left = _MAX_HINTS
        self._files: list[str] | None = None

    def hints(self, argv: Sequence[str], status: int, place: Place) -> list[str]:
        """What to say beside the output of a command, given as the policy admitted it, that ended with `status`."""
        if self._left <= 0:
            return []
        found = [*_pattern_hints(argv, status), *self._path_hints(argv, status, place)]
        if argv[0] == "git" and status == 128:
            found += self._history_hints(argv)
        self._left -= len(found)
        return found

    def _path_hints(self, argv: Sequence[str], status: int, place: Place) -> Iterator[str]:
        missing = [path for path in _paths(argv, status) if path and not paths.exists(path, place)]
        for path in missing[:_MAX_PATHS]:
            near = self._nearest(path, place, guess=status != 0)
            if near:
                yield f"{path!r} does not exist; the nearest: {near}"

    def _nearest(self, path: str, place: Place, *, guess: bool) -> str | None:
        """The file, seen from the place, that `path` may mean: by letter case, by folder, or (`guess`) by likeness."""
        if self._files is None:
            self._files = list(_files(self._tree))
        wanted = posixpath.relpath(posixpath.normpath(posixpath.join(place.cwd, path)), self._tree)
        found = _same(wanted, self._files) or (_alike(wanted, self._files) if guess else None)
        return posixpath.relpath(posixpath.join(self._tree, found), place.cwd) if found else None

    def _history_hints(self, argv: Sequence[str]) -> Iterator[str]:
        if not any(_ANCESTOR.search(word) for word in argv):
            return
        count = self._output_of(("git", "rev-list", "--count", "--first-parent", "HEAD")).strip()
        if count.isdigit() and int(count) > 1:
            yield f"the history has {count} commits: the oldest is HEAD~{int(count) - 1}"
        elif count == "1":
            yield "the history has 1 commit: HEAD"


def _same(wanted: str, files: Sequence[str]) -> str | None:
    folded = wanted.casefold()
    for file in files:
        if file.casefold() == folded:
            return file
    name = posixpath.basename(folded)
    names = (name, f"{name}.md")
    return next((file for file in files if posixpath.basename(file).casefold() in names), None)


def _alike(wanted: str, files: Sequence[str]) -> str | None:
    by_name = {_stem(file): file for file in reversed(files)}
    close = difflib.get_close_matches(_stem(wanted), list(by_name), n=1, cutoff=_NEAR)
    return by_name[close[0]] if close else None


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path).casefold())[0]


def _files(tree: str) -> Iterator[str]:
    """Files and directories of the tree, relative to it, nearest to its root first; at most a bound."""
    seen = 0
    folders = [tree]
    while folders:
        folder = folders.pop(0)
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            seen += 1
            if seen > _MAX_FILES:
                return
            yield posixpath.relpath(entry.path, tree)
        folders += [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]


def _pattern_hints(argv: Sequence[str], status: int) -> Iterator[str]:
    options, operands = _split(argv)
    command = "git grep" if argv[0] == "git" else "grep"
    if status != 1 or (argv[0] != "grep" and tuple(argv[:2]) != ("git", "grep")):
        return
    patterns = [value for name, value in pairwise(options) if name in ("-e", "--regexp")]
    patterns += [option[2:] for option in options if option.startswith("-e") and len(option) > 2]
    for pattern in patterns or operands[:1]:
        ordinary = _ORDINARY.search(pattern)
        if _DIGIT.search(pattern) and not {"-P", "--perl-regexp"}.intersection(options):
            yield f"\\d is no digit here: {command} -P {pattern!r}, or [0-9]"
        elif ordinary and not _EXTENDED.intersection(options):
            yield f"{ordinary[0]!r} is an ordinary character in a basic pattern: {command} -E {pattern!r}"


def _paths(argv: Sequence[str], status: int) -> list[str]:
    options, operands = _split(argv)
    if argv[0] == "git":
        in_revisions = [word.partition(":")[2] for word in options if ":" in word and not word.startswith("-")]
        return _plain([*operands, *(in_revisions if status else [])])
    if status == 0 or argv[0] not in _READERS:
        return []
    has_text = argv[0] in _TEXT_FIRST and not {"-e", "--regexp", "-f", "--expression", "--source"}.intersection(options)
    return _plain(operands[1 if has_text else 0 :])


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if word != "-" and not re.search(r"[*?\[:]", word)]


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, without the command, and those after."""
    if argv[0] == "cd":
        return [], list(argv[1:])
    at = list(argv).index("--") if "--" in argv else len(argv)
    return list(argv[1:at]), list(argv[at + 1 :])
