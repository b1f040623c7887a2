"""Says which percentiles the page shows. A percentile needs enough flows or jobs for at least one of
them to be beyond it."""

from typing import Any

from ..metrics import Metric
from ..results.designs import Design
from ..words import Words, say, text

#: Percentiles, and the number of values needed for at least one to be beyond.
PERCENTILES = {"p50": (0.5, 1), "p95": (0.95, 20), "p99": (0.99, 100), "p999": (0.999, 1000)}


def lacking(metric: Metric, design: Design) -> int | None:
    """Returns the number of flows or jobs that the metric needs in each run, if a run of the design
    has fewer. None if there are enough, and for metrics that are no percentiles."""
    name = metric.path[-1].removesuffix("_ns") if metric.path else ""
    _, needed = PERCENTILES.get(name, (0.0, 0))
    counts = [
        _count(metric, result.summary)
        for result in design.samples.values()
        if metric.of(result.summary) is not None
    ]
    return needed if any(count is not None and count < needed for count in counts) else None


def _count(metric: Metric, summary: dict[str, Any]) -> int | None:
    """Returns the number of values in the distribution of a metric; None if it is not known."""
    group: Any = summary
    for key in metric.path[:-1]:
        group = group.get(key) if group is not None else None
    return None if group is None else group.get("count", group.get("finished"))


def withheld(metric: Metric, design: Design) -> Words | None:
    """Returns the reason why a percentile of a design is not shown; None if it can be."""
    needed = lacking(metric, design)
    return say(f"percentile.needs.{_of(metric)}", count=text.count(needed)) if needed else None


def caveat(metric: Metric, design: Design) -> Words | None:
    """Returns the caveat on a percentile that is shown although a run has too few flows or jobs,
    because the answer is about it."""
    needed = lacking(metric, design)
    return say(f"percentile.few.{_of(metric)}", count=text.count(needed)) if needed else None


def _of(metric: Metric) -> str:
    return "jobs" if metric.path[0] == "jobs" else "flows"
