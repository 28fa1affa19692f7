"""Who sent it: one check for each way in which senders prove it with a shared secret.

*Covered*: signatures over the raw body, compared in constant time with every configured secret, so that a secret can be
rotated; times that are signed may be 5 minutes off. *Not covered*: a body that is sent again while its time holds, or
by a sender that signs no time (Meta, GitHub, Telegram, Twilio, bearer): its messages bear the same ids and are
duplicates. Standard Webhooks' asymmetric `v1a` signatures.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit, urlunsplit

from diffmem.errors import Unauthenticated
from diffmem.hooks.payloads import form, is_form
from diffmem.hooks.times import TOLERANCE

_PORTS = {"https": 443, "http": 80}
_MIN_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Received:
    """A webhook as it arrived: headers with lower-case names, the raw body, the whole URL, and when."""

    headers: Mapping[str, str]
    body: bytes
    url: str
    now: datetime


def check_standard(secrets: Sequence[str], received: Received) -> None:
    """Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature` with one or more `v1,BASE64`.

    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    The library signs; its own `verify` reads the machine's clock and lets malformed signatures rise as ValueError.
    """
    from standardwebhooks import Webhook

    message_id, timestamp = (_header(received, f"webhook-{name}") for name in ("id", "timestamp"))
    sent_at = _recent(timestamp, received.now)
    signatures = _header(received, "webhook-signature").split(" ")
    try:
        text = received.body.decode()
    except UnicodeDecodeError as error:
        raise Unauthenticated("the signature does not match: the body is not UTF-8") from error
    expected = [Webhook(secret).sign(message_id, sent_at, text) for secret in secrets]
    _require_match(expected, signatures)


def is_standard_secret(secret: str) -> bool:
    """Whether `secret` is one of Standard Webhooks: base64 of 16 bytes or more, with or without `whsec_` before it.

    The library passes over what is not base64: of `whsec_<new>` it makes a key of two bytes, which anybody can guess.
    """
    text = secret.removeprefix("whsec_")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return False
    return len(key) >= _MIN_KEY_BYTES


def check_hub(secrets: Sequence[str], received: Received) -> None:
    """Meta and GitHub: `X-Hub-Signature-256: sha256=HEX`, HMAC-SHA-256 of the body.

    https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
    """
    expected = [f"sha256={_hmac(secret, received.body, 'sha256').hex()}" for secret in secrets]
    _require_match(expected, [_header(received, "x-hub-signature-256")])


def check_slack(secrets: Sequence[str], received: Received) -> None:
    """Slack: `X-Slack-Signature: v0=HEX`, HMAC-SHA-256 of `v0:TIMESTAMP:BODY`.

    https://docs.slack.dev/authentication/verifying-requests-from-slack
    """
    timestamp = _header(received, "x-slack-request-timestamp")
    _recent(timestamp, received.now)
    signed = f"v0:{timestamp}:".encode() + received.body
    expected = [f"v0={_hmac(secret, signed, 'sha256').hex()}" for secret in secrets]
    _require_match(expected, [_header(received, "x-slack-signature")])


def check_telegram(secrets: Sequence[str], received: Received) -> None:
    """Telegram: the `secret_token` given to setWebhook, in `X-Telegram-Bot-Api-Secret-Token`.

    https://core.telegram.org/bots/api#setwebhook
    """
    _require_match(secrets, [_header(received, "x-telegram-bot-api-secret-token")])


def check_bearer(secrets: Sequence[str], received: Received) -> None:
    """`Authorization: Bearer SECRET`."""
    _require_match(secrets, [bearer_token(received)])


def check_twilio(secrets: Sequence[str], address: str | None, received: Received) -> None:
    """Twilio: `X-Twilio-Signature`, base64 of the HMAC-SHA-1 of the URL and the form's sorted fields.

    A body that is not a form is signed by its SHA-256, `bodySHA256` in the URL. The URL is the one that Twilio was
    given: `address` where it is configured, else the one that was called, with and without its scheme's own port.
    https://www.twilio.com/docs/usage/security#validating-requests
    """
    fields = ""
    if is_form(received.headers):
        fields = "".join(name + value for name, value in sorted(set(form(received.body))))
    else:
        _require_match([hashlib.sha256(received.body).hexdigest()], parse_qs(_query(received)).get("bodySHA256", [""]))
    expected = [
        base64.b64encode(_hmac(secret, (url + fields).encode("utf-8", "surrogatepass"), "sha1")).decode()
        for secret in secrets
        for url in sorted(set(_addresses(address, received)))
    ]
    _require_match(expected, [_header(received, "x-twilio-signature")])


def bearer_token(received: Received) -> str:
    """What follows `Bearer` in the `Authorization` header."""
    scheme, _, token = _header(received, "authorization").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("authorization: 'Bearer TOKEN' is needed")
    return token.strip()


def is_same(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not say where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def _addresses(address: str | None, received: Received) -> Iterator[str]:
    if address is not None:
        yield f"{address}?{_query(received)}" if _query(received) else address
        return
    try:
        called = urlsplit(received.url)
        host = called.netloc.removesuffix(f":{called.port}")
    except ValueError:
        return
    for scheme in (called.scheme, received.headers.get("x-forwarded-proto", called.scheme).split(",")[0].strip()):
        standard = _PORTS.get(scheme)
        for netloc in (called.netloc,) if called.port not in (None, standard) else (host, f"{host}:{standard}"):
            yield urlunsplit(called._replace(scheme=scheme, netloc=netloc))


def _query(received: Received) -> str:
    return received.url.partition("?")[2]


def _hmac(secret: str, data: bytes, algorithm: str) -> bytes:
    return hmac.new(secret.encode(), data, algorithm).digest()


def _header(received: Received, name: str) -> str:
    value = received.headers.get(name, "")
    if not value:
        raise Unauthenticated(f"{name}: the header is missing")
    return value


def _recent(timestamp: str, now: datetime) -> datetime:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 11):
        raise Unauthenticated("the timestamp is not in whole Unix seconds")
    sent_at = datetime.fromtimestamp(int(timestamp), UTC)
    if abs(now - sent_at) > TOLERANCE:
        raise Unauthenticated(f"the timestamp is more than {TOLERANCE.seconds} s off")
    return sent_at


def _require_match(expected: Sequence[str], given: Sequence[str]) -> None:
    matches = [is_same(one, other) for one in expected for other in given]
    if not any(matches):
        raise Unauthenticated("the signature or secret does not match")
