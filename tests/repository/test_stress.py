"""Many writers who are killed and whose replies get lost: every commit lands once, and every reader sees the same."""

import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from diffmem.errors import Conflict, UnknownUser
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.repository.names import pack_objects, user_hash
from diffmem.storage import Bucket, GCSBucket, LocalBucket
from tests.support.crash import Writer, line_of, local_store
from tests.support.emulator import Emulator
from tests.support.fault_proxy import BUSY, REPLY_LOST, RESET, RESET_AFTER, UNAVAILABLE, UNAVAILABLE_AFTER, FaultProxy
from tests.support.inflate import inflated
from tests.support.machines import USER, append, deadline, fsck, machine, object_names, stored_manifest, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Moment

NewMachine = Callable[[], Repositories]

ROOT = Path(__file__).parents[2]
WRITERS, COMMITS = 6, 20


def check(bucket: Bucket, expected: list[str], caches: list[Path]) -> None:
    """Nothing lost, nothing doubled, nothing damaged, and one truth for all."""
    seen = []
    for cache in caches:
        with machine(bucket, cache).open(USER, deadline()) as snapshot:
            contents = snapshot.read_all(snapshot.paths())
            seen.append((snapshot.head, snapshot.commit_count, contents))
            log = snapshot.log()
    assert all(one == seen[0] for one in seen)
    lines = seen[0][2]["log.md"].decode().splitlines()
    assert Counter(lines) == Counter(expected)
    assert Counter(commit.trailers.get("Tx") for commit in log) == Counter([None, *expected])
    assert seen[0][1] == len(log)
    assert fsck(bucket) == ""


def test_commits_of_killed_writers_land_once_and_all_readers_agree(tmp_path: Path) -> None:
    store, bucket = local_store(tmp_path / "bucket")
    writers = [
        Writer(store, str(tmp_path / f"cache-{n}"), str(tmp_path / f"acknowledged-{n}"), n, COMMITS, n, 4, 0.15)
        for n in range(WRITERS)
    ]
    processes = [subprocess.Popen(writer.command(), cwd=ROOT) for writer in writers]
    assert [process.wait(timeout=240) for process in processes] == [0] * WRITERS
    expected = [line_of(writer, number) for writer in range(WRITERS) for number in range(COMMITS)]
    caches = [tmp_path / f"cache-{number}" for number in range(WRITERS)]
    check(bucket, expected, [*caches, tmp_path / "fresh"])
    assert stored_manifest(bucket).packs  # there were folds among the commits
    machine(bucket, tmp_path / "fresh").maintain(USER, deadline())
    named = [name for pack in stored_manifest(bucket).packs for name in pack_objects(user_hash(USER, None), pack.name)]
    assert sorted(object_names(bucket)[1:]) == sorted(named)
    check(bucket, expected, [*caches, tmp_path / "fresh"])


def test_the_same_over_http_to_cloud_storage_with_every_fault_at_once(tmp_path: Path) -> None:
    writers, commits = 3, 8
    with Emulator() as emulator, FaultProxy(emulator.url, seed=11) as proxy:
        bucket = GCSBucket(emulator.create_bucket("memory"), endpoint=emulator.url)
        faults = (REPLY_LOST, RESET_AFTER, UNAVAILABLE_AFTER, UNAVAILABLE, BUSY)
        proxy.script("POST", *faults)  # each once at least, and then by chance
        proxy.script("GET", None, RESET)
        for fault in faults:
            proxy.chance("POST", fault, 0.05)
        proxy.chance("GET", RESET, 0.05)
        proxy.chance("DELETE", REPLY_LOST, 0.3)
        started = [
            subprocess.Popen(
                Writer(
                    "gs://memory", str(tmp_path / f"cache-{n}"), str(tmp_path / f"acknowledged-{n}"), n, commits, n,
                    deaths=2, lost_share=0.0, file_bytes=24_000, pause_share=0.1,
                ).command(),
                cwd=ROOT,
                env={**os.environ, "STORAGE_EMULATOR_HOST": proxy.url},
            )
            for n in range(writers)
        ]  # fmt: skip
        assert [process.wait(timeout=240) for process in started] == [0] * writers
        assert {seen.fault for seen in proxy.seen} >= {*faults, RESET}
        expected = [line_of(writer, number) for writer in range(writers) for number in range(commits)]
        check(bucket, expected, [tmp_path / "fresh"])
        assert stored_manifest(bucket).packs
        proxy.calm()
        machine(bucket, tmp_path / "fresh").erase(USER, deadline())
        assert object_names(bucket) == []
        bucket.close()


def in_a_process_killed_at(call: int, bucket: Bucket, cache: Path, act: Callable[[Repositories], None]) -> bool:
    """Let a process do something and kill itself at its n-th step at the bucket; whether it got that far."""
    pid = os.fork()
    if pid == 0:
        left = call

        def hook(moment: Moment, operation: str, name: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        with suppress(BaseException):
            act(machine(Hooked(bucket, hook), cache))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def crash_points(
    tmp_path: Path, prepare: Callable[[Bucket], None], act: Callable[[Repositories], None]
) -> Iterator[Bucket]:
    """The bucket after a crash at each step in turn, each time beginning from what `prepare` makes."""
    for call in range(1, 60):
        bucket = LocalBucket(tmp_path / f"bucket-{call}")
        prepare(bucket)
        killed = in_a_process_killed_at(call, bucket, tmp_path / f"dead-{call}", act)
        yield bucket
        if not killed:
            assert call > 4
            return
    pytest.fail("the steps never ended")


def a_memory(bucket: Bucket) -> None:
    """Some commits in the tail, and the words LINE and SECRET."""
    maker = machine(bucket, Path(bucket.url.removeprefix("file:") + "-maker"))
    maker.commit(
        USER, write({"log.md": "first\n", "big.md": noise(150_000, 1)}), deadline(), create=True
    ).snapshot.close()
    maker.commit(USER, append("log.md", "SECRET"), deadline()).snapshot.close()


def fold(repositories: Repositories) -> None:
    repositories.commit(
        USER,
        lambda snapshot: Change(
            {"log.md": snapshot.read("log.md") + b"once\n", "more.md": noise(300_000, 2).encode()}, "Fold"
        ),
        deadline(),
        tx="once",
    ).snapshot.close()


def test_a_crash_at_any_step_of_a_folding_commit_loses_and_doubles_nothing(tmp_path: Path) -> None:
    for bucket in crash_points(tmp_path, a_memory, fold):
        survivor = machine(bucket, tmp_path / "survivor")
        assert fsck(bucket) == ""
        fold(survivor)
        survivor.maintain(USER, deadline())
        with survivor.open(USER, deadline()) as snapshot:
            assert snapshot.read("log.md") == b"first\nSECRET\nonce\n"
            assert snapshot.commit_count == 4
        assert len(object_names(bucket)) == 1 + 2 * len(stored_manifest(bucket).packs)
        assert fsck(bucket) == ""


def test_a_crash_at_any_step_of_an_erasure_leaves_nothing_after_the_next(tmp_path: Path) -> None:
    for bucket in crash_points(tmp_path, a_memory, lambda repositories: _erase(repositories)):
        survivor = machine(bucket, tmp_path / "survivor")
        with suppress(UnknownUser):
            survivor.erase(USER, deadline())
        assert object_names(bucket) == []


def _erase(repositories: Repositories) -> None:
    repositories.erase(USER, deadline())


def _forget(repositories: Repositories) -> None:
    repositories.rewrite(
        USER,
        lambda path, content: content.replace(b"SECRET", b"------"),
        deadline(),
        reword=lambda message: message.replace("SECRET", "it"),
    )


def test_a_crash_at_any_step_of_a_rewriting_is_finished_by_the_next_opener(tmp_path: Path) -> None:
    for bucket in crash_points(tmp_path, a_memory, _forget):
        survivor = machine(bucket, tmp_path / "survivor")
        with survivor.open(USER, deadline()) as snapshot:
            rewritten = snapshot.history.epoch == 1
            assert (b"SECRET" in snapshot.read("log.md")) is not rewritten
        assert fsck(bucket) == ""
        if rewritten:
            assert b"SECRET" not in inflated(bucket)
            assert stored_manifest(bucket).erase_pending == ()


def test_a_crash_at_any_step_of_housekeeping_harms_nothing(tmp_path: Path) -> None:
    def with_litter(bucket: Bucket) -> None:
        a_memory(bucket)
        for name in pack_objects(user_hash(USER, None), "0000000001-" + "a" * 40 + "-0123456789abcdef"):
            bucket.put(name, b"litter", deadline(), if_generation=0)

    def maintain(repositories: Repositories) -> None:
        repositories.maintain(USER, deadline())

    for bucket in crash_points(tmp_path, with_litter, maintain):
        assert fsck(bucket) == ""
        survivor = machine(bucket, tmp_path / "survivor")
        survivor.maintain(USER, deadline())
        assert len(object_names(bucket)) == 1 + 2 * len(stored_manifest(bucket).packs)
        assert fsck(bucket) == ""


def test_housekeeping_beside_writers_loses_nothing(tmp_path: Path) -> None:
    bucket = LocalBucket(tmp_path / "bucket")
    machine(bucket, tmp_path / "maker").create(USER, deadline())
    done = threading.Event()
    failures: list[BaseException] = []

    def keep_house() -> None:
        try:
            keeper = machine(bucket, tmp_path / "keeper")
            while not done.is_set():
                keeper.maintain(USER, deadline())
        except BaseException as error:
            failures.append(error)
            raise

    def work(writer: int) -> None:
        try:
            repositories = machine(bucket, tmp_path / f"cache-{writer}")
            for number in range(10):
                line = line_of(writer, number)
                files = {f"{line}.md": noise(120_000, number).encode()}
                repositories.commit(USER, _append_with(line, files), deadline(), tx=line).snapshot.close()
        except BaseException as error:
            failures.append(error)
            raise

    keeper = threading.Thread(target=keep_house)
    writers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in (keeper, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    keeper.join()
    assert failures == []
    expected = [line_of(writer, number) for writer in range(2) for number in range(10)]
    check(bucket, expected, [tmp_path / "fresh", tmp_path / "cache-0"])


def _append_with(line: str, files: dict[str, bytes]) -> Callable[[Snapshot], Change]:
    def edit(snapshot: Snapshot) -> Change:
        added = append("log.md", line)(snapshot)
        return Change({**added.files, **files}, line)

    return edit


def test_erasing_beside_writers_leaves_what_came_after_or_nothing(tmp_path: Path) -> None:
    bucket = LocalBucket(tmp_path / "bucket")
    machine(bucket, tmp_path / "maker").create(USER, deadline())
    failures: list[BaseException] = []

    def work(writer: int) -> None:
        repositories = machine(bucket, tmp_path / f"cache-{writer}")
        with suppress(UnknownUser, Conflict):
            for number in range(30):
                files = {f"{writer}-{number}.md": noise(100_000, number).encode()}
                repositories.commit(USER, _append_with("x", files), deadline()).snapshot.close()
            failures.append(AssertionError("never noticed"))

    writers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in writers:
        thread.start()
    until = deadline()
    while stored_manifest(bucket).commits < 6:
        until.check("six commits")
    machine(bucket, tmp_path / "eraser").erase(USER, deadline())
    for thread in writers:
        thread.join()
    assert failures == []
    assert object_names(bucket) == []
