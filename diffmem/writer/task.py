"""What the model is shown of a session and of memory, and the task whose answer is an edit plan."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from diffmem.agent import Task, calls_already_made, framed, prompt
from diffmem.git import Commit
from diffmem.memory import INDEX_PATH, PROFILE_PATH, Session, numbered_messages, parse_session
from diffmem.memory.entities import Entity
from diffmem.memory.facts import plain
from diffmem.memory.framing import without_frames
from diffmem.memory.settings import Settings
from diffmem.memory.workspace import Workspace
from diffmem.model import Message
from diffmem.writer.dates import date_table
from diffmem.writer.edits import EDITS_SCHEMA, EditPlan, Problem, parse_edits
from diffmem.writer.lines import parse_edit_lines

MAX_SESSION_CHARS = 240_000

_PROBE_COMMAND = "git log -15 --date=short --format='%h %ad %s' --name-only -- memories profile.md timeline"
_MAX_FILES_CHARS = 32_000
_MAX_INDEX_CHARS = 60_000
_MIN_NAME_CHARS = 3


def writing_task(
    path: str, data: bytes, workspace: Workspace, commits: Sequence[Commit], settings: Settings
) -> Task[EditPlan]:
    """The task to distil the archived session `data` at `path` into edits of `workspace`.

    `commits` are the latest of the log. Manifest, log and the files of entities that the session names are shown as
    calls that the model has made.
    """
    session = parse_session(data)
    shown = [
        (f"cat {INDEX_PATH}", _index(workspace)),
        (_PROBE_COMMAND, _log(commits)),
        *_files(workspace, session),
    ]
    transcript = framed(path, _said(data, session), MAX_SESSION_CHARS)
    question = f"{_instructions(settings, session)}\n\n{_when(session)}\n\nThe session:\n\n{transcript}"
    return Task(
        system=prompt("write_system"),
        plain=prompt("write_plain"),
        opening=(Message("user", question), *calls_already_made(shown)),
        schema_name="edit_plan",
        schema=EDITS_SCHEMA,
        parse=parse_edits,
        parse_lines=parse_edit_lines,
    )


def repair_task(task: Task[EditPlan], problems: Sequence[Problem], workspace: Workspace) -> Task[EditPlan]:
    """The task to write again those edits of an answer to `task` that could not be made; the others have been."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    complaint = prompt("write_repair").replace("{problems}", framed("problems", listed))
    files = "\n\n".join(framed(f"cat {path}", text) for path, text in _named_files(workspace, problems))
    return Task(
        system=task.system,
        plain=task.plain,
        opening=(*task.opening, Message("user", f"{complaint}\n\n{files}".rstrip())),
        schema_name=task.schema_name,
        schema=task.schema,
        parse=parse_edits,
        # An answer that is no plan is no reason to ask a fourth time.
        parse_lines=lambda text: parse_edit_lines(text) or {"edits": []},
    )


def too_long(session: Session) -> tuple[str, ...]:
    """A warning, where `session` is longer than what a model is shown of one."""
    chars = len(session.transcript or "") + sum(len(message.content) for message in session.messages)
    if chars <= MAX_SESSION_CHARS:
        return ()
    return (f"of {chars} characters the model was shown {MAX_SESSION_CHARS}, the middle left out; all can be searched",)


def _index(workspace: Workspace) -> str:
    text = workspace.text(INDEX_PATH) or "(memory is empty)"
    return text if len(text) <= _MAX_INDEX_CHARS else f"{text[:_MAX_INDEX_CHARS]}\n[the rest is left out]"


def _log(commits: Sequence[Commit]) -> str:
    entries = []
    for commit in commits:
        paths = [path for path in commit.paths if not path.startswith(("sessions/", INDEX_PATH))]
        if paths:
            entries.append("\n".join([f"{commit.sha[:7]} {commit.occurred_at:%Y-%m-%d} {commit.subject}", *paths]))
    return "\n\n".join(entries[:15]) or "(nothing yet)"


def _files(workspace: Workspace, session: Session) -> list[tuple[str, str]]:
    """The profile, this month's timeline and the files of the entities that `session` names, within a bound."""
    said = plain(session.transcript or "\n".join(f"{m.label}: {m.content}" for m in session.messages)).casefold()
    named = [entity.path for entity in workspace.entities if _is_named(entity, said)]
    paths = [PROFILE_PATH, f"timeline/{session.local_time:%Y-%m}.md", *named]
    return [(f"cat {path}", text) for path, text in _within_bound(workspace, paths)]


def _is_named(entity: Entity, said: str) -> bool:
    names = (plain(name).casefold() for name in entity.names)
    return any(name in said for name in names if len(name) >= _MIN_NAME_CHARS or not name.isascii())


def _named_files(workspace: Workspace, problems: Iterable[Problem]) -> list[tuple[str, str]]:
    names = [getattr(problem.edit, "entity", "") for problem in problems]
    found = [entity.path for name in dict.fromkeys(names) if name and (entity := workspace.find(name))]
    return _within_bound(workspace, dict.fromkeys(found))


def _within_bound(workspace: Workspace, paths: Iterable[str]) -> list[tuple[str, str]]:
    shown: list[tuple[str, str]] = []
    left = _MAX_FILES_CHARS
    for path in paths:
        text = workspace.text(path)
        if text and len(text) <= left:
            shown.append((path, text))
            left -= len(text)
    return shown


def _instructions(settings: Settings, session: Session) -> str:
    kinds = "\n".join(f"- {kind.name}: {_about(kind.about, kind.sections)}" for kind in settings.kinds)
    given = [settings.instructions, session.instructions or ""]
    own = "\n\n".join(text for text in given if text.strip())
    return f"Kinds of entities:\n{kinds}" + (f"\n\nThe user's own instructions:\n{own}" if own else "")


def _about(about: str, sections: Sequence[str]) -> str:
    return about + (f"; sections: {', '.join(sections)}" if sections else "")


def _when(session: Session) -> str:
    local = session.local_time
    zone = session.timezone or local.tzname() or "UTC"
    return f"The session is of {local:%A, %Y-%m-%d %H:%M} ({zone}). On that day:\n{date_table(local.date())}"


def _said(data: bytes, session: Session) -> str:
    """What was said, each message with its number; context that came from memory is left out."""
    if session.transcript is not None:
        return without_frames(session.transcript)
    local = session.local_time
    return "\n".join(
        f"[{item.n}]{_other_day(item.message.at, local)} {item.message.label}: {without_frames(item.message.content)}"
        for item in numbered_messages(data)
    )


def _other_day(at: datetime | None, session_time: datetime) -> str:
    """The day of a message in the session's zone, where it is another than the session's."""
    local = at.astimezone(session_time.tzinfo) if at else session_time
    return f" ({local:%A %Y-%m-%d})" if local.date() != session_time.date() else ""
