"""A memory is exported, cloned, and imported: by its owner, by somebody else's git, and from an earlier DiffMem."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app import Function, function
from tests.support.bundles import Repository, unpacked

ALEX = "/v1/users/alex"
BEA = "/v1/users/bea"
MARKDOWN = {"Content-Type": "text/markdown", "If-None-Match": "*"}
BUNDLE = {"Content-Type": "application/x-git-bundle"}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Function]:
    with function(tmp_path) as served:
        yield served


@pytest.fixture
def stranger(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "stranger")


def _remember(app: Function, user: str = ALEX) -> None:
    for number in range(3):
        messages = [{"role": "user", "content": f"Maya likes tea number {number}."}]
        body = {"session_id": f"talk-{number}", "occurred_at": f"2026-03-0{number + 1}T20:00:00+01:00"}
        assert app.post(f"{user}/sessions", {**body, "messages": messages, "mode": "archive"}).status_code == 201
    entity = b"---\nname: Maya\n---\n\n- Likes tea. ^[talk-1#1]\n"
    assert app.put(f"{user}/files/memories/people/maya.md", data=entity, headers=MARKDOWN).status_code == 201


def _import(app: Function, user: str, data: bytes, query: str = "") -> tuple[int, dict[str, object]]:
    response = app.put(f"{user}/import{query}", data=data, headers=BUNDLE)
    return response.status_code, response.get_json()


def _log(app: Function, user: str) -> list[str]:
    return [commit["sha"] for commit in app.get(f"{user}/log").get_json()["commits"]]


def test_an_export_is_what_git_clone_takes(app: Function, tmp_path: Path) -> None:
    _remember(app)
    response = app.get(f"{ALEX}/export")
    assert (response.status_code, response.mimetype) == (200, "application/x-git-bundle")
    assert response.headers["Content-Disposition"] == 'attachment; filename="alex.bundle"'
    clone = unpacked(response.data, tmp_path / "work")
    verified = subprocess.run(
        ["git", "bundle", "verify", "../memory.bundle"], cwd=clone, capture_output=True, text=True
    )
    assert verified.returncode == 0
    assert "records a complete history" in verified.stdout + verified.stderr
    branch = subprocess.run(["git", "branch", "--show-current"], cwd=clone, capture_output=True, text=True).stdout
    assert branch == "main\n"
    assert (clone / "memories/people/maya.md").read_bytes() == app.get(f"{ALEX}/files/memories/people/maya.md").data
    log = subprocess.run(["git", "log", "--format=%H"], cwd=clone, capture_output=True, text=True).stdout.split()
    assert log == _log(app, ALEX)
    assert subprocess.run(["git", "fsck", "--strict"], cwd=clone, capture_output=True).returncode == 0


def test_a_file_name_in_the_answer_is_safe_whatever_the_user_is_called(app: Function) -> None:
    user = "/v1/users/a+b=c@d:e..f"
    app.put(user, {})
    response = app.get(f"{user}/export")
    assert response.headers["Content-Disposition"] == 'attachment; filename="a_b_c_d_e..f.bundle"'


def test_an_export_of_the_past_ends_there(app: Function, tmp_path: Path) -> None:
    _remember(app)
    commits = app.get(f"{ALEX}/log").get_json()["commits"]
    before = commits[1]["recorded_at"].replace("+", "%2B")
    response = app.get(f"{ALEX}/export?as_of={before}")
    assert response.headers["X-Commit"] == next(
        c["sha"] for c in commits if c["recorded_at"] <= commits[1]["recorded_at"]
    )


def test_an_export_is_imported_as_it_was(app: Function) -> None:
    _remember(app)
    data = app.get(f"{ALEX}/export").data
    status, answer = _import(app, BEA, data)
    assert (status, answer["status"], answer["branch"], answer["commit"]) == (201, "imported", "main", None)
    assert _log(app, BEA) == _log(app, ALEX)
    assert app.get(f"{BEA}/export").data == data
    lines = app.get(f"{BEA}/blame/memories/people/maya.md").get_json()["lines"]
    assert lines[-1]["session_id"] == "talk-1"
    assert app.post(f"{BEA}/context", {"query": "Maya tea"}).get_json()["blocks"]


def test_what_was_imported_can_be_written_to(app: Function) -> None:
    _remember(app)
    _import(app, BEA, app.get(f"{ALEX}/export").data)
    body = {"session_id": "later", "messages": [{"role": "user", "content": "And coffee."}], "mode": "archive"}
    assert app.post(f"{BEA}/sessions", body).status_code == 201
    assert len(_log(app, BEA)) == len(_log(app, ALEX)) + 1


def test_the_same_bundle_again_changes_nothing(app: Function) -> None:
    _remember(app)
    data = app.get(f"{ALEX}/export").data
    _import(app, BEA, data)
    status, answer = _import(app, BEA, data)
    assert (status, answer["status"]) == (200, "duplicate")
    assert _import(app, ALEX, data)[1]["status"] == "duplicate"


def test_a_memory_with_something_in_it_is_replaced_only_where_that_is_asked_for(app: Function, tmp_path: Path) -> None:
    _remember(app)
    _import(app, BEA, app.get(f"{ALEX}/export").data)
    other = Repository(tmp_path / "other")
    data = other.bundle({"main": other.files({"notes.md": b"# Notes\n"})})
    before = _log(app, BEA)
    status, problem = _import(app, BEA, data)
    assert (status, problem["type"]) == (409, "/problems/conflict")
    assert "replace=true" in str(problem["detail"])
    assert _log(app, BEA) == before
    status, answer = _import(app, BEA, data, "?replace=true")
    assert (status, answer["status"]) == (200, "replaced")
    assert [row["path"] for row in app.get(f"{BEA}/files").get_json()["files"]] == ["notes.md"]
    assert _log(app, ALEX) == before, "another user's memory with the same commits is another memory"


def test_a_user_who_was_just_created_has_nothing_to_lose(app: Function, stranger: Repository) -> None:
    app.put(BEA, {})
    status, answer = _import(app, BEA, stranger.bundle({"main": stranger.files({"notes.md": b"x\n"})}))
    assert (status, answer["status"]) == (200, "imported")
    app.put(ALEX, {"profile": "Alex, a nurse."})
    assert _import(app, ALEX, stranger.bundle({"main": stranger.files({"notes.md": b"y\n"})}))[0] == 409


def test_a_warm_cache_elsewhere_sees_what_was_imported(app: Function, tmp_path: Path, stranger: Repository) -> None:
    _remember(app)
    with function(tmp_path, {"DIFFMEM_CACHE": str(tmp_path / "elsewhere")}) as other:
        other.get(ALEX)
        _import(app, ALEX, stranger.bundle({"main": stranger.files({"notes.md": b"x\n"})}), "?replace=true")
        assert [row["path"] for row in other.get(f"{ALEX}/files").get_json()["files"]] == ["notes.md"]
        assert other.get(f"{ALEX}/files/memories/people/maya.md").status_code == 404


def test_an_earlier_diffmem_is_recognised_and_says_what_became_of_its_files(
    app: Function, stranger: Repository
) -> None:
    main = stranger.files({"README.md": b"Storage of all users.\n"})
    first = stranger.files({"maya.md": b"# Maya\n", "index.md": b"# Memory index\n\n- maya\n"}, when=1_740_000_000)
    files = {
        "maya.md": b"# Maya\n\nA nurse.\n",
        "index.md": b"# Memory index\n",
        "repo_guide.md": b"# Guide\n",
        "memories/people/ruben.md": b"# Ruben\n\n- Rows.\n",
        "entities/projects/atlas.md": b"# Atlas\n",
        "timeline/2025-02.md": b"## 2025-02-19\n- Met Ruben\n",
    }
    second = stranger.files(files, first, when=1_750_000_000, message="Session 12 | Ruben\n")
    data = stranger.bundle({"main": main, "user/maya": second, "user/other": main})
    status, answer = _import(app, "/v1/users/maya", data)
    assert (status, answer["branch"], answer["commits"]) == (201, "user/maya", 3)
    assert answer["mapped"] == [
        {"source": "entities/projects/atlas.md", "target": "memories/projects/atlas.md"},
        {"source": "maya.md", "target": "profile.md"},
    ]
    maya = "/v1/users/maya"
    assert app.get(f"{maya}/files/profile.md").data == files["maya.md"]
    assert app.get(f"{maya}/files/maya.md").status_code == 404
    index = app.get(f"{maya}/files/index.md").data.decode()
    assert "[Ruben](memories/people/ruben.md)" in index
    assert "changed 2025-06-15" in index
    assert "[Atlas](memories/projects/atlas.md)" in index
    log = app.get(f"{maya}/log").get_json()["commits"]
    assert [commit["sha"] for commit in log[1:]] == [second, first], "history is kept as it was written"
    assert log[0]["writer"] == "code"
    assert app.get(f"{maya}/files/maya.md?at={second}").data == files["maya.md"]


def test_a_branch_can_be_chosen(app: Function, stranger: Repository) -> None:
    commits = {name: stranger.files({f"{name}.md": b"x\n"}) for name in ("main", "other", "third")}
    data = stranger.bundle(commits)
    assert _import(app, "/v1/users/one", data)[1]["branch"] == "main"
    assert _import(app, "/v1/users/two", data, "?branch=other")[1]["branch"] == "other"
    assert _import(app, "/v1/users/three", data, "?branch=refs/heads/third")[1]["branch"] == "third"
    status, problem = _import(app, "/v1/users/four", data, "?branch=fourth")
    assert (status, problem["type"]) == (400, "/problems/invalid-request")
    assert "'third'" in str(problem["detail"])
    assert app.get("/v1/users/four").status_code == 404


def test_without_a_head_the_branch_must_be_clear(app: Function, stranger: Repository) -> None:
    commits = {name: stranger.files({f"{name}.md": b"x\n"}) for name in ("one", "two")}
    status, problem = _import(app, BEA, stranger.bundle(commits, head=None))
    assert (status, problem["type"]) == (422, "/problems/not-a-bundle")
    assert "'one', 'two'" in str(problem["detail"])
    only = stranger.bundle({"user/zoe": stranger.files({"zoe.md": b"# Zoe\n"})}, head=None)
    assert _import(app, BEA, only)[1]["mapped"] == [{"source": "zoe.md", "target": "profile.md"}]


def test_a_body_of_another_type_is_refused(app: Function) -> None:
    assert app.put(f"{BEA}/import", {"a": 1}).status_code == 415
    for media_type in ("application/octet-stream", "application/x-www-form-urlencoded", ""):
        response = app.put(f"{BEA}/import", data=b"nothing", headers={"Content-Type": media_type})
        assert (response.status_code, response.get_json()["type"]) == (422, "/problems/not-a-bundle")


def test_a_bundle_that_is_too_large_is_refused_by_its_length(app: Function) -> None:
    claimed = {"CONTENT_LENGTH": str(256 * 1024 * 1024 + 1)}
    response = app.put(f"{BEA}/import", data=b"# v2 git bundle\n", headers=BUNDLE, environ_overrides=claimed)
    assert (response.status_code, response.get_json()["type"]) == (413, "/problems/too-large")


def test_a_hostile_bundle_is_answered_with_the_path(app: Function, stranger: Repository) -> None:
    link = stranger.tree(("120000", "link.md", stranger.write("blob", b"/etc/passwd")))
    status, problem = _import(app, BEA, stranger.bundle({"main": stranger.commit(link)}))
    assert (status, problem["type"]) == (422, "/problems/unsafe-path")
    assert problem["detail"] == "'link.md' is a symbolic link"
    assert app.get(BEA).status_code == 404


def test_only_the_head_of_an_export_is_sent_where_only_that_is_asked_for(app: Function) -> None:
    _remember(app)
    response = app.call("HEAD", f"{ALEX}/export")
    assert (response.status_code, response.mimetype, response.data) == (200, "application/x-git-bundle", b"")
    response.close()


def test_an_unknown_user_has_nothing_to_export(app: Function) -> None:
    assert app.get(f"{BEA}/export").status_code == 404
    assert app.get(f"{BEA}/export?format=zip").status_code == 400
