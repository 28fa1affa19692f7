"""Dates: expressions on the day of a session, and dates that no event can have."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.writer.dates import date_table, event_date

THURSDAY = date(2026, 3, 5)


@pytest.mark.parametrize(
    "line",
    [
        "today = Thursday 2026-03-05",
        "yesterday = 2026-03-04; the day before = 2026-03-03",
        "tomorrow = 2026-03-06; the day after = 2026-03-07",
        "Friday = 2026-02-27",
        "Friday = 2026-03-06",
        "Friday = 2026-03-13",
        "last week = 2026-02-23 to 2026-03-01",
        "last weekend = 2026-02-28 to 2026-03-01",
        "last month = 2026-02; next month = 2026-04",
        "last year = 2025",
    ],
)
def test_the_table_says_what_people_mean_on_a_day(line: str) -> None:
    assert line in date_table(THURSDAY)


def test_next_friday_and_last_friday_are_told_apart() -> None:
    lines = dict(line.split(" ", 2)[1:] for line in date_table(THURSDAY).split("\n") if line.startswith("the "))
    assert "Friday = 2026-02-27" in lines["last"]
    assert "Friday = 2026-03-06" in lines["coming"]
    assert "of next week: Monday = 2026-03-09" in date_table(THURSDAY)


@pytest.mark.parametrize(("today", "weekend"), [(date(2026, 3, 8), "2026-02-28"), (date(2026, 3, 9), "2026-03-07")])
def test_on_a_sunday_last_weekend_is_the_one_before(today: date, weekend: str) -> None:
    assert f"last weekend = {weekend} to" in date_table(today)


def test_months_turn_over_years() -> None:
    assert "last month = 2025-12; next month = 2026-02" in date_table(date(2026, 1, 31))


@given(st.dates(date(1970, 1, 2), date(2099, 12, 31)))
def test_every_day_has_a_table(today: date) -> None:
    assert len(date_table(today).split("\n")) == 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-04", "2026-03-04"),
        ("1850", "1850"),
        ("0033-01-01", None),
        ("9999-12-31", None),
        ("2026-02-30", None),
        ("next Friday", None),
        (None, None),
    ],
)
def test_dates_that_are_none_or_absurd_are_not_dates(text: str | None, expected: str | None) -> None:
    assert event_date(text, THURSDAY) == expected
