"""`python -m diffmem.evals`, from the command line to the tables."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from diffmem.evals.__main__ import main
from diffmem.evals.measuring import load_run
from tests.support.provider import Provider, plan

CASE: Mapping[str, Any] = {
    "user": "ann",
    "sessions": [
        {
            "session_id": "s1",
            "occurred_at": "2024-03-05T10:00:00+00:00",
            "messages": [
                {"role": "user", "name": "Ann", "content": "I bought a canoe yesterday.", "id": "m1"},
                {"role": "user", "name": "Bob", "content": "Wow, congrats!", "id": "m2"},
            ],
        },
        {
            "session_id": "s2",
            "occurred_at": "2024-03-06T10:00:00+00:00",
            "messages": [{"role": "user", "name": "Bob", "content": "My dog is called Emma.", "id": "m3"}],
        },
    ],
    "questions": [
        {"id": "q1", "category": "when", "question": "When did Ann buy the canoe?", "answer": "", "evidence": ["m1"]},
        {"id": "q2", "category": "what", "question": "What is Bob's dog called?", "answer": "", "evidence": ["m3"]},
        {"id": "q3", "category": "what", "question": "And the cat?", "answer": "", "evidence": ["lost", "m3"]},
    ],
}


@pytest.fixture(autouse=True)
def _no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DIFFMEM_AUTH", "K_SERVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DIFFMEM_SANDBOX", "prefer")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "case.jsonl"
    path.write_text(json.dumps(CASE) + "\n\n")
    return path


def test_a_file_is_remembered_asked_and_tabled(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(data), "--max-tokens", "200,500"]) == 0
    captured = capsys.readouterr()
    assert "evidence recall of 3 questions, planner offline" in captured.out
    [everything] = [line for line in captured.out.splitlines() if line.startswith("all ")]
    assert everything.split()[1:3] == ["3", "0.833"]
    assert "stop reasons: no_model 6" in captured.out
    assert "ann: remembered 2 of 2" in captured.err and "ann: asked 3 of 3" in captured.err


def test_results_are_kept_and_compared(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "run.json"
    assert main([str(data), "--max-tokens", "200", "--json", str(kept)]) == 0
    assert [result.recall for result in load_run(kept).results] == [1.0, 1.0, 0.5]
    capsys.readouterr()
    assert main([str(data), "--max-tokens", "200", "--compare", str(kept), "--limit", "2"]) == 0
    assert "against case.jsonl, planner offline:" in capsys.readouterr().out


def test_a_configured_model_can_plan(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pointer = {"type": "file", "path": "sessions/2024/03/05-s1.md", "priority": "must_include", "reason": "the canoe"}
    with Provider([plan(pointer)]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        options = ["--planner", "agent", "--model", "scripted", "--max-tokens", "500", "--limit", "1"]
        assert main([str(data), *options]) == 0
        assert provider.requests[0].body["model"] == "scripted"
    printed = capsys.readouterr().out
    assert "planner agent (scripted)" in printed and "stop reasons: plan 1; tokens of prompts: 100" in printed


def test_a_limit_takes_questions_evenly(data: Path, tmp_path: Path) -> None:
    kept = tmp_path / "run.json"
    main([str(data), "--max-tokens", "200", "--limit", "2", "--json", str(kept)])
    assert [result.question for result in load_run(kept).results] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "line 1"),
        ('"\udcff"', "line 1"),
        ("\n\n", "nobody in 'bad.jsonl'"),
        ('{"user": "a", "sessions": [], "questions": []}', "sessions"),
        (json.dumps({**CASE, "questions": [{"id": "q"}]}), "questions.0.question"),
        (json.dumps({**CASE, "sessions": [{**CASE["sessions"][0], "occurred_at": "then"}]}), "occurred_at"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, named: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line, errors="surrogateescape")
    assert main([str(path)]) == 2
    assert named in capsys.readouterr().err


def test_a_file_that_is_not_there_is_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_results_of_something_else_are_refused_before_anything_is_measured(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text("{}")
    assert main([str(data), "--compare", str(tmp_path / "other.json")]) == 2
    assert "remembered" not in capsys.readouterr().err
