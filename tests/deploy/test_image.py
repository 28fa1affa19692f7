"""deploy/Dockerfile and what is sent to the builders; tests/bench/image builds the image for real."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from diffmem.config import VARIABLES
from tests.deploy.settings import settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
PYTHON_OF = {"bookworm": "3.11", "trixie": "3.13"}  # Debian's releases and their python3
OF_THE_PROCESS = {"PATH", "HOME", "PORT", "THREADS", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


def stages() -> list[str]:
    return re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]


def environment() -> dict[str, str]:
    return dict(re.findall(r"([A-Z]+)=(\S+)", DOCKERFILE[DOCKERFILE.index("\nENV ") :].split("\nUSER")[0]))


def test_one_python_everywhere() -> None:
    [release] = re.findall(r"^ARG BASE=debian:(\w+)-slim$", DOCKERFILE, re.MULTILINE)
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    [readme] = set(re.findall(r"Python (3\.\d+)\+", (ROOT / "README.md").read_text()))
    assert {PYTHON_OF[release], settings()["PYTHON_VERSION"], readme} == {required.removeprefix(">=")}


def test_the_pinned_requirements_are_installed_and_nothing_else() -> None:
    assert re.findall(r"pip install (.*?) \\\n", DOCKERFILE) == [
        "--no-cache-dir --no-compile --only-binary=:all: -r /build/requirements.txt"
    ]
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines if line and not line.startswith("#"))


def test_the_image_that_runs_has_the_programs_and_no_build_tools() -> None:
    build, final = stages()
    [installed] = re.findall(r"install -y --no-install-recommends (.*) \\", final)
    assert installed.split() == ["bsdextrautils", "ca-certificates", "file", "gawk", "git", "python3"]
    assert "rm -rf /var/lib/apt/lists/*" in final
    assert "pip install" not in final
    assert "pip uninstall -y -q pip setuptools" in build
    assert build.count("compileall -q -j 0 --invalidation-mode unchecked-hash") == 2


def test_it_runs_as_a_number_and_writes_no_bytecode() -> None:
    assert re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE) == [("10001", "10001")]
    assert environment()["PYTHONDONTWRITEBYTECODE"] == "1"
    assert environment()["HOME"] == "/tmp"


def test_its_threads_are_the_settings_threads_and_its_variables_are_known() -> None:
    assert environment()["THREADS"] == settings()["THREADS"]
    assert set(environment()) <= set(VARIABLES) | OF_THE_PROCESS


def test_it_starts_the_function_of_main() -> None:
    assert 'CMD ["functions-framework", "--target", "diffmem"]' in DOCKERFILE
    assert re.search(r"^def diffmem\(", (ROOT / "main.py").read_text(), re.MULTILINE)


def test_the_docker_context_is_what_the_dockerfile_copies() -> None:
    copied = re.findall(r"^COPY ((?!--from)\S+)", DOCKERFILE, re.MULTILINE)
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(copied) == sorted(allowed)


@pytest.mark.skipif(
    shutil.which("gcloud") is None, reason="gcloud is not installed: what it would upload is not listed"
)
def test_gcloud_uploads_the_function_and_the_recipe_alone(tmp_path: Path) -> None:
    for name in (
        "main.py", "requirements.txt", "diffmem/http/service.py", "diffmem/data/vocabulary", "deploy/Dockerfile",
        ".dockerignore", "deploy/local.env", "deploy/terraform/terraform.tfstate", ".diffmem/memory", "tests/test_x.py",
        "diffmem/__pycache__/config.cpython-311.pyc", ".git/config", ".venv/bin/python", "requirements-dev.txt",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shutil.copy(ROOT / ".gcloudignore", tmp_path)
    command = ["gcloud", "meta", "list-files-for-upload"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(listed) == [
        ".dockerignore", "deploy/Dockerfile", "diffmem/data/vocabulary", "diffmem/http/service.py", "main.py",
        "requirements.txt",
    ]  # fmt: skip
