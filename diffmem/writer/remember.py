"""A session into memory: archived and durable first, then distilled, then what earlier writes left pending."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from diffmem.claims import Claims
from diffmem.limits import Deadline
from diffmem.memory import Session, stem, stem_of
from diffmem.model import ChatModel
from diffmem.repository import FileChange, Repositories
from diffmem.shell import Tool
from diffmem.writer.archive import Archived, archive
from diffmem.writer.distilling import Distillation, distil_session
from diffmem.writer.outcome import Mode, Remembered

_MAX_OTHERS = 2
_MIN_SECONDS_FOR_OTHERS = 2.0


def remember(
    repositories: Repositories,
    tool: Tool | None,
    model: ChatModel | None,
    user: str,
    session: Session,
    deadline: Deadline,
    *,
    mode: Mode = "distill",
    claims: Claims | None = None,
) -> Remembered:
    """What became of `session` (see `memory.new_session`): durable when this returns, and distilled if it could be.

    The user's memory is begun where there is none. Without a model, or where the model fails or time is out, the
    session stays pending. At most two calls to the model, and one for repairs, are made for a session. Where it was
    distilled, up to two that were pending before follow while time remains; `claims`, one for the process, says which
    are under way.

    Raises:
        StorageUnavailable: it could not be made durable; nothing was acknowledged, and repeating is safe.
        Conflict: other writers won every time; as above.
    """
    claims = claims or Claims()
    distil = partial(distil_session, repositories, tool, model, user) if model and mode == "distill" else None
    started = deadline.remaining()
    others: tuple[str, ...] = ()
    with claims.claim(user, stem(session.session_id)) as is_ours:
        archived = archive(repositories, user, session, mode, deadline)
        archived_at = deadline.remaining()
        done = _archived(user, session, archived)
        if distil and archived.state == "pending" and is_ours:
            found = distil(archived.path, deadline)
            done, others = _with(done, found), found.others
    if distil:
        done = _with_others(done, others[:_MAX_OTHERS], distil, claims, deadline)
    spent = {"archive": started - archived_at, "distill": archived_at - deadline.remaining()}
    return replace(done, timings_ms={phase: round(1000 * seconds) for phase, seconds in spent.items()})


def _archived(user: str, session: Session, archived: Archived) -> Remembered:
    return Remembered(
        status=archived.status,
        user=user,
        session_id=session.session_id,
        commit=archived.commit,
        files=archived.files,
        pending=archived.state == "pending",
        storage=archived.storage,
    )


def _with(done: Remembered, found: Distillation) -> Remembered:
    return replace(
        done,
        commit=found.commit or done.commit,
        files=_joined(done.files, found.files),
        summary=found.summary,
        writer="agent" if found.is_done else "archive",
        pending=not found.is_done,
        usage=done.usage + found.usage,
        storage=done.storage + found.storage,
        warnings=(*done.warnings, *found.warnings),
    )


def _with_others(
    done: Remembered,
    paths: Iterable[str],
    distil: Callable[[str, Deadline], Distillation],
    claims: Claims,
    deadline: Deadline,
) -> Remembered:
    for path in paths:
        if deadline.remaining() < _MIN_SECONDS_FOR_OTHERS:
            break
        with claims.claim(done.user, stem_of(path) or "") as is_ours:
            if not is_ours:
                continue
            found = distil(path, deadline)
        done = replace(
            done,
            usage=done.usage + found.usage,
            storage=done.storage + found.storage,
            also_distilled=(*done.also_distilled, *([found.session_id] if found.commit else ())),
        )
        if not (found.is_done or found.is_refused):
            break
    return done


def _joined(first: tuple[FileChange, ...], second: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """What two commits, one after the other, changed: a file that the first added counts as added."""
    changes = {change.path: change for change in first}
    for change in second:
        before = changes.get(change.path)
        if before is None:
            changes[change.path] = change
        elif before.change != "added":
            changes[change.path] = replace(
                change, added=before.added + change.added, deleted=before.deleted + change.deleted
            )
    return tuple(changes[path] for path in sorted(changes))
