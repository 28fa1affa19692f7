"""People with a memory each, and a canary in it that nobody else may ever see."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from werkzeug.test import TestResponse

from tests.support.app import Function
from tests.support.inflate import streams


@dataclass(frozen=True)
class Person:
    """One user of the function, and the word that only their memory holds."""

    app: Function
    user: str
    canary: str

    @property
    def path(self) -> str:
        """The address of their memory."""
        return f"/v1/users/{quote(self.user, safe='')}"

    def remember(self) -> None:
        """Say the canary in a session, and write it into a file."""
        session = {
            "session_id": f"{self.canary}-talk",
            "occurred_at": "2026-03-02T20:00:00+01:00",
            "messages": [{"role": "user", "content": f"The word is {self.canary}."}],
            "mode": "archive",
        }
        assert self.app.post(f"{self.path}/sessions", session).status_code == 201
        headers = {"Content-Type": "text/markdown", "If-None-Match": "*"}
        address = f"{self.path}/files/memories/people/{self.canary}.md"
        assert self.app.put(address, data=f"- {self.canary}\n".encode(), headers=headers).status_code == 201

    def commits(self) -> list[str]:
        """The shas of their history, newest first."""
        return [commit["sha"] for commit in self.app.get(f"{self.path}/log").get_json()["commits"]]

    def everything(self, *words: str) -> Iterator[TestResponse]:
        """Every way of reading this person's memory, asked for these words in a form that is not told again."""
        yield self.app.get(self.path)
        for tail in ("files", "log", "diff", "export", "files/index.md", "files/profile.md", "blame/index.md"):
            yield self.app.get(f"{self.path}/{tail}")
        for word in words:
            yield self.app.post(f"{self.path}/context", {"query": word})
            pattern = f"{word[:2]}.{word[3:]}"
            yield self.run(f"grep -rn {pattern} . ; git log --all --grep={pattern}; git grep {pattern}; ls -R")

    def run(self, command: str) -> TestResponse:
        """What the tool prints."""
        return self.app.post(f"{self.path}/run", {"command": command})


def said(response: TestResponse) -> bytes:
    """All that a response says: headers, and the body, inflated where it is a bundle."""
    body: bytes = response.data
    headers = json.dumps(list(response.headers), default=str).encode()
    return headers + body + (streams(body) if response.mimetype == "application/x-git-bundle" else b"")


def uids(bucket: Path) -> set[str]:
    """What stands for the users in the bucket."""
    found: set[str] = set()
    for path in bucket.rglob("*"):
        parts = path.relative_to(bucket).parts
        if path.is_file() and "v1" in parts:
            found.add(parts[parts.index("v1") + 1])
    return found
