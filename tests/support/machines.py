"""Machines that share a bucket: each has repositories and a cache of its own."""

import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from diffmem import git
from diffmem.limits import Deadline
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.repository.manifest import Manifest, decode
from diffmem.repository.names import manifest_name, user_hash
from diffmem.storage import Bucket

USER = "maya@example.org"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def deadline(seconds: float = 60) -> Deadline:
    """Time enough for any test."""
    return Deadline(seconds)


class Ticking:
    """A clock that is a minute later each time it is asked."""

    def __init__(self, start: datetime = START) -> None:
        self._next = start

    def __call__(self) -> datetime:
        now, self._next = self._next, self._next + timedelta(minutes=1)
        return now


def machine(
    bucket: Bucket,
    cache: Path,
    *,
    clock: Callable[[], datetime] | None = None,
    max_bytes: int = 1 << 30,
    sleeps: list[float] | None = None,
) -> Repositories:
    """Repositories with a cache of their own, which note in `sleeps` how long they would have waited."""
    noted = sleeps if sleeps is not None else []
    return Repositories(
        bucket,
        cache,
        cache_max_bytes=max_bytes,
        id_secret=None,
        clock=clock or Ticking(),
        sleep=noted.append,
    )


def write(files: dict[str, str | None], subject: str = "Write") -> Callable[[Snapshot], Change]:
    """An edit that writes these files whatever was there."""
    contents = {path: text if text is None else text.encode() for path, text in files.items()}
    return lambda snapshot: Change(contents, subject)


def append(path: str, line: str) -> Callable[[Snapshot], Change]:
    """An edit that adds one line to a file."""

    def edit(snapshot: Snapshot) -> Change:
        before = snapshot.read(path) if path in snapshot.paths() else b""
        return Change({path: before + line.encode() + b"\n"}, f"Add {line}")

    return edit


def stored_manifest(bucket: Bucket, user: str = USER) -> Manifest:
    """The manifest as the bucket has it."""
    name = manifest_name(user_hash(user, None))
    return decode(bucket.get(name, deadline()).data, name)


def object_names(bucket: Bucket, prefix: str = "v1/") -> list[str]:
    """The names of all objects."""
    return [listed.name for listed in bucket.list(prefix, deadline())]


def git_output(snapshot: Snapshot, *args: str) -> str:
    """What git says about a snapshot's checkout, as the tool would run it."""
    checkout = snapshot.checkout
    finished = subprocess.run(
        ["git", *git.FLAGS, *args], env=git.environment(checkout), cwd=checkout.tree, capture_output=True, check=True
    )
    return finished.stdout.decode()


def fsck(bucket: Bucket, user: str = USER) -> str:
    """What `git fsck --full` has to say about a memory that a machine without a cache reads."""
    with tempfile.TemporaryDirectory() as cache, machine(bucket, Path(cache)).open(user, deadline()) as snapshot:
        (objects,) = Path(cache).glob("*/*/*/objects")
        checkout = git.Checkout(objects.parent / "no-tree", objects.parent / "git", objects, snapshot.head)
        command = ["git", "fsck", "--full", "--strict", "--no-dangling", snapshot.head]
        finished = subprocess.run(command, env=git.environment(checkout), capture_output=True, check=False)
        return (finished.stdout + finished.stderr).decode() if finished.returncode else ""
