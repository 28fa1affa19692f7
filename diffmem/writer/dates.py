"""Dates: what people's expressions mean on the day of a session, and which dates no event can have."""

from datetime import date, timedelta

from diffmem.memory.timeline import normal_date

_FIRST_YEAR = 1800
_YEARS_AHEAD = 60
_WEEK = timedelta(days=7)


def event_date(text: str | None, session_day: date) -> str | None:
    """`text` as a date of the timeline; None where it is no date, or one that no event of this session can have.

    Raises nothing: `"unknown"` is no date.
    """
    found = normal_date(text or "")
    return found if found and _FIRST_YEAR <= int(found[:4]) <= session_day.year + _YEARS_AHEAD else None


def date_table(today: date) -> str:
    """What common expressions mean when they are said on `today`, one a line.

    Example line: `last Friday = 2026-02-27`
    """
    monday = today - timedelta(days=today.weekday())
    coming = [today + timedelta(days=ahead) for ahead in range(1, 8)]
    gone = [today - timedelta(days=back) for back in range(1, 8)]
    lines = [
        f"today = {today:%A} {today}",
        f"yesterday = {today - timedelta(days=1)}; the day before = {today - timedelta(days=2)}",
        f"tomorrow = {today + timedelta(days=1)}; the day after = {today + timedelta(days=2)}",
        f"the last {_weekdays(gone)}",
        f"the coming {_weekdays(coming)}",
        f"of next week: {_weekdays([monday + _WEEK + timedelta(days=ahead) for ahead in range(7)])}",
        f"this week = {_days(monday)}; last week = {_days(monday - _WEEK)}; next week = {_days(monday + _WEEK)}",
        f"last weekend = {_weekend(today)}; two weeks ago = {today - 2 * _WEEK}; in two weeks = {today + 2 * _WEEK}",
        f"this month = {today:%Y-%m}; last month = {_month(today, -1)}; next month = {_month(today, 1)}",
        f"this year = {today.year}; last year = {today.year - 1}; next year = {today.year + 1}",
    ]
    return "\n".join(lines)


def _weekdays(days: list[date]) -> str:
    return ", ".join(f"{day:%A} = {day}" for day in days)


def _days(monday: date) -> str:
    return f"{monday} to {monday + timedelta(days=6)}"


def _weekend(today: date) -> str:
    # On a Sunday, last weekend is the one that ended a week ago.
    sunday = today - timedelta(days=today.isoweekday() % 7 or 7)
    return f"{sunday - timedelta(days=1)} to {sunday}"


def _month(today: date, ahead: int) -> str:
    months = today.year * 12 + today.month - 1 + ahead
    return f"{months // 12:04d}-{months % 12 + 1:02d}"
