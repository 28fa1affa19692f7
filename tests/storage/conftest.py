"""Every bucket, empty, with what its backend does not keep."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from diffmem.limits import Deadline
from diffmem.storage import Bucket, GCSBucket, LocalBucket
from tests.support.emulator import Emulator
from tests.support.gcs_strict import StrictGCS

_numbers = itertools.count()


@dataclass(frozen=True)
class Backend:
    """A bucket, how another process opens the same one, and whether it keeps every promise of the interface."""

    bucket: Bucket
    place: tuple[str, str]
    strict: bool = True


@pytest.fixture
def deadline() -> Deadline:
    return Deadline(20)


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def strict() -> Iterator[StrictGCS]:
    with StrictGCS("memory") as gcs:
        yield gcs


@pytest.fixture(params=["local", "fake-gcs-server", "strict"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    if request.param == "local":
        yield Backend(LocalBucket(tmp_path / "store"), (f"file:{tmp_path}/store", ""))
    elif request.param == "strict":
        with StrictGCS("memory", most_per_page=3) as gcs:
            yield from _over_http("memory", gcs.url, strict=True)
    else:
        emulator: Emulator = request.getfixturevalue("emulator")
        yield from _over_http(emulator.create_bucket(f"memory-{next(_numbers)}"), emulator.url, strict=False)


@pytest.fixture
def bucket(backend: Backend) -> Bucket:
    return backend.bucket


def _over_http(name: str, url: str, *, strict: bool) -> Iterator[Backend]:
    bucket = GCSBucket(name, "some/prefix", endpoint=url)
    yield Backend(bucket, (f"gs://{name}/some/prefix", url), strict)
    bucket.close()
