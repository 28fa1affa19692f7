"""The days that questions speak of."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.planner.dates import periods
from diffmem.planner.words import fold

TODAY = date(2024, 3, 13)  # a Wednesday


def _weight(text: str, day: date) -> float:
    return max((period.weight(day) for period in periods(fold(text), TODAY)), default=0.0)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("What happened on 2023-05-08?", date(2023, 5, 8)),
        ("What happened on May 8, 2023?", date(2023, 5, 8)),
        ("What happened on the 8th of May?", date(2023, 5, 8)),
        ("Was war am 8. Mai 2023?", date(2023, 5, 8)),
        ("Was war am 8.5.2023?", date(2023, 5, 8)),
        ("¿Qué pasó el 8 de mayo de 2023?", date(2023, 5, 8)),
        ("Que s'est-il passé le 1er août, le 8 août 2023 ?", date(2023, 8, 8)),
        ("What did she do in May 2023?", date(2023, 5, 20)),
        ("What did she do in December?", date(2022, 12, 20)),
        ("What did she do in 2022?", date(2022, 7, 1)),
        ("What did I do yesterday?", date(2024, 3, 12)),
        ("What did I say this morning?", date(2024, 3, 13)),
        ("Who came last Saturday?", date(2024, 3, 9)),
        ("What did I do last week?", date(2024, 3, 5)),
        ("What did I buy ten days ago?", date(2024, 3, 3)),
        ("What did I buy 2 months ago?", date(2024, 1, 15)),
        ("Where was I in the past three weeks?", date(2024, 2, 25)),
        ("Where was I last March?", date(2023, 3, 10)),
    ],
)
def test_a_question_speaks_of_a_day(text: str, day: date) -> None:
    assert _weight(text, day) == 1.0


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("What happened on May 8, 2023?", date(2023, 4, 30)),
        ("What happened on May 8, 2023?", date(2022, 5, 8)),
        ("What did I do yesterday?", date(2024, 3, 10)),
        ("What did I do last week?", date(2024, 2, 20)),
        ("You may go", date(2024, 5, 3)),
        ("In 20 minutes", date(2020, 1, 1)),
        ("What is her name?", date(2024, 3, 12)),
    ],
)
def test_and_not_of_others(text: str, day: date) -> None:
    assert _weight(text, day) == 0.0


def test_what_happened_on_a_day_is_told_some_days_later() -> None:
    assert _weight("on May 8, 2023", date(2023, 5, 15)) == 0.5


@given(st.text(alphabet="0123456789-./ ,adgflmstwyonehuriJANm", max_size=60), st.dates())
def test_any_text_and_day_are_survived(text: str, day: date) -> None:
    for period in periods(fold(text), day):
        assert period.weight(day) in (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    "text", ["99999 years ago", "999 years ago", "on 0000-00-00", "31 February 2023", "45.45.2023"]
)
def test_impossible_days_are_no_error(text: str) -> None:
    for day in (date.min, date.max, TODAY):
        for period in periods(text, day):
            period.weight(day)
