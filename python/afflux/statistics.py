"""Means, percentiles as in summaries, and bootstrap intervals."""

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

T = TypeVar("T")

#: Resamples of an interval; its ends move by about 1 % of its length from one set of draws to another.
DRAWS = 5_000
CONFIDENCE = 0.95
#: Below so many seeds an interval is too optimistic to conclude from: of 4 values a resample is all one value once in 64 draws.
ENOUGH_SEEDS = 5


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def quantile(ordered: Sequence[float], q: float) -> float:
    """Linear, as numpy's; `ordered` ascending and not empty."""
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def interval(sample: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> tuple[float, float] | None:
    """Percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, §13.3); the same for the same sample.

    None with fewer than two values: nothing is known of their spread.
    """
    if len(sample) < 2:
        return None
    found = sorted(statistic([sample[place] for place in places]) for places in resamples(len(sample)))
    return quantile(found, (1 - CONFIDENCE) / 2), quantile(found, (1 + CONFIDENCE) / 2)


@cache
def resamples(size: int) -> list[list[int]]:
    """One set of draws for all samples of a size: metrics that move together are resampled together."""
    draws = random.Random(size)
    return [draws.choices(range(size), k=size) for _ in range(DRAWS)]
