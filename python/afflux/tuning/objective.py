"""Objectives of a search: numbers of the summary to minimize or maximize."""

from collections.abc import Sequence
from dataclasses import replace

from ..metrics import METRICS, Metric, named
from ..spelling import unknown
from ..words import text

#: Short names of objectives.
ALIASES = {
    "job_time": "job_time_mean_ns",
    "fct": "fct_mean_ns",
    "fct_p99": "fct_p99_ns",
    "p99_slowdown": "slowdown_p99",
    "throughput": "goodput_bps",
    "goodput": "goodput_bps",
}


def names() -> list[str]:
    """Returns the short names, then the names of the metrics."""
    return [*ALIASES, *(metric.name for metric in METRICS)]


def objective(words: str) -> Metric:
    """Parses an objective: the name of a metric as `afflux compare --metric` reads it (`fct_mean`,
    `class.web.fct_p99`), a short name, or a path into summary.json such as `fct.by_size.le_100KB.p99_ns`. `:min` or `:max` may follow.
    Raises `ValueError`."""
    name, _, direction = words.partition(":")
    if direction not in ("", "min", "max"):
        raise ValueError(
            f"--objective {words}: write the metric alone, or with :min or :max after it"
        )
    found = None
    try:
        found = named(ALIASES.get(name, name))
    except LookupError as error:
        if name.partition(".")[0] in ("class", "job", "query", "coflow"):
            raise ValueError(f"--objective: {error}") from None
    if found is None and "." in name:
        path = tuple(name.split("."))
        show = (
            text.time
            if name.endswith("_ns")
            else text.rate
            if name.endswith(("_bps", ".bps"))
            else text.ratio
        )
        title = (
            " ".join(part for part in path if part not in ("all", "by_class", "by_size"))
            .removesuffix("_ns")
            .removesuffix("_bps")
            .removesuffix(" bps")
        )
        found = Metric(name, title, path, show, lower_is_better=path[0] != "goodput")
    if found is None:
        raise ValueError(
            f"--objective: {unknown('metric', name, names())}, and paths into summary.json as slowdown.by_class.query.p99"
        )
    lower = direction == "min" if direction else found.lower_is_better is not False
    return found if lower == found.lower_is_better else replace(found, lower_is_better=lower)


def objectives(every: Sequence[str]) -> tuple[Metric, ...]:
    """Parses several objectives. Raises `ValueError`."""
    found = tuple(map(objective, every))
    if not found:
        raise ValueError(
            "--objective is missing: name one metric or several, as in --objective job_time"
        )
    if len({metric.name for metric in found}) < len(found):
        raise ValueError("--objective: a metric is named twice")
    return found
