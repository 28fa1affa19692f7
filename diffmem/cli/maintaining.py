"""maintain: housekeeping of one memory or of all, in the store itself."""

import argparse
import json

from diffmem.cli.access import Misused, Place
from diffmem.cli.direct import Direct, translated
from diffmem.cli.output import Progress, show_json
from diffmem.http.encoding import to_json
from diffmem.limits import Deadline
from diffmem.repository import Maintained


def maintain(options: argparse.Namespace, place: Place) -> int:
    """Keep house, and say what was done; 1 where something failed."""
    if place.url:
        raise Misused("maintain: works on a store, not on a server")
    bars: list[Progress] = []

    def progress(done: int, total: int, latest: Maintained) -> None:
        if done == 1:
            bars.append(Progress(total, quiet=options.quiet))
        bars[0].step(_line(latest))

    with Direct(place.configured()) as direct, translated():
        deadline = Deadline(options.time_budget_s)
        done = direct.application.repositories.maintain(options.user, deadline, progress)
    for bar in bars:
        bar.close()
    if options.json:
        show_json(json.loads(to_json(done)))
    else:
        _show(done)
    return 1 if any(one.failed for one in done) else 0


def _line(one: Maintained) -> str:
    return one.user or "leftovers of an erased memory"


def _show(done: tuple[Maintained, ...]) -> None:
    removed = sum(one.removed.objects for one in done)
    freed = sum(one.removed.bytes for one in done)
    rebuilt = sum(one.rebuilt for one in done)
    print(f"{len(done)} memories: {rebuilt} rebuilt, {removed} objects ({freed} bytes) removed")
    for one in done:
        if one.failed:
            print(f"  {_line(one)}: {one.failed}")
