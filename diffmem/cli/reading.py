"""ask, run, log, blame, diff: what memory says, and where it has it from."""

import argparse
import sys
from typing import Any

from diffmem.cli.access import Failed, Misused, Place, file_path, given
from diffmem.cli.output import note, show_json, show_rows, show_text

_SHORT = 10


def ask(options: argparse.Namespace, place: Place) -> int:
    """The context for a question."""
    question = " ".join(options.question) or sys.stdin.read()
    if not question.strip():
        raise Misused("ask: there is no question")
    body = {
        "query": question,
        "max_tokens": options.max_tokens,
        "planner": options.planner,
        "time_budget_s": options.time_budget_s,
        **given(as_of=options.as_of),
    }
    with place.open() as memory:
        answer = memory.send("POST", place.path("context"), body=body).data
    if options.json:
        show_json(answer)
        return 0
    show_text(answer["context"])
    if not options.quiet:
        note(_how(answer))
    return 0


def _how(answer: dict[str, Any]) -> str:
    planner = answer["planner"]
    how = f"planned {'by the model' if planner['used'] == 'agent' else 'offline'} ({planner['stop_reason']})"
    sizes = f"{answer['tokens']} of {answer['max_tokens']} tokens, {len(answer['blocks'])} blocks"
    warnings = "".join(f"; {warning}" for warning in answer["warnings"])
    return f"({sizes}, {how}, {answer['timings_ms']['total']} ms{warnings})"


def run(options: argparse.Namespace, place: Place) -> int:
    """What the tool prints; 1 where its command failed or was refused."""
    with place.open() as memory:
        answer = memory.send(
            "POST", place.path("run"), body={"command": options.line, **given(as_of=options.as_of)}
        ).data
    if options.json:
        show_json(answer)
    else:
        show_text(answer["output"])
    return 1 if answer["exit_code"] else 0


def log(options: argparse.Namespace, place: Place) -> int:
    """Commits: when it happened, what it was, and which session taught it."""
    query = given(path=options.path, limit=options.limit, since=options.since, until=options.until, as_of=options.as_of)
    with place.open() as memory:
        answer = memory.send("GET", place.path("log"), query=query).data
    if options.json:
        show_json(answer)
        return 0
    show_rows(
        (commit["sha"][:_SHORT], commit["occurred_at"][:16], commit["session_id"] or "-", commit["subject"])
        for commit in answer["commits"]
    )
    return 0


def blame(options: argparse.Namespace, place: Place) -> int:
    """The lines of a file, each with its day, its session and the message of it."""
    address = place.path(f"blame/{file_path(options.path)}")
    with place.open() as memory:
        answer = memory.send("GET", address, query=given(as_of=options.as_of)).data
    if options.json:
        show_json(answer)
        return 0
    show_rows(
        (line["commit"][:_SHORT], line["occurred_at"][:10], _source(line), line["text"]) for line in answer["lines"]
    )
    return 0


def _source(line: dict[str, Any]) -> str:
    if line["session_id"] is None:
        return "-"
    return f"{line['session_id']}#{line['message']}" if line["message"] is not None else str(line["session_id"])


def diff(options: argparse.Namespace, place: Place) -> int:
    """A unified diff."""
    if options.json:
        raise Misused("diff: a diff is text; there is no JSON of it")
    query = given(from_=options.from_, to=options.to, path=options.path)
    with place.open() as memory, memory.send("GET", place.path("diff"), query=query).file as file:
        text = file.read().decode("utf-8", "replace")
    if not text and options.path:
        raise Failed(f"nothing differs at {options.path!r}")
    show_text(text)
    return 0
