import importlib.resources
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.errors import InvalidPlan
from diffmem.plan import Pointer, parse_plan, parse_plan_lines

MAYA = "memories/people/maya.md"


def pointers(text: str) -> list[Pointer]:
    return list(parse_plan(parse_plan_lines(text)).pointers)


@pytest.mark.parametrize(
    ("line", "pointer"),
    [
        (MAYA, Pointer("file", MAYA)),
        (f"{MAYA} must", Pointer("file", MAYA, priority="must_include")),
        (f"{MAYA} must her job", Pointer("file", MAYA, priority="must_include", reason="her job")),
        (
            f"{MAYA}:12-40 must her job",
            Pointer("file_section", MAYA, 12, 40, priority="must_include", reason="her job"),
        ),
        (f"{MAYA}:12 her job", Pointer("file_section", MAYA, 12, 12, reason="her job")),
        (f"{MAYA}: her job", Pointer("file", MAYA, reason="her job")),
        (f"{MAYA} - her job", Pointer("file", MAYA, reason="her job")),
        (f"- {MAYA} (must) her job", Pointer("file", MAYA, priority="must_include", reason="her job")),
        (f"1. {MAYA}:3-4 maybe", Pointer("file_section", MAYA, 3, 4)),
        (f"* `{MAYA}:3-4` must", Pointer("file_section", MAYA, 3, 4, priority="must_include")),
        (f"`{MAYA} must`", Pointer("file", MAYA, priority="must_include")),
        ("`memories/people/my wife.md` must", Pointer("file", "memories/people/my wife.md", priority="must_include")),
        (f"diff {MAYA} since 3f2a1b9 what changed", Pointer("git_diff", MAYA, since="3f2a1b9", reason="what changed")),
        (f"show {MAYA} at HEAD~3 must", Pointer("git_show", MAYA, rev="HEAD~3", priority="must_include")),
        (f"log {MAYA} when", Pointer("git_log", MAYA, reason="when")),
        ("$ rg -n marathon sessions | head", Pointer("command", command="rg -n marathon sessions | head")),
        ("- $ rg -n marathon", Pointer("command", command="rg -n marathon")),
    ],
)
def test_a_line_is_a_pointer(line: str, pointer: Pointer) -> None:
    assert pointers(line) == [pointer]


def test_the_examples_that_models_are_shown_are_pointers() -> None:
    prompt = (importlib.resources.files("diffmem") / "prompts" / "context_plain.md").read_text("utf-8")
    written = [line for line in prompt.split("\n") if re.match(r"(memories|sessions)/[\w/-]+\.md", line)]
    found = pointers("\n".join(written))
    assert len(found) == len(written) >= 4
    assert all(pointer.type == "file_section" and pointer.reason for pointer in found)
    assert "must_include" in {pointer.priority for pointer in found}


def test_fences_and_prose_are_passed_over() -> None:
    text = f"Sure! The plan and/or pointers:\n\n```\n{MAYA}:1-3 must\nprofile.md\n```\nHope that helps, e.g. a lot."
    assert [pointer.path for pointer in pointers(text)] == [MAYA, "profile.md"]


def test_synthesis_and_entities() -> None:
    plan = parse_plan(parse_plan_lines(f"{MAYA}\n= Maya is a nurse.\nEntities: maya, bob"))
    assert (plan.synthesis, plan.entities) == ("Maya is a nurse.", ("maya", "bob"))


@pytest.mark.parametrize("text", ["none", "None.", "```\nnone\n```", "- nothing"])
def test_none_is_a_plan_that_points_at_nothing(text: str) -> None:
    assert parse_plan(parse_plan_lines(text)).pointers == ()


@pytest.mark.parametrize("text", ["", "I am sorry, I cannot do that.", "\n\n"])
def test_text_without_a_pointer_holds_no_plan(text: str) -> None:
    with pytest.raises(InvalidPlan):
        parse_plan(parse_plan_lines(text))


@settings(deadline=None)
@given(
    st.text()
    | st.lists(st.sampled_from([MAYA, ":", "12-40", "must", "diff", "since", "`", "$", " ", "\n"])).map("".join)
)
def test_no_text_raises_anything_but_invalid_plan(text: str) -> None:
    try:
        parse_plan(parse_plan_lines(text))
    except InvalidPlan:
        return
