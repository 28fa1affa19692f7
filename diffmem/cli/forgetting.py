"""forget: gone from memory and from its history, after it was shown what that means."""

import argparse
import sys
from typing import Any

from diffmem.cli.access import Access, Misused, Place
from diffmem.cli.output import note, show_json, show_text

_SHOWN = 20
_WORD = "forget"


def forget(options: argparse.Namespace, place: Place) -> int:
    """Show what would go, ask, do it, and print the receipt."""
    wanted = {"text": options.text, "files": options.file, "sessions": options.session}
    if not any(wanted.values()):
        raise Misused("forget: say what, by --text, --file or --session")
    if not (options.yes or options.dry_run or sys.stdin.isatty()):
        raise Misused("forget: nobody can be asked here; say --yes, or look first with --dry-run")
    with place.open() as memory:
        if options.dry_run or not options.yes:
            planned = _send(memory, place, wanted, dry_run=True)
            if options.dry_run:
                return _show(planned, options)
            note("\n".join(_plan(planned)))
            if not planned["commits_rewritten"]:
                return 0
            note(f"Type '{_WORD}' to remove this for good:")
            if sys.stdin.readline().strip() != _WORD:
                note("nothing was changed")
                return 1
        return _show(_send(memory, place, wanted, dry_run=False), options)


def _send(memory: Access, place: Place, wanted: dict[str, list[str]], *, dry_run: bool) -> dict[str, Any]:
    answer: dict[str, Any] = memory.send("POST", place.path("forget"), body={**wanted, "dry_run": dry_run}).data
    return answer


def _show(receipt: dict[str, Any], options: argparse.Namespace) -> int:
    if options.json:
        show_json(receipt)
        return 0
    show_text("\n".join(_plan(receipt)))
    if receipt["dry_run"] or not receipt["commits_rewritten"]:
        return 0
    print(
        f"gone at {receipt['erased_at']}: {receipt['objects']} objects, {receipt['bytes']} bytes of the store deleted"
    )
    for kept in receipt["retained"]:
        print(f"the store itself still keeps ({kept['kind']}): {kept['detail']}")
    print(f"receipt: sha256 {receipt['receipt_sha256']}")
    return 0


def _plan(receipt: dict[str, Any]) -> list[str]:
    if not receipt["commits_rewritten"]:
        return ["nothing in memory or in its history has it"]
    count = receipt["commits_rewritten"]
    verb = "would be" if receipt["dry_run"] else "was" if count == 1 else "were"
    lines = [f"{count} of the commits {verb} rewritten, for these files:"]
    lines += _some([f"  {path}" for path in receipt["files"]])
    if receipt["mentions"]:
        lines.append("these lines stay, and mention what goes:")
        lines += _some([f"  {each['path']}:{each['line']} ({each['what']})" for each in receipt["mentions"]])
    return lines


def _some(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"  and {len(lines) - _SHOWN} more"]
