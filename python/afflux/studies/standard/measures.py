"""The number by which each tenant judges a fabric, from a result."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...metrics import JOB_TIME, Metric
from ...results.result import Result
from ...results.statistics import mean, quantile
from ...words import text

if TYPE_CHECKING:
    from .goals import Tenant

#: By their names in the goals.
MEASURES: Mapping[str, Metric] = {
    "job_time": JOB_TIME,
    "query_p99": Metric("query_p99_ns", "query p99", (), text.time),
    "flow_p99": Metric("flow_p99_ns", "p99", (), text.time),
    "goodput": Metric("copy_goodput_bps", "goodput", (), text.rate, lower_is_better=False),
}


def value(result: Result, tenant: "Tenant") -> float:
    """Raises `ValueError` if the run has no such number, or if it is that of a part of the tenant's traffic only."""
    found = _OF[tenant.measure](result, tenant.name)
    if found is None:
        where = f"{result.summary['name']}, seed {result.summary['seed']}"
        raise ValueError(f"{where}: tenant {tenant.name} has no {tenant.measure}, as none of its traffic, or only a part of it, finished: remove run.until")
    return found


def _job_time(result: Result, name: str) -> float | None:
    """Mean completion time of the jobs of the block, in ns."""
    jobs = result.summary["jobs"] or {"each": []}
    times = [job["completion_ns"] for job in jobs["each"] if _belongs(job["name"], name)]
    return mean(times) if times and None not in times else None


def _query_p99(result: Result, name: str) -> float | None:
    """p99 over queries of the time from the first request to the last byte of the last answer, in ns."""
    jobs = result.jobs
    rows = zip(*(jobs.column(column) for column in ("job", "phase", "start_ns", "finish_ns")), strict=True)
    own = [(start, finish) for job, phase, start, finish in rows if phase == "query" and start is not None and _belongs(job, name)]
    times = [None if finish is None else finish - start for start, finish in own]
    known = sorted(time for time in times if time is not None)
    return quantile(known, 0.99) if known and len(known) == len(times) else None


def _belongs(job: str, block: str) -> bool:
    """Jobs are named after their block, with a dot and a name of their own if there are several."""
    return re.fullmatch(re.escape(block) + r"(\..+)?", job) is not None


def _flow_p99(result: Result, name: str) -> float | None:
    """p99 completion time of the class, in ns."""
    found = result.summary["fct"].get("by_class", {}).get(name)
    return float(found["p99_ns"]) if found and found["count"] and not found["unfinished"] else None


def _goodput(result: Result, name: str) -> float | None:
    """Payload of the class by the time its flows took, in bit/s: the goodput of a flow, weighted by time."""
    flows = result.flows
    rows = [(size, fct) for own, size, fct in zip(*(flows.column(column) for column in ("class", "bytes", "fct_ns")), strict=True) if own == name]
    if not rows or any(fct is None for _, fct in rows):
        return None
    return 8e9 * sum(size for size, _ in rows) / sum(fct for _, fct in rows)


_OF: Mapping[str, Callable[[Result, str], float | None]] = {
    "job_time": _job_time,
    "query_p99": _query_p99,
    "flow_p99": _flow_p99,
    "goodput": _goodput,
}
