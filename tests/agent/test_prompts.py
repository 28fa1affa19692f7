"""The prompts: they are there, cacheable, and agree with what the code reads."""

import json
import re

import pytest

from diffmem import tokens
from diffmem.agent import prompt
from diffmem.agent.answers import json_values
from diffmem.agent.commands import commands_in
from diffmem.plan import parse_plan, parse_plan_lines

# OpenAI caches prefixes from 1,024 tokens on.
SMALLEST_CACHED_PREFIX = 1024


def test_the_stable_part_is_long_enough_to_be_cached_and_short_enough_to_be_read() -> None:
    assert SMALLEST_CACHED_PREFIX <= tokens.count(prompt("context_system")) < 2_000
    assert tokens.count(prompt("context_plain")) < 600


@pytest.mark.parametrize("name", ["agent_last", "agent_last_plain", "agent_repair", "agent_repair_plain"])
def test_the_loops_own_words_are_there(name: str) -> None:
    assert prompt(name)
    assert ("{why}" in prompt(name)) == name.startswith("agent_repair")


def test_the_example_of_a_plan_is_one() -> None:
    example = json_values(prompt("context_system").split("# An example")[1])[-1]
    plan = parse_plan(example)
    assert len(plan.pointers) == 3
    assert not plan.rejected


def test_every_pointer_that_is_described_can_be_read() -> None:
    described = re.findall(r"^- `(\{.*?\})`", prompt("context_system"), re.MULTILINE)
    plan = parse_plan([json.loads(pointer) for pointer in described])
    assert [pointer.type for pointer in plan.pointers] == [
        "file_section",
        "file",
        "git_diff",
        "git_log",
        "git_show",
        "command",
    ]
    assert not plan.rejected


def test_both_examples_in_text_are_read() -> None:
    first, second = prompt("context_plain").split("Example ")[1:]
    commands, plan = first.split("You write:\n")[1].split("After the output you write:\n")
    assert commands_in(commands)[0].count("\n") == 1
    read = parse_plan(parse_plan_lines(plan))
    assert [(pointer.line_start, pointer.line_end, pointer.priority) for pointer in read.pointers] == [
        (14, 22, "must_include"),
        (31, 44, "must_include"),
    ]
    assert len(parse_plan(parse_plan_lines(second.split("You write:\n")[1])).pointers) == 2
