"""Which words of a memory a query's words match."""

from datetime import UTC, datetime

import pytest

from diffmem.planner.matching import match
from diffmem.planner.query import MAX_TERMS, understand
from diffmem.planner.reading import Corpus

NOW = datetime(2024, 3, 13, tzinfo=UTC)


def _found(question: str, *texts: str) -> dict[str, list[int]]:
    """For each word of the question that is found, the texts (by index) that hold it."""
    corpus = Corpus()
    for number, text in enumerate(texts):
        corpus.add(f"note-{number}.md", text.encode(), 10_000)
    found = match(understand([("user", question)], NOW), corpus.passages)
    return {item.term.word: sorted(item.counts) for item in found.terms}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("adopted", "the adoption"),
        ("running", "he ran"),
        ("kids", "a child"),
        ("enviroment", "the environment"),
        ("recieved", "I received it"),
        ("café", "a CAFE"),
        ("Geburtstagen in der Familie", "Geburtstag"),
        ("работе о чём", "моя работа"),
        ("mis trabajos en la ciudad", "trabajar"),
        ("誕生日", "昨日は誕生日でした"),
        ("생일은", "오늘 생일이에요"),
        ("วันเกิด", "สุขสันต์วันเกิดนะ"),
        ("जन्मदिन", "आज मेरा जन्मदिन है"),
    ],
)
def test_forms_of_a_word_match(question: str, text: str) -> None:
    assert [0] in _found(question, text).values()


@pytest.mark.parametrize(
    ("question", "text"),
    [("violin", "violent"), ("form", "from"), ("universe", "banana"), ("cat", "category"), ("犬", "猫")],
)
def test_other_words_do_not(question: str, text: str) -> None:
    assert _found(question, text) == {}


def test_a_word_that_the_memory_knows_is_not_taken_for_a_typing_error() -> None:
    assert _found("planes", "two planes", "two planets") == {"planes": [0]}


def test_a_very_long_query_is_matched_by_its_rarest_words() -> None:
    texts = [" ".join(f"w{number}x" for number in range(at, 100)) for at in range(100)]
    found = _found(" ".join(f"w{number}x" for number in range(100)), *texts)
    assert len(found) == MAX_TERMS
    assert "w0x" in found and "w99x" not in found
