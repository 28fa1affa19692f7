"""How many processes and requests each thing takes: the promises that keep a request quick."""

import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from diffmem.repository import Change, Repositories, Snapshot
from diffmem.storage import LocalBucket
from tests.support.machines import USER, append, deadline, git_output, machine, write
from tests.support.noise import noise
from tests.support.processes import started_processes
from tests.support.wrapped import Hooked

OPEN_FILES = Path("/proc/self/fd")
NewMachine = Callable[[], Repositories]


@pytest.fixture(autouse=True)
def memory(repositories: Repositories) -> None:
    """A memory that this machine has written, and read once."""
    repositories.commit(USER, write({"a.md": "x\n", "b/c.md": "y\n"}), deadline(), create=True).snapshot.close()


def test_a_warm_open_starts_no_process(repositories: Repositories) -> None:
    with started_processes() as commands, repositories.open(USER, deadline()) as snapshot:
        assert snapshot.commit_count == 2
    assert commands == []


def test_a_commit_starts_two_processes(repositories: Repositories) -> None:
    change = Change({"log.md": b"one\n"}, "One")
    with started_processes() as commands:
        repositories.commit(USER, lambda snapshot: change, deadline()).snapshot.close()
    assert commands == ["fast-import", "diff-tree"]


def test_a_commit_with_a_tx_starts_two_processes_once_the_history_is_known(repositories: Repositories) -> None:
    for number in range(3):
        change = Change({"log.md": f"{number}\n".encode()}, "One")
        with started_processes() as commands:
            done = repositories.commit(USER, lambda snapshot, change=change: change, deadline(), tx=str(number))  # type: ignore[misc]
            done.snapshot.close()
        assert commands == [*(["log"] if number == 0 else []), "fast-import", "diff-tree"]


def test_a_fold_starts_one_or_two_more(repositories: Repositories) -> None:
    for number in range(3):
        change = Change({f"{number}.md": noise(400_000, number).encode()}, "Big")
        with started_processes() as commands:
            repositories.commit(USER, lambda snapshot, change=change: change, deadline()).snapshot.close()  # type: ignore[misc]
        assert commands[:3] == ["fast-import", "diff-tree", "pack-objects"]
        assert commands[3:] in ([], ["pack-objects"])


def test_hydrating_starts_no_process(new_machine: NewMachine, repositories: Repositories) -> None:
    repositories.commit(USER, write({"big.md": noise(400_000, 1)}), deadline()).snapshot.close()
    cold = new_machine()
    with started_processes() as commands, cold.open(USER, deadline()) as snapshot:
        assert snapshot.requests == 3
    assert commands == []


def test_reading_everything_takes_two_processes_once_and_then_none(new_machine: NewMachine) -> None:
    cold = new_machine()
    with cold.open(USER, deadline()) as snapshot, started_processes() as commands:
        assert len(snapshot.read_all(snapshot.paths())) == 2
        assert commands == ["ls-tree", "cat-file"]
        snapshot.read_all(snapshot.paths())
    with cold.open(USER, deadline()) as again, started_processes() as more:
        assert again.read("a.md") == b"x\n"
    assert (len(commands), more) == (2, [])


def test_a_log_is_one_process(repositories: Repositories) -> None:
    with repositories.open(USER, deadline()) as snapshot, started_processes() as commands:
        snapshot.log(paths=["a.md"], max_count=5)
    assert commands == ["log"]


def test_a_checkout_takes_three_processes_and_the_next_one_of_the_same_head_none(repositories: Repositories) -> None:
    with started_processes() as commands:
        with repositories.open(USER, deadline()) as snapshot:
            assert snapshot.checkout.tree.is_dir()
        with repositories.open(USER, deadline()) as snapshot:
            assert snapshot.checkout.tree.is_dir()
    assert commands == ["ls-tree", "log", "cat-file"]


def test_asking_for_the_checkout_again_and_again_holds_one_file_open(repositories: Repositories) -> None:
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.checkout.tree.is_dir()
        before = len(list(OPEN_FILES.iterdir()))
        for _ in range(5):
            assert snapshot.checkout.tree.is_dir()
        assert len(list(OPEN_FILES.iterdir())) == before


def test_nothing_is_started_and_no_directory_made_before_the_first_request(tmp_path: Path) -> None:
    before = threading.active_count()
    with started_processes() as commands:
        machine(LocalBucket(tmp_path / "b"), tmp_path / "c")
    assert (commands, threading.active_count(), list(tmp_path.glob("[bc]"))) == ([], before, [])


def test_no_thread_and_no_file_is_left_behind(repositories: Repositories, new_machine: NewMachine) -> None:
    repositories.commit(USER, write({"big.md": noise(400_000, 1)}), deadline()).snapshot.close()
    gc.collect()
    threads, files = threading.active_count(), len(list(OPEN_FILES.iterdir()))
    for _ in range(3):
        cold = new_machine()
        with cold.open(USER, deadline()) as snapshot:
            assert snapshot.checkout.tree.is_dir()
        cold.commit(USER, append("log.md", "x"), deadline()).snapshot.close()
        del cold, snapshot
    gc.collect()
    assert threading.active_count() == threads
    assert len(list(OPEN_FILES.iterdir())) == files


def test_processes_that_share_a_cache_do_not_disturb_each_other(tmp_path: Path, bucket: Hooked) -> None:
    cache = tmp_path / "shared"
    readers = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            code = 1
            with suppress(BaseException):
                _read_and_write(machine(bucket.inner, cache, max_bytes=300_000), number)
                code = 0
            os._exit(code)
        readers.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in readers] == [0, 0, 0]
    with machine(bucket, tmp_path / "fresh").open(USER, deadline()) as snapshot:
        assert len(snapshot.read("log.md").splitlines()) == 3 * 6


def _read_and_write(repositories: Repositories, number: int) -> None:
    """What each of several processes does with one cache, which is too small for both users."""
    repositories.create(f"other-{number}", deadline())
    for turn in range(6):
        line = f"{number}-{turn}"

        def edit(snapshot: Snapshot, line: str = line) -> Change:
            return Change({**append("log.md", line)(snapshot).files, f"{line}.md": noise(60_000, 1).encode()}, line)

        with repositories.commit(USER, edit, deadline(), tx=line).snapshot as snapshot:
            assert f"{line}.md" in snapshot.paths()
            assert line in (snapshot.checkout.tree / "log.md").read_text().splitlines()
            assert git_output(snapshot, "status", "--short") == ""
        with repositories.open(f"other-{number}", deadline()) as snapshot:
            assert snapshot.paths() == ()
            assert list(snapshot.checkout.tree.iterdir()) == []
