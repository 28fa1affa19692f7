"""Senders of webhooks: what each puts into its headers to prove that it is the one, by its own documentation."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from diffmem.hooks import Received

NOW = datetime(2026, 3, 5, 19, 30, tzinfo=UTC)
ADDRESS = "https://memory.example.com/v1/hooks/chat"
JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}

SECRETS: Mapping[str, str] = {
    "standard": "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode(),
    "meta": "5f2c0a1b9d8e7f60718293a4b5c6d7e8",
    "github": "It's a Secret to Everybody",
    "slack": "8f742231b10e8888abcd99yyyzzz85a5",
    "telegram": "telegram-secret_token",
    "twilio": "0123456789abcdef0123456789abcdef",
    "bearer": "bearer-secret-0123456789",
}
OTHER_SECRETS: Mapping[str, str] = {
    kind: f"whsec_{base64.b64encode(b'76543210fedcba9876543210').decode()}" if kind == "standard" else f"new-{secret}"
    for kind, secret in SECRETS.items()
}

Signer = Callable[[str, bytes, datetime], dict[str, str]]


def sent(kind: str, body: bytes, *, secret: str | None = None, now: datetime = NOW, url: str = ADDRESS) -> Received:
    """A webhook of `kind` as its sender sends it at `now`; the receiver's clock says `NOW`."""
    headers = twilio(secret or SECRETS[kind], body, url) if kind == "twilio" else _SIGNERS[kind](
        secret or SECRETS[kind], body, now
    )  # fmt: skip
    return Received({**(FORM if kind == "twilio" else JSON), **headers}, body, url, NOW)


def form(fields: Mapping[str, Any]) -> bytes:
    """A form as Twilio posts it."""
    return urlencode(fields).encode()


def standard(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """Standard Webhooks, written from the specification and not with the library."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    timestamp = str(int(now.timestamp()))
    signature = hmac.new(key, f"msg_1.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def hub(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """Meta and GitHub."""
    return {"x-hub-signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def slack(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """Slack's v0."""
    timestamp = str(int(now.timestamp()))
    signature = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": timestamp, "x-slack-signature": f"v0={signature}"}


def telegram(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """Telegram's secret token."""
    return {"x-telegram-bot-api-secret-token": secret}


def twilio(secret: str, body: bytes, url: str) -> dict[str, str]:
    """Twilio, for a form without percent signs in its names."""
    from urllib.parse import parse_qsl

    fields = sorted(parse_qsl(body.decode(), keep_blank_values=True))
    signed = url + "".join(name + value for name, value in fields)
    return {
        "x-twilio-signature": base64.b64encode(
            hmac.new(secret.encode(), signed.encode(), hashlib.sha1).digest()
        ).decode()
    }


def bearer(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """A plain bearer token."""
    return {"authorization": f"Bearer {secret}"}


_SIGNERS: Mapping[str, Signer] = {
    "standard": standard,
    "meta": hub,
    "github": hub,
    "slack": slack,
    "telegram": telegram,
    "bearer": bearer,
}
