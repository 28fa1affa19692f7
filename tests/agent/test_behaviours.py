"""Every behaviour of `tests.support.behaviours`: how an investigation ends, when, and what it leaves behind."""

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from diffmem.agent import Outcome, investigate
from diffmem.limits import Deadline
from diffmem.plan import Plan
from tests.support.behaviours import BEHAVIOURS, SCRIPTS
from tests.support.models import ready_model
from tests.support.provider import Provider, until
from tests.support.tasks import retrieval_task, run

SLACK_SECONDS = 0.25
STALLED_SECONDS = 0.4
ENOUGH_SECONDS = 20.0
SWEEPS = 4


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(scripts=SCRIPTS) as provider:
        yield provider


def attempt(name: str, provider: Provider) -> tuple[Outcome[Plan], int]:
    """The outcome of one investigation, asserted to be in time, and the requests that it cost."""
    behaviour = BEHAVIOURS[name]
    seconds = STALLED_SECONDS if behaviour.waits else ENOUGH_SECONDS
    base_url = provider.at(name)
    with ready_model(base_url, behaviour.model) as model:
        started = time.monotonic()
        outcome = investigate(retrieval_task(), model, run, Deadline(seconds))
        elapsed = time.monotonic() - started
    assert elapsed < seconds + SLACK_SECONDS, name
    return outcome, sum(request.run == base_url.split("/")[3] for request in list(provider.requests))


def check(name: str, outcome: Outcome[Plan], requests: int) -> None:
    behaviour = BEHAVIOURS[name]
    assert outcome.stop_reason in behaviour.ends, (name, outcome.detail)
    assert (outcome.answer is not None) == (outcome.stop_reason == "plan"), name
    assert outcome.answer is None or len(outcome.answer.rejected) == behaviour.rejected, name
    assert behaviour.commands in (None, len(outcome.commands)), name
    assert behaviour.requests in (None, requests), name
    assert len(outcome.seen) == len(outcome.commands), name
    assert outcome.turns >= 1, name


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if not thread.name.startswith("provider")}


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_ends_as_it_must_in_time_and_leaves_nothing_behind(name: str, provider: Provider) -> None:
    before = threads()
    outcome, requests = attempt(name, provider)
    check(name, outcome, requests)
    assert threads() == before
    assert until(lambda: provider.connections == 0)


def test_a_sweep_over_all_behaviours_eight_at_a_time_leaves_nothing_behind(provider: Provider) -> None:
    names = list(BEHAVIOURS) * SWEEPS
    before = threads(), open_files()
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda name: attempt(name, provider), names))
    for name, (outcome, requests) in zip(names, outcomes, strict=True):
        check(name, outcome, requests)
    assert until(lambda: provider.connections == 0)
    assert (threads(), open_files()) == before
