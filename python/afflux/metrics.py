"""Metrics that compare designs, read from summary.json."""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .files.keys import split_key
from .spelling import unknown
from .words import known, say, text


@dataclass(frozen=True)
class Metric:
    """A number of `summary.json` that compares designs."""

    #: Name in JSON output.
    name: str
    #: Title in tables.
    title: str
    #: Keys of summary.json, from the outside in.
    path: tuple[str, ...]
    #: Formats a value with its unit for tables.
    show: Callable[[float], str]
    #: True if lower values are better, False if higher ones are; None if neither direction is
    #: better.
    lower_is_better: bool | None = True
    #: A count of events; tables leave it out if it is zero everywhere.
    counter: bool = False
    #: Traffic class or block of jobs that the number belongs to; None if it covers all flows or
    #: jobs.
    group: str | None = None
    #: For a metric of a group: the corresponding metric of all flows or jobs.
    whole: "Metric | None" = None
    #: Keys of a second number of summary.json that is added to the first; empty for none. A summary
    #: that lacks it counts as 0.
    plus: tuple[str, ...] = ()
    #: Smallest possible value, which cuts intervals: 1 for slowdowns.
    least: float = 0.0
    #: Largest possible value, which cuts intervals: 1 for shares.
    most: float = math.inf

    @property
    def begins_with_name(self) -> bool:
        """True if the title begins with the name of a traffic class or of a block of jobs, which
        must not be capitalized."""
        return self.group is not None and self.title.startswith(f"{self.group}:")

    @property
    def after_warmup(self) -> bool:
        """True if the value covers only the flows or jobs that start after the warm-up."""
        return self.path[:1] in _AFTER_WARMUP or self.path[-1:] == ("jain",)

    @property
    def main(self) -> bool:
        """True if the metric can be part of an answer. Counters of drops, time-outs and pauses only
        explain answers."""
        return self in MAIN or self.whole in _MAIN_OF_CLASSES

    @property
    def rank(self) -> int:
        """Returns the metric's place in an answer, most important first: main metrics of all flows,
        then those of groups."""
        own = MAIN.index(self.whole or self) if (self.whole or self) in MAIN else len(MAIN)
        return own + len(MAIN) * (self.group is not None)

    def brief(self, value: float, count: int = 3) -> str:
        """Formats the value with `count` digits for a sentence."""
        if self.show is text.time:
            return text.time(value, count)
        if self.show is text.rate:
            return text.rate(value, count)
        if self.show is text.ratio or (self.show is _count and value != int(value)):
            return text.digits(value, count)
        return self.show(value)

    def of(self, summary: dict[str, Any]) -> float | None:
        """Returns the value from a summary; None if the summary lacks it."""
        found = _at(summary, self.path)
        # A path that a user writes may end at a table or a text.
        if found is None or isinstance(found, dict | list | str):
            return None
        return float(found) + float((_at(summary, self.plus) if self.plus else None) or 0)

    def censored(self, summary: dict[str, Any]) -> bool:
        """True if the value covers only finished flows or jobs while others did not finish. The true
        value is then higher."""
        group = _at(summary, self.path[:-1])
        return isinstance(group, dict) and group.get("censored") is True


def _at(summary: dict[str, Any], path: Iterable[str]) -> Any:
    found: Any = summary
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _count(value: float) -> str:
    return text.count(int(value)) if value == int(value) else text.digits(value)


def _price(value: float) -> str:
    """Formats a price: without decimals if it is whole, otherwise with two, or with three digits if
    it is below 1."""
    if abs(value) < 1 and value:
        return text.digits(value, 3)
    return f"{value:,.0f}" if abs(value - round(value)) < 0.005 else f"{value:,.2f}"


def _distribution(
    name: str,
    title: str,
    path: tuple[str, ...],
    suffix: str,
    show: Callable[[float], str],
    least: float = 0.0,
) -> list[Metric]:
    statistics = {"mean": "mean", "p50": "p50", "p99": "p99", "p999": "p99.9"}
    return [
        Metric(
            f"{name}_{key}{suffix}", f"{title} {words}", (*path, key + suffix), show, least=least
        )
        for key, words in statistics.items()
    ]


JOB_TIME = Metric("job_time_mean_ns", "job time", ("jobs", "mean_ns"), text.time)
SLOWDOWN_P99 = Metric(
    "slowdown_p99", "slowdown p99", ("slowdown", "all", "p99"), text.ratio, least=1.0
)
#: Jobs and flows that never started did not finish either. If they were not counted, a design that
#: stalls early would leave the fewest.
JOBS_UNFINISHED = Metric(
    "jobs_unfinished",
    "jobs not finished",
    ("jobs", "unfinished"),
    _count,
    counter=True,
    plus=("jobs", "not_started"),
)
UNFINISHED = Metric(
    "unfinished",
    "flows not finished",
    ("flows", "unfinished"),
    _count,
    counter=True,
    plus=("flows", "not_started"),
)
COST = Metric("cost", "cost", ("cost", "total"), _price, lower_is_better=None)

METRICS: tuple[Metric, ...] = (
    JOB_TIME,
    Metric("job_time_p99_ns", "job time p99", ("jobs", "p99_ns"), text.time),
    JOBS_UNFINISHED,
    *_distribution("fct", "FCT", ("fct", "all"), "_ns", text.time),
    *_distribution("slowdown", "slowdown", ("slowdown", "all"), "", text.ratio, least=1.0),
    Metric("goodput_bps", "goodput while busy", ("goodput_bps",), text.rate, lower_is_better=False),
    Metric(
        "goodput_flow_mean_bps",
        "goodput per flow",
        ("goodput_flow_mean_bps",),
        text.rate,
        lower_is_better=False,
    ),
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


#: Jain's index of one class. There is no such metric for all flows, because only flows of one class
#: should have equal goodput.
JAIN = Metric(
    "jain", "Jain's index", ("goodput", "jain"), text.ratio, lower_is_better=False, most=1.0
)
_BY_NAME = {metric.name: metric for metric in METRICS}
#: Metrics of a class by the last part of their names, with the path to their values; `{}` stands
#: for the class.
_OF_CLASS: dict[str, tuple[Metric, tuple[str, ...]]] = {
    **{
        name: (_BY_NAME[name], (_BY_NAME[name].path[0], "by_class", "{}", _BY_NAME[name].path[-1]))
        for name in _BY_NAME
        if name.startswith(("fct_", "slowdown_"))
    },
    "goodput_bps": (_BY_NAME["goodput_bps"], ("goodput", "by_class", "{}", "bps")),
    "jain": (JAIN, ("goodput", "by_class", "{}", "jain")),
    "unfinished": (UNFINISHED, ("fct", "by_class", "{}", "unfinished")),
}
#: Metrics of a class that tables show. The other ones of `_OF_CLASS` are available by name.
_SHOWN = ("fct_mean_ns", "fct_p99_ns", "goodput_bps", "jain", "unfinished")
#: Kinds of jobs, and statistics of their completion times.
_JOBS = ("job", "query", "coflow")
_TIMES = ("mean_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns")


def of_class(name: str, measure: str) -> Metric:
    """Returns a metric of a traffic class: `class.web.fct_p99_ns`. Raises `KeyError` if classes
    have no such metric."""
    whole, path = _OF_CLASS[measure]
    shown = say("metric.of", name=name, metric=known(f"metric.{whole.name}") or whole.title)
    return Metric(
        f"class.{name}.{measure}",
        shown,
        tuple(part.format(name) for part in path),
        whole.show,
        whole.lower_is_better,
        whole.counter,
        group=name,
        whole=whole,
        plus=(*(part.format(name) for part in path[:-1]), "not_started") if whole.plus else (),
        least=whole.least,
        most=whole.most,
    )


def of_jobs(kind: str, block: str | None, statistic: str) -> Metric:
    """Returns a statistic of the completion time of jobs or queries, of all (`query.p99_ns`) or of
    one block of traffic (`query.search.p99_ns`)."""
    path = (
        ("jobs", "by_kind", kind, statistic)
        if block is None
        else ("jobs", "by_block", block, statistic)
    )
    name = kind if block is None else f"{kind}.{block}"
    title = say(f"metric.time.{kind}", statistic=_statistic(statistic))
    return Metric(
        f"{name}.{statistic}",
        title if block is None else say("metric.of", name=block, metric=title),
        path,
        text.time,
        group=block,
    )


def _statistic(name: str) -> str:
    return {"mean_ns": "mean", "p999_ns": "p99.9"}.get(name, name.removesuffix("_ns"))


def of_classes(
    summaries: Iterable[dict[str, Any]], tenants: Collection[str] | None = None
) -> list[Metric]:
    """Returns the metrics that tables show for each traffic class. With a single class this is only
    Jain's index; unnamed traffic has none.

    Only metrics of `tenants` (default: all classes) can be part of an answer. The classes of an
    application's phases are not tenants.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    flows: dict[str, int] = {}
    every = list(summaries)
    for summary in every:
        for name, group in ((summary.get("goodput") or {}).get("by_class") or {}).items():
            found.setdefault(name, []).append(group)
            flows[name] = max(flows.get(name, 0), group["flows"])
    named = [name for name in found if flows[name]]
    if named in ([], ["default"]):
        return []
    measures = _SHOWN if len(named) > 1 else ("jain",)
    made = [
        of_class(name, measure)
        for name in named
        for measure in measures
        if measure != "jain" or flows[name] > 1
    ]
    known = [metric for metric in made if any(metric.of(summary) is not None for summary in every)]
    return [
        metric if tenants is None or metric.group in tenants else replace(metric, whole=None)
        for metric in known
    ]


def of_blocks(summaries: Iterable[dict[str, Any]]) -> list[Metric]:
    """Returns mean and p99 of the completion times of each block's jobs or queries, if several
    blocks have some."""
    every = [summary["jobs"] for summary in summaries if summary["jobs"]]
    blocks = dict.fromkeys(
        name
        for jobs in every
        for name, block in (jobs.get("by_block") or {}).items()
        if block["finished"]
    )
    kinds = {kind for jobs in every for kind in jobs.get("by_kind") or {}}
    # If all jobs are queries, the metrics are named after queries.
    kind = kinds.pop() if len(kinds) == 1 else "job"
    return (
        [of_jobs(kind, name, statistic) for name in blocks for statistic in ("mean_ns", "p99_ns")]
        if len(blocks) > 1
        else []
    )


#: Short names of metrics.
ALIASES = {
    "job_time": "job_time_mean_ns",
    "fct": "fct_mean_ns",
    "fct_p99": "fct_p99_ns",
    "p99_slowdown": "slowdown_p99",
    "throughput": "goodput_bps",
    "goodput": "goodput_bps",
}
#: Keys of summary.json below which a path may find a metric.
_GROUPS = {"flows", "fct", "slowdown", "queueing", "deadlines", "jobs", "drops_by_reason"}
_GROUPS |= {"balance", "goodput", "cost", "conservation"}
#: First keys of summary.json below which flows and jobs of the warm-up do not count.
_AFTER_WARMUP = {("fct",), ("slowdown",), ("queueing",), ("deadlines",), ("jobs",)}
_AFTER_WARMUP |= {("goodput_flow_mean_bps",)}
#: Units at the end of names, which may be missing.
_UNITS = ("", "_ns", "_bps")
_RATIOS = ("mean", "p50", "p95", "p99", "p999")
#: Last parts of paths into summary.json of which higher values are better, and lower ones.
_MORE = {"bps", "jain", "started", "finished", "met", "met_share", "delivered"}
_LESS = {"unfinished", "not_started", "missed", "missed_share", "terminated", "dropped"}
_LESS |= {"packets_reordered"}
#: Last parts of paths to values that are at most 1.
_SHARES = {"met_share", "missed_share", "jain"}


def names() -> list[str]:
    """Returns the short names, then the names of the metrics. Those of classes, of kinds of jobs and
    of paths into summary.json come in addition."""
    return [*ALIASES, *_BY_NAME]


def named(words: str) -> Metric:
    """Finds a metric by its name in JSON output or its short name. The unit at the end may be
    missing: `fct_p99`, `p99_slowdown`, `class.web.fct_p99`, `class.web.jain`, `query.p99`,
    `job.sort.mean`. The name of a class or a block may stand in double quotes:
    `class."web.v2".fct_p99`. Paths into summary.json are names, too: `fct.by_size.le_100KB.p99_ns`,
    `slowdown.by_class."web.v2".p99`. Raises `LookupError`."""
    kind, _, rest = words.partition(".")
    if kind == "class":
        group, _, measure = rest.rpartition(".")
        group = _unquoted(group)
        full = _full(ALIASES.get(measure, measure), _OF_CLASS)
        if group and full:
            return of_class(group, full)
        raise LookupError(
            f"metric {words}: write class.NAME.MEASURE with one of {', '.join(_OF_CLASS)}"
        )
    if kind in _JOBS and rest:
        block, _, statistic = rest.rpartition(".")
        if full := _full(statistic, _TIMES):
            return of_jobs(kind, _unquoted(block) or None, full)
        raise LookupError(
            f"metric {words}: write {kind}.STATISTIC or {kind}.BLOCK.STATISTIC with one of {', '.join(_TIMES)}"
        )
    if kind in _GROUPS and rest:
        return _of_path(words)
    full = _full(ALIASES.get(words, words), _BY_NAME)
    if full is None:
        raise LookupError(
            f"{unknown('metric', words, names())}; further ones are class.NAME.fct_p99, query.p99, "
            "job.BLOCK.mean, and paths into summary.json such as slowdown.by_class.NAME.p99"
        )
    return _BY_NAME[full]


def _unquoted(name: str) -> str:
    """Returns the name of a class or a block without the quotes in which names with dots may stand,
    as they do in paths."""
    quoted = len(name) > 2 and name.startswith('"') and name.endswith('"')
    return name[1:-1] if quoted else name


def _full(name: str, known: Collection[str]) -> str | None:
    """Returns the known name that is this one or this one with a unit; None if there is none."""
    return next((f"{name}{unit}" for unit in _UNITS if f"{name}{unit}" in known), None)


def _of_path(words: str) -> Metric:
    """Returns the metric at a path into summary.json. Names with dots stand in double quotes."""
    try:
        path = tuple(split_key(words))
    except ValueError as error:
        raise LookupError(f"metric {error}") from None
    rate = words.endswith(("_bps", ".bps"))
    show = text.time if words.endswith("_ns") else text.rate if rate else text.ratio
    title = " ".join(part for part in path if part not in ("all", "by_class", "by_size"))
    for unit in ("_ns", "_bps", " bps"):
        title = title.removesuffix(unit)
    return Metric(
        words,
        title,
        path,
        show,
        _lower_is_better(path),
        least=1.0 if path[0] == "slowdown" and path[-1] in _RATIOS else 0.0,
        most=1.0 if path[-1] in _SHARES else math.inf,
    )


def _lower_is_better(path: tuple[str, ...]) -> bool | None:
    """Returns whether lower or higher values at a path into summary.json are better; None if
    neither direction is known to be better."""
    group, last = path[0], path[-1]
    if last in _MORE:
        return False
    # Times of flows alone are properties of the fabric.
    time = last.endswith("_ns") and not last.startswith("ideal_")
    ratio = last in _RATIOS and (group == "slowdown" or path[:2] == ("balance", "imbalance"))
    return True if time or ratio or group == "drops_by_reason" or last in _LESS else None


_MAIN: tuple[str, ...] = (
    "job_time_mean_ns",
    "jobs_unfinished",
    "fct_mean_ns",
    "fct_p50_ns",
    "fct_p99_ns",
    "slowdown_mean",
    "slowdown_p50",
    "slowdown_p99",
)
_MAIN += ("goodput_bps", "unfinished")
#: Metrics of an answer, the most important first.
MAIN = tuple(_BY_NAME[name] for name in _MAIN)
#: Main metrics that are also judged per traffic class, if there are several classes.
_MAIN_OF_CLASSES = (_BY_NAME["fct_mean_ns"], _BY_NAME["fct_p99_ns"], _BY_NAME["goodput_bps"])

#: Metrics that fit into one line of a table.
SHORT = tuple(
    m
    for m in METRICS
    if m.name
    in (
        "job_time_mean_ns",
        "fct_mean_ns",
        "slowdown_p99",
        "goodput_bps",
        "drops",
        "ecn_marks",
        "pause_frames",
        "timeouts",
    )
)
