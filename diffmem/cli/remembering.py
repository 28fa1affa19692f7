"""remember: files become sessions, the earliest first; what is there already costs next to nothing."""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from diffmem.cli.access import Access, Failed, Place
from diffmem.cli.output import Progress, note, show_json
from diffmem.cli.sources import Item, read

_PATIENCE = 6
_MAX_WAIT_SECONDS = 60.0
_WAITED_FOR = (429, 503)
# After these the next session would fail as well.
_FINAL = (401, 403)


@dataclass
class _Tally:
    """What became of the items, and how often the next one may be sent again where we are told to wait.

    An outage is waited for once: the items after one that waited in vain are tried once each, until one goes through.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    pending: int = 0
    patience: int = _PATIENCE
    skipped: list[dict[str, str]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)

    def add(self, answer: dict[str, Any]) -> None:
        """Count a session that is durable."""
        self.pending += bool(answer["pending"])
        self.statuses[answer["status"]] += 1

    def document(self) -> dict[str, Any]:
        """The tally as `--json` prints it."""
        counted = {status: self.statuses[status] for status in ("committed", "amended", "duplicate")}
        return {**counted, "pending": self.pending, "skipped": self.skipped, "failed": self.failed}

    def line(self) -> str:
        """The tally in words."""
        new, amended, known = (self.statuses[status] for status in ("committed", "amended", "duplicate"))
        parts = [f"{new} remembered", f"{known} known already"]
        parts += [f"{amended} replaced by what the file says now"] if amended else []
        parts += [f"{len(self.skipped)} skipped"] if self.skipped else []
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        parts += [f"{self.pending} waiting to be distilled"] if self.pending else []
        return ", ".join(parts)


def remember(options: argparse.Namespace, place: Place, *, sleep: Callable[[float], None] = time.sleep) -> int:
    """Remember every session of the files; 1 where one failed."""
    items = read(options.files)
    tally = _Tally()
    progress = Progress(len(items), quiet=options.quiet)
    try:
        with place.open() as memory:
            for item in items:
                _one(memory, place, item, options, tally, progress, sleep)
                progress.step(item.name)
    finally:
        progress.close()
        if options.json:
            show_json(tally.document())
        elif items and not options.quiet:
            note(tally.line())
    return 1 if tally.failed else 0


def _one(
    memory: Access,
    place: Place,
    item: Item,
    options: argparse.Namespace,
    tally: _Tally,
    progress: Progress,
    sleep: Callable[[float], None],
) -> None:
    if item.skipped:
        tally.skipped.append({"item": item.name, "reason": item.skipped})
        progress.say(f"skipped {item.name}: {item.skipped}")
        return
    defaults = {"mode": options.mode, "time_budget_s": options.time_budget_s}
    defaults |= {"timezone": options.timezone} if options.timezone else {}
    try:
        tally.add(_patiently(memory, place, {**defaults, **item.body}, tally.patience, progress, sleep))
        tally.patience = _PATIENCE
    except Failed as error:
        if error.status in _FINAL or error.slug == "no-answer":
            raise
        if error.status in _WAITED_FOR:
            tally.patience = 0
        tally.failed.append({"item": item.name, "reason": str(error)})
        progress.say(f"failed {item.name}: {error}")


def _patiently(
    memory: Access,
    place: Place,
    body: dict[str, Any],
    patience: int,
    progress: Progress,
    sleep: Callable[[float], None],
) -> dict[str, Any]:
    """The answer, asked for again where we are told to wait; a session that is sent twice is one session."""
    for left in range(patience, -1, -1):
        try:
            answer: dict[str, Any] = memory.send("POST", place.path("sessions"), body=body).data
            return answer
        except Failed as error:
            if error.status not in _WAITED_FOR or not left:
                raise
            seconds = min(_MAX_WAIT_SECONDS, error.retry_after_seconds or 1.0)
            progress.say(f"waiting {seconds:.0f} s: {error}")
            sleep(seconds)
    raise AssertionError("the last try returns or raises")
