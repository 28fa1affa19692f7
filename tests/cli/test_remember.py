"""remember: resumable, patient, and honest about what it skipped; on a store and on a server."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diffmem.cli.access import Place
from diffmem.cli.remembering import remember
from diffmem.demo.server import serving
from tests.cli.conftest import Command
from tests.support.serving import Handler, Serving

KEY = "0123456789abcdef"


def _bodies(count: int) -> list[dict[str, Any]]:
    return [{"session_id": f"s{number}", "transcript": f"Talk number {number}."} for number in range(count)]


def test_what_is_remembered_is_not_remembered_twice(home: Path, diffmem: Command) -> None:
    (home / "talks.json").write_text(json.dumps(_bodies(3)))
    first = json.loads(diffmem("remember", "talks.json", "--json", "-q").out)
    assert (first["committed"], first["duplicate"], first["pending"]) == (3, 0, 3)
    (home / "talks.json").write_text(json.dumps(_bodies(4)))
    second = json.loads(diffmem("remember", "talks.json", "--json", "-q").out)
    assert (second["committed"], second["duplicate"]) == (1, 3)
    assert len(diffmem("log").out.splitlines()) == 5


def test_a_file_that_has_grown_replaces_what_was_remembered_of_it(home: Path, diffmem: Command) -> None:
    (home / "journal.md").write_text("Monday: tea.\n")
    diffmem("remember", "journal.md")
    (home / "journal.md").write_text("Monday: tea.\nTuesday: coffee.\n")
    ended = diffmem("remember", "journal.md")
    assert "1 replaced by what the file says now" in ended.err
    assert "coffee" in diffmem("ask", "coffee").out
    sessions = diffmem("run", "ls sessions/*/*").out
    assert sessions.count("journal") == 1


def test_what_fails_and_what_is_skipped_is_told_and_the_rest_goes_on(home: Path, diffmem: Command) -> None:
    bodies = [*_bodies(2), {"session_id": "bad", "transcript": "x", "colour": "red"}, {"nothing": True}]
    (home / "talks.json").write_text(json.dumps(bodies))
    ended = diffmem("remember", "talks.json", "--json")
    tally = json.loads(ended.out)
    assert ended.code == 1
    assert tally["committed"] == 2
    assert tally["failed"][0]["item"] == "talks.json#3"
    assert "colour" in tally["failed"][0]["reason"]
    assert tally["skipped"] == [{"item": "talks.json#4", "reason": "no 'messages' and no 'transcript'"}]
    assert "skipped talks.json#4" in ended.err


def test_a_mode_and_a_zone_hold_for_what_names_none(home: Path, diffmem: Command) -> None:
    (home / "talk.json").write_text(json.dumps({"session_id": "one", "transcript": "x"}))
    assert diffmem("remember", "talk.json", "--mode", "archive", "--timezone", "Europe/Berlin").code == 0
    head = diffmem("run", "cat sessions/*/*/*-one.md").out
    assert "timezone: Europe/Berlin" in head
    assert "state: archived" in head


class Busy(Handler):
    """Says twice to wait, then takes every session; or refuses every key."""

    def do_POST(self) -> None:
        asked: list[dict[str, str]] = self.server.owner.asked  # type: ignore[attr-defined]
        self.body()
        asked.append(dict(self.headers.items()))
        if self.headers["Authorization"] != f"Bearer {KEY}":
            detail = json.dumps({"type": "/problems/unauthenticated", "detail": "send a key"})
            self.answer(401, detail.encode(), Content_Type="application/problem+json")
        elif len(asked) < 3:
            detail = json.dumps({"type": "/problems/rate-limited", "detail": "too many"})
            self.answer(429, detail.encode(), Content_Type="application/problem+json", Retry_After="7")
        else:
            self.answer(201, b'{"status": "committed", "pending": false}', Content_Type="application/json")

    def do_GET(self) -> None:
        if self.path.endswith("/export"):
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-bundle")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"7\r\n# v2 gi\r\n")
            self.close_connection = True
        elif self.path.endswith("/log?limit=20"):
            self.answer(302, b"", Location="http://127.0.0.1:9/elsewhere")
        else:
            self.answer(200, b"<html>", Content_Type="application/json")


class Waiting(Serving):
    """The server, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        super().__init__(Busy)


@pytest.fixture
def busy() -> Iterator[Waiting]:
    with Waiting() as server:
        yield server


def _options(path: Path) -> argparse.Namespace:
    return argparse.Namespace(files=[path], mode="distill", timezone=None, time_budget_s=60.0, json=False, quiet=True)


def test_where_it_is_told_to_wait_it_waits(home: Path, busy: Waiting) -> None:
    (home / "talks.json").write_text(json.dumps(_bodies(2)))
    waited: list[float] = []
    place = Place("me", busy.url, None, None, {"DIFFMEM_KEY": KEY})
    assert remember(_options(home / "talks.json"), place, sleep=waited.append) == 0
    assert waited == [7.0, 7.0]
    assert len(busy.asked) == 4


def test_a_wrong_key_ends_it_at_once(home: Path, diffmem: Command, busy: Waiting) -> None:
    (home / "talks.json").write_text(json.dumps(_bodies(5)))
    (home / "key").write_text("not the key\n")
    ended = diffmem("remember", "talks.json", "--url", busy.url, "--key-file", "key", "-q")
    assert (ended.code, ended.err) == (1, "diffmem: send a key\n")
    assert len(busy.asked) == 1
    assert diffmem("log", "--url", busy.url, "--key-file", "nothing").err.startswith(
        "diffmem: the key's file 'nothing'"
    )


def test_a_redirection_is_not_followed_with_the_key(
    home: Path, diffmem: Command, busy: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFMEM_KEY", KEY)
    assert diffmem("log", "--url", busy.url).err == "diffmem: the server answered 302 Found\n"


def test_an_answer_that_breaks_off_leaves_no_file(home: Path, diffmem: Command, busy: Waiting) -> None:
    ended = diffmem("export", "me.bundle", "--url", busy.url)
    assert (ended.code, ended.err) == (1, "diffmem: the server's answer broke off\n")
    assert list(home.iterdir()) == []
    assert "no JSON" in diffmem("log", "--limit", "3", "--url", busy.url).err


def test_a_key_that_goes_out_without_tls_is_told(diffmem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFMEM_KEY", KEY)
    ended = diffmem("log", "--url", "http://memory.invalid")
    assert ended.code == 1
    assert "the key travels to memory.invalid" in ended.err
    assert KEY not in ended.err


@pytest.mark.parametrize("url", ["ftp://example.org", "example.org", "http://", "file:///etc/passwd"])
def test_an_address_that_is_no_server_is_told(diffmem: Command, url: str) -> None:
    ended = diffmem("log", "--url", url)
    assert (ended.code, ended.err.startswith("diffmem: --url must be")) == (2, True)


def test_a_server_does_the_same_as_a_store(home: Path, diffmem: Command, tmp_path: Path) -> None:
    environment = {
        "DIFFMEM_STORE": f"file:{tmp_path / 'served'}",
        "DIFFMEM_CACHE": str(tmp_path / "served-cache"),
        "DIFFMEM_SANDBOX": "prefer",
        "DIFFMEM_AUTH": "key",
        "DIFFMEM_API_KEYS": f"me:{KEY}:me,all:{KEY}x:*:read",
    }
    (home / "notes.md").write_text("Maya starts at the clinic on Thursday.\n")
    (home / "key").write_text(KEY)
    with serving(environment, tmp_path / "log") as client:
        server = ("--url", client.base_url, "--key-file", "key")
        assert diffmem("doctor", *server).code == 0
        assert "1 remembered" in diffmem("remember", "notes.md", *server).err
        assert "clinic" in diffmem("ask", "Maya", *server).out
        assert "clinic" in diffmem("run", "grep -rh clinic sessions", *server).out
        assert "notes-md-" in diffmem("log", *server).out
        assert "+Maya" in diffmem("diff", *server).out
        assert diffmem("export", "me.bundle", *server).code == 0
        assert diffmem("import", "me.bundle").out.startswith("imported: 2 commits"), "from a server into a store"
        assert diffmem("import", "me.bundle", *server).out.startswith("the memory has this history")
        assert "receipt: sha256" in diffmem("forget", "--text", "clinic", "--yes", *server).out
        assert diffmem("log", "-u", "you", *server).err == "diffmem: key 'me' may not read user 'you'\n"
        denied = diffmem("doctor", "-u", "you", *server)
        assert (denied.code, "WRONG  access" in denied.out) == (1, True)
