"""Addresses that functions-framework's own router would answer are ours too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app import Function, function


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Function]:
    with function(tmp_path) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404),
        ("/robots.txt", 404),
        ("/favicon.ico", 404),
        ("//v1/users/alex", 404),
        ("/v1//users/alex", 404),
        ("/v1/users//export", 400),
        ("/v1/users/a%0Ab", 400),
        ("/v1/users/a%0Ab/log", 400),
        ("/v1/users/alex/files/%0A.md", 404),
        ("/v1/users/alex/../bea", 404),
        ("/v1/users/alex%2F..%2Fbea", 400),
        ("/v1/hooks/%0A", 404),
    ],
)
def test_every_address_is_answered_by_the_function(app: Function, path: str, status: int) -> None:
    response = app.get(path)
    assert (response.status_code, response.mimetype) == (status, "application/problem+json")
    assert response.headers["X-Request-Id"]
