"""Says which percentiles are judged and shown. A percentile needs enough flows or jobs for at least
one of them to be beyond it. With fewer it is close to the largest value, which says something
else."""

from typing import Any

from ..metrics import Metric
from ..words import Words, said, say, text
from .designs import Design

#: Percentiles, and the number of values needed for at least one to be beyond.
PERCENTILES = {"p50": (0.5, 1), "p95": (0.95, 20), "p99": (0.99, 100), "p999": (0.999, 1000)}


def needed(metric: Metric) -> int:
    """Returns the number of flows or jobs that the metric needs in each run; 0 for metrics that are
    no percentiles."""
    last = metric.path[-1].removesuffix("_ns") if metric.path else ""
    # A measure of a tenant has its kind in its name: `fct_p99`.
    return PERCENTILES.get(last.rpartition("_")[2], (0.0, 0))[1]


def lacking(metric: Metric, *designs: Design, unfinished: bool = False) -> int | None:
    """Returns the number of flows or jobs that the metric needs in each run, if a run of one of the
    designs has fewer. None if there are enough, and for metrics that are no percentiles.

    Flows and jobs that did not finish count only with `unfinished`, because the percentiles of a
    summary are those of the finished ones.
    """
    least = needed(metric)
    counts = [
        _count(metric, result.summary, unfinished)
        for design in designs
        for result in design.samples.values()
        if metric.of(result.summary) is not None
    ]
    return least if any(count is not None and count < least for count in counts) else None


def _count(metric: Metric, summary: dict[str, Any], unfinished: bool) -> int | None:
    """Returns the number of values in the distribution of a metric; None if it is not known."""
    group: Any = summary
    for key in metric.path[:-1]:
        group = group.get(key) if group is not None else None
    if group is None:
        return None
    # Measures of a tenant share a group, and each has its own number of values.
    own = group.get("counts", {}).get(metric.path[-1])
    count: int | None = group.get("count", group.get("finished")) if own is None else own
    return count if count is None or not unfinished else count + group.get("unfinished", 0)


def withheld(metric: Metric, design: Design) -> Words | None:
    """Returns the reason why a percentile of a design is not shown; None if it can be."""
    least = lacking(metric, design)
    return say(f"percentile.needs.{things(metric)}", count=text.count(least)) if least else None


def caveat(metric: Metric, design: Design) -> Words | None:
    """Returns the caveat on a percentile that is shown although a run has too few flows or jobs,
    because the answer is about it."""
    least = lacking(metric, design)
    return say(f"percentile.few.{things(metric)}", count=text.count(least)) if least else None


def remark(metric: Metric, *designs: Design, unfinished: bool = False) -> Words | None:
    """Returns what is to be said about a percentile that is used although a run has too few flows
    or jobs; None if there are enough. `unfinished` is that of `lacking`."""
    least = lacking(metric, *designs, unfinished=unfinished)
    if not least:
        return None
    return say(
        f"compare.note.few-values.{things(metric)}",
        what=said(f"metric.{metric.name}", metric.title),
        count=text.count(least),
    )


def things(metric: Metric) -> str:
    """Returns what the metric is a percentile of: `flows` or `jobs`."""
    of_jobs = metric.path[0] == "jobs" or metric.path[-1].startswith(
        ("job_time_", "query_", "coflow_")
    )
    return "jobs" if of_jobs else "flows"
