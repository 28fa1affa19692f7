"""Erased, forgotten or replaced: on every kind of bucket, no object that is left says the canary."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem.curation.adopt import Adoption
from diffmem.repository import Repositories
from diffmem.storage import Bucket, GCSBucket, LocalBucket
from tests.support.bundles import Repository
from tests.support.emulator import Emulator
from tests.support.gcs_strict import StrictGCS
from tests.support.inflate import inflated
from tests.support.machines import START, deadline, machine, object_names, write
from tests.support.model_bucket import ModelBucket
from tests.support.noise import noise

USER = "alex"
OTHER = "Alex"
CANARY = "Kanarienvogel-7731"


@pytest.fixture(params=["local", "fake-gcs-server", "strict", "model"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bucket]:
    if request.param == "local":
        yield LocalBucket(tmp_path / "bucket")
    elif request.param == "model":
        yield ModelBucket()
    else:
        server = Emulator() if request.param == "fake-gcs-server" else StrictGCS("memory")
        with server:
            if isinstance(server, Emulator):
                server.create_bucket("memory")
            gcs = GCSBucket("memory", "some/prefix", endpoint=server.url)
            yield gcs
            gcs.close()


@pytest.fixture
def repositories(bucket: Bucket, tmp_path: Path) -> Repositories:
    """A machine, and two memories with the canary in stored packs, in the tail, and in what is deleted by now."""
    made = machine(bucket, tmp_path / "cache")
    for user in (USER, OTHER):
        for number in range(4):
            files: dict[str, str | None] = {f"f{number}.md": noise(60_000, number) + CANARY, "gone.md": CANARY}
            made.commit(user, write(files, f"Write {number}"), deadline(), create=True).snapshot.close()
        made.commit(user, write({"gone.md": None, "last.md": CANARY}), deadline()).snapshot.close()
    assert CANARY.encode() in inflated(bucket)
    made.erase(OTHER, deadline())
    return made


def test_erasing_leaves_nothing(bucket: Bucket, repositories: Repositories) -> None:
    erased = repositories.erase(USER, deadline())
    assert erased.objects > 2, "stored packs were among them"
    assert object_names(bucket) == []
    assert CANARY.encode() not in inflated(bucket)


def test_forgetting_leaves_the_rest(bucket: Bucket, repositories: Repositories) -> None:
    repositories.rewrite(USER, lambda path, data: data.replace(CANARY.encode(), b"...") or None, deadline())
    assert CANARY.encode() not in inflated(bucket)
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("f0.md", "f1.md", "f2.md", "f3.md", "last.md")
        assert snapshot.commit_count == 6


def test_what_an_import_replaces_is_gone(bucket: Bucket, repositories: Repositories, tmp_path: Path) -> None:
    stranger = Repository(tmp_path / "stranger")
    with tempfile.TemporaryFile() as file:
        file.write(stranger.bundle({"main": stranger.files({"notes.md": b"# Notes\n"})}))
        file.seek(0)
        adoption = Adoption(USER, None, START)
        done = repositories.import_bundle(USER, file, adoption.choose, adoption, deadline(), replace=True)
    assert (done.status, done.removed.objects > 0) == ("replaced", True)
    assert CANARY.encode() not in inflated(bucket)
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("notes.md",)
