"""The story of `make demo`: what it promises, and that the demonstration itself keeps it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from diffmem.demo.scripted import ScriptedModel
from tests.support.app import Function, function

ROOT = Path(__file__).parent.parent.parent
WIFE = "memories/people/wife.md"
COMPANY = "memories/contexts/company.md"
STOP_WORDS = {"a", "and", "for", "her", "i", "in", "it's", "maya's", "so", "the", "then", "this", "today", "while"}


@pytest.fixture(scope="module")
def story() -> Any:
    return json.loads((files("diffmem.demo") / "story.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def app(story: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Function]:
    with ScriptedModel(story) as model:
        environment = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none"}
        with function(tmp_path_factory.mktemp("demo"), environment) as served:
            for session in story["sessions"]:
                body = {key: session[key] for key in ("session_id", "occurred_at", "messages")}
                answer = served.post("/v1/users/alex/sessions", body).json
                assert answer is not None
                assert (answer["status"], answer["pending"], answer["warnings"]) == ("committed", False, [])
            yield served


@pytest.mark.parametrize("max_tokens", [500, 900, 2000, 8000])
def test_a_birthday_message_brings_back_the_wife_and_the_company(app: Function, story: Any, max_tokens: int) -> None:
    conversation = [{"role": "user", "content": story["question"]}]
    body = {"conversation": conversation, "planner": "offline", "max_tokens": max_tokens}
    answer = app.post("/v1/users/alex/context", body).json
    assert answer is not None
    reasons = {block["path"]: block["reason"] for block in answer["blocks"]}
    assert {WIFE, COMPANY} <= set(reasons)
    assert "changed together with" in reasons[COMPANY]
    assert "Nordlicht" in answer["context"] or max_tokens < 900


def test_keyword_search_over_the_same_files_does_not_find_the_company(app: Function, story: Any) -> None:
    words = set(re.findall(r"[a-z']+", story["question"].lower())) - STOP_WORDS
    assert {"birthday", "alone", "card", "kitchen"} <= words
    assert not words & {"work", "company", "office", "job", "tern"}
    listed = " ".join(f"-e '\\b{word.replace(chr(39), '.')}\\b'" for word in sorted(words))
    found = app.post("/v1/users/alex/run", {"command": f"grep -rliE {listed} memories | sort"}).json
    assert found is not None
    assert WIFE in found["output"]
    assert COMPANY not in found["output"]


def test_the_demonstration_runs_as_a_person_runs_it(tmp_path: Path) -> None:
    """Through a real functions-framework process; it leaves none behind."""
    command = [sys.executable, "-m", "diffmem.demo"]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{COMPANY}: changed together with {WIFE}" in done.stdout
    assert "curl -s http://127.0.0.1:8080/v1/users/alex/context" in done.stdout
    port = re.search(r"http://127\.0\.0\.1:(\d+)/health", done.stdout)
    assert port is not None
    left = subprocess.run(["pgrep", "-f", f"--port {port[1]}"], capture_output=True, text=True)
    assert left.stdout == ""


def test_what_stops_the_demonstration_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "diffmem.demo"]
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "git is not installed, or not on the PATH, and nothing works without it\n"
