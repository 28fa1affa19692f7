import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.errors import DiffMemError, InvalidRequest, Unauthenticated
from diffmem.hooks import Hook, Received, parse_hooks, receive
from diffmem.hooks.signatures import check_hub, check_slack, check_standard, check_twilio
from diffmem.limits import Deadline
from tests.support.senders import ADDRESS, FORM, NOW, OTHER_SECRETS, SECRETS, form, hub, sent

KINDS = sorted(SECRETS)
TIMED = ["slack", "standard"]
PROOF = {
    "standard": "webhook-signature",
    "meta": "x-hub-signature-256",
    "github": "x-hub-signature-256",
    "slack": "x-slack-signature",
    "telegram": "x-telegram-bot-api-secret-token",
    "twilio": "x-twilio-signature",
    "bearer": "authorization",
}


def _hook(kind: str, **settings: Any) -> Hook:
    return parse_hooks(json.dumps({"chat": {"kind": kind, "secret": SECRETS[kind], **settings}}))["chat"]


def _body(kind: str) -> bytes:
    return (
        form({"MessageSid": "SM1", "From": "+15005550006", "Body": "Olá + 1"})
        if kind == "twilio"
        else b'{"a": "\xc3\xa9"}'
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_its_sender_signed_is_accepted(kind: str) -> None:
    _hook(kind).check(sent(kind, _body(kind)), Deadline(60))


@pytest.mark.parametrize("kind", KINDS)
def test_another_secret_is_not(kind: str) -> None:
    with pytest.raises(Unauthenticated, match="does not match"):
        _hook(kind).check(sent(kind, _body(kind), secret=OTHER_SECRETS[kind]), Deadline(60))


@pytest.mark.parametrize("kind", KINDS)
def test_while_a_secret_is_rotated_both_are_accepted(kind: str) -> None:
    rotating = _hook(kind, secret=[SECRETS[kind], OTHER_SECRETS[kind]])
    rotating.check(sent(kind, _body(kind)), Deadline(60))
    rotating.check(sent(kind, _body(kind), secret=OTHER_SECRETS[kind]), Deadline(60))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"telegram", "bearer"}))
def test_an_altered_body_is_not_accepted(kind: str) -> None:
    received = sent(kind, _body(kind))
    with pytest.raises(Unauthenticated, match="does not match"):
        _hook(kind).check(
            replace(received, body=received.body.replace(b"a", b"b").replace(b"SM1", b"SM2")), Deadline(60)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_proof_is_named(kind: str) -> None:
    received = sent(kind, _body(kind))
    headers = {name: value for name, value in received.headers.items() if name != PROOF[kind]}
    with pytest.raises(Unauthenticated, match=f"{PROOF[kind]}: the header is missing"):
        _hook(kind).check(replace(received, headers=headers), Deadline(60))


@pytest.mark.parametrize("kind", TIMED)
@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_signed_time_may_be_five_minutes_off_and_no_more(kind: str, seconds: int) -> None:
    with pytest.raises(Unauthenticated, match="300 s off"):
        _hook(kind).check(sent(kind, _body(kind), now=NOW + timedelta(seconds=seconds)), Deadline(60))
    nearly = NOW + timedelta(seconds=seconds - 1 if seconds > 0 else seconds + 1)
    _hook(kind).check(sent(kind, _body(kind), now=nearly), Deadline(60))


@pytest.mark.parametrize("timestamp", ["", "now", "1.5", "-1", "٣", "99999999999999999999", "1e9"])
@pytest.mark.parametrize(
    ("kind", "header"), [("standard", "webhook-timestamp"), ("slack", "x-slack-request-timestamp")]
)
def test_a_time_that_is_none_is_not_accepted(kind: str, header: str, timestamp: str) -> None:
    received = sent(kind, _body(kind))
    with pytest.raises(Unauthenticated):
        _hook(kind).check(replace(received, headers={**received.headers, header: timestamp}), Deadline(60))


@pytest.mark.parametrize(
    "value", ["v1,", ",", "v1", "v1a,AAAA", "v1,!!", "a,b,c", "  ", "v0=", "sha256=", "Bearer", "Bearer ", "é"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_malformed_proof_is_not_accepted(kind: str, value: str) -> None:
    received = sent(kind, _body(kind))
    with pytest.raises(Unauthenticated):
        _hook(kind).check(replace(received, headers={**received.headers, PROOF[kind]: value}), Deadline(60))


def test_standard_webhooks_takes_any_of_several_signatures() -> None:
    received = sent("standard", b"{}")
    signature = received.headers["webhook-signature"]
    several = {**received.headers, "webhook-signature": f"v1a,AAAA v1,BBBB {signature}"}
    _hook("standard").check(replace(received, headers=several), Deadline(60))


def test_the_senders_own_examples_verify() -> None:
    def at(seconds: int, headers: Mapping[str, str], body: bytes, url: str = "") -> Received:
        return Received(headers, body, url, datetime.fromtimestamp(seconds, UTC))

    example = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    check_standard(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], at(1614265330, example, b'{"test": 2432232314}'))
    digest = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    check_hub(["It's a Secret to Everybody"], at(0, {"x-hub-signature-256": digest}, b"Hello, World!"))
    command = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    headers = {"x-slack-request-timestamp": "1531420618", "x-slack-signature": signature}
    check_slack(["8f742231b10e8888abcd99yyyzzz85a5"], at(1531420618, headers, command))


CALL = {"CallSid": "CA1234567890ABCDE", "Caller": "+12349013030", "Digits": "1234", "From": "+12349013030"}


@pytest.mark.parametrize(
    ("called", "configured", "forwarded"),
    [
        ("https://mycompany.com/myapp.php?foo=1&bar=2", None, {}),
        ("https://mycompany.com:443/myapp.php?foo=1&bar=2", None, {}),
        ("http://mycompany.com/myapp.php?foo=1&bar=2", None, {"x-forwarded-proto": "https"}),
        ("http://10.0.0.1:8080/v1/hooks/x?foo=1&bar=2", "https://mycompany.com/myapp.php", {}),
    ],
)
def test_twilio_signs_the_address_that_it_knows(called: str, configured: str | None, forwarded: dict[str, str]) -> None:
    body = form({**CALL, "To": "+18005551212"})
    headers = {**FORM, **forwarded, "x-twilio-signature": "0/KCTR6DLpKmkAf8muzZqo1nDgQ="}
    check_twilio(["12345"], configured, Received(headers, body, called, NOW))
    with pytest.raises(Unauthenticated):
        check_twilio(["12345"], configured, Received(headers, body, called.replace("bar=2", "bar=3"), NOW))


def test_twilio_signs_another_body_by_its_hash_in_the_address() -> None:
    body = b'{"property": "value", "boolean": true}'
    digest = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
    url = f"https://mycompany.com/myapp.php?foo=1&bar=2&bodySHA256={digest}"
    headers = {"content-type": "application/json", "x-twilio-signature": "a9nBmqA0ju/hNViExpshrM61xv4="}
    check_twilio(["12345"], None, Received(headers, body, url, NOW))
    with pytest.raises(Unauthenticated):
        check_twilio(["12345"], None, Received(headers, body + b" ", url, NOW))
    with pytest.raises(Unauthenticated):
        check_twilio(["12345"], None, Received(headers, body, "https://mycompany.com/myapp.php?foo=1&bar=2", NOW))


@pytest.mark.parametrize("url", ["", "https://[::1", "https://host:port/", "https://host:99999/", "not a url"])
def test_an_address_that_is_none_does_not_match(url: str) -> None:
    with pytest.raises(Unauthenticated):
        check_twilio(["12345"], None, Received({**FORM, "x-twilio-signature": "AAAA"}, b"a=b", url, NOW))


def test_a_form_of_too_many_fields_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="fields"):
        _hook("twilio").check(
            Received({**FORM, "x-twilio-signature": "AAAA"}, b"a=b&" * 2000, ADDRESS, NOW), Deadline(60)
        )


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(body=st.binary(max_size=200), text=st.text(st.characters(max_codepoint=255), max_size=60))
def test_no_bytes_raise_anything_but_an_error_of_ours(kind: str, body: bytes, text: str) -> None:
    hook = _hook(kind)
    for headers in ({}, {PROOF[kind]: text}, {**sent(kind, b"").headers, PROOF[kind]: text}):
        try:
            receive(hook, Received(headers, body, ADDRESS + text, NOW), Deadline(60))
        except DiffMemError as error:
            assert SECRETS[kind] not in str(error)


@pytest.mark.parametrize("kind", ["meta", "github"])
@settings(deadline=None)
@given(body=st.binary(max_size=300))
def test_no_signed_bytes_raise_anything_but_an_error_of_ours(kind: str, body: bytes) -> None:
    received = Received(hub(SECRETS[kind], body, NOW), body, ADDRESS, NOW)
    try:
        receive(_hook(kind), received, Deadline(60))
    except DiffMemError as error:
        assert isinstance(error, InvalidRequest)
