"""Refuses goals that a tenant's traffic cannot have a value of, before anything is simulated."""

from collections.abc import Sequence

from .. import _core
from .measures import PHASES, Tenant, several

#: Kind of the jobs that each kind of measure is named after, and the word for them.
_NAMES = {
    "query": ("query", "queries"),
    "coflow": ("coflow", "coflows"),
    "job_time": ("job", "jobs of applications"),
}


def refusal(measure: str, blocks: Sequence[_core.Block], tenant: Tenant | None) -> str | None:
    """Says why a measure has no value for these blocks of traffic, which are the tenant's; without
    a tenant, all traffic. None if it has one."""
    return (
        _without(measure, blocks, tenant)
        or _elsewhere(measure, blocks, tenant)
        or _unequal(measure, blocks, tenant)
    )


def _without(measure: str, blocks: Sequence[_core.Block], tenant: Tenant | None) -> str | None:
    """Says that these blocks of traffic have no jobs for a measure, and which measure is right. None
    if they have some."""
    who = f"tenant {tenant.name}" if tenant else "the traffic"
    kind, _, statistic = measure.rpartition("_")
    kinds = {block.jobs for block in blocks}
    if kind not in _NAMES or kinds & {*PHASES[kind]}:
        return None
    others = [other for other, (job, _) in _NAMES.items() if job in kinds]
    has = " and ".join(_NAMES[other][1] for other in others) or "only flows"
    right = [f"{other}_{statistic}" for other in others] or [f"fct_{statistic}"]
    return (
        f"found {measure!r}, but {who} has {has}, no {_NAMES[kind][1]}: write {' or '.join(right)}"
    )


def _unequal(measure: str, blocks: Sequence[_core.Block], tenant: Tenant | None) -> str | None:
    """Says that the flows of these blocks are of several classes, for Jain's index. None if they
    are of one."""
    every = dict.fromkeys(name for block in blocks for name in block.classes)
    own = [name for name in every if tenant is None or tenant.has(name)]
    return several(own) if measure == "jain" and len(own) > 1 else None


def _elsewhere(measure: str, blocks: Sequence[_core.Block], tenant: Tenant | None) -> str | None:
    """Says that the flows of these blocks, which are the tenant's by their name, are of another
    class, for a measure of flows. None if the tenant has flows."""
    if tenant is None or measure.rpartition("_")[0] in _NAMES:
        return None
    every = [block.classes for block in blocks]
    if not all(every) or any(tenant.has(name) for names in every for name in names):
        return None
    classes = " and ".join(dict.fromkeys(name for names in every for name in names))
    return (
        f"found {measure!r}, but flows of tenant {tenant.name} are of class {classes}: "
        f'write class = "{tenant.name}" in its [[traffic]] block'
    )
