"""Computes completion times by flow size and their distributions, over all seeds of a design
together."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..comparison.phrases import listed
from ..results.designs import Design
from ..results.percentiles import PERCENTILES
from ..results.statistics import mean, quantile
from ..words import Words, both, join, say, text

#: Number of flow size classes with equally many flows. There are fewer if there are few sizes.
CLASSES = 12
#: Number of points of a distribution, and of each of several.
POINTS, COARSE = 400, 160
#: Most traffic classes that are shown separately, and most designs that a sentence names.
KINDS, DESIGNS = 8, 6
MEASURES = {"fct": "fct_ns", "slowdown": "slowdown"}


@dataclass(frozen=True)
class Flows:
    """Finished flows that did not start in the warm-up. Flows of kernels have no slowdown."""

    bytes: list[int]
    fct: list[int]
    slowdown: list[float | None]
    kinds: list[str]
    #: Number of flows that started after the warm-up and did not finish, by traffic class.
    unfinished: Counter[str]
    #: Number of flows that never started, by traffic class.
    not_started: Counter[str]

    @property
    def left(self) -> int:
        """Number of flows that did not finish, with those that never started."""
        return self.unfinished.total() + self.not_started.total()

    @property
    def by_kind(self) -> Counter[str]:
        """Number of flows by traffic class, with those that did not finish or never started."""
        return Counter(self.kinds) + self.unfinished + self.not_started

    def of(self, measure: str) -> list[float]:
        """Returns the known values of a measure."""
        return [value for value in getattr(self, measure) if value is not None]

    def of_kind(self, kind: str) -> "Flows":
        rows = [row for row, own in enumerate(self.kinds) if own == kind]
        return Flows(
            [self.bytes[row] for row in rows],
            [self.fct[row] for row in rows],
            [self.slowdown[row] for row in rows],
            [kind] * len(rows),
            Counter({kind: self.unfinished[kind]}),
            Counter({kind: self.not_started[kind]}),
        )


def of(designs: Sequence[Design]) -> dict[str, Any] | None:
    flows = [_flows(design) for design in designs]
    sizes = sorted(size for of_design in flows for size in of_design.bytes)
    if not sizes:
        return None
    upper = _bounds(sizes)
    # Bounds are sizes of existing flows. An upper bound of the class below would promise smaller
    # flows than there are.
    lower = [sizes[0], *(sizes[bisect_right(sizes, bound)] for bound in upper[:-1])]
    kinds = _kinds(designs, flows)
    return {
        "sizes": list(map(list, zip(lower, upper, strict=True))),
        "designs": [_by_size(of_design, upper) for of_design in flows],
        "cdf": _distributions(flows, POINTS),
        "groups": _groups(designs, flows, kinds[:KINDS]),
        "hidden": len(kinds[KINDS:]),
    }


def classes(designs: Sequence[Design]) -> list[str]:
    """Returns the names of the traffic classes in the order of the scenarios."""
    return list(_by_class(designs))


def unfinished_classes(designs: Sequence[Design]) -> list[str]:
    """Returns the traffic classes of which flows started or were due after the warm-up, but no one
    finished in any run."""
    return [
        name
        for name, groups in _by_class(designs).items()
        if not any(one["count"] for one in groups)
        and any(one["unfinished"] or one.get("not_started") for one in groups)
    ]


def _by_class(designs: Sequence[Design]) -> dict[str, list[dict[str, Any]]]:
    """Returns the completion times of each traffic class in the summaries of all runs."""
    found: dict[str, list[dict[str, Any]]] = {}
    for result in (result for design in designs for result in design.results.values()):
        for name, group in (result.summary["fct"].get("by_class") or {}).items():
            found.setdefault(name, []).append(group)
    return found


def _kinds(designs: Sequence[Design], flows: Sequence[Flows]) -> list[str]:
    """Returns the traffic classes, those with the most flows first. Flows that did not finish count.
    A single class is left out, because it equals all flows."""
    counts = sum((of_design.by_kind for of_design in flows), Counter[str]())
    order = [kind for kind in classes(designs) if kind in counts]
    return sorted(order, key=lambda kind: -counts[kind]) if len(order) > 1 else []


def _groups(
    designs: Sequence[Design], flows: Sequence[Flows], kinds: Sequence[str]
) -> list[dict[str, Any]]:
    """Returns all flows, whose distributions are in a separate field; then these traffic classes, in
    the order of the scenarios."""
    found = [{"name": None, "cdf": None, **_described(designs, flows)}]
    for kind in (kind for kind in classes(designs) if kind in kinds):
        own = [of_design.of_kind(kind) for of_design in flows]
        found.append({"name": kind, "cdf": _distributions(own, COARSE), **_described(designs, own)})
    return found


def _described(designs: Sequence[Design], flows: Sequence[Flows]) -> dict[str, Any]:
    every = [{name: _percentiles(of_design.of(name)) for name in MEASURES} for of_design in flows]
    names = [design.name for design in designs]
    left = _left(names, flows)
    said = {
        name: _sentence(name, names, [of_design[name] for of_design in every], bool(left))
        for name in MEASURES
    }
    return {
        "flows": [len(of_design.bytes) for of_design in flows],
        "unfinished": [of_design.left for of_design in flows],
        "percentiles": every,
        "said": {
            name: both(join([part for part in (sentence, left) if part]))
            for name, sentence in said.items()
        },
    }


def _left(names: Sequence[str], flows: Sequence[Flows]) -> Words:
    """Says how many flows did not finish; empty if all did."""
    items = []
    for name, of_design in zip(names, flows, strict=True):
        if not of_design.left:
            continue
        words = {
            "left": text.count(of_design.left),
            "flows": text.count(len(of_design.bytes) + of_design.left),
        }
        key = "completion.unfinished.item" if len(names) > 1 else "completion.unfinished.only"
        item = say(key, design=name, **words)
        if never := of_design.not_started.total():
            item = say("completion.unfinished.never", item=item, never=text.count(never))
        items.append(item)
    return say("completion.unfinished", items=listed(items, DESIGNS)) if items else Words("", "")


def has_unfinished(design: Design) -> bool:
    """True if a flow of the design did not finish, or never started."""
    return any(
        result.summary["fct"]["all"]["censored"] or result.summary["flows"].get("not_started")
        for result in design.results.values()
    )


def _percentiles(values: Sequence[float]) -> dict[str, float | None]:
    ordered = sorted(values)
    found = {
        name: _short(quantile(ordered, q)) if len(ordered) >= needed else None
        for name, (q, needed) in PERCENTILES.items()
    }
    return {"mean": _short(mean(ordered)) if ordered else None, **found}


def _sentence(
    measure: str, names: Sequence[str], found: Sequence[dict[str, float | None]], censored: bool
) -> Words:
    """Words the highest percentile up to p99 that all designs have, for the best and the worst
    design, with the median. If some flows did not finish, says that it is of those that did."""
    known = [(name, one) for name, one in zip(names, found, strict=True) if one["p50"] is not None]
    if not known:
        return Words("", "")
    high = next(
        (name for name in ("p99", "p95") if all(one[name] is not None for _, one in known)), "p50"
    )

    def shown(one: dict[str, float | None], percentile: str) -> str:
        value = one[percentile]
        return (
            "–"
            if value is None
            else text.digits(value, 3)
            if measure == "slowdown"
            else text.time(value, 3)
        )

    best = min(known, key=lambda item: item[1][high] or 0)
    worst = max(known, key=lambda item: item[1][high] or 0)
    share = f"{100 * PERCENTILES[high][0]:.0f}"
    words = {
        "share": share,
        "flows": say("completion.finished" if censored else "completion.every"),
        "best": best[0],
        "worst": worst[0],
        "low": shown(best[1], high),
        "high": shown(worst[1], high),
    }
    medians = [shown(one, "p50") for _, one in (best, worst)]
    if len(known) == 1:
        key = "completion.one" if high != "p50" else "completion.one.median"
        return say(f"{key}.{measure}", median=medians[0], **words)
    if words["low"] == words["high"] and medians[0] == medians[1]:
        key = "completion.alike" if high != "p50" else "completion.alike.median"
        return say(f"{key}.{measure}", median=medians[0], **words)
    if high == "p50":
        return say(f"completion.median.{measure}", **words)
    key = "completion.tail" if medians[0] == medians[1] else "completion.both"
    return say(f"{key}.{measure}", lower=medians[0], higher=medians[1], **words)


def _distributions(flows: Sequence[Flows], points: int) -> dict[str, Any]:
    return {
        name: _distribution([of_design.of(name) for of_design in flows], points)
        for name in MEASURES
    }


def _flows(design: Design) -> Flows:
    found = Flows([], [], [], [], Counter(), Counter())
    for result in design.results.values():
        warmup = result.summary["warmup_ns"]
        # Some flows of kernels cannot complete, and do not count as unfinished.
        for kind, group in result.summary["fct"]["by_class"].items():
            found.unfinished[kind] += group["unfinished"]
            found.not_started[kind] += group["not_started"]
        columns = (result.flows.column(name) for name in ("bytes", "fct_ns", "slowdown", "class"))
        for start, bytes, fct, slowdown, kind in zip(result.starts(), *columns, strict=True):
            if start is not None and start >= warmup and fct is not None:
                found.bytes.append(bytes)
                found.fct.append(fct)
                found.slowdown.append(slowdown)
                found.kinds.append(kind)
    return found


def _bounds(sizes: Sequence[int]) -> list[int]:
    """Returns the upper bounds of the size classes in ascending order. The last one is the largest
    size."""
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
            if value is not None:
                classes[place].append(value)
        found[name] = {"mean": [_short(mean(values)) if values else None for values in classes]}
        for values in classes:
            values.sort()
        for percentile, (q, needed) in PERCENTILES.items():
            found[name][percentile] = [
                _short(quantile(values, q)) if len(values) >= needed else None for values in classes
            ]
    return found


def _distribution(samples: Sequence[Sequence[float]], points: int) -> dict[str, Any]:
    """Returns how many flows have at most x, for values of x that are evenly spaced on a
    logarithmic scale and the same for all samples."""
    everything = [value for sample in samples for value in sample] or [1.0]
    low, high = math.log(max(min(everything), 1e-9) * 0.98), math.log(max(*everything, 1e-9) * 1.02)
    high = max(high, low + 0.1)
    grid = [_short(math.exp(low + (high - low) * place / (points - 1))) for place in range(points)]
    ordered = [sorted(sample) for sample in samples]
    return {
        "x": grid,
        "below": [[bisect_right(sample, x) for x in grid] for sample in ordered],
        "flows": list(map(len, samples)),
    }


def _short(value: float) -> float:
    """Rounds to five significant digits, more than a chart shows."""
    return float(f"{value:.5g}")
