"""Bundles: a history in one file, which `git clone` takes (gitformat-bundle(5)).

    # v2 git bundle
    <sha> HEAD
    <sha> refs/heads/main
    <an empty line, then a pack>

*Covered*: a header is read within bounds, and by us alone; names of refs are text to choose by and never touch a file
system. *Not covered*: the pack behind the header; that is `diffmem.git.quarantine`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from diffmem.errors import NotABundle
from diffmem.git.packs import Scratch
from diffmem.git.process import run
from diffmem.limits import Deadline

MAX_REFS = 1000
BRANCHES = "refs/heads/"

_MAX_LINE_BYTES = 1024
_MAX_CAPABILITIES = 16
_SIGNATURE = re.compile(rb"# v([23]) git bundle\n")
_REF = re.compile(r"([0-9a-f]{40}) (\S.*)")


@dataclass(frozen=True, slots=True)
class Header:
    """What a bundle says of itself: commits by the names of their refs, and where its pack begins."""

    refs: Mapping[str, str]
    pack_at: int

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, without `refs/heads/`, in the bundle's order."""
        return tuple(name.removeprefix(BRANCHES) for name in self.refs if name.startswith(BRANCHES))


def read_header(file: BinaryIO) -> Header:
    """The header of the bundle that begins where `file` stands.

    Raises:
        NotABundle: it is none, or one that does not stand alone: made since some commit, or with objects left out.
    """
    signature = _SIGNATURE.fullmatch(file.readline(_MAX_LINE_BYTES))
    if not signature:
        raise NotABundle("a bundle begins with a line '# v2 git bundle'; this does not")
    if signature[1] == b"3":
        _check_capabilities(file)
    refs: dict[str, str] = {}
    while line := _line(file):
        match = _REF.fullmatch(line)
        if line.startswith("-"):
            raise NotABundle("the bundle builds on commits that it does not have: make it of a branch, not of a range")
        if not match:
            raise NotABundle(f"the bundle's header has a line that is no ref: {line[:80]!r}")
        if len(refs) >= MAX_REFS:
            raise NotABundle(f"the bundle has more than {MAX_REFS} refs: make it of one branch")
        refs[match[2]] = match[1]
    if not refs:
        raise NotABundle("the bundle has no branch")
    return Header(refs, file.tell())


def _check_capabilities(file: BinaryIO) -> None:
    """Read the `@` lines of a version 3 header; only those that change nothing are taken."""
    for _ in range(_MAX_CAPABILITIES):
        at = file.tell()
        line = file.readline(_MAX_LINE_BYTES)
        if not line.startswith(b"@"):
            file.seek(at)
            return
        if line != b"@object-format=sha1\n":
            raise NotABundle(
                f"the bundle needs {line[1:60].decode('ascii', 'replace').strip()!r}, which is not supported"
            )
    raise NotABundle("the bundle's header is too long")


def _line(file: BinaryIO) -> str:
    """The next line of a header, without its end; empty where the header ends."""
    data = file.readline(_MAX_LINE_BYTES)
    if not data.endswith(b"\n"):
        raise NotABundle("the bundle's header is cut off, or has a line that is too long")
    return data[:-1].decode("utf-8", "replace")


def write_bundle(scratch: Scratch, head: str, deadline: Deadline) -> Path:
    """A bundle of the history of `head`, as branch `main` and as HEAD, in a new file of `scratch`."""
    path = scratch.directory / "memory.bundle"
    branch = scratch.git_dir / "refs" / "heads" / "main"
    branch.parent.mkdir(exist_ok=True)
    branch.write_text(f"{head}\n")
    args = ["-c", "pack.threads=1", "bundle", "create", "--quiet", str(path), "HEAD", "main"]
    run(scratch.checkout, args, deadline, extra=scratch.environment)
    return path
