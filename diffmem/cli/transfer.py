"""export and import: a memory as one file that `git clone` takes."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from diffmem.cli.access import Failed, Misused, Place, given
from diffmem.cli.output import note, show_json, show_text

_STANDARD = Path("-")


def export(options: argparse.Namespace, place: Place) -> int:
    """Write the bundle, whole or not at all."""
    if options.file == _STANDARD:
        if options.json or sys.stdout.isatty():
            raise Misused("export: a bundle is no text: name a file, or send '-' into one")
    elif options.file.exists() and not options.force:
        raise Misused(f"export: {str(options.file)!r} exists; --force replaces it")
    with (
        place.open() as memory,
        memory.send("GET", place.path("export"), query=given(as_of=options.as_of)).file as file,
    ):
        size = _write(file, options.file)
    if options.json:
        show_json({"file": str(options.file), "bytes": size})
    elif not options.quiet and options.file != _STANDARD:
        note(f"{options.file}: {size} bytes; 'git clone {options.file} FOLDER' reads it")
    return 0


def _write(file: BinaryIO, target: Path) -> int:
    if target == _STANDARD:
        shutil.copyfileobj(file, sys.stdout.buffer)
        return 0
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with aside.open("xb") as out:
            shutil.copyfileobj(file, out)
        aside.replace(target)
    except OSError as error:
        raise Failed(f"{str(target)!r} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            aside.unlink()
    return target.stat().st_size


def import_(options: argparse.Namespace, place: Place) -> int:
    """Bring a bundle in, and say what became of its files."""
    query = given(branch=options.branch, replace="true" if options.replace else None)
    with _opened(options.file) as file, place.open() as memory:
        answer = memory.send("PUT", place.path("import"), query=query, file=file).data
    if options.json:
        show_json(answer)
        return 0
    if answer["status"] == "duplicate":
        print("the memory has this history already; nothing was changed")
        return 0
    lines = [f"{answer['status']}: {_history(answer)}"]
    lines += [f"  {each['source']} -> {each['target']}" for each in answer["mapped"]]
    lines += [f"  {warning}" for warning in answer["warnings"]]
    show_text("\n".join(lines))
    for kept in answer["retained"]:
        print(f"of what was replaced, the store itself still keeps ({kept['kind']}): {kept['detail']}")
    return 0


def _history(answer: dict[str, Any]) -> str:
    on_top = answer["commit"] is not None
    commits = answer["commits"] - on_top
    came = f"{commits} commit{'' if commits == 1 else 's'} of branch {answer['branch']!r}, as written"
    return f"{came}, and one on top:" if on_top else came


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, or standard input in a file of its own."""
    try:
        opened = tempfile.TemporaryFile() if path == _STANDARD else path.open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise Failed(f"{str(path)!r} cannot be read: {error.strerror}") from error
    with opened as file:
        if path == _STANDARD:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.seek(0)
        yield file
