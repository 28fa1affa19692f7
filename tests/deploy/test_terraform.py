"""deploy/terraform, read without its provider: its form, its arguments, its promises, the settings it shares."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from diffmem.config import VARIABLES, Config
from diffmem.tasks import parse_queue
from tests.deploy.extract_schema import SCHEMA
from tests.deploy.settings import settings
from tests.deploy.terraform import DIRECTORY, Block, named, resources, terraform_block, unquoted

FRAMEWORK = {"THREADS", "CLOUD_RUN_TIMEOUT_SECONDS"}
META = {"count", "for_each", "depends_on", "provider"}
TERRAFORM = shutil.which("terraform") or shutil.which("tofu")
BUCKET = "google_storage_bucket", "memory"
SERVICE = "google_cloud_run_v2_service", "function"
RESOURCES = resources()


@pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is installed: the format is not checked")
def test_the_files_are_in_the_one_format() -> None:
    done = subprocess.run(
        [str(TERRAFORM), f"-chdir={DIRECTORY}", "fmt", "-check", "-diff"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("key", RESOURCES, ids=".".join)
def test_the_provider_knows_every_argument_and_block(key: tuple[str, str]) -> None:
    schema = json.loads(SCHEMA.read_text())["resources"]
    assert list(_unknown(RESOURCES[key], schema[key[0]], META)) == []


def test_the_provider_knows_what_is_looked_up() -> None:
    schema = json.loads(SCHEMA.read_text())["data"]
    faults = [fault for (kind, _), block in resources("data").items() for fault in _unknown(block, schema[kind], META)]
    assert faults == []


def _unknown(block: Block, schema: dict[str, Any], meta: set[str]) -> Iterator[str]:
    given = {*block.arguments, *(name for name, _ in block.blocks)}
    yield from (f"{name} is no argument" for name in set(block.arguments) - set(schema["attributes"]) - meta)
    yield from (f"{name} is missing" for name in set(schema["required"]) - given)
    for name, inner in block.blocks:
        if name in schema["blocks"]:
            yield from (f"{name}: {fault}" for fault in _unknown(inner, schema["blocks"][name], set()))
        elif not (meta and name == "lifecycle"):
            yield f"{name} is no block"


def test_terraform_and_the_provider_are_pinned_to_what_was_checked() -> None:
    pinned = terraform_block().inner("required_providers").arguments["google"]
    assert unquoted(pinned["version"]) == json.loads(SCHEMA.read_text())["version"]
    assert unquoted(terraform_block().arguments["required_version"]) == "~> 1.11"


def test_every_variable_is_a_setting_or_the_value_of_a_secret() -> None:
    variables = named("variable")
    secrets = {name for name, block in variables.items() if block.arguments.get("ephemeral")}
    assert secrets == {"openai_api_key", "api_keys", "hooks", "id_secret"}
    of_functions_alone = {"PYTHON_VERSION"}
    assert {name.upper() for name in variables} - {name.upper() for name in secrets} == set(
        settings()
    ) - of_functions_alone
    assert all("default" not in block.arguments for name, block in variables.items() if name not in secrets)


def test_every_variable_is_used() -> None:
    text = "".join(path.read_text() for path in DIRECTORY.glob("*.tf"))
    assert [name for name in named("variable") if not re.search(rf"\bvar\.{name}\b", text)] == []


def test_diffmem_knows_every_variable_it_is_given() -> None:
    [told] = re.findall(r"environment = \{(.*?)\n  \}", (DIRECTORY / "service.tf").read_text(), re.DOTALL)
    names = set(re.findall(r"^ +([A-Z_]+) +=", told, re.MULTILINE))
    secret = set(re.findall(r'"(OPENAI_[A-Z_]+|DIFFMEM_[A-Z_]+)"', (DIRECTORY / "service.tf").read_text()))
    assert len(names) == 13
    assert names | secret | {"DIFFMEM_ID_SECRET"} <= set(VARIABLES) | FRAMEWORK


@pytest.mark.parametrize(
    ("auth", "credentials"), [("iam", "service_account=caller@demo&audience=diffmem"), ("key", "key=tasks")]
)
def test_diffmem_reads_the_queue_it_is_given(auth: str, credentials: str) -> None:
    text = (DIRECTORY / "calls.tf").read_text()
    [form] = re.findall(rf'^    {auth} = "&(.*)"$', text, re.MULTILINE)
    made = form.replace("${google_service_account.caller.email}", "caller@demo").replace("${local.audience}", "diffmem")
    assert made.replace("${var.tasks_key}", "tasks") == credentials
    environment = {
        "DIFFMEM_AUTH": auth,
        "DIFFMEM_API_KEYS": "tasks:0123456789abcdef:*",
        "DIFFMEM_TASKS_QUEUE": f"projects/p/locations/l/queues/q?url=https://diffmem-1.l.run.app&{credentials}",
    }
    queue = parse_queue(Config.from_environment(environment))
    assert (queue.service_account, queue.key) in {("caller@demo", None), (None, "0123456789abcdef")}


def test_no_value_of_a_secret_reaches_the_state() -> None:
    versions = {
        name: block for (kind, name), block in RESOURCES.items() if kind == "google_secret_manager_secret_version"
    }
    assert {frozenset(block.arguments) & {"secret_data", "secret_data_wo"} for block in versions.values()} == {
        frozenset({"secret_data_wo"})
    }


def test_the_bucket_is_what_was_promised() -> None:
    bucket = RESOURCES[BUCKET]
    assert unquoted(bucket.arguments["location"]) == "${var.region}"
    assert unquoted(bucket.arguments["public_access_prevention"]) == "enforced"
    assert bucket.arguments["uniform_bucket_level_access"] is True
    assert bucket.arguments["force_destroy"] is False
    assert unquoted(bucket.arguments["deletion_policy"]) == "ABANDON"
    assert bucket.inner("soft_delete_policy").arguments["retention_duration_seconds"] == 0
    assert bucket.inner("versioning").arguments["enabled"] is False


def test_the_service_is_what_was_promised() -> None:
    template = RESOURCES[SERVICE].inner("template")
    machine = template.inner("containers").inner("resources").arguments
    assert unquoted(template.arguments["execution_environment"]) == "EXECUTION_ENVIRONMENT_GEN2"
    assert template.arguments["max_instance_request_concurrency"] == "${var.threads}"
    assert (machine["startup_cpu_boost"], machine["cpu_idle"]) == (True, True)
    assert {name: settings()[name] for name in ("CPU", "MEMORY", "MIN_INSTANCES")} == {
        "CPU": "1", "MEMORY": "1Gi", "MIN_INSTANCES": "0",
    }  # fmt: skip


def test_the_function_reaches_its_bucket_its_secrets_and_its_queue_alone() -> None:
    granted = {
        (kind, unquoted(block.arguments["role"]))
        for (kind, _), block in RESOURCES.items()
        if kind.endswith("_iam_member") and "service_account.function" in str(block.arguments["member"])
    }
    assert granted == {
        ("google_storage_bucket_iam_member", "${each.value}"),
        ("google_secret_manager_secret_iam_member", "roles/secretmanager.secretAccessor"),
        ("google_cloud_tasks_queue_iam_member", "roles/cloudtasks.enqueuer"),
        ("google_service_account_iam_member", "roles/iam.serviceAccountUser"),
    }
    roles = str(RESOURCES["google_storage_bucket_iam_member", "function"].arguments["for_each"])
    assert re.findall(r"roles/[\w.]+", roles) == ["roles/storage.objectUser", "roles/storage.legacyBucketReader"]
    assert not [kind for kind, _ in RESOURCES if kind.startswith("google_project_iam")]
