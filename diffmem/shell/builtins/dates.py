"""`date`: now, or a date in one of the usual forms, in UTC."""

import re
import time
from datetime import datetime, timedelta, timezone

from diffmem.shell.builtins.shell import Shell, encoded, options

UTC = timezone.utc  # noqa: UP017

_ISO = {
    "date": "%Y-%m-%d",
    "hours": "%Y-%m-%dT%H+00:00",
    "minutes": "%Y-%m-%dT%H:%M+00:00",
    "seconds": "%Y-%m-%dT%H:%M:%S+00:00",
    "ns": "%Y-%m-%dT%H:%M:%S,%N+00:00",
}
_RFC = {"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S+00:00", "ns": "%Y-%m-%d %H:%M:%S.%N+00:00"}
_DATE = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ](?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:Z| ?UTC)?)?"
)
_RELATIVE = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<count>[0-9]{1,5})\s*(?P<unit>second|sec|minute|min|hour|day|week|month|year)s?(?P<ago>\s+ago)?"
)
_SECONDS = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "day": 86400, "week": 604800}
_NAMED = {"now": 0, "today": 0, "yesterday": -1, "tomorrow": 1}
_MAX_FORMAT = 1_000


def date(shell: Shell, arguments: list[str]) -> int:
    """`date [-u] [-d TEXT] [-I[UNIT]] [-R] [+FORMAT]`."""
    given, operands = _options(arguments)
    texts = [*given.get("-d", ()), *given.get("--date", ())]
    now = datetime.now(UTC)
    moment = _parsed(texts[-1], now) if texts else now
    if moment is None:
        shell.complain_as(
            "date", f"invalid date ‘{texts[-1]}’; forms that are read: 2026-03-05, '3 days ago', yesterday, @SECONDS"
        )
        return 1
    template = _template(given, operands)
    if len(operands) > 1 or template is None:
        shell.complain_as("date", f"invalid operand: {operands[-1]!r}; a format begins with +")
        return 1
    if len(template) > _MAX_FORMAT or re.search(r"%[-_0^#]*[0-9]{3}", template):
        shell.complain_as("date", "the format is too long")
        return 1
    shell.write(encoded(_formatted(moment, template)) + b"\n")
    return 0


def _options(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    words = list(arguments)
    for at, word in enumerate(words[:-1]):
        if word in ("-I", "--iso-8601") and words[at + 1] in _ISO:
            words[at : at + 2] = [f"--iso-8601={words[at + 1]}"]
            break
    return options(words, ("-d",))


def _template(given: dict[str, list[str]], operands: list[str]) -> str | None:
    if operands:
        return operands[0][1:] if operands[0].startswith("+") else None
    if "-R" in given or "--rfc-email" in given:
        return "%a, %d %b %Y %H:%M:%S +0000"
    if "--rfc-3339" in given:
        return _RFC.get(given["--rfc-3339"][-1])
    if "-I" in given or "--iso-8601" in given:
        return _ISO[[*given.get("-I", ()), *given.get("--iso-8601", ())][-1] or "date"]
    return "%a %b %e %H:%M:%S UTC %Y"


def _formatted(moment: datetime, template: str) -> str:
    nanoseconds = f"{moment.microsecond * 1000:09d}"
    seconds = str(int(moment.timestamp()))

    def known(found: re.Match[str]) -> str:
        return {"%N": nanoseconds, "%s": seconds, "%z": "+0000", "%:z": "+00:00", "%Z": "UTC"}.get(found[0], found[0])

    return time.strftime(re.sub("%(?:%|:z|[NszZ])", known, template), moment.timetuple())


def _parsed(text: str, now: datetime) -> datetime | None:
    text = text.strip().casefold()
    try:
        if text in _NAMED:
            return now + timedelta(days=_NAMED[text])
        if re.fullmatch("@-?[0-9]{1,11}", text):
            return datetime.fromtimestamp(int(text[1:]), UTC)
        absolute = _DATE.match(text.upper())
        moment = (
            now
            if absolute is None
            else datetime.fromisoformat(f"{absolute['date']}T{absolute['time'] or '00:00'}+00:00")
        )
        rest = text if absolute is None else text[absolute.end() :].strip()
        relative = _RELATIVE.fullmatch(rest)
        if relative is not None:
            return _moved(moment, relative)
        return moment if absolute is not None and not rest else None
    except (ValueError, OverflowError):
        return None


def _moved(moment: datetime, relative: re.Match[str]) -> datetime:
    count = int(relative["count"]) * (-1 if (relative["sign"] == "-") != bool(relative["ago"]) else 1)
    if relative["unit"] in _SECONDS:
        return moment + timedelta(seconds=count * _SECONDS[relative["unit"]])
    months = moment.year * 12 + moment.month - 1 + count * (12 if relative["unit"] == "year" else 1)
    return moment.replace(year=months // 12, month=months % 12 + 1, day=1) + timedelta(days=moment.day - 1)
