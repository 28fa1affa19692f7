"""Which paths a memory may hold, whoever wrote them: a request, a model, or an imported history.

*Covered*: leaving the tree, `.git` and everything git would take orders from (`.gitattributes`, `.gitmodules`, also
as HFS+ and NTFS spell them), options in disguise (a leading `-`), control and bidirectional characters, names that no
file system takes. *Not covered*: whether a path makes sense in the layout of a memory; that is `diffmem.memory`.

The `.git` look-alikes are those of git's own `verify_path` (`is_hfs_dotgit`, `is_ntfs_dotgit` in path.c and utf8.c).
"""

import re

MAX_PATH_BYTES = 1024
MAX_PART_BYTES = 200
MAX_DEPTH = 16

_PLAIN_PART = r"\w[\w-]*(?:\.[\w-]+)*"
_PLAIN = re.compile(rf"(?=.{{1,{MAX_PART_BYTES}}}\Z)(?:{_PLAIN_PART}/){{0,{MAX_DEPTH - 1}}}{_PLAIN_PART}", re.ASCII)


def unsafe_reason(path: str) -> str | None:
    """Why a memory must not hold a file of this path, as what the path "is" or "has", or None where it may."""
    if _PLAIN.fullmatch(path):
        return None  # nearly every path: a listing of 10,000 is looked through in 10 ms, not in 100
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        return f"is more than {MAX_DEPTH} folders deep"
    try:
        if len(path.encode()) > MAX_PATH_BYTES:
            return f"is longer than {MAX_PATH_BYTES} bytes"
    except UnicodeEncodeError:
        return "is not Unicode text"
    if not path.isprintable():
        return "has a character that cannot be seen"
    return next((reason for part in parts if (reason := _unsafe_part(part))), None)


def _unsafe_part(part: str) -> str | None:
    if part in ("", ".", ".."):
        return "has an empty, '.' or '..' part"
    if part.startswith("-"):
        return "has a part that begins with '-'"
    if part.lower().startswith((".git", "git~")):
        return "has a part that git keeps for itself"
    if part.endswith((" ", ".")) or part.startswith(" "):
        return "has a part that begins with a blank, or ends with a blank or '.'"
    if any(character in part for character in '\\:*?"<>|'):
        return "has a character that not every file system takes"
    if len(part.encode()) > MAX_PART_BYTES:
        return f"has a part longer than {MAX_PART_BYTES} bytes"
    return None
