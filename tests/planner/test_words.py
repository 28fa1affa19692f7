"""Words of texts in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.planner.words import fold, is_asking_word, is_english, is_stop_word, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, John's car!", ["hello", "john", "s", "car"]),
        ("Zoë's café", ["zoe", "s", "cafe"]),
        ("ﬁne Straße", ["fine", "strasse"]),
        ("𝐇ello", ["hello"]),
        ("Привет, мир", ["привет", "мир"]),
        ("誕生日", ["誕生", "生日"]),
        ("昨日、犬", ["昨日", "犬"]),
        ("ガギグ", ["ガギ", "ギグ"]),
        ("GPT4を使う", ["gpt4", "を使", "使う"]),
        ("생일 축하해", ["생일", "축하", "하해"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("עברית מְנֻקֶּדֶת", ["עברית", "מנקדת"]),
        ("snake_case", ["snake", "case"]),
        ("", []),
        ("!?…", []),
    ],
)
def test_a_text_splits_into_folded_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_thai_becomes_pairs_of_neighbouring_characters() -> None:
    assert set(words("วันเกิด")) <= set(words("สุขสันต์วันเกิด"))


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert words(fold(text)) == words(text)


@given(st.text(), st.text())
def test_a_line_break_is_a_border_between_words(one: str, other: str) -> None:
    assert words(f"{one}\n{other}") == words(one) + words(other)


def test_function_words_say_nothing() -> None:
    assert is_stop_word("the", english=True)
    assert not is_stop_word("der", english=True)
    assert is_stop_word("der", english=False)
    assert not is_stop_word("犬", english=False)


def test_words_of_a_questions_form_are_known() -> None:
    assert is_asking_word("kind") and not is_asking_word("violin")


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("When did John go to the café?", True),
        ("birthday party", True),
        ("Wann ist der Geburtstag von Maya?", False),
        ("¿Cuándo es el cumpleaños de Maya?", False),
        ("誕生日はいつですか", False),
    ],
)
def test_english_is_told_by_its_function_words(text: str, english: bool) -> None:
    assert is_english(words(text)) is english
