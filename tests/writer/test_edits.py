"""Edit plans: read from whatever a model answers, edit by edit, in JSON or in lines."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.errors import InvalidPlan
from diffmem.writer.edits import EDITS_SCHEMA, MAX_EDITS, Edit, parse_edits
from diffmem.writer.lines import parse_edit_lines

ADD = {"op": "add", "entity": "Maya", "section": "Work", "fact": "Works at Acme.", "quote": "at Acme"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["op", "entity", "fact", "edits"]), inner)
    ),
    max_leaves=8,
)


def test_an_edit_is_read_with_its_nulls_and_empty_lists() -> None:
    every_field: dict[str, Any] = {"kind": None, "old": None, "date": None, "aliases": [], "cues": None, **ADD}
    plan = parse_edits({"summary": "Maya\nworks", "edits": [every_field]})
    assert plan.edits == (Edit("add", "Maya", section="Work", fact="Works at Acme.", quote="at Acme"),)
    assert (plan.summary, plan.rejected) == ("Maya works", ())


def test_a_bare_list_is_a_plan_too() -> None:
    assert len(parse_edits([ADD]).edits) == 1
    assert parse_edits([]).edits == ()


@pytest.mark.parametrize("data", [None, "", 1, {}, {"edits": None}, {"edits": {}}, {"pointers": []}])
def test_what_holds_no_list_of_edits_is_no_plan(data: object) -> None:
    with pytest.raises(InvalidPlan):
        parse_edits(data)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"op": "destroy"}, "op"),
        ({"op": None}, "op"),
        ({"path": "../../etc/passwd"}, "path"),
        ({"fact": "x" * 601}, "fact"),
        ({"fact": 7}, "fact"),
        ({"fact": "..."}, "says nothing"),
        ({"fact": "^[s#1]"}, "needs fact"),
        ({"quote": None}, "needs quote"),
        ({"entity": " "}, "needs entity"),
        ({"op": "replace"}, "needs old"),
        ({"op": "remove", "old": None}, "needs old"),
        ({"op": "event", "fact": None}, "needs fact"),
        ({"aliases": [1]}, "aliases"),
        ({"aliases": ["x"] * 31}, "aliases"),
    ],
)
def test_one_bad_edit_is_rejected_with_the_reason_and_sinks_no_other(change: dict[str, Any], why: str) -> None:
    plan = parse_edits({"edits": [ADD, {**ADD, **change}, ADD]})
    assert len(plan.edits) == 2
    assert why in plan.rejected[0].why and "{" in str(plan.rejected[0])


@pytest.mark.parametrize(
    ("fact", "written"),
    [
        ("- Works at\n\nAcme ^[other#1]", "Works at Acme"),
        ("a\n---\nname: evil\n---", "a --- name: evil ---"),
        ("a\n## Heading\n- b", "a ## Heading - b"),
        ("a <!-- hidden --> b", "a &lt;!-- hidden --&gt; b"),
        ("a ^[b", "a ^ [b"),
    ],
)
def test_a_fact_is_one_line_that_breaks_nothing(fact: str, written: str) -> None:
    assert parse_edits([{**ADD, "fact": fact}]).edits[0].fact == written


def test_lists_may_be_written_with_commas() -> None:
    edit = parse_edits([{"op": "create", "entity": "Maya", "aliases": "my wife, Mia", "cues": ""}]).edits[0]
    assert edit.aliases == ("my wife", "Mia")


def test_more_edits_than_a_session_can_teach_are_left_out() -> None:
    plan = parse_edits([ADD] * (MAX_EDITS + 5))
    assert (len(plan.edits), len(plan.rejected)) == (MAX_EDITS, 1)


@given(JSON)
def test_any_json_is_a_plan_or_none(data: Any) -> None:
    try:
        plan = parse_edits(data)
    except InvalidPlan:
        return
    assert all(str(problem) for problem in plan.rejected)


def test_the_schema_keeps_to_structured_outputs() -> None:
    item = EDITS_SCHEMA["properties"]["edits"]["items"]
    assert item["required"] == list(item["properties"])
    assert item["additionalProperties"] is False
    assert set(item["properties"]) == {
        "op", "entity", "kind", "section", "old", "fact", "quote", "date", "aliases", "cues",
    }  # fmt: skip


LINES = """Here are my edits:
1. create people | Maya | my wife, Mia
- add Maya | Work | Works at Acme. | at Acme
* replace Maya | Works at Beta. | Works at Acme. | she left | Beta
`remove profile | Smokes. | I quit`
EVENT 2026-03-04 | Maya began. | started
= Maya works at Acme.
add Maya | too little"""


def test_small_models_write_one_edit_a_line() -> None:
    plan = parse_edits(parse_edit_lines(LINES))
    assert plan.summary == "Maya works at Acme."
    assert plan.edits == (
        Edit("create", "Maya", kind="people", aliases=("my wife", "Mia")),
        Edit("add", "Maya", section="Work", fact="Works at Acme.", quote="at Acme"),
        Edit("replace", "Maya", old="Works at Beta.", fact="Works at Acme.", quote="she left | Beta"),
        Edit("remove", "profile", old="Smokes.", quote="I quit"),
        Edit("event", date="2026-03-04", fact="Maya began.", quote="started"),
    )
    assert [problem.why for problem in plan.rejected] == ["add needs fact and quote"]


@pytest.mark.parametrize("text", ["nothing", "Nothing to remember.", "none"])
def test_nothing_is_an_answer(text: str) -> None:
    assert parse_edits(parse_edit_lines(text)).edits == ()


@pytest.mark.parametrize("text", ["", "I would rather talk about the weather.", json.dumps({"a": 1})])
def test_prose_is_no_plan(text: str) -> None:
    assert parse_edit_lines(text) is None
