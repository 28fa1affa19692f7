"""Small memories to plan on, and what a plan points at, as text."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from diffmem.limits import Deadline
from diffmem.memory import Message, Session, render_session, session_path
from diffmem.plan import Plan, Pointer
from diffmem.planner import plan_offline
from diffmem.repository import Snapshot

NOW = datetime(2024, 3, 13, 12, tzinfo=UTC)


def archived(session_id: str, day: str, *said: str) -> dict[str, bytes]:
    """The file of a session of `day`; each of `said` is `Name: content`."""
    messages = tuple(Message("user", content, name) for name, _, content in (line.partition(": ") for line in said))
    at = datetime.fromisoformat(f"{day}T10:00:00+00:00")
    session = Session(session_id, at, messages, state="archived")
    return {session_path(session): render_session(session)}


def plan_for(
    snapshot: Snapshot,
    *conversation: str,
    now: datetime = NOW,
    max_tokens: int = 1000,
    deadline: Deadline | None = None,
) -> Plan:
    """The plan for messages of the user, oldest first; one that begins `assistant: ` is the assistant's."""
    turns = [_turn(message) for message in conversation]
    return plan_offline(snapshot, turns, now, max_tokens, deadline or Deadline(20))


def _turn(message: str) -> tuple[str, str]:
    role, colon, content = message.partition(": ")
    return ("assistant", content) if colon and role == "assistant" else ("user", message)


def shown(snapshot: Snapshot, pointer: Pointer) -> str:
    """The lines that `pointer` points at, without the markers of messages."""
    lines = snapshot.read(pointer.path or "").decode().split("\n")
    first, last = (pointer.line_start or 1) - 1, pointer.line_end or len(lines)
    assert 0 <= first < last <= len(lines), pointer
    return "\n".join(line for line in lines[first:last] if not line.startswith("<!-- "))


def first_shown(snapshot: Snapshot, plan: Plan, count: int = 1) -> Sequence[str]:
    """What the first pointers of `plan` show."""
    return [shown(snapshot, pointer) for pointer in plan.pointers[:count]]


def paths_of(pointers: Iterable[Pointer]) -> list[str]:
    """The paths of `pointers`, each once, in order."""
    return list(dict.fromkeys(pointer.path or "" for pointer in pointers))
