import hashlib
import json
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmem.errors import ConfigError
from diffmem.hooks import parse_hooks, receive
from diffmem.hooks.mapping import Delivery
from diffmem.limits import Deadline
from tests.support.senders import FORM, SECRETS, form, sent
from tests.support.webhooks import github, github_comment

ROOT = Path(__file__).parent.parent.parent
SECRET = SECRETS["bearer"]


def _parse(**settings: Any) -> Any:
    return parse_hooks(json.dumps({"chat": settings}))["chat"]


def _users(body: Any, **settings: Any) -> list[str]:
    found = receive(
        _parse(kind="bearer", secret=SECRET, **settings), sent("bearer", json.dumps(body).encode()), Deadline(9)
    )
    assert isinstance(found, Delivery)
    return [message.user for message in found.messages]


def test_no_hooks_are_none() -> None:
    assert parse_hooks("") == {}
    assert parse_hooks("{}") == {}


def test_every_kind_has_a_mapping_of_its_own() -> None:
    kinds = {kind: {"kind": kind, "secret": secret} for kind, secret in SECRETS.items()}
    kinds["pubsub"] = {"kind": "pubsub", "audience": "https://a.example.com", "email": "a@b.example.com"}
    hooks = parse_hooks(json.dumps(kinds))
    assert {name: hook.kind for name, hook in hooks.items()} == {name: name for name in kinds}
    assert all(hook.rules for hook in hooks.values())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ([], "Input should be"),
        ({}, "kind"),
        ({"kind": "fax", "secret": SECRET}, "kind"),
        ({"kind": "bearer"}, "secret is needed"),
        ({"kind": "bearer", "secret": "short"}, "secret.0"),
        ({"kind": "bearer", "secret": []}, "secret"),
        ({"kind": "bearer", "secret": SECRET, "colour": 1}, "colour"),
        ({"kind": "bearer", "secret": SECRET, "verify_token": "verify-me"}, "verify_token"),
        ({"kind": "meta", "secret": SECRET, "url": "https://a.example.com"}, "url"),
        ({"kind": "twilio", "secret": SECRET, "url": "a.example.com"}, "url"),
        ({"kind": "pubsub", "audience": "https://a.example.com"}, "email is needed"),
        ({"kind": "pubsub", "audience": "a", "email": "b", "secret": SECRET}, "secret"),
        (
            {"kind": "pubsub", "audience": "a", "email": "b", "certificates_url": "file:///etc/passwd"},
            "certificates_url",
        ),
        ({"kind": "standard", "secret": "whsec_%%%%%%%%"}, "base64"),
        ({"kind": "standard", "secret": "whsec_<new>"}, "base64"),
        ({"kind": "standard", "secret": "whsec_c2hvcnQ="}, "base64 of 16 bytes"),
        ({"kind": "standard", "secret": "my dear pass phrase, long as it is"}, "base64"),
        ({"kind": "standard", "secret": "whsec_ключключключключключ"}, "base64"),
        ({"kind": "bearer", "secret": SECRET, "distill": "later"}, "distill"),
        ({"kind": "bearer", "secret": SECRET, "distill": "tasks"}, "DIFFMEM_TASKS_QUEUE"),
        ({"kind": "bearer", "secret": SECRET, "user": "{a..b}"}, "user"),
        ({"kind": "bearer", "secret": SECRET, "user": 5}, "user"),
        ({"kind": "bearer", "secret": SECRET, "mapping": {"text": "{text}"}}, "user is needed"),
        ({"kind": "bearer", "secret": SECRET, "mapping": {"user": "{user}"}}, r"mapping\.0\.text"),
        ({"kind": "bearer", "secret": SECRET, "mapping": {"user": "a", "text": "{"}}, r"mapping\.0\.text"),
        ({"kind": "bearer", "secret": SECRET, "mapping": {"user": "a", "text": "{a}", "messages": "a["}}, "messages"),
        ({"kind": "bearer", "secret": SECRET, "mapping": []}, "mapping"),
        ({"kind": "bearer", "secret": SECRET, "mapping": {"user": "a", "text": "{a}", "other": "b"}}, "other"),
    ],
)
def test_a_mistake_is_named_by_hook_and_field_and_no_secret_is_shown(settings: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=f"hook 'chat': .*{why}") as caught:
        parse_hooks(json.dumps({"chat": settings}))
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown and "%%" not in shown


@pytest.mark.parametrize("text", ["[]", '"x"', "{", '{"a/b": {}}', '{"": {}}'])
def test_what_is_no_object_of_named_hooks_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="DIFFMEM_HOOKS"):
        parse_hooks(text)


def test_a_hook_does_not_show_its_secrets() -> None:
    assert repr(_parse(kind="meta", secret=SECRET, verify_token="verify-me")) == "Hook('chat', 'meta')"


def test_where_there_is_a_queue_distilling_goes_there() -> None:
    settings = json.dumps({"chat": {"kind": "bearer", "secret": SECRET}})
    assert parse_hooks(settings, has_queue=True)["chat"].distill == "tasks"
    assert parse_hooks(settings)["chat"].distill == "pending"


@pytest.mark.parametrize(
    ("user", "expected"),
    [("alex", "alex"), ("acme-{}", "acme-u1"), ("{team}:{}", "t1:u1"), (["{missing}", "{}"], "u1")],
)
def test_a_hooks_own_user_goes_before_the_mappings(user: Any, expected: str) -> None:
    assert _users({"user": "u1", "text": "Hi", "team": "t1"}, user=user) == [expected]


def test_a_mapping_of_ones_own() -> None:
    mapping = {
        "messages": "events[*]",
        "when": "{?kind=said}",
        "user": "crm-{$.account.id}",
        "conversation": "{channel}",
        "id": "{uid}",
        "role": ["assistant{?by=agent}", "user"],
        "text": ["{body}", "[{kind}]"],
        "time": "{ts}",
    }
    body = {
        "account": {"id": 7},
        "events": [
            {"kind": "said", "uid": "e1", "by": "agent", "channel": "mail", "body": "Hello", "ts": 1772739000},
            {"kind": "read", "uid": "e2"},
            {"kind": "said", "uid": "e3"},
        ],
    }
    hook = _parse(kind="standard", secret=SECRETS["standard"], mapping=mapping)
    found = receive(hook, sent("standard", json.dumps(body).encode()), Deadline(9))
    assert isinstance(found, Delivery)
    assert [(m.user, m.conversation, m.id, m.role, m.content) for m in found.messages] == [
        ("crm-7", "mail", "e1", "assistant", "Hello"),
        ("crm-7", "chat", "e3", "user", "[said]"),
    ]
    assert found.ignored == 1


@pytest.mark.parametrize(
    ("kind", "id"),
    [("standard", "msg_1"), ("github", "sha256-35c00c7e9fa51219dfde3b1c0fc5e04b"), ("bearer", None)],
)
def test_without_an_id_of_its_own_a_message_is_named_by_what_is_signed(kind: str, id: str | None) -> None:
    hook = _parse(kind=kind, secret=SECRETS[kind], mapping={"user": "alex", "text": "{text}"})
    found = receive(hook, sent(kind, b'{"text":"Hi"}'), Deadline(9))
    assert isinstance(found, Delivery)
    assert found.messages[0].id == id
    assert found == receive(hook, sent(kind, b'{"text":"Hi"}'), Deadline(9))


def test_a_form_whose_one_field_is_a_payload_is_that_payload() -> None:
    body = form({"payload": json.dumps(github(comment=github_comment()))})
    received = replace(sent("github", body), headers={**sent("github", body).headers, **FORM})
    found = receive(_parse(kind="github", secret=SECRETS["github"]), received, Deadline(9))
    assert isinstance(found, Delivery)
    assert [message.content for message in found.messages] == ["I do."]


def test_what_a_kind_needs_is_imported_where_that_kind_is_configured() -> None:
    code = "import sys, diffmem.hooks; print({'google.auth', 'standardwebhooks'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_labels_are_one_line_and_no_longer_than_a_label() -> None:
    mapping = {"user": "alex", "text": "{text}", "name": "{name}", "id": "{id}", "conversation": "{room}"}
    hook = _parse(kind="bearer", secret=SECRET, mapping=mapping)
    body = {"text": "a\0b", "name": "Maya\n\tIto\u202e", "id": "x" * 300, "room": "  "}
    found = receive(hook, sent("bearer", json.dumps(body).encode()), Deadline(9))
    assert isinstance(found, Delivery)
    (message,) = found.messages
    assert (message.content, message.name, message.conversation) == ("a\ufffdb", "Maya Ito", "chat")
    assert message.id == f"sha256-{hashlib.sha256(b'x' * 300).hexdigest()}"
