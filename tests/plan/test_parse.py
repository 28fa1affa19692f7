import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.errors import InvalidPlan
from diffmem.plan import MAX_POINTERS, Plan, Pointer, parse_plan
from diffmem.plan.parse import MAX_REASON_CHARS, MAX_SYNTHESIS_CHARS

MAYA = "memories/people/maya.md"


def only(item: object) -> Pointer:
    plan = parse_plan({"pointers": [item]})
    assert plan.rejected == ()
    return plan.pointers[0]


def why(item: object) -> str:
    plan = parse_plan({"pointers": [item, {"type": "file", "path": MAYA}]})
    assert [pointer.path for pointer in plan.pointers] == [MAYA], "the good pointer beside the bad one is used"
    return plan.rejected[0].why


def test_a_plan_as_the_contract_writes_it() -> None:
    plan = parse_plan(
        {
            "pointers": [
                {
                    "type": "file_section",
                    "path": MAYA,
                    "line_start": 12,
                    "line_end": 40,
                    "since": None,
                    "max_count": None,
                    "rev": None,
                    "command": None,
                    "priority": "must_include",
                    "est_tokens": 300,
                    "reason": "her job",
                }
            ],
            "synthesis": " Maya is a nurse. ",
            "entities": ["maya", "maya", ""],
        }
    )
    pointer = Pointer("file_section", MAYA, 12, 40, priority="must_include", est_tokens=300, reason="her job")
    assert plan == Plan((pointer,), "Maya is a nurse.", ("maya",), ())


@pytest.mark.parametrize(
    "fields",
    [
        {"line_start": "12", "line_end": "40"},
        {"line_start": 12.0, "line_end": 40.9},
        {"line_start": "L12", "line_end": " 40 "},
        {"line_start": "12.0", "line_end": "40.00"},
        {"line_start": 40, "line_end": 12},
        {"start_line": 12, "end_line": 40},
        {"start": 12, "end": 40},
        {"lines": [12, 40]},
        {"lines": ["12", "40"]},
        {"lines": [40, 12]},
        {"lines": [12, 13, 14, 40]},
        {"lines": "12-40"},
        {"lines": "L12–L40"},
        {"lines": "[12, 40]"},
        {"lines": "12:40"},
        {"lines": {"start": 12, "end": "40"}},
        {"line_start": None, "line_end": None, "lines": "12..40"},
    ],
)
def test_lines_are_understood_in_every_spelling(fields: dict[str, Any]) -> None:
    pointer = only({"type": "file_section", "path": MAYA, **fields})
    assert (pointer.line_start, pointer.line_end) == (12, 40)


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"line_start": 12}, (12, None)),
        ({"line_end": 40}, (1, 40)),
        ({"line_start": 0, "line_end": 40}, (1, 40)),
        ({"line_start": 12, "line_end": -1}, (12, None)),
        ({"line_start": 12, "line_end": 0}, (12, None)),
        ({"lines": 12}, (12, 12)),
        ({"line": "12"}, (12, 12)),
        ({"line_start": 1, "line_end": 10**30}, (1, 10_000_000)),
    ],
)
def test_one_end_alone_leaves_the_other_open(fields: dict[str, Any], lines: tuple[int, int | None]) -> None:
    pointer = only({"type": "file_section", "path": MAYA, **fields})
    assert (pointer.line_start, pointer.line_end) == lines


def test_a_section_without_lines_is_the_file() -> None:
    assert only({"type": "file_section", "path": MAYA}) == Pointer("file", MAYA)
    assert only({"type": "file_section", "path": MAYA, "line_start": 0, "line_end": 0}) == Pointer("file", MAYA)


def test_a_file_with_lines_is_a_section() -> None:
    assert only({"type": "file", "path": MAYA, "lines": "3-4"}) == Pointer("file_section", MAYA, 3, 4)


@pytest.mark.parametrize(
    "path",
    [
        "./memories/people/maya.md",
        "/memories/people/maya.md",
        "//memories//people/maya.md",
        " memories/people/maya.md\n",
        "`memories/people/maya.md`",
        "memories/x/../people/./maya.md",
        "memories/people/maya.md/",
    ],
)
def test_a_path_is_put_into_its_normal_form(path: str) -> None:
    assert only({"type": "file", "path": path}).path == MAYA


@pytest.mark.parametrize("suffix", [":12-40", ":12:40", "#L12-L40"])
def test_lines_written_behind_the_path_are_lines(suffix: str) -> None:
    assert only({"type": "file", "path": MAYA + suffix}) == Pointer("file_section", MAYA, 12, 40)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"type": "file", "path": "../bob/profile.md"}, "leaves the repository"),
        ({"type": "file", "path": "/memories/../../etc/passwd"}, "leaves the repository"),
        ({"type": "file", "path": "a\x00b.md"}, "control character"),
        ({"type": "file", "path": "a\nb.md"}, "control character"),
        ({"type": "file", "path": "x" * 600}, "longer than 512 characters"),
        ({"type": "file", "path": 7}, "path is 7, not text"),
        ({"type": "file", "path": ["a.md"]}, "not text"),
        ({"type": "file", "path": ""}, "file without path"),
        ({"type": "file", "path": "/"}, "file without path"),
        ({"type": "file"}, "file without path"),
        ({"type": "sql", "path": MAYA}, "unknown type 'sql'"),
        ({"type": 3, "path": MAYA}, "unknown type '3'"),
        ({"type": "file_section", "path": MAYA, "line_start": "top"}, "line_start is 'top', not a number"),
        ({"type": "file_section", "path": MAYA, "line_start": True}, "line_start is True, not a number"),
        ({"type": "file_section", "path": MAYA, "line_start": float("nan")}, "not a number"),
        ({"type": "file_section", "path": MAYA, "line_start": -5}, "lines count from 1"),
        ({"type": "file_section", "path": MAYA, "lines": "all"}, "lines is 'all', not a number"),
        ({"type": "git_diff", "path": MAYA}, "git_diff without since"),
        ({"type": "git_show", "path": MAYA}, "git_show without rev"),
        ({"type": "git_show", "rev": "HEAD"}, "git_show without path"),
        ({"type": "git_diff", "path": MAYA, "since": "--output=x"}, "not a revision"),
        ({"type": "git_show", "path": MAYA, "rev": "a\nb"}, "not a revision"),
        ({"type": "command"}, "command without command"),
        ({"type": "command", "command": "x" * 20_001}, "longer than 20000 characters"),
        (None, "not a pointer"),
        (17, "not a pointer"),
        ("I think we should look at Maya.", "not a pointer"),
        ([], "not a pointer"),
    ],
)
def test_what_cannot_be_used_is_rejected_with_a_reason(item: object, reason: str) -> None:
    assert reason in why(item)


@pytest.mark.parametrize(
    ("item", "pointer"),
    [
        ({"command": "rg foo"}, Pointer("command", command="rg foo")),
        ({"path": MAYA, "since": "HEAD~3"}, Pointer("git_diff", MAYA, since="HEAD~3")),
        ({"path": MAYA, "rev": "HEAD~3"}, Pointer("git_show", MAYA, rev="HEAD~3")),
        ({"path": MAYA}, Pointer("file", MAYA)),
        ({"kind": "Git-Log", "path": MAYA, "max_count": "5"}, Pointer("git_log", MAYA, max_count=5)),
        ({"type": "git_log", "path": "."}, Pointer("git_log")),
        ({"type": "log", "path": MAYA, "max_count": 10**9}, Pointer("git_log", MAYA, max_count=200)),
        ({"type": "git_log", "path": MAYA, "max_count": -1}, Pointer("git_log", MAYA)),
        ({"type": "git_show", "path": MAYA, "rev": "a", "lines": "3-9"}, Pointer("git_show", MAYA, 3, 9, rev="a")),
        (f"{MAYA}:3-9 must her job", Pointer("file_section", MAYA, 3, 9, priority="must_include", reason="her job")),
        ("$ rg foo", Pointer("command", command="rg foo")),
    ],
)
def test_the_type_follows_from_the_other_fields(item: object, pointer: Pointer) -> None:
    assert only(item) == pointer


def test_fields_of_other_types_are_dropped() -> None:
    pointer = only({"type": "file", "path": MAYA, "since": "HEAD", "rev": "x", "max_count": 3, "colour": "red"})
    assert pointer == Pointer("file", MAYA)


@pytest.mark.parametrize("estimate", ["many", None, -3, [], True, float("inf")])
def test_a_bad_estimate_costs_nothing(estimate: object) -> None:
    assert only({"type": "file", "path": MAYA, "est_tokens": estimate}).path == MAYA


@pytest.mark.parametrize("priority", ["must_include", "MUST_INCLUDE", "must", "required"])
def test_must_in_other_words(priority: str) -> None:
    assert only({"type": "file", "path": MAYA, "priority": priority}).priority == "must_include"


@pytest.mark.parametrize("priority", ["if_budget_allows", "low", "", None, 1, {}])
def test_any_other_priority_is_the_lower_one(priority: object) -> None:
    assert only({"type": "file", "path": MAYA, "priority": priority}).priority == "if_budget_allows"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda pointers: {"pointers": pointers},
        lambda pointers: pointers,
        lambda pointers: pointers[0],
        lambda pointers: {"plan": {"pointers": pointers}},
        lambda pointers: {"plan": pointers},
        lambda pointers: {"plan": {"plan": {"pointers": pointers}}},
        lambda pointers: {"plan": json.dumps({"pointers": pointers})},
        lambda pointers: {"pointers": json.dumps(pointers)},
        lambda pointers: {"pointers": pointers[0]},
        lambda pointers: json.dumps(pointers),
    ],
)
def test_a_plan_is_found_in_whatever_it_is_wrapped(wrap: Any) -> None:
    assert parse_plan(wrap([{"type": "file", "path": MAYA}])).pointers == (Pointer("file", MAYA),)


def test_what_is_said_beside_a_wrapped_plan_is_kept() -> None:
    plan = parse_plan({"synthesis": "About Maya.", "entities": "maya, bob", "plan": [{"path": MAYA}]})
    assert (plan.synthesis, plan.entities) == ("About Maya.", ("maya", "bob"))


@pytest.mark.parametrize("data", [{"pointers": []}, {"pointers": None, "synthesis": "Nothing."}, []])
def test_a_plan_may_point_at_nothing(data: object) -> None:
    assert parse_plan(data).pointers == ()


@pytest.mark.parametrize("data", [None, 3, "", "I am sorry.", {}, {"answer": "42"}, {"pointers": 3}, {"plan": None}])
def test_what_holds_no_plan_is_invalid(data: object) -> None:
    with pytest.raises(InvalidPlan):
        parse_plan(data)


def test_pointers_beyond_the_bound_are_counted_not_used() -> None:
    plan = parse_plan([{"type": "file", "path": MAYA}] * (MAX_POINTERS + 9))
    assert len(plan.pointers) == MAX_POINTERS
    assert [item.why for item in plan.rejected] == ["9 pointers beyond the first 64"]


def test_lengths_are_bounded() -> None:
    plan = parse_plan(
        {
            "pointers": [{"path": MAYA, "reason": "r" * 10_000}, {"type": "x" * 10_000, "junk": ["y" * 10_000] * 1000}],
            "synthesis": "s" * 100_000,
            "entities": ["e" * 10_000] * 1000,
        }
    )
    assert len(plan.pointers[0].reason) == MAX_REASON_CHARS
    assert len(plan.synthesis) == MAX_SYNTHESIS_CHARS
    assert len(plan.entities) == 1
    assert len(json.dumps([plan.rejected[0].pointer, plan.rejected[0].why])) < 4_000


def test_lone_surrogates_do_not_survive() -> None:
    plan = parse_plan({"pointers": [{"path": MAYA, "reason": "\ud800"}, {"type": "\udfff"}], "synthesis": "\ud800"})
    json.dumps([plan.pointers[0].reason, plan.rejected[0].pointer, plan.synthesis], ensure_ascii=False).encode()


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from([MAYA, "12-40", "-1", "file"])
)
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
_KEYS = st.sampled_from([field.name for field in dataclasses.fields(Pointer)] + ["kind", "lines", "plan", "pointers"])


@settings(deadline=None)
@given(st.one_of(_JSON, st.lists(st.dictionaries(_KEYS, _JSON)), st.dictionaries(_KEYS, _JSON)))
def test_whatever_a_model_answers_there_is_a_plan_or_none(data: object) -> None:
    try:
        plan = parse_plan(data)
    except InvalidPlan:
        return
    assert len(plan.pointers) <= MAX_POINTERS
    for pointer in plan.pointers:
        assert not (pointer.path or "").startswith(("/", "../"))
        assert pointer.line_start is None or 1 <= pointer.line_start <= (pointer.line_end or pointer.line_start)
    for rejected in plan.rejected:
        assert rejected.why
        json.dumps(rejected.pointer, ensure_ascii=False, allow_nan=False).encode()
