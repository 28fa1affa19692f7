"""Revisions and pathspecs: which operand is which, and that none of them leaves the tree or becomes an option.

Revisions stand before `--` and never begin with a dash; paths stand after it. Without a `--` of the user's, an
operand is a path where the tree has it or where it is a pattern, and a revision otherwise; git's own message then
says that there is no such.

*Covered*: two paths of which one is outside, which git would take for `--no-index`; `REV:PATH` with an absolute path,
whose error message would say whether that exists on the host; magic of pathspecs that is not harmless.
"""

import os
import posixpath
import re
from dataclasses import dataclass

from diffmem.shell.policy import paths
from diffmem.shell.policy.options import Parsed
from diffmem.shell.policy.verdict import BadValue, Place, Refused

_MAGIC = frozenset(("top", "literal", "icase", "glob", "exclude"))
_MAGICAL = (":(", ":!", ":^")
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Operands:
    """Operands sorted out; `dashes` is whether `--` goes between."""

    revisions: tuple[str, ...]
    paths: tuple[str, ...]
    dashes: bool

    def words(self) -> tuple[str, ...]:
        """The operands as git is given them."""
        return (*self.revisions, "--", *self.paths) if self.dashes else self.revisions


def split(command: str, parsed: Parsed, place: Place) -> Operands:
    """Which operands are revisions and which are paths.

    Raises:
        Refused: one that is neither a safe revision nor a path in the tree.
    """
    cut = parsed.before_dashes
    if cut is not None:
        revisions, pathspecs = parsed.operands[:cut], parsed.operands[cut:]
    else:
        pathspecs = tuple(one for one in parsed.operands if is_path(one, place))
        revisions = tuple(one for one in parsed.operands if not is_path(one, place))
    for one in revisions:
        checked(command, one, place, revision)
    for one in pathspecs:
        checked(command, one, place, pathspec)
    return Operands(revisions, pathspecs, bool(pathspecs) or cut is not None)


def checked(command: str, operand: str, place: Place, check: object) -> None:
    """Return where `check` takes `operand`."""
    try:
        check(operand, place)  # type: ignore[operator]
    except BadValue as error:
        raise Refused(f"{command}: {operand!r} {error}", command.split()[0]) from None


def is_path(operand: str, place: Place) -> bool:
    """Whether an operand without a `--` before it is a path rather than a revision."""
    if operand.startswith(_MAGICAL) or _climbs(operand) or any(map(paths.is_git_name, operand.split("/"))):
        return True
    if os.path.lexists(posixpath.join(place.cwd, operand)):
        return True
    return bool(_GLOB.search(operand)) and not re.search(r"[~^:{]", operand)


def revision(value: str, place: Place) -> None:
    """Return where `value` can be nothing but a revision, a range of them, or a path in one."""
    if value.startswith("-"):
        raise BadValue("begins with a dash")
    if value.startswith(_MAGICAL):
        raise BadValue("is a path, and paths come after '--'")
    if _climbs(value):
        paths.inside(value, place)
    if value.startswith(":/"):
        if _climbs(value[2:]):  # git looks for a file of this name where no message matches
            raise BadValue("leads outside the memory")
    elif ":" in value:
        _in_revision(value.split(":", 1)[1], place)


def pathspec(value: str, place: Place) -> None:
    """Return where `value`, without its magic, stays in the tree."""
    rest, top = _without_magic(value)
    paths.inside(rest or ".", Place(place.tree, place.tree) if top else place)


def _in_revision(path: str, place: Place) -> None:
    """`PATH` of `REV:PATH`: from the root, or from here where it begins with a dot."""
    path = re.sub(r"\A[0-3]:", "", path)
    if path.startswith("/"):
        raise BadValue("has an absolute path; paths in a revision are relative: HEAD:index.md")
    start = place.cwd if re.match(r"\.{1,2}(/|\Z)", path) else place.tree
    target = posixpath.normpath(posixpath.join(start, path))
    if target != place.tree and not target.startswith(place.tree.rstrip("/") + "/"):
        raise BadValue("leads outside the memory")


def _climbs(operand: str) -> bool:
    """Whether an operand, or what stands before the path in it, can only be a path that leads somewhere else."""
    head = operand.split(":", 1)[0]
    return head.startswith(("/", "~")) or ".." in head.split("/")


def _without_magic(value: str) -> tuple[str, bool]:
    """`value` without its magic, and whether it counts from the root; see gitglossary(7), "pathspec"."""
    if value.startswith(":("):
        words, closed, rest = value[2:].partition(")")
        magic = set(filter(None, words.split(",")))
        if not closed or not magic <= _MAGIC:
            raise BadValue(f"has unknown magic; available: {', '.join(sorted(_MAGIC))}")
        return rest, "top" in magic
    if value.startswith(":"):
        found = re.match(r":([/!^]*):?", value)
        assert found is not None
        return value[found.end() :], "/" in found.group(1)
    return value, False
