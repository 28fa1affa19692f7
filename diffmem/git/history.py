"""The commits of a repository, one process each question."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from diffmem.git.environment import Checkout
from diffmem.git.process import run
from diffmem.limits import Deadline

_FIELDS = ("%H", "%ad", "%cd", "%s", "%(trailers:only,unfold)")
_FORMAT = "--format=format:" + "".join(f"{field}%x00" for field in _FIELDS)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the history, with the paths it changed against its first parent."""

    sha: str
    occurred_at: datetime
    recorded_at: datetime
    subject: str
    trailers: Mapping[str, str]
    paths: tuple[str, ...]


def log(
    checkout: Checkout,
    rev: str,
    deadline: Deadline,
    *,
    paths: Sequence[str] = (),
    max_count: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> tuple[Commit, ...]:
    """The commits that `rev` reaches, newest first; `paths` are files or folders, taken literally.

    `since` and `until` bound the time a commit was recorded at, both included. `rev` is a sha, or `OLD..NEW` of two.
    """
    args = ["log", "-z", "--name-only", "--no-renames", "--full-diff", "--diff-merges=first-parent", "--date=raw"]
    args += ["--encoding=UTF-8", _FORMAT]
    args += [f"--max-count={max_count}"] if max_count is not None and since is None else []
    args += [f"--min-age={math.floor(until.timestamp())}"] if until else []
    finished = run(checkout, [*args, rev, "--", *paths], deadline, extra={"GIT_LITERAL_PATHSPECS": "1"})
    commits = _commits(finished.output.decode("utf-8", "replace"))
    # Not by git, which stops at old commits: an imported history may have been recorded in any order.
    return tuple(one for one in commits if since is None or one.recorded_at >= since)[:max_count]


def _commits(output: str) -> Iterator[Commit]:
    """The commits in `sha NUL author date NUL ... NUL [LF path NUL path NUL ...] NUL`, again and again."""
    tokens = iter(output.split("\0"))
    for sha in tokens:
        if not sha:
            return
        occurred, recorded, subject, trailers = (next(tokens) for _ in _FIELDS[1:])
        paths = tuple(_names(tokens))
        yield Commit(sha, _time(occurred), _time(recorded), subject, _trailers(trailers), paths)


def _names(tokens: Iterator[str]) -> Iterator[str]:
    for token in tokens:
        if not token:
            return
        yield token.removeprefix("\n")


def _time(raw: str) -> datetime:
    """A time from `1683554160 +0200`, in that zone; a zone or year that no datetime holds becomes UTC, or 1970."""
    seconds, _, offset = raw.partition(" ")
    minutes = int(offset[1:3]) * 60 + int(offset[3:5]) if len(offset) == 5 else 0
    zone = timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes)) if minutes < 24 * 60 else UTC
    try:
        return datetime.fromtimestamp(int(seconds), zone)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _trailers(text: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in text.splitlines())
    return {key: value for key, separator, value in pairs if separator}


def newest_at(checkout: Checkout, rev: str, moment: datetime, deadline: Deadline) -> str | None:
    """The newest first-parent commit of `rev` recorded at `moment` or before, or None."""
    args = ["rev-list", "--first-parent", "--max-count=1", f"--min-age={math.floor(moment.timestamp())}", rev]
    return run(checkout, args, deadline).output.decode().strip() or None


def count(checkout: Checkout, rev: str, deadline: Deadline) -> int:
    """The number of commits that `rev` reaches."""
    return int(run(checkout, ["rev-list", "--count", rev], deadline).output)


def is_ancestor(checkout: Checkout, old: str, new: str, deadline: Deadline) -> bool:
    """Whether `new` reaches `old`; a commit that is not there reaches nothing."""
    finished = run(checkout, ["merge-base", "--is-ancestor", old, new], deadline, allowed=(0, 1, 128))
    return finished.exit_code == 0


def transactions(checkout: Checkout, rev: str, deadline: Deadline) -> dict[str, str]:
    """The `Tx` trailers of the commits that `rev` reaches, with their commits' shas."""
    args = ["log", "-z", "--format=%H %(trailers:key=Tx,valueonly,unfold)", rev]
    output = run(checkout, args, deadline).output.decode("utf-8", "replace")
    pairs = (record.strip().partition(" ") for record in output.split("\0"))
    return {tx: sha for sha, _, tx in pairs if tx}


def last_changes(checkout: Checkout, rev: str, deadline: Deadline) -> dict[str, int]:
    """For each path that a first-parent commit of `rev` touched, when the newest such commit was recorded.

    In seconds since 1970.
    """
    args = ["log", "-z", "--first-parent", "--name-only", "--no-renames", "--diff-merges=first-parent"]
    output = run(checkout, [*args, "--format=format:%ct%x00", rev], deadline).output
    changed: dict[str, int] = {}
    tokens = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    for seconds in tokens:
        if not seconds:
            break
        for path in _names(tokens):
            changed.setdefault(path, int(seconds))
    return changed
