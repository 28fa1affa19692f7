"""What a conversation asks."""

from datetime import UTC, datetime

import pytest

from diffmem.planner.query import Query, understand

NOW = datetime(2024, 3, 13, tzinfo=UTC)


def _query(*conversation: tuple[str, str]) -> Query:
    return understand(conversation, NOW)


def _weights(query: Query) -> dict[str, float]:
    return {term.word: term.weight for term in query.terms}


def test_the_latest_message_of_the_user_counts_most() -> None:
    weights = _weights(_query(("user", "the violin"), ("assistant", "your teacher"), ("user", "the concert")))
    assert weights["concert"] == 1.0
    assert weights["concert"] > weights["violin"] > weights["teacher"] > 0


def test_what_the_assistant_said_last_is_not_what_is_asked() -> None:
    assert _weights(_query(("user", "the concert"), ("assistant", "the violin"))) == {"concert": 1.0}


def test_a_word_has_the_weight_of_its_newest_mention() -> None:
    assert _weights(_query(("user", "violin"), ("user", "violins")))["violins"] == 1.0


def test_words_of_the_questions_form_count_less() -> None:
    weights = _weights(_query(("user", "What kind of violin?")))
    assert weights["kind"] < weights["violin"]


def test_a_conversation_of_any_length_makes_a_bounded_query() -> None:
    long = " ".join(f"word{number}" for number in range(50_000))
    query = _query(*[("user", long)] * 500)
    assert 0 < len(query.terms) <= 200


def test_a_request_at_the_end_of_a_long_message_is_heard() -> None:
    assert "violin" in _weights(_query(("user", "lorem ipsum " * 5_000 + "Where is my violin?")))


@pytest.mark.parametrize(
    "text", ["When was it?", "Wann war das?", "¿Cuándo fue?", "誕生日はいつ", "How long did it take?"]
)
def test_a_question_about_time_is_known_as_one(text: str) -> None:
    assert _query(("user", text)).asks_when


@pytest.mark.parametrize("text", ["What did we say last time?", "Was war letztes Mal?", "前回の話"])
def test_a_question_about_the_latest_session_is_known_as_one(text: str) -> None:
    assert _query(("user", text)).asks_latest


@pytest.mark.parametrize("conversation", [(), (("assistant", "Hi"),), (("user", ""),), (("user", "?!"),)])
def test_a_conversation_without_words_asks_nothing(conversation: tuple[tuple[str, str], ...]) -> None:
    assert all(term.word == "hi" for term in _query(*conversation).terms)


def test_a_topic_brings_in_its_words_and_a_word_its_topic() -> None:
    [pet] = _query(("user", "pets")).terms
    [dog] = _query(("user", "dog")).terms
    assert "dog" in pet.related and "pet" in dog.related
