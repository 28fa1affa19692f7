"""A bucket, and as many machines as a test asks for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from diffmem.repository import Repositories
from diffmem.storage import LocalBucket
from tests.support.machines import machine
from tests.support.wrapped import Hooked


@pytest.fixture
def bucket(tmp_path: Path) -> Hooked:
    """A bucket on disk that notes what it is asked."""
    return Hooked(LocalBucket(tmp_path / "bucket"))


@pytest.fixture
def new_machine(tmp_path: Path, bucket: Hooked) -> Callable[[], Repositories]:
    """Makes a machine that has never seen the bucket."""
    caches = iter(range(100))
    return lambda: machine(bucket, tmp_path / f"cache-{next(caches)}")


@pytest.fixture
def repositories(new_machine: Callable[[], Repositories]) -> Repositories:
    """One machine."""
    return new_machine()
