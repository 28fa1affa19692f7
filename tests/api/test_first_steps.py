"""The contract, through functions-framework's own application, without a model."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem import tokens
from tests.support.app import Function, function

ALEX = "/v1/users/alex"
SESSION = {
    "session_id": "monday",
    "occurred_at": "2026-03-02T20:00:00+01:00",
    "messages": [
        {"role": "user", "content": "Maya starts at the clinic on Thursday."},
        {"role": "assistant", "content": "How does she feel about it?"},
    ],
}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Function]:
    with function(tmp_path) as served:
        yield served


def test_health_says_what_serves(app: Function) -> None:
    body = app.get("/health").json
    assert body is not None
    assert (body["status"], body["store"], body["model"]) == ("ok", "file", None)
    assert isinstance(body["sandbox"]["landlock"], bool)


def test_a_user_is_created_once_and_then_found(app: Function) -> None:
    assert (
        app.put(ALEX, {"profile": "# Alex\n\nBuilds bicycle lamps.\n", "timezone": "Europe/Berlin"}).status_code == 201
    )
    response = app.put(ALEX, {"profile": "# Alex\n\nBuilds bicycle lamps.\n", "timezone": "Europe/Berlin"})
    assert response.status_code == 200
    body = app.get(ALEX).json
    assert body is not None
    assert (body["user"], body["sessions"], body["last_session_at"]) == ("alex", 0, None)
    assert re.fullmatch(r"[0-9a-f]{40}", body["head"])
    assert body["tokens"] > 0
    assert body["storage"]["bytes"] > 0
    assert response.json is not None
    assert response.json["commits"] == body["commits"], "a repeated PUT made a commit"


def test_a_repeated_put_never_undoes_a_profile(app: Function) -> None:
    app.put(ALEX, {"profile": "first"})
    app.put(ALEX, {"profile": "second"})
    answer = app.post(f"{ALEX}/run", {"command": "cat profile.md"}).json
    assert answer is not None
    assert answer["output"].strip() == "first"


def test_an_unknown_user_is_unknown_on_every_route(app: Function) -> None:
    for method, path, body in (
        ("GET", ALEX, None),
        ("DELETE", ALEX, None),
        ("POST", f"{ALEX}/context", {"query": "hello"}),
        ("POST", f"{ALEX}/run", {"command": "ls"}),
        ("POST", f"{ALEX}/distill", {}),
    ):
        response = app.call(method, path, body)
        assert response.status_code == 404, path
        assert response.mimetype == "application/problem+json"
        assert response.json is not None
        assert response.json["type"] == "/problems/unknown-user"


def test_a_session_without_a_model_is_archived_and_pending_and_found(app: Function) -> None:
    response = app.post(f"{ALEX}/sessions", SESSION)
    body = response.json
    assert body is not None
    assert response.status_code == 201
    assert (body["status"], body["session_id"], body["writer"], body["pending"]) == (
        "committed",
        "monday",
        "archive",
        True,
    )
    assert [file["change"] for file in body["files"]] == ["added"]
    found = app.post(f"{ALEX}/context", {"query": "When does Maya start at the clinic?"}).json
    assert found is not None
    assert "Maya starts at the clinic on Thursday." in found["context"]
    assert (found["planner"]["used"], found["planner"]["stop_reason"], found["degraded"]) == (
        "offline",
        "no_model",
        False,
    )


def test_the_same_session_twice_is_a_duplicate_and_writes_nothing(app: Function) -> None:
    first = app.post(f"{ALEX}/sessions", SESSION).json
    head = app.get(ALEX).json
    response = app.post(f"{ALEX}/sessions", SESSION)
    assert first is not None
    assert head is not None
    assert response.json is not None
    assert (response.status_code, response.json["status"]) == (200, "duplicate")
    assert response.json["commit"] == first["commit"]
    after = app.get(ALEX).json
    assert after is not None
    assert after["head"] == head["head"]


def test_archive_mode_leaves_nothing_pending(app: Function) -> None:
    body = app.post(f"{ALEX}/sessions", {**SESSION, "mode": "archive"}).json
    assert body is not None
    assert (body["writer"], body["pending"]) == ("archive", False)


def test_the_context_keeps_its_budget_and_counts_exactly(app: Function) -> None:
    for day in range(1, 15):
        messages = [
            {"role": "user", "content": f"Day {day}: Maya told me about patient number {day} at the clinic."}
        ] * 5
        session = {"session_id": f"d{day}", "occurred_at": f"2026-03-{day:02}T20:00:00+01:00", "messages": messages}
        app.post(f"{ALEX}/sessions", {**session, "mode": "archive"})
    for max_tokens in (64, 200, 1000):
        body = app.post(f"{ALEX}/context", {"query": "What did Maya tell me?", "max_tokens": max_tokens}).json
        assert body is not None
        assert body["tokens"] == tokens.count(body["context"]) <= max_tokens
        assert body["max_tokens"] == max_tokens


def test_an_answer_has_every_field_of_the_contract(app: Function) -> None:
    app.post(f"{ALEX}/sessions", SESSION)
    body = app.post(f"{ALEX}/context", {"query": "Maya", "trace": True}).json
    assert body is not None
    assert set(body) >= {
        *("user", "head", "context", "blocks", "tokens", "max_tokens", "synthesis", "entities", "plan", "planner"),
        *("usage", "timings_ms", "storage", "degraded", "warnings", "remembered", "trace"),
    }
    assert set(body["planner"]) >= {"used", "stop_reason", "turns", "commands"}
    assert set(body["usage"]) >= {"llm_calls", "prompt_tokens", "completion_tokens", "cached_tokens"}
    assert set(body["timings_ms"]) >= {"hydrate", "plan", "resolve", "total"}
    assert set(body["blocks"][0]) >= {
        *("type", "path", "lines", "commit", "occurred_at", "priority", "reason", "tokens", "truncated", "content"),
    }


def test_asking_for_an_agent_without_a_model_is_degraded(app: Function) -> None:
    app.put(ALEX, {})
    body = app.post(f"{ALEX}/context", {"query": "Maya", "planner": "agent"}).json
    assert body is not None
    assert (body["degraded"], body["planner"]["stop_reason"]) == (True, "no_model")


def test_memory_is_read_as_it_was_recorded(app: Function) -> None:
    app.post(f"{ALEX}/sessions", {**SESSION, "mode": "archive"})
    before = app.post(f"{ALEX}/context", {"query": "Maya", "as_of": "2020-01-01T00:00:00+00:00"}).json
    now = app.post(f"{ALEX}/context", {"query": "Maya", "as_of": "2090-01-01T00:00:00+00:00"}).json
    assert before is not None
    assert now is not None
    assert before["blocks"] == []
    assert "Maya" in now["context"]
    listed = app.post(f"{ALEX}/run", {"command": "ls", "as_of": "2020-01-01T00:00:00+00:00"}).json
    assert listed is not None
    assert "sessions" not in listed["output"]


def test_nine_commands_return_nine_outputs(app: Function) -> None:
    app.post(f"{ALEX}/sessions", SESSION)
    a = "sessions/2026/03/02-monday.md"
    command = (
        f'git diff HEAD~1.. -- {a}; git log --stat -5 -- {a}; head -30 {a}; grep -nE "Maya|clinic" {a}; tail -50 {a}; '
        "ls; wc -l index.md 2>/dev/null; git ls-files | sort | uniq -c; find . -name '*.md' | cut -c1-40"
    )
    body = app.post(f"{ALEX}/run", {"command": command}).json
    assert body is not None
    assert not body["refused"]
    assert all(f"{n}/9" in body["output"] for n in range(1, 10))


def test_a_refusal_is_an_answer_that_teaches(app: Function) -> None:
    app.put(ALEX, {})
    response = app.post(f"{ALEX}/run", {"command": "curl http://example.org"})
    body = response.json
    assert body is not None
    assert (response.status_code, body["exit_code"], body["refused"]) == (200, 126, True)
    assert "curl" in body["output"]


def test_messages_are_appended_and_closed_by_distill(app: Function) -> None:
    body = {"conversation": "chat", "messages": [{"id": "1", "role": "user", "content": "Good morning"}]}
    first = app.post(f"{ALEX}/messages", body)
    again = app.post(f"{ALEX}/messages", body)
    assert first.json is not None
    assert again.json is not None
    assert (first.status_code, first.json["status"], again.json["status"]) == (201, "appended", "duplicate")
    closed = app.post(f"{ALEX}/distill", {"close": True}).json
    assert closed is not None
    assert closed["pending"] == [first.json["session_id"]]


def test_reading_first_and_writing_then_in_one_call(app: Function) -> None:
    app.put(ALEX, {})
    body = app.post(f"{ALEX}/context", {"query": "clinic", "remember": SESSION}).json
    assert body is not None
    assert body["remembered"]["status"] == "committed"
    assert "Maya" not in body["context"]
    again = app.post(f"{ALEX}/context", {"query": "clinic"}).json
    assert again is not None
    assert "Maya" in again["context"]


def test_remembering_while_asking_begins_the_memory_of_a_new_user(app: Function) -> None:
    response = app.post(f"{ALEX}/context", {"query": "clinic", "remember": SESSION})
    body = response.json
    assert body is not None
    assert (response.status_code, body["blocks"], body["remembered"]["status"]) == (200, [], "committed")
    again = app.post(f"{ALEX}/context", {"query": "clinic"}).json
    assert again is not None
    assert "Maya" in again["context"]


def test_an_erased_user_is_gone_from_every_route_and_from_the_bucket(app: Function, tmp_path: Path) -> None:
    app.post(f"{ALEX}/sessions", SESSION)
    receipt = app.delete(ALEX).json
    assert receipt is not None
    assert receipt["user"] == "alex"
    assert receipt["objects"] >= 1
    assert receipt["retained"] == []
    assert re.fullmatch(r"[0-9a-f]{64}", receipt["receipt_sha256"])
    assert app.get(ALEX).status_code == 404
    assert app.post(f"{ALEX}/context", {"query": "x"}).status_code == 404
    assert app.delete(ALEX).status_code == 404
    left = [path for path in (tmp_path / "bucket").rglob("*") if path.is_file() and b"alex" in path.read_bytes()]
    assert left == []
