"""Files as passages."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory import Message, Session, message_lines, render_session
from diffmem.planner.reading import Corpus, day_of, is_readable, kind_of, newest_first

AT = datetime(2024, 3, 5, tzinfo=UTC)
PATH = "sessions/2024/03/05-talk.md"
CONTENT = st.text(alphabet=st.sampled_from('ab \n<!-{}\\"#*é犬:'), max_size=60)


def _corpus(path: str, text: str, max_chars: int = 10_000) -> Corpus:
    corpus = Corpus()
    corpus.add(path, text.encode(), max_chars)
    return corpus


def _spans(corpus: Corpus) -> list[tuple[int, int]]:
    return [(passage.line_start, passage.line_end) for passage in corpus.passages]


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), CONTENT), min_size=1, max_size=5))
def test_a_message_is_a_passage_of_the_lines_that_the_format_gives_it(said: list[tuple[str, str]]) -> None:
    session = Session("talk", AT, tuple(Message(role, content or "-") for role, content in said))
    text = render_session(session).decode()
    corpus = _corpus(PATH, text)
    starts = [(start, end) for _, start, end in message_lines(text)]
    assert [start for start, _ in _spans(corpus)] == [start for start, _ in starts]
    assert all(mine <= theirs for (_, mine), (_, theirs) in zip(_spans(corpus), starts, strict=True))
    assert [passage.assistant for passage in corpus.passages] == [role == "assistant" for role, _ in said]


def test_a_passage_knows_who_speaks() -> None:
    session = Session("talk", AT, (Message("user", "Hi", "Ann Lee"), Message("assistant", "Hello")))
    labels = [passage.label for passage in _corpus(PATH, render_session(session).decode()).passages]
    assert labels == ["Ann Lee", "assistant"]


def test_a_transcript_is_read_by_paragraph_and_line() -> None:
    text = "---\nsession: talk\nformat: transcript\n---\n\nAnn: Hello there\n\nBob: Hi\nhow are you\n"
    corpus = _corpus(PATH, text)
    assert _spans(corpus) == [(6, 6), (8, 9)]
    assert [passage.label for passage in corpus.passages] == ["Ann", "Bob"]


def test_an_entity_file_is_read_by_section_with_its_title_as_words() -> None:
    text = "---\nname: Maya\n---\n\n# Maya\n\n## Work\n\n- Nurse\n\n## Home\n\n- Lives in Kiel\n"
    corpus = _corpus("memories/people/maya.md", text)
    assert _spans(corpus) == [(7, 9), (11, 13)]
    assert "maya" in corpus.passages[0].words and corpus.documents[0].entity is not None


def test_a_long_passage_is_cut_at_line_ends() -> None:
    text = "# Notes\n\n" + "".join(f"- item number {number}\n" for number in range(40))
    corpus = _corpus("notes.md", text, max_chars=100)
    spans = _spans(corpus)
    assert len(spans) > 5
    assert [line for start, end in spans for line in range(start, end + 1)] == [*range(3, 43)]


def test_windows_line_ends_are_no_part_of_the_words() -> None:
    corpus = _corpus("notes.md", "# Notes\r\n\r\nfirst\r\n\r\nsecond\r\n")
    assert _spans(corpus) == [(3, 3), (5, 5)]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"---\n", b"<!-- {} -->", b"\n\n\n", b"---\n---\n---\n# \n##\n"])
@pytest.mark.parametrize("path", [PATH, "memories/people/maya.md", "notes.md", "timeline/2024-03.md"])
def test_any_bytes_are_read(path: str, data: bytes) -> None:
    corpus = Corpus()
    corpus.add(path, data, 1000)
    assert len(corpus.documents) == 1


@pytest.mark.parametrize(
    ("path", "kind", "day"),
    [
        (PATH, "session", date(2024, 3, 5)),
        ("timeline/2024-03.md", "note", date(2024, 3, 1)),
        ("memories/people/maya.md", "entity", None),
        ("sessions/2024/13/99-talk.md", "session", None),
    ],
)
def test_a_path_tells_what_it_is_and_when(path: str, kind: str, day: date | None) -> None:
    assert (kind_of(path), day_of(path)) == (kind, day)


def test_what_is_in_every_context_anyway_is_not_read() -> None:
    assert [is_readable(path) for path in ("index.md", "profile.md", "a.png", "notes.md")] == [
        False,
        False,
        False,
        True,
    ]


def test_sessions_come_from_the_newest_after_everything_else() -> None:
    paths = ("memories/people/a.md", "sessions/2023/12/31-b.md", "sessions/2024/01/02-c.md")
    assert newest_first(paths) == [paths[0], paths[2], paths[1]]
