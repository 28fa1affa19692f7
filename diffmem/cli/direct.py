"""The routes of the contract on the configured store, in this process: as the edge calls them, without HTTP."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from types import TracebackType
from typing import Any, BinaryIO, Self

from diffmem.api.application import Application
from diffmem.api.call import Call
from diffmem.api.requests import validation
from diffmem.cli.access import SECONDS, Failed, Reply
from diffmem.config import Config
from diffmem.errors import DiffMemError
from diffmem.http import problems
from diffmem.http.encoding import to_json
from diffmem.http.routes import ROUTES
from diffmem.http.routing import Route, match
from diffmem.limits import Deadline


class Direct:
    """An `Access` to the store that `environment` configures; what it opened is closed at the end."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        with translated():
            config = Config.from_environment(environment)
            self.application = Application(config)
        self.where = config.store

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        file: BinaryIO | None = None,
    ) -> Reply:
        """See `Access.send`."""
        with translated():
            route, parameters = match(ROUTES, method, path)
            arguments: dict[str, Any] = dict(parameters)
            if route.query is not None:
                with validation():
                    arguments["query"] = route.query.model_validate(query or {}, strict=False)
            if route.body is not None or route.max_raw_bytes:
                arguments["body"] = _body(route, body, file)
            call = Call(Deadline(SECONDS), datetime.now(UTC))
            answer = route.handler(self.application, call, **arguments)
        if answer.media_type == "application/json":
            return Reply(answer.status, json.loads(to_json(answer.content)), BytesIO())
        content = answer.content
        return Reply(answer.status, None, BytesIO(content) if isinstance(content, bytes) else content)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.application.close()


@contextmanager
def translated() -> Iterator[None]:
    """DiffMem's errors become `Failed` inside, with the contract's status."""
    try:
        yield
    except DiffMemError as error:
        row = problems.row(error)
        retry = getattr(error, "retry_after_seconds", None) or 0.0
        raise Failed(str(error), status=row.status, slug=row.slug, retry_after_seconds=retry) from error


def _body(route: Route, body: Mapping[str, Any] | None, file: BinaryIO | None) -> Any:
    if route.body is not None:
        with validation():
            return route.body.model_validate_json(json.dumps(body or {}))
    if file is None:
        return b""
    return file if route.body_as_file else file.read()
