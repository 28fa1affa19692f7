"""The README tells the truth: its commands, routes, environment table and file tree are those of the code."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from diffmem.config import VARIABLES
from diffmem.demo.server import serving
from diffmem.http.routes import ROUTES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
_NO_MODEL = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}


def _section(title: str) -> str:
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_first_command_stands_within_fifteen_lines() -> None:
    assert any("make demo" in line for line in README.splitlines()[:15])


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z]+)", README)) <= targets


def test_the_environment_table_is_the_configuration() -> None:
    listed = re.findall(r"^\| `([A-Z_]+)` \|", _section("Configuration"), re.MULTILINE)
    assert sorted(listed) == sorted(VARIABLES)


def test_every_route_is_in_the_table() -> None:
    text = _section("The API")
    for route in ROUTES:
        path = route.pattern.replace("*}", "}")
        tail = path.removeprefix("/v1/users/{user}/") or path
        assert path in text or tail in text, f"{route.method} {path}"
        assert route.method in text


def test_every_file_of_the_tree_exists() -> None:
    listed = re.findall(r"^([\w./-]+) {2,}\S", _section("Files"), re.MULTILINE)
    assert len(listed) > 20
    assert [path for path in listed if not (ROOT / path).exists()] == []


def test_the_file_tree_names_every_part() -> None:
    tree = _section("Files")
    parts = [path for path in (ROOT / "diffmem").iterdir() if not path.name.startswith("__")]
    for path in parts:
        assert re.search(rf"diffmem/{re.escape(path.name)}\b", tree), path.name


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_examples_work_as_they_stand(tmp_path: Path) -> None:
    """One after the other, against the function as `make serve` serves it."""
    examples = re.findall(r"^\$ (curl .*?\}')$", _section("Use it"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 3
    environment = {"DIFFMEM_STORE": f"file:{tmp_path / 'bucket'}", "DIFFMEM_CACHE": str(tmp_path / "cache")}
    with serving({**environment, "DIFFMEM_SANDBOX": "prefer", **_NO_MODEL}, tmp_path / "log") as client:
        answers = []
        for example in examples:
            command = example.replace("http://127.0.0.1:8080", client.base_url)
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
            answers.append(json.loads(done.stdout))
    remembered, context, run = answers
    assert remembered["status"] == "committed"
    assert "My wife Maya starts at the clinic on Monday." in context["context"]
    assert "Maya" in run["output"]
    assert run["exit_code"] == 0


def test_the_commands_of_the_command_line_exist() -> None:
    named = set(re.findall(r"python -m diffmem ([a-z]+)", README))
    helped = subprocess.run([sys.executable, "-m", "diffmem", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert len(named) > 3
    assert all(re.search(rf"^    {name}\b", helped.stdout, re.MULTILINE) for name in named)
