"""Gone from the head, the archive, the manifest, the timeline and history: no inflated object of the bucket has it."""

import contextlib
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.app import Function, function

ALEX = "/v1/users/alex"
CANARY = "Kanarienvogel-Zoë-7731"
MARKDOWN = {"Content-Type": "text/markdown"}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Function]:
    with function(tmp_path) as served:
        served.put(ALEX, {})
        yield served


def _remember(app: Function, session_id: str, *contents: str, day: int = 1) -> None:
    messages = [{"role": "user", "name": "Alex", "content": content} for content in contents]
    body = {"session_id": session_id, "occurred_at": f"2026-03-{day:02}T20:00:00+01:00", "messages": messages}
    assert app.post(f"{ALEX}/sessions", {**body, "mode": "archive"}).status_code == 201


def _write(app: Function, path: str, text: str) -> None:
    known = app.get(f"{ALEX}/files/{path}")
    condition = {"If-Match": known.headers["ETag"]} if known.status_code == 200 else {"If-None-Match": "*"}
    response = app.put(f"{ALEX}/files/{path}", data=text.encode(), headers={**MARKDOWN, **condition})
    assert response.status_code in (200, 201)


def _objects(bucket: Path) -> bytes:
    """Everything in the bucket: as it is, and every git object of every pack, inflated."""
    everything = []
    for file in bucket.rglob("*"):
        if not file.is_file():
            continue
        data = file.read_bytes()
        everything.append(data)
        at = 0
        while (at := data.find(b"\x78", at)) >= 0:  # each deflated object begins with a zlib header
            with contextlib.suppress(zlib.error):
                everything.append(zlib.decompressobj().decompress(data[at:]))
            at += 1
    return b"\n".join(everything)


def _is_gone(tmp_path: Path, canary: str) -> bool:
    found = _objects(tmp_path / "bucket")
    spellings = {unicodedata.normalize(form, canary) for form in ("NFC", "NFD")}
    return not any(spelling.lower().encode() in found.lower() for spelling in spellings)


def test_the_search_of_these_tests_finds_what_is_there(app: Function, tmp_path: Path) -> None:
    _remember(app, "one", f"My password is {CANARY}.")
    assert not _is_gone(tmp_path, CANARY)


def test_a_text_is_gone_from_everywhere_and_the_rest_stays(app: Function, tmp_path: Path) -> None:
    _remember(app, "one", f"My password is {CANARY}. And I like tea.", "Second message.")
    _write(
        app,
        "memories/people/maya.md",
        f"---\nname: Maya\ncues: [{CANARY}]\n---\n# Maya\n\n- {CANARY} ^[one#1]\n- Tea.\n",
    )
    _write(app, "memories/people/maya.md", "# Maya\n\n- Tea.\n")
    _write(app, "timeline/2026-03.md", f"## 2026-03-01\n- Said {CANARY.upper()}\n- Drank tea\n")
    _write(app, f"memories/people/{CANARY.lower()}.md", "# x\n\n- y\n")
    receipt = app.post(f"{ALEX}/forget", {"text": CANARY}).get_json()
    assert receipt["commits_rewritten"] >= 4
    assert "memories/people/maya.md" in receipt["files"]
    assert _is_gone(tmp_path, CANARY)
    assert app.get(f"{ALEX}/files/memories/people/maya.md").data == b"# Maya\n\n- Tea.\n"
    assert b"Drank tea" in app.get(f"{ALEX}/files/timeline/2026-03.md").data
    archive = app.get(f"{ALEX}/files/sessions/2026/03/01-one.md").data
    assert b"My password is [forgotten]. And I like tea." in archive
    assert b"Second message." in archive
    assert b"kanarien" not in app.get(f"{ALEX}/files/index.md").data


def test_a_dry_run_says_what_would_go_and_changes_nothing(app: Function, tmp_path: Path) -> None:
    _remember(app, "one", f"My password is {CANARY}.")
    head = app.get(ALEX).get_json()["head"]
    receipt = app.post(f"{ALEX}/forget", {"text": CANARY, "dry_run": True}).get_json()
    assert (receipt["dry_run"], receipt["objects"]) == (True, 0)
    assert receipt["files"] == ["sessions/2026/03/01-one.md"]
    assert app.get(ALEX).get_json()["head"] == head
    assert not _is_gone(tmp_path, CANARY)


def test_a_session_takes_with_it_what_cites_it(app: Function, tmp_path: Path) -> None:
    _remember(app, "secret-talk", f"Ruben told me about {CANARY}.")
    _remember(app, "other", "Nothing of the kind.", day=2)
    _write(app, "memories/people/ruben.md", f"---\nname: Ruben {CANARY}\n---\n\n- Knows {CANARY}. ^[secret-talk#1]\n")
    _write(app, "memories/people/maya.md", "# Maya\n\n- Knows Ruben. ^[secret-talk#1]\n- Tea. ^[other#1]\n")
    receipt = app.post(f"{ALEX}/forget", {"sessions": ["secret-talk"]}).get_json()
    assert _is_gone(tmp_path, CANARY)
    assert _is_gone(tmp_path, "secret-talk")
    assert {"sessions/2026/03/01-secret-talk.md", "memories/people/ruben.md"} <= set(receipt["files"])
    assert app.get(f"{ALEX}/files/memories/people/ruben.md").status_code == 404
    assert app.get(f"{ALEX}/files/memories/people/maya.md").data == b"# Maya\n\n- Tea. ^[other#1]\n"
    assert app.get(f"{ALEX}/files/sessions/2026/03/02-other.md").status_code == 200


def test_a_file_or_folder_that_a_person_named_goes_with_its_name(app: Function, tmp_path: Path) -> None:
    name = "Zoë O'Neil"
    for path in (f"memories/people/{name}.md", f"memories/{name}/notes.md", f"memories/people/With {name}, 2024.md"):
        _write(app, path, "---\nname: Friend\n---\n\n- Rows. \n")
    _write(app, "memories/people/maya.md", "# Maya\n\n- Tea.\n")
    receipt = app.post(f"{ALEX}/forget", {"text": name}).get_json()
    assert len(receipt["files"]) == 4  # and the manifest
    assert _is_gone(tmp_path, name)
    rows = app.get(f"{ALEX}/files").get_json()["files"]
    assert [row["path"] for row in rows] == ["index.md", "memories/people/maya.md"]


@pytest.mark.parametrize(
    "name",
    ["'Zoë O''Neil'", '"Zo\\u00eb O\'Neil"', '"Zo\\xeb O\'Neil"', '"Zoe\\u0308 O\'Neil"', "Zoë\n  O'Neil"],
)
def test_a_text_in_front_matter_is_gone_however_it_is_written_there(app: Function, tmp_path: Path, name: str) -> None:
    _write(app, "memories/people/friend.md", f"---\nname: Friend\ncues: [{name}]\n---\n\n- Rows.\n")
    app.post(f"{ALEX}/forget", {"text": "Zoë O'Neil"})
    everything = _objects(tmp_path / "bucket")
    assert name.encode() not in everything
    assert _is_gone(tmp_path, "Zoë O'Neil")


def test_commit_messages_do_not_keep_a_name_as_the_name_of_a_file_or_session(app: Function, tmp_path: Path) -> None:
    message = {"role": "user", "content": "Hello"}
    app.post(f"{ALEX}/messages", {"conversation": "Zoë O'Neil", "messages": [message]})
    _write(app, "memories/people/zoë-o-neil.md", "# Friend\n\n- Rows.\n")
    _write(app, "memories/people/ruben.md", "# Friend\n\n- Rows.\n")
    app.post(f"{ALEX}/forget", {"text": "Zoë O'Neil", "files": ["memories/people/ruben.md"]})
    assert _is_gone(tmp_path, "zoë-o-neil")
    assert _is_gone(tmp_path, "ruben")


def test_what_merely_mentions_a_forgotten_file_is_listed(app: Function, tmp_path: Path) -> None:
    _write(app, "memories/people/ruben.md", f"---\nname: Ruben\n---\n\n- {CANARY}\n")
    _write(
        app, "memories/people/maya.md", "# Maya\n\n- Rows with Ruben.\n- See [[memories/people/ruben|him]].\n- Tea.\n"
    )
    receipt = app.post(f"{ALEX}/forget", {"files": ["memories/people/ruben.md"]}).get_json()
    assert _is_gone(tmp_path, CANARY)
    assert [(mention["path"], mention["line"], mention["what"]) for mention in receipt["mentions"]] == [
        ("memories/people/maya.md", 3, "name"),
        ("memories/people/maya.md", 4, "link"),
    ]
    assert app.get(f"{ALEX}/files/memories/people/maya.md").data.startswith(b"# Maya\n\n- Rows with Ruben.")
    assert b"ruben" not in app.get(f"{ALEX}/files/index.md").data.lower()


def test_a_warm_cache_elsewhere_is_wiped_at_its_next_read(app: Function, tmp_path: Path) -> None:
    _remember(app, "one", f"My password is {CANARY}.")
    with function(tmp_path, {"DIFFMEM_CACHE": str(tmp_path / "elsewhere")}) as other:
        assert CANARY in other.post(f"{ALEX}/context", {"query": "password"}).get_json()["context"]
        app.post(f"{ALEX}/forget", {"text": CANARY})
        assert CANARY not in other.post(f"{ALEX}/context", {"query": "password"}).get_json()["context"]
    for folder in ("elsewhere", "cache"):
        assert CANARY.encode() not in _objects(tmp_path / folder)


def test_what_was_forgotten_does_not_come_back_with_the_same_session(app: Function, tmp_path: Path) -> None:
    _remember(app, "one", f"My password is {CANARY}.")
    app.post(f"{ALEX}/forget", {"text": CANARY})
    messages = [{"role": "user", "name": "Alex", "content": f"My password is {CANARY}."}]
    body = {"session_id": "one", "occurred_at": "2026-03-01T20:00:00+01:00", "messages": messages, "mode": "archive"}
    assert app.post(f"{ALEX}/sessions", body).get_json()["status"] == "duplicate"
    assert _is_gone(tmp_path, CANARY)


@pytest.mark.parametrize("body", [{}, {"text": "ab"}, {"text": []}, {"text": "x" * 2001}, {"everything": True}])
def test_what_cannot_be_meant_is_refused(app: Function, body: dict[str, Any]) -> None:
    assert app.post(f"{ALEX}/forget", body).status_code == 400


def test_forgetting_what_is_not_there_changes_nothing(app: Function) -> None:
    _remember(app, "one", "Tea.")
    head = app.get(ALEX).get_json()["head"]
    receipt = app.post(f"{ALEX}/forget", {"text": "nowhere to be found"}).get_json()
    assert (receipt["commits_rewritten"], receipt["files"], receipt["objects"]) == (0, [], 0)
    assert app.get(ALEX).get_json()["head"] == head


def test_the_rewritten_history_keeps_its_commits_and_their_times(app: Function) -> None:
    for day in range(1, 6):
        _remember(app, f"s{day}", f"Day {day} {CANARY if day == 2 else ''}", day=day)
    app.post(f"{ALEX}/forget", {"text": CANARY})
    log = app.get(f"{ALEX}/log").get_json()["commits"]
    assert [commit["session_id"] for commit in log if commit["session_id"]] == ["s5", "s4", "s3", "s2", "s1"]
    assert all(commit["occurred_at"].startswith("2026-03-0") for commit in log if commit["session_id"])
