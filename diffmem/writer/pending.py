"""Which sessions wait: pending ones to be distilled, open ones to be closed."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from diffmem.git import Commit
from diffmem.memory import Session, numbered_messages, parse_head, stem_of
from diffmem.memory.messages import State
from diffmem.repository import Snapshot

RECENT_COMMITS = 100


def sessions_in(snapshot: Snapshot, states: Sequence[State], paths: Iterable[str] | None = None) -> dict[str, Session]:
    """The heads (no content) of sessions in one of `states`, by path, oldest first: of all, or of those at `paths`."""
    wanted = paths if paths is not None else [path for path in snapshot.paths() if stem_of(path)]
    heads = {path: parse_head(data) for path, data in snapshot.read_all(wanted).items()}
    waiting = {path: head for path, head in heads.items() if head.state in states}
    return dict(sorted(waiting.items(), key=lambda item: (item[1].occurred_at, item[0])))


def sessions_of(commits: Iterable[Commit], snapshot: Snapshot) -> list[str]:
    """The sessions that `commits` touched and that exist: where an earlier write may have left something to do."""
    there = set(snapshot.paths())
    touched = {path for commit in commits for path in commit.paths}
    return sorted(path for path in touched & there if stem_of(path))


def last_message_at(data: bytes) -> datetime:
    """When the last message of an archived session was said; the session's own time where no message says."""
    times = [item.message.at for item in numbered_messages(data) if item.message.at]
    return max(times, default=parse_head(data).occurred_at)
