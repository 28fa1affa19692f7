"""One user's memory as it was at one commit, to read from.

Everything is read from packs that were checked when they came; a checkout on disk is made when it is first asked for.
Where a part of the cache has vanished, it is fetched again, once, and the question is put again.
"""

import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from diffmem.errors import GitError, UnknownCommit, UnknownPath
from diffmem.git import history, inspection, objects
from diffmem.git.bundles import write_bundle
from diffmem.git.environment import Checkout
from diffmem.git.history import Commit
from diffmem.git.inspection import BlamedLine
from diffmem.git.packs import Scratch
from diffmem.git.paths import unsafe_reason
from diffmem.limits import Deadline
from diffmem.repository.hydrate import History, Hydrated
from diffmem.repository.lease import Lease
from diffmem.repository.recent import Recent
from diffmem.repository.views import Views, is_whole
from diffmem.storage import MeteredBucket

T = TypeVar("T")
Content = bytes  # `Snapshot.bytes` is a number, and hides the type of that name

_REVISION = re.compile(r"(HEAD|@|main|[0-9a-f]{4,40})((?:[~^][0-9]{0,6})*)")


class Shelves:
    """What the snapshots of a process share in memory."""

    def __init__(self) -> None:
        self.listings: Recent[tuple[History, str], dict[str, str]] = Recent(100_000, len)
        self.contents: Recent[tuple[History, str], bytes] = Recent(32 * 1024 * 1024, lambda data: len(data) + 200)

    def carry_on(self, history: History, old: str, new: str, blobs: Mapping[str, str | None]) -> None:
        """Make the listing of a new head from that of its parent, where it is here, and from what changed."""
        listing = self.listings.get((history, old))
        if listing is not None:
            changed = {**listing, **blobs}
            self.listings.put((history, new), {path: sha for path, sha in changed.items() if sha})

    def forget(self, uid: str) -> None:
        """Drop what belongs to a user."""
        self.listings.drop(lambda key: key[0].uid == uid)
        self.contents.drop(lambda key: key[0].uid == uid)


class Snapshot:
    """A context manager; until it is closed, the cache keeps what it stands on. Safe between threads."""

    def __init__(
        self,
        hydrated: Hydrated,
        head: str,
        *,
        bucket: MeteredBucket,
        deadline: Deadline,
        shelves: Shelves,
        views: Views,
        repair: Callable[[Hydrated], Hydrated],
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.user = hydrated.manifest.user
        self.head = head
        self.history = hydrated.history
        self._hydrated = replace(hydrated, lease=None)  # a lease of our own follows: it ends with `close`
        self._bucket = bucket
        self._deadline = deadline
        self._shelves = shelves
        self._views = views
        self._repair = repair
        self._on_close = on_close
        self._leases: list[Lease] = []
        self._checkout: Checkout | None = None
        self._checking_out = threading.Lock()
        self._bare = hydrated.place.bare(head)
        self._hold(hydrated.place.use())

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the cache evict what this stands on."""
        for lease in self._leases:
            lease.release()
        if self._on_close:
            self._on_close()

    @property
    def requests(self) -> int:
        """Requests to the bucket that this snapshot took so far."""
        return self._bucket.requests

    @property
    def bytes(self) -> int:
        """Bytes that those requests moved."""
        return self._bucket.bytes

    @property
    def commit_count(self) -> int:
        """The number of commits that the head reaches."""
        if self.head == self._hydrated.manifest.head:
            return self._hydrated.manifest.commits
        return self._ask(lambda: history.count(self._bare, self.head, self._deadline))

    @property
    def checkout(self) -> Checkout:
        """The snapshot on disk, for the tool: whole when this returns, and kept until the snapshot is closed."""
        with self._checking_out:
            if self._checkout is None or not is_whole(self._checkout):
                made, lease = self._ask(lambda: self._views.checkout(self._hydrated.place, self.head, self._deadline))
                self._hold(lease)
                self._checkout = made
            return self._checkout

    def paths(self) -> tuple[str, ...]:
        """The paths of all files, sorted."""
        return tuple(sorted(self._listing()))

    def read(self, path: str) -> Content:
        """The content of a file.

        Raises:
            UnknownPath: there is none.
        """
        return self.read_all((path,))[path]

    def read_all(self, paths: Iterable[str]) -> dict[str, Content]:
        """The contents of several files, in the order asked, at the cost of one process at most.

        Raises:
            UnknownPath: one of them does not exist.
        """
        listing = self._listing()
        shas = {}
        for path in paths:
            if path not in listing:
                raise UnknownPath(f"no file {path!r} at {self.head[:12]}")
            shas[path] = listing[path]
        contents = self._contents(set(shas.values()))
        return {path: contents[sha] for path, sha in shas.items()}

    def log(
        self,
        *,
        paths: Sequence[str] = (),
        max_count: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Commit, ...]:
        """The commits, newest first, that touched one of `paths` (files or folders), or all of them.

        `since` and `until` bound the time a commit was recorded at, both included.
        """
        return self._ask(
            lambda: history.log(
                self._bare, self.head, self._deadline, paths=paths, max_count=max_count, since=since, until=until
            )
        )

    def commit(self, rev: str) -> Commit:
        """The commit that `rev` names.

        Raises:
            UnknownCommit: there is none.
        """
        sha = self.resolve(rev)
        return self._ask(lambda: history.log(self._bare, sha, self._deadline, max_count=1))[0]

    def merge(self, *, base: Content, ours: Content, theirs: Content) -> tuple[Content, bool]:
        """`ours` with what changed from `base` to `theirs`, and whether lines conflict, then between git's marks."""
        return inspection.merge(self._bare, base, ours, theirs, self._deadline)

    def read_at(self, rev: str, path: str) -> Content:
        """The content of a file at another revision.

        Raises:
            UnknownCommit: `rev` names none.
            UnknownPath: it had no such file.
        """
        sha = self.resolve(rev)
        if not unsafe_reason(path):
            name = f"{sha}:{path}"
            found = self._ask(lambda: self._sure(objects.read_objects(self._bare, [name], self._deadline)[0]))
            if found and found[1] == "blob":
                return found[2]
        raise UnknownPath(f"no file {path!r} at {sha[:12]}")

    def diff(self, old: str, new: str, *, paths: Sequence[str] = ()) -> Content:
        """A unified diff between two revisions, of all files or of `paths` (files or folders).

        Raises:
            UnknownCommit: one of the revisions names none.
        """
        shas = self.resolve(old), self.resolve(new)
        return self._ask(lambda: inspection.diff(self._bare, *shas, self._deadline, paths=paths))

    def blame(self, path: str) -> tuple[BlamedLine, ...]:
        """Every line of a file, with the commit that last wrote it.

        Raises:
            UnknownPath: there is no such file.
        """
        if path not in self._listing():
            raise UnknownPath(f"no file {path!r} at {self.head[:12]}")
        return self._ask(lambda: inspection.blame(self._bare, self.head, path, self._deadline))

    def bundle(self, directory: Path) -> Path:
        """A file in `directory` with the whole history up to here, as `git clone` takes it."""
        return self._ask(lambda: self._bundle(Path(tempfile.mkdtemp(dir=directory))))

    def resolve(self, rev: str) -> str:
        """The sha of the commit that `rev` names: a sha or its first digits, HEAD or main, each with any `~n` and `^n`.

        Raises:
            UnknownCommit: none, or several.
        """
        match = _REVISION.fullmatch(rev)
        if match:
            name, steps = match.groups()
            start = self.head if name in ("HEAD", "@", "main") else name
            sha = self._ask(lambda: self._sure(objects.resolve(self._bare, start + steps, self._deadline)))
            if sha:
                return sha
        raise UnknownCommit(f"no commit {rev!r}")

    def newest_at(self, moment: datetime) -> str:
        """The sha of the newest commit, of those in a line of first parents, that was recorded at `moment` or before.

        Raises:
            UnknownCommit: there is none.
        """
        sha = self._ask(lambda: history.newest_at(self._bare, self.head, moment, self._deadline))
        if sha is None:
            raise UnknownCommit(f"nothing had been recorded at {moment.isoformat()!r}")
        return sha

    def _listing(self) -> dict[str, str]:
        """The sha of each file's content, by path."""
        key = (self.history, self.head)
        listing = self._shelves.listings.get(key)
        if listing is None:
            listing = dict(self._ask(lambda: objects.list_blobs(self._bare, self.head, self._deadline)))
            self._shelves.listings.put(key, listing)
        return listing

    def _contents(self, shas: set[str]) -> dict[str, Content]:
        known = {sha: self._shelves.contents.get((self.history, sha)) for sha in shas}
        contents = {sha: content for sha, content in known.items() if content is not None}
        lacking = sorted(shas - contents.keys())
        for sha, content in zip(lacking, self._ask(lambda: self._blobs(lacking)), strict=True):
            contents[sha] = content
            self._shelves.contents.put((self.history, sha), content)
        return contents

    def _bundle(self, directory: Path) -> Path:
        return write_bundle(Scratch(directory, self._hydrated.place.objects), self.head, self._deadline)

    def _blobs(self, shas: list[str]) -> list[Content]:
        found = objects.read_objects(self._bare, shas, self._deadline) if shas else []
        contents = [answer[2] for answer in found if answer]
        if len(contents) != len(shas):
            raise GitError("an object of the repository is missing")
        return contents

    def _sure(self, answer: T) -> T:
        """`answer`, unless it is None and that may be because a pack has vanished."""
        if answer is None and not self._hydrated.is_intact():
            raise GitError("a pack of the cache is missing")
        return answer

    def _ask(self, question: Callable[[], T]) -> T:
        """The answer to `question`, put a second time where a part of the cache had vanished."""
        try:
            return question()
        except (GitError, FileNotFoundError):
            self._hydrated = replace(self._repair(self._hydrated), lease=None)
            self._hold(self._hydrated.place.use())
            return question()

    def _hold(self, lease: Lease | None) -> None:
        if lease:
            self._leases.append(lease)
