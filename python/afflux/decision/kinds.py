"""Refuses goals on jobs that a tenant's traffic does not have, before anything is simulated."""

from collections.abc import Mapping, Sequence
from typing import Any

from .measures import PHASES

#: Kind of the jobs of each kind of traffic; other traffic has only flows.
_KINDS = {
    "incast": "query",
    "partition_aggregate": "query",
    "all_to_all": "coflow",
    "ring_all_reduce": "coflow",
    "hadoop": "job",
    "hadoop_trace": "job",
}
#: Kind of the jobs that each kind of measure is named after, and the word for them.
_NAMES = {
    "query": ("query", "queries"),
    "coflow": ("coflow", "coflows"),
    "job_time": ("job", "jobs of applications"),
}


def without(measure: str, blocks: Sequence[Mapping[str, Any]], who: str) -> str | None:
    """Says that these blocks of traffic have no jobs for a measure, and which measure is right. None
    if they have some. `who` names the tenant."""
    kind, _, statistic = measure.rpartition("_")
    kinds = {_kind(block) for block in blocks}
    if kind not in _NAMES or kinds & {*PHASES[kind]}:
        return None
    others = [other for other, (job, _) in _NAMES.items() if job in kinds]
    has = " and ".join(_NAMES[other][1] for other in others) or "only flows"
    right = [f"{other}_{statistic}" for other in others] or [f"fct_{statistic}"]
    return (
        f"found {measure!r}, but {who} has {has}, no {_NAMES[kind][1]}: write {' or '.join(right)}"
    )


def _kind(block: Mapping[str, Any]) -> str | None:
    kind = block.get("kind")
    if kind == "flows":
        return "coflow" if block.get("format") == "coflow" else None
    return _KINDS.get(str(kind))
