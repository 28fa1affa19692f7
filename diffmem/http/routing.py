"""From a method and a raw path to a route and its parameters.

The raw path is split before it is percent-decoded, so that `a%2Fb` is one segment: a bad user id is told so, and never
becomes another route or another user.
"""

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel

from diffmem.api.call import Answer
from diffmem.errors import InvalidRequest, MethodNotAllowed, UnknownRoute

Scope = Literal["public", "read", "write", "hook"]

USER_PATTERN = "[A-Za-z0-9_@+:=-][A-Za-z0-9._@+:=-]{0,127}"
_USER = re.compile(USER_PATTERN)


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the contract's table. `{name}` is one segment of the path; a last `{name*}` is all that follow.

    `target` names the handler as `module:function`: it is imported when the route is first served, with whatever only
    it needs. What it takes stands in its signature: `body`, a model of the JSON body, or `bytes` or `BinaryIO` for the
    body as it was sent, of `body_type` and at most `max_raw_bytes`; and `query`, a model of the query string.
    `answers` names the dataclass of the JSON answer; where there is none, the answer is of `answer_type`. It may be of
    `other_types` too.
    """

    method: str
    pattern: str
    target: str
    scope: Scope
    summary: str
    answers: str | None = None
    max_raw_bytes: int = 0
    statuses: tuple[int, ...] = (200,)
    body_optional: bool = False
    body_type: str = "application/json"
    answer_type: str = "application/json"
    other_types: tuple[str, ...] = ()

    @property
    def handler(self) -> Callable[..., Answer]:
        """The function of the API."""
        handler: Callable[..., Answer] = _named(self.target)
        return handler

    @property
    def body(self) -> type[BaseModel] | None:
        """The model of the JSON body."""
        model: type[BaseModel] | None = None if self.max_raw_bytes else self._parameter("body")
        return model

    @property
    def query(self) -> type[BaseModel] | None:
        """The model of the query string."""
        model: type[BaseModel] | None = self._parameter("query")
        return model

    @property
    def body_as_file(self) -> bool:
        """Whether the handler takes an open file."""
        return self._parameter("body") is BinaryIO

    @property
    def answer(self) -> type | None:
        """The dataclass of the JSON answer."""
        return _named(self.answers) if self.answers else None

    def _parameter(self, name: str) -> Any:
        return self.handler.__annotations__.get(name)


def _named(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def match(routes: Sequence[Route], method: str, raw_path: str) -> tuple[Route, dict[str, str]]:
    """The route for `method` and `raw_path`, and its parameters, decoded. HEAD is served as GET.

    Raises:
        UnknownRoute: no route has this path.
        MethodNotAllowed: routes have it, for other methods.
        InvalidRequest: a segment is not UTF-8, or the user id is not one.
    """
    segments = raw_path.split("?", 1)[0].split("/")[1:]
    found = [
        (route, parameters) for route in routes if (parameters := _parameters(route.pattern, segments)) is not None
    ]
    if not found:
        raise UnknownRoute(f"no route at {_shown(raw_path)}")
    wanted = "GET" if method == "HEAD" else method
    for route, parameters in found:
        if route.method == wanted:
            return route, {name: _decoded(name, value) for name, value in parameters.items()}
    allowed = tuple(sorted({route.method for route, _ in found}))
    raise MethodNotAllowed(f"{_shown(raw_path)} takes {', '.join(allowed)}, not {method[:20]!r}", allowed)


def _parameters(pattern: str, segments: list[str]) -> dict[str, str] | None:
    wanted = pattern.split("/")[1:]
    if wanted[-1].endswith("*}"):
        head, rest = wanted[:-1], wanted[-1][1:-2]
        if len(segments) <= len(head):
            return None
        parameters = _parameters("/" + "/".join(head), segments[: len(head)])
        return None if parameters is None else parameters | {rest: "/".join(segments[len(head) :])}
    if len(wanted) != len(segments):
        return None
    parameters = {}
    for want, have in zip(wanted, segments, strict=True):
        if want.startswith("{"):
            parameters[want[1:-1]] = have
        elif want != have:
            return None
    return parameters


def _decoded(name: str, raw: str) -> str:
    try:
        value = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{name}: {_shown(raw)} is not UTF-8") from error
    if name == "user" and not _USER.fullmatch(value):
        raise InvalidRequest(
            f"user: {value[:140]!r} is not 1 to 128 characters of A-Z a-z 0-9 . _ @ + : = - that do not start with '.'"
        )
    return value


def _shown(path: str) -> str:
    return repr(path if len(path) <= 100 else path[:97] + "...")
