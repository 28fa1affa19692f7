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
            done = b'{"status": "committed", "pending": false}'
            self.answer(201, done, Content_Type="application/json", X_Request_Id="1")

    def do_GET(self) -> None:
        if self.path.startswith("/proxy"):
            self.answer(200, b"<html>Log in", Content_Type="text/html")
        elif self.path.startswith("/api"):
            self.answer(200, b"{}", Content_Type="application/json")
        elif self.path.startswith("/short"):
            self.answer(
                200, b"# v2 gi", Content_Type="application/x-git-bundle", X_Request_Id="1", Content_Length="100"
            )
            self.close_connection = True
        elif self.path.endswith("/export"):
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-bundle")
            self.send_header("X-Request-Id", "1")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"7\r\n# v2 gi\r\n")
            self.close_connection = True
        elif self.path.endswith("/log?limit=20"):
            self.answer(302, b"", Location="http://127.0.0.1:9/elsewhere")
        else:
            self.answer(200, b"<html>", Content_Type="application/json", X_Request_Id="1")

    do_PUT = do_GET


class Other(Handler):
    """Another service, which numbers its requests too."""

    def do_GET(self) -> None:
        self.body()
        said = b"[]" if self.path.startswith("/list") else b'{"ok": true, "status": "fine"}'
        self.answer(200, said, Content_Type="application/json", X_Request_Id="1")

    do_POST = do_PUT = do_GET


class Away(Handler):
    """Never gets at its bucket."""

    def do_POST(self) -> None:
        self.body()
        self.server.owner.asked.append({})  # type: ignore[attr-defined]
        detail = json.dumps({"type": "/problems/storage-unavailable", "detail": "the bucket is away"})
        self.answer(503, detail.encode(), Content_Type="application/problem+json", Retry_After="5")


class Waiting(Serving):
    """The server, and what it was asked."""

    def __init__(self, handler: type[Handler] = Busy) -> None:
        self.asked: list[dict[str, str]] = []
        super().__init__(handler)


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


@pytest.mark.parametrize("prefix", ["", "/short"])
def test_an_answer_that_breaks_off_leaves_no_file(home: Path, diffmem: Command, busy: Waiting, prefix: str) -> None:
    ended = diffmem("export", "me.bundle", "--url", busy.url + prefix)
    assert (ended.code, ended.err) == (1, "diffmem: the server's answer broke off\n")
    assert list(home.iterdir()) == []
    assert "no JSON" in diffmem("log", "--limit", "3", "--url", busy.url).err


@pytest.mark.parametrize("prefix", ["/proxy", "/api"])
@pytest.mark.parametrize("line", ["log", "blame profile.md", "diff", "export me.bundle", "import bundle", "doctor"])
def test_what_no_diffmem_answers_is_taken_for_nothing(
    home: Path, diffmem: Command, busy: Waiting, prefix: str, line: str
) -> None:
    (home / "bundle").write_bytes(b"# v2 git bundle\n")
    ended = diffmem(*line.split(), "--url", busy.url + prefix)
    assert ended.code == 1
    assert "is no DiffMem: it answered" in ended.err + ended.out
    assert [path.name for path in home.iterdir()] == ["bundle"]


@pytest.mark.parametrize("prefix", ["", "/list"])
@pytest.mark.parametrize(
    "line",
    [
        "ask Maya",
        "run ls",
        "log",
        "blame profile.md",
        "diff",
        "export me.bundle",
        "import notes.md",
        "remember notes.md",
        "forget --text x --yes",
        "doctor",
    ],
)
def test_json_of_another_service_is_told_in_one_line(home: Path, diffmem: Command, prefix: str, line: str) -> None:
    (home / "notes.md").write_text("Maya starts at the clinic on Thursday.\n")
    with Waiting(Other) as server:
        ended = diffmem(*line.split(), "--url", server.url + prefix)
    assert ended.code == 1
    assert "is no DiffMem: it answered" in ended.err + ended.out
    assert [path.name for path in home.iterdir()] == ["notes.md"]


@pytest.mark.parametrize("key", [b"\xff\xfe", b"one\ntwo", "ключ-ключ-ключ-ключ".encode()])
def test_a_key_that_can_be_none_is_told(home: Path, diffmem: Command, busy: Waiting, key: bytes) -> None:
    (home / "key").write_bytes(key)
    ended = diffmem("log", "--url", busy.url, "--key-file", "key")
    assert (ended.code, ended.err.startswith("diffmem: the key")) == (1, True)


def test_an_outage_is_waited_for_once(home: Path, diffmem: Command) -> None:
    (home / "talks.json").write_text(json.dumps(_bodies(4)))
    waited: list[float] = []
    with Waiting(Away) as server:
        place = Place("me", server.url, None, None, {"DIFFMEM_KEY": KEY})
        assert remember(_options(home / "talks.json"), place, sleep=waited.append) == 1
    assert waited == [5.0] * 6
    assert len(server.asked) == 7 + 3


def test_who_waits_says_why(home: Path, busy: Waiting, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "talks.json").write_text(json.dumps(_bodies(1)))
    options = _options(home / "talks.json")
    options.quiet = False
    remember(options, Place("me", busy.url, None, None, {"DIFFMEM_KEY": KEY}), sleep=lambda _: None)
    assert "waiting 7 s: too many" in capsys.readouterr().err


def test_a_key_that_goes_out_without_tls_is_told(diffmem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFMEM_KEY", KEY)
    ended = diffmem("log", "--url", "http://memory.invalid")
    assert ended.code == 1
    assert "the key travels to memory.invalid" in ended.err
    assert KEY not in ended.err


@pytest.mark.parametrize("url", ["ftp://example.org", "example.org", "http://", "file:///etc/passwd", "http://[::1"])
def test_an_address_that_is_no_server_is_told(diffmem: Command, url: str) -> None:
    ended = diffmem("log", "--url", url)
    assert (ended.code, ended.err.startswith("diffmem: --url must be")) == (2, True)


def test_a_password_in_an_address_is_refused_and_not_repeated(diffmem: Command) -> None:
    ended = diffmem("log", "--url", "https://me:hunter2@example.invalid")
    assert (ended.code, "hunter2" in ended.err, "DIFFMEM_KEY" in ended.err) == (2, False, True)


@pytest.mark.parametrize("option", ["--user", "--url", "--store"])
def test_an_empty_option_is_not_the_default(diffmem: Command, option: str) -> None:
    """`--url "$SERVER"` with nothing in it would else write into the store here."""
    ended = diffmem("log", option, "")
    assert (ended.code, f"{option}: it is empty" in ended.err) == (2, True)


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
