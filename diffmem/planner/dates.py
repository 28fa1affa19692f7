"""The days that a question speaks of: dates, months and years as written, and "last week" against the asking time.

    periods("what did I do last week?", date(2024, 3, 13))   ->   (Period(2024-03-04, 2024-03-13),)

*Covered*: ISO and dotted dates in any language; English, and the month names of German, French, Spanish, Italian and
Portuguese. *Not covered*: holidays, quarters, other calendars.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

_MONTH_NAMES = (
    "january januar janvier enero gennaio janeiro", "february februar fevrier febrero febbraio fevereiro",
    "march marz maerz mars marzo marco", "april avril abril aprile", "may mai mayo maggio maio",
    "june juni juin junio giugno junho", "july juli juillet julio luglio julho", "august aout agosto",
    "september septembre septiembre settembre setembro", "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro", "december dezember decembre diciembre dicembre dezembro",
)  # fmt: skip
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("a an one", "two couple", "three few", "four", "five", "six", "seven", "eight", "nine", "ten"), 1
    )
    for word in words.split()
}
_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_SLACK_DAYS = {"day": 1, "week": 3, "weekend": 3, "month": 10, "year": 60}

_month = "|".join(_MONTHS)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DOTTED = re.compile(r"\b(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of| de)? ({_month})\b,?(?: (?:de )?(\d{{4}}))?")
_MONTH_DAY = re.compile(rf"\b({_month}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?")
_MONTH_YEAR = re.compile(rf"\b({_month}),?(?: of| de)? (\d{{4}})\b")
_IN_MONTH = re.compile(rf"\b(?:in|during|of|since|by|im|en|au|a|em) (?:early |late |mid[- ]?)?({_month})\b")
_YEAR = re.compile(r"\b(?:in|during|since|of) ((?:19|20)\d\d)\b")
_AGO = re.compile(rf"\b({'|'.join(_NUMBERS)}|\d{{1,3}})(?: of)? (day|week|weekend|month|year)s? ago\b")
_PAST = re.compile(rf"\b(?:last|past) ({'|'.join(_NUMBERS)}|\d{{1,3}}) (day|week|weekend|month|year)s?\b")
_LAST = re.compile(rf"\b(last|past|this|previous) ({'|'.join(_UNIT_DAYS)}|{'|'.join(_WEEKDAYS)}|{_month})\b")


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, both included; `exact` where the words name them, not the time of asking.

    What happens on a day is also told some days later, so an exact period ends with a tail of lesser weight.
    """

    first: date
    last: date
    tail: date

    def weight(self, day: date) -> float:
        """1.0 within the period, 0.5 in its tail, 0.0 elsewhere."""
        return 1.0 if self.first <= day <= self.last else 0.5 if self.last < day <= self.tail else 0.0


@dataclass(frozen=True, slots=True)
class YearlessPeriod:
    """Days of the year: `first` and `days` after it, in whichever year; the last day is that many days on."""

    month: int
    day: int
    days: int
    tail_days: int

    def weight(self, day: date) -> float:
        """As `Period.weight`, for the year that fits `day`."""
        for year in (day.year, day.year - 1):
            period = _dated(year, self.month, self.day, self.days, self.tail_days)
            if period is not None and period.weight(day):
                return period.weight(day)
        return 0.0


AnyPeriod = Period | YearlessPeriod


def periods(folded: str, today: date) -> tuple[AnyPeriod, ...]:
    """The periods that folded text names, exact ones first; none where it names none."""
    found = [*_exact(folded)] or [*_months_and_years(folded)] or [*_relative(folded, today)]
    return tuple(found)


def _exact(text: str) -> Iterator[AnyPeriod]:
    for match in _ISO.finditer(text):
        yield from _on(int(match[3]), int(match[2]), match[1])
    for match in _DOTTED.finditer(text):
        yield from _on(int(match[1]), int(match[2]), match[3])
    for match in _DAY_MONTH.finditer(text):
        yield from _on(int(match[1]), _MONTHS[match[2]], match[3])
    for match in _MONTH_DAY.finditer(text):
        yield from _on(int(match[2]), _MONTHS[match[1]], match[3])


def _on(day: int, month: int, year: str | None) -> Iterator[AnyPeriod]:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return
    if year is None:
        yield YearlessPeriod(month, day, 1, 13)
    elif period := _dated(int(year), month, day, 1, 13):
        yield Period(period.first - timedelta(1), period.last, period.tail)


def _months_and_years(text: str) -> Iterator[AnyPeriod]:
    with_year = [*_MONTH_YEAR.finditer(text)]
    for match in with_year:
        if period := _dated(int(match[2]), _MONTHS[match[1]], 1, 30, 15):
            yield period
    if with_year:
        return
    for match in _IN_MONTH.finditer(text):
        yield YearlessPeriod(_MONTHS[match[1]], 1, 30, 15)
    for match in _YEAR.finditer(text):
        if period := _dated(int(match[1]), 1, 1, 364, 15):
            yield period


def _dated(year: int, month: int, day: int, days: int, tail_days: int) -> Period | None:
    try:
        first = date(year, month, day)
        return Period(first, first + timedelta(days), first + timedelta(days + tail_days))
    except (ValueError, OverflowError):
        return None


def _relative(text: str, today: date) -> Iterator[AnyPeriod]:
    for match in _AGO.finditer(text):
        days = _number(match[1]) * _UNIT_DAYS[match[2]]
        yield from _between(today, days + _SLACK_DAYS[match[2]], days - _SLACK_DAYS[match[2]])
    for match in _PAST.finditer(text):
        yield from _between(today, _number(match[1]) * _UNIT_DAYS[match[2]] + 1, 0)
    for match in _LAST.finditer(text):
        yield from _named(match[1], match[2], today)
    if "yesterday" in text:
        yield from _between(today, 1, 1)
    if re.search(r"\b(?:today|tonight|this morning|this evening)\b", text):
        yield from _between(today, 0, 0)


def _named(which: str, unit: str, today: date) -> Iterator[AnyPeriod]:
    if unit in _WEEKDAYS:
        days = (today.weekday() - _WEEKDAYS.index(unit)) % 7 or 7
        yield from _between(today, days + 1, days - 1)
    elif unit in _MONTHS:
        yield YearlessPeriod(_MONTHS[unit], 1, 30, 15)
    else:
        days = _UNIT_DAYS[unit]
        yield from _between(today, days if which == "this" else days * 8 // 5, 0)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]


def _between(today: date, first_days_ago: int, last_days_ago: int) -> Iterator[Period]:
    try:
        last = today - timedelta(max(0, last_days_ago))
        yield Period(today - timedelta(first_days_ago), last, last)
    except OverflowError:
        return
