"""The ready-made mappings of Slack, Telegram and Twilio, on payloads that they document."""

from typing import Any

import pytest

from diffmem.hooks import Delivery, Incoming
from tests.support.ready import AT, delivered, only
from tests.support.webhooks import slack, telegram, twilio


def test_a_slack_message_says_who_when_and_where() -> None:
    assert only("slack", slack(text="Hi", client_msg_id="c-1")) == Incoming(
        user="slack-T061EG9R6-U061F7AUR",
        conversation="slack-D024BE91L",
        role="user",
        content="Hi",
        at=AT.replace(microsecond=200),
        id="1772739000.000200",
    )


def test_a_mention_and_its_message_have_one_id() -> None:
    mention = only("slack", slack(type="app_mention", text="<@U0> Hi", event_ts="1772739000000200"))
    assert mention == only("slack", slack(text="<@U0> Hi", channel_type="channel"))


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
    message = only("slack", slack(**event))
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
    assert delivered("slack", slack(**event)) == Delivery((), 1)


def test_a_telegram_message_says_who_when_and_where() -> None:
    assert only("telegram", telegram(text="Hi")) == Incoming(
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
    assert only("telegram", telegram(**fields)).content == text
    assert only("telegram", telegram("edited_message", **fields)).content == f"[edited] {text}"


def test_a_telegram_group_is_one_conversation_of_each_who_speaks() -> None:
    group = {"id": -100123, "type": "supergroup", "title": "Home"}
    message = only("telegram", telegram(text="Hi", chat=group))
    assert (message.user, message.conversation) == ("tg-42", "telegram--100123")
    bot: Any = {"id": 7, "is_bot": True, "first_name": "Bot"}
    assert delivered("telegram", telegram(text="Hi", chat=group, **{"from": bot})) == Delivery((), 1)
    private = only("telegram", telegram(text="Hi", **{"from": bot}))
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
    message = only("telegram", payload)
    assert (message.user, message.content, message.id) == ("tg-42", text, "10000-11")


def test_a_telegram_button_is_a_message() -> None:
    query = {
        "id": "q1",
        "from": {"id": 42, "is_bot": False, "first_name": "Maya"},
        "data": "yes",
        "message": {"chat": {"id": 42}},
    }
    message = only("telegram", {"update_id": 1, "callback_query": query})
    assert (message.user, message.content, message.id, message.at) == ("tg-42", "[button yes]", "q1", None)


@pytest.mark.parametrize("kind", ["channel_post", "inline_query", "my_chat_member", "poll"])
def test_telegram_updates_that_are_no_messages_are_ignored(kind: str) -> None:
    assert delivered("telegram", telegram(kind)) == Delivery((), 1)


def test_telegram_says_nothing_when_people_come_and_go() -> None:
    assert delivered("telegram", telegram(new_chat_members=[{"id": 5}])) == Delivery((), 1)


def test_a_twilio_message_says_who_and_where() -> None:
    assert only("twilio", twilio(Body="Hi", From="whatsapp:+15005550006", ProfileName="Maya")) == Incoming(
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
    assert only("twilio", twilio(**fields)).content == text


def test_twilio_receipts_are_ignored() -> None:
    assert delivered("twilio", twilio(MessageStatus="delivered", SmsStatus="delivered")) == Delivery((), 1)
