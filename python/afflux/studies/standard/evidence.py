"""Collects everything that the answer needs: from values alone what is judged, and from the results
besides behind whom frames waited."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...decision.file import Condition, Goal, Question, Variant
from ...decision.judge import Choice, Judged, Values
from ...decision.measures import Tenant
from ...decision.points import alone_name
from ...results import split
from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.waits import NOBODY, behind
from ...results.waits import OWN as SAME_FLOW
from . import measured
from .mixtures import OWN, Change, Mixtures


@dataclass(frozen=True)
class Cost:
    """Prices and power by design. `OWN` represents the tenants' own fabrics together."""

    prices: Mapping[str, float] = field(default_factory=dict)
    power: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    question: Question
    values: Values
    judged: Judged
    #: Values of each tenant alone on each design.
    alone: Values
    cost: Cost
    changed: Sequence[tuple[Change, Judged]] = ()
    conditions: Sequence[tuple[Condition, Judged]] = ()
    #: By design and tenant: shares of the waits of its frames in switches, by the tenant behind
    #: whose frames they waited.
    behind: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    #: By design and tenant: parts in ns by which the mean completion time of its flows is longer in
    #: the mixture than alone.
    parts: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    #: Without the scenario as it is.
    variants: Sequence[tuple[Variant, Judged]] = ()
    #: All values by the name of points.
    measured: Values = field(default_factory=dict)

    @property
    def choice(self) -> Choice:
        return self.judged.choice

    @property
    def rejected(self) -> str | None:
        """The simplest design that costs no more than the choice and has a value beyond its limit.
        The cause is looked for in it."""
        chosen, prices = self.choice.shown, self.cost.prices
        for design in self.question.order:
            if (
                design != chosen
                and prices.get(design, 0) <= prices.get(chosen, 0)
                and self.judged.outside(design)
            ):
                return design
        return None

    def numbers(self, design: str, goal: Goal) -> Mapping[int, float]:
        """Returns the values of a goal's metric by seed; with `OWN`, those of the tenant on its own
        fabric."""
        found = self.alone[str(goal.against)] if design == OWN else self.values[design]
        return {seed: value.number for seed, value in found[goal.name].items()}

    def survives(self, other: Judged) -> bool:
        """True if the first sentence, which names the design or says that there is none, stays the
        same."""
        return self.choice.design == other.choice.design


def gather(mixtures: Mixtures, designs: Designs) -> Evidence | None:
    """Returns the evidence; None if a design of the mixture, or a tenant's own fabric, was not
    simulated."""
    asked = mixtures.question
    if not all(name in designs for name in asked.order):
        return None
    _refuse_unfinished(designs)
    cost = Cost(mixtures.prices(designs), mixtures.power())
    made = of_values(mixtures, measured.of(mixtures, designs), cost)
    if made is None:
        return None
    looked_at = [design for design in (made.choice.shown, made.rejected) if design]
    waits = {design: _behind(designs[design], asked.tenants) for design in looked_at}
    parts = {design: _parts(designs, design, asked.tenants) for design in looked_at}
    return replace(made, behind=waits, parts=parts)


def of_values(mixtures: Mixtures, found: Values, cost: Cost) -> Evidence | None:
    """Judges values by the name of points; None if a design of the mixture, or a tenant's own
    fabric, has none."""
    asked = mixtures.question
    values, alone = mixtures.values(found), mixtures.alone(found)
    if values is None or alone is None:
        return None

    def judged(some: Values, base: Values = alone) -> Judged:
        return Judged.of(some, base, list(some), asked.goals, cost.prices)

    changed = [
        (change, judged(some, base))
        for change in mixtures.changes
        if (some := mixtures.values(found, change)) is not None
        and (base := mixtures.alone_with(found, change, alone)) is not None
    ]
    conditions = [
        (condition, judged(some))
        for condition in asked.conditions
        if (some := mixtures.values(found, condition)) is not None
    ]
    variants = [
        (variant, judged(some, base))
        for variant in mixtures.variants
        if (some := mixtures.values(found, variant)) is not None
        and (base := mixtures.alone(found, variant)) is not None
    ]
    return Evidence(
        asked,
        values,
        judged(values),
        alone,
        cost,
        changed,
        conditions,
        variants=variants,
        measured=found,
    )


def _refuse_unfinished(designs: Designs) -> None:
    """Raises `ValueError` if flows were cut off by the end of the run: only a bound of their times
    is known, and a fabric cannot be judged by it."""
    for design in designs.values():
        for seed, result in design.results.items():
            if result.summary["flows"]["unfinished"] or (result.summary["jobs"] or {}).get(
                "unfinished"
            ):
                raise ValueError(
                    f"{design.name}, seed {seed}: a part of the traffic did not finish: remove run.until"
                )


def _of_tenant(flow_class: str, tenants: Sequence[Tenant]) -> str | None:
    return next((tenant.name for tenant in tenants if tenant.has(flow_class)), None)


def _behind(design: Design, tenants: Sequence[Tenant]) -> dict[str, dict[str, float]]:
    """Returns the shares over the seeds whose waits were recorded. Waits behind frames of the same
    flow, which a sender causes itself, are left out."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in design.results.values():
        if "waits" not in result.recorded:
            continue
        fresh = _fresh(result)
        for one in behind(fresh.table("waits"), fresh.flows):
            waiting = _of_tenant(one.flow_class, tenants)
            if waiting and one.behind != SAME_FLOW:
                cause = (
                    NOBODY
                    if one.behind == NOBODY
                    else _of_tenant(one.behind, tenants) or one.behind
                )
                sums[waiting][cause] += one.wait_ns
    return {
        tenant: {cause: wait / sum(causes.values()) for cause, wait in causes.items()}
        for tenant, causes in sums.items()
        if sum(causes.values())
    }


def _parts(designs: Designs, design: str, tenants: Sequence[Tenant]) -> dict[str, dict[str, int]]:
    """Returns the parts of the mean completion time in the mixture minus those alone. For each
    tenant, the class of flows with the longest total time in the mixture is used."""
    found: dict[str, dict[str, int]] = {}
    together = _by_class(designs[design])
    for tenant in tenants:
        name = alone_name(design, tenant)
        alone = _by_class(designs[name]) if name in designs else {}
        classes = [one for one in together if one in alone and tenant.has(one)]
        if classes:
            longest = max(classes, key=lambda one: together[one].flows * together[one].fct_ns)
            found[tenant.name] = {
                label: ns - alone[longest].parts_ns[label]
                for label, ns in together[longest].parts_ns.items()
            }
    return found


def _by_class(design: Design) -> dict[str, split.Mean]:
    """Returns the split of each class as mean over the seeds. Empty if it was not recorded."""
    try:
        groups = split.groups(
            (_fresh(result).explain() for result in design.results.values()), by=("class",)
        )
    except LookupError:
        return {}
    return {group.name: group.mean for group in groups if group.name is not None}


def _fresh(result: Result) -> Result:
    """Opens the result again, so that its tables are not kept in memory."""
    return Result.open(result.dir) if result.dir else result
