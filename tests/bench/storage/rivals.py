"""Two simpler ways to keep a repository in a bucket, to compare with: one bundle a push, and one tar of everything."""

import io
import subprocess
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from diffmem.storage import Bucket
from tests.bench.storage.history import History
from tests.support.machines import deadline

_THREADS = 16
_REPACK_EVERY = 100


def git(repository: Path, *args: str, stdin: bytes | None = None) -> bytes:
    """What git says in a bare repository."""
    command = ["git", "-C", str(repository), *args]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def new_repository(path: Path) -> Path:
    """An empty bare repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)], check=True)
    return path


def commit(repository: Path, history: History, *, first: bool) -> None:
    """Add the next commit of `history`."""
    files = history.next_files()
    stream = f"commit refs/heads/main\ncommitter D <d@d> {1_700_000_000 + history.number} +0000\ndata 1\nx\n"
    stream += "" if first else "from refs/heads/main^0\n"
    parts = [stream.encode()]
    for path, text in files.items():
        data = text.encode()
        parts.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    git(repository, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", stdin=b"".join(parts))


class Rival(Protocol):
    """A way to keep a repository in `bucket`."""

    name: str
    bucket: Bucket

    def grow(self, history: History, commits: int) -> None:
        """Store the repository with so many commits."""

    def push(self, history: History) -> None:
        """Make one more commit, and store it."""

    def read(self) -> None:
        """Read the repository as a machine that has nothing of it."""

    def refresh(self) -> None:
        """Find out, on a machine that has it, that nothing is new."""


class Bundles(Rival):
    """Every push is a bundle of its own; reading fetches and unbundles them all."""

    name = "one bundle a push"

    def __init__(self, bucket: Bucket, directory: Path) -> None:
        self.bucket = bucket
        self._directory = directory
        self._repository = new_repository(directory / "bundles.git")
        self._pushed = 0

    def grow(self, history: History, commits: int) -> None:
        """Push until there are so many commits."""
        while history.number < commits:
            self.push(history)

    def push(self, history: History) -> None:
        """Commit, and store the commit's bundle."""
        commit(self._repository, history, first=self._pushed == 0)
        since = ["^main~1"] if self._pushed else []
        data = git(self._repository, "bundle", "create", "--quiet", "-", "main", *since)
        self.bucket.put(f"bundles/{self._pushed:08d}", data, deadline(), if_generation=0)
        self._pushed += 1
        if self._pushed % _REPACK_EVERY == 0:
            git(self._repository, "repack", "-a", "-d", "-q")

    def read(self) -> None:
        """Fetch all bundles side by side, and unbundle them in order."""
        names = [listed.name for listed in self.bucket.list("bundles/", deadline())]
        with tempfile.TemporaryDirectory() as directory:
            target = new_repository(Path(directory) / "read.git")
            with ThreadPoolExecutor(_THREADS) as pool:
                bundles = list(pool.map(lambda name: self.bucket.get(name, deadline(600)).data, names))
            file = Path(directory) / "bundle"
            for bundle in bundles:
                file.write_bytes(bundle)
                git(target, "bundle", "unbundle", str(file))

    def refresh(self) -> None:
        """Find out whether there is anything new: a listing."""
        list(self.bucket.list(f"bundles/{self._pushed:08d}", deadline()))


class Tar(Rival):
    """The whole repository is one object; a push reads it, and writes it."""

    name = "a tar of the repository"

    def __init__(self, bucket: Bucket, directory: Path) -> None:
        self.bucket = bucket
        self._repository = new_repository(directory / "tar.git")
        self._generation = 0
        self._pushed = 0

    def grow(self, history: History, commits: int) -> None:
        """Commit until there are so many commits, and store the last state."""
        while history.number < commits:
            self._commit(history)
        self._store()

    def _commit(self, history: History) -> None:
        commit(self._repository, history, first=self._pushed == 0)
        self._pushed += 1
        if self._pushed % _REPACK_EVERY == 0:
            git(self._repository, "repack", "-a", "-d", "-q")

    def push(self, history: History) -> None:
        """Look whether the object is unchanged, commit, and store everything."""
        if self._generation:
            self.bucket.get_if_changed("tar", self._generation, deadline())
        self._commit(history)
        self._store()

    def _store(self) -> None:
        git(self._repository, "repack", "-a", "-d", "-q")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(self._repository, arcname=".")
        self._generation = self.bucket.put("tar", buffer.getvalue(), deadline(), if_generation=self._generation)

    def read(self) -> None:
        """Fetch the object, and unpack it."""
        data = self.bucket.get("tar", deadline()).data
        with tempfile.TemporaryDirectory() as directory, tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(directory, filter="data")
            git(Path(directory), "rev-parse", "main")

    def refresh(self) -> None:
        """Find out whether there is anything new: a conditional read."""
        self.bucket.get_if_changed("tar", self._generation, deadline())
