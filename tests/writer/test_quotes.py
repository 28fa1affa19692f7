"""Quotes: verbatim, but for blanks, Unicode's forms, quote marks and dashes."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory import Message, Session, frame, render_session, session_path
from diffmem.writer.quotes import Source
from tests.writer.world import AT


def source(*contents: str, transcript: str | None = None) -> Source:
    """A session that says `contents`."""
    messages = tuple(Message("user", content) for content in contents)
    session = Session("s", AT, messages, transcript)
    return Source(session_path(session), render_session(session))


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("She said “I’m happy” – finally", 'She said "I\'m happy" - finally'),
        ("two\nlines  and\u00a0blanks", "two lines and blanks"),
        ("Zoe\u0308 came", "Zoë came"),
        ("ＡＢＣＤ", "ABCD"),
        ("It was fine", '"It was fine"'),
        ("It was fine, I guess", "It was fine..."),
        ("wait… what", "wait... what"),
        ("はい", "はい"),
        ("ok", "ok"),
        ("私は看護師です", "看護師です"),
    ],
)
def test_a_quote_is_found_whatever_its_marks_and_forms(said: str, quote: str) -> None:
    assert source("hello", said).find(quote).mark == "^[s#2]"


@pytest.mark.parametrize(
    ("quote", "problem"),
    [
        ("", "no quote"),
        ("she was happy", "does not say"),
        ("i'm happy", "does not say"),
        ("happy. And", "does not say"),
        ("I", "too short"),
        ("...", "no quote"),
    ],
)
def test_what_was_not_said_word_for_word_is_no_quote(quote: str, problem: str) -> None:
    assert problem in source("I'm happy.", "And you?").find(quote).problem


def test_context_that_came_from_memory_is_no_source() -> None:
    framed = frame("- Works at Acme as a nurse.")
    found = source(f"Look: {framed} What now?").find("Works at Acme as a nurse")
    assert found.problem == "the quote 'Works at Acme as a nurse' lies in context that came from memory"
    assert "does not say" in source(f"Look: {framed} What now?").find("Look: What now?").problem
    assert source(framed, "I work at Acme as a nurse").find("Acme as a nurse").mark == "^[s#2]"


def test_a_transcript_is_cited_as_a_whole() -> None:
    assert source(transcript="Alex: I'm happy.").find("I'm happy").mark == "^[s]"


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=3, max_size=8), st.integers(0, 2)
)
def test_any_words_of_a_message_are_found_in_every_form(words: list[str], start: int) -> None:
    found, quote = source(" ".join(words)), " ".join(words[start:])
    telling = sum(char.isalnum() for char in unicodedata.normalize("NFKC", quote)) >= 4
    for form in ("NFC", "NFD", "NFKC"):
        assert bool(found.find(unicodedata.normalize(form, f"  {quote}\n")).mark) or not telling
