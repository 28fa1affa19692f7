"""Undoing one commit by a new one: what it did is taken back, what came after it stays."""

from collections.abc import Callable
from datetime import datetime

from diffmem.curation.correct import change_of
from diffmem.errors import Conflict, UnknownPath
from diffmem.memory import INDEX_PATH
from diffmem.repository import Change, Snapshot

_MAX_SHOWN_CHARS = 1500


def reversal(rev: str, now: datetime) -> Callable[[Snapshot], Change | None]:
    """An edit that undoes the commit `rev`; it wants nothing where the files are as before that commit already.

    Raises (when it is called):
        UnknownCommit: `rev` names none, or the first commit of all.
        Conflict: later commits changed the same lines; the message shows them.
    """

    def edit(snapshot: Snapshot) -> Change | None:
        sha = snapshot.resolve(rev)
        before = snapshot.resolve(f"{sha}~1")
        commit = snapshot.commit(sha)
        files: dict[str, bytes | None] = {}
        for path in commit.paths:
            if path == INDEX_PATH:
                continue
            now_there, wanted = _at(snapshot, "HEAD", path), _undone(snapshot, sha, before, path)
            if now_there != wanted:
                files[path] = wanted
        body = f"This undoes {sha}."
        return change_of(snapshot, files, f'Revert "{commit.subject}"', now, body=body) if files else None

    return edit


def _undone(snapshot: Snapshot, sha: str, before: str, path: str) -> bytes | None:
    """The file at `path` without what the commit `sha` did to it; None: there is none."""
    head, after, old = (_at(snapshot, rev, path) for rev in ("HEAD", sha, before))
    if head == after:
        return old
    if head is None or after is None or old is None:
        raise Conflict(f"{path!r} was {'deleted' if head is None else 'changed'} after the commit that is to be undone")
    merged, conflicts = snapshot.merge(base=after, ours=head, theirs=old)
    if conflicts:
        shown = merged.decode("utf-8", "replace")
        raise Conflict(f"{path!r}: later commits changed the same lines:\n{_conflicting(shown)}")
    return merged


def _conflicting(merged: str) -> str:
    """The conflicting lines alone, between git's own marks."""
    kept, inside = [], False
    for line in merged.splitlines():
        inside = inside or line.startswith("<<<<<<<")
        if inside:
            kept.append(line)
        inside = inside and not line.startswith(">>>>>>>")
    return "\n".join(kept)[:_MAX_SHOWN_CHARS]


def _at(snapshot: Snapshot, rev: str, path: str) -> bytes | None:
    try:
        return snapshot.read_at(rev, path)
    except UnknownPath:
        return None
