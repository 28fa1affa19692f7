"""POST sessions, messages and distill: what a conversation taught, made durable and then distilled."""

from collections.abc import Sequence

from diffmem import writer
from diffmem.api.application import Application
from diffmem.api.call import Answer, Call, usage_log
from diffmem.api.requests import DistillBody, MessageBody, MessagesBody, SessionBody
from diffmem.limits import Deadline
from diffmem.memory import Message, new_session

_APPEND_SECONDS = 30.0


def post_sessions(app: Application, call: Call, user: str, body: SessionBody) -> Answer:
    """Remember a session: its transcript is committed and durable before any model is asked."""
    with call.watch.phase("write"):
        done = remember_session(app, call, user, body, call.deadline.within(body.time_budget_s))
    status = 200 if done.status == "duplicate" else 201
    log = {
        "write": done.status,
        "writer": done.writer,
        "pending": done.pending,
        "files": len(done.files),
        **usage_log(done.usage),
    }
    return Answer(status, done, timings_ms=done.timings_ms, log=log)


def remember_session(
    app: Application, call: Call, user: str, body: SessionBody, deadline: Deadline
) -> writer.Remembered:
    """What became of the session in `body`; raises as `writer.remember` does."""
    session = new_session(
        now=call.now,
        session_id=body.session_id,
        messages=_messages(body.messages or ()),
        transcript=body.transcript,
        occurred_at=body.occurred_at,
        timezone=body.timezone,
        source=body.source,
        metadata=body.metadata,
        instructions=body.instructions,
    )
    if app.writer is not None and body.mode == "distill":
        app.writer.preload()
    return writer.remember(
        app.repositories, app.tool, app.writer, user, session, deadline, mode=body.mode, claims=app.claims
    )


def post_messages(app: Application, call: Call, user: str, body: MessagesBody) -> Answer:
    """Append messages to the conversation's open session, one durable commit a call."""
    with call.watch.phase("write"):
        done = writer.append_messages(
            app.repositories,
            user,
            _messages(body.messages),
            call.deadline.within(_APPEND_SECONDS),
            now=call.now,
            gap_seconds=app.config.session_gap_seconds,
            conversation=body.conversation,
            timezone=body.timezone,
            source=body.source,
        )
    return Answer(201, done, log={"write": done.status, "closed": len(done.closed)})


def post_distill(app: Application, call: Call, user: str, body: DistillBody) -> Answer:
    """Distil whatever is pending, the oldest first, while time remains; one session where it is named."""
    with call.watch.phase("write"):
        done = writer.distill(
            app.repositories,
            app.tool,
            app.writer,
            user,
            call.deadline.within(body.time_budget_s),
            now=call.now,
            gap_seconds=app.config.session_gap_seconds,
            session_id=body.session_id,
            close=body.close,
            claims=app.claims,
        )
    log = {"distilled": len(done.distilled), "pending": len(done.pending) > 0, **usage_log(done.usage)}
    return Answer(200, done, timings_ms=done.timings_ms, log=log)


def _messages(bodies: Sequence[MessageBody]) -> tuple[Message, ...]:
    return tuple(Message(body.role, body.content, body.name, body.at, body.id) for body in bodies)
