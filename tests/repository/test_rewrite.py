"""Rewriting history: gone from every commit, every pack and every cache; all else as it was."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from diffmem.errors import Conflict, OutcomeUnknown, StorageUnavailable, UnknownUser
from diffmem.repository import Change, Repositories, Snapshot
from tests.support.inflate import inflated, streams
from tests.support.machines import USER, append, deadline, fsck, machine, object_names, stored_manifest, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Moment

NewMachine = Callable[[], Repositories]

CANARY = b"CANARY-7d1f"


def forget(path: str, content: bytes) -> bytes | None:
    """Drops the canary's file, and the lines that hold it elsewhere."""
    if path == "secret.md":
        return None
    return b"".join(line for line in content.splitlines(keepends=True) if CANARY not in line)


def reword(message: str) -> str:
    return message.replace(CANARY.decode(), "it")


def fill(repositories: Repositories) -> None:
    """A history with the canary in a stored pack, in the tail, in a message, and in a file that is gone by now."""
    secret = CANARY.decode()
    changes: list[tuple[dict[str, str | None], str]] = [
        ({"a.md": "one\n", "big.md": noise(300_000, 1)}, "First"),
        ({"a.md": f"one\n{secret}\ntwo\n", "secret.md": secret}, f"Hear of {secret}"),
        ({"big.md": noise(300_000, 2) + secret + "\n"}, "Big"),
        ({"secret.md": None}, "Delete the file"),
        ({"a.md": f"one\n{secret}\ntwo\nthree\n"}, "Third"),
        ({"b.md": "unrelated\n"}, "Unrelated"),
    ]
    for files, subject in changes:
        repositories.commit(USER, write(files, subject), deadline(), create=True).snapshot.close()


def test_what_is_forgotten_is_nowhere_in_the_bucket_nor_in_any_cache(
    tmp_path: Path, bucket: Hooked, new_machine: NewMachine
) -> None:
    repositories, warm = machine(bucket, tmp_path / "one"), machine(bucket, tmp_path / "two")
    fill(repositories)
    with warm.open(USER, deadline()) as snapshot:
        assert CANARY in (snapshot.checkout.tree / "a.md").read_bytes()
    assert CANARY in inflated(bucket)
    done = repositories.rewrite(USER, forget, deadline(), reword=reword)
    assert CANARY not in inflated(bucket)
    assert fsck(bucket) == ""
    assert len(object_names(bucket)) == 3
    assert stored_manifest(bucket).erase_pending == ()
    assert done.files == ("a.md", "big.md", "secret.md")
    assert done.epoch == 1
    for one in (repositories, warm, new_machine()):
        with one.open(USER, deadline()) as snapshot:
            assert snapshot.head == done.head
            assert snapshot.history.epoch == 1
            assert snapshot.read("a.md") == b"one\ntwo\nthree\n"
            assert (snapshot.checkout.tree / "a.md").read_bytes() == b"one\ntwo\nthree\n"
            assert snapshot.commit_count == len(snapshot.log())
    for cache in ("one", "two"):
        files = [path for path in (tmp_path / cache).rglob("*") if path.is_file()]
        assert files
        assert not any(CANARY in path.read_bytes() for path in files)
        assert len({path.parts[-4] for path in files if path.suffix == ".pack"}) == 1


def test_authors_dates_trailers_and_order_stay(repositories: Repositories) -> None:
    repositories.create(USER, deadline())
    for number in range(3):
        change = Change(
            {f"{number}.md": b"x\n" + (CANARY if number == 1 else b"")},
            f"Number {number}",
            body="With a body.",
            trailers={"Session-Id": f"s{number}"},
            occurred_at=datetime(2020 + number, 5, 1, tzinfo=UTC),
            author="Maya",
        )
        repositories.commit(USER, lambda snapshot, change=change: change, deadline()).snapshot.close()  # type: ignore[misc]
    with repositories.open(USER, deadline()) as snapshot:
        before = snapshot.log()
    done = repositories.rewrite(USER, forget, deadline())
    with repositories.open(USER, deadline()) as snapshot:
        after = snapshot.log()
    assert [(c.subject, c.occurred_at, c.recorded_at, c.trailers, c.paths) for c in after] == [
        (c.subject, c.occurred_at, c.recorded_at, c.trailers, c.paths) for c in before
    ]
    assert [done.commits.get(commit.sha, commit.sha) for commit in before] == [commit.sha for commit in after]
    assert [commit.sha for commit in before if commit.sha not in done.commits] == [before[2].sha, before[3].sha]


def test_a_name_of_an_author_is_reworded_like_a_message(repositories: Repositories, bucket: Hooked) -> None:
    change = Change({"a.md": b"x\n"}, "Say x", author=f"Maya {CANARY.decode()}")
    repositories.commit(USER, lambda snapshot: change, deadline(), create=True).snapshot.close()
    repositories.commit(USER, append("a.md", "y"), deadline()).snapshot.close()
    done = repositories.rewrite(USER, forget, deadline(), reword=reword)
    assert (len(done.commits), done.files) == (2, ())
    assert CANARY not in inflated(bucket)
    assert b"author Maya it <" in inflated(bucket)
    assert fsck(bucket) == ""


def test_the_name_and_address_of_our_own_commits_stay(repositories: Repositories) -> None:
    fill(repositories)
    done = repositories.rewrite(
        USER, lambda path, data: data, deadline(), reword=lambda text: re.sub("diffmem|memory", "it", text, flags=re.I)
    )
    assert dict(done.commits) == {}


@pytest.mark.parametrize("drop_empty", [False, True])
def test_a_commit_that_is_left_with_nothing_stays_empty_or_goes(repositories: Repositories, drop_empty: bool) -> None:
    for number, files in enumerate([{"a.md": "x\n"}, {"secret.md": "1"}, {"secret.md": "2"}, {"b.md": "y\n"}]):
        repositories.commit(USER, write(dict(files), str(number)), deadline(), create=True).snapshot.close()
    with repositories.open(USER, deadline()) as snapshot:
        before = snapshot.log()
    done = repositories.rewrite(USER, forget, deadline(), drop_empty=drop_empty)
    with repositories.open(USER, deadline()) as snapshot:
        subjects = [commit.subject for commit in snapshot.log()]
        assert snapshot.commit_count == len(subjects)
        assert snapshot.paths() == ("a.md", "b.md")
    assert subjects == (["3", "0", "Begin"] if drop_empty else ["3", "2", "1", "0", "Begin"])
    assert done.dropped == (2 if drop_empty else 0)
    assert set(done.commits) == {commit.sha for commit in before[:3]}
    if drop_empty:
        assert done.commits[before[1].sha] == done.commits[before[2].sha] == before[3].sha


def test_nothing_to_forget_writes_nothing(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories)
    bucket.calls.clear()
    done = repositories.rewrite(USER, lambda path, content: content, deadline())
    assert (dict(done.commits), done.files, done.epoch) == ({}, (), 0)
    assert {operation for operation, _ in bucket.calls} == {"get"}


def test_a_dry_run_tells_and_writes_nothing(repositories: Repositories, bucket: Hooked) -> None:
    fill(repositories)
    bucket.calls.clear()
    dry = repositories.rewrite(USER, forget, deadline(), reword=reword, dry_run=True)
    assert {operation for operation, _ in bucket.calls} == {"get"}
    done = repositories.rewrite(USER, forget, deadline(), reword=reword)
    assert (dry.commits, dry.files, dry.head) == (done.commits, done.files, done.head)
    assert done.removed.objects > 0 == dry.removed.objects


def test_only_a_message_may_be_rewritten(repositories: Repositories) -> None:
    fill(repositories)
    done = repositories.rewrite(USER, lambda path, content: content, deadline(), reword=reword)
    with repositories.open(USER, deadline()) as snapshot:
        assert [commit.subject for commit in snapshot.log()][4] == "Hear of it"
        assert CANARY in snapshot.read("a.md")
    assert done.files == ()
    assert len(done.commits) == 5


def test_a_commit_that_comes_between_is_rewritten_too(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            other.commit(USER, append("a.md", CANARY.decode()), deadline()).snapshot.close()

    bucket.hook = hook
    repositories.rewrite(USER, forget, deadline(), reword=reword)
    assert CANARY not in inflated(bucket)
    with other.open(USER, deadline()) as snapshot:
        assert len(snapshot.log()) == 8


def test_writers_who_are_always_quicker_are_a_conflict(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)
    other = new_machine()
    busy = False

    def hook(moment: Moment, operation: str, name: str) -> None:
        nonlocal busy
        if (moment, operation) == ("before", "put") and name.endswith("/m") and not busy:
            busy = True
            other.commit(USER, append("c.md", "x"), deadline()).snapshot.close()
            busy = False

    bucket.hook = hook
    with pytest.raises(Conflict):
        repositories.rewrite(USER, forget, deadline())
    bucket.hook = lambda *_: None
    assert fsck(bucket) == ""
    with other.open(USER, deadline()) as snapshot:
        assert snapshot.history.epoch == 0
        assert len([name for name in object_names(bucket) if "/p/" in name]) == 2 * len(stored_manifest(bucket).packs)


def test_a_writer_in_flight_lands_on_the_new_history(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)
    other = new_machine()

    def edit(snapshot: Snapshot) -> Change:
        if snapshot.history.epoch == 0:
            other.rewrite(USER, forget, deadline(), reword=reword)
        return write({"late.md": noise(300_000, 7)})(snapshot)

    repositories.commit(USER, edit, deadline()).snapshot.close()
    assert CANARY not in inflated(bucket)
    assert fsck(bucket) == ""
    with other.open(USER, deadline()) as snapshot:
        assert snapshot.history.epoch == 1
        assert "late.md" in snapshot.paths()


def test_a_folded_pack_of_the_old_history_is_removed_by_its_writer(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)
    other = new_machine()

    def hook(moment: Moment, operation: str, name: str) -> None:
        if (moment, operation) == ("before", "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            other.rewrite(USER, forget, deadline(), reword=reword)

    bucket.hook = hook
    repositories.commit(USER, write({"late.md": noise(300_000, 7)}), deadline()).snapshot.close()
    assert CANARY not in inflated(bucket)
    assert fsck(bucket) == ""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_lost_reply_is_one_rewriting(repositories: Repositories, bucket: Hooked, moment: Moment) -> None:
    fill(repositories)

    def hook(at: Moment, operation: str, name: str) -> None:
        if (at, operation) == (moment, "put") and name.endswith("/m"):
            bucket.hook = lambda *_: None
            raise OutcomeUnknown("lost")

    bucket.hook = hook
    done = repositories.rewrite(USER, forget, deadline(), reword=reword)
    assert done.epoch == 1
    assert CANARY not in inflated(bucket)
    assert stored_manifest(bucket).erase_pending == ()
    assert fsck(bucket) == ""


@pytest.mark.parametrize("call", range(1, 7))
def test_a_rewriting_that_was_cut_off_is_finished_by_the_next_opener(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked, call: int
) -> None:
    fill(repositories)
    changed = 0

    def hook(at: Moment, operation: str, name: str) -> None:
        nonlocal changed
        if at == "before" and operation in ("put", "delete"):
            changed += 1
            if changed >= call:
                raise StorageUnavailable("cut off")

    bucket.hook = hook
    cut_off = False
    try:
        repositories.rewrite(USER, forget, deadline(), reword=reword)
    except StorageUnavailable:
        cut_off = True
    bucket.hook = lambda *_: None
    with new_machine().open(USER, deadline()) as snapshot:
        assert fsck(bucket) == ""
        assert cut_off
        if snapshot.history.epoch:
            assert CANARY not in inflated(bucket)
            assert stored_manifest(bucket).erase_pending == ()
        else:
            assert CANARY in snapshot.read("a.md")


def test_an_opener_whom_the_bucket_refuses_reads_all_the_same(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    fill(repositories)

    def refuse(at: Moment, operation: str, name: str) -> None:
        if operation == "delete":
            raise StorageUnavailable("may not delete")

    bucket.hook = refuse
    with pytest.raises(StorageUnavailable):
        repositories.rewrite(USER, forget, deadline(), reword=reword)
    with new_machine().open(USER, deadline()) as snapshot:
        assert snapshot.history.epoch == 1
    assert stored_manifest(bucket).erase_pending
    bucket.hook = lambda *_: None
    new_machine().open(USER, deadline()).close()
    assert CANARY not in inflated(bucket)


def test_a_retry_after_a_rewriting_still_finds_its_commit(repositories: Repositories, new_machine: NewMachine) -> None:
    fill(repositories)
    repositories.commit(USER, append("log.md", "once"), deadline(), tx="t").snapshot.close()
    repositories.rewrite(USER, forget, deadline(), reword=reword)
    for one in (repositories, new_machine()):
        done = one.commit(USER, append("log.md", "once"), deadline(), tx="t")
        assert done.duplicate
        done.snapshot.close()


def test_a_snapshot_of_the_old_history_says_so(repositories: Repositories) -> None:
    fill(repositories)
    with repositories.open(USER, deadline()) as snapshot:
        repositories.rewrite(USER, forget, deadline(), reword=reword)
        with pytest.raises(Conflict, match="rewritten"):
            snapshot.log()


def test_an_edit_whose_history_goes_from_under_it_is_made_again(tmp_path: Path, bucket: Hooked) -> None:
    repositories, same_disk = machine(bucket, tmp_path / "cache"), machine(bucket, tmp_path / "cache")
    fill(repositories)
    epochs: list[int] = []

    def edit(snapshot: Snapshot) -> Change:
        epochs.append(snapshot.history.epoch)
        if len(epochs) == 1:
            same_disk.rewrite(USER, forget, deadline(), reword=reword)
        return Change({"count.md": f"{len(snapshot.log())}\n".encode()}, "Count")

    repositories.commit(USER, edit, deadline()).snapshot.close()
    assert epochs == [0, 1]


@pytest.mark.parametrize("by", ["this process", "another that shares the cache"])
def test_a_reader_who_comes_too_late_does_not_put_the_old_history_back_into_the_cache(
    tmp_path: Path, bucket: Hooked, by: str
) -> None:
    reader = machine(bucket, tmp_path / "cache")
    reader.commit(USER, write({"a.md": CANARY.decode()}), deadline(), create=True).snapshot.close()
    writer = reader if by == "this process" else machine(bucket, tmp_path / "cache")
    turns = [True]

    def hook(moment: Moment, operation: str, name: str) -> None:
        if moment == "after" and operation == "get" and turns:
            turns.clear()
            writer.rewrite(USER, forget, deadline(), reword=reword)

    bucket.hook = hook
    with pytest.raises(Conflict), reader.open(USER, deadline()) as snapshot:
        snapshot.read_at("HEAD", "a.md")
    packs = [path.read_bytes() for path in (tmp_path / "cache").rglob("*.pack")]
    assert len(packs) == 1
    assert CANARY not in streams(packs[0])
    with reader.open(USER, deadline()) as snapshot:
        assert snapshot.read("a.md") == b""


@pytest.mark.parametrize("damage", ["altered", "gone"])
def test_a_damaged_cache_does_not_keep_anything_from_being_forgotten(
    tmp_path: Path, bucket: Hooked, damage: str
) -> None:
    fill(machine(bucket, tmp_path / "cache"))
    for pack in (tmp_path / "cache").rglob("*.pack"):
        size = pack.stat().st_size
        pack.unlink()
        if damage == "altered":
            pack.write_bytes(bytes(size))
    machine(bucket, tmp_path / "cache").rewrite(USER, forget, deadline(), reword=reword)
    assert CANARY not in inflated(bucket)
    assert fsck(bucket) == ""


def test_a_history_that_is_rewritten_elsewhere_under_a_rewriting_is_rewritten_as_it_is_then(
    tmp_path: Path, bucket: Hooked
) -> None:
    repositories, other = (machine(bucket, tmp_path / "cache") for _ in range(2))
    fill(repositories)
    others_turn = [True]

    def slowly(path: str, content: bytes) -> bytes | None:
        if others_turn:
            others_turn.clear()
            other.rewrite(USER, lambda path, content: content.replace(b"unrelated", b"x"), deadline())
        return forget(path, content)

    repositories.rewrite(USER, slowly, deadline(), reword=reword)
    assert CANARY not in inflated(bucket)
    assert b"unrelated" not in inflated(bucket)
    assert fsck(bucket) == ""


def test_rewriting_nobody_is_an_error(repositories: Repositories) -> None:
    with pytest.raises(UnknownUser):
        repositories.rewrite("nobody", forget, deadline())
