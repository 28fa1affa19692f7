"""The loop: turns, time, what is shown and what is kept. Behaviours of providers are in test_behaviours.py."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from diffmem.agent import Outcome, investigate, prompt
from diffmem.errors import DeadlineExceeded, ToolUnavailable
from diffmem.limits import Deadline
from diffmem.model import Usage
from diffmem.plan import Plan, parse_plan_lines
from tests.support.behaviours import POINTER, sensible
from tests.support.models import ready_model
from tests.support.provider import HANG, Provider, Received, Reply, Wire, as_json, calls, error, plan, raw_calls, text
from tests.support.tasks import MANIFEST, retrieval_task, run


def ask(
    script: Sequence[Reply], *, seconds: float = 20.0, max_turns: int = 3, tool: Any = run, **changes: Any
) -> tuple[Outcome[Plan], list[Received]]:
    """The outcome of the retrieval task, with fields changed, and what the provider received."""
    task = dataclasses.replace(retrieval_task(), **changes)
    with Provider(script) as provider, ready_model(provider.base_url) as model:
        return investigate(task, model, tool, Deadline(seconds), max_turns=max_turns), provider.requests


def test_two_round_trips_find_a_plan() -> None:
    outcome, requests = ask([calls("git log -3"), plan(POINTER, synthesis="She works.")])
    assert outcome.stop_reason == "plan"
    assert outcome.answer is not None
    assert outcome.answer.synthesis == "She works."
    assert (outcome.turns, len(requests)) == (2, 2)
    assert outcome.commands == ("git log -3",)
    assert outcome.seen == (("git log -3", "ran: git log -3"),)
    assert outcome.usage == Usage(llm_calls=2, prompt_tokens=200, completion_tokens=20, cached_tokens=80)
    assert outcome.detail == ""


def test_the_opening_is_shown_as_calls_already_made() -> None:
    _, requests = ask([plan(POINTER)])
    system, question, called, result = requests[0].messages
    assert system["content"] == "Find what bears on it."
    assert question["content"] == "Is Maya well?"
    assert called["tool_calls"][0]["function"]["arguments"] == '{"command": "cat index.md"}'
    assert MANIFEST in result["content"]
    assert result["tool_call_id"] == called["tool_calls"][0]["id"]


def test_every_call_gets_its_own_result_in_order() -> None:
    outcome, requests = ask([calls("ls", "pwd", "wc -l index.md"), plan(POINTER)])
    *_, called, first, second, third = requests[1].messages
    assert [call["id"] for call in called["tool_calls"]] == [m["tool_call_id"] for m in (first, second, third)]
    assert ["ran: ls" in first["content"], "ran: pwd" in second["content"]] == [True, True]
    assert outcome.commands == ("ls", "pwd", "wc -l index.md")


def test_a_tool_that_does_not_exist_is_answered_with_the_one_that_does() -> None:
    outcome, requests = ask([raw_calls(("read_file", '{"path": "index.md"}')), plan(POINTER)])
    assert requests[1].messages[-1]["content"] == "There is no tool 'read_file'. The one tool is run(command)."
    assert outcome.stop_reason == "plan"


def test_the_last_turn_takes_no_calls_and_holds_the_schema() -> None:
    _, requests = ask([calls("ls"), calls("pwd"), plan(POINTER)])
    assert [request.body.get("tool_choice") for request in requests] == [None, None, "none"]
    assert len(requests[2].messages) == len(requests[1].messages) + 3
    assert ["response_format" in request.body for request in requests] == [False, False, True]
    assert requests[2].messages[-1] == {"role": "user", "content": prompt("agent_last")}


@pytest.mark.parametrize("max_turns", [1, 2, 3, 5])
def test_a_model_that_never_stops_calling_ends_at_the_turn_limit(max_turns: int) -> None:
    outcome, requests = ask([calls("ls")], max_turns=max_turns)
    assert outcome.stop_reason == "turn_limit"
    assert len(outcome.commands) == max_turns - 1
    assert outcome.turns == len(requests) == max_turns + 1  # one repair question


def test_an_unreadable_answer_is_asked_for_again_once_with_the_reason() -> None:
    outcome, requests = ask([calls("ls"), text("I would rather not."), plan(POINTER)])
    assert outcome.stop_reason == "plan"
    assert outcome.turns == 3
    assert "there is no JSON object in it" in requests[2].messages[-1]["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (text('{"pointers": [', finish="length"), "shorter"),
        (text(""), "it is empty"),
        (text('{"pointers": 7}'), "pointers is 7, not a list"),
    ],
)
def test_the_repair_question_says_what_is_wrong(reply: Wire, reason: str) -> None:
    _, requests = ask([calls("ls"), reply, plan(POINTER)], takes_partial=False)
    assert reason in requests[2].messages[-1]["content"]


def test_half_an_answer_counts_only_where_the_task_takes_it() -> None:
    half = text('{"pointers": [{"type": "file", "path": "index.md"}, {"ty', finish="length")
    assert ask([half], takes_partial=True)[0].stop_reason == "plan"
    assert ask([half], takes_partial=False)[0].stop_reason == "invalid_plan"


def test_a_model_that_knows_no_calls_is_asked_again_in_text_and_remembered() -> None:
    def reply(received: Received) -> Wire:
        return text("What shall I do?") if "tools" in received.body else text("memories/people/maya.md:1-4 must")

    with Provider([reply]) as provider, ready_model(provider.base_url) as model:
        first = investigate(retrieval_task(), model, run, Deadline(20))
        second = investigate(retrieval_task(), model, run, Deadline(20))
    assert (first.stop_reason, second.stop_reason) == ("plan", "plan")
    assert (first.turns, second.turns) == (2, 1)


def test_in_text_the_plain_prompt_is_told_and_commands_come_after_a_dollar() -> None:
    with Provider([sensible]) as provider, ready_model(provider.base_url, "tiny:1b") as model:
        task = dataclasses.replace(retrieval_task(), plain="In plain words.")
        outcome = investigate(task, model, run, Deadline(20))
    assert outcome.stop_reason == "plan"
    assert outcome.commands == ("git log -3",)
    body = provider.requests[1].body
    assert not {"tools", "response_format"} & set(body)
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert body["messages"][0]["content"] == "In plain words."
    assert body["messages"][2]["content"] == "$ cat index.md"


@pytest.mark.parametrize("reads_lines", [True, False])
def test_in_text_a_schema_binds_the_last_turn_unless_the_answer_comes_in_lines(reads_lines: bool) -> None:
    task = dataclasses.replace(retrieval_task(), parse_lines=parse_plan_lines if reads_lines else None)
    script = [text("$ ls"), text("$ ls"), plan(POINTER)]
    with Provider(script) as provider, ready_model(provider.base_url, "tiny:1b") as model:
        assert investigate(task, model, run, Deadline(20)).stop_reason == "plan"
    bound = ["response_format" in request.body for request in provider.requests]
    assert bound == [False, False, not reads_lines]


def test_without_a_plain_prompt_the_use_of_commands_is_explained() -> None:
    with Provider([sensible]) as provider, ready_model(provider.base_url, "tiny:1b") as model:
        investigate(retrieval_task(), model, run, Deadline(20))
    system = provider.requests[0].messages[0]["content"]
    assert system == f"Find what bears on it.\n\n{prompt('agent_commands_plain')}"


def test_what_was_found_is_kept_when_time_is_over() -> None:
    outcome, _ = ask([calls("git log -3"), HANG], seconds=0.4)
    assert outcome.stop_reason == "deadline"
    assert outcome.seen == (("git log -3", "ran: git log -3"),)
    assert outcome.usage.llm_calls == 2


def test_what_was_found_is_kept_when_the_provider_fails() -> None:
    outcome, _ = ask([calls("git log -3"), error(401, "gone")])
    assert outcome.stop_reason == "model_error"
    assert outcome.commands == ("git log -3",)
    assert "401" in outcome.detail


def test_no_time_at_all_asks_nobody() -> None:
    outcome, requests = ask([plan(POINTER)], seconds=0)
    assert (outcome.stop_reason, outcome.turns, requests) == ("deadline", 0, [])


def test_a_command_gets_half_of_the_time_that_is_left() -> None:
    given: list[float] = []

    def tool(command: str, deadline: Deadline) -> str:
        given.append(deadline.remaining())
        return "ran:"

    ask([sensible], seconds=20, tool=tool)
    assert 9 < given[0] <= 10


def test_a_command_out_of_its_time_is_an_output() -> None:
    def tool(command: str, deadline: Deadline) -> str:
        raise DeadlineExceeded("slow")

    outcome, _ = ask([calls("ls"), plan(POINTER)], tool=tool)
    assert outcome.stop_reason == "plan"
    assert outcome.seen == (("ls", "stopped: it took too long"),)


def test_a_tool_that_is_refused_is_an_output() -> None:
    def tool(command: str, deadline: Deadline) -> str:
        raise ToolUnavailable("no sandbox")

    outcome, _ = ask([calls("ls"), plan(POINTER)], tool=tool)
    assert outcome.seen == (("ls", "no sandbox"),)


def test_an_error_of_the_program_is_raised() -> None:
    def tool(command: str, deadline: Deadline) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask([calls("ls")], tool=tool)


def test_the_next_turn_is_the_last_where_there_is_no_time_for_two() -> None:
    _, requests = ask([calls("ls").but(wait=0.5), plan(POINTER)], seconds=1.5)
    assert requests[1].body["tool_choice"] == "none"


def test_the_transcript_is_everything_that_was_seen_and_said() -> None:
    outcome, _ = ask([calls("git log -3"), text("hm"), error(401)])
    roles = [entry["role"] for entry in outcome.transcript]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant", "user", "error"]
    assert outcome.transcript[4]["tool_calls"] == [
        {"id": "turn_1_1", "name": "run", "arguments": {"command": "git log -3"}}
    ]
    assert outcome.transcript[5]["tool_call_id"] == "turn_1_1"
    assert "ran: git log -3" in outcome.transcript[5]["content"]
    assert outcome.transcript[6] == {"role": "assistant", "content": "hm"}


def test_much_output_is_shortened_for_the_model_and_kept_whole() -> None:
    outcome, requests = ask([calls("a", "b"), plan(POINTER)], tool=lambda command, deadline: "x" * 100_000)
    assert len(requests[1].raw) < 70_000
    assert "characters left out" in requests[1].messages[-1]["content"]
    assert len(outcome.seen[0][1]) == 100_000


def test_a_long_answer_is_not_repeated_to_the_model_at_full_length() -> None:
    _, requests = ask([text("word " * 20_000), plan(POINTER)])
    assert len(requests[1].raw) < 40_000


@pytest.mark.parametrize(
    "call", [("run", '{"command": "echo %s"}' % ("a" * 300_000)), ("run", "[" * 300_000), ("r" * 300_000, "")]
)
def test_a_long_call_is_not_repeated_at_full_length_either(call: tuple[str, str]) -> None:
    outcome, requests = ask([raw_calls(call, ("run", '{"command": "ls"}')), plan(POINTER)])
    assert outcome.stop_reason == "plan"
    assert len(requests[1].raw) < 60_000
    assert sum(map(len, outcome.commands)) < 41_000


def test_two_users_requests_share_the_prefix_that_providers_cache() -> None:
    with Provider([plan(POINTER)]) as provider, ready_model(provider.base_url) as model:
        for question in ("Is Maya well?", "What did we say about the company?"):
            task = retrieval_task(question, system=prompt("context_system"))
            investigate(task, model, run, Deadline(20))
    first, second = (request.body for request in provider.requests)
    assert first["tools"] == second["tools"]
    assert first["messages"][0] == second["messages"][0] == {"role": "system", "content": prompt("context_system")}
    assert first["messages"][1] != second["messages"][1]


def test_the_second_turn_extends_the_first_byte_for_byte() -> None:
    _, requests = ask([calls("ls"), calls("pwd"), plan(POINTER)])
    sent = [request.messages for request in requests]
    assert sent[1][: len(sent[0])] == sent[0]
    assert sent[2][: len(sent[1])] == sent[1]
    assert requests[0].body["tools"] == requests[2].body["tools"]


def test_usage_that_is_missing_is_nothing() -> None:
    payload = {"choices": [{"message": {"content": '{"pointers": []}'}}]}
    assert ask([as_json(payload)])[0].usage == Usage(llm_calls=1)
