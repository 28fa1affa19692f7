"""The platform's clock: its time-out, its SIGTERM, the fork, and requests whose callers have gone."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diffmem.config import Config
from diffmem.http.service import Service
from tests.support.app import function
from tests.support.provider import HANG, Provider, plan, text, until
from tests.support.server import Server, children, descendants, is_alive, server

ROOT = Path(__file__).parent.parent.parent
ALEX = "/v1/users/alex"
SESSION = {
    "session_id": "monday",
    "occurred_at": "2026-03-02T20:00:00+01:00",
    "messages": [{"role": "user", "content": "Maya starts at the clinic on Thursday."}],
}
QUESTION = {"query": "When does Maya start?"}
EDITS = json.dumps({"summary": "Maya starts", "edits": []})


@pytest.mark.parametrize(("platform", "seconds"), [(None, 3600.0), (300.0, 298.0), (4.0, 2.0), (2.0, 1.0), (0.5, 0.25)])
def test_the_deadline_is_the_platforms_time_out_less_a_margin(platform: float | None, seconds: float) -> None:
    service = Service(Config(request_timeout_seconds=platform))
    assert service._deadline().remaining() == pytest.approx(seconds, abs=0.05)


def test_a_budget_above_the_platforms_time_out_ends_before_it(tmp_path: Path) -> None:
    with Provider([HANG]) as provider:
        environment = {"CLOUD_RUN_TIMEOUT_SECONDS": "4", "OPENAI_BASE_URL": provider.base_url}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLOUD_RUN_TIMEOUT_SECONDS", "4")
            with function(tmp_path, environment) as app:
                app.post(f"{ALEX}/sessions", {**SESSION, "mode": "archive"})
                began = time.monotonic()
                answer = app.post(f"{ALEX}/context", {**QUESTION, "time_budget_s": 60}).get_json()
                spent = time.monotonic() - began
    assert answer["planner"]["stop_reason"] == "deadline"
    assert "the clinic" in answer["context"]
    assert spent < 4


_FORKING = """
import json, os, sys
from pathlib import Path
from tests.support.app import function

folder, base_url = Path(sys.argv[1]), sys.argv[2]
session = {"messages": [{"role": "user", "content": "Maya starts on Thursday."}], "mode": "archive"}
with function(folder, {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none"}) as app:
    def ask():
        return app.post("/v1/users/alex/context", {"query": "When?"}).get_json()["planner"]["stop_reason"]
    app.post("/v1/users/alex/sessions", session)
    found = [ask()]
    child = os.fork()
    if child == 0:
        status = 0 if ask() == "plan" and ask() == "plan" else 1
        sys.modules["main"].service.close()
        os._exit(status)
    found.append(os.waitpid(child, 0)[1])
    found.append(ask())
print(json.dumps(found))
"""


def test_after_a_fork_each_process_has_clients_of_its_own(tmp_path: Path) -> None:
    with Provider([plan()]) as provider:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _FORKING, str(tmp_path), provider.base_url],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout.splitlines()[-1]) == ["plan", 0, "plan"]
        assert provider.accepted == 2, "a connection was used by both, or one for each request was made"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider([text(EDITS).but(wait=1.5)]) as serving:
        yield serving


def _environment(provider: Provider) -> dict[str, str]:
    return {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "none"}


def test_sigterm_in_the_middle_of_a_write_loses_nothing_and_leaves_no_process(
    tmp_path: Path, provider: Provider
) -> None:
    with server(tmp_path, _environment(provider)) as running:
        running.call("POST", f"{ALEX}/run", {"command": "ls"})
        assert running.call("GET", "/health")[1]["status"] == "ok"  # the tool's processes are there
        answers: list[tuple[int, Any]] = []
        writing = threading.Thread(target=lambda: answers.append(_written(running)))
        writing.start()
        assert until(lambda: bool(provider.requests), 20), running.text()
        processes = descendants(running.process.pid)
        assert len(processes) >= 2
        assert running.stop() == 0
        writing.join()
        assert until(lambda: not any(is_alive(pid) for pid in processes), 5)
        assert "Traceback" not in running.text()
    assert answers[0][0] in (201, 0), answers
    with function(tmp_path) as app:
        duplicate = app.post(f"{ALEX}/sessions", SESSION)
        assert duplicate.status_code == 200, "what the model was asked about was durable before"
        if answers[0][0] == 201:
            assert app.get(f"{ALEX}/log").get_json()["head"] == answers[0][1]["commit"]


def _written(running: Server) -> tuple[int, Any]:
    try:
        return running.call("POST", f"{ALEX}/sessions", SESSION)
    except (OSError, http.client.HTTPException):
        return 0, None


def test_a_worker_that_is_killed_leaves_no_process_of_the_tool(tmp_path: Path) -> None:
    with server(tmp_path, {}) as running:
        assert running.call("GET", "/health")[1]["status"] == "ok"
        worker = running.worker
        tools = descendants(worker)
        assert tools
        os.kill(worker, signal.SIGKILL)
        assert until(lambda: not any(is_alive(pid) for pid in tools), 5)
        assert until(lambda: children(running.process.pid) not in ([], [worker]), 10), "no new worker"
        assert running.call("GET", "/health")[1]["status"] == "ok"


def test_a_request_whose_caller_has_gone_leaves_nothing_that_wakes_later(tmp_path: Path) -> None:
    with Provider([HANG]) as provider, server(tmp_path, _environment(provider)) as running:
        running.call("POST", f"{ALEX}/sessions", {**SESSION, "mode": "archive"})
        worker = running.worker
        _abandon_four(running)  # from here on gunicorn has its threads, and the model its client
        threads, files = _threads(worker), _files(worker)
        _abandon_four(running)
        assert until(lambda: provider.connections == 0, 5)
        asked = len(provider.requests)
        status, answer = running.call("POST", f"{ALEX}/context", {**QUESTION, "planner": "offline"})
        assert (status, answer["storage"]["requests"]) == (200, 1)
        assert len(provider.requests) == asked
        assert until(lambda: _threads(worker) <= threads and _files(worker) <= files, 5)


def _abandon_four(running: Server) -> None:
    """Four requests at once whose callers go; they have ended when this returns."""
    before = len(running.lines())
    for _ in range(4):
        _abandon(running, {**QUESTION, "time_budget_s": 1.0})
    assert until(lambda: len(running.lines()) == before + 4, 20), "an abandoned request never ended"


def _abandon(running: Server, body: Any) -> None:
    data = json.dumps(body).encode()
    head = f"POST {ALEX}/context HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)


def _threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def _files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
