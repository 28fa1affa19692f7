"""The log of a whole session with the API: every line is Cloud Logging's, and none holds what anybody said."""

import json
from pathlib import Path
from typing import Any

import flask
import pytest

from diffmem.config import Config
from diffmem.http.record import Record
from diffmem.repository import user_hash
from tests.support.app import Function, function
from tests.support.provider import Provider, Received, Wire, calls, plan
from tests.support.senders import SECRETS

CANARY = "canary7391"
KEY = f"{CANARY}-key-0123456789"
USER = f"{CANARY}.user@example.org"
PATH = f"/v1/users/{USER}"
TRACE = "105445aa7843bc8bf206b12000100000"
SECRET = f"{CANARY}-id-secret"
HOOKS = {"chat": {"kind": "slack", "secret": SECRETS["slack"]}}
SESSION = {
    "session_id": f"{CANARY}-session",
    "occurred_at": "2026-03-02T20:00:00+01:00",
    "metadata": {CANARY: CANARY},
    "messages": [{"role": "user", "name": CANARY, "content": f"The {CANARY} moved to Lisbon."}],
}
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "User-Agent": f"{CANARY}/1.0",
    "Cookie": f"{CANARY}={CANARY}",
    "X-Forwarded-For": "203.0.113.77",
    "X-Goog-Authenticated-User-Email": f"accounts.google.com:{CANARY}@example.org",
    "X-Cloud-Trace-Context": f"{TRACE}/255;o=1",
}

Lines = list[dict[str, Any]]


def _whole_session(app: Function) -> None:
    def call(method: str, path: str, body: Any = None, **options: Any) -> None:
        app.call(method, path, body, headers={**HEADERS, **options.pop("headers", {})}, **options)

    call("PUT", PATH, {"profile": f"# {CANARY}", "instructions": CANARY})
    call("POST", f"{PATH}/sessions", SESSION)
    call("POST", f"{PATH}/sessions", SESSION)
    call("POST", f"{PATH}/messages", {"messages": [{"role": "user", "content": CANARY, "id": CANARY}]})
    call("POST", f"{PATH}/distill", {"close": True})
    call("POST", f"{PATH}/context", {"query": f"Where is {CANARY}?", "trace": True})
    call("POST", f"{PATH}/context", {"query": f"Where is {CANARY}?", "planner": "offline"})
    call("POST", f"{PATH}/context", {CANARY: CANARY})
    call("POST", f"{PATH}/run", {"command": f"sort -o {CANARY} profile.md; {CANARY} x; cat 'open {CANARY}"})
    call("POST", f"{PATH}/run", {"command": f"sort -o {CANARY} profile.md; {CANARY} x"})
    call("GET", f"{PATH}/files")
    call("GET", f"{PATH}/files/memories/{CANARY}.md?at={CANARY}")
    call("GET", f"{PATH}/log?path={CANARY}&{CANARY}={CANARY}")
    call("GET", f"{PATH}/blame/profile.md")
    call("POST", f"{PATH}/revert", {"commit": CANARY})
    call("PUT", f"{PATH}/files/memories/people/{CANARY}.md", data=CANARY, headers={"Content-Type": "text/markdown"})
    call("POST", f"{PATH}/forget", {"text": [CANARY]})
    call("GET", f"{PATH}/export")
    call("PUT", f"{PATH}/import", data=CANARY)
    call("POST", "/v1/hooks/chat", {"text": CANARY}, headers={"X-Slack-Signature": CANARY})
    call("POST", f"/v1/hooks/{CANARY}", {"text": CANARY})
    call("GET", f"/{CANARY}/{CANARY}?{CANARY}={CANARY}")
    call("GET", f"/v1/users/.{CANARY}")
    call("PATCH", PATH)
    app.get(PATH, headers={"Authorization": f"Bearer {CANARY}"})
    call("DELETE", PATH)
    call("GET", "/health")


def _model(received: Received) -> Wire:
    """A model that tries what it must not, and then answers."""
    tried = b"rm -rf" in received.raw
    return plan(synthesis=CANARY) if tried else calls(f"grep -rn {CANARY} memories", f"rm -rf {CANARY}")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    environment = {
        "DIFFMEM_AUTH": "key",
        "DIFFMEM_API_KEYS": f"backend:{KEY}:*",
        "DIFFMEM_ID_SECRET": SECRET,
        "DIFFMEM_HOOKS": json.dumps(HOOKS),
        "GOOGLE_CLOUD_PROJECT": "my-project",
        "OPENAI_API_KEY": f"{CANARY}-model-key",
    }
    folder = tmp_path_factory.mktemp("log")
    captured = pytest.MonkeyPatch()
    lines = _Lines()
    with Provider([_model]) as provider, function(folder, {**environment, "OPENAI_BASE_URL": provider.base_url}) as app:
        captured.setattr("sys.stdout", lines)
        try:
            _whole_session(app)
        finally:
            captured.undo()
    return lines.text


class _Lines:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        return


@pytest.fixture(scope="module")
def lines(output: str) -> Lines:
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture(scope="module")
def requests(lines: Lines) -> Lines:
    return [line for line in lines if "httpRequest" in line]


def test_nothing_that_was_sent_is_in_the_log(output: str) -> None:
    assert output.count("\n") > 25
    assert CANARY not in output.lower()
    assert "203.0.113.77" not in output
    assert "Lisbon" not in output


def test_every_request_has_one_line_with_cloud_loggings_fields(requests: Lines) -> None:
    for line in requests:
        assert line["severity"] in ("INFO", "WARNING", "ERROR")
        request = line["httpRequest"]
        assert request["requestMethod"] in ("GET", "PUT", "POST", "PATCH", "DELETE")
        assert isinstance(request["status"], int)
        assert request["latency"].endswith("s")
        assert float(request["latency"][:-1]) >= 0
        assert line["ms"]["total"] >= 0
        assert line["message"].startswith(request["requestMethod"])
        assert not any(name in request for name in ("requestUrl", "userAgent", "remoteIp", "referer"))
    assert len([line for line in requests if line["httpRequest"]["status"] == 500]) == 0


def test_a_line_points_to_its_trace(requests: Lines) -> None:
    traced = [line for line in requests if line["request_id"] == TRACE]
    assert len(traced) > 20
    for line in traced:
        assert line["logging.googleapis.com/trace"] == f"projects/my-project/traces/{TRACE}"
        assert line["logging.googleapis.com/spanId"] == "00000000000000ff"
        assert line["logging.googleapis.com/trace_sampled"] is True


def test_a_user_is_a_hash_that_the_secret_keys(requests: Lines) -> None:
    assert {line["user"] for line in requests if "user" in line} == {user_hash(USER, SECRET)}
    assert user_hash(USER, SECRET) != user_hash(USER, None)


def test_a_read_says_how_it_was_planned_what_it_took_and_where_the_time_went(requests: Lines) -> None:
    reads = [line for line in requests if line["message"].endswith("/context") and line["severity"] == "INFO"]
    asked, offline = reads
    assert (asked["planner"], asked["stop_reason"]) == ("agent", "plan")
    assert (offline["planner"], offline["stop_reason"], offline["llm_calls"]) == ("offline", "no_model", 0)
    assert asked["llm_calls"] == 2
    assert asked["prompt_tokens"] == 200
    for line in reads:
        assert {"hydrate", "plan", "resolve", "total"} <= line["ms"].keys()
        assert line["storage_requests"] >= 1
        assert line["storage_bytes"] >= 0
        assert isinstance(line["context_tokens"], int)


def test_a_write_counts_its_requests_to_the_bucket_too(requests: Lines) -> None:
    first, repeated = (line for line in requests if line["message"].endswith("/sessions"))
    assert (first["write"], repeated["write"]) == ("committed", "duplicate")
    assert first["storage_requests"] > repeated["storage_requests"] > 0
    assert first["storage_bytes"] > 0
    assert first["ms"]["write"] >= 0


def test_a_refusal_of_the_tool_is_a_line_with_its_kind_and_no_argument(lines: Lines, requests: Lines) -> None:
    refused = [line for line in lines if line["message"] == "tool refused"]
    found = {(line["kind"], line["command"]) for line in refused}
    assert found >= {("syntax", None), ("policy", "sort"), ("policy", None)}
    for line in refused:
        assert line.keys() <= {"severity", "message", "request_id", "kind", "command", *_trace_fields()}
        assert line["severity"] == "WARNING"
    counts = [line["tool_refusals"] for line in requests if line["message"].endswith("/run")]
    assert counts == [1, 2]


def test_a_rejected_webhook_is_a_line(lines: Lines) -> None:
    rejected = [line for line in lines if line["message"] == "webhook rejected"]
    assert [(line["problem"], line["hook"], line["kind"]) for line in rejected] == [
        ("unauthenticated", "chat", "slack"),
        ("unknown-route", None, None),
    ]


def test_many_refusals_are_counted_and_not_all_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with function(tmp_path) as app:
        app.put("/v1/users/alex", {})
        app.post("/v1/users/alex/run", {"command": "; ".join(["nope"] * 50)})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len([line for line in lines if line["message"] == "tool refused"]) == 20
    assert lines[-1]["tool_refusals"] == 50


def test_without_a_project_no_trace_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with function(tmp_path) as app:
        app.get("/health", headers={"traceparent": f"00-{TRACE}-00000000000000ff-01"})
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert line["request_id"] == TRACE
    assert not any(name.startswith("logging.googleapis.com") for name in line)


def test_an_unexpected_error_is_told_by_its_type_and_place_alone(capsys: pytest.CaptureFixture[str]) -> None:
    record = Record(Config(), "GET", {})
    try:
        raise RuntimeError(CANARY)
    except RuntimeError as error:
        record.note_problem(error)
    record.finish(flask.Response(status=500), None)
    output = capsys.readouterr().out
    line = json.loads(output)
    assert (line["severity"], line["error"], line["problem"]) == ("ERROR", "RuntimeError", "internal")
    assert "test_log.py" in line["stack"]
    assert CANARY not in line["stack"].replace("raise RuntimeError(CANARY)", "")


def test_a_damaged_memory_is_told_by_the_name_of_its_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with function(tmp_path) as app:
        app.put("/v1/users/alex", {})
    for file in (path for path in (tmp_path / "bucket").rglob("*") if path.is_file()):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    with function(tmp_path, {"DIFFMEM_CACHE": str(tmp_path / "empty")}) as app:
        assert app.get("/v1/users/alex").status_code == 503
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (line["severity"], line["problem"]) == ("ERROR", "storage-unavailable")
    assert line["error"].startswith("CorruptObject: ")


def _trace_fields() -> set[str]:
    return {f"logging.googleapis.com/{name}" for name in ("trace", "spanId", "trace_sampled")}
