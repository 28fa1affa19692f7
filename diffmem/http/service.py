"""One HTTP request, top to bottom: identify, route, authenticate, decode, call the API, encode, log."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BufferedReader
from typing import Any

import flask

from diffmem.api.application import Application, check_configuration
from diffmem.api.call import Answer, Call, Stopwatch
from diffmem.config import Config
from diffmem.git import version as git
from diffmem.http import bodies, problems
from diffmem.http.auth import Authenticator, Caller
from diffmem.http.encoding import to_json
from diffmem.http.rates import RateLimit
from diffmem.http.record import Record
from diffmem.http.routes import ROUTES
from diffmem.http.routing import Route, match
from diffmem.http.spans import request_span
from diffmem.limits import Deadline, Limits
from diffmem.storage import MeteredBucket

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
        git.require()
        self._lock = threading.Lock()
        self._application: Application | None = None
        self._pid = 0

    def handle(self, request: flask.Request) -> flask.Response:
        """Answer one request; an error becomes its problem+json body here and nowhere else."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        record = Record(self._config, request.method, headers)
        with request_span(headers) as span:
            try:
                response = self._answer(request, headers, record)
            except Exception as error:  # noqa: BLE001 - the edge: whatever arises becomes a problem and a log line
                record.note_problem(error)
                response = _problem(error, record.request_id)
            response.headers["X-Request-Id"] = record.request_id
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Cache-Control"] = "no-store"
            record.finish(response, span)
        return response

    def close(self) -> None:
        """Release what the first request opened; the next request opens it again."""
        with self._lock:
            application, self._application = self._application, None
        if application is not None:
            application.close()

    def _answer(self, request: flask.Request, headers: dict[str, str], record: Record) -> flask.Response:
        route, parameters = match(ROUTES, request.method, _raw_path(request))
        record.route = route
        caller = self._caller(request, headers, route, parameters, record)
        deadline = self._deadline()
        arguments: dict[str, Any] = dict(parameters)
        if route.query is not None:
            arguments["query"] = bodies.query_model(request, route.query)
        elif route.scope in ("read", "write"):
            bodies.refuse_query(request)
        with self._body(request, route) as body:
            application = self._application_for(record, parameters)
            record.watch = Stopwatch()
            call = Call(
                deadline,
                self._now(),
                caller.may_write,
                headers,
                request.url,
                request.query_string.decode("latin-1"),
                record.watch,
            )
            answer = route.handler(application, call, **arguments, **body)
        record.note(answer.log)
        return _encode(answer)

    def _caller(
        self,
        request: flask.Request,
        headers: dict[str, str],
        route: Route,
        parameters: dict[str, str],
        record: Record,
    ) -> Caller:
        user = parameters.get("user")
        if user is not None:
            record.note_user(user)
        caller = self._authenticator.caller(headers, request.remote_addr, route.scope, user)
        if self._config.auth == "key":
            record.note({"caller": caller.name})
        if route.scope in ("read", "write"):
            self._rates.check(caller.name)
        return caller

    def _application_for(self, record: Record, parameters: dict[str, str]) -> Application:
        application = self._app()
        record.bucket = MeteredBucket(application.bucket)
        hook = application.hooks.get(parameters.get("hook", ""))
        if hook is not None:
            record.note({"hook": hook.name, "kind": hook.kind})
        return application.for_request(record.bucket, record.note_refusal)

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
        """The platform's: it cuts a request off at its time-out, so that what is answered must be on its way before."""
        platform = self._config.request_timeout_seconds
        if not platform:
            return Deadline(_DEFAULT_REQUEST_SECONDS)
        return Deadline(platform - min(_PLATFORM_MARGIN_SECONDS, platform / 2))

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


def _problem(error: Exception, request_id: str) -> flask.Response:
    data = to_json(problems.body(error, request_id))
    headers = {**problems.headers(error), "Content-Length": str(len(data))}
    # functions-framework reads what is left of a request into memory before it sends a response that is not streamed.
    return flask.Response(iter([data]), problems.row(error).status, headers, content_type="application/problem+json")
