"""READ: what the bucket has, for few requests, whatever is left of the cache."""

import shutil
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from diffmem.errors import CorruptObject, UnknownCommit, UnknownPath, UnknownUser
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.repository.names import manifest_name, user_hash
from tests.support.machines import START, USER, append, deadline, git_output, machine, object_names, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Moment

NewMachine = Callable[[], Repositories]

BIG = noise(200_000, 7)


def commit(repositories: Repositories, files: dict[str, str | None], user: str = USER) -> str:
    with repositories.commit(user, write(files), deadline(), create=True).snapshot as snapshot:
        return snapshot.head


def make_packs(repositories: Repositories, count: int = 3) -> None:
    """Commit so much that there are stored packs."""
    for number in range(count):
        commit(repositories, {f"noise/{number}.md": noise(240_000 * 2 ** (count - number), number)})


def test_reading_an_absent_user_is_an_error(repositories: Repositories) -> None:
    with pytest.raises(UnknownUser, match="'nobody'"):
        repositories.open("nobody", deadline())


def test_files_are_listed_and_read(repositories: Repositories, new_machine: NewMachine) -> None:
    commit(repositories, {"profile.md": "Maya\n", "memories/people/ö.md": "Ö\n", "a b/c.md": ""})
    for one in (repositories, new_machine()):
        with one.open(USER, deadline()) as snapshot:
            assert snapshot.paths() == ("a b/c.md", "memories/people/ö.md", "profile.md")
            assert snapshot.read("profile.md") == b"Maya\n"
            assert snapshot.read_all(["profile.md", "a b/c.md"]) == {"profile.md": b"Maya\n", "a b/c.md": b""}
            with pytest.raises(UnknownPath, match="'nothing"):
                snapshot.read("nothing.md")
            with pytest.raises(UnknownPath):
                snapshot.read("memories")


def test_a_snapshot_stays_what_it_was_when_the_head_moves(repositories: Repositories) -> None:
    commit(repositories, {"a.md": "old\n"})
    with repositories.open(USER, deadline()) as snapshot:
        commit(repositories, {"a.md": "new\n", "b.md": "x\n"})
        assert snapshot.read("a.md") == b"old\n"
        assert snapshot.paths() == ("a.md",)


def test_a_warm_open_is_one_conditional_read_and_no_process(repositories: Repositories, bucket: Hooked) -> None:
    commit(repositories, {"a.md": "x\n"})
    bucket.calls.clear()
    with repositories.open(USER, deadline()) as snapshot:
        assert (snapshot.requests, snapshot.bytes) == (1, 0)
    assert bucket.calls == [("get", manifest_name(user_hash(USER, None)))]


def test_another_process_of_the_machine_is_warm_too(tmp_path: Path, bucket: Hooked) -> None:
    commit(machine(bucket, tmp_path / "cache"), {"a.md": BIG})
    with machine(bucket, tmp_path / "cache").open(USER, deadline()) as snapshot:
        assert (snapshot.requests, snapshot.bytes) == (1, 0)
        assert len(snapshot.read("a.md")) == len(BIG)


def test_commits_of_another_machine_are_seen_at_the_next_open(
    repositories: Repositories, new_machine: NewMachine
) -> None:
    other = new_machine()
    for number in range(3):
        head = commit(repositories, {"a.md": f"{number}\n"})
        with other.open(USER, deadline()) as snapshot:
            assert snapshot.head == head
            assert snapshot.read("a.md") == f"{number}\n".encode()
            assert snapshot.commit_count == number + 2


def test_the_log_names_paths_and_is_bounded(repositories: Repositories) -> None:
    for number in range(4):
        commit(repositories, {"a.md": f"{number}\n", f"folder/{number}.md": "x\n"})
    with repositories.open(USER, deadline()) as snapshot:
        log = snapshot.log()
        assert [commit.paths for commit in log] == [
            *(("a.md", f"folder/{number}.md") for number in (3, 2, 1, 0)),
            (),
        ]
        assert snapshot.log(max_count=2) == log[:2]
        assert snapshot.log(paths=["folder/1.md"]) == log[2:3]
        assert snapshot.log(paths=["folder"]) == log[:4]
        assert snapshot.log(paths=["*"]) == ()
        assert snapshot.log(since=log[1].recorded_at) == log[:2]
        assert snapshot.log(until=log[1].recorded_at) == log[1:]


def test_a_revision_is_a_sha_or_head_with_steps(repositories: Repositories) -> None:
    first = commit(repositories, {"a.md": "1\n"})
    second = commit(repositories, {"a.md": "2\n"})
    with repositories.open(USER, deadline()) as snapshot:
        for rev in (first, first[:10], "HEAD~1", "main^", "@~", f"{second}~1"):
            assert snapshot.resolve(rev) == first
            assert snapshot.read_at(rev, "a.md") == b"1\n"
        with pytest.raises(UnknownPath):
            snapshot.read_at(first, "b.md")
        with pytest.raises(UnknownPath):
            snapshot.read_at(first, "a.md\nHEAD")
        for rev in ("HEAD~9", "0" * 40, "nothing", "--all", "HEAD\nHEAD", ":/Write", "HEAD^{tree}", "", "a.md"):
            with pytest.raises(UnknownCommit):
                snapshot.resolve(rev)


def test_as_of_sees_memory_as_it_was_recorded_then(repositories: Repositories) -> None:
    commit(repositories, {"a.md": "1\n"})
    with repositories.open(USER, deadline()) as snapshot:
        moment = snapshot.log(max_count=1)[0].recorded_at
    commit(repositories, {"a.md": "2\n", "b.md": "x\n"})
    with repositories.open(USER, deadline(), as_of=moment + timedelta(seconds=1)) as snapshot:
        assert snapshot.paths() == ("a.md",)
        assert snapshot.read("a.md") == b"1\n"
        assert snapshot.commit_count == 2
        assert len(snapshot.log()) == 2
        assert (snapshot.checkout.tree / "a.md").read_text() == "1\n"
        assert git_output(snapshot, "rev-parse", "HEAD").strip() == snapshot.head
    with repositories.open(USER, deadline(), as_of=START - timedelta(days=1)) as snapshot:
        assert snapshot.paths() == ()
    with pytest.raises(UnknownCommit):
        repositories.open(USER, deadline(), as_of=START.replace(year=1999))


def test_a_cold_machine_reads_the_manifest_and_each_pack_with_its_index(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    make_packs(repositories)
    stored = [name for name in object_names(bucket) if "/p/" in name]
    assert len(stored) >= 4
    bucket.calls.clear()
    with new_machine().open(USER, deadline()) as snapshot:
        assert len(snapshot.paths()) == 3
        assert snapshot.requests == len(bucket.calls)
    assert sorted(bucket.names("get")) == sorted([manifest_name(user_hash(USER, None)), *stored])


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap"])
@pytest.mark.parametrize("suffix", ["/m", ".pack", ".idx"])
def test_a_damaged_object_is_named_and_leaves_the_cache_as_it_was(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked, damage: str, suffix: str
) -> None:
    make_packs(repositories)
    warm = new_machine()
    warm.open(USER, deadline()).close()
    names = [name for name in object_names(bucket) if name.endswith(suffix)]
    good = bucket.get(names[0], deadline()).data
    middle = len(good) // 2
    bad = {
        "flip": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
        "cut": good[:middle],
        "empty": b"",
        "swap": bucket.get(object_names(bucket)[1], deadline()).data if suffix == "/m" else good[::-1],
    }[damage]
    bucket.put(names[0], bad, deadline(), if_generation=None)
    for _ in range(2):
        with pytest.raises(CorruptObject, match=names[0]):
            new_machine().open(USER, deadline())
    bucket.put(names[0], good, deadline(), if_generation=None)
    with warm.open(USER, deadline()) as snapshot:
        assert len(snapshot.read_all(snapshot.paths())) == 3


def test_a_damaged_new_manifest_does_not_replace_what_is_cached(repositories: Repositories, bucket: Hooked) -> None:
    commit(repositories, {"a.md": "x\n"})
    name = manifest_name(user_hash(USER, None))
    good = bucket.get(name, deadline()).data
    bucket.put(name, good[:-1], deadline(), if_generation=None)
    for _ in range(2):
        with pytest.raises(CorruptObject, match=name):
            repositories.open(USER, deadline())
    bucket.put(name, good, deadline(), if_generation=None)
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.read("a.md") == b"x\n"


def test_a_missing_pack_is_a_corrupt_object_that_is_named(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    make_packs(repositories)
    name = next(name for name in object_names(bucket) if name.endswith(".pack"))
    bucket.delete(name, deadline())
    with pytest.raises(CorruptObject, match=name):
        new_machine().open(USER, deadline())


def test_packs_that_went_since_the_manifest_was_read_mean_reading_it_again(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    make_packs(repositories)

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("after", "get") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            repositories.rewrite(USER, lambda path, content: None if path == "noise/0.md" else content, deadline())

    bucket.hook = hook
    with new_machine().open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("noise/1.md", "noise/2.md")


def test_a_manifest_of_another_user_under_this_name_is_refused(repositories: Repositories, bucket: Hooked) -> None:
    commit(repositories, {"a.md": "x\n"}, user="a")
    data = bucket.get(manifest_name(user_hash("a", None)), deadline()).data
    name = manifest_name(user_hash("b", None))
    bucket.put(name, data, deadline(), if_generation=0)
    with pytest.raises(CorruptObject, match=name):
        repositories.open("b", deadline())


def all_paths(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*"))


def use(snapshot: Snapshot) -> None:
    """Ask everything that can be asked, and check the answers."""
    assert snapshot.read("a.md") == b"second\n"
    assert snapshot.read_at("HEAD~1", "a.md") == b"first\n"
    assert len(snapshot.log()) == snapshot.commit_count
    checkout = snapshot.checkout
    assert (checkout.tree / "a.md").read_bytes() == b"second\n"
    assert git_output(snapshot, "status", "--short") == ""


def with_history(repositories: Repositories) -> None:
    make_packs(repositories, 2)
    commit(repositories, {"a.md": "first\n"})
    commit(repositories, {"a.md": "second\n"})


def test_any_part_of_the_cache_may_vanish_between_two_requests(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    repositories = machine(bucket, cache)
    with_history(repositories)
    with repositories.open(USER, deadline()) as snapshot:
        use(snapshot)
    for number in range(len(all_paths(cache))):
        paths = all_paths(cache)
        victim = paths[number % len(paths)]
        shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
        with machine(bucket, cache).open(USER, deadline()) as snapshot:
            use(snapshot)


def test_any_part_of_the_cache_may_vanish_while_a_snapshot_is_open(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    repositories = machine(bucket, cache)
    with_history(repositories)
    for number in range(len(all_paths(cache)) + 8):
        with machine(bucket, cache).open(USER, deadline()) as snapshot:
            assert snapshot.checkout.tree.is_dir()
            paths = all_paths(cache)
            victim = paths[number % len(paths)]
            shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
            use(snapshot)


def test_any_part_of_the_cache_may_vanish_during_a_commit(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    repositories = machine(bucket, cache)
    with_history(repositories)
    for number in range(0, len(all_paths(cache)), 2):

        def edit(snapshot: Snapshot, number: int = number) -> Change:
            paths = all_paths(cache)
            victim = paths[number % len(paths)]
            shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
            return append("log.md", f"line {number}")(snapshot)

        repositories.commit(USER, edit, deadline()).snapshot.close()
    with machine(bucket, tmp_path / "other").open(USER, deadline()) as snapshot:
        assert len(snapshot.read("log.md").splitlines()) == len(range(0, number + 1, 2))


def test_a_cached_pack_with_damaged_bytes_is_fetched_again(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "cache"
    with_history(machine(bucket, cache))
    for pack in cache.rglob("*.pack"):
        data = bytearray(pack.read_bytes())
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        pack.chmod(0o644)
        pack.write_bytes(data)
    with machine(bucket, cache).open(USER, deadline()) as snapshot:
        use(snapshot)


def test_threads_may_share_a_snapshot_and_open_their_own(repositories: Repositories, new_machine: NewMachine) -> None:
    with_history(repositories)
    cold = new_machine()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with cold.open(USER, deadline()) as snapshot:
                use(snapshot)
            use(shared)
        except BaseException as error:
            failures.append(error)
            raise

    with cold.open(USER, deadline()) as shared:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_usage_is_what_the_packs_take(repositories: Repositories, bucket: Hooked) -> None:
    make_packs(repositories)
    size, packs = repositories.usage(USER, deadline())
    stored = sum(listed.size for listed in bucket.list("v1/", deadline()) if "/p/" in listed.name)
    assert size >= stored
    assert packs >= 2
