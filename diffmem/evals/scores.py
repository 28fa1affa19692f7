"""Means of recalls with their uncertainty: from 0 to 1, at 95 %."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.96


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the interval it lies in, in 95 of 100 such samples."""

    mean: float
    low: float
    high: float


def recall_estimate(recalls: Sequence[float]) -> Estimate:
    """The mean of recalls and its Wilson interval (1927), which a mean of parts of questions does not exceed."""
    size = len(recalls)
    if size == 0:
        return Estimate(math.nan, math.nan, math.nan)
    mean = sum(recalls) / size
    middle = (mean + _Z**2 / (2 * size)) / (1 + _Z**2 / size)
    half = _Z / (1 + _Z**2 / size) * math.sqrt(mean * (1 - mean) / size + _Z**2 / (4 * size**2))
    return Estimate(mean, max(0.0, middle - half), min(1.0, middle + half))


def difference(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """The mean of `after - before`, pair by pair, and its normal interval; the interval of one pair is that pair."""
    changes = [new - old for old, new in zip(before, after, strict=True)]
    if not changes:
        return Estimate(math.nan, math.nan, math.nan)
    mean = sum(changes) / len(changes)
    variance = sum((change - mean) ** 2 for change in changes) / max(1, len(changes) - 1)
    half = _Z * math.sqrt(variance / len(changes))
    return Estimate(mean, mean - half, mean + half)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0 to 1) of `values` do not exceed; nan where there are none."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else math.nan
