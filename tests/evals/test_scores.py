"""Means and their uncertainty."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.evals.measuring import evidence_recall
from diffmem.evals.scores import difference, percentile, recall_estimate

RECALLS = st.lists(st.floats(0, 1), min_size=1, max_size=50)


def test_the_interval_is_wilsons() -> None:
    found = recall_estimate([1.0] * 8 + [0.0] * 2)
    assert (found.mean, round(found.low, 3), round(found.high, 3)) == (0.8, 0.490, 0.943)


@given(RECALLS)
def test_the_mean_lies_in_its_interval_and_that_between_0_and_1(recalls: list[float]) -> None:
    found = recall_estimate(recalls)
    assert 0 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1


@given(RECALLS)
def test_a_run_does_not_differ_from_itself(recalls: list[float]) -> None:
    assert difference(recalls, recalls).mean == 0


def test_a_difference_is_one_of_pairs() -> None:
    found = difference([0.0, 0.5, 1.0], [0.1, 0.6, 1.1])
    assert found.mean == pytest.approx(0.1) and found.high - found.low < 1e-9


def test_nothing_has_no_mean() -> None:
    assert (
        math.isnan(recall_estimate([]).mean) and math.isnan(difference([], []).mean) and math.isnan(percentile([], 0.5))
    )


def test_percentiles_are_values_that_occur() -> None:
    values = [3.0, 1.0, 2.0, 4.0]
    assert [percentile(values, share) for share in (0.0, 0.5, 0.95, 1.0)] == [1.0, 3.0, 4.0, 4.0]


def test_evidence_counts_where_its_whole_content_stands() -> None:
    assert evidence_recall("a canoe and a dog", ["a canoe", "a dog barks", None, "dog"]) == 0.5
