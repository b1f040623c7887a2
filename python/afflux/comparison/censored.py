"""Computes statistics of completion times in which unfinished flows and jobs count.

A flow that did not finish counts with the time from its start to the end of the run. Its true
completion time is longer, so a statistic that depends on it is a lower bound. Statistics of the
finished flows alone would be the better, the more slow flows the end of the run cut off. A quantile
among the finished flows lies between two bounds: those with unfinished flows that take no longer,
and those with unfinished flows that take longer than all others.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..metrics import Metric
from ..results.result import Result
from ..results.statistics import mean, quantile


@dataclass(frozen=True)
class Value:
    """A measured number. It is not exact if flows were cut off by the end of the run: a time is
    then a lower bound. An exact time with `low` is an upper bound."""

    number: float
    exact: bool = True
    #: Lower bound of a quantile among the finished flows, if flows that were cut off may change it.
    low: float | None = field(default=None, kw_only=True)
    #: Number of unfinished flows or jobs among those that were measured.
    unfinished: int = 0
    #: Number of flows or jobs that were measured, unfinished ones included; None if it is not known.
    count: int | None = field(default=None, compare=False)


#: Statistics of distributions: name, and quantile (None for the mean).
STATISTICS = {"mean": None, "p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
#: Phases of the table of jobs that stand for whole jobs.
JOBS = ("coflow", "query", "job")


def statistic(done: Sequence[float], cut: Sequence[float], name: str) -> Value | None:
    """Returns the statistic of finished and cut-off times. A quantile among the finished times takes
    every cut-off one for longer than those, so it may be slightly too high: it has a lower bound
    besides. It counts as exact."""
    if not done and not cut:
        return None
    q, count = STATISTICS[name], len(done) + len(cut)
    if q is None:
        return Value(mean([*done, *cut]), not cut, len(cut), count)
    ordered = sorted(done)
    low = quantile(sorted([*done, *cut]), q)
    if math.ceil(q * (count - 1)) < len(done):
        high = quantile([*ordered, *([ordered[-1]] * len(cut))], q)
        return Value(high, True, len(cut), count, low=low if low < high else None)
    return Value(low, False, len(cut), count)


def of_flows(
    result: Result, kind: str, name: str, counts: Callable[[Mapping[str, Any]], bool]
) -> Value | None:
    """Returns a statistic of `fct` or `slowdown` over the flows that count, of those that started
    after the warm-up. Flows that were given up (status `terminated`) are left out."""
    done, cut = [], []
    for flow in measured(result, "fct_ns", "slowdown", "ideal_ns", "bytes"):
        # A flow of a kernel has no slowdown.
        if not counts(flow) or (kind == "slowdown" and flow["ideal_ns"] is None):
            continue
        elapsed = result.summary["simulated_ns"] - flow["start_ns"]
        if flow["fct_ns"] is not None:
            done.append(float(flow["fct_ns"] if kind == "fct" else flow["slowdown"]))
        elif flow["status"] != "terminated":
            cut.append(float(elapsed if kind == "fct" else elapsed / max(flow["ideal_ns"], 1)))
    return statistic(done, cut, name)


def started(
    result: Result, *columns: str, of: Callable[[str], bool] = lambda name: True
) -> Iterable[dict[str, Any]]:
    """Yields the flows of the classes `of` that started before the end of the run."""
    names = ("class", "status", *columns)
    some = [result.flows.column(name) for name in names]
    counts = {name: of(name) for name in set(some[0])}
    for start, *row in zip(result.starts(), *some, strict=True):
        if start is not None and counts[row[0]]:
            yield {"start_ns": start, **dict(zip(names, row, strict=True))}


def measured(
    result: Result, *columns: str, of: Callable[[str], bool] = lambda name: True
) -> Iterable[dict[str, Any]]:
    """Yields the flows of the classes `of` that started after the warm-up."""
    warm = result.summary.get("warmup_ns") or 0
    return (flow for flow in started(result, *columns, of=of) if flow["start_ns"] >= warm)


def of_jobs(result: Result, name: str, counts: Callable[[str, str], bool]) -> Value | None:
    """Returns a statistic of the completion times of the jobs that count by their name and phase, of
    those that started after the warm-up. A query lasts from its first request to the last byte of
    its last answer."""
    warm, end = result.summary.get("warmup_ns") or 0, result.summary["simulated_ns"]
    done, cut = [], []
    for job, phase, start, finish in jobs(result):
        # A job whose arrival lies beyond the end of the run has not started.
        if start is not None and warm <= start <= end and counts(job, phase):
            if finish is None:
                cut.append(float(end - start))
            else:
                done.append(float(finish - start))
    return statistic(done, cut, name)


def jobs(result: Result) -> Iterable[tuple[str, str, int | None, int | None]]:
    """Yields name, phase (one of `JOBS`), start and finish of each job. Start and finish are None if
    they have not happened."""
    table = result.jobs
    rows = zip(
        *(table.column(name) for name in ("job", "phase", "start_ns", "finish_ns")), strict=True
    )
    return (row for row in rows if row[1] in JOBS)


def belongs(job: str, block: str) -> bool:
    """True if the job belongs to the block. Jobs are named after their block; if there are several,
    a dot and a name follow."""
    return re.fullmatch(re.escape(block) + r"(\..+)?", job) is not None


def value(metric: Metric, result: Result) -> Value | None:
    """Returns the value of a metric of summary.json. If it is a statistic of finished flows or jobs
    while others did not finish, these are included. None if the result has no such value."""
    number = metric.of(result.summary)
    if not metric.censored(result.summary):
        return None if number is None else Value(number)
    kind, *group, last = metric.path
    name = last.removesuffix("_ns")
    table = "jobs" if kind == "jobs" else "flows"
    if name not in STATISTICS or table not in result.recorded:
        return None if number is None else Value(number, exact=name not in STATISTICS)
    if kind == "jobs":
        return of_jobs(result, name, _jobs_of(group))
    return of_flows(result, kind, name, _flows_of(group, result.summary))


def _flows_of(
    group: Sequence[str], summary: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], bool]:
    match group:
        case ["by_class", of_class]:
            return lambda flow: flow["class"] == of_class
        case ["by_size", size]:
            # Classes are in ascending order, with a bound between any two.
            bounds = (-1, *summary["size_bounds"], math.inf)
            place = list(summary["fct"]["by_size"]).index(size)
            low, high = bounds[place : place + 2]
            return lambda flow: low < flow["bytes"] <= high
    return lambda flow: True


def _jobs_of(group: Sequence[str]) -> Callable[[str, str], bool]:
    match group:
        case ["by_kind", kind]:
            return lambda job, phase: phase == kind
        case ["by_block", block]:
            return lambda job, phase: belongs(job, block)
    return lambda job, phase: True
