"""Files and directories that appear whole and go at once: made or removed aside, in a scratch directory."""

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_TRIES = 4


def stubbornly(act: Callable[[], T]) -> T:
    """What `act` gives, which is called again where a directory vanished under it; it has to make what it needs."""
    for _ in range(_TRIES - 1):
        with suppress(FileNotFoundError):
            return act()
    return act()


def make_directory(path: Path, mode: int) -> None:
    """Make a directory where there is none, with this mode whatever the umask says."""
    try:
        path.mkdir()
    except FileExistsError:
        return
    except FileNotFoundError:
        make_directory(path.parent, mode)
        make_directory(path, mode)
        return
    path.chmod(mode)


def write_file(path: Path, data: bytes, scratch: Path, mode: int = 0o644) -> None:
    """Write aside and rename into place, so that nobody sees half of it; where that fails, nothing stays aside."""
    aside = scratch / secrets.token_hex(8)
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def discard(path: Path, scratch: Path) -> None:
    """Move a directory out of sight, then remove it."""
    target = scratch / secrets.token_hex(8)
    try:
        path.rename(target)
    except FileNotFoundError:
        target = path  # it has gone, or `scratch` has
    remove_tree(target)


def remove_tree(path: Path) -> None:
    """Remove a directory or file, whoever else may be removing it too."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
