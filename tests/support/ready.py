"""The ready-made mappings of webhooks, applied."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from diffmem.hooks import Delivery, Incoming
from diffmem.hooks.mapping import Rule, Source, read
from diffmem.hooks.ready import READY
from tests.support.senders import NOW

RULES = {kind: [Rule.model_validate(rule) for rule in rules] for kind, rules in READY.items()}
AT = datetime(2026, 3, 5, 19, 30, tzinfo=UTC)


def delivered(kind: str, payload: Any, headers: Mapping[str, str] | None = None) -> Delivery:
    """What the mapping of `kind` makes of `payload`."""
    return read(RULES[kind], payload, Source("chat", headers or {}, NOW, "delivery"))


def only(kind: str, payload: Any, headers: Mapping[str, str] | None = None) -> Incoming:
    """Its one message."""
    (message,) = delivered(kind, payload, headers).messages
    return message
