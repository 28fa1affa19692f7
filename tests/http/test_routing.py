import contextlib
import dataclasses
import subprocess
import sys
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.api.call import Answer
from diffmem.errors import InvalidRequest, MethodNotAllowed, RequestError, UnknownRoute
from diffmem.http import routes
from diffmem.http.routing import Route, match


def _handler() -> Answer:
    return Answer(200, {})


HANDLER = f"{__name__}:_handler"
ROUTES = [
    Route("GET", "/health", HANDLER, "public", "health"),
    Route("GET", "/v1/users/{user}", HANDLER, "read", "user"),
    Route("PUT", "/v1/users/{user}", HANDLER, "write", "user"),
    Route("GET", "/v1/users/{user}/files/{path*}", HANDLER, "read", "file"),
]


def test_parameters_are_decoded_after_the_path_is_split() -> None:
    route, parameters = match(ROUTES, "GET", "/v1/users/alex%40example.org?x=1")
    assert (route.summary, parameters) == ("user", {"user": "alex@example.org"})
    _, parameters = match(ROUTES, "GET", "/v1/users/a/files/memories/people/%E5%A6%BB.md")
    assert parameters == {"user": "a", "path": "memories/people/妻.md"}


def test_head_is_served_as_get() -> None:
    assert match(ROUTES, "HEAD", "/health")[0].method == "GET"


def test_another_method_is_told_which_are_allowed() -> None:
    with pytest.raises(MethodNotAllowed) as caught:
        match(ROUTES, "DELETE", "/v1/users/alex")
    assert caught.value.allowed == ("GET", "PUT")


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/users", "/v1/users/a/b", "/health/", "//health", "/v1/users/a/files"]
)
def test_a_path_without_a_route_is_unknown(path: str) -> None:
    with pytest.raises(UnknownRoute):
        match(ROUTES, "GET", path)


@pytest.mark.parametrize(
    "user", ["a%2Fb", ".hidden", "..", "%2e%2e", "a b", "é", "%FF", "a%00b", "a%0A", "x" * 129, "a*b", "a%5Cb", ""]
)
def test_what_is_not_a_user_id_is_refused(user: str) -> None:
    with pytest.raises(InvalidRequest, match="user"):
        match(ROUTES, "GET", f"/v1/users/{user}")


@given(st.text())
def test_any_path_is_a_route_or_a_request_error(path: str) -> None:
    with contextlib.suppress(RequestError):
        match(ROUTES, "GET", "/" + path)


def test_every_route_finds_its_handler_and_what_it_answers() -> None:
    for route in routes.ROUTES:
        assert route.handler.__doc__, route.target
        assert route.answers is None or dataclasses.is_dataclass(route.answer), route.target
        assert (route.max_raw_bytes > 0) == (route.handler.__annotations__.get("body") in (bytes, BinaryIO))


def test_a_handler_is_imported_when_it_is_asked_for() -> None:
    code = "import sys, diffmem.http.routes; print([name for name in sys.modules if name.startswith('diffmem.api.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['diffmem.api.call']"
