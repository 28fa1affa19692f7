"""The worker of one call: it runs a parsed command and answers with what each command of the chain wrote.

    request   {"tree": dump(Block), "root": "/...", "git_environment": {...}, "git_flags": [...], "seconds": 14.7,
               "pipeline_seconds": 8.0, "max_bytes": 24000, "raw": false}
    answer    {"number": 0, "status": 0, "head": "...", "tail": "...", "between_bytes": 0, "between_lines": 0,
               "cuts_lines": false, "refused": [], "hint": [], "cut": null}    a line for each command that was run
              {"status": 0, "stopped": null}                                   the last line

Bytes travel as text with surrogates for what is no UTF-8. Lines are written a few at a time, so that little is lost
with a worker that is killed. *Not covered here*: confinement, which the process is under before this module runs, and
killing its process group afterwards.
Standard library only: this module runs under `python -I -S`.
"""

import gc
import json
import os
import time
from collections.abc import Callable
from typing import Any

from diffmem.shell.control import Reports
from diffmem.shell.jobs import Settings
from diffmem.shell.processes import Processes
from diffmem.shell.rules import Rules
from diffmem.shell.stops import MAX_COMMANDS, MAX_PROCESSES
from diffmem.shell.tree import Block, load
from diffmem.shell.units import Units
from diffmem.shell.watch import Watch

_FLUSH_SECONDS = 0.2
_KEPT = ("PATH", "LC_ALL", "HOME", "TZ")


def main(request: bytes, write: Callable[[bytes], object], rules: Rules = Rules()) -> None:  # noqa: B008
    """Carry out a request and write the answer. The process is the call's: its streams and its directory are taken."""
    gc.disable()  # the process is over in seconds, and a collection would copy pages it shares with its parent
    call = json.loads(request)
    reports = Reports()
    watch = Watch(reports, call["seconds"], call["pipeline_seconds"], call["max_bytes"], call["raw"])
    _take_streams(watch.writing, call["raw"])
    os.chdir(call["root"])
    processes = Processes(watch, _tokens(MAX_PROCESSES))
    block = load(call["tree"])
    assert isinstance(block, Block)
    units = Units(_settings(call, rules), call["root"], processes, reports, watch, _tokens(MAX_COMMANDS)[0])
    lines: list[bytes] = []
    flushed = time.monotonic()
    for answer in units.run(block, teaches=not call["raw"]):
        lines.append(json.dumps(answer).encode() + b"\n")
        if time.monotonic() - flushed > _FLUSH_SECONDS or "stopped" in answer:
            write(b"".join(lines))
            lines, flushed = [], time.monotonic()


def _settings(call: dict[str, Any], rules: Rules) -> Settings:
    environment = {name: value for name, value in call["git_environment"].items() if name in _KEPT}
    return Settings(call["git_environment"], environment, tuple(call["git_flags"]), rules)


def _take_streams(writing: int, raw: bool) -> None:
    """Nothing to read; output to `writing`, errors too unless only the output is wanted."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(writing, 1)
    os.dup2(null if raw else writing, 2)
    os.close(null)
    os.close(writing)


def _tokens(count: int) -> tuple[int, int]:
    """A pipe of `count` bytes, for all shells of a call to take and to put back, one at a time; taking never waits."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b"." * count)
    return reading, writing
