"""What a person asks of a history: how files differ between two commits, and which commit each line came from."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffmem.git.environment import Checkout
from diffmem.git.process import run
from diffmem.limits import Deadline

_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
_BLAME_HEADER = re.compile(r"([0-9a-f]{40}) \d+ (\d+)(?: \d+)?")


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """One line of a file (from 1), its text, and the commit that last wrote it."""

    line: int
    text: str
    commit: str


def diff(checkout: Checkout, old: str, new: str, deadline: Deadline, *, paths: Sequence[str] = ()) -> bytes:
    """A unified diff between two commits, of all files or of `paths` (files or folders, taken literally)."""
    args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", old, new, "--", *paths]
    return run(checkout, args, deadline, extra=_LITERAL).output


def merge(checkout: Checkout, base: bytes, ours: bytes, theirs: bytes, deadline: Deadline) -> tuple[bytes, bool]:
    """The three-way merge of a file's contents, and whether lines conflict (git-merge-file(1))."""
    with tempfile.TemporaryDirectory(prefix="diffmem-merge-") as folder:
        files = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for file, data in zip(files, (ours, base, theirs), strict=True):
            file.write_bytes(data)
        labels = ("-L", "now", "-L", "that commit", "-L", "before it")
        args = ["merge-file", "--stdout", "--quiet", *labels, *(str(file) for file in files)]
        finished = run(checkout, args, deadline, allowed=range(128))
    return finished.output, finished.exit_code != 0


def blame(checkout: Checkout, rev: str, path: str, deadline: Deadline) -> tuple[BlamedLine, ...]:
    """Every line of the file at `path` in `rev` with its commit; moves within the file are followed, as git does."""
    output = run(checkout, ["blame", "--porcelain", rev, "--", path], deadline, extra=_LITERAL).output
    return tuple(_blamed(output.decode("utf-8", "replace")))


def _blamed(porcelain: str) -> Iterator[BlamedLine]:
    """The lines of `git blame --porcelain`: a header with the commit, its details once, and TAB with the text."""
    commit, line = "", 0
    for record in porcelain.split("\n"):
        if record.startswith("\t"):
            yield BlamedLine(line, record[1:].removesuffix("\r"), commit)
        elif header := _BLAME_HEADER.fullmatch(record):
            commit, line = header[1], int(header[2])
