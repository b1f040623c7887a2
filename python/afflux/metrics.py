"""The numbers by which designs are judged, from a summary."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .words import say, text


@dataclass(frozen=True)
class Metric:
    """A number of `summary.json` by which designs are judged."""

    #: Name in JSON output.
    name: str
    #: Title in tables.
    title: str
    #: Keys of summary.json, from the outside in.
    path: tuple[str, ...]
    #: Writes a value with its unit, as tables show it.
    show: Callable[[float], str]
    #: Whether lower values are better; None if neither direction is.
    lower_is_better: bool | None = True
    #: A count of events; tables leave it out if it is zero everywhere.
    counter: bool = False

    def brief(self, value: float, count: int = 3) -> str:
        """The value for a sentence, with `count` digits."""
        if self.show is text.time:
            return text.time(value, count)
        if self.show is text.rate:
            return text.rate(value, count)
        if self.show is text.ratio or (self.show is _count and value != int(value)):
            return text.digits(value, count)
        return self.show(value)

    def of(self, summary: dict[str, Any]) -> float | None:
        """The value in a summary; None if the summary lacks it."""
        found: Any = summary
        for key in self.path:
            found = found.get(key) if found is not None else None
        return None if found is None else float(found)


def _count(value: float) -> str:
    return text.count(int(value)) if value == int(value) else text.digits(value)


def _distribution(name: str, title: str, path: tuple[str, ...], suffix: str, show: Callable[[float], str]) -> list[Metric]:
    statistics = {"mean": "mean", "p50": "p50", "p99": "p99", "p999": "p99.9"}
    return [Metric(f"{name}_{key}{suffix}", f"{title} {words}", (*path, key + suffix), show) for key, words in statistics.items()]


JOB_TIME = Metric("job_time_mean_ns", "job time", ("jobs", "mean_ns"), text.time)
SLOWDOWN_P99 = Metric("slowdown_p99", "slowdown p99", ("slowdown", "all", "p99"), text.ratio)
JOBS_UNFINISHED = Metric("jobs_unfinished", "jobs not finished", ("jobs", "unfinished"), _count, counter=True)
UNFINISHED = Metric("unfinished", "flows not finished", ("flows", "unfinished"), _count, counter=True)
COST = Metric("cost", "cost", ("cost", "total"), lambda value: f"{value:,.0f}", lower_is_better=None)

METRICS: tuple[Metric, ...] = (
    JOB_TIME,
    Metric("job_time_p99_ns", "job time p99", ("jobs", "p99_ns"), text.time),
    JOBS_UNFINISHED,
    *_distribution("fct", "FCT", ("fct", "all"), "_ns", text.time),
    *_distribution("slowdown", "slowdown", ("slowdown", "all"), "", text.ratio),
    Metric("goodput_bps", "goodput while busy", ("goodput_bps",), text.rate, lower_is_better=False),
    Metric("goodput_flow_mean_bps", "goodput per flow", ("goodput_flow_mean_bps",), text.rate, lower_is_better=False),
    UNFINISHED,
    Metric("drops", "queue drops", ("drops",), _count, counter=True),
    Metric("in_discards", "in discards", ("in_discards",), _count, counter=True),
    Metric("ecn_marks", "ECN marks", ("ecn_marks",), _count, lower_is_better=None, counter=True),
    Metric("pause_frames", "pause frames", ("pause_frames",), _count, counter=True),
    Metric("retransmits", "retransmissions", ("retransmits",), _count, counter=True),
    Metric("timeouts", "time-outs", ("timeouts",), _count, counter=True),
    COST,
)
assert SLOWDOWN_P99 in METRICS


def of_classes(summaries: Iterable[dict[str, Any]]) -> list[Metric]:
    """Goodput of each class of traffic if there are several classes, and Jain's index of each class with several flows; nothing of unnamed traffic."""
    found: dict[str, list[dict[str, Any]]] = {}
    for summary in summaries:
        for name, group in (summary.get("goodput") or {}).get("by_class", {}).items():
            found.setdefault(name, []).append(group)
    made: list[Metric] = []
    for name, groups in found.items() if list(found) != ["default"] else ():
        path = ("goodput", "by_class", name)
        if len(found) > 1 and any(group["bps"] is not None for group in groups):
            made.append(Metric(f"{'.'.join(path)}.bps", say("metric.class_goodput", name=name), (*path, "bps"), text.rate, lower_is_better=False))
        if any(group["flows"] > 1 and group["jain"] is not None for group in groups):
            made.append(Metric(f"{'.'.join(path)}.jain", say("metric.class_jain", name=name), (*path, "jain"), text.ratio, lower_is_better=False))
    return made


_MAIN: tuple[str, ...] = ("job_time_mean_ns", "jobs_unfinished", "fct_mean_ns", "fct_p50_ns", "fct_p99_ns", "slowdown_mean", "slowdown_p50", "slowdown_p99")
_MAIN += ("goodput_bps", "unfinished")
#: Metrics of an answer, the most important first. Counters of drops, time-outs and pauses are causes.
MAIN = tuple(next(metric for metric in METRICS if metric.name == name) for name in _MAIN)

#: Metrics that fit into a line of a table.
SHORT = tuple(
    m for m in METRICS if m.name in ("job_time_mean_ns", "fct_mean_ns", "slowdown_p99", "goodput_bps", "drops", "ecn_marks", "pause_frames", "timeouts")
)
