"""Archived sessions: what goes in comes out, and what a person has edited is still read."""

from datetime import UTC, datetime

import pytest
from hypothesis import given

from diffmem.memory.messages import Message, Session, content_digest
from diffmem.memory.sessions import (
    find_session,
    message_lines,
    numbered_messages,
    parse_head,
    parse_session,
    render_session,
    session_path,
    stem,
    stem_of,
)
from tests.memory.strategies import CHATS, SESSIONS

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
CHAT = Session(
    "conv-26-s01",
    AT,
    (
        Message("user", "Hey Mel! Good to see you!\nsecond line", "Caroline", AT, "D1:1"),
        Message("assistant", "Hey!", "Melanie"),
    ),
    timezone="Europe/Berlin",
    metadata={"channel": "phone"},
)


@given(SESSIONS)
def test_any_session_round_trips_exactly(session: Session) -> None:
    assert parse_session(render_session(session)) == session
    assert render_session(parse_session(render_session(session))) == render_session(session)


@given(SESSIONS)
def test_the_head_alone_says_all_but_the_content(session: Session) -> None:
    head = parse_head(render_session(session))
    assert (head.session_id, head.state, head.occurred_at) == (session.session_id, session.state, session.occurred_at)


@given(CHATS)
def test_message_lines_are_the_lines_of_each_message(session: Session) -> None:
    text = render_session(session).decode()
    lines = text.split("\n")
    spans = message_lines(text)
    assert [n for n, _, _ in spans] == list(range(1, len(session.messages) + 1))
    for message, (_, start, end) in zip(session.messages, spans, strict=True):
        assert lines[start - 1].startswith("<!-- {")
        assert lines[start].startswith("**")
        assert end - start == 1 + message.content.count("\n")
        assert lines[end] == ""


def test_the_file_reads_as_a_person_would_write_it() -> None:
    digest = content_digest(CHAT.messages, None)
    assert render_session(CHAT).decode() == (
        f"---\nsession: conv-26-s01\ndigest: {digest}\noccurred_at: 2023-05-08T13:56:00+00:00\n"
        'timezone: Europe/Berlin\nmetadata: {"channel": "phone"}\nstate: pending\n---\n\n'
        '<!-- {"n":1,"id":"D1:1","role":"user","name":"Caroline","at":"2023-05-08T13:56:00+00:00"} -->\n'
        "**Caroline:** Hey Mel! Good to see you!\nsecond line\n\n"
        '<!-- {"n":2,"role":"assistant","name":"Melanie"} -->\n**Melanie:** Hey!\n\n'
    )


def test_a_digest_counts_what_was_said_and_not_when_it_was_remembered() -> None:
    one = content_digest((Message("user", "hi", at=AT),), None)
    same_instant = datetime.fromisoformat("2023-05-08T15:56:00+02:00")
    assert one == content_digest((Message("user", "hi", at=same_instant),), None)
    assert one != content_digest((Message("assistant", "hi", at=AT),), None)
    assert content_digest((), "hi") != content_digest((), "hi ")


def test_numbers_stay_when_a_person_removes_a_message() -> None:
    text = render_session(CHAT).decode()
    first, _, rest = text.partition("<!-- ")
    without_first = first + "<!-- " + rest.partition("<!-- ")[2]
    assert [(item.n, item.message.content) for item in numbered_messages(without_first.encode())] == [(2, "Hey!")]


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\n").encode("utf-8-sig").decode(),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n\n<!--", "\n<!--"),
        lambda text: text.replace("state: pending", 'state: "pending"\ntags: [a, b]\nnested:\n  - x: {y: 1}'),
        lambda text: text.replace("state: pending", "state: pending # by hand"),
    ],
)
def test_a_file_edited_by_hand_still_says_the_same(edit: object) -> None:
    assert callable(edit)
    edited = parse_session(edit(render_session(CHAT).decode()).encode())
    assert edited.messages == CHAT.messages
    assert (edited.session_id, edited.state, edited.occurred_at) == ("conv-26-s01", "pending", AT)


def test_broken_front_matter_is_salvaged_line_by_line() -> None:
    text = render_session(CHAT).decode().replace("state: pending", "state: pending\n broken: [")
    assert parse_session(text.encode()).session_id == "conv-26-s01"
    assert parse_session(text.encode()).messages == CHAT.messages


@pytest.mark.parametrize(
    "data", [b"", b"---\n", b"\xff\xfe", b"---\nsession: " + b"[" * 5000 + b"\n---\n", b"just text"]
)
def test_any_bytes_are_a_session(data: bytes) -> None:
    assert isinstance(parse_session(data), Session)
    assert isinstance(parse_head(data), Session)


@pytest.mark.parametrize(
    ("session_id", "expected"),
    [
        ("conv-26-s01", "conv-26-s01"),
        ("a" * 60, "a" * 60),
        ("a" * 61, None),
        ("Conv", None),
        ("a/../b", None),
        ("x-01234567", None),
        ("", None),
        ("会話 1", None),
        ("-a", None),
    ],
)
def test_a_stem_is_the_id_where_that_is_plain_and_hashed_elsewhere(session_id: str, expected: str | None) -> None:
    found = stem(session_id)
    assert found == expected if expected else found[-9] == "-"
    assert "/" not in found and "." not in found


@given(SESSIONS, SESSIONS)
def test_different_ids_have_different_stems(one: Session, other: Session) -> None:
    assert (stem(one.session_id) == stem(other.session_id)) == (one.session_id == other.session_id)


def test_a_session_lies_where_its_own_day_says_and_is_found_by_its_stem() -> None:
    late = Session("night", datetime.fromisoformat("2023-12-31T23:30:00+00:00"), timezone="Europe/Berlin")
    assert session_path(late) == "sessions/2024/01/01-night.md"
    assert session_path(Session("night", late.occurred_at)) == "sessions/2023/12/31-night.md"
    paths = ["profile.md", "sessions/2023/12/31-good-night.md", "sessions/2024/01/01-night.md"]
    assert find_session(paths, "night") == "sessions/2024/01/01-night.md"
    assert find_session(paths, "31-good-night") is None
    assert stem_of("sessions/2023/12/31-good-night.md") == "good-night"
    assert stem_of("memories/people/31-good-night.md") is None
