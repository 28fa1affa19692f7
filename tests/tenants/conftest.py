"""The function, with and without an OS layer under the tool."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app import Function, function


@pytest.fixture(params=["prefer", "off"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Function]:
    """The function, with and without an OS layer under the tool."""
    with function(tmp_path, {"DIFFMEM_SANDBOX": request.param}) as served:
        yield served
