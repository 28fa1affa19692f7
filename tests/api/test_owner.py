"""The user sees the memory, corrects it and undoes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app import Function, function

ALEX = "/v1/users/alex"
MAYA = "memories/people/maya.md"
MARKDOWN = {"Content-Type": "text/markdown"}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Function]:
    with function(tmp_path) as served:
        messages = [
            {"role": "user", "content": "Maya starts at the clinic on Thursday.\nShe is nervous."},
            {"role": "assistant", "content": "Understandable."},
        ]
        session = {"session_id": "monday", "occurred_at": "2026-03-02T20:00:00+01:00", "messages": messages}
        served.post(f"{ALEX}/sessions", {**session, "mode": "archive"})
        yield served


def _put(app: Function, path: str, text: str, **headers: str) -> int:
    options = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.put(f"{ALEX}/files/{path}", data=text.encode(), headers={**MARKDOWN, **options}).status_code


def test_a_file_is_created_read_and_corrected(app: Function) -> None:
    assert _put(app, MAYA, "# Maya\n\n- Likes tea. ^[monday#1]\n", If_None_Match="*") == 201
    response = app.get(f"{ALEX}/files/{MAYA}")
    assert response.mimetype == "text/markdown"
    assert response.data == b"# Maya\n\n- Likes tea. ^[monday#1]\n"
    assert _put(app, MAYA, "# Maya\n\n- Likes coffee.\n", If_Match=response.headers["ETag"]) == 200
    assert b"coffee" in app.get(f"{ALEX}/files/{MAYA}").data
    assert b"maya.md" in app.get(f"{ALEX}/files/index.md").data, "the manifest follows a person's edit"


def test_an_edit_on_a_stale_file_is_refused(app: Function) -> None:
    _put(app, MAYA, "one\n", If_None_Match="*")
    stale = app.get(f"{ALEX}/files/{MAYA}").headers["ETag"]
    assert _put(app, MAYA, "two\n", If_Match=stale) == 200
    assert _put(app, MAYA, "three\n", If_Match=stale) == 412
    assert _put(app, MAYA, "three\n", If_None_Match="*") == 412
    assert _put(app, "memories/people/nobody.md", "x\n", If_Match=stale) == 412
    assert _put(app, MAYA, "three\n") == 400
    assert app.get(f"{ALEX}/files/{MAYA}").data == b"two\n"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("../outside.md", 422),
        ("%2e%2e/outside.md", 422),
        ("memories//x.md", 422),
        (".git/config.md", 422),
        ("memories/-rf.md", 422),
        ("memories/x%00.md", 422),
        ("memories/people/maya.txt", 422),
        ("index.md", 422),
        ("", 422),
        ("a/" * 40 + "x.md", 422),
    ],
)
def test_a_path_that_a_memory_must_not_hold_is_refused(app: Function, path: str, status: int) -> None:
    assert _put(app, path, "x\n", If_None_Match="*") == status


def test_a_body_that_is_no_text_is_refused(app: Function) -> None:
    headers = {**MARKDOWN, "If-None-Match": "*"}
    assert app.put(f"{ALEX}/files/{MAYA}", data=b"\xff\xfe", headers=headers).status_code == 400
    assert app.put(f"{ALEX}/files/{MAYA}", data=b"a\0b", headers=headers).status_code == 400
    assert app.put(f"{ALEX}/files/{MAYA}", data=b"x" * (2 * 1024 * 1024 + 1), headers=headers).status_code == 413
    assert app.put(f"{ALEX}/files/{MAYA}", json={"a": 1}, headers={"If-None-Match": "*"}).status_code == 415


def test_a_file_is_read_as_it_was(app: Function) -> None:
    _put(app, MAYA, "one\n", If_None_Match="*")
    first = app.get(ALEX).get_json()["head"]
    _put(app, MAYA, "two\n", If_Match="*")
    assert app.get(f"{ALEX}/files/{MAYA}?at={first}").data == b"one\n"
    assert app.get(f"{ALEX}/files/{MAYA}?at=HEAD~1").data == b"one\n"
    assert app.get(f"{ALEX}/files/{MAYA}?at=2099-01-01T00:00:00%2B00:00").data == b"two\n"
    assert app.get(f"{ALEX}/files/{MAYA}?at=2001-01-01T00:00:00%2B00:00").get_json()["type"] == "/problems/unknown-path"
    assert app.get(f"{ALEX}/files/{MAYA}?at=abcdef").get_json()["type"] == "/problems/unknown-commit"
    assert app.get(f"{ALEX}/files/nothing.md").get_json()["type"] == "/problems/unknown-path"


def test_the_manifest_is_rows(app: Function) -> None:
    _put(app, MAYA, "---\nname: Maya\naliases: [my wife]\n---\n- a\n- b\n", If_None_Match="*")
    rows = {row["path"]: row for row in app.get(f"{ALEX}/files").get_json()["files"]}
    assert rows[MAYA]["name"] == "Maya"
    assert rows[MAYA]["aliases"] == ["my wife"]
    assert (rows[MAYA]["facts"], rows[MAYA]["commits"]) == (2, 1)
    assert rows[MAYA]["etag"] == app.get(f"{ALEX}/files/{MAYA}").headers["ETag"]


def test_the_log_says_when_it_happened_and_when_it_was_learned(app: Function) -> None:
    _put(app, MAYA, "one\n", If_None_Match="*")
    log = app.get(f"{ALEX}/log?limit=2").get_json()["commits"]
    assert [commit["writer"] for commit in log] == ["person", "archive"]
    assert log[1]["session_id"] == "monday"
    assert log[1]["occurred_at"] == "2026-03-02T20:00:00+01:00"
    assert log[1]["recorded_at"] > log[1]["occurred_at"]
    only = app.get(f"{ALEX}/log?path={MAYA}").get_json()["commits"]
    assert len(only) == 1
    assert app.get(f"{ALEX}/log?limit=0").status_code == 400
    assert app.get(f"{ALEX}/log?path=../x").status_code == 404
    assert app.get(f"{ALEX}/diff?path=/etc/passwd").status_code == 404
    assert app.get(f"{ALEX}/log?page=2").status_code == 400


def test_a_diff_shows_what_changed(app: Function) -> None:
    _put(app, MAYA, "one\n", If_None_Match="*")
    _put(app, MAYA, "two\n", If_Match="*")
    response = app.get(f"{ALEX}/diff?path={MAYA}")
    assert response.mimetype == "text/x-diff"
    assert b"-one\n+two\n" in response.data
    assert b"+two" in app.get(f"{ALEX}/diff?from=HEAD~2&to=HEAD").data
    assert app.get(f"{ALEX}/diff?from=--output=x").status_code == 404


def test_each_line_knows_its_session_and_its_message(app: Function) -> None:
    _put(app, MAYA, "# Maya\n\n- Nervous. ^[monday#1]\n- By hand.\n", If_None_Match="*")
    lines = app.get(f"{ALEX}/blame/{MAYA}").get_json()["lines"]
    assert [line["text"] for line in lines] == ["# Maya", "", "- Nervous. ^[monday#1]", "- By hand."]
    assert (lines[2]["session_id"], lines[2]["message"]) == ("monday", 1)
    assert (lines[3]["session_id"], lines[3]["message"]) == (None, None)
    archive = app.get(f"{ALEX}/blame/sessions/2026/03/02-monday.md").get_json()["lines"]
    nervous = next(line for line in archive if line["text"] == "She is nervous.")
    assert (nervous["session_id"], nervous["message"]) == ("monday", 1)
    assert nervous["occurred_at"] == "2026-03-02T20:00:00+01:00"


def test_one_commit_is_undone_and_what_came_after_stays(app: Function) -> None:
    _put(app, MAYA, "a\nb\nc\nd\ne\nf\ng\nh\n", If_None_Match="*")
    _put(app, MAYA, "a\nB\nc\nd\ne\nf\ng\nh\n", If_Match="*")
    bad = app.get(ALEX).get_json()["head"]
    _put(app, MAYA, "a\nB\nc\nd\ne\nf\ng\nH\n", If_Match="*")
    answer = app.post(f"{ALEX}/revert", {"commit": bad})
    assert answer.status_code == 200
    assert answer.get_json()["commit"]
    assert app.get(f"{ALEX}/files/{MAYA}").data == b"a\nb\nc\nd\ne\nf\ng\nH\n"
    again = app.post(f"{ALEX}/revert", {"commit": bad}).get_json()
    assert again["commit"] is None, "undone already: nothing to do"


def test_a_conflict_is_explained_with_the_lines(app: Function) -> None:
    _put(app, MAYA, "Likes tea.\n", If_None_Match="*")
    _put(app, MAYA, "Likes coffee.\n", If_Match="*")
    bad = app.get(ALEX).get_json()["head"]
    _put(app, MAYA, "Likes water.\n", If_Match="*")
    answer = app.post(f"{ALEX}/revert", {"commit": bad})
    assert (answer.status_code, answer.get_json()["type"]) == (409, "/problems/conflict")
    assert "Likes water." in answer.get_json()["detail"]
    assert "Likes tea." in answer.get_json()["detail"]
    assert app.post(f"{ALEX}/revert", {"commit": "0" * 40}).status_code == 404


def test_the_contract_is_served_and_its_page_needs_no_other_host(app: Function) -> None:
    document = app.get("/openapi.json").get_json()
    assert document["openapi"].startswith("3.1")
    assert "/v1/users/{user}/context" in document["paths"]
    page = app.get("/docs")
    assert page.mimetype == "text/html"
    assert b"http://" not in page.data.replace(b"http://127.0.0.1", b"")
    assert b"<script" not in page.data
    assert b"/v1/users/{user}/context" in page.data
