"""The function, for several people."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app import Function, function


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Function]:
    with function(tmp_path) as served:
        yield served
