"""Every exchange of the API tests against the contract that the function itself serves, `/openapi.json`."""

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from werkzeug.test import TestResponse

from diffmem.errors import InvalidRequest, MethodNotAllowed, UnknownRoute
from diffmem.http.openapi import document
from diffmem.http.routes import ROUTES
from diffmem.http.routing import match

_formats = FormatChecker(())


@_formats.checks("date-time", raises=ValueError)
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@cache
def contract() -> dict[str, Any]:
    """The document, as a client reads it."""
    served: dict[str, Any] = json.loads(json.dumps(document(ROUTES)))
    return served


def check(response: TestResponse, body: Any = None) -> None:
    """Fail where a response, or a request that succeeded with `body` as JSON, is not as the contract says."""
    where = f"{response.request.method} {response.request.path} -> {response.status_code}"
    problem = "application/problem+json"
    operation = _operation(response)
    if operation is None:
        assert response.mimetype == problem and response.status_code in (400, 404, 405), where
        _check_schema({"$ref": "#/components/schemas/Problem"}, response.get_json(), where)
        return
    assert str(response.status_code) in operation["responses"], f"{where}: a status that the contract does not have"
    content = operation["responses"][str(response.status_code)]["content"]
    assert response.mimetype in content, f"{where}: {response.mimetype}, not one of {list(content)}"
    if "json" in (response.mimetype or "") and response.request.method != "HEAD":
        _check_schema(content[response.mimetype]["schema"], response.get_json(), where)
    if response.status_code < 400 and body is not None:
        _check_schema(operation["requestBody"]["content"]["application/json"]["schema"], body, f"{where}: the request")
    if response.status_code < 400 and operation["security"]:  # a webhook's parameters are its sender's own
        known = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"}
        assert set(response.request.args) <= known, f"{where}: parameters {sorted(response.request.args)}"


def _operation(response: TestResponse) -> Mapping[str, Any] | None:
    """What the contract says of the response's request; None where it has no such address."""
    request = response.request
    raw = urlsplit(str(request.environ.get("REQUEST_URI") or request.path)).path
    try:
        route, _ = match(ROUTES, request.method, raw)
    except (UnknownRoute, MethodNotAllowed, InvalidRequest):
        return None
    path = route.pattern.replace("*}", "}")
    operation: Mapping[str, Any] = contract()["paths"][path][route.method.lower()]
    return operation


def _check_schema(schema: Mapping[str, Any], value: Any, where: str) -> None:
    whole = {**schema, "components": contract()["components"]}
    problems = sorted(Draft202012Validator(whole, format_checker=_formats).iter_errors(value), key=str)
    assert not problems, f"{where}: {problems[0].json_path}: {problems[0].message[:400]}"
