"""A stranger's history, let in step by step, in a place of its own, until nothing about it is a surprise.

    look through the pack        sizes and deltas, by us, before any git process reads it (`packscan`)
    index it, with fsck          `git index-pack --strict`: every object well-formed, every link whole (git-fsck(1))
    measure chains of deltas     long ones make every later read slow
    survey the history           names, modes, sizes and times of every revision (`survey`)

Nothing is checked out, and no ref is written. What fsck would say of names is left to the survey, which can say where
they lie. *Not covered*: signatures; they are kept and not verified.
"""

import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from diffmem.errors import GitError, NotABundle
from diffmem.git.environment import Checkout
from diffmem.git.objects import resolve
from diffmem.git.packscan import Bounds, check_pack
from diffmem.git.process import run
from diffmem.git.survey import survey
from diffmem.limits import Deadline

# Messages of fsck about names and about .gitmodules: the survey refuses all of these, and names the path.
_LEFT_TO_SURVEY = (
    "emptyName",
    "fullPathname",
    "hasDot",
    "hasDotdot",
    "hasDotgit",
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
)
_CHAIN = re.compile(rb"chain length = (\d+): ")


@dataclass(frozen=True, slots=True)
class Admitted:
    """A history that a memory may be made of; `recorded_at` is the head's, in seconds since 1970."""

    head: str
    commits: int
    recorded_at: int


def admit(
    checkout: Checkout, bundle: BinaryIO, pack_at: int, sha: str, latest: datetime, deadline: Deadline, bounds: Bounds
) -> Admitted:
    """The history of `sha` in the pack that begins at `pack_at`, now in the object directory of `checkout`.

    Raises:
        NotABundle: the pack is damaged, too large in some way, or `sha` is no commit of it.
        UnsafePath: the history holds a file that a memory must not.
    """
    check_pack(bundle, pack_at, bounds, deadline)
    try:
        _index(checkout, bundle, pack_at, deadline)
        _check_chains(checkout, bounds, deadline)
        head = resolve(checkout, sha, deadline)
        if head is None:
            raise NotABundle(f"the bundle's branch is at {sha[:12]}, which is no commit")
        found = survey(checkout, head, bounds, latest, deadline)
    except GitError as error:
        raise NotABundle(str(error)) from error
    return Admitted(head, found.commits, found.recorded_at)


def _index(checkout: Checkout, bundle: BinaryIO, pack_at: int, deadline: Deadline) -> None:
    severities = ",".join(f"{message}=ignore" for message in _LEFT_TO_SURVEY)
    descriptor = bundle.fileno()
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, pack_at, os.SEEK_SET)
    try:
        run(checkout, ["index-pack", "--stdin", "--threads=1", f"--strict={severities}"], deadline, stdin=bundle)
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)  # where the file's buffer believes it: else closing it may fail


def _check_chains(checkout: Checkout, bounds: Bounds, deadline: Deadline) -> None:
    for path in (checkout.objects / "pack").glob("*.idx"):
        output = run(checkout, ["verify-pack", "--stat-only", str(path)], deadline).output
        longest = max((int(length) for length in _CHAIN.findall(output)), default=0)
        if longest > bounds.max_delta_chain:
            raise NotABundle(f"the bundle's pack has a chain of {longest} deltas; {bounds.max_delta_chain} are allowed")
