"""POST and GET of webhooks, from the signed request to the messages in a bucket on disk."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.hooks import HookAnswer, get_hook, post_hook
from diffmem.config import Config
from diffmem.errors import (
    DiffMemError,
    InvalidRequest,
    MethodNotAllowed,
    StorageUnavailable,
    Unauthenticated,
    UnknownRoute,
    UnknownUser,
)
from diffmem.limits import Deadline
from diffmem.memory import Message, parse_session
from diffmem.repository import Repositories
from diffmem.storage import LocalBucket
from diffmem.tasks import Tasks, parse_queue
from tests.support.cloud_tasks import CloudTasks
from tests.support.oidc import AUDIENCE, EMAIL, Issuer, Key
from tests.support.provider import Provider, text
from tests.support.scripted_model import edits
from tests.support.senders import NOW, SECRETS, form, sent
from tests.support.webhooks import github, github_comment, slack, telegram, twilio, whatsapp, whatsapp_value
from tests.support.wrapped import Hooked

VERIFY_TOKEN = "verify-me-please"
PAYLOADS: Mapping[str, Any] = {
    "meta": whatsapp({"type": "text", "text": {"body": "Hi"}}),
    "slack": slack(text="Hi"),
    "telegram": telegram(text="Hi"),
    "twilio": twilio(Body="Hi"),
    "github": github(comment=github_comment(body="Hi")),
    "standard": {"type": "message", "data": {"user": "alex", "text": "Hi"}},
    "bearer": {"user": "alex", "id": "m1", "text": "Hi"},
}
USERS: Mapping[str, str] = {
    "meta": "wa-15005550006",
    "slack": "slack-T061EG9R6-U061F7AUR",
    "telegram": "tg-42",
    "twilio": "twilio-+15005550006",
    "github": "github-583231",
    "standard": "alex",
    "bearer": "alex",
}


class World:
    """The application on a bucket on disk that can fail, with a webhook of each kind, named by it."""

    def __init__(self, folder: Path, hooks: Mapping[str, Any] | None = None, **settings: Any) -> None:
        kinds: dict[str, Any] = {kind: {"kind": kind, "secret": secret} for kind, secret in SECRETS.items()}
        kinds["meta"]["verify_token"] = VERIFY_TOKEN
        configured = json.dumps({**kinds, **(hooks or {})})
        config = Config(
            store=f"file:{folder}/bucket", cache=folder / "cache", sandbox="off", hooks=configured, **settings
        )
        self.app = Application(config)
        self.bucket = Hooked(LocalBucket(folder / "bucket"))
        self.app.repositories = Repositories(self.bucket, folder / "cache", cache_max_bytes=1 << 30, id_secret=None)

    def post(self, kind: str, payload: Any, *, hook: str | None = None, now: datetime = NOW, **options: Any) -> Answer:
        """The answer to a payload, signed as `kind` signs it."""
        body = form(payload) if kind == "twilio" else json.dumps(payload).encode()
        received = replace(sent(kind, body, now=now, **options), now=now)
        call = Call(Deadline(60), now, headers=received.headers, url=received.url)
        return post_hook(self.app, call, hook or kind, body)

    def get(self, hook: str, query: str) -> Answer:
        """The answer to a sender that verifies an address."""
        return get_hook(self.app, Call(Deadline(60), NOW, query=query), hook)

    def messages(self, user: str) -> list[Message]:
        """What is remembered of `user`, session by session."""
        with self.app.repositories.open(user, Deadline(60)) as snapshot:
            paths = [path for path in snapshot.paths() if path.startswith("sessions/")]
            return [message for data in snapshot.read_all(paths).values() for message in parse_session(data).messages]

    def file(self, user: str, path: str) -> str:
        """A file of `user`."""
        with self.app.repositories.open(user, Deadline(60)) as snapshot:
            return snapshot.read(path).decode()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.app.close()


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
def test_a_message_is_durable_with_its_user_and_one_that_comes_again_is_a_duplicate(world: World, kind: str) -> None:
    first = world.post(kind, PAYLOADS[kind])
    assert (first.status, first.log["messages"], first.log["duplicates"]) == (200, 1, 0)
    again = world.post(kind, PAYLOADS[kind], now=NOW + timedelta(minutes=2))
    assert (again.status, again.log["messages"], again.log["duplicates"]) == (200, 1, 1)
    assert [message.content for message in world.messages(USERS[kind])] == ["Hi"]


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
def test_what_its_sender_did_not_sign_leaves_nothing(world: World, kind: str) -> None:
    secret = SECRETS[kind][:-4] + "AAAA"
    with pytest.raises(Unauthenticated):
        world.post(kind, PAYLOADS[kind], secret=secret)
    with pytest.raises(UnknownUser):
        world.messages(USERS[kind])


def test_a_pubsub_push_with_its_token(tmp_path: Path) -> None:
    key = Key("key-1")
    with Issuer(key) as issuer:
        settings = {"kind": "pubsub", "audience": AUDIENCE, "email": EMAIL, "certificates_url": issuer.url}
        world = World(tmp_path, {"events": settings})
        body = json.dumps({"message": {"data": "SGk=", "messageId": "7", "attributes": {"user": "alex"}}}).encode()
        call = Call(Deadline(60), NOW, headers={"authorization": f"Bearer {key.token()}"})
        assert post_hook(world.app, call, "events", body).log["messages"] == 1
        assert post_hook(world.app, call, "events", body).log["duplicates"] == 1
        assert [message.content for message in world.messages("alex")] == ["Hi"]
        world.app.close()


def test_what_is_kept_is_what_was_said(world: World) -> None:
    world.post("meta", PAYLOADS["meta"])
    assert world.messages(USERS["meta"]) == [Message("user", "Hi", "Maya", NOW, "wamid.A1")]
    head = world.file(USERS["meta"], "sessions/2026/03/05-whatsapp-106540352242922-2026-03-05-193000.md").split("---")[
        1
    ]
    assert "source: meta" in head and "state: open" in head


def test_everybody_in_one_payload_gets_their_own_in_the_order_in_which_it_was_said(world: World) -> None:
    others = {"from": "15005550009", "text": {"body": "c"}, "id": "3"}
    payload = whatsapp(
        {"text": {"body": "b"}, "timestamp": "1772739002", "id": "2"}, others, {"text": {"body": "a"}, "id": "1"}
    )
    answer = world.post("meta", payload)
    assert answer.content == HookAnswer("accepted", messages=3, duplicates=0, ignored=0)
    assert [message.content for message in world.messages("wa-15005550006")] == ["a", "b"]
    assert [message.content for message in world.messages("wa-15005550009")] == ["c"]


def test_two_deliveries_at_once_are_one_message(world: World) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: world.post("telegram", PAYLOADS["telegram"]), range(4)))
    assert [answer.status for answer in answers] == [200] * 4
    assert [message.content for message in world.messages("tg-42")] == ["Hi"]


def test_one_text_said_twice_without_an_id_is_kept_twice_where_nothing_is_signed(world: World) -> None:
    for _ in range(2):
        world.post("bearer", {"user": "alex", "text": "ok"})
    assert [message.content for message in world.messages("alex")] == ["ok", "ok"]


def test_events_that_are_no_messages_are_acknowledged_and_counted(world: World) -> None:
    answer = world.post("meta", whatsapp_value(statuses=[{"id": "1", "status": "read"}]))
    assert answer.content == HookAnswer("ignored", messages=0, duplicates=0, ignored=1)
    assert world.bucket.calls == []


def test_twilio_is_answered_with_a_reply_that_says_nothing(world: World) -> None:
    answer = world.post("twilio", PAYLOADS["twilio"])
    assert answer.media_type.startswith("text/xml")
    assert answer.content.endswith(b"<Response/>")


def test_slack_verifies_an_address_by_a_signed_challenge(world: World) -> None:
    challenge = {"type": "url_verification", "token": "t", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY"}
    answer = world.post("slack", challenge)
    assert (answer.content, answer.media_type) == (b"3eZbrw1aBm2rZgRNFdxV2595E9CY", "text/plain; charset=utf-8")
    with pytest.raises(Unauthenticated):
        world.post("slack", challenge, secret="f" * 32)
    with pytest.raises(InvalidRequest, match="challenge"):
        world.post("slack", {"type": "url_verification", "challenge": ["x"]})


def test_meta_verifies_an_address_by_its_token(world: World) -> None:
    good = f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}"
    assert world.get("meta", good).content == b"1158201444"
    for bad in (
        good + "x",
        good.replace("subscribe", "unsubscribe"),
        "hub.mode=subscribe&hub.challenge=1",
        "",
        "%ff=%ff",
    ):
        with pytest.raises(Unauthenticated):
            world.get("meta", bad)
    for bad in (good.replace("1158201444", "%0A"), good.replace("hub.challenge", "x"), good + "&a=b" * 1000):
        with pytest.raises(InvalidRequest):
            world.get("meta", bad)


def test_a_get_that_no_sender_makes_is_not_taken(world: World) -> None:
    with pytest.raises(MethodNotAllowed) as caught:
        world.get("slack", "")
    assert caught.value.allowed == ("POST",)
    with pytest.raises(UnknownRoute):
        world.get("nobody", "")
    with pytest.raises(UnknownRoute):
        world.post("bearer", {}, hook="nobody")


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 5000, b'{"a": "\\ud800"}', b"user=alex"])
def test_a_body_that_is_not_json_is_told_so_without_its_content(world: World, body: bytes) -> None:
    received = sent("github", body)
    call = Call(Deadline(60), NOW, headers=received.headers)
    with pytest.raises(InvalidRequest, match=r"^the body is not JSON$"):
        post_hook(world.app, call, "github", body)


def test_during_an_outage_the_sender_is_told_to_try_again_and_nothing_is_lost_or_doubled(world: World) -> None:
    two = whatsapp({"text": {"body": "a"}}, {"text": {"body": "b"}, "from": "15005550009", "id": "2"})
    written: list[str] = []

    def fail(moment: str, operation: str, name: str) -> None:
        if operation == "put" and moment == "before":
            written.append(name)
            if len(written) == 2:  # the first person's message has landed
                raise StorageUnavailable("the bucket is away")

    world.bucket.hook = fail
    with pytest.raises(StorageUnavailable):
        world.post("meta", two)
    assert world.post("meta", two).log["duplicates"] == 1
    assert [message.content for message in world.messages("wa-15005550006")] == ["a"]
    assert [message.content for message in world.messages("wa-15005550009")] == ["b"]


QUEUE = "projects/p/locations/l/queues/q?url=https://memory.example.com"


def test_where_there_is_a_queue_each_user_gets_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CloudTasks() as cloud:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", cloud.service_account(tmp_path, Key("key-1")))
        world = World(tmp_path, tasks_queue=QUEUE)
        world.app.tasks = Tasks(parse_queue(world.app.config), cloud.url)
        payload = whatsapp({"text": {"body": "a"}}, {"text": {"body": "b"}, "from": "15005550009", "id": "2"})
        assert world.post("meta", payload).log["distill"] == "tasks: created"
        urls = [task["httpRequest"]["url"] for task in cloud.tasks.values()]
        assert urls == [f"https://memory.example.com/v1/users/wa-1500555000{n}/distill" for n in (6, 9)]
        assert world.post("meta", payload).log["distill"] == "tasks: exists"
        cloud.status = 503
        answer = world.post("telegram", PAYLOADS["telegram"])
        assert (answer.status, answer.log["distill"]) == (200, "tasks: refused")
        assert len(world.messages("tg-42")) == 1
        world.app.close()


def test_inline_distils_the_session_that_a_silence_closed(tmp_path: Path) -> None:
    plan = edits(
        {"op": "add", "entity": "profile", "section": "Food", "fact": "Is vegetarian.", "quote": "I'm vegetarian now"}
    )
    with Provider([text(plan)]) as provider:
        settings = {"kind": "telegram", "secret": SECRETS["telegram"], "distill": "inline"}
        world = World(tmp_path, {"inline": settings}, model_base_url=provider.base_url, model_api_key="k")
        said_at = int(NOW.timestamp())
        first = world.post("telegram", telegram(text="I'm vegetarian now.", date=said_at), hook="inline")
        assert first.log["distill"] == "inline"
        later = NOW + timedelta(hours=1)
        second = telegram(text="Hi again.", date=int(later.timestamp()), message_id=12)
        assert world.post("telegram", {**second, "update_id": 2}, hook="inline", now=later).log["distill"] == "inline"
        assert "Is vegetarian." in world.file("tg-42", "profile.md")
        world.app.close()


def test_inline_without_a_model_leaves_it_pending(tmp_path: Path) -> None:
    settings = {"kind": "telegram", "secret": SECRETS["telegram"], "distill": "inline"}
    world = World(tmp_path, {"inline": settings}, session_gap_seconds=60)
    world.post("telegram", telegram(text="Hi", date=int(NOW.timestamp())), hook="inline")
    later = NOW + timedelta(hours=1)
    second = {**telegram(text="Bye", date=int(later.timestamp())), "update_id": 2}
    answer = world.post("telegram", second, hook="inline", now=later)
    assert (answer.status, answer.log["distill"]) == (200, "inline: pending")
    world.app.close()


def test_an_id_that_cannot_be_a_user_id_becomes_a_safe_one(world: World) -> None:
    for user in ("a/b", "..", "José"):
        world.post("bearer", {"user": user, "text": user})
    assert [world.messages(user)[0].content for user in ("=a=2Fb", "=..", "=Jos=C3=A9")] == ["a/b", "..", "José"]


def test_no_error_of_a_webhook_holds_what_was_said(world: World) -> None:
    with pytest.raises(DiffMemError) as caught:
        world.post("bearer", {"text": "a private thing"})
    assert "private" not in str(caught.value)
