"""How many requests one key may send, and what it is told when there were too many."""

from pathlib import Path

import pytest

from diffmem.config import Config
from diffmem.errors import ConfigError, RateLimited
from diffmem.http.rates import RateLimit
from tests.support.app import function

KEYS = "one:0123456789abcdef:*,two:fedcba9876543210:*"


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_minute_s_requests_may_come_at_once_and_then_as_many_a_minute() -> None:
    clock = Clock()
    rates = RateLimit(60, clock)
    for _ in range(60):
        rates.check("one")
    with pytest.raises(RateLimited) as caught:
        rates.check("one")
    assert caught.value.retry_after_seconds == pytest.approx(1.0)
    rates.check("two")
    clock.now += 1.0
    rates.check("one")
    clock.now += 3600
    for _ in range(60):
        rates.check("one")
    with pytest.raises(RateLimited):
        rates.check("one")


def test_being_refused_costs_nothing() -> None:
    clock = Clock()
    rates = RateLimit(1, clock)
    rates.check("one")
    for _ in range(100):
        with pytest.raises(RateLimited):
            rates.check("one")
    clock.now += 60
    rates.check("one")


def test_no_limit_is_none() -> None:
    rates = RateLimit(0)
    for _ in range(10_000):
        rates.check("one")


def test_callers_without_end_take_no_room_without_end() -> None:
    rates = RateLimit(5)
    for number in range(20_000):
        rates.check(str(number))
    assert len(rates._callers) == 10_000


def test_the_default_is_generous_and_not_for_this_machine_s_own() -> None:
    assert Config.from_environment({}).rate_limit_per_minute == 0
    assert Config.from_environment({"DIFFMEM_AUTH": "key"}).rate_limit_per_minute == 6000
    assert Config.from_environment({"DIFFMEM_AUTH": "key", "DIFFMEM_RATE_LIMIT": "0"}).rate_limit_per_minute == 0
    assert Config.from_environment({"DIFFMEM_RATE_LIMIT": "7"}).rate_limit_per_minute == 7
    with pytest.raises(ConfigError, match="DIFFMEM_RATE_LIMIT"):
        Config.from_environment({"DIFFMEM_RATE_LIMIT": "-1"})


def test_one_key_s_haste_is_not_another_s_loss(tmp_path: Path) -> None:
    environment = {"DIFFMEM_AUTH": "key", "DIFFMEM_API_KEYS": KEYS, "DIFFMEM_RATE_LIMIT": "3"}
    one, two = ({"Authorization": f"Bearer {key}"} for key in ("0123456789abcdef", "fedcba9876543210"))
    with function(tmp_path, environment) as app:
        assert [app.get("/v1/users/alex", headers=one).status_code for _ in range(4)] == [404, 404, 404, 429]
        refused = app.get("/v1/users/bea", headers=one)
        assert refused.get_json()["type"] == "/problems/rate-limited"
        assert "'one'" in refused.get_json()["detail"]
        assert int(refused.headers["Retry-After"]) in range(1, 21)
        assert app.get("/v1/users/alex", headers=two).status_code == 404
        assert app.get("/health").status_code == 200, "what the platform asks for is not counted"
