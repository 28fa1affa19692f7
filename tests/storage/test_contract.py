"""What every bucket promises, on every bucket there is."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmem.errors import GenerationMismatch, ObjectNotFound, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage import Bucket
from tests.storage.conftest import Backend
from tests.storage.worker import finish, start

NAME = "v1/6f1c/m"
NAMES = st.lists(st.text("aAzß.-_%@~ é/", min_size=1, max_size=6), min_size=1, max_size=4, unique=True)


def names(bucket: Bucket, prefix: str, deadline: Deadline) -> list[str]:
    return [listed.name for listed in bucket.list(prefix, deadline)]


@pytest.mark.parametrize("data", [b"", b"\x00\r\n--\xff", b"x" * 300_000], ids=["empty", "bytes", "large"])
def test_an_object_reads_as_it_was_put(bucket: Bucket, deadline: Deadline, data: bytes) -> None:
    generation = bucket.put(NAME, data, deadline, if_generation=0)
    found = bucket.get(NAME, deadline)
    assert (found.data, found.generation) == (data, generation)


def test_an_object_too_large_for_one_request_reads_as_it_was_put(bucket: Bucket, deadline: Deadline) -> None:
    data = b"0123456789abcdef" * (9 * 65536)
    generation = bucket.put(NAME, data, deadline, if_generation=0)
    found = bucket.get(NAME, deadline)
    assert found.generation == generation
    assert found.data == data


def test_an_object_too_large_for_one_request_has_a_precondition_too(backend: Backend, deadline: Deadline) -> None:
    if not backend.strict:
        pytest.skip("fake-gcs-server ignores preconditions on a resumable upload")
    backend.bucket.put(NAME, b"one", deadline, if_generation=0)
    with pytest.raises(GenerationMismatch):
        backend.bucket.put(NAME, b"x" * (9 << 20), deadline, if_generation=0)
    assert backend.bucket.get(NAME, deadline).data == b"one"


def test_what_is_not_there_is_not_found(bucket: Bucket, deadline: Deadline) -> None:
    bucket.put("v1/other", b"x", deadline, if_generation=0)
    with pytest.raises(ObjectNotFound):
        bucket.get(NAME, deadline)
    with pytest.raises(ObjectNotFound):
        bucket.get_if_changed(NAME, 7, deadline)
    with pytest.raises(ObjectNotFound):
        bucket.delete(NAME, deadline)
    with pytest.raises(ObjectNotFound):
        bucket.delete(NAME, deadline, if_generation=7)


def test_an_object_that_has_not_changed_is_not_read_again(backend: Backend, deadline: Deadline) -> None:
    if not backend.strict:
        pytest.skip("fake-gcs-server ignores ifGenerationNotMatch")
    generation = backend.bucket.put(NAME, b"one", deadline, if_generation=0)
    assert backend.bucket.get_if_changed(NAME, generation, deadline) is None


def test_an_object_that_has_changed_is_read(bucket: Bucket, deadline: Deadline) -> None:
    first = bucket.put(NAME, b"one", deadline, if_generation=0)
    second = bucket.put(NAME, b"two", deadline, if_generation=first)
    found = bucket.get_if_changed(NAME, first, deadline)
    assert found and (found.data, found.generation) == (b"two", second)


def test_the_first_put_wins_against_a_second_first_put(bucket: Bucket, deadline: Deadline) -> None:
    bucket.put(NAME, b"one", deadline, if_generation=0)
    with pytest.raises(GenerationMismatch):
        bucket.put(NAME, b"two", deadline, if_generation=0)
    assert bucket.get(NAME, deadline).data == b"one"


def test_a_put_on_an_old_generation_writes_nothing(bucket: Bucket, deadline: Deadline) -> None:
    first = bucket.put(NAME, b"one", deadline, if_generation=0)
    second = bucket.put(NAME, b"two", deadline, if_generation=first)
    with pytest.raises(GenerationMismatch):
        bucket.put(NAME, b"three", deadline, if_generation=first)
    assert bucket.get(NAME, deadline).data == b"two"
    assert bucket.get(NAME, deadline).generation == second


def test_a_put_on_a_generation_of_nothing_writes_nothing(bucket: Bucket, deadline: Deadline) -> None:
    with pytest.raises(GenerationMismatch):
        bucket.put(NAME, b"one", deadline, if_generation=7)
    assert names(bucket, "", deadline) == []


def test_a_put_without_a_precondition_replaces_what_is_there(bucket: Bucket, deadline: Deadline) -> None:
    bucket.put(NAME, b"one", deadline, if_generation=None)
    bucket.put(NAME, b"two", deadline, if_generation=None)
    assert bucket.get(NAME, deadline).data == b"two"


def test_generations_grow_over_a_delete(bucket: Bucket, deadline: Deadline) -> None:
    generations = []
    for _ in range(5):
        generations.append(bucket.put(NAME, b"x", deadline, if_generation=0))
        generations.append(bucket.put(NAME, b"x", deadline, if_generation=generations[-1]))
        bucket.delete(NAME, deadline)
    assert generations == sorted(set(generations))
    assert generations[0] > 0


def test_a_delete_removes_the_generation_it_names(bucket: Bucket, deadline: Deadline) -> None:
    generation = bucket.put(NAME, b"one", deadline, if_generation=0)
    bucket.delete(NAME, deadline, if_generation=generation)
    with pytest.raises(ObjectNotFound):
        bucket.get(NAME, deadline)


def test_a_delete_of_an_old_generation_removes_nothing(backend: Backend, deadline: Deadline) -> None:
    if not backend.strict:
        pytest.skip("fake-gcs-server ignores preconditions on a delete")
    first = backend.bucket.put(NAME, b"one", deadline, if_generation=0)
    backend.bucket.put(NAME, b"two", deadline, if_generation=first)
    with pytest.raises(GenerationMismatch):
        backend.bucket.delete(NAME, deadline, if_generation=first)
    assert backend.bucket.get(NAME, deadline).data == b"two"


def test_a_listing_has_every_object_under_its_prefix_by_name(bucket: Bucket, deadline: Deadline) -> None:
    put = {}
    for name in ("v1/b/p/1", "v1/a/m", "v1/a/p/2.pack", "v1/a/p/10.idx", "v1/a-b", "v1/a0", "v2/a/m", "v1/a"):
        put[name] = bucket.put(name, name.encode(), deadline, if_generation=0)
    listed = {found.name: found for found in bucket.list("", deadline)}
    assert list(listed) == sorted(put)
    assert {name: (found.generation, found.size) for name, found in listed.items()} == {
        name: (generation, len(name)) for name, generation in put.items()
    }
    assert names(bucket, "v1/a/", deadline) == ["v1/a/m", "v1/a/p/10.idx", "v1/a/p/2.pack"]
    assert names(bucket, "v1/a/p/1", deadline) == ["v1/a/p/10.idx"]
    assert names(bucket, "v1/a", deadline) == sorted(name for name in put if name.startswith("v1/a"))


@pytest.mark.parametrize("prefix", ["v3/", "v1/a/m/", "../", "//", "v1//", "\x00/"])
def test_a_listing_of_nothing_is_empty(bucket: Bucket, deadline: Deadline, prefix: str) -> None:
    bucket.put("v1/a/m", b"x", deadline, if_generation=0)
    assert names(bucket, prefix, deadline) == []


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=NAMES)
def test_names_that_differ_are_objects_that_differ(bucket: Bucket, deadline: Deadline, found: list[str]) -> None:
    wanted = {f"v1/{name}" for name in found if not set(name.split("/")) & {"", ".", ".."}}
    for name in wanted:
        bucket.put(name, name.encode(), deadline, if_generation=0)
    assert names(bucket, "", deadline) == sorted(wanted, key=lambda name: name.encode())
    assert {bucket.get(name, deadline).data for name in wanted} == {name.encode() for name in wanted}
    for name in wanted:
        bucket.delete(name, deadline)
    assert names(bucket, "", deadline) == []


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\nb", "a\x00", "\ud800", "a" * 901]
)
def test_a_name_that_is_no_name_is_refused(bucket: Bucket, deadline: Deadline, name: str) -> None:
    for call in (
        lambda: bucket.put(name, b"x", deadline, if_generation=None),
        lambda: bucket.get(name, deadline),
        lambda: bucket.get_if_changed(name, 1, deadline),
        lambda: bucket.delete(name, deadline),
    ):
        with pytest.raises(ValueError, match="not an object name"):
            call()


def test_a_call_without_time_does_nothing(bucket: Bucket, deadline: Deadline) -> None:
    none = Deadline(0)
    generation = bucket.put(NAME, b"one", deadline, if_generation=0)
    calls: list[Callable[[], object]] = [
        lambda: bucket.put(NAME, b"two", none, if_generation=generation),
        lambda: bucket.get(NAME, none),
        lambda: bucket.get_if_changed(NAME, generation, none),
        lambda: list(bucket.list("", none)),
        lambda: bucket.delete(NAME, none),
    ]
    for call in calls:
        with pytest.raises(StorageUnavailable):
            call()
    assert bucket.get(NAME, deadline).data == b"one"


def test_a_bucket_without_settings_keeps_nothing_after_a_delete(bucket: Bucket, deadline: Deadline) -> None:
    assert bucket.retention(deadline) == ()


def test_a_closed_bucket_opens_again(bucket: Bucket, deadline: Deadline) -> None:
    bucket.preload()
    bucket.put(NAME, b"one", deadline, if_generation=0)
    bucket.close()
    bucket.close()
    assert bucket.get(NAME, deadline).data == b"one"


def test_one_of_many_first_puts_wins(bucket: Bucket, deadline: Deadline) -> None:
    together = threading.Barrier(8)

    def put(number: int) -> int | None:
        together.wait()
        try:
            bucket.put(NAME, b"%d" % number, deadline, if_generation=0)
        except GenerationMismatch:
            return None
        return number

    with ThreadPoolExecutor(8) as threads:
        winners = [number for number in threads.map(put, range(8)) if number is not None]
    assert bucket.get(NAME, deadline).data == b"%d" % winners[0]
    assert len(winners) == 1


def test_parallel_reads_are_whole(bucket: Bucket, deadline: Deadline) -> None:
    for number in range(16):
        bucket.put(f"p/{number}", b"%d" % number * 50_000, deadline, if_generation=0)
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda number: bucket.get(f"p/{number}", deadline).data, range(16)))
    assert found == [b"%d" % number * 50_000 for number in range(16)]


def test_a_reader_beside_writers_never_sees_half_an_object(bucket: Bucket, deadline: Deadline) -> None:
    bucket.put(NAME, b"0" * 100_000, deadline, if_generation=0)
    done = threading.Event()

    def write(letter: bytes) -> None:
        for _ in range(15):
            bucket.put(NAME, letter * 100_000, deadline, if_generation=None)

    def read() -> int:
        reads = 0
        while not done.is_set():
            data = bucket.get(NAME, deadline).data
            assert data == data[:1] * 100_000
            reads += 1
        return reads

    with ThreadPoolExecutor(4) as threads:
        reader = threads.submit(read)
        list(threads.map(write, [b"a", b"b"]))
        done.set()
        assert reader.result() > 0


def test_a_counter_over_processes_loses_nothing(backend: Backend, deadline: Deadline) -> None:
    backend.bucket.put("counter", b"", deadline, if_generation=0)
    processes = [start("append", *backend.place, f"w{number}", "12") for number in range(4)]
    for process in processes:
        finish(process)
    tokens = backend.bucket.get("counter", deadline).data.decode().split()
    assert sorted(tokens) == sorted(f"w{number}-{turn}" for number in range(4) for turn in range(12))
