"""Messages as they are sent, in either style."""

import json

import pytest

from diffmem.model import Message, ToolCall
from diffmem.model.wire import in_text, with_request, with_tools, without_system, without_user_after_tool

CALL = ToolCall("a-very-long-id-of-some-provider", "run", {"command": "ls\ncat index.md"})
MESSAGES = (
    Message("system", "With tools.", plain="In text."),
    Message("user", "Hello."),
    Message("assistant", "", (CALL,)),
    Message("tool", "index.md", tool_call_id=CALL.id),
    Message("user", "Last turn."),
)


def test_with_tools_a_call_and_its_result_share_an_id_of_nine_letters_and_digits() -> None:
    sent = with_tools(MESSAGES)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    (call,) = sent[2]["tool_calls"]
    assert call["id"] == sent[3]["tool_call_id"] == "call00001"
    assert json.loads(call["function"]["arguments"]) == CALL.arguments
    assert sent[2]["content"] is None
    assert sent[0]["content"] == "With tools."


def test_in_text_a_call_is_lines_after_a_dollar_and_roles_alternate() -> None:
    assert in_text(MESSAGES) == [
        {"role": "system", "content": "In text."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "$ ls\n$ cat index.md"},
        {"role": "user", "content": "index.md\n\nLast turn."},
    ]


def test_the_user_speaks_first_even_where_the_messages_begin_with_a_call() -> None:
    messages = [message for message in MESSAGES if message.content != "Hello."]
    for sent in (with_tools(messages), in_text(messages)):
        assert [message["role"] for message in sent[:3]] == ["system", "user", "assistant"]
        assert sent[1]["content"] == "Begin."


def test_without_a_system_role_the_user_says_it() -> None:
    sent = without_system(in_text(MESSAGES))
    assert sent[0] == {"role": "user", "content": "In text.\n\nHello."}
    assert without_system([{"role": "system", "content": "a"}, {"role": "assistant", "content": "b"}]) == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
    ]


def test_what_a_user_says_after_a_result_can_be_part_of_it() -> None:
    sent = without_user_after_tool(with_tools(MESSAGES))
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[-1]["content"] == "index.md\n\nLast turn."


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_request_is_the_last_thing_that_the_user_says(role: str) -> None:
    sent = with_request([{"role": role, "content": "a"}], "b")
    assert sent[-1]["role"] == "user"
    assert sent[-1]["content"].endswith("b")


def test_rendering_changes_no_message() -> None:
    before = [message.content for message in MESSAGES]
    without_system(with_request(with_tools(MESSAGES), "x"))
    assert [message.content for message in MESSAGES] == before
