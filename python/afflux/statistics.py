"""Means and percentiles as in summaries."""

from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def quantile(ordered: Sequence[float], q: float) -> float:
    """Linear, as numpy's; `ordered` ascending and not empty."""
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
