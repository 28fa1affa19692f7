"""Housekeeping: garbage goes, packs become one, and no reader or writer is disturbed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from diffmem.errors import OutcomeUnknown, StorageUnavailable, UnknownUser
from diffmem.repository import Maintained, Repositories
from diffmem.repository.manifest import Manifest, StoredPack, encode
from diffmem.repository.names import manifest_name, new_pack, pack_objects, user_hash
from diffmem.repository.rebuild import is_due
from tests.support.machines import USER, append, deadline, fsck, machine, object_names, stored_manifest, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Moment

NewMachine = Callable[[], Repositories]


def fill(repositories: Repositories, bucket: Hooked, user: str = USER) -> None:
    """A memory of 7 small stored packs: more than folding ever leaves."""
    for number in range(7):
        files: dict[str, str | None] = {f"{number}.md": noise(3_000, number), "log.md": f"{number}\n"}
        repositories.commit(user, write(files), deadline(), create=True).snapshot.close()
    manifest = stored_manifest(bucket, user)
    packs = []
    for pack in manifest.tail:
        entry = StoredPack.of(new_pack(1, pack.trailer, manifest.id), pack, 0)
        for name, data in zip(pack_objects(user_hash(user, None), entry.name), (pack.data, pack.index), strict=True):
            bucket.put(name, data, deadline(), if_generation=0)
        packs.append(entry)
    stored = replace(manifest, packs=tuple(packs), tail=())
    bucket.put(manifest_name(user_hash(user, None)), encode(stored), deadline(), if_generation=None)


def litter(bucket: Hooked, user: str = USER) -> list[str]:
    """What a writer that was killed before its swap leaves."""
    names = list(pack_objects(user_hash(user, None), new_pack(1, "a" * 40, "b" * 32)))
    for name in names:
        bucket.put(name, b"garbage", deadline(), if_generation=0)
    return names


def entry(name: str, size: int) -> StoredPack:
    return StoredPack(name, "", "", size, 0, 1, 0)


@pytest.mark.parametrize(
    ("sizes", "due"),
    [
        ([], False),
        ([10], False),
        ([100, 10], False),
        ([100, 51], True),
        ([100, 30, 21], True),
        ([1000, 1, 1, 1, 1, 1], True),
    ],
)
def test_a_rebuild_is_due_when_packs_are_many_or_the_rest_is_half_of_the_base(sizes: list[int], due: bool) -> None:
    packs = tuple(entry(str(number), size) for number, size in enumerate(sizes))
    assert is_due(Manifest("u", "0", 0, 0, 0, "0", 0, 0, packs=packs)) is due


def test_garbage_goes_and_what_is_named_stays(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories, bucket)
    litter(bucket)
    (done,) = repositories.maintain(USER, deadline())
    assert done.removed.objects == 2 + 2 * 8  # the litter, and the packs that the rebuild took in
    assert len(object_names(bucket)) == 3
    assert fsck(bucket) == ""
    (again,) = repositories.maintain(USER, deadline())
    assert again.removed.objects == 0


def test_a_memory_without_garbage_is_left_alone(repositories: Repositories, bucket: Hooked) -> None:
    repositories.commit(USER, append("log.md", "x"), deadline(), create=True).snapshot.close()
    before = bucket.names("put")
    (done,) = repositories.maintain(USER, deadline())
    assert not done.rebuilt
    assert bucket.names("put") == before
    assert bucket.names("delete") == []


def test_a_rebuild_makes_one_pack_and_keeps_everything(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories, bucket)
    warm = new_machine()
    with warm.open(USER, deadline()) as snapshot:
        before = snapshot.log(), snapshot.read_all(snapshot.paths())
    (done,) = repositories.maintain(USER, deadline())
    assert done.rebuilt
    assert (done.user, done.packs, done.failed) == (USER, 1, None)
    assert len(object_names(bucket)) == 3
    for one in (repositories, warm, new_machine()):
        with one.open(USER, deadline()) as snapshot:
            assert (snapshot.log(), snapshot.read_all(snapshot.paths())) == before
    assert fsck(bucket) == ""


@pytest.mark.parametrize("size", [10, 200_000])
def test_a_commit_during_a_rebuild_is_kept(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked, size: int
) -> None:
    fill(repositories, bucket)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            other.commit(USER, write({"late.md": noise(size, 9)}), deadline()).snapshot.close()

    bucket.hook = hook
    (done,) = repositories.maintain(USER, deadline())
    assert done.rebuilt
    with new_machine().open(USER, deadline()) as snapshot:
        assert snapshot.read("late.md") == noise(size, 9).encode()
        assert snapshot.commit_count == 9
    assert fsck(bucket) == ""


def test_a_fence_during_a_rebuild_puts_it_off(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories, bucket)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            litter(bucket)
            other.maintain(USER, deadline())

    bucket.hook = hook
    repositories.maintain(USER, deadline())
    assert fsck(bucket) == ""
    repositories.maintain(USER, deadline())
    assert len(object_names(bucket)) == 3


def test_a_writer_that_uploaded_before_the_fence_uploads_again(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories, bucket)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            other.maintain(USER, deadline())

    bucket.hook = hook
    repositories.commit(USER, write({"late.md": noise(300_000, 9)}), deadline()).snapshot.close()
    assert len([name for name in bucket.names("put") if name.endswith(".pack")]) >= 2
    assert fsck(bucket) == ""
    with new_machine().open(USER, deadline()) as snapshot:
        assert snapshot.read("late.md") == noise(300_000, 9).encode()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_doubtful_fence_deletes_nothing(repositories: Repositories, bucket: Hooked, moment: Moment) -> None:
    repositories.commit(USER, append("log.md", "x"), deadline(), create=True).snapshot.close()
    garbage = litter(bucket)

    def hook(at: Moment, operation: str, name: str) -> None:
        if (at, operation) == (moment, "put"):
            raise OutcomeUnknown("lost")

    bucket.hook = hook
    (done,) = repositories.maintain(USER, deadline())
    assert done.removed.objects == 0
    assert bucket.names("delete") == []
    bucket.hook = lambda *_: None
    repositories.maintain(USER, deadline())
    assert not set(garbage) & set(object_names(bucket))


def test_all_users_have_their_turn_and_progress_is_told(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    for user in ("a", "b", "c"):
        repositories.create(user, deadline())
        litter(bucket, user)
    litter(bucket, "erased")
    name = next(name for name in object_names(bucket) if name == f"v1/{user_hash('b', None)}/m")
    bucket.put(name, b"damaged", deadline(), if_generation=None)
    told: list[tuple[int, int, Maintained]] = []
    done = new_machine().maintain(None, deadline(), lambda *step: told.append(step))
    assert [step[:2] for step in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert tuple(step[2] for step in told) == done
    assert {one.user for one in done} == {"a", "c", None}
    failed = [one.failed for one in done if one.failed]
    assert len(failed) == 1
    assert failed[0].startswith("CorruptObject: ")
    assert name in failed[0]
    assert sum(one.removed.objects for one in done) == 6
    assert len([name for name in object_names(bucket) if "/p/" in name]) == 2


class Eraser:
    """A hook that erases the user at one step, from another machine."""

    def __init__(self, bucket: Hooked, other: Repositories, step: int) -> None:
        self._bucket, self._other = bucket, other
        self.steps_left = step

    def __call__(self, moment: Moment, operation: str, name: str) -> None:
        self.steps_left -= 1
        if self.steps_left == 0:
            self._bucket.hook = lambda *_: None
            self._other.erase(USER, deadline())


def test_a_user_who_is_erased_during_the_turn_is_no_failure(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    other, tried = new_machine(), 0
    for step in range(1, 10_000, 5):
        fill(repositories, bucket)
        eraser = bucket.hook = Eraser(bucket, other, step)
        done = repositories.maintain(None, deadline())
        assert [one.failed for one in done if one.failed] == [], step
        if eraser.steps_left > 0:
            break
        assert (repositories.maintain(None, deadline()), object_names(bucket)) == ((), [])
        tried += 1
    assert tried > 5


def test_maintaining_nobody_is_an_error(repositories: Repositories) -> None:
    with pytest.raises(UnknownUser):
        repositories.maintain("nobody", deadline())


def test_what_a_killed_erasure_left_is_removed(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories, bucket)
    bucket.delete(next(name for name in object_names(bucket) if name.endswith("/m")), deadline())
    (done,) = repositories.maintain(USER, deadline())
    assert done.user is None
    assert done.removed.objects
    assert object_names(bucket) == []


def test_an_outage_is_told_to_whoever_asked_for_one_user(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories, bucket)

    def hook(at: Moment, operation: str, name: str) -> None:
        raise StorageUnavailable("away")

    bucket.hook = hook
    with pytest.raises(StorageUnavailable):
        repositories.maintain(USER, deadline())


def test_a_cache_makes_room_by_last_use_and_never_takes_what_is_open(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    users = [f"user-{number}" for number in range(8)]
    filler = machine(bucket, tmp_path / "filler")
    for number, user in enumerate(users):
        filler.commit(user, write({"a.md": noise(400_000, number)}), deadline(), create=True).snapshot.close()
    small = machine(bucket, cache, max_bytes=1_000_000)
    with small.open(users[0], deadline()) as held:
        assert held.checkout.tree.is_dir()
        for user in users[1:]:
            small.open(user, deadline()).close()
            size = sum(path.stat().st_size for path in cache.rglob("*.pack"))
            assert size <= 1_250_000
        assert (held.checkout.tree / "a.md").is_file()
        requests = held.requests
        held.read("a.md")
        assert held.requests == requests
    with small.open(users[-1], deadline()) as warm:
        assert warm.requests == 1
    with small.open(users[1], deadline()) as cold:
        assert cold.requests == 3
        assert len(cold.read("a.md")) > 200_000


def test_a_cache_on_a_nearly_full_disk_takes_no_more_than_what_is_open(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    full = machine(bucket, cache, max_bytes=1 << 62)  # a sixteenth of it is free on no disk
    for number in range(4):
        full.commit(f"user-{number}", write({"a.md": noise(9_000, number)}), deadline(), create=True).snapshot.close()
    with full.open("user-0", deadline()) as held, full.open("user-1", deadline()) as other:
        full.open("user-2", deadline()).close()
        full.open("user-3", deadline()).close()
        places = {path.parents[2] for path in cache.rglob("*.pack")}
        assert len(places) == 3  # these two, and the latest
        assert len(held.read("a.md")) == len(other.read("a.md")) >= 9_000


def test_a_memory_larger_than_the_cache_can_still_be_read(tmp_path: Path, bucket: Hooked) -> None:
    repositories = machine(bucket, tmp_path / "cache", max_bytes=1000)
    fill(repositories, bucket)
    for _ in range(3):
        with repositories.open(USER, deadline()) as snapshot:
            assert len(snapshot.read_all(snapshot.paths())) == 8
            assert snapshot.checkout.tree.is_dir()


def test_packs_that_were_joined_leave_the_cache_of_every_process(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    for number in range(12):
        files: dict[str, str | None] = {f"{number}.md": noise(60_000, number)}
        machine(bucket, cache).commit(USER, write(files), deadline(), create=True).snapshot.close()
    with machine(bucket, cache).open(USER, deadline()) as snapshot:
        assert len(snapshot.read_all(snapshot.paths())) == 12
    assert {path.stem for path in cache.rglob("*.pack")} == {f"pack-{t}" for t in stored_manifest(bucket).trailers}


def test_what_killed_processes_left_in_the_cache_goes_and_what_others_are_making_stays(
    tmp_path: Path, bucket: Hooked
) -> None:
    cache = tmp_path / "cache"
    living = machine(bucket, cache)
    living.create(USER, deadline())
    (making,) = cache.glob("*/tmp")
    (ours,) = making.iterdir()
    (ours / "half").write_text("half")
    for step in ("start", "write", "erase", "erase by a process that has done nothing yet"):
        (making / "killed" / "objects").mkdir(parents=True)
        (making / "killed" / "objects" / "pack").write_text("secret")
        if step == "start":
            other = machine(bucket, cache)
            other.open(USER, deadline()).close()
        elif step == "write":
            other.rewrite(USER, lambda path, data: data, deadline(), reword=lambda message: message + "more\n")
        elif step == "erase":
            other.erase(USER, deadline())
            living.create(USER, deadline())
        else:
            machine(bucket, cache).erase(USER, deadline())
            assert not list(cache.rglob("*.pack"))
        assert not (making / "killed").exists(), step
    assert (ours / "half").read_text() == "half"


def test_whoever_got_no_turn_in_time_gets_one_another_night(repositories: Repositories) -> None:
    for number in range(4):
        repositories.create(f"user{number}", deadline())
    first: set[str | None] = set()
    for _ in range(100):
        first.add(repositories.maintain(None, deadline())[0].user)
    assert first == {"user0", "user1", "user2", "user3"}
