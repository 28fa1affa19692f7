"""OpenAIModel against a real server: what it remembers, and that no wait outlives the deadline."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from diffmem.errors import ModelError, ModelRefused, ModelTimeout
from diffmem.limits import Deadline
from diffmem.model import Addresses, Message, OpenAIModel, Usage
from tests.support.behaviours import refusing
from tests.support.models import HELLO, RUN, ready_model
from tests.support.provider import Provider, Received, Reply, Wire, calls, error, text, until

SLACK_SECONDS = 0.25
SCHEMA = {
    "title": "greeting",
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@contextmanager
def in_time(seconds: float) -> Iterator[Deadline]:
    """A deadline, and the promise that the block ends with it."""
    started = time.monotonic()
    yield Deadline(seconds)
    assert time.monotonic() - started < seconds + SLACK_SECONDS


def children() -> list[str]:
    """The processes that this one has started and not reaped."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:  # noqa: PTH123
        return listed.read().split()


def test_an_answer_comes_with_its_calls_and_usage() -> None:
    with Provider([calls("ls", "pwd")]) as provider, ready_model(provider.base_url) as model:
        reply = model.complete(HELLO, tools=[RUN], deadline=Deadline(10))
    assert [call.arguments for call in reply.tool_calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert reply.usage == Usage(llm_calls=1, prompt_tokens=100, completion_tokens=10, cached_tokens=40)
    assert reply.style == "tools"


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


@pytest.mark.parametrize("field", ["max_tokens", "temperature", "tools"])
def test_what_a_provider_refuses_is_left_out_from_then_on(field: str) -> None:
    script: list[Reply] = [refusing(field, f"{field} is not supported")]
    with Provider(script) as provider, ready_model(provider.base_url) as model:
        model.complete(HELLO, tools=[RUN], deadline=Deadline(10))
        before = len(provider.requests)
        model.complete(HELLO, tools=[RUN], deadline=Deadline(10))
        assert before == 2
        assert len(provider.requests) == 3
        assert field not in provider.requests[-1].body


def test_another_model_has_its_own_memory() -> None:
    with Provider([refusing("temperature", "no temperature")]) as provider:
        for _ in range(2):
            with ready_model(provider.base_url) as model:
                model.complete(HELLO, deadline=Deadline(10))
    assert len(provider.requests) == 4


def test_what_never_worked_is_not_remembered() -> None:
    script: list[Reply] = [error(400, "no temperature"), error(401), text("hello")]
    with Provider(script) as provider, ready_model(provider.base_url) as model:
        with pytest.raises(ModelError, match="401"):
            model.complete(HELLO, deadline=Deadline(10))
        model.complete(HELLO, deadline=Deadline(10))
    assert "temperature" in provider.requests[-1].body


def test_a_model_that_missed_more_calls_than_it_made_is_spoken_to_in_text() -> None:
    with Provider([calls("ls"), text("hm")]) as provider, ready_model(provider.base_url) as model:
        for missed in (False, True, True):
            reply = model.complete(HELLO, tools=[RUN], deadline=Deadline(10))
            assert reply.style == "tools"
            if missed:
                model.prefer_text()
        assert model.complete(HELLO, tools=[RUN], deadline=Deadline(10)).style == "text"


def test_a_schema_is_sent_where_no_call_can_come() -> None:
    with Provider([text("{}")]) as provider, ready_model(provider.base_url) as model:
        model.complete(HELLO, tools=[RUN], schema=SCHEMA, deadline=Deadline(10))
        model.complete(HELLO, tools=[RUN], schema=SCHEMA, deadline=Deadline(10), tool_choice="none")
        model.complete(HELLO, schema=SCHEMA, deadline=Deadline(10))
    bodies = [request.body for request in provider.requests]
    described = {"type": "json_schema", "json_schema": {"name": "greeting", "schema": SCHEMA, "strict": True}}
    assert [body.get("response_format") for body in bodies] == [None, described, described]
    assert [body.get("tool_choice") for body in bodies] == [None, "none", None]
    assert [len(body.get("tools", ())) for body in bodies] == [1, 1, 0]


def test_a_refused_schema_becomes_a_looser_one_and_at_last_words() -> None:
    def reply(received: Received) -> Wire:
        return error(400, "unknown response_format") if "response_format" in received.body else text("{}")

    with Provider([reply]) as provider, ready_model(provider.base_url) as model:
        model.complete(HELLO, schema=SCHEMA, deadline=Deadline(10))
    bodies = [request.body for request in provider.requests]
    assert [body.get("response_format", {}).get("type") for body in bodies] == ["json_schema", "json_object", None]
    assert '"title":"greeting"' not in bodies[0]["messages"][-1]["content"]
    assert '"title":"greeting"' in bodies[1]["messages"][-1]["content"]
    assert '"title":"greeting"' in bodies[2]["messages"][-1]["content"]


def test_a_reasoning_model_is_asked_as_it_wants() -> None:
    with Provider([text("hello")]) as provider, ready_model(provider.base_url, "gpt-5-mini") as model:
        model.complete(HELLO, deadline=Deadline(10))
    body = provider.requests[0].body
    assert set(body) == {"model", "messages", "max_completion_tokens", "reasoning_effort"}


def test_both_turns_share_a_connection_that_close_closes() -> None:
    with Provider([text("hello")]) as provider:
        with ready_model(provider.base_url) as model:
            for _ in range(3):
                model.complete(HELLO, deadline=Deadline(10))
            assert provider.accepted == 1
        assert until(lambda: provider.connections == 0)


def test_a_closed_model_can_be_used_again() -> None:
    with Provider([text("hello")]) as provider, ready_model(provider.base_url) as model:
        model.complete(HELLO, deadline=Deadline(10))
        model.close()
        assert model.complete(HELLO, deadline=Deadline(10)).text == "hello"


def test_a_connection_that_the_server_closed_while_idle_is_replaced() -> None:
    closing = text("hello").but(head=b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text("hello").body))
    with Provider([closing]) as provider, ready_model(provider.base_url) as model:
        for _ in range(3):
            assert model.complete(HELLO, deadline=Deadline(10)).text == "hello"
            assert until(lambda: provider.connections == 0)


def test_the_key_goes_to_the_provider_and_into_no_error() -> None:
    with (
        Provider([error(400, "the key 'key' is odd")]) as provider,
        ready_model(provider.base_url) as model,
        pytest.raises(ModelError) as raised,
    ):
        model.complete(HELLO, deadline=Deadline(10))
    assert provider.requests[0].headers["authorization"] == "Bearer key"
    assert "the *** '***' is odd" in str(raised.value)


@pytest.mark.parametrize(
    ("failure", "is_refused"),
    [
        *((error(status, "no"), True) for status in (400, 403, 413, 422)),
        *((error(status, "no"), False) for status in (401, 402, 404, 503)),
        (error(400, "your credit balance is too low"), False),
    ],
)
def test_a_refusal_of_what_was_asked_is_told_from_a_provider_that_answers_nobody(
    failure: Wire, is_refused: bool
) -> None:
    with (
        Provider([failure]) as provider,
        ready_model(provider.base_url) as model,
        pytest.raises(ModelError) as raised,
    ):
        model.complete(HELLO, deadline=Deadline(10))
    assert isinstance(raised.value, ModelRefused) == is_refused


def test_a_key_that_no_header_can_carry_is_a_model_error() -> None:
    with Provider([text("hello")]) as provider:
        model = OpenAIModel("scripted", provider.base_url, "k\N{EURO SIGN}y\n")
        with pytest.raises(ModelError):
            model.complete(HELLO, deadline=Deadline(10))
        model.close()


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1/v1", "nonsense", "ftp://127.0.0.1/v1", "http://[::bad/v1"])
def test_a_provider_that_cannot_be_reached_is_a_model_error(base_url: str) -> None:
    model = OpenAIModel("scripted", base_url, "key")
    with pytest.raises(ModelError):
        model.complete(HELLO, deadline=Deadline(10))
    model.close()


def test_lone_surrogates_are_sent_as_question_marks() -> None:
    with Provider([text("hello")]) as provider, ready_model(provider.base_url) as model:
        model.complete([Message("user", "what \ud83d is")], deadline=Deadline(10))
    assert provider.requests[0].messages[0]["content"] == "what ? is"


def test_a_server_that_reads_nothing_does_not_outlive_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = ready_model(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        with model as asked, in_time(0.3) as deadline, pytest.raises(ModelTimeout):
            asked.complete([Message("user", "x" * 20_000_000)], deadline=deadline)


def test_a_tls_handshake_that_stalls_does_not_outlive_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        model = ready_model(f"https://127.0.0.1:{silent.getsockname()[1]}/v1")
        with model as asked, in_time(0.3) as deadline, pytest.raises(ModelTimeout):
            asked.complete(HELLO, deadline=deadline)


def test_a_connection_that_is_never_accepted_does_not_outlive_the_deadline() -> None:
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for waiting in (first, second):  # fill the queue of connections, so that the next gets no answer
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        model = ready_model(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        with model as asked, in_time(0.3) as deadline, pytest.raises(ModelTimeout):
            asked.complete(HELLO, deadline=deadline)


def test_a_name_lookup_that_stalls_does_not_outlive_the_deadline() -> None:
    stalling = Addresses((sys.executable, "-S", "-c", "import time; time.sleep(60)"))
    before = children()
    model = ready_model("http://provider.example/v1", addresses=stalling)
    with model as asked, in_time(0.3) as deadline, pytest.raises(ModelTimeout):
        asked.complete(HELLO, deadline=deadline)
    assert children() == before


def test_a_deadline_that_is_over_asks_nobody() -> None:
    with Provider([text("hello")]) as provider, ready_model(provider.base_url) as model:
        with pytest.raises(ModelTimeout):
            model.complete(HELLO, deadline=Deadline(0))
        assert provider.requests == []


def in_new_process(program: str) -> str:
    """What a program prints in a process that has imported nothing yet."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return finished.stdout.strip()


def test_the_import_of_the_sdk_does_not_outlive_the_deadline() -> None:
    printed = in_new_process(
        "import sys, time\n"
        "from diffmem.limits import Deadline\n"
        "from diffmem.errors import ModelTimeout\n"
        "from diffmem.model import Message, OpenAIModel\n"
        "assert 'openai' not in sys.modules and 'httpx2' not in sys.modules\n"
        "started = time.monotonic()\n"
        "try:\n"
        "    OpenAIModel('m', 'http://127.0.0.1:1/v1').complete([Message('user', 'x')], deadline=Deadline(0.05))\n"
        "except ModelTimeout:\n"
        "    print(time.monotonic() - started)\n"
    )
    assert float(printed) < 0.05 + SLACK_SECONDS


def test_a_forked_process_makes_a_client_of_its_own() -> None:
    with Provider([text("hello")]) as provider:
        printed = in_new_process(
            "import os, sys\n"
            "from diffmem.limits import Deadline\n"
            "from diffmem.model import Message, OpenAIModel\n"
            f"model = OpenAIModel('m', {provider.base_url!r})\n"
            "ask = lambda: model.complete([Message('user', 'x')], deadline=Deadline(30)).text\n"
            "assert ask() == 'hello'\n"
            "if (child := os.fork()) == 0:\n"
            "    os._exit(0 if ask() == 'hello' else 1)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
            "print(ask())\n"
        )
        assert printed == "hello"
        assert provider.accepted == 2


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return lambda url: monkeypatch.setenv("HTTP_PROXY".lower(), url)


def test_a_proxy_of_the_environment_is_used(proxied: Callable[[str], None]) -> None:
    with Provider([text("hello")]) as provider:
        proxied(f"127.0.0.1:{provider.port}")
        with ready_model(f"http://provider.example/{provider.base_url.split('/')[3]}/v1") as model:
            assert model.complete(HELLO, deadline=Deadline(10)).text == "hello"
        assert provider.requests[0].headers["host"] == "provider.example"


def test_a_provider_on_this_machine_is_not_asked_through_a_proxy(proxied: Callable[[str], None]) -> None:
    proxied("http://127.0.0.1:1")
    with Provider([text("hello")]) as provider, ready_model(provider.base_url) as model:
        assert model.complete(HELLO, deadline=Deadline(10)).text == "hello"


def test_a_proxy_of_another_scheme_is_a_model_error(proxied: Callable[[str], None]) -> None:
    proxied("socks5://127.0.0.1:1")
    model = OpenAIModel("scripted", "http://provider.example/v1", "key")
    with pytest.raises(ModelError, match="socks5"):
        model.complete(HELLO, deadline=Deadline(10))
