"""The small things that the rest stands on: leases, locks by key, what is kept in memory, files that appear whole."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.errors import ConfigError, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.repository import eviction, lease
from diffmem.repository.files import discard, make_directory, stubbornly, write_file
from diffmem.repository.locks import KeyedLocks
from diffmem.repository.names import belongs_to, new_pack, pack_objects, user_hash
from diffmem.repository.recent import Recent
from diffmem.storage import LocalBucket
from tests.support.machines import USER, deadline, machine


def test_a_lease_is_shared_among_readers_and_keeps_a_claim_away(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    one, two = lease.share(path), lease.share(path)
    assert one
    assert two
    assert lease.claim(path) is None
    one.release()
    one.release()
    assert lease.claim(path) is None
    two.release()
    claimed = lease.claim(path)
    assert claimed
    claimed.release()


def test_a_disk_lacks_what_is_not_free_unless_it_knows_no_bound(tmp_path: Path) -> None:
    assert eviction.shortage(tmp_path, 1) == 0
    assert eviction.shortage(tmp_path, 1 << 62) > 0
    assert eviction.shortage(Path("/proc"), 1 << 62) == 0


def test_a_lease_that_is_forgotten_is_released(tmp_path: Path) -> None:
    held = lease.share(tmp_path / "lease")
    assert held
    del held
    assert lease.claim(tmp_path / "lease")


def test_a_lease_ends_with_the_process_that_was_killed(tmp_path: Path) -> None:
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        held = lease.share(tmp_path / "lease")
        os.write(tell, b"x")
        threading.Event().wait()
        del held
    os.read(ready, 1)
    assert lease.claim(tmp_path / "lease") is None
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert lease.claim(tmp_path / "lease")
    os.close(ready)
    os.close(tell)


def test_no_lease_is_given_on_what_was_removed(tmp_path: Path) -> None:
    assert lease.share(tmp_path / "gone" / "lease") is None
    assert lease.claim(tmp_path / "gone" / "lease") is None


def test_locks_are_one_a_key_and_forgotten_when_nobody_holds_them() -> None:
    locks = KeyedLocks()
    with locks.hold("a"), locks.hold("b"), pytest.raises(StorageUnavailable), locks.hold("a", Deadline(0.01)):
        pass
    with locks.hold("a", Deadline(0.01)):
        pass
    assert vars(locks)["_locks"] == {}


def test_a_key_is_held_by_one_thread_at_a_time() -> None:
    locks, inside, most = KeyedLocks(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with locks.hold("key", Deadline(30)):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 12)), max_size=60))
def test_what_is_kept_in_memory_stays_within_its_weight_and_is_what_was_put(puts: list[tuple[int, int]]) -> None:
    recent: Recent[int, bytes] = Recent(20, len)
    latest: dict[int, bytes] = {}
    for key, size in puts:
        latest[key] = bytes(size)
        recent.put(key, latest[key])
        kept = {key: value for key in range(9) if (value := recent.get(key)) is not None}
        assert sum(map(len, kept.values())) <= 20
        assert kept.items() <= latest.items()
    recent.drop(lambda key: key != 3)
    assert all(recent.get(key) is None for key in range(9) if key != 3)


def test_what_was_used_least_recently_is_dropped_first() -> None:
    recent: Recent[str, bytes] = Recent(3, len)
    for key in "abc":
        recent.put(key, b"x")
    recent.get("a")
    recent.put("d", b"x")
    assert [recent.get(key) for key in "abcd"] == [b"x", None, b"x", b"x"]
    recent.put("heavy", b"xxxx")
    assert recent.get("heavy") is None
    assert recent.get("d") == b"x"


def test_a_file_appears_whole_and_with_its_mode(tmp_path: Path) -> None:
    write_file(tmp_path / "file", b"old", tmp_path)
    write_file(tmp_path / "file", b"new", tmp_path, mode=0o444)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o444
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_file_that_cannot_be_put_in_place_leaves_nothing_aside(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "removed" / "file", b"secret", tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_is_discarded_is_gone_at_once_and_may_be_gone_already(tmp_path: Path) -> None:
    make_directory(tmp_path / "a" / "b", 0o711)
    discard(tmp_path / "a", tmp_path)
    discard(tmp_path / "a", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_act_is_repeated_where_a_directory_vanished_and_not_for_ever(tmp_path: Path) -> None:
    tries = []

    def act() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise FileNotFoundError
        return len(tries)

    assert stubbornly(act) == 3
    with pytest.raises(FileNotFoundError):
        stubbornly((tmp_path / "never").read_bytes)


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_cache_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    bucket = LocalBucket(tmp_path / "bucket")
    machine(bucket, tmp_path / "cache").create(USER, deadline())
    (root,) = (tmp_path / "cache").iterdir()
    root.chmod(mode)
    with pytest.raises(ConfigError, match="DIFFMEM_CACHE"):
        machine(bucket, tmp_path / "cache").open(USER, deadline())


def test_a_cache_behind_a_link_is_refused(tmp_path: Path) -> None:
    bucket = LocalBucket(tmp_path / "bucket")
    machine(bucket, tmp_path / "cache").create(USER, deadline())
    (root,) = (tmp_path / "cache").iterdir()
    root.rename(tmp_path / "elsewhere")
    root.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="DIFFMEM_CACHE"):
        machine(bucket, tmp_path / "cache").open(USER, deadline())


def test_one_cache_serves_two_buckets_without_mixing_them(tmp_path: Path) -> None:
    for name in ("one", "two"):
        one = machine(LocalBucket(tmp_path / name), tmp_path / "cache")
        assert one.create(USER, deadline())
        one.open(USER, deadline()).close()


def test_names_of_packs_are_never_the_same_and_tell_whose_they_are() -> None:
    first, second = (new_pack(7, "a" * 40, "0123456789abcdef" * 2) for _ in range(2))
    assert first != second
    assert first.startswith("0000000007-" + "a" * 40 + "-01234567")
    for name in pack_objects("u" * 32, first):
        assert belongs_to(name, "0123456789abcdef" * 2)
        assert not belongs_to(name, "1123456789abcdef" * 2)


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_users_have_two_hashes(one: str, two: str) -> None:
    same = user_hash(one, None) == user_hash(two, None)
    assert same == (one == two)
    assert user_hash(one, "secret") != user_hash(one, None)
