"""doctor: one line for each part of the set-up: whether it is right, and if not, what to do."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from diffmem.cli.access import Failed, Place
from diffmem.cli.output import show_json, show_rows


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one part, and what to do where it is not right."""

    part: str
    state: Literal["ok", "note", "WRONG"]
    found: str
    todo: str = ""


def doctor(options: argparse.Namespace, place: Place) -> int:
    """Look at every part; 1 where one is wrong."""
    if place.url:
        findings = list(_of_server(place))
    else:
        from diffmem.cli.examining import examine

        findings = list(examine(place.configured()))
    if options.json:
        show_json([asdict(finding) for finding in findings])
    else:
        show_rows((f.state, f.part, f.found + (f"; {f.todo}" if f.todo else "")) for f in findings)
    return 1 if any(finding.state == "WRONG" for finding in findings) else 0


def _of_server(place: Place) -> Iterator[Finding]:
    with place.open() as memory:
        try:
            health = memory.send("GET", "/health").data
            sandbox = health["sandbox"]
            yield Finding("server", "ok", f"DiffMem {health['version']}, store {health['store']!r}")
            yield Finding("sandbox", "ok" if sandbox["usable"] else "WRONG", sandbox["detail"])
            yield Finding("model", "note", health["model"] or "none: planned offline, transcripts kept as they are")
            memory.send("GET", place.path("log"), query={"limit": "1"})
            yield Finding("access", "ok", f"the memory of {place.user!r} can be read")
        except Failed as error:
            yield _refused(error, place)


def _refused(error: Failed, place: Place) -> Finding:
    if error.slug == "unknown-user":
        return Finding("access", "ok", f"the memory of {place.user!r} may be read; there is nothing in it yet")
    if error.status in (401, 403):
        return Finding("access", "WRONG", str(error), "set DIFFMEM_KEY or --key-file to a key for this user")
    return Finding("server", "WRONG", str(error), "check --url, and whether the server runs")
