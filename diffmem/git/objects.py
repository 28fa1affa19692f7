"""Trees and blobs of a repository, one process each."""

from collections.abc import Sequence
from typing import NamedTuple

from diffmem.errors import GitError
from diffmem.git.environment import Checkout
from diffmem.git.paths import unsafe_reason
from diffmem.git.process import run
from diffmem.limits import Deadline

FILE_MODES = (b"100644", b"100755")
"""The modes of regular files: the only ones that a memory holds."""


class Blob(NamedTuple):
    """A regular file of a tree."""

    path: str
    sha: str


def list_blobs(checkout: Checkout, rev: str, deadline: Deadline) -> tuple[Blob, ...]:
    """The regular files of a revision whose paths are safe, in git's order (by the bytes of the path).

    Symbolic links, submodules and unsafe paths, which an import refuses, are not in it: nothing of DiffMem ever sees
    them.
    """
    output = run(checkout, ["ls-tree", "-r", "-z", "--full-tree", rev], deadline).output
    lines = (line.partition(b"\t") for line in output.split(b"\0") if line)
    blobs = (_blob(head, name) for head, _, name in lines)
    return tuple(blob for blob in blobs if blob)


def _blob(head: bytes, name: bytes) -> Blob | None:
    """A blob from `100644 blob <sha>` and its path."""
    mode, _, sha = head.split(b" ")
    if mode not in FILE_MODES:
        return None
    try:
        path = name.decode()
    except UnicodeDecodeError:
        return None
    return None if unsafe_reason(path) else Blob(path, sha.decode())


def read_objects(checkout: Checkout, names: Sequence[str], deadline: Deadline) -> list[tuple[str, str, bytes] | None]:
    """For each name `(sha, type, content)`, or None where git knows no such object (or more than one)."""
    request = "".join(f"{name}\n" for name in names).encode()
    output = run(checkout, ["cat-file", "--batch"], deadline, stdin=request).output
    found: list[tuple[str, str, bytes] | None] = []
    at = 0
    for _ in names:
        end = output.index(b"\n", at)
        header = output[at:end].split(b" ")
        at = end + 1
        if header[-1] in (b"missing", b"ambiguous"):
            found.append(None)
            continue
        sha, kind, size = header[0].decode(), header[1].decode(), int(header[2])
        found.append((sha, kind, output[at : at + size]))
        at += size + 1
    if at != len(output):
        raise GitError("git cat-file answered more than it was asked")
    return found


def resolve(checkout: Checkout, rev: str, deadline: Deadline) -> str | None:
    """The sha of the commit that `rev` names, or None. `rev` must be one line."""
    request = f"{rev}^{{commit}}\n".encode()
    output = run(checkout, ["cat-file", "--batch-check"], deadline, stdin=request).output
    words = output.split()
    return words[0].decode() if len(words) == 3 and words[1] == b"commit" else None
