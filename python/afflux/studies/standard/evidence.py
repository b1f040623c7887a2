"""All that the answer is made of, taken from the results."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...results import split
from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.waits import NOBODY, behind
from ...results.waits import OWN as SAME_FLOW
from .choice import Choice, Judged, Values
from .goals import Condition, Goals, Tenant
from .mixtures import Change, Mixtures, alone_name


@dataclass(frozen=True)
class Cost:
    """Prices and power by design; `choice.OWN` stands for the tenants' own fabrics together."""

    prices: Mapping[str, float] = field(default_factory=dict)
    currency: str | None = None
    watts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    goals: Goals
    values: Values
    judged: Judged
    #: Each tenant alone on each shared design.
    alone: Values
    cost: Cost
    changed: tuple[tuple[Change, Judged], ...] = ()
    conditions: tuple[tuple[Condition, Judged], ...] = ()
    #: By design and tenant: shares of the waits of its frames in switches, by the tenant behind whose frames they waited.
    behind: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    #: By design and tenant: parts by which the mean completion time of its flows is longer in the mixture than alone, in ns.
    parts: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)

    @property
    def choice(self) -> Choice:
        return self.judged.choice

    @property
    def rejected(self) -> str | None:
        """The plainest design that is no dearer than the choice and has a value beyond its limit: the cause is looked for there."""
        chosen, prices = self.choice.shown, self.cost.prices
        for design in self.goals.order:
            if design != chosen and prices.get(design, 0) <= prices.get(chosen, 0) and self.judged.outside(design):
                return design
        return None


def gather(mixtures: Mixtures, designs: Designs) -> Evidence | None:
    """None if a design of the mixture, or a tenant's own fabric, was not simulated."""
    goals, values = mixtures.goals, mixtures.mixture(designs)
    if values is None:
        return None
    prices, currency = mixtures.prices(designs)
    cost = Cost(prices, currency, mixtures.watts())
    free = dict.fromkeys(goals.order, 0.0)
    judged = Judged.of(values, goals.tenants, prices or free)
    changed = tuple(
        (change, Judged.of(found, goals.tenants, prices or free)) for change in mixtures.changes if (found := mixtures.mixture(designs, change)) is not None
    )
    conditions = tuple(
        (condition, Judged.of(found, goals.tenants, prices or free))
        for condition in goals.conditions
        if (found := mixtures.under(designs, condition, values)) is not None
    )
    made = Evidence(goals, values, judged, mixtures.alone(designs), cost, changed, conditions)
    looked_at = [design for design in (made.choice.shown, made.rejected) if design]
    waits = {design: _behind(designs[design], goals.tenants) for design in looked_at}
    parts = {design: _parts(designs, design, goals.tenants) for design in looked_at}
    return Evidence(goals, values, judged, made.alone, cost, changed, conditions, waits, parts)


def _of_tenant(name: str, tenants: tuple[Tenant, ...]) -> str | None:
    """The tenant that a class belongs to: a job's flows have classes such as `hadoop.fetch`."""
    return next((tenant.name for tenant in tenants if name == tenant.name or name.startswith(f"{tenant.name}.")), None)


def _behind(design: Design, tenants: tuple[Tenant, ...]) -> dict[str, dict[str, float]]:
    """Shares over the seeds whose waits were recorded; without waits behind frames of the same flow, which a sender causes itself."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in design.results.values():
        if "waits" not in result.recorded:
            continue
        fresh = _fresh(result)
        for one in behind(fresh.table("waits"), fresh.flows):
            waiting = _of_tenant(one.flow_class, tenants)
            if waiting and one.behind != SAME_FLOW:
                cause = NOBODY if one.behind == NOBODY else _of_tenant(one.behind, tenants) or one.behind
                sums[waiting][cause] += one.wait_ns
    return {tenant: {cause: wait / sum(causes.values()) for cause, wait in causes.items()} for tenant, causes in sums.items() if sum(causes.values())}


def _parts(designs: Designs, design: str, tenants: tuple[Tenant, ...]) -> dict[str, dict[str, int]]:
    """The split of the mean completion time in the mixture less that alone: of each tenant's class of flows that takes the most time in the mixture."""
    found: dict[str, dict[str, int]] = {}
    together = _by_class(designs[design])
    for tenant in tenants:
        name = alone_name(design, tenant)
        alone = _by_class(designs[name]) if name in designs else {}
        classes = [one for one in together if one in alone and _of_tenant(one, (tenant,))]
        if classes:
            longest = max(classes, key=lambda one: together[one].flows * together[one].fct_ns)
            found[tenant.name] = {label: ns - alone[longest].parts_ns[label] for label, ns in together[longest].parts_ns.items()}
    return found


def _by_class(design: Design) -> dict[str, split.Mean]:
    """The mean over the seeds of the split of each class; empty if it was not recorded."""
    try:
        groups = split.groups((_fresh(result).explain() for result in design.results.values()), by=("class",))
    except LookupError:
        return {}
    return {group.name: group.mean for group in groups if group.name != "all"}


def _fresh(result: Result) -> Result:
    """Read anew, so that the tables are not kept."""
    return Result.open(result.dir) if result.dir else result
