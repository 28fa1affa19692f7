"""Ready-made mappings, in the language in which a configuration writes its own.

Every one but `OWN` and `PUBSUB` is total: whatever its `when` takes has a user and a text. What is not text is kept as
what it is, in brackets. Who speaks: people are `user`. A business's own messages (WhatsApp and Messenger echoes) and
a bot's in a private Telegram chat are `assistant`, since they name whose conversation it is; bots in Slack, on GitHub
and in groups do not, and are ignored. What an assistant answers is best told by POST messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_Rules = Sequence[Mapping[str, Any]]

_OWN: Mapping[str, Any] = {
    "user": ["{user}", "{user_id}", "{user.id}", "{^.user}", "{^.user_id}", "{$.user}", "{$.user_id}"],
    "conversation": ["{conversation}", "{^.conversation}", "{$.conversation}"],
    "id": ["{id}", "{@webhook-id}{#}", "{@idempotency-key}{#}", "{@x-goog-pubsub-message-id}{#}"],
    "role": ["{role}", "user"],
    "name": ["{name}"],
    "time": ["{at}", "{time}", "{timestamp}", "{^.at}", "{$.timestamp}"],
    "text": ["{content}", "{text}", "{body}"],
}
_HAS_TEXT = ["{content}", "{text}", "{body}"]

OWN: _Rules = (
    {**_OWN, "messages": ["messages[*]", "data.messages[*]", "data[*]"], "when": _HAS_TEXT},
    {**_OWN, "messages": ["data"], "when": _HAS_TEXT},
    {**_OWN, "when": [f"{text}{{!messages}}{{!data.content}}{{!data.text}}{{!data.body}}" for text in _HAS_TEXT]},
)

_PUBLISHED: Mapping[str, Any] = {
    **_OWN,
    "user": [*_OWN["user"], "{$.message.attributes.user}", "{$.message.attributes.user_id}"],
    "conversation": [*_OWN["conversation"], "{$.message.attributes.conversation}", "{$.message.orderingKey}"],
    "id": ["{id}", "{$.message.messageId}{#}"],
    "time": [*_OWN["time"], "{$.message.publishTime}"],
}
PUBSUB: _Rules = (
    {**_PUBLISHED, "messages": ["message.data.messages[*]", "message.data[*]"], "when": _HAS_TEXT},
    {**_PUBLISHED, "messages": ["message.data"], "when": _HAS_TEXT},
    {**_PUBLISHED, "messages": ["message"], "when": ["{data}"], "text": ["{data}"]},
    *OWN,
)

_WHATSAPP_TEXT = [
    "{text.body}",
    "{button.text}",
    "{interactive.button_reply.title}",
    "{interactive.list_reply.title}",
    "[form {interactive.nfm_reply.name}: {interactive.nfm_reply.response_json}]",
    "[edited] {edit.message.text.body}",
    "[deleted message {revoke.original_message_id}]",
    "[reaction {reaction.emoji} to {reaction.message_id}]",
    "[reaction removed from {reaction.message_id}]",
    "[image: {image.caption}]",
    "[video: {video.caption}]",
    "[document {document.filename}: {document.caption}]",
    "[document: {document.filename}]",
    "[voice message]{?audio.voice}",
    "[location: {location.name}, {location.address} ({location.latitude}, {location.longitude})]",
    "[location: {location.name} ({location.latitude}, {location.longitude})]",
    "[location: {location.latitude}, {location.longitude}]",
    "[contact: {contacts[*].name.formatted_name}]",
    "[order: {order.text}]",
    "[{type}]",
    "[message]",
]
_WHATSAPP: Mapping[str, Any] = {
    "conversation": ["whatsapp-{group_id}", "whatsapp-{^.metadata.phone_number_id}", "whatsapp"],
    "id": ["{id}"],
    "time": ["{timestamp}"],
    "text": _WHATSAPP_TEXT,
}
_MESSENGER: Mapping[str, Any] = {
    "messages": ["entry[*].messaging[*]"],
    "conversation": ["{$.object}-{^.id}", "messenger"],
    "id": ["{message.mid}", "{postback.mid}", "{reaction.action}-{reaction.mid}-{timestamp}"],
    "time": ["{timestamp}"],
    "text": [
        "{message.text}",
        "[{message.attachments[*].type}]",
        "{postback.title}",
        "[reaction {reaction.emoji} to {reaction.mid}]{?reaction.action=react}",
        "[reaction removed from {reaction.mid}]",
        "[message]",
    ],
}
META: _Rules = (
    {
        **_WHATSAPP,
        "messages": ["entry[*].changes[*].value.messages[*]"],
        "when": ["{from_user_id}{!system}", "{from}{!system}"],
        "user": ["wa-{from_user_id}", "wa-{from}"],
        "name": ["{^.contacts[user_id=from_user_id].profile.name}", "{^.contacts[wa_id=from].profile.name}"],
    },
    {
        **_WHATSAPP,
        "messages": ["entry[*].changes[*].value.message_echoes[*]"],
        "when": ["{to_user_id}", "{to}"],
        "user": ["wa-{to_user_id}", "wa-{to}"],
        "role": "assistant",
    },
    {"messages": ["entry[*].changes[*].value.statuses[*]"], "when": [], "text": "[status]"},
    {
        **_MESSENGER,
        "when": ["{sender.id}{?message}{!message.is_echo}", "{sender.id}{?reaction}", "{sender.id}{?postback}"],
        "user": ["ig-{sender.id}{?$.object=instagram}", "msgr-{sender.id}"],
    },
    {
        **_MESSENGER,
        "when": ["{recipient.id}{?message.is_echo}"],
        "user": ["ig-{recipient.id}{?$.object=instagram}", "msgr-{recipient.id}"],
        "role": "assistant",
    },
)

_SLACK_TEXT = ["{text}\n[file: {files[*].name}]", "{text}", "[file: {files[*].name}]", "[file]{?files}", "[message]"]
_SLACK: Mapping[str, Any] = {
    "messages": ["event"],
    "user": ["slack-{$.team_id}-{user}", "slack-{user}"],
    "conversation": ["slack-{channel}", "slack-{item.channel}", "slack"],
    "id": ["{ts}", "{event_ts}"],
    "time": ["{ts}", "{event_ts}"],
}
SLACK: _Rules = (
    {
        **_SLACK,
        "when": [
            "{?type=message|app_mention}{user}{!bot_id}{!subtype}",
            "{?type=message}{user}{!bot_id}{?subtype=file_share|me_message|thread_broadcast}",
        ],
        "text": _SLACK_TEXT,
    },
    {
        **_SLACK,
        "when": ["{?subtype=message_changed}{?message.edited}{message.user}{!message.bot_id}"],
        "user": ["slack-{$.team_id}-{message.user}", "slack-{message.user}"],
        "text": ["[edited] {message.text}", "[edited]"],
    },
    {
        **_SLACK,
        "when": ["{?subtype=message_deleted}{previous_message.user}{!previous_message.bot_id}"],
        "user": ["slack-{$.team_id}-{previous_message.user}", "slack-{previous_message.user}"],
        "text": ["[deleted message {deleted_ts}]", "[deleted message]"],
    },
    {
        **_SLACK,
        "when": ["{?type=reaction_added|reaction_removed}{user}"],
        "text": [
            "[reaction :{reaction}: to {item.ts}]{?type=reaction_added}",
            "[reaction :{reaction}: removed from {item.ts}]",
            "[reaction :{reaction}:]",
            "[reaction]",
        ],
    },
)

_TELEGRAM_TEXT = [
    "{text}",
    "[photo: {caption}]{?photo}",
    "[photo]{?photo}",
    "[video: {caption}]{?video}",
    "[video]{?video}",
    "[animation: {caption}]{?animation}",
    "[animation]{?animation}",
    "[sticker {sticker.emoji}]",
    "[sticker]{?sticker}",
    "[voice message: {caption}]{?voice}",
    "[voice message]{?voice}",
    "[video message]{?video_note}",
    "[audio: {audio.title}]",
    "[audio]{?audio}",
    "[document {document.file_name}: {caption}]",
    "[document: {document.file_name}]",
    "[document]{?document}",
    "[location: {venue.title}, {venue.address}]",
    "[location: {location.latitude}, {location.longitude}]",
    "[contact: {contact.first_name} {contact.last_name}, {contact.phone_number}]",
    "[contact: {contact.first_name}, {contact.phone_number}]",
    "[poll: {poll.question}]",
    "[dice {dice.emoji} {dice.value}]",
    "[{caption}]",
    "[message]",
]
_NO_MESSAGES = "".join(
    f"{{!{name}}}"
    for name in (
        "new_chat_members",
        "left_chat_member",
        "new_chat_title",
        "new_chat_photo",
        "delete_chat_photo",
        "group_chat_created",
        "supergroup_chat_created",
        "migrate_to_chat_id",
        "migrate_from_chat_id",
        "pinned_message",
        "message_auto_delete_timer_changed",
    )
)
_TELEGRAM: Mapping[str, Any] = {
    "when": [f"{{chat.id}}{{?from}}{{?chat.type=private}}{_NO_MESSAGES}", f"{{from.id}}{{!from.is_bot}}{_NO_MESSAGES}"],
    "user": ["tg-{chat.id}{?chat.type=private}", "tg-{from.id}"],
    "conversation": ["telegram-{chat.id}", "telegram"],
    "id": ["{$.update_id}-{message_id}"],
    "role": ["assistant{?from.is_bot}", "user"],
    "name": ["{from.first_name} {from.last_name}", "{from.first_name}", "{from.username}"],
    "time": ["{edit_date}", "{date}"],
}
TELEGRAM: _Rules = (
    {**_TELEGRAM, "messages": ["message"], "text": _TELEGRAM_TEXT},
    {**_TELEGRAM, "messages": ["edited_message"], "text": [f"[edited] {text}" for text in _TELEGRAM_TEXT]},
    {
        **_TELEGRAM,
        "messages": ["message_reaction"],
        "when": ["{user.id}{!user.is_bot}"],
        "user": "tg-{user.id}",
        "name": ["{user.first_name} {user.last_name}", "{user.first_name}"],
        "text": [
            "[reaction {new_reaction[*].emoji} to {message_id}]",
            "[reaction to {message_id}]{?new_reaction}",
            "[reaction removed from {message_id}]",
            "[reaction]",
        ],
    },
    {
        **_TELEGRAM,
        "messages": ["callback_query"],
        "when": ["{from.id}{!from.is_bot}"],
        "user": "tg-{from.id}",
        "conversation": ["telegram-{message.chat.id}", "telegram-{from.id}"],
        "id": "{id}",
        "text": ["[button {data}]", "[button]"],
    },
)

TWILIO: _Rules = (
    {
        "when": ["{From}{?MessageSid}{!MessageStatus}"],
        "user": "twilio-{From}",
        "conversation": ["twilio-{To}", "twilio"],
        "id": "{MessageSid}",
        "name": "{ProfileName}",
        "text": [
            "{Body}\n[{MediaContentType0}]{?NumMedia=1}",
            "{Body}\n[{NumMedia} media, the first {MediaContentType0}]",
            "{Body}",
            "[{MediaContentType0}]{?NumMedia=1}",
            "[{NumMedia} media, the first {MediaContentType0}]",
            "[location: {Label}, {Address} ({Latitude}, {Longitude})]",
            "[location: {Address} ({Latitude}, {Longitude})]",
            "[location: {Latitude}, {Longitude}]",
            "[message]",
        ],
    },
)

GITHUB: _Rules = (
    {
        "messages": ["comment", "review", "issue", "pull_request", "discussion"],
        "when": [
            f"{{?$.action=created|edited|opened|submitted}}{{user.id}}{{!user.type=Bot}}{{?{name}}}"
            for name in ("body", "title")
        ],
        "user": "github-{user.id}",
        "conversation": [
            "{$.repository.full_name}#{$.issue.number}",
            "{$.repository.full_name}#{$.pull_request.number}",
            "{$.repository.full_name}#{$.discussion.number}",
            "{$.repository.full_name}",
            "github",
        ],
        "id": ["{node_id}-{updated_at}", "{node_id}"],
        "name": "{user.login}",
        "time": ["{updated_at}", "{created_at}", "{submitted_at}"],
        "text": ["{title}\n\n{body}", "{body}", "{title}", "[message]"],
    },
)

READY: Mapping[str, _Rules] = {
    "standard": OWN,
    "bearer": OWN,
    "pubsub": PUBSUB,
    "meta": META,
    "slack": SLACK,
    "telegram": TELEGRAM,
    "twilio": TWILIO,
    "github": GITHUB,
}
