"""A memory that grows like a real one: a commit archives a session, edits two of 60 entities, and renews the index."""

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from diffmem.repository import Change, Snapshot

_WORDS = re.findall(
    r"\w+",
    """river maya acme nurse garden coffee violin berlin train winter project budget sister doctor marathon recipe
    letter window museum bridge plan walk dinner school book phone ticket island evening because although together""",
)
_ENTITIES = 60
_START = datetime(2023, 1, 1, 9, tzinfo=UTC)


class History:
    """The commits of one memory, the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._entities = {f"memories/people/person-{number:03d}.md": "# Person\n" for number in range(_ENTITIES)}
        self.number = 0

    def next(self) -> tuple[Callable[[Snapshot], Change], str]:
        """An edit, and its tx."""
        files = self.next_files()
        change = Change(
            {path: text.encode() for path, text in files.items()},
            f"Remember session s{self.number}",
            trailers={"Session-Id": f"s{self.number}", "Session-Digest": f"{self._random.getrandbits(256):064x}"},
            occurred_at=self._moment(),
        )
        return lambda snapshot: change, f"tx-{self.number}"

    def next_files(self) -> dict[str, str]:
        """The files of the next commit."""
        self.number += 1
        moment = self._moment()
        files = {f"sessions/{moment:%Y/%m/%d}-s{self.number}.md": self._lines(12)}
        for path in self._random.sample(sorted(self._entities), 2):
            kept = self._entities[path].splitlines(keepends=True)[-40:]
            self._entities[path] = "".join(kept) + f"- {self._sentence()} ^[s{self.number}#1]\n"
            files[path] = self._entities[path]
        files["index.md"] = "".join(
            f"- [Person]({path}): people; {len(text.splitlines())} facts\n" for path, text in self._entities.items()
        )
        return files

    def _moment(self) -> datetime:
        return _START + timedelta(hours=7 * self.number)

    def _lines(self, count: int) -> str:
        return "".join(f"**Maya:** {self._sentence()}\n\n" for _ in range(count))

    def _sentence(self) -> str:
        return " ".join(f"{self._random.choice(_WORDS)}{self._random.randrange(100)}" for _ in range(9))
