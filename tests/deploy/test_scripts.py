"""The deploy scripts, run for real against a stand-in for gcloud, and every flag compared with gcloud's own table."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.terraform import named
from tests.support.gcloud import Gcloud, flag, known_flags, words

DEPLOY = Path(__file__).parents[2] / "deploy"
SCRIPTS = ("cloud-run.sh", "functions.sh")
KEYS = "app:0123456789abcdef:*"
BOTH_KEYS = f"{KEYS},next:fedcba9876543210:*"
TABLE = Path("/usr/lib/google-cloud-sdk/data/cli/gcloud_completions.py")


def project(directory: Path) -> Gcloud:
    """The stand-in, in a clone that has the scripts and a function of no lines."""
    shutil.copytree(
        DEPLOY, directory / "deploy", ignore=shutil.ignore_patterns(".terraform", "*.tfstate*", "local.env")
    )
    (directory / "diffmem").mkdir()
    for name in ("main.py", "requirements.txt", "diffmem/__init__.py"):
        (directory / name).touch()
    return Gcloud(directory)


def run(gcloud: Gcloud, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = gcloud.environment(**{"PROJECT": "demo", **variables})
    command = [str(gcloud.directory / "deploy" / script), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def deployment(gcloud: Gcloud) -> tuple[str, ...]:
    [call] = [call for call in gcloud.calls() if words(call)[:2] == ("run", "deploy")]
    return call


def changes(gcloud: Gcloud) -> list[tuple[str, ...]]:
    return [words(call)[:2] for call in gcloud.calls(writes=True)]


@pytest.fixture(params=SCRIPTS)
def deployed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Gcloud, str]:
    """A project after its first deployment, its calls forgotten, and the script that made it."""
    gcloud, script = project(tmp_path), request.param
    done = run(gcloud, script, INVOKERS="user:a@example.com,user:b@example.com", OPENAI_API_KEY="sk-model")
    assert (done.returncode, done.stdout) == (0, "https://diffmem.example\n"), done.stderr
    gcloud.forget_calls()
    return gcloud, script


@pytest.fixture(scope="module")
def with_keys(tmp_path_factory: pytest.TempPathFactory) -> Gcloud:
    """A project after one deployment with AUTH=key and every secret; only to be looked at."""
    gcloud = project(tmp_path_factory.mktemp("with-keys"))
    secrets = {"DIFFMEM_API_KEYS": KEYS, "OPENAI_API_KEY": "sk-model", "DIFFMEM_HOOKS": '{"a": "sk-hook"}'}
    assert run(gcloud, "cloud-run.sh", AUTH="key", **secrets).returncode == 0
    return gcloud


def test_a_second_run_changes_nothing(deployed: tuple[Gcloud, str]) -> None:
    gcloud, script = deployed
    before = gcloud.things()
    done = run(gcloud, script, INVOKERS="user:a@example.com,user:b@example.com", OPENAI_API_KEY="sk-model")
    assert (done.returncode, done.stdout) == (0, "https://diffmem.example\n"), done.stderr
    assert (gcloud.calls(writes=True), gcloud.things()) == ([], before)


def test_what_changed_is_deployed_and_nothing_is_created_again(deployed: tuple[Gcloud, str]) -> None:
    gcloud, script = deployed
    (gcloud.directory / "main.py").write_text("changed = True\n")
    run(gcloud, script, THREADS="8")
    built = [("builds", "submit")] if script == "cloud-run.sh" else []
    assert changes(gcloud) == [*built, ("run", "deploy")]
    assert flag(deployment(gcloud), "concurrency") == "8"


def test_a_forced_run_deploys_and_keeps_the_secret_that_names_objects(deployed: tuple[Gcloud, str]) -> None:
    gcloud, script = deployed
    [secret] = gcloud.things()["secrets diffmem-id-secret"]
    run(gcloud, script, FORCE="1")
    assert changes(gcloud) == [("run", "deploy")]
    assert gcloud.things()["secrets diffmem-id-secret"] == [secret]
    assert "DIFFMEM_ID_SECRET=diffmem-id-secret:1" in flag(deployment(gcloud), "set-secrets").split(",")


def test_destroy_takes_the_service_and_says_what_it_keeps(deployed: tuple[Gcloud, str]) -> None:
    gcloud, _ = deployed
    kept = {name: made for name, made in gcloud.things().items() if name != "run services diffmem"}
    done = run(gcloud, "destroy.sh")
    assert (done.returncode, gcloud.things()) == (0, kept), done.stderr
    assert "gs://demo-diffmem" in done.stdout
    assert "diffmem-id-secret" in done.stdout
    assert run(gcloud, "destroy.sh").returncode == 0


def test_a_rotated_key_is_stored_and_deployed(tmp_path: Path) -> None:
    gcloud = project(tmp_path)
    run(gcloud, "functions.sh", AUTH="key", DIFFMEM_API_KEYS=KEYS)
    gcloud.forget_calls()
    run(gcloud, "functions.sh", AUTH="key", DIFFMEM_API_KEYS=BOTH_KEYS)
    assert changes(gcloud) == [("secrets", "versions"), ("run", "deploy")]
    assert gcloud.things()["secrets diffmem-api-keys"] == [KEYS, BOTH_KEYS]


def test_keys_are_asked_for_before_anything_is_deployed(tmp_path: Path) -> None:
    gcloud = project(tmp_path)
    done = run(gcloud, "functions.sh", AUTH="key")
    assert done.returncode == 1
    assert "DIFFMEM_API_KEYS" in done.stderr
    assert "run services diffmem" not in gcloud.things()


def test_without_a_project_nothing_is_called(tmp_path: Path) -> None:
    gcloud = project(tmp_path)
    done = run(gcloud, "cloud-run.sh", PROJECT="")
    assert done.returncode != 0
    assert "PROJECT" in done.stderr
    assert gcloud.calls() == []


@pytest.mark.parametrize("what", ["secrets versions describe", "storage buckets describe", "run services describe"])
def test_a_right_that_is_missing_is_not_taken_for_a_thing_that_is_missing(what: str, tmp_path: Path) -> None:
    gcloud = project(tmp_path)
    done = run(gcloud, "functions.sh", OPENAI_API_KEY="sk-model", GCLOUD_FAILS=what)
    assert done.returncode == 1
    assert "PERMISSION_DENIED" in done.stderr
    assert not [name for name in gcloud.things() if name.startswith(("run services", f"{what.rsplit(' ', 1)[0]} "))]


def test_the_environment_wins_over_the_file_of_ones_own_and_that_over_the_defaults(tmp_path: Path) -> None:
    gcloud = project(tmp_path)
    (tmp_path / "deploy" / "local.env").write_text(
        "PROJECT=own\n# a comment\nTHREADS=8\nMEMORY=2Gi\nTIME_ZONE=Europe/Berlin\n"
    )
    assert run(gcloud, "functions.sh", PROJECT="", THREADS="6").returncode == 0
    call = deployment(gcloud)
    assert [flag(call, name) for name in ("project", "concurrency", "memory", "cpu")] == ["own", "6", "2Gi", "1"]


def test_no_secret_is_ever_on_a_command_line(with_keys: Gcloud) -> None:
    [made] = with_keys.things()["secrets diffmem-id-secret"]
    assert len(made) == 64
    spoken = "\n".join(word for call in with_keys.calls() for word in call)
    assert not any(secret in spoken for secret in (KEYS, "sk-model", "sk-hook", made))


def test_the_service_is_what_was_promised(with_keys: Gcloud) -> None:
    call = deployment(with_keys)
    told = flag(call, "set-env-vars").removeprefix("^|^").split("|")
    assert {"--execution-environment=gen2", "--cpu=1", "--memory=1Gi", "--cpu-boost", "--min-instances=0"} <= set(call)
    assert {f"THREADS={flag(call, 'concurrency')}", f"CLOUD_RUN_TIMEOUT_SECONDS={flag(call, 'timeout')}"} <= set(told)
    assert {"DIFFMEM_STORE=gs://demo-diffmem", "DIFFMEM_AUTH=key"} <= set(told)
    assert "@sha256:" in flag(call, "image")


def test_the_bucket_keeps_nothing_and_shows_nothing(with_keys: Gcloud) -> None:
    [call] = [call for call in with_keys.calls() if words(call)[:3] == ("storage", "buckets", "create")]
    assert {"--uniform-bucket-level-access", "--public-access-prevention", "--soft-delete-duration=0"} <= set(call)
    assert flag(call, "location") == "europe-west1"


def test_the_function_names_a_base_image_that_has_git_and_the_network_admits_named_callers_alone(
    tmp_path: Path,
) -> None:
    gcloud = project(tmp_path)
    run(gcloud, "functions.sh")
    call = deployment(gcloud)
    assert {"--source=.", "--function=diffmem", "--base-image=google-22-full/python311"} <= set(call)
    assert {"--no-allow-unauthenticated", "--invoker-iam-check"} <= set(call)


@pytest.mark.skipif(
    not TABLE.exists(), reason="gcloud is not installed: its table of flags is not here to compare with"
)
def test_gcloud_knows_every_command_and_flag(with_keys: Gcloud, tmp_path: Path) -> None:
    gcloud = project(tmp_path)
    run(gcloud, "functions.sh", INVOKERS="user:a@example.com")
    run(gcloud, "destroy.sh")
    tree = known_flags(TABLE)
    calls = [*with_keys.calls(), *gcloud.calls()]
    assert [unknown for call in calls if (unknown := _unknown(tree, call))] == []


def _unknown(tree: Any, call: tuple[str, ...]) -> list[str]:
    command, flags = tree, dict(tree["flags"])
    for word in words(call):
        if word not in command["commands"]:
            break
        command = command["commands"][word]
        flags |= command["flags"]
    if command["commands"]:
        return [f"no command {' '.join(words(call))}"]
    names = [word.split("=")[0] for word in call if word.startswith("--")]
    return [name for name in names if name not in flags and name.replace("--no-", "--", 1) not in flags]


RECORDER = """#!/bin/sh
echo "terraform $*" >>"$RECORD"
env | grep '^TF_VAR_' | sort >"$RECORD.variables"
[ "$2" != init ] || mkdir deploy/terraform/.terraform
"""


@pytest.fixture
def recorder(tmp_path: Path) -> dict[str, str]:
    """Variables that put a program in Terraform's place, which notes its arguments and the variables it is handed."""
    program = tmp_path / "recorder"
    program.write_text(RECORDER)
    program.chmod(0o755)
    return {"TERRAFORM": str(program), "RECORD": str(tmp_path / "record")}


def test_terraform_is_handed_every_setting_and_every_secret(tmp_path: Path, recorder: dict[str, str]) -> None:
    gcloud = project(tmp_path)
    secrets = {"OPENAI_API_KEY": "sk-model", "DIFFMEM_API_KEYS": KEYS, "OPENAI_API_KEY_VERSION": "1"}
    done = run(gcloud, "terraform.sh", "apply", "-auto-approve", **recorder, **secrets)
    assert done.returncode == 0, done.stderr
    calls = Path(recorder["RECORD"]).read_text().splitlines()
    assert calls == [
        "terraform -chdir=deploy/terraform init -input=false",
        "terraform -chdir=deploy/terraform apply -auto-approve",
    ]
    handed = dict(line.split("=", 1) for line in Path(recorder["RECORD"] + ".variables").read_text().splitlines())
    assert set(handed) >= {f"TF_VAR_{name}" for name in named("variable")}
    assert (handed["TF_VAR_openai_api_key"], handed["TF_VAR_api_keys"]) == ("sk-model", KEYS)
    assert handed["TF_VAR_bucket"] == "demo-diffmem"
    assert "@sha256:" in handed["TF_VAR_image"]
    assert len(handed["TF_VAR_id_secret"]) == 64


def test_terraform_destroy_builds_nothing_and_says_what_it_keeps(tmp_path: Path, recorder: dict[str, str]) -> None:
    gcloud = project(tmp_path)
    done = run(gcloud, "terraform.sh", "destroy", **recorder)
    assert done.returncode == 0, done.stderr
    assert "demo-diffmem" in done.stderr
    assert "diffmem-id-secret" in done.stderr
    assert gcloud.calls() == []
