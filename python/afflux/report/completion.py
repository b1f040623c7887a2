"""Completion times by flow size, and their distributions; all seeds of a design together."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..results.designs import Design
from ..results.statistics import mean, quantile

#: Classes of flow sizes, of equally many flows each; fewer if there are few sizes.
CLASSES = 12
#: Points of a distribution.
POINTS = 400
#: Percentiles, and how many flows it takes for at least one to be beyond.
PERCENTILES = {"p50": (0.5, 1), "p95": (0.95, 20), "p99": (0.99, 100), "p999": (0.999, 1000)}
MEASURES = {"fct": "fct_ns", "slowdown": "slowdown"}


@dataclass(frozen=True)
class Flows:
    """Finished flows that did not start in the warm-up."""

    bytes: list[int]
    fct: list[int]
    slowdown: list[float]


def of(designs: Sequence[Design]) -> dict[str, Any] | None:
    flows = [_flows(design) for design in designs]
    sizes = sorted(size for of_design in flows for size in of_design.bytes)
    if not sizes:
        return None
    upper = _bounds(sizes)
    # Of the flows there are: an upper bound without its lower neighbour would promise more.
    lower = [sizes[0], *(sizes[bisect_right(sizes, bound)] for bound in upper[:-1])]
    return {
        "sizes": list(map(list, zip(lower, upper, strict=True))),
        "designs": [_by_size(of_design, upper) for of_design in flows],
        "cdf": {name: _distribution([getattr(of_design, name) for of_design in flows]) for name in MEASURES},
    }


def _flows(design: Design) -> Flows:
    found = Flows([], [], [])
    for result in design.results.values():
        warmup = result.summary["warmup_ns"]
        columns = (result.flows.column(name) for name in ("start_ns", "bytes", "fct_ns", "slowdown"))
        for start, bytes, fct, slowdown in zip(*columns, strict=True):
            if fct is not None and start >= warmup:
                found.bytes.append(bytes)
                found.fct.append(fct)
                found.slowdown.append(slowdown)
    return found


def _bounds(sizes: Sequence[int]) -> list[int]:
    """Upper bounds of the classes, ascending; the last is the largest size."""
    distinct = sorted(set(sizes))
    if len(distinct) <= CLASSES:
        return distinct
    return sorted({sizes[(len(sizes) * place - 1) // CLASSES] for place in range(1, CLASSES + 1)})


def _by_size(flows: Flows, upper: Sequence[int]) -> dict[str, Any]:
    places = [bisect_right(upper, size - 1) for size in flows.bytes]
    found: dict[str, Any] = {"count": [places.count(place) for place in range(len(upper))]}
    for name in MEASURES:
        classes: list[list[float]] = [[] for _ in upper]
        for place, value in zip(places, getattr(flows, name), strict=True):
            classes[place].append(value)
        found[name] = {"mean": [_short(mean(values)) if values else None for values in classes]}
        for values in classes:
            values.sort()
        for percentile, (q, needed) in PERCENTILES.items():
            found[name][percentile] = [_short(quantile(values, q)) if len(values) >= needed else None for values in classes]
    return found


def _distribution(samples: Sequence[Sequence[float]]) -> dict[str, Any]:
    """How many flows have at most x, at the same x for all: evenly spaced by logarithm."""
    everything = [value for sample in samples for value in sample]
    low, high = math.log(max(min(everything), 1e-9) * 0.98), math.log(max(*everything, 1e-9) * 1.02)
    high = max(high, low + 0.1)
    grid = [_short(math.exp(low + (high - low) * place / (POINTS - 1))) for place in range(POINTS)]
    ordered = [sorted(sample) for sample in samples]
    return {"x": grid, "below": [[bisect_right(sample, x) for x in grid] for sample in ordered], "flows": list(map(len, samples))}


def _short(value: float) -> float:
    """Five digits: more than a chart shows."""
    return float(f"{value:.5g}")
