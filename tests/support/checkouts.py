"""Checkouts for the tool's tests, made as the product makes them: objects and one ref are taken, nothing else."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from diffmem.git import FLAGS, Checkout, environment

OWNER = 60_998
"""Owns a checkout where the tests run as root: nobody's, and not the worker's."""
OWNER_IS_NAMELESS = os.geteuid() == 0

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n\tsymlinks = false\n"


def checkout_of(repository: Path, tree: Path) -> Checkout:
    """A checkout of the head of `repository` in the new directory `tree`, with what belongs to it beside that.

    Read-only, and without links or names that no memory holds.
    """
    checkout = Checkout(tree, tree.with_name(f"{tree.name}-git"), tree.with_name(f"{tree.name}-objects"), "")
    tree.mkdir()
    shutil.copytree(repository / ".git" / "objects", checkout.objects, ignore=shutil.ignore_patterns("info"))
    head = (
        _git(["rev-parse", "HEAD"], {"GIT_DIR": str(repository / ".git"), "PATH": os.environ["PATH"]}).decode().strip()
    )
    _write_git_dir(checkout.git_dir, head)
    _run(checkout, "read-tree", head)
    for mode, name in _entries(checkout, head):
        if mode in ("100644", "100755") and _is_safe(name):
            path = tree / os.fsdecode(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_run(checkout, "cat-file", "blob", b"HEAD:" + name))
    _run(checkout, "update-index", "-q", "--refresh", ok=(0, 1))
    for part in (tree, checkout.git_dir, checkout.objects):
        _make_read_only(part)
    return Checkout(tree, checkout.git_dir, checkout.objects, head)


def remove(place: Path) -> None:
    """Delete a directory that checkouts are in."""
    for path in (place, *place.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(place)


def _write_git_dir(git_dir: Path, head: str) -> None:
    (git_dir / "refs" / "heads").mkdir(parents=True)
    (git_dir / "objects").mkdir()
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    (git_dir / "refs" / "heads" / "main").write_text(f"{head}\n")
    (git_dir / "config").write_text(_CONFIG)


def _entries(checkout: Checkout, head: str) -> Iterator[tuple[str, bytes]]:
    for entry in _run(checkout, "ls-tree", "-r", "-z", head).split(b"\0")[:-1]:
        meta, _, name = entry.partition(b"\t")
        yield meta.split()[0].decode(), name


def _is_safe(name: bytes) -> bool:
    return all(part[:1] != b"-" and min(part, default=0) >= 0x20 for part in name.split(b"/"))


def _make_read_only(place: Path) -> None:
    for path in (place, *place.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, OWNER, OWNER)
        path.chmod(0o555 if path.is_dir() else 0o444)


def _run(checkout: Checkout, *arguments: str | bytes, ok: tuple[int, ...] = (0,)) -> bytes:
    return _git([*FLAGS, *arguments], environment(checkout), ok)


def _git(arguments: list[str | bytes] | list[str], env: dict[str, str], ok: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(["git", *arguments], env=env, capture_output=True, check=False)
    assert done.returncode in ok, done.stderr
    return done.stdout
