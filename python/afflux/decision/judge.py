"""Judges goals and chooses a design from numbers alone.

The limit of a goal is its bound. For a relative goal it is the reference value times 1 plus (for
goodput minus) the share that the goal allows. A goal is met if the value is clearly better than the
limit, and missed if it is clearly worse. The test pairs value and limit by seed (Student's t on
their logarithms) and judges all goals of all designs together (Holm). So if no value differs from
its limit and the logarithms are normal, the chance that any goal is called met or missed is at most
5 %. A goal that is neither is open. An event that few seeds have, such as a lost SYN, is not in the
test until a seed has it. If the end of the run cut flows off, only a lower bound of a time is known.
Such a time can miss its goal but not meet it. A limit that starts from such a time is too strict: a
time can meet it but not miss it. A percentile among the finished flows lies between two bounds. It
misses its goal if the lower one does, and meets it if the upper one does.

The choice is the cheapest design that meets every goal. If there is none, it is the cheapest whose
values are all within their limits, typically and in the mean, and it is not certain. If there is none either, there is
no choice, and the nearest design is the one whose worst value is beyond its limit by the smallest
factor. If prices are equal, the design that comes first in the file is chosen, so today's design
takes precedence over any change.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..comparison.censored import Value
from ..comparison.paired import SAME, Difference, more_seeds, next_level, of_pairs
from ..results.statistics import CONFIDENCE, ENOUGH_SEEDS, holm, interval
from .file import Goal

#: Values by design, goal (`Goal.name`) and seed.
Values = Mapping[str, Mapping[str, Mapping[int, Value]]]

MET, MISSED, OPEN = "met", "missed", "open"


@dataclass(frozen=True)
class Standing:
    """State of a goal for one design: the value compared with its limit, and whether the goal is
    met."""

    goal: Goal
    #: Difference of the value (as the design) from the limit (as the baseline), over the seeds.
    against: Difference
    #: The difference that decides. Flows that were cut off are taken as short or as long as makes the
    #: statement least likely.
    tested: Difference
    state: str
    #: True if the goal is met by definition, because the design is the reference of the goal.
    given: bool = False
    #: True if some values are only lower bounds, because flows were cut off.
    cut: bool = False
    #: True if some limits are only lower bounds, because flows of the reference were cut off.
    limit_cut: bool = False
    #: For a relative goal: difference of the value from the reference value, without the share that
    #: the goal allows.
    start: Difference | None = None
    #: 95 % interval of `value`. None with one seed, if all seeds have the same value, and if the
    #: interval is too wide to say anything.
    interval: tuple[float, float] | None = None

    @property
    def agrees(self) -> bool:
        """True if the difference that decides is on the side of the limit where value and limit
        are."""
        return _within(self.tested, self.goal) == _within(self.against, self.goal)

    @property
    def depends(self) -> bool:
        """True if value and limit would decide the goal, but it is open because it depends on how
        long flows would have taken that were cut off."""
        would = self.against.clear or self.against.verdict == SAME
        does = self.agrees and (self.tested.clear or self.tested.verdict == SAME)
        return self.state == OPEN and would and not does

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
        """Distance from the limit: logarithm of the ratio of value and limit, positive if the goal
        is violated. The worse counts of the typical ratio and the ratio of the means: the means are
        what a reader sees beside the bound."""
        d = self.against
        ratios = [ratio for ratio in (d.ratio,) if ratio is not None]
        if d.baseline_mean:
            ratios.append(d.design_mean / d.baseline_mean)
        distances = [math.log(ratio) if ratio > 0 else -math.inf for ratio in ratios or [math.inf]]
        return max(
            distances if self.goal.metric.lower_is_better else (-distance for distance in distances)
        )


#: Standings of each design, in the order of the goals.
Standings = Mapping[str, Sequence[Standing]]


@dataclass(frozen=True)
class Choice:
    #: The chosen design; None if every design has a value beyond its limit.
    design: str | None
    #: True if the chosen design meets every goal; otherwise some goals are open.
    certain: bool
    #: The design whose worst value exceeds its limit by the smallest factor, or is farthest within
    #: its limit.
    nearest: str

    @property
    def shown(self) -> str:
        return self.design or self.nearest


def paired(
    goal: Goal, design: str, base: Mapping[int, float], new: Mapping[int, Value]
) -> Difference:
    """Returns the difference of a goal's values from other values, over the seeds that both
    have."""
    seeds = sorted(new.keys() & base.keys())
    return of_pairs(
        goal.metric, design, [(base[seed], new[seed].number) for seed in seeds], numbers=seeds
    )


def judge(
    values: Values,
    alone: Values,
    designs: Sequence[str],
    goals: Sequence[Goal],
    level: float = 1 - CONFIDENCE,
) -> Standings:
    """Judges each goal for each design. The chance that any statement is wrong is at most
    `level`."""
    found = [_standing(values, alone, design, goal) for design in designs for goal in goals]
    judged = [
        place
        for place, one in enumerate(found)
        if not one.given and one.against.p is not None and one.against.samples >= ENOUGH_SEEDS
    ]
    chances = [
        (one.tested.p or 0.0) if one.agrees else 1.0 for one in (found[place] for place in judged)
    ]
    held = dict(zip(judged, holm(chances, level), strict=True))
    step = next_level(chances, level)
    standings: dict[str, list[Standing]] = {design: [] for design in designs}
    for place, one in enumerate(found):
        holds, d = held.get(place, False), one.against
        more = None if holds or not one.agrees else more_seeds(one.tested, step)
        standings[d.design].append(
            one
            if one.given
            else replace(
                one,
                state=_state(one, holds),
                against=replace(d, seeds_to_decide=more),
                tested=replace(one.tested, seeds_to_decide=more),
            )
        )
    return standings


def _standing(values: Values, alone: Values, design: str, goal: Goal) -> Standing:
    """Returns a standing that is not judged yet: `MET` if it is met by definition, otherwise
    `OPEN`."""
    own = values[design][goal.name]
    reference: Mapping[int, Value] = {}
    if goal.limit is None:
        reference = (alone if goal.alone else values)[goal.against or design][goal.name]
    limits = _limits(goal, own, reference)
    against = paired(goal, design, limits, own)
    tested = (
        paired(goal, design, _limits(goal, own, _least(reference)), own)
        if _within(against, goal)
        else paired(goal, design, limits, _least(own))
    )
    start = paired(goal, design, _numbers(reference), own) if reference else None
    given = goal.against == design and not goal.alone
    both = own.keys() & limits.keys()
    cut, limit_cut = (
        any(not some[seed].exact for seed in both & some.keys()) for some in (own, reference)
    )
    return Standing(
        goal,
        against,
        tested,
        MET if given else OPEN,
        given,
        cut,
        limit_cut and not given,
        start,
        _interval(goal, [own[seed].number for seed in both]),
    )


def _limits(
    goal: Goal, own: Mapping[int, Value], reference: Mapping[int, Value]
) -> Mapping[int, float]:
    """Returns the limit by seed. `own`: values of the design. `reference`: those from which a
    relative goal starts."""
    if goal.limit is not None:
        return dict.fromkeys(own, goal.limit)
    return {seed: number * goal.factor for seed, number in _numbers(reference).items()}


def _numbers(values: Mapping[int, Value]) -> Mapping[int, float]:
    return {seed: value.number for seed, value in values.items()}


def _least(values: Mapping[int, Value]) -> Mapping[int, Value]:
    """Returns the lower bounds of values."""
    return {
        seed: value if value.low is None else replace(value, number=value.low)
        for seed, value in values.items()
    }


def _within(d: Difference, goal: Goal) -> bool:
    """True if the value is within its limit."""
    return d.verdict == SAME or d.fell == bool(goal.metric.lower_is_better)


def _interval(goal: Goal, numbers: Sequence[float]) -> tuple[float, float] | None:
    """Returns the interval of the mean. Equal values get none: one of width zero would look like
    certainty, although the values of only these seeds agree."""
    several = len({*numbers}) > 1
    metric = goal.metric
    return interval(numbers, least=metric.least, most=metric.most) if several else None


def _state(one: Standing, held: bool) -> str:
    """Returns the state of a goal that is not met by definition. `held`: its difference from the
    limit is clear, judged together with all others. Only times are cut off, and for them lower is
    better."""
    d = one.against
    equal = d.verdict == SAME and d.samples >= ENOUGH_SEEDS
    if not one.agrees or not (held or equal):
        return OPEN
    if _within(d, one.goal):
        return OPEN if one.cut else MET
    return OPEN if one.limit_cut else MISSED


def choose(standings: Standings, prices: Mapping[str, float]) -> Choice:
    """Chooses by the rule above. If `prices` is empty, all prices are equal."""
    worst = {
        design: max((standing.beyond for standing in some), default=0.0)
        for design, some in standings.items()
    }
    nearest = min(worst, key=lambda design: worst[design])
    met = [
        design
        for design, some in standings.items()
        if all(standing.state == MET for standing in some)
    ]
    within = [
        design
        for design, some in standings.items()
        if worst[design] <= 0 and all(standing.state != MISSED for standing in some)
    ]
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
        cls,
        values: Values,
        alone: Values,
        designs: Sequence[str],
        goals: Sequence[Goal],
        prices: Mapping[str, float],
        level: float = 1 - CONFIDENCE,
    ) -> "Judged":
        standings = judge(values, alone, designs, goals, level)
        return cls(standings, choose(standings, prices))

    def states(self, design: str, state: str) -> list[Standing]:
        """Returns a design's standings with this state. The one farthest beyond its limit comes
        first."""
        return sorted(
            (one for one in self.standings[design] if one.state == state),
            key=lambda one: -one.beyond,
        )

    def outside(self, design: str) -> list[Standing]:
        """Returns a design's standings whose value is beyond the limit, typically or in the mean,
        clearly or not. The farthest comes first."""
        return sorted(
            (one for one in self.standings[design] if one.beyond > 0), key=lambda one: -one.beyond
        )

    @property
    def unresolved(self) -> list[str]:
        """Returns the designs that miss no goal clearly. If there is no choice, some value of each
        of them is beyond its limit, and more seeds may show that its goals are met."""
        return [design for design in self.standings if not self.states(design, MISSED)]

    def worst(self, design: str) -> Standing:
        return max(self.standings[design], key=lambda one: one.beyond)

    @property
    def family(self) -> int:
        """Number of goals that were judged together."""
        return sum(not one.given for some in self.standings.values() for one in some)

    def decided(self, prices: Mapping[str, float]) -> bool:
        """True if more seeds cannot change the choice: the chosen design meets every goal and every
        cheaper one misses a goal, or every design misses a goal."""
        lost = {design for design in self.standings if self.states(design, MISSED)}
        if self.choice.design is None or not self.choice.certain:
            return lost == {*self.standings}
        own, order = prices.get(self.choice.design, 0.0), list(self.standings)
        before = [
            design
            for design in order
            if (prices.get(design, 0.0), order.index(design))
            < (own, order.index(self.choice.design))
        ]
        return lost >= {*before}
