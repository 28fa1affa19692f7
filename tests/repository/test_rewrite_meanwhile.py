"""Rewriting history while others write, read, rewrite or die: nothing is lost, and what was forgotten stays so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from diffmem.errors import Conflict, OutcomeUnknown, StorageUnavailable, UnknownUser
from diffmem.repository import Change, Repositories, Snapshot
from tests.support.forgetting import CANARY, fill, forget, reword
from tests.support.inflate import inflated, streams
from tests.support.machines import USER, append, deadline, fsck, machine, object_names, stored_manifest, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked, Moment

NewMachine = Callable[[], Repositories]


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
