"""When something was said, as senders write it: RFC 3339, or Unix time in seconds, milliseconds or microseconds."""

import re
from datetime import UTC, datetime, timedelta

TOLERANCE = timedelta(minutes=5)

_UNIX = re.compile(r"\d{1,17}(\.\d{1,9})?", re.ASCII)
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_MOST_SECONDS = 1e11  # the year 5138; what is above counts thousandths
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(text: str | None, now: datetime) -> datetime | None:
    """The time that `text` names; None where it names none with an offset, or one that is yet to come.

    A message that arrives was said by then: a clock that is ahead by more than `TOLERANCE` is not believed.
    """
    found = _parsed(text.strip()) if text else None
    return found if found and _EARLIEST <= found <= now + TOLERANCE else None


def _parsed(text: str) -> datetime | None:
    if _UNIX.fullmatch(text):
        seconds = float(text)
        while seconds > _MOST_SECONDS:
            seconds /= 1000
        return _EPOCH + timedelta(seconds=seconds)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None
