"""The one check every path goes through, wherever it stands: operand, argument of an option, part of a revision.

*Covered*: absolute paths outside the tree, `..` that leaves it, symbolic links that lead out of it, git's own
directory, NUL.
*Not covered*: a link that is made after the check. The tree is read-only to the tool and its checkout holds no links.
"""

import os
import posixpath

from diffmem.shell.policy.verdict import BadValue, Place

NULL = "/dev/null"


def check(path: str, place: Place) -> None:
    """Return where `path`, as the kernel would resolve it from `place.cwd`, lies in the tree or is /dev/null.

    Raises:
        BadValue: it lies elsewhere, or in git's directory.
    """
    if path == NULL:
        return
    inside(path, place)


def inside(path: str, place: Place) -> None:
    """As `check`, without the exception for /dev/null."""
    if "\0" in path:
        raise BadValue("holds a NUL character")
    if path in ("/dev/stdin", "/dev/fd/0"):
        raise BadValue("is a device; standard input is '-', or no file at all")
    tree = os.path.realpath(place.tree)
    target = os.path.realpath(posixpath.join(place.cwd, path))
    if target != tree and not target.startswith(tree.rstrip("/") + "/"):
        raise BadValue(_outside(path))
    names = [*posixpath.normpath(path).split("/"), *target[len(tree) :].split("/")]
    if any(is_git_name(name) for name in names):
        raise BadValue("is git's own directory, which is not part of memory; 'git log' and 'git show' read the history")


def exists(path: str, place: Place) -> bool:
    """Whether `path` names something in the tree; a dangling link counts, what lies outside does not."""
    try:
        inside(path, place)
    except BadValue:
        return False
    return bool(path) and os.path.lexists(posixpath.join(place.cwd, path))


def is_git_name(name: str) -> bool:
    """Whether some file system takes `name` for `.git`: in other letters, with dots after it, the NTFS one."""
    plain = name.casefold().rstrip(". ")
    return plain in (".git", "git~1")


def _outside(path: str) -> str:
    if path.startswith("/"):
        return "is outside the memory; paths are relative to its root, such as 'memories/people'"
    if path.startswith("~"):
        return "is outside the memory; there is no home directory"
    return "leads outside the memory"
