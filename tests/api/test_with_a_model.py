"""POST context with a model on the other side of a real socket: one that helps, and many that do not."""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmem import tokens
from tests.support.app import Function, function
from tests.support.behaviours import BEHAVIOURS
from tests.support.provider import HANG, Provider, Received, Reply, Wire, calls, error, plan, text, until

ALEX = "/v1/users/alex"
SLACK_MS = 250
REQUESTS = 1000
SESSION = "sessions/2026/03/02-monday.md"
POINTER = {"type": "file", "path": SESSION, "priority": "must_include", "reason": "the clinic"}


class Switch:
    """A provider's script that plays, for each question, the behaviour that the question names."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[bytes] = Counter()

    def __call__(self, received: Received) -> Wire:
        if b"behaviour[" not in received.raw:
            return plan(POINTER)
        name, number = received.raw.split(b"behaviour[")[1].split(b"]")[0].split(b"#")
        with self._lock:
            turn = self._asked[name + number]
            self._asked[name + number] += 1
        script = BEHAVIOURS[name.decode()].script
        reply = script[min(turn, len(script) - 1)]
        if b'of=\\"git log -3' in received.raw:
            received = replace(received, raw=received.raw + b"ran:")  # what a sensible behaviour looks for
        return reply(received) if callable(reply) else reply


class Scripted:
    """A provider's script whose replies a test sets; the last one is repeated."""

    def __init__(self, *replies: Reply) -> None:
        self.play(*replies)

    def play(self, *replies: Reply) -> None:
        """Begin with these replies."""
        self._replies = list(replies)

    def __call__(self, received: Received) -> Wire:
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return reply(received) if callable(reply) else reply


@pytest.fixture
def script() -> Scripted:
    return Scripted(plan(POINTER))


@pytest.fixture
def provider(script: Scripted) -> Iterator[Provider]:
    with Provider([script]) as served:
        yield served


@pytest.fixture
def app(tmp_path: Path, provider: Provider) -> Iterator[Function]:
    with function(tmp_path, {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "k"}) as served:
        _prepare(served)
        yield served
        assert threading.active_count() < 20


def _prepare(app: Function) -> None:
    """One session, and everything that a first request loads loaded."""
    messages = [{"role": "user", "content": "Maya starts at the clinic on Thursday."}]
    session = {"session_id": "monday", "occurred_at": "2026-03-02T20:00:00+01:00", "messages": messages}
    app.post(f"{ALEX}/sessions", {**session, "mode": "archive"})
    app.post(f"{ALEX}/context", {"query": "warm"})


def _ask(app: Function, query: str = "When does Maya start?", **body: Any) -> dict[str, Any]:
    response = app.post(f"{ALEX}/context", {"query": query, **body})
    assert response.status_code == 200
    answer: dict[str, Any] = response.get_json()
    return answer


def test_two_round_trips_make_a_plan(app: Function, provider: Provider, script: Scripted) -> None:
    before = len(provider.requests)
    script.play(calls("grep -rn clinic sessions\ngit log --oneline -3"), plan(POINTER, synthesis="She does."))
    answer = _ask(app)
    assert len(provider.requests) - before == 2
    assert (answer["planner"]["used"], answer["planner"]["stop_reason"]) == ("agent", "plan")
    assert "grep -rn clinic sessions" in "\n".join(answer["planner"]["commands"])
    assert (answer["usage"]["llm_calls"], answer["synthesis"], answer["degraded"]) == (2, "She does.", False)
    assert [block["path"] for block in answer["blocks"]] == [SESSION]
    assert "Maya starts at the clinic" in answer["context"]


def test_manifest_and_probe_are_shown_as_calls_already_made(app: Function, provider: Provider) -> None:
    _ask(app)
    messages = provider.requests[-1].messages
    made = [call["function"]["arguments"] for message in messages for call in message.get("tool_calls") or ()]
    assert any("index.md" in arguments for arguments in made)
    assert any("git log" in arguments for arguments in made)
    assert "When does Maya start?" in str(messages[-1]["content"])


def test_two_requests_of_a_user_share_all_but_the_conversation(app: Function, provider: Provider) -> None:
    """Providers cache prompts by prefix."""
    _ask(app, "first")
    _ask(app, "second")
    first, second = (request.messages for request in provider.requests[-2:])
    assert first[:-1] == second[:-1]


def test_a_bad_pointer_is_rejected_and_the_good_one_used(app: Function, script: Scripted) -> None:
    nowhere = {"type": "file", "path": "memories/people/nobody.md", "reason": "?"}
    outside = {"type": "file", "path": "../../etc/passwd", "reason": "?"}
    script.play(plan(nowhere, outside, POINTER))
    answer = _ask(app)
    assert [block["path"] for block in answer["blocks"]] == [SESSION]
    assert len(answer["plan"]["rejected"]) == 2
    assert all(item["why"] and item["pointer"] for item in answer["plan"]["rejected"])


@pytest.mark.parametrize(
    "pointers",
    [
        [{"type": "file", "path": "memories/people/nobody.md"}],
        [{"type": "file_section", "path": SESSION, "line_start": 900, "line_end": 999}, {"type": "rumour"}],
        [{"type": "command", "command": "git push"}, {"type": "git_show", "path": SESSION, "rev": "--output=x"}],
        ["all of it"],
    ],
)
def test_a_plan_that_points_nowhere_is_no_plan(app: Function, script: Scripted, pointers: list[Any]) -> None:
    script.play(plan(*pointers))
    answer = _ask(app)
    assert (answer["planner"]["used"], answer["planner"]["stop_reason"]) == ("offline", "invalid_plan")
    assert answer["degraded"] and any("none of its pointers" in warning for warning in answer["warnings"])
    assert "Maya starts at the clinic" in answer["context"]
    assert len(answer["plan"]["rejected"]) == len(pointers)


def test_that_nothing_bears_on_a_question_is_an_answer(app: Function, script: Scripted) -> None:
    script.play(plan())
    answer = _ask(app)
    assert (answer["planner"]["used"], answer["planner"]["stop_reason"]) == ("agent", "plan")
    assert (answer["blocks"], answer["degraded"]) == ([], False)


@pytest.mark.parametrize("seconds", [0.05, 0.5, 1.0])
def test_a_provider_that_hangs_does_not_delay_the_answer(app: Function, script: Scripted, seconds: float) -> None:
    script.play(HANG)
    answer = _ask(app, time_budget_s=seconds)
    assert answer["timings_ms"]["total"] <= seconds * 1000 + SLACK_MS
    assert (answer["planner"]["used"], answer["planner"]["stop_reason"]) == ("offline", "deadline")
    assert answer["degraded"]
    assert "Maya starts at the clinic" in answer["context"]


def test_what_the_agent_had_found_is_used_when_time_is_over(app: Function, script: Scripted) -> None:
    script.play(calls(f"cat {SESSION}"), HANG)
    answer = _ask(app, "zebra", time_budget_s=1.5)
    assert answer["planner"]["stop_reason"] == "deadline"
    assert any("when it stopped" in pointer["reason"] for pointer in answer["plan"]["pointers"])


def test_a_trace_shows_what_the_model_saw_and_said(app: Function, script: Scripted) -> None:
    script.play(calls("head -3 index.md"), text("no plan"), text("still none"))
    answer = _ask(app, trace=True)
    assert answer["planner"]["stop_reason"] in ("invalid_plan", "turn_limit")
    roles = [message["role"] for message in answer["trace"]]
    assert roles[0] == "system"
    assert any("still none" in str(message["content"]) for message in answer["trace"])
    assert _ask(app)["trace"] is None


def test_offline_is_offline(app: Function, provider: Provider) -> None:
    before = len(provider.requests)
    answer = _ask(app, planner="offline")
    assert len(provider.requests) == before
    assert (answer["planner"]["stop_reason"], answer["degraded"]) == ("no_model", False)


def test_a_failing_model_leaves_a_session_pending_and_the_next_request_finishes_it(
    app: Function, provider: Provider, script: Scripted
) -> None:
    messages = [{"role": "user", "content": "Maya likes the night shift."}]
    script.play(error(500))
    first = app.post(f"{ALEX}/sessions", {"session_id": "tuesday", "messages": messages}).get_json()
    assert (first["status"], first["pending"], first["writer"]) == ("committed", True, "archive")
    fact = {"op": "add", "entity": "Maya", "fact": "Likes the night shift.", "quote": "Maya likes the night shift."}
    create = {"op": "create", "entity": "Maya", "kind": "people"}
    script.play(text(json.dumps({"summary": "Maya's shifts", "edits": [create, fact]})))
    again = app.post(f"{ALEX}/sessions", {"session_id": "tuesday", "messages": messages}).get_json()
    assert (again["status"], again["pending"]) == ("duplicate", False)
    shown = app.post(f"{ALEX}/run", {"command": "cat memories/people/maya.md index.md"}).get_json()
    assert "- Likes the night shift. ^[tuesday#1]" in shown["output"]
    asked = len(provider.requests)
    third = app.post(f"{ALEX}/sessions", {"session_id": "tuesday", "messages": messages}).get_json()
    assert (third["status"], third["pending"], len(provider.requests)) == ("duplicate", False, asked)


def test_a_thousand_requests_over_every_misbehaviour(tmp_path: Path) -> None:
    """Eight at a time: every answer is 200, none is late, none is over its budget, and nothing is left behind."""
    names = [name for _, name in zip(range(REQUESTS), itertools.cycle(BEHAVIOURS), strict=False)]
    with Provider([Switch()]) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "k"}
        with function(tmp_path, environment) as app:
            _prepare(app)
            before = threading.active_count()

            def ask(item: tuple[int, str]) -> tuple[str, dict[str, Any]]:
                query = f"What of Maya and the clinic? behaviour[{item[1]}#{item[0]}]"
                return item[1], _ask(app, query, max_tokens=300, time_budget_s=0.6)

            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(ask, enumerate(names)))
            assert until(lambda: threading.active_count() - _serving() <= before)
    late = {name: answer["timings_ms"] for name, answer in answers if answer["timings_ms"]["total"] > 600 + SLACK_MS}
    assert late == {}
    assert all(tokens.count(answer["context"]) == answer["tokens"] <= 300 for _, answer in answers)
    assert {answer["planner"]["stop_reason"] for _, answer in answers} >= {"plan", "deadline", "model_error"}


def _serving() -> int:
    return sum(thread.name.startswith("provider-") for thread in threading.enumerate())
