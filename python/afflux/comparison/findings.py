"""Sorts the differences of a comparison by what they establish, for the sentences of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..metrics import COST as PRICE
from ..metrics import JOB_TIME, JOBS_UNFINISHED, UNFINISHED
from ..words import Words, join, say
from . import changes, circumstances
from .paired import BETTER, SAME, UNCLEAR, WORSE, Difference
from .phrases import between, largest_distance, listed, seeds_needed, strength, what_of

if TYPE_CHECKING:
    from .compare import Comparison

#: Limits for a sentence: open metrics with their intervals, further metrics, and designs.
FAR, ITEMS, DESIGNS = 2, 4, 6
#: An undecided metric is named if its means differ by at least this factor.
NOTABLE = 1.1
#: An established change below this factor hardly matters.
_TRIFLE = 1.01
#: Roles of the parts of an answer: first statement with its size, further statements, cause, price,
#: certainty and caveats, advice.
ANSWER, SIZE, ALSO, WHY, COST, SURE, ADVICE = (
    "answer",
    "size",
    "also",
    "why",
    "cost",
    "sure",
    "advice",
)

Part = tuple[Words, str]


class Findings:
    """The differences of a comparison: the established ones, those that are clear only when judged
    alone, and the open ones."""

    def __init__(self, found: Comparison) -> None:
        self.found, self.baseline = found, found.baseline
        self.several = len(found.designs) > 1
        main = sorted(
            (d for d in found.differences if found.covers(d.metric)), key=lambda d: d.metric.rank
        )
        self.main = [d for d in main if not d.unjudged]
        #: Percentiles of too few flows or jobs and measures after different warm-ups, of which the
        #: answer says nothing else.
        self.unjudged = [d for d in main if d.unjudged]
        self.established = [d for d in self.main if d.established]
        self.alone = sorted(
            (d for d in self.main if d.clear and not d.established), key=lambda d: d.p or 0.0
        )
        self.open = [d for d in self.main if d.verdict == UNCLEAR]
        self.prices = {d.design: d.design_mean for d in found.differences if d.metric is PRICE}
        #: Number of differences that were judged together.
        self.family = found.family

    def lead(self) -> Difference | None:
        """Returns the strongest established difference; with several designs, that of the best
        design.

        Differences in unfinished flows take precedence. If several metrics show the same, job time
        is named rather than the others, because job owners wait for it, and a completion time
        rather than goodput. Metrics of a traffic class are used only if nothing is established for
        all flows.
        """
        established = [d for d in self.established if d.metric.group is None] or self.established
        # A measure without a better direction, such as the cost, is no reason to choose a design.
        established = [d for d in established if d.verdict in (BETTER, WORSE)] or established
        if not established:
            return None
        unfinished = [d for d in established if counts_unfinished(d)]
        if not self.several:
            return max(unfinished, key=weight) if unfinished else foremost(established)
        losing = {d.design for d in unfinished if d.verdict == WORSE}
        better = [d for d in established if d.verdict == BETTER]
        # A gain is no reason to choose a design that loses more in another metric.
        worst = {
            d.design: weight(d) for d in sorted(self.established, key=weight) if d.verdict == WORSE
        }
        sound = [
            d for d in better if d.design not in losing and weight(d) > worst.get(d.design, 0.0)
        ]
        pools = (
            [d for d in better if counts_unfinished(d)],
            sound,
            [d for d in better if d.design not in losing],
            unfinished,
            established,
        )
        pool = next(pool for pool in pools if pool)
        # If jobs finish sooner, job time decides, however much more another metric changes.
        jobs = [d for d in pool if d.metric is JOB_TIME and d.verdict == BETTER and matters(d)]
        return (
            min(jobs, key=lambda d: (d.design_mean, self.prices.get(d.design, 0.0)))
            if jobs
            else foremost(pool, self.prices)
        )

    def equal(self, name: str) -> bool:
        """True if no main measure of a design differs from the baseline's, and none that was asked
        for. Main measures count also if they were not asked for, or are not judged."""
        return all(
            d.verdict == SAME
            for d in self.found.of(name)
            if d.metric.main or d.metric in self.found.asked
        )

    def equals(self, some: Sequence[Difference]) -> list[Words]:
        """Names the designs that do not differ from the baseline at all, and those that are equal
        to it only in some measures: `some` has one difference of each measure and design."""
        names = list(dict.fromkeys(d.design for d in some))
        whole = [name for name in names if self.equal(name)]
        found = []
        if whole:
            items = listed([Words(name, name) for name in whole], DESIGNS)
            found.append(say("compare.others.equal", baseline=self.baseline, items=items))
        groups: dict[tuple[Words | str, ...], list[Words]] = {}
        for name in names:
            if name not in whole:
                what = tuple(what_of(d.metric) for d in some if d.design == name)
                groups.setdefault(what, []).append(Words(name, name))
        return found + [
            say(
                "compare.others.equal.in",
                what=joined(what) if len(what) <= ITEMS else listed(what, ITEMS, (", ", "、")),
                baseline=self.baseline,
                items=listed(items, DESIGNS),
            )
            for what, items in groups.items()
        ]

    def price(self) -> Words:
        """Words the price of the design, or the prices of several."""
        if self.several:
            return circumstances.prices(self.found)
        return circumstances.cost(self.found, self.found.designs[0])

    def of(self, key: str) -> str:
        """Returns the key of the sentence, in the variant that names the design if there are
        several."""
        return f"{key}.of" if self.several else key

    def cannot_tell(self, some: Sequence[Difference], key: str = "compare.open") -> Words:
        """Lists open metrics: those whose means differ most with intervals, the others by name.
        Unfinished flows have a separate sentence."""
        some = [
            d
            for d in some
            if d.metric != UNFINISHED
            and (d.metric.group is None or largest_distance(d) > math.log(NOTABLE))
        ]
        if not some:
            return Words("", "")
        key = self.of(key) if key == "compare.open" else key
        far = [
            d
            for d in sorted(some, key=largest_distance, reverse=True)[:FAR]
            if largest_distance(d) > math.log(NOTABLE)
        ]
        items: list[Words | str]
        items = [
            say(
                "compare.open.item",
                what=what_of(d.metric),
                between=between(d),
                more=seeds_needed(d),
                **changes.values(d),
            )
            for d in far
        ]
        items += [what_of(d.metric) for d in some if d not in far]
        return say(key, design=some[0].design, items=listed(items, len(items)))


def joined(names: Sequence[Words | str]) -> Words:
    """Joins names of metrics within a sentence: `drops, cost and job time`."""
    *first, last = names
    if not first:
        return join([last])
    return join([join(first, (", ", "、")), last], (" and ", "、"))


def counts_unfinished(d: Difference) -> bool:
    return d.metric in (UNFINISHED, JOBS_UNFINISHED)


def foremost(pool: Sequence[Difference], prices: Mapping[str, float] | None = None) -> Difference:
    """Returns the strongest difference in the preferred metric. The design and the verdict are
    those of the strongest difference overall. Job time is preferred, then any metric but goodput.

    If several designs have equal differences, the cheapest is taken.
    """
    strongest = max(pool, key=weight)
    alike = [d for d in pool if (d.design, d.verdict) == (strongest.design, strongest.verdict)]
    of_jobs = [d for d in alike if d.metric is JOB_TIME]
    of_flows = [d for d in alike if not d.metric.name.startswith("goodput")]
    metric = max(of_jobs or of_flows or alike, key=weight).metric
    return max(
        (d for d in pool if d.metric == metric and d.verdict == strongest.verdict),
        key=lambda d: (weight(d), -(prices or {}).get(d.design, 0.0)),
    )


def weight(d: Difference) -> float:
    """Returns the rank of a difference: its ratio, or the amount for counts of unfinished flows."""
    return abs(d.difference) if counts_unfinished(d) else strength(d)


def matters(d: Difference) -> bool:
    """True if an established difference is large enough to act on."""
    return counts_unfinished(d) or strength(d) >= math.log(_TRIFLE)
