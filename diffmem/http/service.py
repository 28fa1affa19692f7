"""One HTTP request, top to bottom: identify, route, authenticate, decode, call the API, encode, log."""

import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import PurePath
from typing import Any

import flask

from diffmem.api.application import Application, check_configuration
from diffmem.api.call import Answer, Call
from diffmem.config import Config
from diffmem.errors import DiffMemError, RequestError
from diffmem.http import bodies, log, problems, trace
from diffmem.http.auth import Authenticator
from diffmem.http.rates import RateLimit
from diffmem.http.routes import ROUTES
from diffmem.http.routing import Route, match
from diffmem.limits import Deadline, Limits

_DEFAULT_REQUEST_SECONDS = 3600.0
_PLATFORM_MARGIN_SECONDS = 2.0
_CHUNK_BYTES = 256 * 1024


class Service:
    """The function behind `main.diffmem`: made at import, it opens nothing before a process's first request."""

    def __init__(self, config: Config, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._config = config
        self._now = now
        self._limits = Limits()
        self._authenticator = Authenticator(config)
        self._rates = RateLimit(config.rate_limit_per_minute)
        check_configuration(config)
        self._lock = threading.Lock()
        self._application: Application | None = None
        self._pid = 0

    def handle(self, request: flask.Request) -> flask.Response:
        """Answer one request; an error becomes its problem+json body here and nowhere else."""
        began = time.monotonic()
        headers = {name.lower(): value for name, value in request.headers.items()}
        request_id = trace.request_id(headers)
        route: Route | None = None
        try:
            route, parameters = match(ROUTES, request.method, _raw_path(request))
            response, noted = self._answer(request, headers, route, parameters, request_id)
        except Exception as error:  # noqa: BLE001 - the edge: whatever arises becomes a problem and a log line
            response, noted = _problem(error, request_id)
        response.headers["X-Request-Id"] = request_id
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-store"
        _log(response, request, route, request_id, time.monotonic() - began, noted)
        return response

    def close(self) -> None:
        """Release what the first request opened; the next request opens it again."""
        with self._lock:
            application, self._application = self._application, None
        if application is not None:
            application.close()

    def _answer(
        self,
        request: flask.Request,
        headers: dict[str, str],
        route: Route,
        parameters: dict[str, str],
        request_id: str,
    ) -> tuple[flask.Response, dict[str, Any]]:
        caller = self._authenticator.caller(headers, request.remote_addr, route.scope, parameters.get("user"))
        if route.scope in ("read", "write"):
            self._rates.check(caller.name)
        query_string = request.query_string.decode("latin-1")
        call = Call(
            request_id, self._deadline(), self._now(), caller.name, caller.may_write, headers, request.url, query_string
        )
        arguments: dict[str, Any] = dict(parameters)
        if route.query is not None:
            arguments["query"] = bodies.query_model(request, route.query)
        with self._body(request, route) as body:
            answer = route.handler(self._app(), call, **arguments, **body)
        return _encode(answer), {**answer.log, "caller": caller.name}

    @contextmanager
    def _body(self, request: flask.Request, route: Route) -> Iterator[dict[str, Any]]:
        """The request's body as the keyword argument that the route's handler takes; none where it takes none."""
        if route.body is not None:
            yield {"body": bodies.json_model(request, route.body, self._limits)}
        elif route.body_as_file:
            with bodies.as_file(request, route.max_raw_bytes) as file:
                yield {"body": file}
        elif route.max_raw_bytes:
            yield {"body": bodies.raw(request, route.max_raw_bytes)}
        else:
            yield {}

    def _deadline(self) -> Deadline:
        platform = self._config.request_timeout_seconds
        return Deadline(max(1.0, platform - _PLATFORM_MARGIN_SECONDS) if platform else _DEFAULT_REQUEST_SECONDS)

    def _app(self) -> Application:
        with self._lock:
            if self._application is None or self._pid != os.getpid():
                self._application = Application(self._config)
                self._pid = os.getpid()
            return self._application


def _raw_path(request: flask.Request) -> str:
    # gunicorn and Werkzeug name the undecoded target differently; PATH_INFO has already lost `%2F`.
    target = request.environ.get("RAW_URI") or request.environ.get("REQUEST_URI")
    # WSGI's strings hold bytes (PEP 3333); a client that does not percent-encode sends UTF-8.
    return str(target).encode("latin-1").decode("utf-8", "replace") if target else request.path


def _encode(answer: Answer) -> flask.Response:
    response = flask.Response(
        _data(answer.content), answer.status, dict(answer.headers), content_type=answer.media_type
    )
    if isinstance(answer.content, BufferedReader):
        response.call_on_close(answer.content.close)
    if answer.timings_ms:
        response.headers["Server-Timing"] = ", ".join(f"{name};dur={ms}" for name, ms in answer.timings_ms.items())
    return response


def _data(content: Any) -> bytes | Iterator[bytes]:
    if isinstance(content, BufferedReader):
        return _pieces(content)
    return content if isinstance(content, bytes) else to_json(content)


def _pieces(file: BufferedReader) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK_BYTES):
            yield piece


def _problem(error: Exception, request_id: str) -> tuple[flask.Response, dict[str, Any]]:
    data = to_json(problems.body(error, request_id))
    headers = {**problems.headers(error), "Content-Length": str(len(data))}
    # functions-framework reads what is left of a request into memory before it sends a response that is not streamed.
    response = flask.Response(
        iter([data]), problems.row(error).status, headers, content_type="application/problem+json"
    )
    noted: dict[str, Any] = {"problem": problems.row(error).slug}
    if not isinstance(error, DiffMemError):
        noted["stack"] = log.frames(error)
    elif not isinstance(error, RequestError):
        noted["error"] = f"{type(error).__name__}: {error}"
    return response, noted


def _log(
    response: flask.Response,
    request: flask.Request,
    route: Route | None,
    request_id: str,
    seconds: float,
    noted: dict[str, Any],
) -> None:
    if "Server-Timing" not in response.headers:
        response.headers["Server-Timing"] = f"total;dur={round(seconds * 1000)}"
    severity = "ERROR" if response.status_code >= 500 else "WARNING" if response.status_code >= 400 else "INFO"
    name = f"{request.method} {route.pattern if route else '(no route)'}"
    fields = {"request_id": request_id, "status": response.status_code, "ms": round(seconds * 1000)}
    log.write(severity, name, fields | noted)


def to_json(content: Any) -> bytes:
    """`content` as UTF-8 JSON: dataclasses as objects, times as RFC 3339, tuples as arrays."""
    return json.dumps(content, default=_plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "items"):
        return dict(value.items())
    raise TypeError(f"{type(value).__name__} has no JSON form")
