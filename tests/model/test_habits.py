"""What a provider is first believed to take, and how refusals change that."""

from dataclasses import replace

import pytest

from diffmem.model.failure import Failure, retry_after
from diffmem.model.habits import Habits, Request, first_guess, mended, payload
from tests.support.models import HELLO, RUN

OPENAI = "https://api.openai.com/v1"
LOCAL = "http://localhost:11434/v1"
REQUEST = Request("m", HELLO, (RUN,), "auto", {"type": "object"}, 100)


@pytest.mark.parametrize(
    ("name", "base_url", "tokens", "temperature", "tools", "beside"),
    [
        ("gpt-5-mini", OPENAI, "max_completion_tokens", False, True, True),
        ("gpt-4.1", OPENAI, "max_completion_tokens", True, True, True),
        ("openai/o3-mini", "https://openrouter.ai/api/v1", "max_completion_tokens", False, True, False),
        ("gpt-50", LOCAL, "max_tokens", True, True, False),
        ("llama3.1:8b", LOCAL, "max_tokens", True, True, False),
        ("qwen2.5:0.5b", LOCAL, "max_tokens", True, False, False),
        ("Qwen2.5-1.5B-Instruct", LOCAL, "max_tokens", True, False, False),
        ("mixtral-8x22b", LOCAL, "max_tokens", True, True, False),
        ("qwen3-30b-a3b", LOCAL, "max_tokens", True, True, False),
        ("m", "https://openai.com.evil.example/v1", "max_tokens", True, True, False),
        ("m", "http://[::bad", "max_tokens", True, True, False),
    ],
)
def test_the_first_guess(name: str, base_url: str, tokens: str, temperature: bool, tools: bool, beside: bool) -> None:
    guess = first_guess(name, base_url)
    assert (guess.token_fields[0], guess.temperature, guess.tools, guess.shape_beside_tools) == (
        tokens,
        temperature,
        tools,
        beside,
    )


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        ({"type": "array", "items": {"anyOf": [{"type": "object", "properties": {"a": {}}}]}}, False),
    ],
)
def test_a_schema_is_strict_where_openai_takes_it_so(schema: dict[str, object], strict: bool) -> None:
    body = payload(replace(REQUEST, tools=(), schema=schema), first_guess("m", LOCAL))
    assert body["response_format"]["json_schema"]["strict"] is strict


def after(message: str, status: int = 400, habits: Habits | None = None) -> Habits | None:
    before = habits or replace(first_guess("m", LOCAL), reasoning_effort=True)
    return mended(before, Failure(message, status), payload(REQUEST, before))


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("Unsupported parameter: 'max_tokens'", {"token_fields": ("max_completion_tokens",)}),
        ("maximum context length is 8192 tokens", {"token_fields": ()}),
        ("`temperature` does not support 0", {"temperature": False}),
        ("Unrecognized request argument: reasoning_effort", {"reasoning_effort": False}),
        ("Conversation roles must alternate", {"system_role": False}),
        ('"auto" tool choice requires --enable-auto-tool-choice', {"tools": False}),
        ("Failed to call a function. (tool_use_failed)", {"tools": False}),
        ("Function calling is not enabled for this model", {"tools": False}),
    ],
)
def test_a_refusal_changes_what_it_names(message: str, changes: dict[str, object]) -> None:
    before = replace(first_guess("m", LOCAL), reasoning_effort=True)
    assert after(message) == replace(before, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [401, 403, 429, 503, 200, None])
def test_what_is_no_refusal_changes_nothing(status: int | None) -> None:
    habits = first_guess("m", LOCAL)
    assert mended(habits, Failure("no temperature", status), payload(REQUEST, habits)) is None


def test_a_refusal_without_words_strips_everything_optional_then_the_tools_then_gives_up() -> None:
    bare = after("Bad Request")
    assert bare is not None
    assert set(payload(REQUEST, bare)) == {"model", "messages", "tools"}
    bare = after("Bad Request", habits=bare)
    assert bare is not None
    assert set(payload(REQUEST, bare)) == {"model", "messages"}
    assert after("Bad Request", habits=bare) is None


def test_an_internal_error_without_words_changes_nothing() -> None:
    assert after("FUNCTION_INVOCATION_TIMEOUT", 500) is None


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "30"}, 30, 30),
        ({"retry-after": "0.5"}, 0.5, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25, 0.25),
        ({"retry-after": "-3"}, 0, 0),
        ({"retry-after": "inf"}, float("inf"), float("inf")),
        ({"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}, 1e8, 1e11),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0, 0),
    ],
)
def test_retry_after_in_seconds(headers: dict[str, str], low: float, high: float) -> None:
    seconds = retry_after(headers)
    assert seconds is not None
    assert low <= seconds <= high


@pytest.mark.parametrize("value", ["nan", "soon", "", "Fri, 99 Foo 2100"])
def test_a_retry_after_that_says_nothing(value: str) -> None:
    assert retry_after({"retry-after": value}) is None
