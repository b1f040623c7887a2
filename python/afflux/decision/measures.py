"""Computes the metrics of goals from a result."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..comparison import censored
from ..comparison.censored import STATISTICS, Value
from ..metrics import METRICS, Metric
from ..results.result import Result
from ..words import Words, known, say, text


@dataclass(frozen=True)
class Tenant:
    """A tenant of the fabric: its traffic classes, and the blocks that generate this traffic."""

    name: str
    #: Classes of its flows. A job's flows have subclasses, such as `hadoop.fetch`.
    classes: tuple[str, ...]
    #: Names of its traffic blocks, with the other tenants and alone. Jobs and queries are named
    #: after them.
    blocks: tuple[str, ...] = ()
    #: Key that a study multiplies to vary the tenant's load.
    load: str | None = None

    def has(self, flow_class: str) -> bool:
        return any(flow_class == name or flow_class.startswith(f"{name}.") for name in self.classes)


#: Kinds of jobs by kind of measure. Coflows count as queries, too: earlier files have no name for
#: them.
PHASES = {"query": ("coflow", "query"), "coflow": ("coflow",), "job_time": ("job",)}
_QUERY = Metric("query_ns", "query time", (), text.time)
_COFLOW = Metric("coflow_ns", "coflow time", (), text.time)
_JOB = Metric("job_ns", "job time", (), text.time)
#: The metric `goodput_flow_mean_bps` of a comparison is another one: the mean of the flows' rates.
_FLOW_GOODPUT = Metric(
    "flow_goodput_bps", "time-weighted goodput per flow", (), text.rate, lower_is_better=False
)
_JAIN = Metric("jain", "Jain's index", (), text.ratio, lower_is_better=False)


def _named() -> dict[str, Metric]:
    by_name = {metric.name: metric for metric in METRICS}
    found = {}
    for name in STATISTICS:
        for kind, suffix, show in (("fct", "_ns", text.time), ("slowdown", "", text.ratio)):
            full = f"{kind}_{name}{suffix}"
            least = 1.0 if kind == "slowdown" else 0.0
            found[f"{kind}_{name}"] = by_name.get(full) or Metric(
                full, f"{kind} {name}", (), show, least=least
            )
        for kind, metric in (("query", _QUERY), ("coflow", _COFLOW), ("job_time", _JOB)):
            found[f"{kind}_{name}"] = replace(
                metric, name=f"{kind}_{name}_ns", title=f"{metric.title} {name}"
            )
    return found | {"goodput": by_name["goodput_bps"], "flow_goodput": _FLOW_GOODPUT, "jain": _JAIN}


#: Metrics of goals by name.
MEASURES: Mapping[str, Metric] = _named()


def key_of(tenant: Tenant | None, measure: str) -> str:
    """Returns the key of a measure's values. That of all traffic has no name before the dot: a
    tenant may have any name."""
    return f"{tenant.name}.{measure}" if tenant else measure


def of_tenant(tenant: Tenant | None, measure: str, unfinished: bool = False) -> Metric:
    """Returns the metric for one tenant. `with_values` stores its values where it finds them.

    `unfinished`: some values include unfinished flows, queries or jobs. The title then says so,
    because the metric of the same name in a comparison covers the finished ones.
    """
    whole = MEASURES[measure]
    own: Words | str = next(
        (
            words
            for key in (f"metric.{whole.name}", f"what.{whole.name}")
            if (words := known(key)) == whole.title
        ),
        whole.title,
    )
    own = including(measure, own) if unfinished else own
    title = say("metric.of", name=tenant.name, metric=own) if tenant else own
    return replace(
        whole,
        name=f"tenant.{tenant.name}.{whole.name}" if tenant else f"traffic.{whole.name}",
        title=title,
        path=("tenants", tenant.name, measure) if tenant else ("traffic", measure),
        group=tenant.name if tenant else None,
        whole=whole,
    )


def including(measure: str, what: Words | str) -> Words:
    """Adds to the name of a measure that unfinished flows, queries or jobs are included."""
    return say(f"including.{_things(measure)}", what=what)


def _things(measure: str) -> str:
    kind = measure.rpartition("_")[0]
    return {"query": "queries", "coflow": "coflows", "job_time": "jobs"}.get(kind, "flows")


class NoValue(ValueError):
    """The run has no flow, job or query to measure."""


def value(result: Result, tenant: Tenant | None, measure: str) -> Value:
    """Returns the value of a metric for a tenant, or for all traffic. Raises `NoValue` if the run
    has no such value."""
    kind, _, statistic = measure.rpartition("_")
    found: Value | None
    if kind in ("fct", "slowdown"):
        found = _of_flows(result, tenant, kind, statistic)
    elif kind in PHASES:
        found = _of_jobs(result, tenant, kind, statistic)
    else:
        number = {"goodput": _goodput, "flow_goodput": _flow_goodput, "jain": _jain}[measure](
            result, tenant
        )
        found = None if number is None else Value(number)
    if found is None:
        who = f"tenant {tenant.name}" if tenant else "the traffic"
        raise NoValue(
            f"{result.summary['name']}, seed {result.summary['seed']}: {who} has no {measure}: none of its {_things(measure)} started after the warm-up"
        )
    return found


def _of_flows(result: Result, tenant: Tenant | None, kind: str, statistic: str) -> Value | None:
    group = _group(result, tenant, kind)
    if group and group["count"] and not group["unfinished"] and group["censored"] is False:
        key = f"{statistic}_ns" if kind == "fct" else statistic
        return Value(float(group[key]), count=group["count"])
    return censored.of_flows(
        result, kind, statistic, lambda flow: tenant is None or tenant.has(flow["class"])
    )


def _group(result: Result, tenant: Tenant | None, kind: str) -> Mapping[str, Any] | None:
    """Returns the statistics of the summary if they cover exactly the tenant's traffic, otherwise
    None."""
    groups = result.summary[kind]
    if tenant is None:
        return groups["all"]
    classes = [name for name in groups.get("by_class", {}) if tenant.has(name)]
    return groups["by_class"][classes[0]] if len(classes) == 1 else None


def _active(
    result: Result, tenant: Tenant | None, *, warm: bool
) -> Iterable[tuple[float, float, int]]:
    """Yields start and end (in ns) of the time in which each of the tenant's flows was active, and
    its delivered payload. With `warm`, the flows of the warm-up count, too.

    Only the goodput of a flow that ended early tells for how long it was active. Such a flow is
    left out if it delivered nothing. So are flows from a host to itself, as in the summary.
    """
    flows = censored.started if warm else censored.measured
    end = result.summary["simulated_ns"]
    columns = ("src", "dst", "finish_ns", "delivered_bytes", "goodput_bps")
    for flow in flows(result, *columns, of=tenant.has if tenant else lambda name: True):
        start, delivered = flow["start_ns"], flow["delivered_bytes"]
        if flow["src"] == flow["dst"]:
            continue
        if flow["status"] != "terminated":
            yield start, end if flow["finish_ns"] is None else flow["finish_ns"], delivered
        elif flow["goodput_bps"]:
            yield start, start + 8e9 * delivered / flow["goodput_bps"], delivered


def _of_jobs(result: Result, tenant: Tenant | None, kind: str, statistic: str) -> Value | None:
    """Returns a statistic of the completion times of application jobs, of queries or of coflows."""
    phases = PHASES[kind]
    return censored.of_jobs(
        result,
        statistic,
        lambda job, phase: (
            phase in phases
            and (tenant is None or any(censored.belongs(job, block) for block in tenant.blocks))
        ),
    )


def _goodput(result: Result, tenant: Tenant | None) -> float | None:
    """Returns payload delivered divided by the time in which at least one flow was active, in
    bit/s, over the whole run."""
    if tenant is None:
        return float(result.summary["goodput_bps"])
    groups = (result.summary.get("goodput") or {}).get("by_class", {})
    own = [name for name in groups if tenant.has(name)]
    if len(own) == 1:
        bps = groups[own[0]]["bps"]
        return None if bps is None else float(bps)
    spans = sorted(_active(result, tenant, warm=True))
    busy, last = 0.0, -math.inf
    for start, finish, _ in spans:
        busy += max(0.0, finish - max(start, last))
        last = max(last, finish)
    return 8e9 * sum(delivered for *_, delivered in spans) / busy if busy else None


def _flow_goodput(result: Result, tenant: Tenant | None) -> float | None:
    """Returns payload delivered divided by the sum of the times in which the flows were active, in
    bit/s: the goodput of a flow, weighted by time. Flows of the warm-up do not count."""
    flows = list(_active(result, tenant, warm=False))
    time = sum(finish - start for start, finish, _ in flows)
    return 8e9 * sum(delivered for *_, delivered in flows) / time if time else None


def several(classes: Sequence[str]) -> str:
    """Says why Jain's index has no value for flows of several classes."""
    return f"jain: flows of several classes ({', '.join(classes)}) need not be equal: write a tenant of one class"


def _jain(result: Result, tenant: Tenant | None) -> float | None:
    """Returns Jain's index of the goodput of the flows of one class."""
    groups = (result.summary.get("goodput") or {}).get("by_class", {})
    own = [name for name in groups if tenant is None or tenant.has(name)]
    if len(own) > 1:
        raise ValueError(several(own))
    return None if not own or groups[own[0]]["jain"] is None else float(groups[own[0]]["jain"])
