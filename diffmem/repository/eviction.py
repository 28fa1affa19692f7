"""Making room in the cache: what was used least recently goes, never what is in use."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from diffmem.repository import lease, tree
from diffmem.repository.files import discard, remove_tree


class _Place(NamedTuple):
    used_at: float
    bytes: int
    path: Path


def shortage(directory: Path, wanted_bytes: int) -> int:
    """How many of `wanted_bytes` are not free on the disk; 0 where it has no bound (a tmpfs may: 0 of 0 free)."""
    disk = shutil.disk_usage(directory)
    return max(0, wanted_bytes - disk.free) if disk.total else 0


def evict(root: Path, making: Path, scratch: Path, max_bytes: int, lacking: int) -> None:
    """Remove cached histories under `root` until they take an eighth less than `max_bytes`, where they take more.

    And until they take `lacking` bytes less than they do, for the sake of the disk. `making` is no user's directory;
    `scratch` is this process's in it.
    """
    places = sorted(_places(root, making))
    total = sum(place.bytes for place in places)
    wanted = min(total if total <= max_bytes else max_bytes * 7 // 8, total - lacking)
    for place in places:
        if total <= wanted:
            return
        held = lease.claim(place.path / "lease")
        if held is None:
            continue
        discard(place.path, scratch)
        held.release()
        total -= place.bytes
        _remove_if_empty(place.path.parent)


def _places(root: Path, making: Path) -> Iterator[_Place]:
    for user in root.iterdir():
        if user == making:
            continue
        with suppress(OSError):
            for path in user.iterdir():
                if path.is_dir():
                    yield _Place(_used_at(path), _bytes(path), path)


def _used_at(place: Path) -> float:
    try:
        return (place / "lease").stat().st_mtime
    except FileNotFoundError:
        return place.stat().st_mtime


def _bytes(place: Path) -> int:
    total = 0
    with suppress(OSError):
        total += sum(path.stat().st_size for path in (place / "objects" / "pack").iterdir())
        total += sum(tree.bytes_of(view) for view in (place / "views").iterdir())
    return total


def _remove_if_empty(user: Path) -> None:
    """Remove a user's directory when only the manifest is left in it."""
    with suppress(OSError):
        if [path.name for path in user.iterdir()] == ["m"]:
            (user / "m").unlink()
        user.rmdir()


def clear_abandoned(making: Path, scratch: Path) -> None:
    """Remove what processes that were killed have left unfinished in `making`; `scratch` is this process's own."""
    for path in making.iterdir():
        held = lease.claim(path / "lease") if path != scratch else None
        if held:
            remove_tree(path)
            held.release()
