import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmem.errors import StorageUnavailable, Unauthenticated
from diffmem.hooks import Hook, Received, parse_hooks
from diffmem.hooks.oidc import Certificates
from diffmem.limits import Deadline
from tests.support.oidc import AUDIENCE, EMAIL, Issuer, Key
from tests.support.serving import Handler, Serving


@pytest.fixture(scope="module")
def key() -> Key:
    return Key("key-1")


@pytest.fixture
def issuer(key: Key) -> Iterator[Issuer]:
    with Issuer(key) as issuer:
        yield issuer


def _hook(url: str, **settings: Any) -> Hook:
    plain = {"kind": "pubsub", "audience": AUDIENCE, "email": EMAIL, "certificates_url": url}
    return parse_hooks(json.dumps({"events": {**plain, **settings}}))["events"]


def _sent(token: str, now: datetime | None = None) -> Received:
    return Received({"authorization": f"Bearer {token}"}, b"{}", AUDIENCE, now or datetime.now(UTC))


def test_a_token_of_the_issuer_is_accepted_and_the_certificates_are_fetched_once(issuer: Issuer, key: Key) -> None:
    hook = _hook(issuer.url)
    for _ in range(3):
        hook.check(_sent(key.token()), Deadline(60))
    hook.check(_sent(key.token(iss="accounts.google.com")), Deadline(60))
    assert issuer.asked == 1


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "https://evil.example.com"}, "audience"),
        ({"aud": None}, "audience"),
        ({"aud": [AUDIENCE]}, "audience"),
        ({"iss": "https://evil.example.com"}, "issuer"),
        ({"email": "other@project.iam.gserviceaccount.com"}, "e-mail"),
        ({"email": None}, "e-mail"),
        ({"email_verified": False}, "e-mail"),
        ({"email_verified": "true"}, "e-mail"),
        ({"exp": 1550185935, "iat": 1550182335}, "times"),
        ({"exp": int(time.time()) - 301}, "times"),
        ({"iat": int(time.time()) + 900}, "times"),
        ({"exp": None}, "times"),
        ({"iat": "yesterday"}, "times"),
    ],
)
def test_a_token_that_says_something_else_is_not(issuer: Issuer, key: Key, claims: dict[str, Any], why: str) -> None:
    with pytest.raises(Unauthenticated, match=why):
        _hook(issuer.url).check(_sent(key.token(**claims)), Deadline(60))


def test_a_token_of_another_key_is_not_accepted(issuer: Issuer, key: Key) -> None:
    with pytest.raises(Unauthenticated, match="key that its issuer does not have"):
        _hook(issuer.url).check(_sent(Key("key-2").token()), Deadline(60))
    with pytest.raises(Unauthenticated, match="signature"):
        _hook(issuer.url).check(_sent(Key("key-1").token()), Deadline(60))


def test_an_altered_token_is_not_accepted(issuer: Issuer, key: Key) -> None:
    head, _, signature = key.token().split(".")
    _, claims, _ = key.token(email="x@example.com").split(".")
    with pytest.raises(Unauthenticated):
        _hook(issuer.url).check(_sent(f"{head}.{claims}.{signature}"), Deadline(60))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "eyJhbGciOiJub25lIn0.eyJhIjoxfQ.",
        "eyJhbGciOiJIUzI1NiIsImtpZCI6ImtleS0xIn0.eyJhIjoxfQ.AAAA",
        "W10.W10.AAAA",
        f"{'W1tb' * 3000}.e30.AAAA",
    ],
)
def test_what_is_no_token_is_not_accepted(issuer: Issuer, token: str) -> None:
    with pytest.raises(Unauthenticated):
        _hook(issuer.url).check(_sent(token), Deadline(60))
    assert issuer.asked == 0


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(token=st.text(st.characters(max_codepoint=255), max_size=80))
def test_no_text_raises_anything_but_an_error_of_ours(issuer: Issuer, token: str) -> None:
    with pytest.raises(Unauthenticated):
        _hook(issuer.url).check(_sent(token), Deadline(60))


def test_a_new_key_is_asked_for_at_most_once_a_minute(issuer: Issuer, key: Key) -> None:
    hook, second = _hook(issuer.url), Key("key-2")
    now = datetime.now(UTC)
    hook.check(_sent(key.token(), now), Deadline(60))
    issuer.keys.append(second)
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            hook.check(_sent(second.token(), now + timedelta(seconds=59)), Deadline(60))
    assert issuer.asked == 1
    hook.check(_sent(second.token(), now + timedelta(seconds=60)), Deadline(60))
    assert issuer.asked == 2


def test_certificates_are_kept_as_long_as_the_issuer_says(issuer: Issuer) -> None:
    certificates, now = Certificates(issuer.url), datetime.now(UTC)
    for seconds in (0, 19999, 20000, 20001):
        assert certificates.of("key-1", now + timedelta(seconds=seconds), Deadline(60))
    assert issuer.asked == 2


def test_without_certificates_the_sender_is_told_to_try_again(issuer: Issuer, key: Key) -> None:
    hook = _hook(issuer.url)
    issuer.status = 500
    with pytest.raises(StorageUnavailable):
        hook.check(_sent(key.token()), Deadline(60))
    issuer.status = 200
    hook.check(_sent(key.token()), Deadline(60))


class _Odd(Handler):
    def do_GET(self) -> None:
        """Something that is not what certificates look like, or a body that trickles until the test ends."""
        if self.path == "/list":
            return self.answer(200, b"[1]")
        if self.path == "/text":
            return self.answer(200, b"certificates")
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while not self.server.owner.stopping.wait(0.05):  # type: ignore[attr-defined]
            self.wfile.write(b" ")
            self.wfile.flush()
        return None


@pytest.mark.parametrize("path", ["list", "text", "slow"])
def test_odd_and_slow_certificates_end_within_the_deadline(key: Key, path: str) -> None:
    with Serving(_Odd) as odd:
        began = time.monotonic()
        with pytest.raises(StorageUnavailable):
            _hook(f"{odd.url}/{path}").check(_sent(key.token()), Deadline(0.5))
        assert time.monotonic() - began < 2


def test_another_issuer_may_be_configured(issuer: Issuer, key: Key) -> None:
    hook = _hook(issuer.url, issuer="https://issuer.example.com")
    hook.check(_sent(key.token(iss="https://issuer.example.com")), Deadline(60))
    with pytest.raises(Unauthenticated, match="issuer"):
        hook.check(_sent(key.token()), Deadline(60))


def test_a_bearer_token_is_needed(issuer: Issuer, key: Key) -> None:
    for headers in ({}, {"authorization": f"Basic {key.token()}"}):
        with pytest.raises(Unauthenticated, match="authorization"):
            _hook(issuer.url).check(replace(_sent(""), headers=headers), Deadline(60))
