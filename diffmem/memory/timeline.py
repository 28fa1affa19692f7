"""The timeline: what happened, by the day it happened; a file a month, a `##` section a day, an item an event.

    timeline/2026-03.md
    ## 2026-03-05

    - Maya began to work at Acme. ^[2026-03-05-dinner#3]

A date may be a day, a month (`2026-03`, in the file of that month) or a year (`2026`, in `timeline/2026.md`).
"""

import re
from datetime import date

from diffmem.memory.editing import Edited
from diffmem.memory.markdown import add_fact
from diffmem.memory.outline import outline

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")
_PATH = re.compile(r"timeline/(\d{4}(?:-\d\d)?)\.md")
_HEADING = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")


def normal_date(text: str) -> str | None:
    """`text` as `YYYY-MM-DD`, `YYYY-MM` or `YYYY`, a time of day left out; None where it is no such date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        date(year or 0, month or 1, day or 1)
    except ValueError:
        return None
    return "-".join([f"{year:04d}", *(f"{part:02d}" for part in (month, day) if part is not None)])


def timeline_path(day: str) -> str:
    """The path of the file that `day` (see `normal_date`) belongs to."""
    return f"timeline/{day[:7]}.md"


def is_timeline_path(path: str) -> bool:
    """Whether a file of the timeline lies at `path`."""
    return _PATH.fullmatch(path) is not None


def add_event(text: str, day: str, event: str, mark: str = "") -> Edited:
    """`text`, the file of that month (empty where there is none), with `event` under `day`, the days in order."""
    heading = next((head.text for head in outline(text).headings if _day_of(head.text) == day), day)
    start = text or f"# Timeline {day[:7]}\n"
    made = add_fact(start, heading, event, mark, before=lambda other: (_day_of(other) or "") > day, anywhere=False)
    return Edited(text, made.problem) if made.problem else made


def _day_of(heading: str) -> str | None:
    match = _HEADING.match(heading)
    return match[0] if match else None
