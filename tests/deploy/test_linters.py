"""What other tools say of the files in deploy/: shellcheck, hadolint, and the schema of Cloud Build."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sysconfig.get_path("scripts"))
SCRIPTS = sorted([*ROOT.glob("deploy/*.sh"), *ROOT.glob("tests/bench/image/*.sh"), ROOT / ".ci" / "run"])


def complaints(program: str, *arguments: str | Path) -> str:
    done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    assert complaints("shellcheck", "--external-sources", script) == ""


def test_hadolint_has_nothing_to_say() -> None:
    assert complaints("hadolint", "deploy/Dockerfile") == ""


def test_the_build_is_one_that_cloud_build_reads() -> None:
    assert complaints("check-jsonschema", "--builtin-schema", "vendor.cloudbuild", "deploy/cloudbuild.yaml") == ""


def test_what_a_person_runs_can_be_run() -> None:
    sourced = {"settings.sh", "prepare.sh", "service.sh"}
    runnable = {path.name for path in SCRIPTS if path.stat().st_mode & 0o111}
    assert runnable == {path.name for path in SCRIPTS} - sourced
