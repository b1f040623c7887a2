"""The rule of the choice, on numbers alone.

The limit of a goal is its bound, or the value that it is held against times 1 plus (for goodput minus) the share that it allows. A goal is met if the value
is clearly better than the limit, and missed if it is clearly worse: by seed, Student's t on the logarithms of value and limit, all goals of all designs judged
together (Holm), so that where no value differs from its limit one is called met or missed with a chance of at most 5 %. Otherwise the goal is open. A time
of which only a lower bound is known, because flows were cut off by the end of the run, can miss its goal but not meet it.

The choice is the cheapest design that meets every goal. If there is none, it is the cheapest whose typical values are all within their limits, and it is
not certain. If there is none either, there is no choice, and the nearest design is the one whose worst value is beyond its limit by the smallest factor.
Among equal prices the design that stands first counts: today's comes before any change.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..comparison.paired import SAME, Difference, of_pairs
from ..results.statistics import CONFIDENCE, ENOUGH_SEEDS, holm
from .file import Goal
from .measures import Value

#: By design, goal (`Goal.name`) and seed.
Values = Mapping[str, Mapping[str, Mapping[int, Value]]]

MET, MISSED, OPEN = "met", "missed", "open"


@dataclass(frozen=True)
class Standing:
    """Where a design stands with a goal."""

    goal: Goal
    #: The limit (as the baseline) and the value, over the seeds.
    against: Difference
    state: str
    #: Whether the state follows from the goal itself: the design that a goal starts from is within it.
    given: bool = False
    #: Whether some values are only lower bounds of what they would be.
    cut: bool = False

    @property
    def limit(self) -> float:
        """Mean of the limit over the seeds."""
        return self.against.baseline_mean

    @property
    def value(self) -> float:
        """Mean of the value over the seeds."""
        return self.against.design_mean

    @property
    def beyond(self) -> float:
        """Typical distance from the limit as a logarithm of their ratio: above 0 it is on the wrong side."""
        d = self.against
        ratio = d.ratio if d.ratio is not None else d.design_mean / d.baseline_mean if d.baseline_mean else math.inf
        distance = math.log(ratio) if ratio > 0 else -math.inf
        return distance if self.goal.metric.lower_is_better else -distance


#: By design, in the order of the goals.
Standings = Mapping[str, Sequence[Standing]]


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


def judge(values: Values, alone: Values, designs: Sequence[str], goals: Sequence[Goal], level: float = 1 - CONFIDENCE) -> Standings:
    """Where each design stands with each goal; the chance of a wrong statement is at most `level`."""
    found: list[tuple[str, Goal, Difference, bool, bool]] = []
    for design in designs:
        for goal in goals:
            own = values[design][goal.name]
            base = _limits(values, alone, design, goal, list(own))
            seeds = sorted(own.keys() & base.keys())
            pairs = [(base[seed], own[seed].number) for seed in seeds]
            cut = any(not own[seed].exact for seed in seeds)
            given = goal.against == design and not goal.alone
            found.append((design, goal, of_pairs(goal.metric, design, pairs, numbers=seeds), given, cut))
    judged = [place for place, (_, _, d, given, _) in enumerate(found) if not given and d.p is not None and d.samples >= ENOUGH_SEEDS]
    held = dict(zip(judged, holm([found[place][2].p or 0.0 for place in judged], level), strict=True))
    standings: dict[str, list[Standing]] = {design: [] for design in designs}
    for place, (design, goal, d, given, cut) in enumerate(found):
        standings[design].append(Standing(goal, d, MET if given else _state(goal, d, held.get(place, False), cut), given, cut))
    return standings


def _limits(values: Values, alone: Values, design: str, goal: Goal, seeds: Sequence[int]) -> dict[int, float]:
    if goal.limit is not None:
        return dict.fromkeys(seeds, goal.limit)
    base = alone[goal.against or design] if goal.alone else values[goal.against or design]
    return {seed: value.number * goal.factor for seed, value in base[goal.name].items()}


def _state(goal: Goal, d: Difference, held: bool, cut: bool) -> str:
    if d.verdict == SAME and d.samples >= ENOUGH_SEEDS:
        return OPEN if cut else MET
    if not held:
        return OPEN
    within = d.fell == bool(goal.metric.lower_is_better)
    return MISSED if not within else OPEN if cut else MET


def choose(standings: Standings, prices: Mapping[str, float]) -> Choice:
    """By the rule above. `prices` may be empty: then all are equal."""
    worst = {design: max((standing.beyond for standing in some), default=0.0) for design, some in standings.items()}
    nearest = min(worst, key=lambda design: worst[design])
    met = [design for design, some in standings.items() if all(standing.state == MET for standing in some)]
    within = [design for design, some in standings.items() if worst[design] <= 0 and all(standing.state != MISSED for standing in some)]
    for fit in (met, within):
        if fit:
            return Choice(min(fit, key=lambda design: prices.get(design, 0.0)), fit is met, nearest)
    return Choice(None, False, nearest)


@dataclass(frozen=True)
class Judged:
    """The standings with the choice."""

    standings: Standings
    choice: Choice

    @classmethod
    def of(
        cls, values: Values, alone: Values, designs: Sequence[str], goals: Sequence[Goal], prices: Mapping[str, float], level: float = 1 - CONFIDENCE
    ) -> "Judged":
        standings = judge(values, alone, designs, goals, level)
        return cls(standings, choose(standings, prices))

    def states(self, design: str, state: str) -> list[Standing]:
        """A design's standings of this state, the farthest beyond its limit first."""
        return sorted((one for one in self.standings[design] if one.state == state), key=lambda one: -one.beyond)

    def outside(self, design: str) -> list[Standing]:
        """A design's standings whose typical value is beyond its limit, clearly or not, the farthest first."""
        return sorted((one for one in self.standings[design] if one.beyond > 0), key=lambda one: -one.beyond)

    def worst(self, design: str) -> Standing:
        return max(self.standings[design], key=lambda one: one.beyond)

    @property
    def family(self) -> int:
        """Number of goals that were judged together."""
        return sum(not one.given for some in self.standings.values() for one in some)

    def decided(self, prices: Mapping[str, float]) -> bool:
        """Whether more seeds cannot change the choice: it meets every goal, and what is cheaper misses one; or every design misses one."""
        lost = {design for design in self.standings if self.states(design, MISSED)}
        if self.choice.design is None or not self.choice.certain:
            return lost == {*self.standings}
        own, order = prices.get(self.choice.design, 0.0), list(self.standings)
        before = [design for design in order if (prices.get(design, 0.0), order.index(design)) < (own, order.index(self.choice.design))]
        return lost >= {*before}
