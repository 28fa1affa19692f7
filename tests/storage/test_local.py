"""What only the bucket in a directory promises: its files, its locks, its clock."""

import fcntl
import os
import random
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.errors import CorruptObject, GenerationMismatch, ObjectNotFound, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.storage import LocalBucket, files
from diffmem.storage.names import decode, encode
from tests.storage.worker import start

NAME = "v1/6f1c/m"
SIZE = 2_000_000
SEGMENTS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="/"), min_size=1, max_size=20)


@pytest.fixture
def bucket(tmp_path: Path) -> LocalBucket:
    return LocalBucket(tmp_path / "store")


def _file(bucket: LocalBucket, name: str = NAME) -> Path:
    return Path(bucket.url.removeprefix("file:"), "objects", *name.split("/")[:-1], name.split("/")[-1] + "@")


def test_nothing_is_made_before_the_first_put(bucket: LocalBucket, deadline: Deadline, tmp_path: Path) -> None:
    with pytest.raises(ObjectNotFound):
        bucket.get(NAME, deadline)
    assert list(bucket.list("", deadline)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_whole_objects_and_no_lock(bucket: LocalBucket, deadline: Deadline) -> None:
    chance = random.Random(7)
    generations = [0]
    for _ in range(8):
        process = start("fill", bucket.url, "", NAME, str(SIZE))
        assert process.stdout and process.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        process.communicate()
        found = bucket.get(NAME, deadline)
        assert found.data == found.data[:1] * SIZE
        generations += [found.generation, bucket.put(NAME, found.data, Deadline(1), if_generation=found.generation)]
    assert generations == sorted(set(generations))
    incoming = list((_file(bucket).parents[3] / "incoming").iterdir())
    assert len(incoming) <= 1


def test_a_lock_held_elsewhere_is_waited_for_until_the_deadline(bucket: LocalBucket, deadline: Deadline) -> None:
    generation = bucket.put(NAME, b"one", deadline, if_generation=0)
    (lock,) = (_file(bucket).parents[3] / "locks").iterdir()
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        with pytest.raises(StorageUnavailable):
            bucket.put(NAME, b"two", Deadline(0.1), if_generation=generation)
        assert 0.1 <= time.monotonic() - began < 0.35
        assert bucket.get(NAME, deadline).data == b"one"
    bucket.put(NAME, b"two", deadline, if_generation=generation)


@pytest.mark.parametrize("cut", [0, 10, 31, 33], ids=["empty", "in the header", "before the content", "in the content"])
def test_a_torn_file_is_a_corrupt_object(bucket: LocalBucket, deadline: Deadline, cut: int) -> None:
    bucket.put(NAME, b"one", deadline, if_generation=0)
    os.truncate(_file(bucket), cut)
    with pytest.raises(CorruptObject, match=NAME):
        bucket.get(NAME, deadline)
    bucket.put(NAME, b"two", deadline, if_generation=None)
    assert bucket.get(NAME, deadline).data == b"two"


def test_an_altered_file_is_a_corrupt_object(bucket: LocalBucket, deadline: Deadline) -> None:
    bucket.put(NAME, b"one", deadline, if_generation=0)
    _file(bucket).write_bytes(_file(bucket).read_bytes()[:-1] + b"E")
    with pytest.raises(CorruptObject, match=NAME):
        bucket.get(NAME, deadline)
    bucket.delete(NAME, deadline)


def test_generations_grow_though_the_clock_goes_back(tmp_path: Path, deadline: Deadline) -> None:
    bucket = LocalBucket(tmp_path / "store", clock=iter([3_000_000, 2_000_000, 1_000_000, 9_000_000]).__next__)
    assert [bucket.put(NAME, b"x", deadline, if_generation=None) for _ in range(4)] == [3000, 3001, 3002, 9000]


@pytest.mark.parametrize("damage", ["gone", "empty", "nonsense"])
def test_generations_grow_though_their_counter_is_lost(tmp_path: Path, deadline: Deadline, damage: str) -> None:
    bucket = LocalBucket(tmp_path / "store")
    first = bucket.put(NAME, b"x", deadline, if_generation=0)
    bucket.delete(NAME, deadline)
    counter = tmp_path / "store" / "generation"
    counter.unlink() if damage == "gone" else counter.write_text("" if damage == "empty" else "x" * 21)
    assert bucket.put(NAME, b"x", deadline, if_generation=0) > first


def test_a_delete_leaves_no_directory_behind(bucket: LocalBucket, deadline: Deadline) -> None:
    bucket.put("v1/6f1c/p/1", b"x", deadline, if_generation=0)
    bucket.put("v1/aaaa/m", b"x", deadline, if_generation=0)
    bucket.delete("v1/6f1c/p/1", deadline)
    objects = _file(bucket).parents[2]
    assert sorted(str(path.relative_to(objects)) for path in objects.rglob("*")) == ["v1", "v1/aaaa", "v1/aaaa/m@"]


def test_a_delete_beside_a_put_does_not_take_its_directory_away(bucket: LocalBucket, deadline: Deadline) -> None:
    def come_and_go(number: int) -> None:
        for _ in range(60):
            generation = bucket.put(f"v1/6f1c/p/{number}", b"x", deadline, if_generation=0)
            bucket.delete(f"v1/6f1c/p/{number}", deadline, if_generation=generation)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(come_and_go, range(4)))
    assert list(_file(bucket).parents[2].iterdir()) == []


def test_files_of_others_are_not_objects(bucket: LocalBucket, deadline: Deadline) -> None:
    bucket.put(NAME, b"x", deadline, if_generation=0)
    for foreign in (".DS_Store", "M@", "%6d@", "%zz@", "%ff@", "m", "@"):
        _file(bucket).with_name(foreign).write_bytes(b"")
    _file(bucket).with_name("directory@").mkdir()
    assert [found.name for found in bucket.list("", deadline)] == [NAME]


def test_objects_are_for_their_owner_alone(bucket: LocalBucket, deadline: Deadline, tmp_path: Path) -> None:
    bucket.put(NAME, b"x", deadline, if_generation=0)
    for path in (tmp_path / "store").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_file_system_that_fails_is_unavailable(bucket: LocalBucket, deadline: Deadline, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("not a directory")
    for call in (
        lambda: bucket.put(NAME, b"x", deadline, if_generation=None),
        lambda: bucket.get(NAME, deadline),
        lambda: list(bucket.list("", deadline)),
        lambda: bucket.delete(NAME, deadline),
    ):
        with pytest.raises(StorageUnavailable) as error:
            call()
        assert str(tmp_path) not in str(error.value)


def test_a_segment_longer_than_a_file_name_is_refused(bucket: LocalBucket, deadline: Deadline) -> None:
    with pytest.raises(ValueError, match="too long"):
        bucket.put("v1/" + "é" * 50, b"x", deadline, if_generation=0)


def test_two_buckets_in_one_directory_are_one(tmp_path: Path, deadline: Deadline) -> None:
    one, two = LocalBucket(tmp_path), LocalBucket(tmp_path)
    generation = one.put(NAME, b"one", deadline, if_generation=0)
    two.put(NAME, b"two", deadline, if_generation=generation)
    with pytest.raises(GenerationMismatch):
        one.put(NAME, b"three", deadline, if_generation=generation)


@given(segment=SEGMENTS)
def test_a_segment_survives_its_file_name(segment: str) -> None:
    assert decode(encode(segment)) == segment


@given(one=SEGMENTS, two=SEGMENTS)
def test_segments_that_differ_have_file_names_that_differ_without_case(one: str, two: str) -> None:
    assert (one == two) == (encode(one).casefold() == encode(two).casefold())


@given(segment=SEGMENTS)
def test_a_file_name_is_harmless(segment: str) -> None:
    assert encode(segment).isascii()
    assert not set(encode(segment)) & set('/\\:*?"<>|@ ')


@given(text=st.text("abAB%0419ef._-@", max_size=12))
def test_a_file_name_that_no_segment_has_is_none(text: str) -> None:
    segment = decode(text)
    assert segment is None or encode(segment) == text


@pytest.mark.parametrize("cut", [0, 10, 33], ids=["empty", "in the header", "in the content"])
def test_a_torn_file_is_listed_beside_the_others_and_can_be_deleted(
    bucket: LocalBucket, deadline: Deadline, cut: int
) -> None:
    for name in ("v1/a", NAME, "v1/z"):
        bucket.put(name, b"one", deadline, if_generation=0)
    os.truncate(_file(bucket), cut)
    assert [listed.name for listed in bucket.list("v1/", deadline)] == [NAME, "v1/a", "v1/z"]
    bucket.delete(NAME, deadline)
    assert [listed.name for listed in bucket.list("v1/", deadline)] == ["v1/a", "v1/z"]


def test_what_a_killed_writer_left_goes_with_the_next_write_and_what_one_is_writing_stays(
    bucket: LocalBucket, deadline: Deadline, tmp_path: Path
) -> None:
    bucket.put(NAME, b"one", deadline, if_generation=0)
    left, writing = (tmp_path / "store" / "incoming" / lock for lock in ("00", "01"))
    left.write_bytes(b"secret")
    writing.write_bytes(b"half")
    with files.locked(tmp_path / "store" / "locks" / "01", deadline):
        bucket.delete(NAME, deadline)
        assert (left.exists(), writing.read_bytes()) == (False, b"half")
    bucket.put(NAME, b"two", deadline, if_generation=0)
    assert not writing.exists()
