"""Every behaviour of `tests.support.behaviours`: how an investigation ends, when, and what it leaves behind."""

import threading
import time
from collections.abc import Iterator

import pytest

from diffmem.agent import Outcome, Task, calls_already_made, investigate
from diffmem.limits import Deadline
from diffmem.model import Message, OpenAIModel
from diffmem.plan import PLAN_SCHEMA, Plan, parse_plan, parse_plan_lines
from tests.support.behaviours import BEHAVIOURS, RAN, SCRIPTS
from tests.support.provider import Provider, until

SLACK_SECONDS = 0.25
STALLED_SECONDS = 0.6
ENOUGH_SECONDS = 10.0

TASK = Task(
    system="Find what bears on the conversation.",
    opening=(
        Message("user", "Is Maya well?"),
        *calls_already_made([("cat index.md", "- [Maya](memories/people/maya.md)")]),
    ),
    schema_name="retrieval_plan",
    schema=PLAN_SCHEMA,
    parse=parse_plan,
    parse_lines=parse_plan_lines,
    takes_partial=True,
)


def run(command: str, deadline: Deadline) -> str:
    return f"{RAN} {command}"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(scripts=SCRIPTS) as provider:
        OpenAIModel("warm", provider.base_url).preload()  # the import of the SDK is no part of any behaviour
        yield provider


def attempt(name: str, provider: Provider, seconds: float) -> tuple[Outcome[Plan], float, int]:
    """The outcome of one investigation, the seconds it took, and the requests that it cost."""
    base_url = provider.at(name)
    model = OpenAIModel(BEHAVIOURS[name].model, base_url, "key")
    warm(model)
    started = time.monotonic()
    try:
        outcome = investigate(TASK, model, run, Deadline(seconds))
    finally:
        elapsed = time.monotonic() - started
        model.close()
    requests = [request for request in list(provider.requests) if request.run == base_url.split("/")[3]]
    return outcome, elapsed, len(requests)


def warm(model: OpenAIModel) -> None:
    model.preload()
    model._client.get(Deadline(30.0))


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_ends_as_it_must_in_time_and_leaves_nothing_behind(name: str, provider: Provider) -> None:
    behaviour = BEHAVIOURS[name]
    threads = set(threading.enumerate())
    seconds = STALLED_SECONDS if behaviour.waits else ENOUGH_SECONDS
    outcome, elapsed, requests = attempt(name, provider, seconds)
    assert outcome.stop_reason in behaviour.ends, outcome.detail
    assert elapsed < seconds + SLACK_SECONDS
    assert (outcome.answer is not None) == (outcome.stop_reason == "plan")
    if outcome.answer is not None:
        assert len(outcome.answer.rejected) == behaviour.rejected
    assert behaviour.commands in (None, len(outcome.commands))
    assert behaviour.requests in (None, requests)
    left = {thread for thread in threading.enumerate() if not thread.name.startswith("provider")} - threads
    assert not left
    assert until(lambda: provider.connections == 0)
