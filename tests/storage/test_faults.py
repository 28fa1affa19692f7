"""The real client behind a proxy that breaks: what each fault becomes, and what it has done."""

import time
from collections.abc import Iterator

import pytest

from diffmem.errors import BucketBusy, ObjectNotFound, OutcomeUnknown, StorageError, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage import GCSBucket
from tests.storage.worker import finish, start
from tests.support.fault_proxy import (
    BUSY,
    BUSY_FOR_A_SECOND,
    CUT,
    DROPPED,
    HANG,
    HANG_AFTER,
    REPLY_LOST,
    RESET,
    RESET_AFTER,
    TRICKLE,
    UNAVAILABLE,
    UNAVAILABLE_AFTER,
    Fault,
    FaultProxy,
)
from tests.support.gcs_strict import StrictGCS

NAME = "v1/6f1c/m"
LIMIT_SECONDS, SLACK_SECONDS = 0.3, 0.25
WRITES = [
    (BUSY, BucketBusy, False),
    (UNAVAILABLE, OutcomeUnknown, False),
    (UNAVAILABLE_AFTER, OutcomeUnknown, True),
    (DROPPED, OutcomeUnknown, False),
    (REPLY_LOST, OutcomeUnknown, True),
    (RESET, OutcomeUnknown, False),
    (RESET_AFTER, OutcomeUnknown, True),
    (HANG, OutcomeUnknown, False),
    (HANG_AFTER, OutcomeUnknown, True),
]
READS = [BUSY, UNAVAILABLE, DROPPED, REPLY_LOST, RESET, CUT]
ENDLESS = [*READS, HANG, TRICKLE]


def _named(value: object) -> str | None:
    if isinstance(value, Fault):
        return f"{value.kind}-{value.status}-{'after' if value.after else 'before'}"
    return None


@pytest.fixture
def proxy(strict: StrictGCS) -> Iterator[FaultProxy]:
    with FaultProxy(strict.url) as proxy:
        yield proxy


@pytest.fixture
def bucket(proxy: FaultProxy) -> Iterator[GCSBucket]:
    bucket = GCSBucket("memory", endpoint=proxy.url)
    yield bucket
    bucket.close()


@pytest.fixture
def direct(strict: StrictGCS) -> Iterator[GCSBucket]:
    bucket = GCSBucket("memory", endpoint=strict.url)
    yield bucket
    bucket.close()


@pytest.mark.parametrize(("fault", "error", "effect"), WRITES, ids=_named)
def test_a_put_that_fails_says_what_it_may_have_done(
    bucket: GCSBucket, direct: GCSBucket, proxy: FaultProxy, fault: Fault, error: type[StorageError], effect: bool
) -> None:
    proxy.script("POST", fault)
    with pytest.raises(error):
        bucket.put(NAME, b"one", Deadline(LIMIT_SECONDS), if_generation=0)
    assert [found.name for found in direct.list("", Deadline(10))] == [NAME] * effect
    assert proxy.count("POST") == 1


@pytest.mark.parametrize(("fault", "error", "effect"), WRITES, ids=_named)
def test_a_delete_that_fails_says_what_it_may_have_done(
    bucket: GCSBucket, direct: GCSBucket, proxy: FaultProxy, fault: Fault, error: type[StorageError], effect: bool
) -> None:
    generation = direct.put(NAME, b"one", Deadline(10), if_generation=0)
    proxy.script("DELETE", fault)
    with pytest.raises(error):
        bucket.delete(NAME, Deadline(LIMIT_SECONDS), if_generation=generation)
    assert [found.name for found in direct.list("", Deadline(10))] == [NAME] * (not effect)
    assert proxy.count("DELETE") == 1


@pytest.mark.parametrize("fault", [CUT, TRICKLE], ids=_named)
def test_a_put_whose_answer_is_not_whole_may_have_taken_effect(
    bucket: GCSBucket, direct: GCSBucket, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.script("POST", fault)
    with pytest.raises(OutcomeUnknown):
        bucket.put(NAME, b"one", Deadline(LIMIT_SECONDS), if_generation=0)
    assert direct.get(NAME, Deadline(10)).data == b"one"


@pytest.mark.parametrize("fault", READS, ids=_named)
def test_a_read_is_repeated(bucket: GCSBucket, direct: GCSBucket, proxy: FaultProxy, fault: Fault) -> None:
    direct.put(NAME, b"one" * 1000, Deadline(10), if_generation=0)
    proxy.script("GET", fault, None, fault, None)
    assert bucket.get(NAME, Deadline(10)).data == b"one" * 1000
    assert [found.name for found in bucket.list("v1/", Deadline(10))] == [NAME]
    assert proxy.count("GET") == 4


@pytest.mark.parametrize("fault", ENDLESS, ids=_named)
def test_a_read_that_always_fails_ends_with_its_deadline(
    bucket: GCSBucket, direct: GCSBucket, proxy: FaultProxy, fault: Fault
) -> None:
    direct.put(NAME, b"one" * 1000, Deadline(10), if_generation=0)
    bucket.preload()
    proxy.chance("GET", fault, 1.0)
    began = time.monotonic()
    with pytest.raises(StorageUnavailable):
        bucket.get(NAME, Deadline(LIMIT_SECONDS))
    assert time.monotonic() - began < LIMIT_SECONDS + SLACK_SECONDS


def test_a_put_whose_answer_trickles_ends_with_its_deadline(bucket: GCSBucket, proxy: FaultProxy) -> None:
    bucket.preload()
    proxy.script("POST", TRICKLE)
    began = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        bucket.put(NAME, b"one", Deadline(LIMIT_SECONDS), if_generation=0)
    assert time.monotonic() - began < LIMIT_SECONDS + SLACK_SECONDS


def test_a_busy_bucket_says_how_long_to_wait(bucket: GCSBucket, proxy: FaultProxy) -> None:
    proxy.script("POST", BUSY_FOR_A_SECOND, BUSY)
    with pytest.raises(BucketBusy) as asked:
        bucket.put(NAME, b"one", Deadline(10), if_generation=0)
    with pytest.raises(BucketBusy) as silent:
        bucket.put(NAME, b"one", Deadline(10), if_generation=0)
    assert (asked.value.retry_after_seconds, silent.value.retry_after_seconds) == (1.0, None)


def test_a_read_does_not_wait_for_longer_than_it_has(bucket: GCSBucket, proxy: FaultProxy) -> None:
    proxy.chance("GET", Fault(status=429, retry_after="3600"), 1.0)
    with pytest.raises(StorageUnavailable) as error:
        bucket.get(NAME, Deadline(30))
    assert error.value.retry_after_seconds == 3600
    assert proxy.count("GET") == 1


def test_what_the_bucket_answers_clearly_is_asked_once(bucket: GCSBucket, proxy: FaultProxy) -> None:
    with pytest.raises(ObjectNotFound):
        bucket.get(NAME, Deadline(10))
    proxy.script("GET", Fault(status=403), Fault(status=401))
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            bucket.get(NAME, Deadline(10))
    assert proxy.count("GET") == 3


def test_a_bucket_that_is_not_reached_has_written_nothing(strict: StrictGCS) -> None:
    with FaultProxy(strict.url) as proxy:
        bucket = GCSBucket("memory", endpoint=proxy.url)
    with pytest.raises(StorageUnavailable):
        bucket.put(NAME, b"one", Deadline(5), if_generation=0)
    with pytest.raises(StorageUnavailable):
        bucket.get(NAME, Deadline(0.5))
    bucket.close()


def test_the_proxy_takes_the_time_it_is_told_to(strict: StrictGCS) -> None:
    with FaultProxy(strict.url, get_seconds=0.03, put_seconds=0.06) as proxy:
        bucket = GCSBucket("memory", endpoint=proxy.url)
        bucket.preload()
        began = time.monotonic()
        bucket.put(NAME, b"one", Deadline(10), if_generation=0)
        put = time.monotonic()
        bucket.get(NAME, Deadline(10))
        assert put - began >= 0.06
        assert time.monotonic() - put >= 0.03
        bucket.close()


def test_appends_land_once_each_though_replies_are_lost(
    strict: StrictGCS, direct: GCSBucket, proxy: FaultProxy
) -> None:
    direct.put("counter", b"", Deadline(10), if_generation=0)
    for fault, probability in ((REPLY_LOST, 0.15), (UNAVAILABLE_AFTER, 0.05), (RESET, 0.05), (BUSY, 0.05)):
        proxy.chance("POST", fault, probability)
    processes = [start("append", "gs://memory", proxy.url, f"w{number}", "10") for number in range(4)]
    for process in processes:
        finish(process)
    tokens = direct.get("counter", Deadline(10)).data.decode().split()
    assert sorted(tokens) == sorted(f"w{number}-{turn}" for number in range(4) for turn in range(10))
    assert any(seen.fault == REPLY_LOST for seen in proxy.seen)
