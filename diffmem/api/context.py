"""POST context: what memory says that bears on a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call, usage_log
from diffmem.api.requests import ContextBody, SessionBody
from diffmem.api.sessions import remember_session
from diffmem.context import Block
from diffmem.errors import DiffMemError, Forbidden, UnknownUser
from diffmem.limits import Deadline
from diffmem.model import Usage
from diffmem.plan import Pointer
from diffmem.repository import Snapshot
from diffmem.retrieval import Question, Retrieved, retrieve
from diffmem.writer import Remembered, StorageUse

# What reading may take of a budget that writing shares.
_READ_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan as it was used, and the pointers that could not be."""

    pointers: Sequence[Mapping[str, Any]]
    rejected: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """Who planned and why it ended."""

    used: str
    stop_reason: str
    turns: int
    commands: Sequence[str]


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """The contract's answer; `trace` is set where it was asked for."""

    user: str
    head: str
    context: str
    blocks: Sequence[Block]
    tokens: int
    max_tokens: int
    synthesis: str
    entities: Sequence[str]
    plan: PlanAnswer
    planner: PlannerAnswer
    usage: Usage
    timings_ms: Mapping[str, int]
    storage: StorageUse
    degraded: bool
    warnings: Sequence[str]
    remembered: Remembered | None = None
    trace: Sequence[Mapping[str, Any]] | None = None


def post_context(app: Application, call: Call, user: str, body: ContextBody) -> Answer:
    """Read first, then write what `remember` holds, in the one invocation and under the one deadline."""
    if body.remember is not None and not call.may_write:
        raise Forbidden("remember: this key may only read")
    watch = call.watch
    deadline = call.deadline.within(body.time_budget_s)
    read_deadline = deadline if body.remember is None else deadline.within(deadline.remaining() * _READ_SHARE)
    if app.reader is not None and body.planner != "offline":
        app.reader.preload()
    with watch.phase("hydrate"):
        snapshot = _open(app, user, body, read_deadline)
    with snapshot:
        question = Question(body.turns(), body.as_of or call.now, body.max_tokens)
        found = retrieve(
            snapshot,
            question,
            tool=app.tool,
            model=app.reader,
            planner=body.planner,
            deadline=read_deadline,
            phase=watch.phase,
        )
        storage = StorageUse(snapshot.requests, snapshot.bytes)
        head = snapshot.head
    with watch.phase("remember"):
        remembered, warnings = _remember(app, call, user, body.remember, deadline)
    answer = _answer(user, head, body, found, storage, watch.milliseconds(), remembered, warnings)
    return Answer(200, answer, timings_ms=answer.timings_ms, log=_log(found))


def _open(app: Application, user: str, body: ContextBody, deadline: Deadline) -> Snapshot:
    """What is known of `user`; what is to be remembered begins the memory of one who is not known, as POST sessions."""
    try:
        return app.repositories.open(user, deadline, as_of=body.as_of)
    except UnknownUser:
        if body.remember is None:
            raise
        app.repositories.create(user, deadline)
        return app.repositories.open(user, deadline, as_of=body.as_of)


def _remember(
    app: Application, call: Call, user: str, session: SessionBody | None, deadline: Deadline
) -> tuple[Remembered | None, tuple[str, ...]]:
    """The answer of POST sessions for `session`. What was read is answered even where nothing could be written."""
    if session is None:
        return None, ()
    try:
        return remember_session(app, call, user, session, deadline), ()
    except DiffMemError as error:
        return None, (f"remember: not written, send it again: {error}",)


def _answer(
    user: str,
    head: str,
    body: ContextBody,
    found: Retrieved,
    storage: StorageUse,
    timings_ms: Mapping[str, int],
    remembered: Remembered | None,
    warnings: tuple[str, ...],
) -> ContextAnswer:
    return ContextAnswer(
        user=user,
        head=head,
        context=found.text,
        blocks=found.blocks,
        tokens=found.tokens,
        max_tokens=body.max_tokens,
        synthesis=found.plan.synthesis,
        entities=found.plan.entities,
        plan=PlanAnswer(
            [_set_fields(pointer) for pointer in found.plan.pointers],
            [{"pointer": _shown(item.pointer), "why": item.why} for item in found.rejected],
        ),
        planner=PlannerAnswer(found.used, found.stop_reason, found.turns, found.commands),
        usage=found.usage,
        timings_ms=timings_ms,
        storage=storage,
        degraded=found.degraded,
        warnings=(*found.warnings, *warnings),
        remembered=remembered,
        trace=found.trace if body.trace else None,
    )


def _set_fields(pointer: Pointer) -> dict[str, Any]:
    return {name: value for name, value in asdict(pointer).items() if value is not None}


def _shown(pointer: Any) -> Any:
    return _set_fields(pointer) if isinstance(pointer, Pointer) else pointer


def _log(found: Retrieved) -> dict[str, Any]:
    return {
        "planner": found.used,
        "stop_reason": found.stop_reason,
        "turns": found.turns,
        "context_tokens": found.tokens,
        "degraded": found.degraded,
        **usage_log(found.usage),
    }
