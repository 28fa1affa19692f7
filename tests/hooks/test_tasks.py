import base64
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from diffmem.api.requests import DistillBody
from diffmem.config import Config
from diffmem.errors import ConfigError
from diffmem.limits import Deadline
from diffmem.tasks import Scheduled, Tasks, open_tasks, parse_queue
from tests.support.cloud_tasks import CloudTasks
from tests.support.oidc import Key

QUEUE = "projects/p/locations/europe-west1/queues/distill"
URL = "https://memory.example.com"
API_KEY = "task-key-0123456789"
NOW = datetime(2026, 3, 5, 19, 30, tzinfo=UTC)
GAP = 1800


@pytest.fixture(scope="module")
def key() -> Key:
    return Key("key-1")


@pytest.fixture
def cloud(tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudTasks]:
    with CloudTasks() as cloud:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", cloud.service_account(tmp_path, key))
        yield cloud


def _config(options: str = "", **settings: Any) -> Config:
    return Config(tasks_queue=f"{QUEUE}{options}", **settings)


def _tasks(cloud: CloudTasks, options: str = f"?url={URL}", **settings: Any) -> Tasks:
    return Tasks(parse_queue(_config(options, **settings)), cloud.url)


def test_a_task_is_a_post_of_distill_after_the_silence(cloud: CloudTasks) -> None:
    assert _tasks(cloud).distill_later("alex@example.com", NOW, GAP, Deadline(60)) == Scheduled("created", 200)
    (task,) = cloud.tasks.values()
    assert cloud.queues == [f"/v2/{QUEUE}/tasks"]
    assert task["name"].startswith(f"{QUEUE}/tasks/") and "alex" not in task["name"]
    request = task["httpRequest"]
    assert (request["httpMethod"], request["url"]) == ("POST", f"{URL}/v1/users/alex%40example.com/distill")
    assert request["headers"] == {"Content-Type": "application/json"}
    DistillBody.model_validate_json(base64.b64decode(request["body"]))
    at = datetime.fromisoformat(task["scheduleTime"])
    assert timedelta(seconds=GAP) < at - NOW <= timedelta(seconds=2 * GAP + 60)
    assert [login["iss"] for login in cloud.logins] == ["diffmem@p.iam.gserviceaccount.com"]


def test_a_lively_conversation_makes_one_task_and_every_message_has_one_after_its_silence(cloud: CloudTasks) -> None:
    tasks = _tasks(cloud)
    for minutes in range(0, 120, 5):
        said_at = NOW + timedelta(minutes=minutes)
        assert tasks.distill_later("alex", said_at, GAP, Deadline(60)).outcome in ("created", "exists")
        times = [datetime.fromisoformat(task["scheduleTime"]) for task in cloud.tasks.values()]
        assert any(timedelta(seconds=GAP) < at - said_at for at in times)
    assert len(cloud.tasks) == 4
    assert len(cloud.logins) == 1


def test_the_task_carries_a_token_of_the_service_account(cloud: CloudTasks) -> None:
    _tasks(cloud, f"?url={URL}/&service_account=t@p.example.com", auth="iam").distill_later(
        "alex", NOW, GAP, Deadline(60)
    )
    (task,) = cloud.tasks.values()
    assert task["httpRequest"]["oidcToken"] == {"serviceAccountEmail": "t@p.example.com", "audience": URL}
    assert task["httpRequest"]["url"] == f"{URL}/v1/users/alex/distill"


def test_the_task_carries_the_named_key(cloud: CloudTasks) -> None:
    keys = {"auth": "key", "api_keys": f"other:other-key-0123456789:*, tasks:{API_KEY}:wa-*"}
    _tasks(cloud, f"?url={URL}&key=tasks", **keys).distill_later("alex", NOW, GAP, Deadline(60))
    (task,) = cloud.tasks.values()
    assert task["httpRequest"]["headers"]["Authorization"] == f"Bearer {API_KEY}"


def test_without_a_configured_address_the_called_one_is_used(cloud: CloudTasks) -> None:
    _tasks(cloud, "").distill_later("alex", NOW, GAP, Deadline(60), base_url="https://called.example.com")
    (task,) = cloud.tasks.values()
    assert task["httpRequest"]["url"] == "https://called.example.com/v1/users/alex/distill"


@pytest.mark.parametrize("status", [400, 403, 404, 429, 503])
def test_a_refusal_is_an_outcome(cloud: CloudTasks, status: int) -> None:
    cloud.status = status
    assert _tasks(cloud).distill_later("alex", NOW, GAP, Deadline(60)) == Scheduled("refused", status)


def test_a_queue_that_stalls_ends_within_the_deadline(cloud: CloudTasks) -> None:
    tasks = _tasks(cloud)
    tasks.distill_later("alex", NOW, GAP, Deadline(60))
    cloud.stalls = True
    began = time.monotonic()
    assert tasks.distill_later("alex", NOW, GAP, Deadline(0.3)) == Scheduled("unreachable")
    assert time.monotonic() - began < 2


def test_credentials_that_are_none_are_an_outcome(
    cloud: CloudTasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.json").write_text("{}")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "broken.json"))
    assert _tasks(cloud).distill_later("alex", NOW, GAP, Deadline(60)) == Scheduled("unreachable")


def test_a_long_gap_does_not_wait_longer_than_a_task_may(cloud: CloudTasks) -> None:
    _tasks(cloud).distill_later("alex", NOW, 20 * 24 * 3600, Deadline(60))
    (task,) = cloud.tasks.values()
    assert datetime.fromisoformat(task["scheduleTime"]) - NOW < timedelta(days=30)


@pytest.mark.parametrize(
    ("options", "settings", "why"),
    [
        ("/tasks/x", {}, "must be projects"),
        ("?colour=red", {}, "'colour'"),
        ("?url=ftp://x", {}, "url must be"),
        ("?key=tasks", {"auth": "key", "api_keys": f"tasks:{API_KEY}:*"}, "key needs the option url"),
        (f"?url={URL}", {"auth": "key", "api_keys": f"tasks:{API_KEY}:*"}, "needs the option key"),
        ("?service_account=t@p.example.com", {}, "service_account needs the option url"),
        (f"?url={URL}&key=nobody", {"auth": "key", "api_keys": f"tasks:{API_KEY}:*"}, "'nobody'"),
        (f"?url={URL}", {"auth": "iam"}, "needs the option service_account"),
    ],
)
def test_a_mistake_is_named_and_no_key_is_shown(options: str, settings: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        open_tasks(_config(options, **settings))
    assert API_KEY not in str(caught.value)


def test_no_queue_is_none_and_a_queue_does_not_show_its_key() -> None:
    assert open_tasks(Config()) is None
    config = _config(f"?url={URL}&key=tasks", auth="key", api_keys=f"tasks:{API_KEY}:*")
    assert API_KEY not in repr(parse_queue(config))
    assert json.dumps(QUEUE) and isinstance(open_tasks(config), Tasks)
