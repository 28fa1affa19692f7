"""Rewriting history: gone from every commit, every pack and every cache; all else as it was."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from diffmem.repository import Change, Repositories
from tests.support.forgetting import CANARY, fill, forget, reword
from tests.support.inflate import inflated
from tests.support.machines import USER, append, deadline, fsck, machine, object_names, stored_manifest, write
from tests.support.wrapped import Hooked

NewMachine = Callable[[], Repositories]


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
