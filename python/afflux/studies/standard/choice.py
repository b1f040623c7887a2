"""The rule of the choice, on numbers alone.

The limit of a goal is the tenant's value on its own fabric, times 1 plus (for goodput minus) the share that the goal allows. The goal is met if the value is
clearly better than the limit, and missed if it is clearly worse: paired by seed, 95 %, all goals of all designs judged together (Holm). Otherwise it is open.

The choice is the cheapest design that meets every goal. If there is none, it is the cheapest whose typical values are all within their limits, and it is
not certain. If there is none either, there is no choice, and the nearest design is the one whose worst value is beyond its limit by the smallest factor.
Among equal prices the design that stands first counts: it has the fewest settings.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...comparison.paired import BETTER, UNCLEAR, WORSE, Difference, of_pairs
from ...results.statistics import holm
from .goals import Tenant

#: Values of a mixture: by design, tenant and seed. `OWN` stands for the tenants' own fabrics.
Values = Mapping[str, Mapping[str, Mapping[int, float]]]
OWN = "own"

MET, MISSED, OPEN = "met", "missed", "open"


@dataclass(frozen=True)
class Standing:
    """A tenant's value with a design."""

    tenant: Tenant
    #: Against its own fabric, and against the goal.
    own: Difference
    goal: Difference
    state: str

    @property
    def beyond(self) -> float:
        """Typical distance from the limit as a logarithm of their ratio: above 0 it is on the wrong side."""
        assert self.goal.ratio is not None, "times and rates are positive"
        distance = math.log(self.goal.ratio)
        return distance if self.tenant.metric.lower_is_better else -distance


#: By design and tenant.
Standings = Mapping[str, Mapping[str, Standing]]


@dataclass(frozen=True)
class Choice:
    #: None if every design has a value beyond its limit.
    design: str | None
    #: Every goal is met; otherwise some are open.
    certain: bool
    #: The design whose worst value is nearest to its limit, or farthest within.
    nearest: str

    @property
    def shown(self) -> str:
        return self.design or self.nearest


def paired(tenant: Tenant, design: str, base: Mapping[int, float], new: Mapping[int, float], factor: float = 1.0) -> Difference:
    """A tenant's values against others, times a factor, over the seeds that both have."""
    return of_pairs(tenant.metric, design, [(base[seed] * factor, new[seed]) for seed in sorted(base.keys() & new.keys())])


def judge(values: Values, tenants: Sequence[Tenant]) -> Standings:
    """Where each tenant stands with each shared design."""
    designs = [design for design in values if design != OWN]
    found = {
        (design, tenant.name): (
            paired(tenant, design, values[OWN][tenant.name], values[design][tenant.name]),
            paired(tenant, design, values[OWN][tenant.name], values[design][tenant.name], tenant.limit),
        )
        for design in designs
        for tenant in tenants
    }
    held = dict(zip(found, holm([1.0 if goal.p is None else goal.p for _, goal in found.values()]), strict=True))
    standings: dict[str, dict[str, Standing]] = {}
    for design in designs:
        of_design = standings.setdefault(design, {})
        for tenant in tenants:
            own, goal = found[design, tenant.name]
            judged = goal if held[design, tenant.name] or not goal.clear else replace(goal, verdict=UNCLEAR)
            state = {BETTER: MET, WORSE: MISSED}.get(judged.verdict, OPEN)
            of_design[tenant.name] = Standing(tenant, own, judged, state)
    return standings


def choose(standings: Standings, prices: Mapping[str, float]) -> Choice:
    """By the rule above. Designs are in the order of their number of settings."""
    worst = {design: max(standing.beyond for standing in some.values()) for design, some in standings.items()}
    nearest = min(worst, key=lambda design: worst[design])
    met = [design for design, some in standings.items() if all(standing.state == MET for standing in some.values())]
    within = [design for design, some in standings.items() if worst[design] <= 0 and all(standing.state != MISSED for standing in some.values())]
    for fit in (met, within):
        if fit:
            return Choice(min(fit, key=lambda design: prices[design]), fit is met, nearest)
    return Choice(None, False, nearest)


@dataclass(frozen=True)
class Judged:
    """A mixture with its choice."""

    standings: Standings
    choice: Choice

    @classmethod
    def of(cls, values: Values, tenants: Sequence[Tenant], prices: Mapping[str, float]) -> "Judged":
        standings = judge(values, tenants)
        return cls(standings, choose(standings, prices))

    def states(self, design: str, state: str) -> list[Standing]:
        """A design's standings of this state, the farthest beyond its limit first."""
        return sorted((one for one in self.standings[design].values() if one.state == state), key=lambda one: -one.beyond)

    def outside(self, design: str) -> list[Standing]:
        """A design's standings whose typical value is beyond its limit, clearly or not, the farthest first."""
        return sorted((one for one in self.standings[design].values() if one.beyond > 0), key=lambda one: -one.beyond)

    def worst(self, design: str) -> Standing:
        return max(self.standings[design].values(), key=lambda one: one.beyond)


def survives(base: Choice, other: Choice) -> bool:
    """Whether the first sentence, which names the design or says that there is none, is the same."""
    return base.design == other.design
