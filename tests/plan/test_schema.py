from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from diffmem.plan import PLAN_SCHEMA, Pointer, parse_plan


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "properties" in schema:
        yield schema
    for inner in (*schema.get("properties", {}).values(), schema.get("items")):
        if inner:
            yield from objects(inner)


def test_every_object_is_closed_and_every_property_required() -> None:
    found = list(objects(PLAN_SCHEMA))
    assert len(found) == 2
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


def test_the_schema_has_the_fields_of_a_pointer() -> None:
    properties = PLAN_SCHEMA["properties"]["pointers"]["items"]["properties"]
    assert list(properties) == [field.name for field in fields(Pointer)]


def test_an_answer_in_the_shape_of_the_schema_is_a_plan() -> None:
    properties = PLAN_SCHEMA["properties"]["pointers"]["items"]["properties"]
    pointer = dict.fromkeys(properties) | {"type": "file", "path": "profile.md", "reason": "who they are"}
    plan = parse_plan({"pointers": [pointer], "synthesis": "", "entities": []})
    assert plan.pointers == (Pointer("file", "profile.md", reason="who they are"),)
