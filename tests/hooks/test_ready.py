"""The ready-made mappings of GitHub and of an application's own messages, and what holds for all."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.errors import InvalidRequest, TooLarge
from diffmem.hooks import Delivery, Incoming
from diffmem.hooks.payloads import unwrapped
from tests.support.ready import AT, RULES, delivered, only
from tests.support.webhooks import github, github_comment, messenger, slack, telegram, twilio, whatsapp, whatsapp_value


def test_comments_issues_and_reviews_of_github() -> None:
    comment = only("github", github(comment=github_comment()))
    assert comment == Incoming(
        user="github-583231",
        conversation="maya/home#7",
        role="user",
        content="I do.",
        name="maya",
        at=AT,
        id="IC_1-2026-03-05T19:30:00Z",
    )
    assert only("github", github("opened")).content == "Dinner\n\nWho cooks?"
    assert only("github", github("submitted", review=github_comment(body="Fine."))).content == "Fine."
    for ignored in (
        github("labeled"),
        github(comment=github_comment(user={"id": 1, "type": "Bot"})),
        github("submitted", review=github_comment(body=None)),
        {"zen": "Design for failure.", "hook": {"id": 1}},
    ):
        assert delivered("github", ignored) == Delivery((), 1)


@pytest.mark.parametrize("kind", ["standard", "bearer", "pubsub"])
def test_an_applications_own_messages(kind: str) -> None:
    several = {
        "user": "alex",
        "conversation": "dinner",
        "messages": [
            {"id": "1", "role": "user", "content": "Hi", "name": "Alex", "at": "2026-03-05T20:30:00+01:00"},
            {"id": "2", "role": "assistant", "content": "Hello"},
        ],
    }
    first, second = delivered(kind, several).messages
    assert first == Incoming("alex", "dinner", "user", "Hi", "Alex", AT, "1")
    assert (second.user, second.role, second.id, second.at) == ("alex", "assistant", "2", None)
    assert delivered(kind, several).ignored == 0


def test_an_event_of_standard_webhooks() -> None:
    event = {
        "type": "message.created",
        "timestamp": "2026-03-05T19:30:00.123456789Z",
        "data": {"user": "alex", "text": "Hi"},
    }
    message = only("standard", event, {"webhook-id": "msg_1"})
    assert (message.user, message.content, message.id) == ("alex", "Hi", "msg_1/data")
    assert message.at == AT.replace(microsecond=123456)
    assert delivered("standard", {"type": "user.created", "data": {"id": "1"}}) == Delivery((), 1)


def test_fields_beside_data_are_a_message_where_data_is_none() -> None:
    assert only("bearer", {"user": "alex", "text": "Hi", "data": {"color": "red"}}).content == "Hi"


def test_a_message_without_a_user_is_told_so() -> None:
    with pytest.raises(InvalidRequest, match="user: the mapping finds none in the message at '/messages/1'"):
        delivered("bearer", {"messages": [{"user": "alex", "text": "a"}, {"text": "private"}]})


@pytest.mark.parametrize(
    "messages", [[{"user": "alex", "text": "Hi"}] * 5001, [{"user": "alex", "text": "x" * 400_001}]]
)
def test_more_than_a_memory_takes_is_refused(messages: list[Any]) -> None:
    with pytest.raises(TooLarge):
        delivered("bearer", {"messages": messages})


def test_what_is_published_is_a_message() -> None:
    def push(data: str, **fields: Any) -> Any:
        envelope = {"data": base64.b64encode(data.encode()).decode(), "messageId": "136969346945", **fields}
        return unwrapped(
            {"message": {**envelope, "publishTime": "2026-03-05T19:30:00Z"}, "subscription": "projects/p/s"}
        )

    message = only("pubsub", push(json.dumps({"user": "alex", "text": "Hi"})))
    assert message == Incoming("alex", "chat", "user", "Hi", None, AT, "136969346945/message/data")
    text = only("pubsub", push("Hi", attributes={"user": "alex", "conversation": "dinner"}))
    assert (text.user, text.conversation, text.content, text.id) == ("alex", "dinner", "Hi", "136969346945/message")
    assert [
        m.content
        for m in delivered("pubsub", push('[{"user": "a", "text": "1"}, {"user": "b", "text": "2"}]')).messages
    ] == ["1", "2"]
    with pytest.raises(InvalidRequest, match=r"message\.data"):
        unwrapped({"message": {"data": "%%%"}})


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SHAPES = {
    "meta": st.one_of(
        st.builds(lambda value: whatsapp_value(messages=[value], message_echoes=[value]), JSON_VALUES),
        st.builds(lambda a, b: whatsapp({"text": a, "image": b, "from": "1"}), JSON_VALUES, JSON_VALUES),
        st.builds(lambda value: messenger({"message": {"mid": value, "text": value}}), JSON_VALUES),
    ),
    "slack": st.builds(lambda a, b, c: slack(text=a, user=b, ts=c), JSON_VALUES, JSON_VALUES, JSON_VALUES),
    "telegram": st.builds(lambda a, b, c: telegram(text=a, chat=b, date=c), JSON_VALUES, JSON_VALUES, JSON_VALUES),
    "twilio": st.builds(lambda a, b: twilio(Body=a, From=b), st.text(max_size=9), st.text(max_size=9)),
    "github": st.builds(lambda a, b: github(comment=github_comment(body=a, user=b)), JSON_VALUES, JSON_VALUES),
}


@pytest.mark.parametrize("kind", sorted(SHAPES))
@settings(deadline=None)
@given(data=st.data())
def test_a_ready_made_mapping_of_a_sender_is_total(kind: str, data: st.DataObject) -> None:
    for message in delivered(kind, data.draw(SHAPES[kind])).messages:
        assert message.user and message.content and message.conversation


@pytest.mark.parametrize("kind", sorted(RULES))
@settings(deadline=None)
@given(payload=JSON_VALUES)
def test_any_json_is_read_or_refused(kind: str, payload: Any) -> None:
    try:
        found = delivered(kind, unwrapped(payload))
    except InvalidRequest:
        return
    assert found.messages or found.ignored
