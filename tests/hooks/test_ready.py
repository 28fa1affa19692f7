"""Every ready-made mapping, on the payloads that its sender documents."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.errors import InvalidRequest, TooLarge
from diffmem.hooks import Delivery, Incoming
from diffmem.hooks.mapping import Rule, Source, read
from diffmem.hooks.payloads import unwrapped
from diffmem.hooks.ready import READY
from tests.support import webhooks as payloads
from tests.support.senders import NOW
from tests.support.webhooks import github, github_comment, messenger, slack, telegram, twilio, whatsapp, whatsapp_value

RULES = {kind: [Rule.model_validate(rule) for rule in rules] for kind, rules in READY.items()}
AT = datetime(2026, 3, 5, 19, 30, tzinfo=UTC)


def _read(kind: str, payload: Any, headers: Mapping[str, str] | None = None) -> Delivery:
    return read(RULES[kind], payload, Source("chat", headers or {}, NOW, "delivery"))


def _only(kind: str, payload: Any, headers: Mapping[str, str] | None = None) -> Incoming:
    (message,) = _read(kind, payload, headers).messages
    return message


def test_a_whatsapp_message_says_who_when_and_where() -> None:
    assert _only("meta", whatsapp({"type": "text", "text": {"body": "Hey Mel!"}})) == Incoming(
        user="wa-15005550006",
        conversation="whatsapp-106540352242922",
        role="user",
        content="Hey Mel!",
        name="Maya",
        at=AT,
        id="wamid.A1",
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"type": "button", "button": {"text": "Yes", "payload": "Y"}}, "Yes"),
        ({"type": "interactive", "interactive": {"button_reply": {"id": "1", "title": "Tuesday"}}}, "Tuesday"),
        ({"type": "interactive", "interactive": {"list_reply": {"id": "1", "title": "Vegan"}}}, "Vegan"),
        ({"type": "reaction", "reaction": {"emoji": "👍", "message_id": "wamid.B"}}, "[reaction 👍 to wamid.B]"),
        ({"type": "reaction", "reaction": {"message_id": "wamid.B"}}, "[reaction removed from wamid.B]"),
        ({"type": "image", "image": {"id": "1", "caption": "Our cat"}}, "[image: Our cat]"),
        ({"type": "image", "image": {"id": "1", "mime_type": "image/jpeg"}}, "[image]"),
        ({"type": "video", "video": {"id": "1"}}, "[video]"),
        ({"type": "audio", "audio": {"id": "1", "voice": True}}, "[voice message]"),
        ({"type": "audio", "audio": {"id": "1", "voice": False}}, "[audio]"),
        ({"type": "document", "document": {"filename": "a.pdf"}}, "[document: a.pdf]"),
        ({"type": "document", "document": {"filename": "a.pdf", "caption": "The bill"}}, "[document a.pdf: The bill]"),
        ({"type": "sticker", "sticker": {"id": "1", "animated": False}}, "[sticker]"),
        ({"type": "location", "location": {"latitude": 52.5, "longitude": 13.4}}, "[location: 52.5, 13.4]"),
        (
            {"type": "location", "location": {"latitude": 52.5, "longitude": 0, "name": "Home", "address": "Main St"}},
            "[location: Home, Main St (52.5, 0)]",
        ),
        (
            {"type": "contacts", "contacts": [{"name": {"formatted_name": "Ida"}}, {"name": {"formatted_name": "Bo"}}]},
            "[contact: Ida, Bo]",
        ),
        ({"type": "unsupported", "errors": [{"code": 131051}]}, "[unsupported]"),
        ({}, "[message]"),
    ],
)
def test_a_whatsapp_message_without_text_is_kept_as_what_it_is(message: dict[str, Any], text: str) -> None:
    assert _only("meta", whatsapp(message)).content == text


def test_whatsapp_messages_of_several_people_each_have_their_user() -> None:
    two = whatsapp(
        {"type": "text", "text": {"body": "one"}},
        {"type": "text", "text": {"body": "two"}, "from": "15005550009", "id": "wamid.A2"},
    )
    two["entry"].append(whatsapp({"type": "text", "text": {"body": "three"}, "id": "wamid.A3"})["entry"][0])
    found = _read("meta", two).messages
    assert [(message.user, message.content, message.id) for message in found] == [
        ("wa-15005550006", "one", "wamid.A1"),
        ("wa-15005550009", "two", "wamid.A2"),
        ("wa-15005550006", "three", "wamid.A3"),
    ]


def test_a_whatsapp_user_id_goes_before_a_phone_number_that_may_be_hidden() -> None:
    payload = whatsapp({"text": {"body": "Hi"}, "from": "", "from_user_id": "US.1349"})
    payload["entry"][0]["changes"][0]["value"]["contacts"] = [{"profile": {"name": "Pablo"}, "user_id": "US.1349"}]
    message = _only("meta", payload)
    assert (message.user, message.name) == ("wa-US.1349", "Pablo")


def test_a_whatsapp_group_is_its_own_conversation() -> None:
    assert _only("meta", whatsapp({"text": {"body": "Hi"}, "group_id": "G1"})).conversation == "whatsapp-G1"


def test_what_a_business_writes_by_hand_is_the_assistants() -> None:
    echo = {
        "from": "15005550001",
        "to": "15005550006",
        "id": "wamid.E",
        "timestamp": "1772739000",
        "text": {"body": "Hi"},
    }
    message = _only("meta", whatsapp_value(message_echoes=[echo]))
    assert (message.user, message.role, message.content) == ("wa-15005550006", "assistant", "Hi")


@pytest.mark.parametrize(
    ("value", "ignored"),
    [
        ({"statuses": [{"id": "wamid.A", "status": "read"}, {"id": "wamid.B", "status": "sent"}]}, 2),
        ({"messages": [{**payloads.WHATSAPP_MEMBER, "type": "system", "system": {"body": "changed number"}}]}, 1),
        ({"errors": [{"code": 1}]}, 1),
        ({}, 1),
    ],
)
def test_whatsapp_events_that_are_no_messages_are_counted(value: dict[str, Any], ignored: int) -> None:
    assert _read("meta", whatsapp_value(**value)) == Delivery((), ignored)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"message": {"mid": "m1", "text": "Hello"}}, "Hello"),
        ({"message": {"mid": "m1", "attachments": [{"type": "image"}, {"type": "file"}]}}, "[image, file]"),
        ({"postback": {"mid": "m1", "title": "Start", "payload": "S"}}, "Start"),
        ({"reaction": {"mid": "m1", "action": "react", "emoji": "❤"}}, "[reaction ❤ to m1]"),
        ({"reaction": {"mid": "m1", "action": "unreact"}}, "[reaction removed from m1]"),
    ],
)
def test_messenger_and_instagram_messages(event: dict[str, Any], text: str) -> None:
    message = _only("meta", messenger(event))
    assert (message.user, message.content, message.at) == ("msgr-PSID-7", text, AT.replace(microsecond=123000))
    assert _only("meta", messenger(event, "instagram")).user == "ig-PSID-7"


def test_a_pages_own_messages_are_the_assistants_and_receipts_are_none() -> None:
    echo = {
        "sender": {"id": "PAGE-1"},
        "recipient": {"id": "PSID-7"},
        "message": {"mid": "m2", "text": "Hi", "is_echo": True},
    }
    message = _only("meta", messenger(echo))
    assert (message.user, message.role) == ("msgr-PSID-7", "assistant")
    assert _read("meta", messenger({"read": {"watermark": 1}})) == Delivery((), 1)


def test_a_slack_message_says_who_when_and_where() -> None:
    assert _only("slack", slack(text="Hi", client_msg_id="c-1")) == Incoming(
        user="slack-T061EG9R6-U061F7AUR",
        conversation="slack-D024BE91L",
        role="user",
        content="Hi",
        at=AT.replace(microsecond=200),
        id="1772739000.000200",
    )


def test_a_mention_and_its_message_have_one_id() -> None:
    mention = _only("slack", slack(type="app_mention", text="<@U0> Hi", event_ts="1772739000000200"))
    assert mention == _only("slack", slack(text="<@U0> Hi", channel_type="channel"))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            {"text": "See", "subtype": "file_share", "files": [{"name": "a.png"}, {"name": "b.pdf"}]},
            "See\n[file: a.png, b.pdf]",
        ),
        ({"text": "", "subtype": "file_share", "files": [{"name": "a.png"}]}, "[file: a.png]"),
        ({"blocks": [{"type": "rich_text"}]}, "[message]"),
        (
            {"type": "reaction_added", "reaction": "heart", "item": {"channel": "D024BE91L", "ts": "1.2"}, "ts": None},
            "[reaction :heart: to 1.2]",
        ),
        (
            {
                "type": "reaction_removed",
                "reaction": "heart",
                "item": {"channel": "D024BE91L", "ts": "1.2"},
                "ts": None,
            },
            "[reaction :heart: removed from 1.2]",
        ),
        (
            {
                "subtype": "message_changed",
                "user": None,
                "message": {"user": "U061F7AUR", "text": "Hello", "edited": {"ts": "1"}},
            },
            "[edited] Hello",
        ),
        (
            {
                "subtype": "message_deleted",
                "user": None,
                "deleted_ts": "1.2",
                "previous_message": {"user": "U061F7AUR"},
            },
            "[deleted message 1.2]",
        ),
    ],
)
def test_what_else_people_do_in_slack_is_kept_as_what_it_is(event: dict[str, Any], text: str) -> None:
    message = _only("slack", slack(**event))
    assert (message.user, message.conversation, message.content) == (
        "slack-T061EG9R6-U061F7AUR",
        "slack-D024BE91L",
        text,
    )


@pytest.mark.parametrize(
    "event",
    [
        {"text": "I am a bot", "bot_id": "B1"},
        {"text": "I am a bot", "bot_id": "B1", "subtype": "bot_message", "user": None},
        {"text": "<@U1> has joined", "subtype": "channel_join"},
        {"subtype": "message_changed", "user": None, "message": {"user": "U061F7AUR", "text": "unfurled"}},
        {"type": "channel_created"},
    ],
)
def test_bots_and_events_that_are_no_messages_are_ignored_in_slack(event: dict[str, Any]) -> None:
    assert _read("slack", slack(**event)) == Delivery((), 1)


def test_a_telegram_message_says_who_when_and_where() -> None:
    assert _only("telegram", telegram(text="Hi")) == Incoming(
        user="tg-42", conversation="telegram-42", role="user", content="Hi", name="Maya Ito", at=AT, id="10000-11"
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"photo": [{"file_id": "a"}, {"file_id": "b"}], "caption": "Our cat"}, "[photo: Our cat]"),
        ({"photo": [{"file_id": "a"}]}, "[photo]"),
        ({"sticker": {"file_id": "a", "emoji": "😀"}}, "[sticker 😀]"),
        ({"voice": {"file_id": "a", "duration": 3}}, "[voice message]"),
        ({"animation": {"file_id": "a"}, "document": {"file_name": "a.gif"}}, "[animation]"),
        ({"document": {"file_name": "a.pdf"}, "caption": "The bill"}, "[document a.pdf: The bill]"),
        ({"location": {"latitude": 52.5, "longitude": 13.4}}, "[location: 52.5, 13.4]"),
        (
            {"venue": {"title": "Cafe", "address": "Main St"}, "location": {"latitude": 1, "longitude": 2}},
            "[location: Cafe, Main St]",
        ),
        ({"contact": {"first_name": "Ida", "phone_number": "+1500"}}, "[contact: Ida, +1500]"),
        ({"poll": {"question": "When?"}}, "[poll: When?]"),
        ({"dice": {"emoji": "🎲", "value": 6}}, "[dice 🎲 6]"),
        ({"story": {}}, "[message]"),
    ],
)
def test_a_telegram_message_without_text_is_kept_as_what_it_is(fields: dict[str, Any], text: str) -> None:
    assert _only("telegram", telegram(**fields)).content == text
    assert _only("telegram", telegram("edited_message", **fields)).content == f"[edited] {text}"


def test_a_telegram_group_is_one_conversation_of_each_who_speaks() -> None:
    group = {"id": -100123, "type": "supergroup", "title": "Home"}
    message = _only("telegram", telegram(text="Hi", chat=group))
    assert (message.user, message.conversation) == ("tg-42", "telegram--100123")
    bot: Any = {"id": 7, "is_bot": True, "first_name": "Bot"}
    assert _read("telegram", telegram(text="Hi", chat=group, **{"from": bot})) == Delivery((), 1)
    private = _only("telegram", telegram(text="Hi", **{"from": bot}))
    assert (private.user, private.role) == ("tg-42", "assistant")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ([], [{"type": "emoji", "emoji": "👍"}], "[reaction 👍 to 11]"),
        ([{"type": "emoji", "emoji": "👍"}], [], "[reaction removed from 11]"),
        ([], [{"type": "custom_emoji", "custom_emoji_id": "5"}], "[reaction to 11]"),
    ],
)
def test_a_telegram_reaction_is_kept(old: list[Any], new: list[Any], text: str) -> None:
    user = {"id": 42, "is_bot": False, "first_name": "Maya"}
    payload = telegram("message_reaction", user=user, old_reaction=old, new_reaction=new)
    del payload["message_reaction"]["from"]
    message = _only("telegram", payload)
    assert (message.user, message.content, message.id) == ("tg-42", text, "10000-11")


def test_a_telegram_button_is_a_message() -> None:
    query = {
        "id": "q1",
        "from": {"id": 42, "is_bot": False, "first_name": "Maya"},
        "data": "yes",
        "message": {"chat": {"id": 42}},
    }
    message = _only("telegram", {"update_id": 1, "callback_query": query})
    assert (message.user, message.content, message.id, message.at) == ("tg-42", "[button yes]", "q1", None)


@pytest.mark.parametrize("kind", ["channel_post", "inline_query", "my_chat_member", "poll"])
def test_telegram_updates_that_are_no_messages_are_ignored(kind: str) -> None:
    assert _read("telegram", telegram(kind)) == Delivery((), 1)


def test_telegram_says_nothing_when_people_come_and_go() -> None:
    assert _read("telegram", telegram(new_chat_members=[{"id": 5}])) == Delivery((), 1)


def test_a_twilio_message_says_who_and_where() -> None:
    assert _only("twilio", twilio(Body="Hi", From="whatsapp:+15005550006", ProfileName="Maya")) == Incoming(
        user="twilio-whatsapp:+15005550006",
        conversation="twilio-+15005550001",
        role="user",
        content="Hi",
        name="Maya",
        id="SM0123456789abcdef0123456789abcdef",
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"NumMedia": "1", "MediaContentType0": "image/jpeg"}, "[image/jpeg]"),
        ({"NumMedia": "1", "MediaContentType0": "image/jpeg", "Body": "Our cat"}, "Our cat\n[image/jpeg]"),
        ({"NumMedia": "2", "MediaContentType0": "image/jpeg"}, "[2 media, the first image/jpeg]"),
        ({"Latitude": "52.5", "Longitude": "13.4"}, "[location: 52.5, 13.4]"),
        ({}, "[message]"),
    ],
)
def test_a_twilio_message_without_text_is_kept_as_what_it_is(fields: dict[str, str], text: str) -> None:
    assert _only("twilio", twilio(**fields)).content == text


def test_twilio_receipts_are_ignored() -> None:
    assert _read("twilio", twilio(MessageStatus="delivered", SmsStatus="delivered")) == Delivery((), 1)


def test_comments_issues_and_reviews_of_github() -> None:
    comment = _only("github", github(comment=github_comment()))
    assert comment == Incoming(
        user="github-583231",
        conversation="maya/home#7",
        role="user",
        content="I do.",
        name="maya",
        at=AT,
        id="IC_1-2026-03-05T19:30:00Z",
    )
    assert _only("github", github("opened")).content == "Dinner\n\nWho cooks?"
    assert _only("github", github("submitted", review=github_comment(body="Fine."))).content == "Fine."
    for ignored in (
        github("labeled"),
        github(comment=github_comment(user={"id": 1, "type": "Bot"})),
        github("submitted", review=github_comment(body=None)),
        {"zen": "Design for failure.", "hook": {"id": 1}},
    ):
        assert _read("github", ignored) == Delivery((), 1)


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
    first, second = _read(kind, several).messages
    assert first == Incoming("alex", "dinner", "user", "Hi", "Alex", AT, "1")
    assert (second.user, second.role, second.id, second.at) == ("alex", "assistant", "2", None)
    assert _read(kind, several).ignored == 0


def test_an_event_of_standard_webhooks() -> None:
    event = {
        "type": "message.created",
        "timestamp": "2026-03-05T19:30:00.123456789Z",
        "data": {"user": "alex", "text": "Hi"},
    }
    message = _only("standard", event, {"webhook-id": "msg_1"})
    assert (message.user, message.content, message.id) == ("alex", "Hi", "msg_1/data")
    assert message.at == AT.replace(microsecond=123456)
    assert _read("standard", {"type": "user.created", "data": {"id": "1"}}) == Delivery((), 1)


def test_fields_beside_data_are_a_message_where_data_is_none() -> None:
    assert _only("bearer", {"user": "alex", "text": "Hi", "data": {"color": "red"}}).content == "Hi"


def test_a_message_without_a_user_is_told_so() -> None:
    with pytest.raises(InvalidRequest, match="user: the mapping finds none in the message at '/messages/1'"):
        _read("bearer", {"messages": [{"user": "alex", "text": "a"}, {"text": "private"}]})


@pytest.mark.parametrize(
    "messages", [[{"user": "alex", "text": "Hi"}] * 5001, [{"user": "alex", "text": "x" * 400_001}]]
)
def test_more_than_a_memory_takes_is_refused(messages: list[Any]) -> None:
    with pytest.raises(TooLarge):
        _read("bearer", {"messages": messages})


def test_what_is_published_is_a_message() -> None:
    def push(data: str, **fields: Any) -> Any:
        envelope = {"data": base64.b64encode(data.encode()).decode(), "messageId": "136969346945", **fields}
        return unwrapped(
            {"message": {**envelope, "publishTime": "2026-03-05T19:30:00Z"}, "subscription": "projects/p/s"}
        )

    message = _only("pubsub", push(json.dumps({"user": "alex", "text": "Hi"})))
    assert message == Incoming("alex", "chat", "user", "Hi", None, AT, "136969346945/message/data")
    text = _only("pubsub", push("Hi", attributes={"user": "alex", "conversation": "dinner"}))
    assert (text.user, text.conversation, text.content, text.id) == ("alex", "dinner", "Hi", "136969346945/message")
    assert [
        m.content for m in _read("pubsub", push('[{"user": "a", "text": "1"}, {"user": "b", "text": "2"}]')).messages
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
    for message in _read(kind, data.draw(SHAPES[kind])).messages:
        assert message.user and message.content and message.conversation


@pytest.mark.parametrize("kind", sorted(RULES))
@settings(deadline=None)
@given(payload=JSON_VALUES)
def test_any_json_is_read_or_refused(kind: str, payload: Any) -> None:
    try:
        found = _read(kind, unwrapped(payload))
    except InvalidRequest:
        return
    assert found.messages or found.ignored
