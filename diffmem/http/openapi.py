"""GET /openapi.json: the contract as OpenAPI 3.1, made from the routes and the models that the code itself uses."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from diffmem import __version__
from diffmem.http import problems
from diffmem.http.routing import USER_PATTERN, Route

_PARAMETER = re.compile(r"\{(\w+)(\*?)\}")
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
    },
}


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """The whole OpenAPI document for `routes`."""
    schemas, components = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _PARAMETER.sub(r"{\1}", route.pattern)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "DiffMem", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(routes: Sequence[Route]) -> tuple[dict[tuple[str, str], Any], dict[str, Any]]:
    """Schemas by `(type name, "validation" or "serialization")`, and the components that they refer to."""
    inputs = {kind for route in routes for kind in (route.body, route.query) if kind is not None}
    outputs = {route.answer for route in routes if route.answer is not None}
    adapters = [*_adapters(inputs, "validation"), *_adapters(outputs, "serialization")]
    schemas, shared = TypeAdapter.json_schemas(adapters, ref_template="#/components/schemas/{model}")
    by_key = {(str(name), str(mode)): schema for (name, mode), schema in schemas.items()}
    return by_key, dict(shared.get("$defs", {}))


def _adapters(kinds: set[Any], mode: JsonSchemaMode) -> list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]]:
    return [(kind.__name__, mode, TypeAdapter(kind)) for kind in sorted(kinds, key=lambda kind: str(kind.__name__))]


def _operation(route: Route, schemas: dict[tuple[str, str], Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "description": (route.handler.__doc__ or "").strip(),
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": _responses(route, schemas),
        "security": [] if route.scope in ("public", "hook") else [{"key": []}],
    }
    if route.max_raw_bytes:
        operation["requestBody"] = {"required": True, "content": {route.body_type: {"schema": {"type": "string"}}}}
    elif route.body is not None:
        schema = schemas[(route.body.__name__, "validation")]
        required = not route.body_optional
        operation["requestBody"] = {"required": required, "content": {"application/json": {"schema": schema}}}
    return operation


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{USER_PATTERN}$"} if name == "user" else {"type": "string"},
        }
        for name, _ in _PARAMETER.findall(route.pattern)
    ]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    schema = route.query.model_json_schema()
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": value}
        for name, value in schema.get("properties", {}).items()
    ]


def _responses(route: Route, schemas: dict[tuple[str, str], Any]) -> dict[str, Any]:
    content = {kind: {"schema": {"type": "string"}} for kind in (route.answer_type, *route.other_types)}
    if route.answer is not None:
        content["application/json"] = {"schema": schemas[(route.answer.__name__, "serialization")]}
    elif route.answer_type == "application/json":
        content["application/json"] = {"schema": {"type": "object"}}
    responses: dict[str, Any] = {
        str(status): {"description": route.summary, "content": content} for status in route.statuses
    }
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for row in sorted(set(problems.TABLE.values()), key=lambda row: row.status):
        known = responses.setdefault(str(row.status), {"description": row.title, "content": problem})
        if known["description"] != row.title and row.status >= 400:
            known["description"] += f"; or: {row.title}"
    return responses
