from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.context.sources import Content, count_lines, file_content, session_content, split_lines
from diffmem.memory import Message, Session, render_session
from tests.memory.strategies import SESSIONS

CHAT = Session(
    "s1",
    datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    (
        Message("user", "Hey Mel!", name="Caroline", id="D1:1"),
        Message("user", "First.\n\n<!-- {not a marker\nLast. ", name="Melanie"),
        Message("assistant", "Hello."),
    ),
)


def shown(content: Content, first: int | None = None, last: int | None = None) -> list[str]:
    return [content.texts[index] for index in content.between(first, last)]


def test_a_session_is_shown_as_a_conversation() -> None:
    content = session_content(render_session(CHAT))
    assert list(content.texts) == [
        "Caroline: Hey Mel!",
        "Melanie: First.",
        "",
        "<!-- {not a marker",
        "Last. ",
        "assistant: Hello.",
    ]


def test_the_numbers_of_a_session_are_its_files() -> None:
    data = render_session(CHAT)
    lines = data.decode().split("\n")
    content = session_content(data)
    for text, number in zip(content.texts, content.numbers, strict=True):
        assert text.rpartition(": ")[2] in lines[number - 1]


def test_any_line_of_a_message_means_the_message() -> None:
    content = session_content(render_session(CHAT))
    message = content.messages[1]
    for line in range(message.line_start, message.line_end + 1):
        assert shown(content, line, line) == ["Melanie: First.", "", "<!-- {not a marker", "Last. "]


def test_lines_of_a_pasted_document_mean_those_lines() -> None:
    long = Session("s", CHAT.occurred_at, (Message("user", "\n".join(f"line {n}" for n in range(200))),))
    content = session_content(render_session(long))
    start = content.messages[0].line_start
    assert shown(content, start + 101, start + 103) == ["line 100", "line 101", "line 102"]
    assert shown(content, start, start) == ["user: line 0"]


def test_front_matter_of_a_session_is_not_shown() -> None:
    assert shown(session_content(render_session(CHAT)), 1, 3) == []


def test_a_transcript_is_shown_as_it_is() -> None:
    session = Session("s", CHAT.occurred_at, transcript="A: hi\n\nB: ho")
    assert list(session_content(render_session(session)).texts) == ["A: hi", "", "B: ho"]


def test_a_note_above_the_messages_is_shown() -> None:
    data = render_session(CHAT).replace(b"---\n\n<!--", b"---\n\nRead this again.\n\n<!--", 1)
    assert list(session_content(data).texts)[:2] == ["Read this again.", "Caroline: Hey Mel!"]


def test_front_matter_of_a_file_is_the_first_to_be_left_out() -> None:
    content = file_content(b"---\nname: Maya\n---\n\n# Maya\n\n- a nurse\n")
    assert [content.texts[index] for index in content.order][:3] == ["# Maya", "", "- a nurse"]
    assert sorted(content.order) == list(range(7))


def test_invalid_bytes_are_replaced_and_only_line_feeds_end_lines() -> None:
    assert list(file_content(b"a\xff\r\nb\x0cc\xe2\x80\xa8d").texts) == ["a\ufffd\r", "b\x0cc\u2028d"]


@settings(deadline=None)
@given(st.binary(max_size=60) | st.lists(st.sampled_from([b"---\n", b"\n", b"a", b"\xff", b"\r"])).map(b"".join))
def test_any_bytes_have_as_many_lines_as_are_counted(data: bytes) -> None:
    content = file_content(data)
    assert len(content.texts) == count_lines(data) == len(split_lines(data.decode("utf-8", "replace")))
    assert sorted(content.order) == list(range(len(content.texts)))
    assert list(content.numbers) == list(range(1, len(content.texts) + 1))


@settings(deadline=None)
@given(SESSIONS | st.binary(max_size=200))
def test_any_session_file_can_be_shown(session: Session | bytes) -> None:
    data = session if isinstance(session, bytes) else render_session(session)
    content = session_content(data)
    assert list(content.numbers) == sorted(set(content.numbers))
    assert all(1 <= number <= count_lines(data) for number in content.numbers)
    assert sorted(content.order) == list(range(len(content.texts)))
