"""Writes the answer of a decision: choice, size, the other designs, cost, certainty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..comparison import changes
from ..comparison.paired import SAME, TOO_FEW
from ..comparison.phrases import between, seeds_needed, size, what_of
from ..metrics import COST
from ..results.statistics import CONFIDENCE
from ..words import Marked, Words, has, join, say
from .file import Goal
from .judge import MET, MISSED, OPEN, Choice, Judged, Standing
from .measures import including

_LISTED = ("; ", "；")
#: Most goals of a design that are worded with numbers.
_WORDED = 4
#: Share of the seeds that have an event of which a choice warns.
_RARE = 0.25

#: Roles of the parts of an answer. Some are preceded by a title.
CHOICE, NEAREST, SIZE, OTHERS, COSTS, SURE = "choice", "nearest", "size", "others", "cost", "sure"


@dataclass(frozen=True)
class DecisionFacts:
    """Facts from which the sentences of a decision are written."""

    judged: Judged
    order: Sequence[str]
    prices: Mapping[str, float] = field(default_factory=dict)
    power: Mapping[str, float] = field(default_factory=dict)
    currency: str | None = None
    #: Number of seeds of each design, and number of looks at the results.
    seeds: int = 0
    looks: int = 0
    #: Error rate: probability that any goal is wrongly called met or missed. Unused looks do not
    #: change it.
    error: float = 1 - CONFIDENCE
    #: True if the chosen design drops frames.
    drops_frames: bool = False

    @property
    def choice(self) -> Choice:
        return self.judged.choice


def parts(of: DecisionFacts) -> dict[str, Words]:
    """Returns the sentences by role."""
    made = {
        CHOICE: _choice(of),
        NEAREST: _nearest(of),
        SIZE: _size(of),
        OTHERS: _others(of),
        COSTS: _cost(of),
        SURE: _sure(of),
    }
    return {role: words for role, words in made.items() if words}


def answer(of: DecisionFacts) -> Marked:
    """Returns all parts, with the titles of their roles."""
    said = [
        (say(key, words=words) if has(key := f"decision.role.{role}") else words, role == CHOICE)
        for role, words in parts(of).items()
    ]
    return Marked.of(said)


def label(goal: Goal) -> Words | str:
    """Words a goal: `web (p99 completion time)`."""
    what = what_of(goal.metric.whole) if goal.metric.whole else goal.metric.title
    what = including(goal.measure, what) if goal.unfinished else what
    return say("decision.what", tenant=goal.tenant.name, what=what) if goal.tenant else what


def bound(standing: Standing) -> Words:
    """Words a bound and its origin: `at most 1.80 ms (10 % more than with today)`."""
    goal = standing.goal
    said = say(_bound_key(goal), limit=goal.metric.brief(standing.limit))
    return (
        say("decision.relative", bound=said, rule=_rule(goal)) if goal.within is not None else said
    )


def _bound_key(goal: Goal) -> str:
    return "decision.at_most" if goal.metric.lower_is_better else "decision.at_least"


def rule(goal: Goal) -> Words:
    """Words the bound of a relative goal without a number: `at most 10 % more than with today`."""
    return say(_bound_key(goal), limit=_rule(goal))


def _rule(goal: Goal) -> Words:
    base = (
        say("decision.alone", design=goal.against)
        if goal.alone and goal.against
        else say("decision.alone.here")
        if goal.alone
        else say("decision.with", design=goal.against)
    )
    if not goal.within:
        return say("decision.rule.equal", base=base)
    if changes.is_factor(goal.factor):
        return say("decision.rule.times", factor=changes.factor(goal.factor), base=base)
    if changes.is_part(goal.factor):
        return say("decision.rule.parts", factor=changes.factor(1 / goal.factor), base=base)
    return say("decision.rule", change=changes.change(goal.factor), base=base)


def money(price: float, currency: str | None) -> str:
    return f"{currency} {COST.show(price)}" if currency else COST.show(price)


def price_head(currency: str | None) -> Words:
    return (
        say("decision.head.price", currency=currency)
        if currency
        else say("decision.head.price.bare")
    )


def verdict(judged: Judged, design: str) -> Words:
    """Says which goals a design misses or leaves open, for a table."""
    found = []
    named: set[str] = set()
    for state in (MISSED, OPEN):
        names = [
            one.goal.tenant.name if one.goal.tenant else one.goal.measure
            for one in judged.states(design, state)
        ]
        if names := [name for name in dict.fromkeys(names) if name not in named]:
            found.append(say(f"decision.state.{state}", names=", ".join(names)))
        named.update(names)
    return join(found, _LISTED) if found else say("decision.state.met")


def _choice(of: DecisionFacts) -> Words:
    choice, judged = of.choice, of.judged
    if choice.design is None:
        return (
            say("decision.none.open", designs=", ".join(judged.unresolved))
            if judged.unresolved
            else say("decision.none")
        )
    if not choice.certain:
        return say(
            "decision.keep.open" if choice.design == of.order[0] else "decision.open",
            design=choice.design,
        )
    met = [
        design for design in of.order if all(one.state == MET for one in judged.standings[design])
    ]
    dearer = [
        design for design in met if of.prices.get(design, 0.0) > of.prices.get(choice.design, 0.0)
    ]
    reason = "only" if len(met) == 1 else "cheapest" if len(dearer) == len(met) - 1 else "first"
    key = f"decision.keep.{reason}" if choice.design == of.order[0] else f"decision.{reason}"
    # More seeds may show that designs with open goals meet them too.
    open_ = set(judged.unresolved) - set(met)
    return say(f"{key}.shown" if open_ else key, design=choice.design, count=len(met))


def _nearest(of: DecisionFacts) -> Words:
    """If there is no choice, says by how much the nearest design exceeds which goals."""
    if of.choice.design:
        return Words("", "")
    worst = [_missed(one) for one in of.judged.outside(of.choice.nearest)]
    return (
        say("decision.nearest", design=of.choice.nearest, items=join(worst, _LISTED))
        if worst
        else Words("", "")
    )


def _missed(standing: Standing) -> Words:
    """Words a violated goal: `web (p99 completion time) 3.40 ms, goal at most 1.80 ms`."""
    return say(
        "decision.value",
        label=label(standing.goal),
        value=standing.goal.metric.brief(standing.value),
        bound=bound(standing),
    )


def _size(of: DecisionFacts) -> Words:
    """Words the values of the chosen design. The one nearest to its limit comes first."""
    shown = sorted(of.judged.standings[of.choice.shown], key=lambda one: -one.beyond)
    if of.choice.design is None:
        return Words("", "")
    return say(
        "decision.size",
        design=of.choice.shown,
        items=join([_item(one) for one in shown[:_WORDED]], _LISTED),
    )


def _item(standing: Standing) -> Words:
    d = standing.against
    words = {
        "label": label(standing.goal),
        "value": standing.goal.metric.brief(standing.value),
        "bound": bound(standing),
    }
    if standing.given:
        return say("decision.item.given", **words)
    if d.verdict == TOO_FEW:
        return say("decision.item.few", **words)
    if standing.depends:
        return say("decision.item.depends", **words)
    if d.verdict == SAME:
        return say("decision.item.same", **words)
    if standing.state == OPEN and standing.cut:
        return say("decision.item.cut", **words)
    if standing.state == OPEN and d.clear:
        return say("decision.item.alone", than=_than(standing), more=seeds_needed(d), **words)
    if standing.state == OPEN:
        return say("decision.item.open", between=between(d), more=seeds_needed(d), **words)
    return say("decision.item", than=_than(standing), **words)


def _than(standing: Standing) -> Words:
    """Words the size of a clear difference from the goal: `25 % less (…) than the goal of …`."""
    d = standing.against
    of_size = size(d, paired=standing.goal.limit is None)
    return say(f"decision.than{changes.manner(d.ratio)}", size=of_size, bound=bound(standing))


def _others(of: DecisionFacts) -> Words:
    """Says why the other designs are not chosen."""
    others = [name for name in of.order if name != of.choice.shown]
    return join([_rejected(of, name) for name in others])


def _rejected(of: DecisionFacts, design: str) -> Words:
    """Names the goals that a design misses, or those that it leaves open. If there are none, says
    that it costs more or comes later in the file."""
    judged = of.judged
    if missed := judged.states(design, MISSED):
        return say(
            "decision.misses" if len(missed) == 1 else "decision.misses.many",
            design=design,
            count=len(missed),
            items=join([_missed(one) for one in missed], _LISTED),
        )
    if open_ := judged.states(design, OPEN):
        return say(
            "decision.leaves",
            design=design,
            items=join([label(one.goal) for one in open_], (", ", "、")),
        )
    own, chosen = of.prices.get(design, 0.0), of.prices.get(of.choice.shown, 0.0)
    return say("decision.dearer" if own > chosen else "decision.fits", design=design)


def _cost(of: DecisionFacts) -> Words:
    """Compares price and power with those of today's design."""
    design, today = of.choice.shown, of.order[0]
    said = []
    if of.prices:
        said.append(
            _compared(
                "decision.cost", of.prices, design, today, lambda value: money(value, of.currency)
            )
        )
    if design in of.power and today in of.power:
        said.append(
            _compared("decision.power", of.power, design, today, lambda value: f"{value:,.0f} W")
        )
    return join(said)


def _compared(key: str, of: Mapping[str, float], design: str, today: str, show) -> Words:
    words = {"design": design, "today": today, "new": show(of[design]), "old": show(of[today])}
    if design == today:
        return say(f"{key}.own", **words)
    if of[design] == of[today]:
        return say(f"{key}.same", **words)
    return (
        say(key, change=changes.change(of[design] / of[today]), **words)
        if of[design] and of[today]
        else say(f"{key}.free", **words)
    )


def _sure(of: DecisionFacts) -> Words:
    one = of.judged.family == 1
    seeds = say("seeds.one") if of.seeds == 1 else say("seeds.many", count=of.seeds)
    words = {"goals": of.judged.family, "seeds": seeds, "percent": f"{100 * (1 - of.error):.3g}"}
    said = say("decision.sure.one" if one else "decision.sure", **words)
    if of.looks > 1:
        said = join([said, say("decision.looks", looks=of.looks, error=f"{100 * of.error:.3g}")])
    if of.choice.certain and of.drops_frames and (missed := unseen(of.seeds)) > of.error:
        share = f"{100 * missed:.0f}"
        key = "decision.rare.one" if of.seeds == 1 else "decision.rare"
        rare = say(key, design=of.choice.design, seeds=of.seeds, percent=share)
        said = join([said, rare])
    return join([said, *_cut(of)])


def _cut(of: DecisionFacts) -> Sequence[Words]:
    """Says which values and which limits are only bounds."""
    said, standings = [], of.judged.standings
    if cut := [
        design for design in of.order if any(one.cut and not one.given for one in standings[design])
    ]:
        said.append(say("decision.cut", designs=", ".join(cut)))
    if goals := dict.fromkeys(
        label(one.goal) for design in of.order for one in standings[design] if one.limit_cut
    ):
        said.append(say("decision.cut.limit", goals=join([*goals], (", ", "、"))))
    if goals := dict.fromkeys(
        label(one.goal) for design in of.order for one in standings[design] if one.depends
    ):
        said.append(say("decision.cut.depends", goals=join([*goals], (", ", "、"))))
    return said


def unseen(seeds: int) -> float:
    """Returns the probability that none of the seeds has an event that a quarter of all seeds have,
    such as a lost SYN that makes a job wait a second. The test cannot know of it then."""
    return (1 - _RARE) ** seeds
