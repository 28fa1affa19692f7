"""Whatever is sent, the answer is clear: the status, the problem, the field and the value."""

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.app import Function, function

ALEX = "/v1/users/alex"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Function]:
    with function(tmp_path_factory.mktemp("requests")) as served:
        served.put(ALEX, {})
        yield served


SAID = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("sessions", {}, "messages"),
        ("sessions", {"messages": SAID, "transcript": "x"}, "messages"),
        ("sessions", {"messages": []}, "messages"),
        ("sessions", {"messages": SAID, "sesion_id": "x"}, "sesion_id"),
        ("sessions", {"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
        ("sessions", {"messages": [{"role": "user", "content": "x", "mood": "good"}]}, "messages.0.mood"),
        ("sessions", {"messages": SAID, "session_id": "x" * 201}, "session_id"),
        ("sessions", {"messages": SAID, "session_id": "two\nlines"}, "session_id"),
        ("sessions", {"messages": SAID, "occurred_at": "yesterday"}, "occurred_at"),
        ("sessions", {"messages": SAID, "occurred_at": "2026-03-05T10:00:00"}, "occurred_at"),
        ("sessions", {"messages": SAID, "occurred_at": "20260305"}, "occurred_at"),
        ("sessions", {"messages": SAID, "occurred_at": "1772705400"}, "occurred_at"),
        ("sessions", {"messages": SAID, "occurred_at": 1772705400}, "occurred_at"),
        ("sessions", {"messages": SAID, "occurred_at": "0001-01-01T00:00:00+00:00"}, "occurred_at"),
        ("sessions", {"messages": SAID, "timezone": "Mars/Olympus"}, "timezone"),
        ("sessions", {"messages": SAID, "timezone": "../../etc/passwd"}, "timezone"),
        ("sessions", {"messages": SAID, "metadata": {"a": 1}}, "metadata.a"),
        ("sessions", {"messages": SAID, "mode": "fast"}, "mode"),
        ("sessions", {"messages": SAID, "time_budget_s": -1}, "time_budget_s"),
        ("sessions", {"transcript": "a\0b"}, "transcript"),
        ("context", {}, "query"),
        ("context", {"query": "x", "conversation": SAID}, "query"),
        ("context", {"query": ""}, "query"),
        ("context", {"query": "x", "max_tokens": 63}, "max_tokens"),
        ("context", {"query": "x", "max_tokens": "500"}, "max_tokens"),
        ("context", {"query": "x", "max_tokens": True}, "max_tokens"),
        ("context", {"query": "x", "time_budget_s": 301}, "time_budget_s"),
        ("context", {"query": "x", "planner": "best"}, "planner"),
        ("context", {"query": "x", "remember": {"messages": []}}, "remember.messages"),
        ("run", {}, "command"),
        ("run", {"command": ["ls"]}, "command"),
        ("messages", {"messages": []}, "messages"),
        ("distill", {"close": "yes"}, "close"),
    ],
)
def test_a_bad_field_is_named(app: Function, path: str, body: dict[str, Any], named: str) -> None:
    response = app.post(f"{ALEX}/{path}", body)
    assert response.json is not None
    assert (response.status_code, response.json["type"]) == (400, "/problems/invalid-request")
    assert named in response.json["detail"]


@pytest.mark.parametrize("query", ["as_of=20260305", "since=1772705400", "until=-5", "since=2026-03-05T10:00:00"])
def test_a_time_in_a_query_is_written_out(app: Function, query: str) -> None:
    """20260305 is a day to whoever writes it, and was the 234th of 1970."""
    response = app.get(f"{ALEX}/log?{query}")
    assert response.json is not None
    assert response.status_code == 400
    assert response.json["detail"].startswith(query.partition("=")[0])


@pytest.mark.parametrize("written", ["2026-03-05T10:00:00Z", "2026-03-05T10:00:00.25Z", "2026-03-05 10:00:00+05:45"])
def test_a_time_may_be_written_as_rfc_3339_says(app: Function, written: str) -> None:
    assert app.get(f"{ALEX}/log?since={quote(written)}").status_code == 200
    assert app.post(f"{ALEX}/context", {"query": "x", "as_of": written}).status_code in (200, 404)


@pytest.mark.parametrize("offset", ["+23:59", "-23:59", "+14:00", "-00:00"])
def test_a_time_of_any_zone_can_be_remembered(app: Function, offset: str) -> None:
    at = f"2026-03-05T10:00:00{offset}"
    session = {"session_id": f"zone {offset}", "messages": [{"role": "user", "content": "hi", "at": at}]}
    assert app.post(f"{ALEX}/sessions", session).status_code == 201
    message = {"role": "user", "content": "hi", "at": at}
    assert app.post(f"{ALEX}/messages", {"conversation": offset, "messages": [message]}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", ""), ("GET", ""), ("PUT", ""), ("POST", "/forget"), ("POST", "/consolidate"), ("POST", "/run")],
)
def test_a_parameter_that_an_address_does_not_take_is_named(app: Function, method: str, path: str) -> None:
    """`dry_run` belongs in the body of some; overlooked, it would have erased."""
    body: dict[str, str] | None = None if method in ("GET", "DELETE") else {}
    response = app.call(method, f"{ALEX}{path}?dry_run=true", body)
    assert response.json is not None
    assert (response.status_code, response.json["type"]) == (400, "/problems/invalid-request")
    assert response.json["detail"].startswith("dry_run:")
    assert app.get(ALEX).status_code == 200


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"query": "\\ud800"}',
        b'{"query": NaN}',
        b'{"query": "x"} trailing',
        b'{"query": ' + b"[" * 100_000,
        b'{"query": ' + b"9" * 100_000 + b"}",
    ],
)
def test_what_is_not_a_json_object_is_refused(app: Function, data: bytes) -> None:
    response = app.post(f"{ALEX}/context", data=data, headers={"Content-Type": "application/json"})
    assert response.json is not None
    assert (response.status_code, response.json["type"]) == (400, "/problems/invalid-request")


@pytest.mark.parametrize(
    "text",
    ["x" * 4_000_000, '\\"' * 2_000_000, "\\\\" * 2_000_000, "[" * 4_000_000],
    ids=["plain", "quotes", "backslashes", "brackets"],
)
@pytest.mark.parametrize("end", ['"}', "", "\\"], ids=["whole", "cut", "cut in an escape"])
def test_a_large_string_takes_little_to_look_through(app: Function, text: str, end: str) -> None:
    """It took a gigabyte for 8 MiB, and for a body that was cut off a time that grew with the square of its size."""
    data = f'{{"no such field": "{text}{end}'.encode()
    tracemalloc.start()
    began = time.process_time()
    response = app.post(f"{ALEX}/sessions", data=data, headers={"Content-Type": "application/json"})
    spent, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert response.status_code == 400
    assert spent < 5
    assert peak < 15 * len(data)


def test_a_body_over_the_limit_is_too_large(app: Function) -> None:
    response = app.post(f"{ALEX}/sessions", {"transcript": "x" * (8 * 1024 * 1024)})
    assert response.json is not None
    assert (response.status_code, response.json["type"]) == (413, "/problems/too-large")


@pytest.mark.parametrize(
    "headers", [{"Content-Type": "text/plain"}, {}, {"Content-Type": "application/json", "Content-Encoding": "gzip"}]
)
def test_another_media_type_is_refused(app: Function, headers: dict[str, str]) -> None:
    response = app.post(f"{ALEX}/context", data=b'{"query": "x"}', headers=headers)
    assert response.json is not None
    assert (response.status_code, response.json["type"]) == (415, "/problems/unsupported-media-type")


def test_an_unknown_route_and_a_wrong_method(app: Function) -> None:
    assert app.get("/v2/users").status_code == 404
    response = app.get(f"{ALEX}/context")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("user", ["a%2Fb", ".alex", "..", "al ex", "é", "a" * 129, "%00"])
def test_a_bad_user_id_is_named(app: Function, user: str) -> None:
    response = app.get(f"/v1/users/{user}")
    assert response.json is not None
    assert (response.status_code, response.json["type"]) == (400, "/problems/invalid-request")
    assert response.json["detail"].startswith("user:")


def test_every_response_bears_its_request_id_and_its_timing(app: Function) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    for path in ("/health", ALEX, "/nowhere"):
        response = app.get(path, headers={"X-Cloud-Trace-Context": f"{trace}/1;o=1"})
        assert response.headers["X-Request-Id"] == trace
        assert "dur=" in response.headers["Server-Timing"]
    response = app.get("/nowhere", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    assert response.json is not None
    assert response.json["request_id"] == trace
    assert app.get("/health").headers["X-Request-Id"] != app.get("/health").headers["X-Request-Id"]


def test_a_detail_never_names_a_path_of_the_host(app: Function, tmp_path: Path) -> None:
    for command in ("cat /etc/passwd", "cat ../../x", "ls /"):
        body = app.post(f"{ALEX}/run", {"command": command}).json
        assert body is not None
        assert str(tmp_path.parent) not in body["output"]


def test_only_this_machine_is_answered_without_keys(app: Function) -> None:
    assert app.get(ALEX, headers={"Host": "memory.example.org"}).status_code == 401
