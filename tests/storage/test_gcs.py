"""What only the bucket of Cloud Storage promises: requests, connections, processes, settings."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from diffmem.errors import CorruptObject, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage import GCSBucket, Retention
from tests.storage.worker import ROOT, finish, start
from tests.support.gcs_strict import Settings, StrictGCS

NAME = "v1/6f1c/m"
WEEK_SECONDS = 7 * 24 * 3600


def test_each_call_is_one_request(strict: StrictGCS, deadline: Deadline) -> None:
    bucket = GCSBucket("memory", "a/b", endpoint=strict.url)
    generation = bucket.put(NAME, b"one", deadline, if_generation=0)
    bucket.get(NAME, deadline)
    bucket.get_if_changed(NAME, generation, deadline)
    bucket.get_if_changed(NAME, generation + 1, deadline)
    list(bucket.list("v1/", deadline))
    bucket.retention(deadline)
    bucket.delete(NAME, deadline)
    bucket.close()
    assert [request.split("?")[0] for request in strict.requests] == [
        "POST /upload/storage/v1/b/memory/o",
        "GET /download/storage/v1/b/memory/o/a%2Fb%2Fv1%2F6f1c%2Fm",
        "GET /download/storage/v1/b/memory/o/a%2Fb%2Fv1%2F6f1c%2Fm",
        "GET /download/storage/v1/b/memory/o/a%2Fb%2Fv1%2F6f1c%2Fm",
        "GET /storage/v1/b/memory/o",
        "GET /storage/v1/b/memory",
        "DELETE /storage/v1/b/memory/o/a%2Fb%2Fv1%2F6f1c%2Fm",
    ]


def test_a_prefix_keeps_objects_apart(strict: StrictGCS, deadline: Deadline) -> None:
    one, two = GCSBucket("memory", "one", endpoint=strict.url), GCSBucket("memory", "on", endpoint=strict.url)
    one.put(NAME, b"one", deadline, if_generation=0)
    two.put(NAME, b"two", deadline, if_generation=0)
    assert [found.name for found in one.list("", deadline)] == [NAME]
    assert two.get(NAME, deadline).data == b"two"
    assert set(strict.buckets["memory"]) == {f"one/{NAME}", f"on/{NAME}"}
    one.close()
    two.close()


def test_an_object_that_does_not_match_its_checksum_is_corrupt(strict: StrictGCS) -> None:
    bucket = GCSBucket("memory", endpoint=strict.url)
    bucket.put(NAME, b"one", Deadline(10), if_generation=0)
    strict.damage("memory", NAME)
    with pytest.raises(CorruptObject, match=NAME):
        bucket.get(NAME, Deadline(0.2))
    bucket.close()


def test_parallel_reads_keep_their_connections(strict: StrictGCS, deadline: Deadline) -> None:
    bucket = GCSBucket("memory", endpoint=strict.url)
    bucket.put(NAME, b"one", deadline, if_generation=0)
    together = Barrier(24)

    def read(number: int) -> None:
        together.wait()
        bucket.get(NAME, deadline)

    with ThreadPoolExecutor(24) as threads:
        for _ in range(4):
            list(threads.map(read, range(24)))
    assert len(strict.ports) <= 24
    bucket.close()


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ({}, []),
        ({"softDeletePolicy": {"retentionDurationSeconds": "0"}, "versioning": {"enabled": False}}, []),
        ({"softDeletePolicy": {"retentionDurationSeconds": "604800"}}, [("soft_delete", WEEK_SECONDS)]),
        ({"versioning": {"enabled": True}}, [("versioning", None)]),
        ({"retentionPolicy": {"retentionPeriod": "3600"}}, [("retention_policy", 3600)]),
        ({"defaultEventBasedHold": True}, [("retention_policy", None)]),
        (
            {"versioning": {"enabled": True}, "softDeletePolicy": {"retentionDurationSeconds": "604800"}},
            [("soft_delete", WEEK_SECONDS), ("versioning", None)],
        ),
    ],
)
def test_retention_is_what_the_settings_say(
    found: Settings, kept: list[tuple[str, int | None]], deadline: Deadline
) -> None:
    with StrictGCS("memory", settings=found) as gcs:
        bucket = GCSBucket("memory", endpoint=gcs.url)
        assert [(row.kind, row.seconds) for row in bucket.retention(deadline)] == kept
        bucket.close()


def test_settings_that_may_not_be_read_are_not_known(deadline: Deadline) -> None:
    with StrictGCS("memory", settings=None) as gcs:
        bucket = GCSBucket("memory", endpoint=gcs.url)
        (row,) = bucket.retention(deadline)
        assert row == Retention("soft_delete", "not known: storage.buckets.get is not granted", None)
        bucket.close()


def test_a_bucket_that_does_not_exist_is_not_an_empty_one(strict: StrictGCS, deadline: Deadline) -> None:
    bucket = GCSBucket("other", endpoint=strict.url)
    for call in (
        lambda: bucket.get(NAME, deadline),
        lambda: bucket.put(NAME, b"one", deadline, if_generation=0),
        lambda: list(bucket.list("", deadline)),
        lambda: bucket.delete(NAME, deadline),
        lambda: bucket.retention(deadline),
    ):
        with pytest.raises(StorageUnavailable):
            call()
    assert len(strict.requests) == 5
    bucket.close()


def test_the_emulator_of_the_environment_is_used(
    strict: StrictGCS, deadline: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", strict.url)
    bucket = GCSBucket("memory")
    bucket.put(NAME, b"one", deadline, if_generation=0)
    assert bucket.get(NAME, deadline).data == b"one"
    bucket.close()


def test_without_credentials_the_bucket_is_unavailable(
    deadline: Deadline, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", f"{tmp_path}/secret.json")
    bucket = GCSBucket("memory")
    for call in (bucket.preload, lambda: bucket.put(NAME, b"one", deadline, if_generation=0)):
        with pytest.raises(StorageUnavailable) as error:
            call()
        assert "secret" not in str(error.value)


def test_a_fork_does_not_share_connections(strict: StrictGCS, deadline: Deadline) -> None:
    bucket = GCSBucket("memory", endpoint=strict.url)
    bucket.put("v1/m", b"one", deadline, if_generation=0)
    bucket.close()
    strict.ports.clear()
    finish(start("fork", "gs://memory", strict.url))
    assert len(strict.requests) == 4
    assert len(strict.ports) == 2


def test_the_client_is_imported_at_the_first_call() -> None:
    code = (
        "import sys, diffmem.storage as storage; bucket = storage.open_bucket('gs://memory/prefix'); "
        "assert not {'google.cloud.storage', 'google.auth', 'requests', 'urllib3'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
