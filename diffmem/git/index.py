"""A checkout's index, written by us: the same bytes for the same files, with no process and no look at the disk.

Format: git's Documentation/gitformat-index.txt, version 2, without extensions. Times, size and content are right;
owner, device and inode are zero, which `core.checkStat=minimal` and `core.trustctime=false` make git overlook. So
`git diff` in a checkout need not read the files.
"""

import hashlib
import struct
from collections.abc import Iterable
from typing import NamedTuple

_ENTRY = struct.Struct(">10I20sH")
_REGULAR_FILE = 0o100644
_MAX_NAME_IN_FLAGS = 0xFFF


class File(NamedTuple):
    """A file of a checkout; `changed_at` in seconds since 1970."""

    path: str
    sha: str
    size: int
    changed_at: int


CONFIG = b"""[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = false
\tsymlinks = false
\tcheckStat = minimal
\ttrustctime = false
"""


def write_index(files: Iterable[File]) -> bytes:
    """The index of a checkout that holds exactly these files."""
    entries = sorted((file.path.encode(), file) for file in files)
    body = b"DIRC" + struct.pack(">II", 2, len(entries)) + b"".join(_entry(name, file) for name, file in entries)
    return body + hashlib.sha1(body).digest()


def _entry(name: bytes, file: File) -> bytes:
    size, changed_at = file.size & 0xFFFFFFFF, file.changed_at & 0xFFFFFFFF
    fields = (0, 0, changed_at, 0, 0, 0, _REGULAR_FILE, 0, 0, size)
    entry = _ENTRY.pack(*fields, bytes.fromhex(file.sha), min(len(name), _MAX_NAME_IN_FLAGS)) + name
    return entry + b"\0" * (8 - len(entry) % 8)
