"""POST and GET of a webhook: archive what it brings, answer at once, and see that it is distilled.

A message is durable before its sender is told so. Whatever fails before that is an error, so that the sender tries
again; what had landed by then is found to be a duplicate by its id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.errors import DiffMemError, UnknownRoute
from diffmem.hooks import Challenge, Delivery, Hook, Incoming, Received, receive, verify_address
from diffmem.memory import Message
from diffmem.writer import Appended, append_messages, distill

_APPEND_SECONDS = 15.0  # senders do not wait longer, and send it again
_TASKS_SECONDS = 10.0
_INLINE_SECONDS = 50.0
_NO_REPLY = b'<?xml version="1.0" encoding="UTF-8"?><Response/>'


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """How many messages are durable now, and how many items were no messages.

    `duplicates` counts the messages of conversations that had all of theirs already.
    """

    status: Literal["accepted", "ignored"]
    messages: int
    duplicates: int
    ignored: int


def post_hook(app: Application, call: Call, hook: str, body: bytes) -> Answer:
    """Keep the messages that the webhook `hook` brings, each with its user."""
    watch = call.watch
    configured = _hook(app, hook)
    with watch.phase("verify"):
        found = receive(configured, Received(call.headers, body, call.url, call.now), call.deadline)
    if isinstance(found, Challenge):
        return _challenge(found)
    with watch.phase("append"):
        appended = [_append(app, call, configured, messages) for messages in _conversations(found, call)]
    with watch.phase("distill"):
        later = _distill(app, call, configured, appended)
    duplicates = sum(count for count, outcome in appended if outcome.status == "duplicate")
    status: Literal["accepted", "ignored"] = "accepted" if found.messages else "ignored"
    answer = HookAnswer(status, len(found.messages), duplicates, found.ignored)
    log = {
        "kind": configured.kind,
        "messages": answer.messages,
        "duplicates": duplicates,
        "ignored": found.ignored,
        "distill": later,
    }
    return _answer(configured, answer, watch.milliseconds(), log)


def get_hook(app: Application, call: Call, hook: str) -> Answer:
    """Answer a sender that verifies the address of the webhook `hook`."""
    return _challenge(verify_address(_hook(app, hook), call.query))


def _hook(app: Application, name: str) -> Hook:
    if name not in app.hooks:
        raise UnknownRoute(f"no webhook {name[:64]!r}")
    return app.hooks[name]


def _challenge(challenge: Challenge) -> Answer:
    return Answer(200, challenge.text.encode(), media_type="text/plain; charset=utf-8", log={"challenge": True})


def _conversations(delivery: Delivery, call: Call) -> list[list[Incoming]]:
    """The messages by user and conversation, each in the order in which they were said."""
    found: dict[tuple[str, str], list[Incoming]] = {}
    for message in delivery.messages:
        found.setdefault((message.user, message.conversation), []).append(message)
    return [sorted(messages, key=lambda message: message.at or call.now) for messages in found.values()]


def _append(app: Application, call: Call, hook: Hook, messages: Sequence[Incoming]) -> tuple[int, Appended]:
    appended = append_messages(
        app.repositories,
        messages[0].user,
        [Message(each.role, each.content, each.name, each.at, each.id) for each in messages],
        call.deadline.within(_APPEND_SECONDS),
        now=call.now,
        gap_seconds=app.config.session_gap_seconds,
        conversation=messages[0].conversation,
        source=hook.name,
    )
    return len(messages), appended


def _distill(app: Application, call: Call, hook: Hook, appended: Sequence[tuple[int, Appended]]) -> str:
    """What was done about distilling, for the log. Whatever fails leaves it pending: the messages are durable."""
    users = sorted({outcome.user for _, outcome in appended})
    if not users or hook.distill == "pending":
        return hook.distill
    if app.tasks is None or hook.distill == "inline":
        done = [_distill_now(app, call, user) for user in users]
        return "inline" if all(done) else "inline: pending"
    gap, deadline = app.config.session_gap_seconds, call.deadline.within(_TASKS_SECONDS)
    made = [app.tasks.distill_later(user, call.now, gap, deadline, base_url=_base_url(call)) for user in users]
    return "tasks: " + ", ".join(sorted({task.outcome for task in made}))


def _base_url(call: Call) -> str:
    called = urlsplit(call.url)
    return f"{call.headers.get('x-forwarded-proto', called.scheme)}://{called.netloc}"


def _distill_now(app: Application, call: Call, user: str) -> bool:
    try:
        found = distill(
            app.repositories,
            app.tool,
            app.writer,
            user,
            call.deadline.within(_INLINE_SECONDS),
            now=call.now,
            gap_seconds=app.config.session_gap_seconds,
            claims=app.claims,
        )
    except DiffMemError:
        return False
    return not found.pending


def _answer(hook: Hook, answer: HookAnswer, timings_ms: dict[str, int], log: dict[str, Any]) -> Answer:
    if hook.kind == "twilio":  # what else is answered would be sent to the person as a reply
        return Answer(200, _NO_REPLY, media_type="text/xml; charset=utf-8", timings_ms=timings_ms, log=log)
    return Answer(200, answer, timings_ms=timings_ms, log=log)
