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
from dataclasses import dataclass, replace

from ..comparison.paired import SAME, Difference, of_pairs
from ..results.statistics import CONFIDENCE, ENOUGH_SEEDS, holm
from .file import Goal
from .measures import Value

#: By design, goal (`Goal.name`) and seed.
Values = Mapping[str, Mapping[str, Mapping[int, Value]]]

MET, MISSED, OPEN = "met", "missed", "open"


@dataclass(frozen=True)
class Standing:
    """A goal, a design's value beside its limit, and whether it is met."""

    goal: Goal
    #: The limit (as the baseline) and the value, over the seeds.
    against: Difference
    state: str
    #: Whether the state follows from the goal itself: the design that a goal starts from is within it.
    given: bool = False
    #: Whether some values are only lower bounds of what they would be.
    cut: bool = False
    #: For a relative goal: the value beside the one that the goal starts from, without the share that the goal allows.
    start: Difference | None = None

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


def paired(goal: Goal, design: str, base: Mapping[int, float], new: Mapping[int, Value]) -> Difference:
    """The values of a goal's measure beside others, over the seeds that both have."""
    seeds = sorted(new.keys() & base.keys())
    return of_pairs(goal.metric, design, [(base[seed], new[seed].number) for seed in seeds], numbers=seeds)


def judge(values: Values, alone: Values, designs: Sequence[str], goals: Sequence[Goal], level: float = 1 - CONFIDENCE) -> Standings:
    """Where each design stands with each goal; the chance of a wrong statement is at most `level`."""
    found = [_standing(values, alone, design, goal) for design in designs for goal in goals]
    judged = [place for place, one in enumerate(found) if not one.given and one.against.p is not None and one.against.samples >= ENOUGH_SEEDS]
    held = dict(zip(judged, holm([found[place].against.p or 0.0 for place in judged], level), strict=True))
    standings: dict[str, list[Standing]] = {design: [] for design in designs}
    for place, one in enumerate(found):
        standings[one.against.design].append(one if one.given else replace(one, state=_state(one.goal, one.against, held.get(place, False), one.cut)))
    return standings


def _standing(values: Values, alone: Values, design: str, goal: Goal) -> Standing:
    """Not yet judged: `MET` if given, otherwise `OPEN`."""
    own = values[design][goal.name]
    if goal.limit is not None:
        limits, start = dict.fromkeys(own, goal.limit), None
    else:
        starts = {seed: value.number for seed, value in (alone if goal.alone else values)[goal.against or design][goal.name].items()}
        limits, start = {seed: number * goal.factor for seed, number in starts.items()}, paired(goal, design, starts, own)
    given = goal.against == design and not goal.alone
    cut = any(not own[seed].exact for seed in own.keys() & limits.keys())
    return Standing(goal, paired(goal, design, limits, own), MET if given else OPEN, given, cut, start)


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
