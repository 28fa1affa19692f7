"""Webhooks through the function itself: raw bodies, headers, addresses and statuses as senders see them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.app import Function, function
from tests.support.senders import SECRETS, form, sent
from tests.support.webhooks import slack, twilio, whatsapp

VERIFY_TOKEN = "verify-me-please"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Function]:
    folder: Path = tmp_path_factory.mktemp("hooks")
    hooks: dict[str, Any] = {kind: {"kind": kind, "secret": secret} for kind, secret in SECRETS.items()}
    hooks["meta"]["verify_token"] = VERIFY_TOKEN
    with function(folder, {"DIFFMEM_HOOKS": json.dumps(hooks)}) as served:
        yield served


def _post(app: Function, kind: str, body: bytes, secret: str | None = None) -> TestResponse:
    received = sent(kind, body, secret=secret, now=datetime.now(UTC), url=f"http://localhost/v1/hooks/{kind}?from=sms")
    return app.post(f"/v1/hooks/{kind}?from=sms", data=body, headers=dict(received.headers))


def test_a_message_that_was_acknowledged_is_in_the_users_memory(app: Function) -> None:
    answer = _post(app, "slack", json.dumps(slack(text="Dinner with Ida on Friday?")).encode())
    assert (answer.status_code, answer.get_json()) == (
        200,
        {"status": "accepted", "messages": 1, "duplicates": 0, "ignored": 0},
    )
    found = app.post("/v1/users/slack-T061EG9R6-U061F7AUR/context", {"query": "When is dinner with Ida?"})
    assert "Dinner with Ida on Friday?" in found.get_json()["context"]


def test_an_address_with_a_query_is_signed_as_it_was_called(app: Function) -> None:
    answer = _post(app, "twilio", form(twilio(Body="Olá + 1 & more")))
    assert (answer.status_code, answer.mimetype) == (200, "text/xml")
    assert app.get("/v1/users/twilio-+15005550006").get_json()["sessions"] == 1


@pytest.mark.parametrize(
    ("kind", "body", "secret", "status"),
    [
        ("meta", json.dumps(whatsapp({"text": {"body": "Hi"}})).encode(), "f" * 32, 401),
        ("meta", b"{", None, 400),
        ("bearer", b'{"text": "a private thing"}', None, 400),
    ],
)
def test_what_is_refused_says_why_and_nothing_of_what_was_sent(
    app: Function, kind: str, body: bytes, secret: str | None, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = _post(app, kind, body, secret)
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json")
    assert "private" not in answer.text + capsys.readouterr().out


def test_an_unknown_webhook_is_a_404_and_a_get_without_a_verification_a_405(app: Function) -> None:
    assert app.post("/v1/hooks/nobody", {}).status_code == 404
    answer = app.get("/v1/hooks/slack")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_meta_verifies_the_address(app: Function) -> None:
    query = f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}"
    answer = app.get(f"/v1/hooks/meta?{query}")
    assert (answer.status_code, answer.mimetype, answer.text) == (200, "text/plain", "1158201444")
    assert app.get(f"/v1/hooks/meta?{query}x").status_code == 401
