"""An import beside lost replies, other writers, crashes and erasures: whole or not at all, and never twice."""

import tempfile
from collections import deque
from pathlib import Path

import pytest

from diffmem.curation.adopt import Adoption
from diffmem.errors import Conflict, UnknownUser
from diffmem.repository import Imported, Repositories
from diffmem.storage import LocalBucket
from tests.support.bundles import Repository
from tests.support.machines import START, deadline, fsck, machine, object_names, stored_manifest, write
from tests.support.model_bucket import Fault, ModelBucket
from tests.support.wrapped import Hooked, Moment

USER = "alex"


@pytest.fixture
def bundle(tmp_path: Path) -> bytes:
    stranger = Repository(tmp_path / "stranger")
    first = stranger.files({"maya.md": b"# Maya\n"}, when=1_771_000_000)
    return stranger.bundle({"user/maya": stranger.files({"maya.md": b"# Maya\n\n- A nurse.\n"}, first)}, head=None)


def _import(repositories: Repositories, bundle: bytes, *, replace: bool = False) -> Imported:
    adoption = Adoption(USER, None, START)
    with tempfile.TemporaryFile() as file:
        file.write(bundle)
        file.seek(0)
        return repositories.import_bundle(USER, file, adoption.choose, adoption, deadline(), replace=replace)


def _paths(repositories: Repositories) -> tuple[str, ...]:
    with repositories.open(USER, deadline()) as snapshot:
        return snapshot.paths()


@pytest.mark.parametrize("fault", ["busy", "lost_before", "lost_after"])
@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize("replace", [False, True])
def test_whatever_write_goes_wrong_the_import_lands_once(
    tmp_path: Path, bundle: bytes, fault: Fault, position: int, replace: bool
) -> None:
    bucket = ModelBucket()
    repositories = machine(bucket, tmp_path / "cache")
    if replace:
        repositories.commit(USER, write({"old.md": "x"}), deadline(), create=True).snapshot.close()
    before: list[Fault] = ["none"] * position
    bucket.faults = deque([*before, fault])
    done = _import(repositories, bundle, replace=replace)
    assert (done.status, done.commits) == ("replaced" if replace else "imported", 3)
    assert _paths(machine(bucket, tmp_path / "elsewhere")) == ("profile.md",)
    repositories.maintain(USER, deadline())
    named = {f"{pack.name}" for pack in stored_manifest(bucket, USER).packs}
    assert {name.rpartition("/")[2].rpartition(".")[0] for name in object_names(bucket)} == named | {""}
    assert fsck(bucket, USER) == ""


def test_a_writer_who_was_quicker_keeps_what_was_written(tmp_path: Path, bundle: bytes) -> None:
    bucket = Hooked(LocalBucket(tmp_path / "bucket"))
    repositories, other = machine(bucket, tmp_path / "cache"), machine(bucket.inner, tmp_path / "other")
    repositories.create(USER, deadline())

    def write_first(moment: Moment, operation: str, name: str) -> None:
        if moment == "before" and operation == "put" and name.endswith("/m"):
            bucket.hook = lambda moment, operation, name: None
            other.commit(USER, write({"mine.md": "x"}), deadline()).snapshot.close()

    bucket.hook = write_first
    with pytest.raises(Conflict, match="has 2 commits"):
        _import(repositories, bundle)
    assert _paths(repositories) == ("mine.md",)
    assert [name for name in object_names(bucket) if name.endswith(".pack")] == [], "its pack was taken back"


def test_a_reader_sees_the_old_memory_or_the_new_one(tmp_path: Path, bundle: bytes) -> None:
    bucket = Hooked(LocalBucket(tmp_path / "bucket"))
    repositories, reader = machine(bucket, tmp_path / "cache"), machine(bucket.inner, tmp_path / "other")
    repositories.commit(USER, write({"old.md": "x"}), deadline(), create=True).snapshot.close()
    seen: list[tuple[str, ...]] = []
    bucket.hook = lambda moment, operation, name: seen.append(_paths(reader))
    _import(repositories, bundle, replace=True)
    assert set(seen) == {("old.md",), ("profile.md",)}
    assert sorted(seen, key=lambda paths: paths != ("old.md",)) == seen


def test_a_crash_after_the_swap_is_finished_by_the_next_opener(tmp_path: Path, bundle: bytes) -> None:
    bucket = Hooked(LocalBucket(tmp_path / "bucket"))
    repositories = machine(bucket, tmp_path / "cache")
    large: dict[str, str | None] = {"old.md": "".join(f"{number * 7919}\n" for number in range(60_000))}
    repositories.commit(USER, write(large), deadline(), create=True).snapshot.close()
    old = {name for name in object_names(bucket) if name.endswith(".pack")}
    assert old

    def crash(moment: Moment, operation: str, name: str) -> None:
        if operation == "delete":
            raise KeyboardInterrupt

    bucket.hook = crash
    with pytest.raises(KeyboardInterrupt):
        _import(repositories, bundle, replace=True)
    bucket.hook = lambda moment, operation, name: None
    assert _paths(machine(bucket, tmp_path / "other")) == ("profile.md",)
    assert not old & set(object_names(bucket))


def test_a_user_who_is_erased_meanwhile_stays_erased(tmp_path: Path, bundle: bytes) -> None:
    bucket = Hooked(LocalBucket(tmp_path / "bucket"))
    repositories, other = machine(bucket, tmp_path / "cache"), machine(bucket.inner, tmp_path / "other")
    repositories.create(USER, deadline())

    def erase_first(moment: Moment, operation: str, name: str) -> None:
        if moment == "before" and operation == "put" and name.endswith("/m"):
            bucket.hook = lambda moment, operation, name: None
            other.erase(USER, deadline())

    bucket.hook = erase_first
    with pytest.raises(UnknownUser):
        _import(repositories, bundle)
    other.maintain(None, deadline())
    assert object_names(bucket) == []
