"""The ready-made mapping of WhatsApp, Messenger and Instagram, on payloads that Meta documents."""

from typing import Any

import pytest

from diffmem.hooks import Delivery, Incoming
from tests.support import webhooks as payloads
from tests.support.ready import AT, delivered, only
from tests.support.webhooks import messenger, whatsapp, whatsapp_value


def test_a_whatsapp_message_says_who_when_and_where() -> None:
    assert only("meta", whatsapp({"type": "text", "text": {"body": "Hey Mel!"}})) == Incoming(
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
    assert only("meta", whatsapp(message)).content == text


def test_whatsapp_messages_of_several_people_each_have_their_user() -> None:
    two = whatsapp(
        {"type": "text", "text": {"body": "one"}},
        {"type": "text", "text": {"body": "two"}, "from": "15005550009", "id": "wamid.A2"},
    )
    two["entry"].append(whatsapp({"type": "text", "text": {"body": "three"}, "id": "wamid.A3"})["entry"][0])
    found = delivered("meta", two).messages
    assert [(message.user, message.content, message.id) for message in found] == [
        ("wa-15005550006", "one", "wamid.A1"),
        ("wa-15005550009", "two", "wamid.A2"),
        ("wa-15005550006", "three", "wamid.A3"),
    ]


def test_a_whatsapp_user_id_goes_before_a_phone_number_that_may_be_hidden() -> None:
    payload = whatsapp({"text": {"body": "Hi"}, "from": "", "from_user_id": "US.1349"})
    payload["entry"][0]["changes"][0]["value"]["contacts"] = [{"profile": {"name": "Pablo"}, "user_id": "US.1349"}]
    message = only("meta", payload)
    assert (message.user, message.name) == ("wa-US.1349", "Pablo")


def test_a_whatsapp_group_is_its_own_conversation() -> None:
    assert only("meta", whatsapp({"text": {"body": "Hi"}, "group_id": "G1"})).conversation == "whatsapp-G1"


def test_what_a_business_writes_by_hand_is_the_assistants() -> None:
    echo = {
        "from": "15005550001",
        "to": "15005550006",
        "id": "wamid.E",
        "timestamp": "1772739000",
        "text": {"body": "Hi"},
    }
    message = only("meta", whatsapp_value(message_echoes=[echo]))
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
    assert delivered("meta", whatsapp_value(**value)) == Delivery((), ignored)


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
    message = only("meta", messenger(event))
    assert (message.user, message.content, message.at) == ("msgr-PSID-7", text, AT.replace(microsecond=123000))
    assert only("meta", messenger(event, "instagram")).user == "ig-PSID-7"


def test_a_pages_own_messages_are_the_assistants_and_receipts_are_none() -> None:
    echo = {
        "sender": {"id": "PAGE-1"},
        "recipient": {"id": "PSID-7"},
        "message": {"mid": "m2", "text": "Hi", "is_echo": True},
    }
    message = only("meta", messenger(echo))
    assert (message.user, message.role) == ("msgr-PSID-7", "assistant")
    assert delivered("meta", messenger({"read": {"watermark": 1}})) == Delivery((), 1)
