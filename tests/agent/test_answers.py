"""JSON in the words of a model."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.agent.answers import brackets, json_values, partial_value, read_answer
from diffmem.errors import InvalidPlan
from tests.support.behaviours import PLAN_TEXT, POINTER
from tests.support.tasks import retrieval_task

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("none", []),
        ('{"a": 1}', [{"a": 1}]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('Say {a} or {"a": 1}, then [1] and {"b": {"c": []}}.', [{"a": 1}, [1], {"b": {"c": []}}]),
        ('{"a": 1,}', [{"a": 1}]),
        ('{"a": [1, 2,],\n}', [{"a": [1, 2]}]),
        ("{'a': None, 'b': True}", [{"a": None, "b": True}]),
        ("{'a': null, 'b': true}", [{"a": None, "b": True}]),
        ('{"a": "x\ny"}', [{"a": "x\ny"}]),
        (json.dumps('{"a": 1}'), [{"a": 1}]),
        ('{"a": {"b": 1}', []),
        ('{"a": oops} {"b": 1}', [{"b": 1}]),
        ("[see] above", []),
        ("{'width': '5\"', 'deep': true} {'a': 1}", [{"width": '5"', "deep": True}, {"a": 1}]),
        ("{'a': '\\\\\"', 'b': [true]}", [{"a": '\\"', "b": [True]}]),
        ("{" * 500, []),
        ('{"a":' * 5000, []),
        ("[" * 5000 + "]" * 5000, []),
    ],
)
def test_the_values_in_a_text(text: str, values: list[Any]) -> None:
    assert json_values(text) == values


@given(st.lists(JSON.filter(lambda value: isinstance(value, dict) and value), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_every_object_of_a_text_is_found(objects: list[Any]) -> None:
    text = "\n".join(f"So: {json.dumps(value, ensure_ascii=False)} and" for value in objects)
    assert json_values(text) == objects


@given(st.text(alphabet="{}[]\",:\\ \n'ab1", max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_is_an_error(text: str) -> None:
    json_values(text)
    partial_value(text)


@given(st.text(alphabet="{}[]\"\\'\na", max_size=60))
@settings(max_examples=300, deadline=None)
def test_brackets_in_text_that_is_quoted_do_not_count_unless_the_quotation_never_ends(text: str) -> None:
    quoted = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)  # plain, and slow where quotations do not end
    assert list(brackets(text, 0, len(text))) == [(m[0], m.end()) for m in quoted.finditer(text) if m[0] in "{}[]"]


def test_a_quotation_that_never_ends_is_looked_for_once() -> None:
    """It was looked for from each quotation mark on: five seconds for 48 KB."""
    text = '{"a": oops ' + '\\"' * 1_000_000
    assert list(brackets(text, 0, len(text))) == [("{", 1)]
    assert json_values(text) == []


@given(st.integers(0, len(PLAN_TEXT)))
def test_every_beginning_of_a_plan_is_read_as_far_as_it_goes(cut: int) -> None:
    value = partial_value(PLAN_TEXT[:cut])
    if cut >= PLAN_TEXT.index('"reason"'):
        assert value["pointers"][0]["path"] == POINTER["path"]


def pointers(text: str) -> int:
    return len(read_answer(text, retrieval_task()).pointers)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (PLAN_TEXT, 1),
        (f'{{"pointers": []}}\n{PLAN_TEXT}', 1),
        (f'{PLAN_TEXT}\n{{"pointers": []}}', 0),
        (f'[1], [2] and {PLAN_TEXT} and {{"note": 7}}', 1),
        (json.dumps([POINTER, POINTER]), 2),
        (f"{json.dumps(POINTER)}\n{json.dumps(POINTER)}\n{json.dumps(POINTER)}", 3),
        (f'{{"plan": {PLAN_TEXT}}}', 1),
        ("memories/people/maya.md:1-4 must\nsessions/2024/03/09-call.md", 2),
        ("none", 0),
        (PLAN_TEXT[:-40], 1),
    ],
)
def test_the_plan_in_a_text(text: str, count: int) -> None:
    assert pointers(text) == count


@pytest.mark.parametrize("text", ["", "I cannot.", '{"answer": 42}', "42", "{'a': __import__('os')}"])
def test_a_text_without_a_plan_is_invalid(text: str) -> None:
    with pytest.raises(InvalidPlan):
        pointers(text)
