"""Payloads of webhooks in the shapes that their senders document; every value is made up."""

from collections.abc import Mapping
from typing import Any

WHATSAPP_MEMBER = {"from": "15005550006", "id": "wamid.A1", "timestamp": "1772739000"}


def whatsapp(*messages: Mapping[str, Any], name: str = "Maya", **value: Any) -> dict[str, Any]:
    """A notification with messages, each completed by `WHATSAPP_MEMBER`."""
    sent = [{**WHATSAPP_MEMBER, **message} for message in messages]
    contacts = [{"profile": {"name": name}, "wa_id": message["from"]} for message in sent]
    return _meta("whatsapp_business_account", changes=[_change(contacts=contacts, messages=sent, **value)])


def whatsapp_value(**value: Any) -> dict[str, Any]:
    """A notification with something else in place of messages."""
    return _meta("whatsapp_business_account", changes=[_change(**value)])


def _change(**value: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": "15005550001", "phone_number_id": "106540352242922"}
    return {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}


def _meta(product: str, **entry: Any) -> dict[str, Any]:
    return {"object": product, "entry": [{"id": "102290129340398", "time": 1772739000123, **entry}]}


def messenger(event: Mapping[str, Any], product: str = "page") -> dict[str, Any]:
    """A notification of a page, or of Instagram, about one event."""
    people = {"sender": {"id": "PSID-7"}, "recipient": {"id": "PAGE-1"}, "timestamp": 1772739000123}
    return _meta(product, messaging=[{**people, **event}])


def slack(**event: Any) -> dict[str, Any]:
    """An event callback; the event is a message in a direct channel unless it says otherwise."""
    plain = {
        "type": "message",
        "user": "U061F7AUR",
        "channel": "D024BE91L",
        "channel_type": "im",
        "ts": "1772739000.000200",
        "event_ts": "1772739000.000200",
    }
    whole = {name: value for name, value in {**plain, **event}.items() if value is not None}
    return {
        "token": "verification-token",
        "team_id": "T061EG9R6",
        "api_app_id": "A0MDYCDME",
        "type": "event_callback",
        "event_id": "Ev9UQ52YNA",
        "event_time": 1772739000,
        "event": whole,
    }


def telegram(kind: str = "message", **fields: Any) -> dict[str, Any]:
    """An update with a message in a private chat."""
    plain = {
        "message_id": 11,
        "from": {"id": 42, "is_bot": False, "first_name": "Maya", "last_name": "Ito", "language_code": "en"},
        "chat": {"id": 42, "first_name": "Maya", "type": "private"},
        "date": 1772739000,
    }
    return {"update_id": 10000, kind: {**plain, **fields}}


def twilio(**fields: str) -> dict[str, str]:
    """The fields of a message that came in."""
    plain = {
        "ToCountry": "US",
        "SmsMessageSid": "SM0123456789abcdef0123456789abcdef",
        "MessageSid": "SM0123456789abcdef0123456789abcdef",
        "AccountSid": "AC0123456789abcdef0123456789abcdef",
        "SmsStatus": "received",
        "From": "+15005550006",
        "To": "+15005550001",
        "Body": "",
        "NumMedia": "0",
        "NumSegments": "1",
        "ApiVersion": "2010-04-01",
    }
    return {**plain, **fields}


def github(action: str = "created", **fields: Any) -> dict[str, Any]:
    """A delivery about an issue; `fields` are its other members."""
    issue = {"number": 7, "title": "Dinner", "body": "Who cooks?", "node_id": "I_7", **_BY, **_WRITTEN}
    return {"action": action, "issue": issue, "repository": {"full_name": "maya/home"}, "sender": {"id": 1}, **fields}


_BY = {"user": {"id": 583231, "login": "maya", "type": "User"}}
_WRITTEN = {"created_at": "2026-03-05T19:30:00Z", "updated_at": "2026-03-05T19:30:00Z"}


def github_comment(**fields: Any) -> dict[str, Any]:
    """A comment, as `issue_comment` and the like bring it."""
    return {"node_id": "IC_1", "body": "I do.", **_BY, **_WRITTEN, **fields}
