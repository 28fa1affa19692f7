"""Response bodies as replies: where providers put calls, words and usage."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.model import Usage
from diffmem.model.failure import ExchangeFailed
from diffmem.model.reading import MAX_TOOL_CALLS, error_message, read_reply, read_usage


def body(message: Any, **fields: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **fields}).encode()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": " words "}, "words"),
        ({"content": None}, ""),
        ({}, ""),
        ({"content": 7}, ""),
        (
            {"content": ["a", {"text": "b"}, {"type": "text", "text": {"value": "c"}}, {"type": "image"}, 7, None]},
            "abc",
        ),
        ({"content": {"text": "words"}}, "words"),
        ({"content": "<think>hm</think>words"}, "words"),
        ({"content": "before <THINK>hm</THINK> after"}, "before  after"),
        ({"content": "hm</think>words"}, "words"),
        ({"content": "<think>a</think>b<think>c"}, "b"),
        ({"content": "<think>only thoughts"}, "only thoughts"),
        ({"content": "<think>only</think>", "reasoning": "more"}, "only"),
        ({"content": "", "reasoning_content": "thoughts"}, "thoughts"),
        ({"content": [], "thinking": [{"text": "thoughts"}]}, "thoughts"),
        ({"content": "words", "reasoning": "thoughts"}, "words"),
    ],
)
def test_the_words_of_a_message(message: Any, text: str) -> None:
    assert read_reply(body(message)).text == text


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"choices": [None, {"message": {"content": "a"}}]}, "a"),
        ({"choices": [{"text": "a"}]}, "a"),
        ({"choices": [{"message": "a"}]}, "a"),
        ({"choices": [{"delta": {"content": "a"}}]}, "a"),
        ({"message": {"content": "a"}}, "a"),
        ({"choices": [{"message": {"content": "a"}}], "error": {"message": "late"}}, "a"),
    ],
)
def test_a_message_is_found_wherever_it_is(payload: Any, text: str) -> None:
    assert read_reply(json.dumps(payload).encode()).text == text


@pytest.mark.parametrize("payload", [{}, [], None, 7, "x", {"choices": {}}, {"choices": [7]}, {"choices": [{}]}])
def test_a_body_without_a_message_is_a_failure_that_may_pass(payload: Any) -> None:
    with pytest.raises(ExchangeFailed) as raised:
        read_reply(json.dumps(payload).encode())
    assert raised.value.failure.is_transient


@pytest.mark.parametrize(("code", "status"), [(429, 429), (502, 502), ("429", 200), (None, 200), (7, 200)])
def test_an_error_in_a_body_counts_as_its_code(code: Any, status: int) -> None:
    with pytest.raises(ExchangeFailed) as raised:
        read_reply(json.dumps({"error": {"message": "slow down", "code": code}}).encode())
    assert raised.value.failure.status == status
    assert raised.value.failure.message.startswith("slow down")


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"command": "ls"}', {"command": "ls"}),
        ({"command": "ls"}, {"command": "ls"}),
        ('"{\\"command\\": \\"ls\\"}"', {"command": "ls"}),
        ('{"command": "a\nb"}', {"command": "a\nb"}),
        ("ls -l", {"input": "ls -l"}),
        ('["ls"]', {"input": ["ls"]}),
        ("7", {"input": "7"}),
        ("", {"input": ""}),
        (None, {"input": None}),
        ("[" * 5000, {"input": "[" * 5000}),
    ],
)
def test_the_arguments_of_a_call(arguments: Any, read: Any) -> None:
    (call,) = read_reply(
        body({"tool_calls": [{"id": "a", "function": {"name": "run", "arguments": arguments}}]})
    ).tool_calls
    assert (call.id, call.name, call.arguments) == ("a", "run", read)


@pytest.mark.parametrize("calls", [None, 7, "run", [], [None], [7], [{}], [{"function": None}], [{"function": {}}]])
def test_what_is_no_call_is_passed_over(calls: Any) -> None:
    assert read_reply(body({"content": "a", "tool_calls": calls})).tool_calls == ()


def test_calls_beyond_the_bound_are_passed_over() -> None:
    calls = [{"function": {"name": "run", "arguments": "{}"}}] * 1000
    assert len(read_reply(body({"tool_calls": calls})).tool_calls) == MAX_TOOL_CALLS


KEYS = st.sampled_from(
    [
        "choices",
        "message",
        "delta",
        "text",
        "content",
        "tool_calls",
        "function_call",
        "function",
        "name",
        "arguments",
        "index",
        "id",
        "usage",
        "prompt_tokens",
        "prompt_tokens_details",
        "error",
        "code",
        "reasoning",
        "finish_reason",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "run", "{}", '{"command": 7}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@given(ANYTHING, st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_json_is_a_reply_or_a_failure(payload: Any, is_stream: bool) -> None:
    data = json.dumps({"choices": [{"delta" if is_stream else "message": payload}], "usage": payload}).encode()
    for body in (data, json.dumps(payload).encode()):
        with suppress(ExchangeFailed):
            reply = read_reply(b"data: " + body if is_stream else body)
            assert isinstance(reply.text, str)
            assert all(isinstance(call.arguments, dict) for call in reply.tool_calls)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, (5, 2, 0)),
        ({"input_tokens": 5, "output_tokens": 2}, (5, 2, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, (5, 0, 4)),
        ({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}, (5, 0, 4)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 1}, (5, 0, 4)),
        ({"prompt_tokens": 5, "cache_read_input_tokens": 4}, (5, 0, 4)),
        ({"prompt_tokens": 5, "cached_tokens": 4, "prompt_tokens_details": None}, (5, 0, 4)),
        ({"prompt_tokens": "5", "completion_tokens": "two"}, (5, 0, 0)),
        ({"prompt_tokens": 5.0, "completion_tokens": -2}, (5, 0, 0)),
        ({"prompt_tokens": True, "completion_tokens": float("nan")}, (0, 0, 0)),
        ({"prompt_tokens": 10**400, "completion_tokens": "1e999"}, (0, 0, 0)),
        ({"prompt_tokens": [5], "prompt_tokens_details": 7}, (0, 0, 0)),
        (None, (0, 0, 0)),
        ("5", (0, 0, 0)),
    ],
)
def test_usage_in_every_spelling(usage: Any, read: tuple[int, int, int]) -> None:
    assert read_usage(usage) == Usage(1, *read)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"error": {"message": "no", "code": "bad_key"}}, "no (bad_key)"),
        ({"error": {"message": "no", "code": 400, "type": None}}, "no"),
        ({"error": "no"}, "no"),
        ({"message": "no", "type": "invalid"}, "no (invalid)"),
        ({"detail": "no"}, "no"),
        ({"object": "error"}, "{'object': 'error'}"),
        ("no", "no"),
        (None, "None"),
    ],
)
def test_the_words_of_an_error(payload: Any, words: str) -> None:
    assert error_message(payload) == words
