"""A webhook from raw request to messages: who sent it first, what it holds then."""

import hashlib
from dataclasses import dataclass
from typing import Any

from diffmem.errors import InvalidRequest, MethodNotAllowed, Unauthenticated
from diffmem.hooks.configuration import Hook
from diffmem.hooks.mapping import Delivery, Source, read
from diffmem.hooks.payloads import decode, form, unwrapped
from diffmem.hooks.signatures import Received, is_same
from diffmem.limits import Deadline

_MAX_CHALLENGE_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a sender that verifies an address wants to be answered, as plain text."""

    text: str


def receive(hook: Hook, received: Received, deadline: Deadline) -> Delivery | Challenge:
    """What `received` brings, once it is known to be the sender's.

    Raises:
        Unauthenticated: it is not the sender's.
        InvalidRequest: it is, and cannot be read.
        TooLarge: a message is, or there are too many.
        StorageUnavailable: who sent it cannot be checked now.
    """
    hook.check(received, deadline)
    payload = decode(received.body, received.headers)
    if hook.kind == "slack" and isinstance(payload, dict) and payload.get("type") == "url_verification":
        return _challenge(payload.get("challenge"))
    if hook.kind == "pubsub":
        payload = unwrapped(payload)
    delivery = _delivery(hook, received)
    return read(hook.rules, payload, Source(hook.name, received.headers, received.now, delivery, hook.user))


def verify_address(hook: Hook, query: str) -> Challenge:
    """The answer to Meta's GET with `hub.mode`, `hub.verify_token` and `hub.challenge`.

    https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests

    Raises:
        MethodNotAllowed: this hook's sender verifies nothing by GET.
        Unauthenticated: the verify token is not the configured one.
        InvalidRequest: there is no challenge to answer.
    """
    if hook.verify_token is None:
        raise MethodNotAllowed(f"hook {hook.name!r} takes POST", ("POST",))
    sent = dict(form(query.encode("utf-8", "replace")))
    if sent.get("hub.mode") != "subscribe" or not is_same(sent.get("hub.verify_token", ""), hook.verify_token):
        raise Unauthenticated("hub.verify_token: not the configured one")
    return _challenge(sent.get("hub.challenge"))


def _challenge(text: Any) -> Challenge:
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_CHALLENGE_CHARACTERS or not text.isprintable():
        raise InvalidRequest(f"challenge: a text of 1 to {_MAX_CHALLENGE_CHARACTERS} printable characters is needed")
    return Challenge(text)


def _delivery(hook: Hook, received: Received) -> str | None:
    """What names the delivery, from what is signed. A bearer token signs nothing, and one text may well come twice."""
    if hook.kind == "bearer":
        return None
    if hook.kind == "standard":
        return received.headers["webhook-id"]
    return f"sha256-{hashlib.sha256(received.body).hexdigest()[:32]}"
