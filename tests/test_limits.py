import pytest

from diffmem.errors import DeadlineExceeded
from diffmem.limits import Deadline


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_deadline_runs_out_and_is_never_negative() -> None:
    clock = Clock()
    deadline = Deadline(2.0, clock)
    clock.now += 1.5
    assert deadline.remaining() == pytest.approx(0.5)
    assert not deadline.expired
    clock.now += 5
    assert deadline.remaining() == 0.0
    assert deadline.expired


def test_check_names_what_ran_out_of_time() -> None:
    clock = Clock()
    deadline = Deadline(1.0, clock)
    deadline.check()
    clock.now += 1
    with pytest.raises(DeadlineExceeded, match="the search"):
        deadline.check("the search")


def test_a_part_of_a_deadline_never_outlives_it() -> None:
    clock = Clock()
    deadline = Deadline(2.0, clock)
    assert deadline.within(10).remaining() == pytest.approx(2.0)
    assert deadline.within(1).remaining() == pytest.approx(1.0)
    assert deadline.less(0.5).remaining() == pytest.approx(1.5)
    assert deadline.less(5).expired
