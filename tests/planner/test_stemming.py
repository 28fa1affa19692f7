"""Stems of English words; the pairs are those of Porter's paper and of everyday questions."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.planner.stemming import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("cats", "cat"),
        ("feed", "feed"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("motoring", "motor"),
        ("conflated", "conflat"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("triplicate", "triplic"),
        ("electrical", "electr"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("rate", "rate"),
        ("sky", "sky"),
    ],
)
def test_a_regular_word_loses_its_endings(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("form", "other"),
    [
        ("went", "goes"),
        ("bought", "buying"),
        ("children", "kids"),
        ("wives", "wife"),
        ("ran", "running"),
        ("flew", "fly"),
    ],
)
def test_irregular_forms_share_a_stem(form: str, other: str) -> None:
    assert stem(form) == stem(other)


@pytest.mark.parametrize("word", ["犬", "über", "hi", "7", "mp3"])
def test_what_is_no_english_word_is_its_own_stem(word: str) -> None:
    assert stem(word) == word


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", max_size=20))
def test_any_letters_have_a_stem_that_is_not_longer(word: str) -> None:
    assert len(stem(word)) <= len(word) + 1


@pytest.mark.parametrize("word", ["a", "e", "ing", "ed", "eed", "y", "ab", "ational"])
def test_a_word_of_any_length_takes_its_length_in_time(word: str) -> None:
    """A shout of 40,000 vowels took nine seconds, and nothing else in the process ran meanwhile."""
    began = time.process_time()
    stem(word * (400_000 // len(word)))
    assert time.process_time() - began < 5
