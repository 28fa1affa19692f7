"""A user's memory in a bucket on disk, written commit by commit, for tests that read.

memory = Memory(tmp_path)
memory.write({"profile.md": b"# Alex\\n"}, day="2024-03-05")
with memory.open() as snapshot:
    ...
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from diffmem.limits import Deadline
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.storage import LocalBucket

SECONDS = 30.0


class Memory:
    """One user's memory; the clock stands at noon of the day of the last write."""

    def __init__(self, folder: Path, user: str = "alex") -> None:
        self.user = user
        self._now = datetime(2024, 1, 1, 12, tzinfo=UTC)
        self.repositories = Repositories(
            LocalBucket(folder / "bucket"),
            folder / "cache",
            cache_max_bytes=1 << 30,
            id_secret=None,
            clock=lambda: self._now,
        )

    def write(self, files: Mapping[str, bytes | None], day: str = "2024-01-01", subject: str = "write") -> str:
        """One commit that happened, and was recorded, at noon of `day`; its sha."""
        self._now = datetime.fromisoformat(f"{day}T12:00:00+00:00")
        change = Change(files, subject, occurred_at=self._now)
        committed = self.repositories.commit(self.user, lambda _: change, Deadline(SECONDS), create=True)
        with committed.snapshot:
            return committed.snapshot.head

    def open(self, as_of: datetime | None = None, deadline: Deadline | None = None) -> Snapshot:
        """The memory as it is now, or as it was recorded at `as_of`."""
        return self.repositories.open(self.user, deadline or Deadline(SECONDS), as_of=as_of)
