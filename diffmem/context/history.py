"""Pointers into history, answered from the snapshot alone: what changed in a file, and how it was.

A revision is what git resolves, or a day: `since: 2024-03-05` compares with the file before that day, `rev: 2024-03-05`
is the file at its end, both by when things happened. The diff is made here, so that it needs neither tool nor sandbox.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date

from diffmem.context.sources import split_lines
from diffmem.errors import UnknownCommit, UnknownPath
from diffmem.git import Commit
from diffmem.repository import Snapshot

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ].*)?")
_CONTEXT_LINES = 1
_RECENT = 64
# What may be left to compare after equal ends are taken off; difflib takes quadratic time.
_MAX_COMPARISONS = 1_000_000


class History:
    """The history of one snapshot; what was asked once is remembered."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._logs: dict[tuple[str | None, int | None], tuple[Commit, ...]] = {}

    def before(self, path: str, since: str) -> Commit | None:
        """The commit to compare with: `since`, or the last change of `path` before that day; None: there is none.

        Raises:
            UnknownCommit: `since` is neither a day nor a revision that the head reaches.
        """
        day = as_day(since)
        return self._commit(since) if day is None else self._newest(path, lambda at: at < day)

    def at(self, path: str, rev: str) -> Commit:
        """The commit of which `rev` speaks: `rev` itself, or the last change of `path` until the end of that day.

        Raises:
            UnknownCommit: `rev` is neither a day on which `path` was there nor a revision that the head reaches.
        """
        day = as_day(rev)
        found = self._commit(rev) if day is None else self._newest(path, lambda at: at <= day)
        if found is None:
            raise UnknownCommit(f"{path!r} was not there on {rev!r}")
        return found

    def read(self, commit: Commit | None, path: str) -> bytes:
        """The file as it was at `commit`; empty where it was not there."""
        try:
            return self._snapshot.read_at(commit.sha, path) if commit else b""
        except UnknownPath:
            return b""

    def log(self, path: str | None, max_count: int | None = None) -> tuple[Commit, ...]:
        """The commits that touched `path` (a file or a folder), newest first; None: all of them."""
        key = (path, max_count)
        if key not in self._logs:
            self._logs[key] = self._snapshot.log(paths=[path] if path else (), max_count=max_count)
        return self._logs[key]

    def _commit(self, rev: str) -> Commit:
        try:
            sha = self._snapshot.resolve(rev)
        except UnknownCommit as error:
            raise UnknownCommit(f"{error}; name one by its sha, as HEAD~2, or as a day like 2024-03-05") from error
        for max_count in (_RECENT, None):  # what is asked for is recent, nearly always
            for commit in self.log(None, max_count):
                if commit.sha == sha:
                    return commit
        raise UnknownCommit(f"commit {rev!r} is not in the history of this head")

    def _newest(self, path: str, holds: Callable[[date], bool]) -> Commit | None:
        return next((commit for commit in self.log(path) if holds(commit.occurred_at.date())), None)


def as_day(rev: str) -> date | None:
    """The day that `rev` names; None where it is a revision."""
    match = _DAY.fullmatch(rev)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def diff_lines(old: bytes, new: bytes) -> list[str]:
    """A unified diff without its file names; empty where nothing changed. Example line: `@@ -3 +3,2 @@`"""
    before, after = (split_lines(data.decode("utf-8", "replace")) for data in (old, new))
    if before == after:
        return []
    head, tail = _equal_ends(before, after)
    if (len(before) - head - tail) * (len(after) - head - tail) > _MAX_COMPARISONS:
        removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
        hunk = f"@@ -{head + 1},{len(removed)} +{head + 1},{len(added)} @@"
        return [hunk, *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    return list(difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm=""))[2:]


def _equal_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """How many lines are equal at the beginning and, of the others, at the end."""
    most = min(len(before), len(after))
    head = next((n for n in range(most) if before[n] != after[n]), most)
    tail = next((n for n in range(most - head) if before[-1 - n] != after[-1 - n]), most - head)
    return head, tail


def heads_first(lines: Sequence[str]) -> list[int]:
    """The order in which to keep the lines of a diff: every hunk's head, then a line of each hunk in turn."""
    hunks: list[list[int]] = []
    for index, line in enumerate(lines):
        if line.startswith("@@") or not hunks:
            hunks.append([])
        hunks[-1].append(index)
    return list(_in_turn(hunks))


def _in_turn(hunks: list[list[int]]) -> Iterator[int]:
    for depth in range(max(map(len, hunks), default=0)):
        yield from (hunk[depth] for hunk in hunks if depth < len(hunk))
