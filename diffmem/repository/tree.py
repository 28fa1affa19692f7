"""The files of a checkout on disk: written with their times, removed, sealed, and looked over again."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from diffmem.git.index import CONFIG, File, write_index

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_EMPTY_AT = 946_684_800  # an empty folder's time: that of the first commit of every memory


def begin(view: Path) -> None:
    """Make the directories of an empty view."""
    for directory in (view, view / "tree", view / "git", view / "git" / "refs", view / "git" / "refs" / "heads"):
        _make_directory(directory)


def write(tree: Path, file: File, content: bytes) -> None:
    """Write one file, readable by all and writable by none, with the time of its last change."""
    path = f"{tree}/{file.path}"
    try:
        descriptor = os.open(path, _NEW_FILE, 0o444)
    except FileNotFoundError:
        _make_parents(tree, (tree / file.path).parent)
        descriptor = os.open(path, _NEW_FILE, 0o444)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fchmod(descriptor, 0o444)
        os.utime(descriptor, (file.changed_at, file.changed_at))


def remove(tree: Path, paths: Iterable[str]) -> None:
    """Remove files, and the folders that this leaves empty."""
    for name in paths:
        path = tree / name
        path.unlink(missing_ok=True)
        _prune(tree, path.parent)


def _prune(tree: Path, folder: Path) -> None:
    while folder != tree:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def finish(view: Path, head: str, files: Sequence[File]) -> None:
    """Write what goes with the tree (git's files, the list, the seal), once all files are there."""
    git_files = {
        "HEAD": b"ref: refs/heads/main\n",
        "config": CONFIG,
        "index": write_index(files),
        "refs/heads/main": f"{head}\n".encode(),
    }
    for name, content in git_files.items():
        _replace(view / "git" / name, content)
    times = _folder_times(files)
    for folder, changed_at in sorted(times.items(), reverse=True):
        os.utime(view / "tree" / folder, (changed_at, changed_at))
    _replace(view / "files", json.dumps(files).encode())
    sizes = {name: len(content) for name, content in git_files.items()}
    bytes_on_disk = sum(_on_disk(file.size) for file in files) + sum(map(_on_disk, sizes.values()))
    _replace(view / "seal", json.dumps({"folders": times, "git": sizes, "bytes": bytes_on_disk}).encode())


def _folder_times(files: Iterable[File]) -> dict[str, int]:
    """For each folder (`""` is the tree) the time of the latest change in it."""
    times: dict[str, int] = defaultdict(int, {"": 0})
    for file in files:
        folder = file.path
        while folder:
            folder = folder.rpartition("/")[0]
            times[folder] = max(times[folder], file.changed_at)
    return {folder: changed_at or _EMPTY_AT for folder, changed_at in times.items()}


def files_of(view: Path) -> list[File]:
    """What a view's tree holds, as `finish` wrote it; a view without a list counts as empty."""
    try:
        return [File(*entry) for entry in json.loads((view / "files").read_bytes())]
    except (OSError, ValueError, TypeError):
        return []


def is_whole(view: Path) -> bool:
    """Whether nothing of a view has been removed since it was sealed."""
    try:
        seal = json.loads((view / "seal").read_bytes())
        folders = all(
            (view / "tree" / name).lstat().st_mtime_ns == seconds * 1_000_000_000
            for name, seconds in seal["folders"].items()
        )
        return folders and all((view / "git" / name).stat().st_size == size for name, size in seal["git"].items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def bytes_of(view: Path) -> int:
    """What a view takes on disk, about."""
    try:
        return int(json.loads((view / "seal").read_bytes())["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _on_disk(size: int) -> int:
    return -(-size // 4096) * 4096 + 512


def _make_parents(tree: Path, folder: Path) -> None:
    if folder == tree or folder.is_dir():
        return
    _make_parents(tree, folder.parent)
    _make_directory(folder)


def _make_directory(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)


def _replace(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)
