"""COMMIT: once, on the newest head, whatever the bucket answers."""

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from diffmem.errors import (
    BucketBusy,
    GenerationMismatch,
    OutcomeUnknown,
    StorageUnavailable,
    UnknownUser,
    UnsafePath,
)
from diffmem.limits import Deadline
from diffmem.repository import Change, FileChange, Repositories, Snapshot
from diffmem.storage import LocalBucket
from tests.support.machines import START, USER, Ticking, append, deadline, fsck, machine, stored_manifest, write
from tests.support.wrapped import Hooked, Moment

NewMachine = Callable[[], Repositories]


def lines(repositories: Repositories, path: str = "log.md", user: str = USER) -> list[str]:
    with repositories.open(user, deadline()) as snapshot:
        return snapshot.read(path).decode().splitlines()


def fail_once(bucket: Hooked, moment: Moment, error: Exception, operation: str = "put", suffix: str = "/m") -> None:
    """Let the next such call fail, before or after it takes effect."""

    def hook(at: Moment, kind: str, name: str) -> None:
        if (at, kind) == (moment, operation) and name.endswith(suffix):
            bucket.hook = lambda *_: None
            raise error

    bucket.hook = hook


def test_a_first_commit_with_create_begins_a_memory(repositories: Repositories) -> None:
    done = repositories.commit(USER, write({"profile.md": "Maya\n"}), deadline(), create=True)
    with done.snapshot as snapshot:
        assert done.files == (FileChange("profile.md", "added", 1, 0),)
        assert snapshot.head == done.commit
        assert snapshot.paths() == ("profile.md",)
        assert snapshot.commit_count == 2
        assert not done.duplicate


def test_a_commit_without_create_needs_a_memory(repositories: Repositories, bucket: Hooked) -> None:
    with pytest.raises(UnknownUser, match=re.escape(USER)):
        repositories.commit(USER, write({"profile.md": "Maya\n"}), deadline())
    assert bucket.names("put") == []


def test_create_says_whether_the_memory_was_begun_now(repositories: Repositories, new_machine: NewMachine) -> None:
    assert repositories.create(USER, deadline())
    assert not repositories.create(USER, deadline())
    assert not new_machine().create(USER, deadline())
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ()
        assert snapshot.commit_count == 1


def test_all_memories_begin_with_the_same_commit(repositories: Repositories) -> None:
    heads = set()
    for user in ("a", "b"):
        repositories.create(user, deadline())
        with repositories.open(user, deadline()) as snapshot:
            heads.add(snapshot.head)
    assert len(heads) == 1


def test_an_edit_that_wants_nothing_writes_nothing(repositories: Repositories, bucket: Hooked) -> None:
    repositories.create(USER, deadline())
    before = bucket.names("put")
    done = repositories.commit(USER, lambda snapshot: None, deadline())
    done.snapshot.close()
    assert (done.commit, done.files) == (None, ())
    assert bucket.names("put") == before


def test_an_edit_that_wants_nothing_of_an_absent_user_begins_nothing(repositories: Repositories) -> None:
    done = repositories.commit(USER, lambda snapshot: None, deadline(), create=True)
    with done.snapshot as snapshot:
        assert snapshot.paths() == ()
    with pytest.raises(UnknownUser):
        repositories.open(USER, deadline())


def test_an_edit_that_changes_nothing_writes_nothing(repositories: Repositories, bucket: Hooked) -> None:
    repositories.commit(USER, write({"a.md": "x\n"}), deadline(), create=True).snapshot.close()
    before = bucket.names("put")
    done = repositories.commit(USER, write({"a.md": "x\n", "b.md": None}), deadline())
    done.snapshot.close()
    assert done.commit is None
    assert bucket.names("put") == before


def test_what_changed_is_told_file_by_file(repositories: Repositories) -> None:
    old = "".join(f"line {number}\n" for number in range(20))
    first = {"gone.md": "x\n", "moved.md": old, "changed.md": "a\nb\n"}
    repositories.commit(USER, write(dict(first)), deadline(), create=True).snapshot.close()
    second = {"gone.md": None, "moved.md": None, "new/moved.md": old + "more\n", "changed.md": "a\nc\nd\n"}
    done = repositories.commit(USER, write(dict(second)), deadline())
    done.snapshot.close()
    assert set(done.files) == {
        FileChange("changed.md", "modified", 2, 1),
        FileChange("gone.md", "deleted", 0, 1),
        FileChange("new/moved.md", "renamed", 1, 0),
    }


def test_a_commit_bears_both_of_its_times_and_its_trailers(tmp_path: Path, bucket: Hooked) -> None:
    repositories = machine(bucket, tmp_path / "cache", clock=Ticking())
    happened = datetime(2023, 5, 8, 13, 56, tzinfo=timezone(timedelta(hours=2)))
    change = Change(
        {"a.md": b"x\n"},
        "Remember\n  a walk",
        body="By the river.\n\nTx: forged",
        trailers={"Session-Id": "walk\nTx: forged", "not a key": "x"},
        occurred_at=happened,
        author="Maya <x> \n Lee",
    )
    done = repositories.commit(USER, lambda snapshot: change, deadline(), create=True, tx="request-1")
    with done.snapshot as snapshot:
        commit = snapshot.log(max_count=1)[0]
    assert commit.subject == "Remember a walk"
    assert commit.occurred_at == happened
    assert commit.occurred_at.utcoffset() == timedelta(hours=2)
    assert START <= commit.recorded_at < START + timedelta(hours=1)
    assert commit.trailers == {"Session-Id": "walk Tx: forged", "Tx": "request-1"}
    assert commit.paths == ("a.md",)


def test_recorded_times_never_run_backwards_where_clocks_differ_a_little(tmp_path: Path, bucket: Hooked) -> None:
    ahead = machine(bucket, tmp_path / "1", clock=Ticking(START + timedelta(minutes=50)))
    behind = machine(bucket, tmp_path / "2", clock=Ticking(START))
    ahead.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    with behind.commit(USER, append("log.md", "two"), deadline()).snapshot as snapshot:
        second, first, _ = snapshot.log()
    assert second.recorded_at == first.recorded_at


def test_a_clock_that_was_a_year_ahead_does_not_hold_history_there(tmp_path: Path, bucket: Hooked) -> None:
    ahead = machine(bucket, tmp_path / "1", clock=Ticking(START + timedelta(days=365)))
    ahead.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    right = machine(bucket, tmp_path / "2", clock=Ticking(START))
    with right.commit(USER, append("log.md", "two"), deadline()).snapshot as snapshot:
        assert snapshot.log(max_count=1)[0].recorded_at < START + timedelta(hours=1)


UNSAFE = ["../up.md", "/etc/passwd", "a//b.md", ".git/config", "a/.GIT/x", "-rf.md", "a/-x.md", "git~1/x", ""]
UNSAFE += [".gitattributes", "a/.gitmodules", "a\\b.md", "con:x.md", "a\nb.md", "a\u202eb.md", "a /b.md", "a./b.md"]
UNSAFE += ["x" * 201, "a/" * 17 + "b", "a\udc80.md"]


@pytest.mark.parametrize("path", UNSAFE)
def test_an_unsafe_path_is_refused_and_nothing_is_written(
    repositories: Repositories, bucket: Hooked, path: str
) -> None:
    with pytest.raises(UnsafePath):
        repositories.commit(USER, write({path: "x"}), deadline(), create=True)
    assert bucket.names("put") == []


def test_a_file_cannot_take_the_place_of_a_folder_or_the_other_way_round(repositories: Repositories) -> None:
    repositories.commit(USER, write({"a.md": "x\n", "b/c.md": "y\n"}), deadline(), create=True).snapshot.close()
    for files in ({"a.md/x.md": "z"}, {"b": "z"}, {"d": "1", "d/e": "2"}):
        with pytest.raises(UnsafePath):
            repositories.commit(USER, write(dict(files)), deadline())
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("a.md", "b/c.md")


def test_a_repeated_request_finds_its_own_commit(repositories: Repositories, new_machine: NewMachine) -> None:
    first = repositories.commit(USER, append("log.md", "one"), deadline(), create=True, tx="request-1")
    repositories.commit(USER, append("log.md", "two"), deadline(), tx="request-2").snapshot.close()
    for again in (repositories, new_machine()):
        second = again.commit(USER, append("log.md", "one"), deadline(), create=True, tx="request-1")
        assert (second.commit, second.files, second.duplicate) == (first.commit, first.files, True)
        second.snapshot.close()
    first.snapshot.close()
    assert lines(repositories) == ["one", "two"]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("error", [OutcomeUnknown("lost"), GenerationMismatch("412 after a hidden retry")])
def test_a_lost_reply_is_one_commit(
    repositories: Repositories, bucket: Hooked, moment: Moment, error: Exception
) -> None:
    repositories.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    fail_once(bucket, moment, error)
    done = repositories.commit(USER, append("log.md", "two"), deadline())
    assert done.commit == done.snapshot.head
    assert not done.duplicate
    assert done.files == (FileChange("log.md", "modified", 1, 0),)
    done.snapshot.close()
    assert lines(repositories) == ["one", "two"]
    assert fsck(bucket) == ""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_lost_reply_of_the_first_commit_is_one_commit(
    repositories: Repositories, bucket: Hooked, moment: Moment
) -> None:
    fail_once(bucket, moment, OutcomeUnknown("lost"))
    repositories.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    assert lines(repositories) == ["one"]
    fail_once(bucket, moment, OutcomeUnknown("lost"))
    assert repositories.create("another", deadline())


def test_a_lost_reply_is_found_even_after_others_have_written(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    repositories.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("after", "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            other.commit(USER, append("log.md", "three"), deadline()).snapshot.close()
            raise OutcomeUnknown("lost")

    bucket.hook = hook
    done = repositories.commit(USER, append("log.md", "two"), deadline())
    with done.snapshot as snapshot:
        assert snapshot.resolve("HEAD~1") == done.commit
    assert lines(repositories) == ["one", "two", "three"]


def test_an_edit_is_made_again_on_a_head_that_moved(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    repositories.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    other = new_machine()
    seen: list[str] = []

    def edit(snapshot: Snapshot) -> Change:
        if not seen:
            other.commit(USER, append("log.md", "two"), deadline()).snapshot.close()
        seen.append(snapshot.head)
        return append("log.md", "three")(snapshot)

    repositories.commit(USER, edit, deadline()).snapshot.close()
    assert len(set(seen)) == 2
    assert lines(repositories) == ["one", "two", "three"]


def test_two_first_writers_share_one_history(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    other = new_machine()
    raced: list[bool] = []

    def edit(snapshot: Snapshot) -> Change:
        if not raced:
            raced.append(True)
            other.commit(USER, append("log.md", "theirs"), deadline(), create=True).snapshot.close()
        return append("log.md", "ours")(snapshot)

    repositories.commit(USER, edit, deadline(), create=True).snapshot.close()
    assert lines(repositories) == ["theirs", "ours"]
    assert stored_manifest(bucket).commits == 3


def test_a_busy_bucket_is_given_at_least_a_second_and_then_longer(tmp_path: Path, bucket: Hooked) -> None:
    sleeps: list[float] = []
    repositories = machine(bucket, tmp_path / "cache", sleeps=sleeps)
    answers = [BucketBusy("429"), BucketBusy("429"), BucketBusy("429", retry_after_seconds=7)]

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put") and answers:
            raise answers.pop(0)

    bucket.hook = hook
    repositories.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    first, second, third = sleeps
    assert 1 <= first <= 1.5
    assert 2 <= second <= 3
    assert third >= 7
    assert lines(repositories) == ["one"]


def test_a_bucket_that_stays_busy_is_unavailable_and_nothing_is_acknowledged(
    repositories: Repositories, bucket: Hooked
) -> None:
    repositories.create(USER, deadline())

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put"):
            raise BucketBusy("429")

    bucket.hook = hook
    with pytest.raises(StorageUnavailable):
        repositories.commit(USER, append("log.md", "one"), Deadline(0.9))
    bucket.hook = lambda *_: None
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ()


def test_a_commit_takes_one_read_and_one_write(repositories: Repositories, bucket: Hooked) -> None:
    repositories.create(USER, deadline())
    bucket.calls.clear()
    done = repositories.commit(USER, append("log.md", "one"), deadline(), tx="t")
    assert [operation for operation, _ in bucket.calls] == ["get", "put"]
    assert done.snapshot.requests == 2
    done.snapshot.close()


def test_threads_of_one_process_all_land(repositories: Repositories, bucket: Hooked) -> None:
    repositories.create(USER, deadline())

    def work(number: int) -> None:
        repositories.commit(USER, append("log.md", f"line {number}"), deadline()).snapshot.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lines(repositories)) == sorted(f"line {number}" for number in range(8))
    assert stored_manifest(bucket).commits == 9
    assert len(bucket.names("put")) == 9  # they waited for each other and lost no race


def test_two_users_never_mix(repositories: Repositories) -> None:
    for user in ("a/b", "a", "A", "a.b"):
        repositories.commit(user, append("log.md", f"of {user}"), deadline(), create=True).snapshot.close()
    for user in ("a/b", "a", "A", "a.b"):
        assert lines(repositories, user=user) == [f"of {user}"]


def test_names_of_objects_say_nothing_about_the_user(tmp_path: Path) -> None:
    inner = Hooked(LocalBucket(tmp_path / "bucket"))
    for secret in (None, "secret"):
        keyed = Repositories(inner, tmp_path / "cache", cache_max_bytes=1 << 30, id_secret=secret)
        keyed.create(USER, deadline())
    first, second = sorted(set(inner.names("put")))
    assert "maya" not in first + second
    assert len(first.split("/")[1]) == len(second.split("/")[1]) == 32


def test_the_clock_is_asked_for_an_aware_time(repositories: Repositories) -> None:
    with repositories.commit(USER, append("log.md", "x"), deadline(), create=True).snapshot as snapshot:
        assert snapshot.log(max_count=1)[0].recorded_at.astimezone(UTC).year == 2026


def test_a_memory_whose_older_files_were_put_back_is_read_and_written_on(
    tmp_path: Path, repositories: Repositories, new_machine: NewMachine
) -> None:
    repositories.commit(USER, append("log.md", "one"), deadline(), create=True).snapshot.close()
    (manifest,) = (tmp_path / "bucket" / "objects").rglob("m@")
    backup = manifest.read_bytes()
    repositories.commit(USER, append("log.md", "two"), deadline()).snapshot.close()
    other = new_machine()
    other.open(USER, deadline()).close()
    manifest.write_bytes(backup)
    for number, one in enumerate((repositories, other, new_machine())):
        one.commit(USER, append("log.md", f"more {number}"), deadline()).snapshot.close()
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.read("log.md").split(b"\n") == [b"one", b"more 0", b"more 1", b"more 2", b""]
