"""Erasing a user: nothing is left, nobody finds it, nothing comes back."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from diffmem.errors import BucketBusy, OutcomeUnknown, StorageUnavailable, UnknownUser
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.storage import LocalBucket
from tests.support.inflate import inflated
from tests.support.machines import USER, append, deadline, machine, object_names, stored_manifest, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Lossy, Moment

NewMachine = Callable[[], Repositories]

CANARY = "CANARY-7d1f"


def fill(repositories: Repositories, user: str = USER) -> None:
    """A memory with stored packs and a tail, and the canary in both."""
    for number in range(2):
        repositories.commit(
            user, write({f"{number}.md": noise(250_000, number)}), deadline(), create=True
        ).snapshot.close()
    repositories.commit(user, write({"a.md": f"{CANARY}\n"}), deadline()).snapshot.close()


def test_nothing_is_left_in_the_bucket_and_the_receipt_says_what_went(
    repositories: Repositories, bucket: Hooked
) -> None:
    fill(repositories)
    fill(repositories, "another")
    listed = list(bucket.list("v1/", deadline()))
    erased = repositories.erase(USER, deadline())
    left = list(bucket.list("v1/", deadline()))
    gone = [one for one in listed if one not in left]
    assert {one.name.split("/")[1] for one in left} == {object_names(bucket)[0].split("/")[1]}
    assert erased.objects == len(gone) >= 3
    assert erased.bytes == sum(one.size for one in gone)
    assert sorted(erased.generations) == sorted(one.generation for one in gone)
    assert erased.retained == ()
    assert CANARY.encode() in inflated(bucket)  # the other user's
    repositories.erase("another", deadline())
    assert list(bucket.list("", deadline())) == []


def test_the_manifest_goes_first(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories)
    bucket.calls.clear()
    repositories.erase(USER, deadline())
    manifest, *packs = bucket.names("delete")
    assert manifest.endswith("/m")
    assert packs
    assert all("/p/" in name for name in packs)


def test_an_erased_user_is_unknown_everywhere(repositories: Repositories, new_machine: NewMachine) -> None:
    fill(repositories)
    warm = new_machine()
    snapshot = warm.open(USER, deadline())
    repositories.erase(USER, deadline())
    for one in (repositories, warm, new_machine()):
        with pytest.raises(UnknownUser):
            one.open(USER, deadline())
        with pytest.raises(UnknownUser):
            one.commit(USER, append("log.md", "x"), deadline())
        with pytest.raises(UnknownUser):
            one.erase(USER, deadline())
    with pytest.raises(UnknownUser):
        snapshot.read_at("HEAD", "a.md")
    snapshot.close()


def test_caches_hold_nothing_of_an_erased_user(tmp_path: Path, bucket: Hooked) -> None:
    warm, other = machine(bucket, tmp_path / "warm"), machine(bucket, tmp_path / "other")
    fill(warm)
    for one in (warm, other):
        with one.open(USER, deadline()) as snapshot:
            assert snapshot.checkout.tree.is_dir()
    warm.erase(USER, deadline())
    assert [path for path in (tmp_path / "warm").rglob("*") if path.is_file() and path.name != "lease"] == []
    with pytest.raises(UnknownUser):
        other.open(USER, deadline())
    assert [path for path in (tmp_path / "other").rglob("*") if path.is_file() and path.name != "lease"] == []


def test_a_reader_who_comes_too_late_puts_nothing_back_into_the_cache(
    tmp_path: Path, repositories: Repositories, bucket: Hooked
) -> None:
    fill(repositories)
    turns = [True]

    def hook(moment: Moment, operation: str, name: str) -> None:
        if moment == "after" and operation == "get" and turns:
            turns.clear()
            repositories.erase(USER, deadline())

    bucket.hook = hook
    with pytest.raises(UnknownUser), repositories.open(USER, deadline()) as snapshot:
        snapshot.read_at("HEAD", "a.md")
    assert not list(tmp_path.glob("cache-*/**/*.pack"))


def test_erasing_nobody_is_an_error(repositories: Repositories) -> None:
    with pytest.raises(UnknownUser):
        repositories.erase("nobody", deadline())


def test_a_user_who_was_erased_may_begin_anew(repositories: Repositories, new_machine: NewMachine) -> None:
    fill(repositories)
    warm = new_machine()
    warm.open(USER, deadline()).close()
    repositories.erase(USER, deadline())
    repositories.commit(USER, write({"new.md": "x\n"}), deadline(), create=True).snapshot.close()
    for one in (repositories, warm, new_machine()):
        with one.open(USER, deadline()) as snapshot:
            assert snapshot.paths() == ("new.md",)
            assert snapshot.commit_count == 2


@pytest.mark.parametrize("begun_anew", [False, True])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("size", [10, 300_000])
def test_a_commit_in_flight_fails_and_leaves_nothing(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked, create: bool, size: int, begun_anew: bool
) -> None:
    fill(repositories)
    other = new_machine()

    def edit(snapshot: Snapshot) -> Change:
        other.erase(USER, deadline())
        if begun_anew:
            other.create(USER, deadline())
        return write({"late.md": noise(size, 5)})(snapshot)

    with pytest.raises(UnknownUser):
        repositories.commit(USER, edit, deadline(), create=create)
    if begun_anew:
        assert stored_manifest(bucket).commits == 1
        assert len(object_names(bucket)) == 1
    else:
        assert object_names(bucket) == []


@pytest.mark.parametrize("at", ["before", "after"])
def test_an_erasure_between_upload_and_swap_leaves_nothing(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked, at: Moment
) -> None:
    fill(repositories)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == (at, "put") and name.endswith(".pack" if at == "after" else "/m"):
            bucket.hook = lambda *_: None
            other.erase(USER, deadline())

    bucket.hook = hook
    with pytest.raises(UnknownUser):
        repositories.commit(USER, write({"late.md": noise(300_000, 5)}), deadline())
    assert object_names(bucket) == []


def test_an_erasure_does_not_touch_what_was_begun_meanwhile(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("after", "delete") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            other.commit(USER, write({"new.md": noise(300_000, 9)}), deadline(), create=True).snapshot.close()

    bucket.hook = hook
    repositories.erase(USER, deadline())
    with new_machine().open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("new.md",)
    assert len(object_names(bucket)) == 3


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_a_first_commit_with_a_stored_pack_survives_an_erasure_and_housekeeping_of_what_is_not_there(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked, suffix: str
) -> None:
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("after", "put") and name.endswith(suffix):
            bucket.hook = lambda *_: None
            with suppress(UnknownUser):
                other.maintain(USER, deadline())
            with suppress(UnknownUser):
                other.erase(USER, deadline())

    bucket.hook = hook
    with suppress(UnknownUser):
        repositories.commit(USER, write({"a.md": noise(300_000, 1)}), deadline(), create=True).snapshot.close()
    if object_names(bucket):
        with new_machine().open(USER, deadline()) as snapshot:
            assert snapshot.read("a.md") == noise(300_000, 1).encode()


@pytest.mark.parametrize("seed", range(6))
def test_lost_replies_do_not_keep_anything(tmp_path: Path, seed: int) -> None:
    inner = LocalBucket(tmp_path / "bucket")
    fill(machine(inner, tmp_path / "good"))
    machine(Lossy(inner, 0.4, seed), tmp_path / "cache").erase(USER, deadline())
    assert object_names(inner) == []


def test_an_erasure_that_was_cut_off_is_finished_by_the_next(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)
    for suffix in ("/m", ".pack", ".idx"):

        def hook(moment: Moment, operation: str, name: str, suffix: str = suffix) -> None:
            if (moment, operation) == ("after", "delete") and name.endswith(suffix):
                raise StorageUnavailable("cut off")

        bucket.hook = hook
        with pytest.raises(StorageUnavailable):
            new_machine().erase(USER, deadline())
        bucket.hook = lambda *_: None
        with pytest.raises(UnknownUser):
            repositories.open(USER, deadline())
        if not object_names(bucket):
            break
    if object_names(bucket):
        assert repositories.erase(USER, deadline()).objects
    assert object_names(bucket) == []


def test_a_busy_bucket_is_waited_for(tmp_path: Path, bucket: Hooked) -> None:
    sleeps: list[float] = []
    repositories = machine(bucket, tmp_path / "cache", sleeps=sleeps)
    fill(repositories)
    answers = [BucketBusy("429"), OutcomeUnknown("503"), BucketBusy("429")]

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "delete") and answers:
            raise answers.pop(0)

    bucket.hook = hook
    repositories.erase(USER, deadline())
    assert object_names(bucket) == []
    assert max(sleeps) >= 1


def test_a_damaged_memory_can_be_erased(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories)
    bucket.put(next(name for name in object_names(bucket) if name.endswith("/m")), b"x", deadline(), if_generation=None)
    repositories.erase(USER, deadline())
    assert object_names(bucket) == []


@pytest.mark.parametrize("size", [0, 20, 1000], ids=["empty", "in the header", "in the content"])
@pytest.mark.parametrize("ending", ["m@", ".pack@", ".idx@"])
def test_a_memory_with_a_torn_file_can_be_erased(
    tmp_path: Path, repositories: Repositories, bucket: Hooked, ending: str, size: int
) -> None:
    fill(repositories)
    for path in (tmp_path / "bucket" / "objects").rglob(f"*{ending}"):
        os.truncate(path, size)
    assert repositories.erase(USER, deadline()).objects == 3
    assert object_names(bucket) == []


def test_nothing_of_an_erased_user_is_left_aside_by_a_killed_writer(
    tmp_path: Path, repositories: Repositories, bucket: Hooked
) -> None:
    fill(repositories)
    incoming = tmp_path / "bucket" / "incoming"
    for lock in ("00", "ff"):
        (incoming / lock).write_bytes(bucket.get(object_names(bucket)[0], deadline()).data)
    repositories.erase(USER, deadline())
    assert list(incoming.iterdir()) == []
