"""Object names as file names, one to one, on file systems that fold case or Unicode too.

    v1/6f1c/Größe  ->  v1/6f1c/%47r%c3%b6%c3%9fe@

Every byte but `a-z 0-9 . _ -` is written `%xx`. The `@` ends an object's own segment, so that the objects `a` and `a/b`
are the file `a@` and the file `b@` in the directory `a`.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

SUFFIX = "@"
MAX_SEGMENT_BYTES = 250

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")
_ENCODED = re.compile(r"(?:[a-z0-9._-]|%[0-9a-f]{2})+")
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")


def path_of(directory: Path, name: str) -> Path:
    """The file under `directory` that holds the object `name`, a name that `check_name` lets pass.

    Raises:
        ValueError: a segment too long for a file name.
    """
    return directory / ("/".join(encode(segment) for segment in name.split("/")) + SUFFIX)


def objects_in(directory: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    """The names that begin with `prefix`, with their files, by name; foreign files are left out.

    Only directories that can hold such names are read.
    """
    base = prefix[: prefix.rfind("/") + 1]
    segments = base.split("/")[:-1]
    if any(segment in ("", ".", "..") or not segment.isprintable() for segment in segments):
        return
    yield from _walk(directory.joinpath(*map(encode, segments)), base, prefix)


def encode(segment: str) -> str:
    """One segment of a name as a file name."""
    text = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in segment.encode())
    if len(text) > MAX_SEGMENT_BYTES:
        raise ValueError(f"a segment of an object name is too long for a file name: {segment!r}")
    return text


def decode(text: str) -> str | None:
    """The segment that `encode` writes as `text`; None where there is none."""
    if not _ENCODED.fullmatch(text):
        return None
    try:
        segment = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), text.encode()).decode()
    except UnicodeDecodeError:
        return None
    return segment if encode(segment) == text else None


def _walk(directory: Path, base: str, prefix: str) -> Iterator[tuple[str, Path]]:
    for name, path in _entries(directory, base):
        if not name.endswith("/"):
            if name.startswith(prefix):
                yield name, path
        elif name.startswith(prefix) or prefix.startswith(name):
            yield from _walk(path, name, prefix)


def _entries(directory: Path, base: str) -> list[tuple[str, Path]]:
    """The names in one directory in the order of their objects' names; a directory's name ends in `/`."""
    entries = []
    for file_name, is_directory in _children(directory):
        segment = decode(file_name.removesuffix(SUFFIX))
        if segment is not None and is_directory != file_name.endswith(SUFFIX):
            entries.append((base + segment + ("/" if is_directory else ""), directory / file_name))
    return sorted(entries, key=lambda entry: entry[0].encode())


def _children(directory: Path) -> list[tuple[str, bool]]:
    try:
        with os.scandir(directory) as entries:
            return [(entry.name, entry.is_dir()) for entry in entries]
    except FileNotFoundError:
        return []
