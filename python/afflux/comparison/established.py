"""Writes the answer of a comparison in which at least one difference is established."""

import math
from collections.abc import Mapping, Sequence

from ..metrics import COST as PRICE
from ..metrics import JOB_TIME, UNFINISHED
from ..results.statistics import holm
from ..words import Words, say
from . import changes, circumstances
from .findings import (
    ALSO,
    ANSWER,
    COST,
    DESIGNS,
    ITEMS,
    SIZE,
    SURE,
    WHY,
    Findings,
    Part,
    counts_unfinished,
    foremost,
    matters,
    weight,
)
from .paired import (
    BETTER,
    HIGHER,
    LOWER,
    SAME,
    TOO_FEW,
    WORSE,
    Difference,
    compared,
    together,
)
from .phrases import between, change_of, design_item, listed, seeds_needed, short, size, what_of
from .unfinished import Left, never_started


class Established(Findings):
    """The answer that names the strongest established difference."""

    def parts(self) -> list[Part]:
        lead = self.lead()
        assert lead
        several = self.several
        rivals = self._rivals(lead) if several and lead.verdict == BETTER else {}
        parts: list[Part] = []
        if several and lead.verdict == WORSE:
            parts.append((say("compare.none", baseline=self.baseline), ANSWER))
        unfinished = (
            circumstances.unfinished(self.found, [lead.design])
            if lead.metric != UNFINISHED or self._some_never_started(lead)
            else Words("", "")
        )
        if self._concerns_finished(lead):
            parts.append((unfinished, SURE))
        parts += [
            (
                self._answer(lead, rivals),
                SIZE if any(role == ANSWER for _, role in parts) else ANSWER,
            ),
            (
                self._size(lead, "compare.size" if not self.several else "compare.size.short"),
                SIZE,
            ),
        ]
        own = [d for d in self.established if d.design == lead.design and d is not lead]
        parts += [(words, ALSO) for words in self._other_measures(lead, own)]
        if several:
            parts += [
                *((words, ALSO) for words in self._other_designs(lead)),
                (self._second(lead, rivals), SURE),
            ]
        # If the answer recommends none of several designs, it gives the prices of all.
        price = (
            circumstances.prices(self.found)
            if several and lead.verdict == WORSE
            else circumstances.cost(self.found, lead.design)
        )
        parts += [
            (circumstances.causes(self.found, lead), WHY),
            # The answer names the prices already if it is about them.
            (price if lead.metric is not PRICE else Words("", ""), COST),
            (self._beaten_by_price(lead, rivals), COST),
        ]
        parts += [(self._taken_alone([d for d in self.alone if d.design == lead.design]), SURE)]
        parts += [(self.cannot_tell([d for d in self.open if d.design == lead.design]), SURE)]
        if not self._concerns_finished(lead):
            parts.append((unfinished, SURE))
            if any(self._concerns_finished(d) for d in own):
                parts.append((say("compare.finished.only"), SURE))
        return parts

    def _answer(self, lead: Difference, rivals: Mapping[str, Difference]) -> Words:
        if counts_unfinished(lead):
            return say(
                f"compare.{'fewer' if lead.fell else 'more'}.{lead.metric.name}", design=lead.design
            )
        what = self._what(lead)
        if not self.several:
            key = "compare.lower" if lead.fell else "compare.higher"
        elif rivals and self._beaten(rivals) == set(self.found.designs) - {lead.design}:
            key = "compare.lowest" if lead.fell else "compare.highest"
        else:
            key = "compare.below" if lead.fell else "compare.above"
        return say(key, design=lead.design, what=what, baseline=self.baseline)

    def _size(self, d: Difference, key: str = "compare.size") -> Words:
        return say(
            key,
            **self._values(d),
            what=self._what(d),
            design=d.design,
            baseline=self.baseline,
            size=size(d),
        )

    def _values(self, d: Difference) -> dict[str, Words | str]:
        """Returns both values of a difference. Prices have their currency."""
        if d.metric is not PRICE:
            return {**changes.values(d)}
        return {
            "new": circumstances.priced(self.found, d.design_mean),
            "old": circumstances.priced(self.found, d.baseline_mean),
        }

    def _what(self, d: Difference) -> Words | str:
        """Returns the name of the metric. If some flows did not finish, the name says that the
        metric covers finished flows."""
        return (
            say("compare.finished", what=what_of(d.metric))
            if self._concerns_finished(d)
            else what_of(d.metric)
        )

    def _other_measures(self, lead: Difference, own: Sequence[Difference]) -> list[Words]:
        """Words further established differences of the same design. Those that contradict the
        answer come first."""
        # The prices have a sentence of their own.
        own = [d for d in own if d.metric is not PRICE]
        judged = [d for d in own if d.verdict in (BETTER, WORSE) or d.verdict == lead.verdict]
        contrary = [d for d in judged if d.verdict != lead.verdict]
        contrary.sort(key=weight, reverse=True)
        alike = [d for d in judged if d.verdict == lead.verdict]
        plain = [d for d in own if d not in judged]
        neutral = [[d for d in plain if d.verdict == verdict] for verdict in (LOWER, HIGHER)]
        found = []
        first = [d for d in contrary if matters(d) or d.metric is JOB_TIME or not matters(lead)][:1]
        if first:
            found.append(self._size(first[0], self.of(f"compare.but.{first[0].verdict}")))
        for some in ([d for d in contrary if d not in first], alike, *neutral):
            if some:
                found.append(
                    say(
                        self.of(f"compare.also.{some[0].verdict}"),
                        design=lead.design,
                        items=listed([short(d) for d in some], len(some)),
                    )
                )
        return found

    def _other_designs(self, lead: Difference) -> list[Words]:
        """Words the other designs: in the metric of the answer, or by their strongest difference if
        they have no established one in that metric."""
        every = [*self.main, *self.unjudged]
        others = [d for d in every if d.metric == lead.metric and d.design != lead.design]
        own = {
            name: foremost(some)
            for name in self.found.designs
            if (some := [d for d in self.established if d.design == name])
        }
        elsewhere = [own[d.design] for d in others if not d.established and d.design in own]
        left = [d for d in others if not (d.established or d.unjudged or d.design in own)]
        groups = {
            "same-side": [d for d in others if d.established and d.fell == lead.fell],
            "other-side": [d for d in others if d.established and d.fell != lead.fell],
            "else.better": [d for d in elsewhere if d.verdict == BETTER],
            "else.worse": [d for d in elsewhere if d.verdict == WORSE],
            "open": [d for d in left if d.verdict not in (SAME, TOO_FEW)],
            "few": [d for d in left if d.verdict == TOO_FEW],
        }
        equal = [d for d in left if d.verdict == SAME]
        direction = {"same-side": lead.fell, "other-side": not lead.fell}
        found = []
        for name, some in groups.items():
            if name == "few":
                found += self.equals(
                    sorted(equal, key=lambda d: d.design_mean, reverse=not lead.fell)
                )
            if some:
                key = (
                    name
                    if name not in direction
                    else f"{name}.{'lower' if direction[name] else 'higher'}"
                )
                items = [
                    design_item(d, name)
                    for d in sorted(some, key=lambda d: d.design_mean, reverse=not lead.fell)
                ]
                found.append(
                    say(
                        f"compare.others.{key}",
                        baseline=self.baseline,
                        items=listed(items, DESIGNS),
                    )
                )
        return found

    def _rivals(self, lead: Difference) -> dict[str, Difference]:
        """Compares the design of the answer with every other one except the baseline, in the metric
        of the answer."""
        best, designs = self.found.of_name[lead.design], self.found.of_name
        others = [name for name in self.found.designs if name != lead.design]
        found = {
            name: d
            for name in others
            if (d := compared(lead.metric, designs[name], best, best.seeds))
        }
        return dict(zip(found, together(list(found.values())), strict=True))

    @staticmethod
    def _beaten(rivals: Mapping[str, Difference]) -> set[str]:
        """Returns the rivals that the best design clearly beats, all judged together (Holm)."""
        held = holm(
            [0.0 if d.deterministic else 1.0 if d.p is None else d.p for d in rivals.values()]
        )
        return {
            name
            for (name, d), holds in zip(rivals.items(), held, strict=True)
            if holds and d.verdict == BETTER
        }

    def _second(self, lead: Difference, rivals: Mapping[str, Difference]) -> Words:
        """Names the nearest design that the best one does not clearly beat. A design that is even
        better but loses in another metric comes first."""
        beaten = self._beaten(rivals)
        left = [name for name, d in rivals.items() if name not in beaten and not _few(d)]
        for name in left:
            paid = [d for d in self.established if d.design == name and d.verdict == WORSE]
            own = next(
                (
                    d
                    for d in self.main
                    if d.design == name and d.metric == lead.metric and d.established
                ),
                None,
            )
            if rivals[name].verdict == WORSE and own and paid:
                words = {
                    "second": name,
                    "what": self._what(lead),
                    "change": change_of(own),
                    "paid": short(max(paid, key=weight)),
                }
                return say(
                    "compare.second.lower" if lead.fell else "compare.second.higher", **words
                )
        if not left:
            return Words("", "")
        name = min(left, key=lambda name: rivals[name].baseline_mean * (1 if lead.fell else -1))
        d = rivals[name]
        if d.verdict == SAME:
            words = {"design": lead.design, "second": name, "what": self._what(lead)}
            alike = "" if self._alike(lead.design, name) else ".in"
            return say(f"compare.second.same{alike}", **words)
        if d.clear:
            return say(
                "compare.second",
                design=lead.design,
                second=name,
                between=say("compare.only-alone", change=change_of(d)),
                more=seeds_needed(d),
            )
        return say(
            "compare.second",
            design=lead.design,
            second=name,
            between=between(d),
            more=seeds_needed(d),
        )

    def _alike(self, one: str, other: str) -> bool:
        """True if two designs have the same value of every main measure, and of every measure that
        was asked for."""
        metrics = dict.fromkeys(
            d.metric
            for d in self.found.differences
            if d.metric.main or d.metric in self.found.asked
        )
        first, second = (self.found.of_name[name] for name in (one, other))
        found = [compared(metric, first, second, first.seeds) for metric in metrics]
        return all(d is None or d.verdict == SAME for d in found)

    def _beaten_by_price(self, lead: Difference, rivals: Mapping[str, Difference]) -> Words:
        """Names the cheapest of the designs that cost less than the answer's and that it does not
        clearly beat."""
        beaten, prices = self._beaten(rivals), self.prices
        own = prices.get(lead.design, -math.inf)
        cheaper = [
            name
            for name, d in rivals.items()
            if name not in beaten
            and not d.clear
            and not _few(d)
            and prices.get(name, math.inf) < own
        ]
        if not cheaper:
            return Words("", "")
        other = min(cheaper, key=lambda name: prices[name])
        price, less = (
            circumstances.priced(self.found, prices[name]) for name in (lead.design, other)
        )
        return say(
            "compare.beaten",
            design=lead.design,
            price=price,
            other=other,
            less=less,
            what=self._what(lead),
        )

    def _taken_alone(self, some: Sequence[Difference]) -> Words:
        if not some:
            return Words("", "")
        return say(
            self.of("compare.alone"),
            count=self.family,
            design=some[0].design,
            items=listed([short(d) for d in some], ITEMS),
        )

    def _some_never_started(self, d: Difference) -> bool:
        return any(
            never_started(result.summary)
            for name in (self.baseline, d.design)
            for result in self.found.of_name[name].results.values()
        )

    def _concerns_finished(self, d: Difference) -> bool:
        """True if the metric covers only finished flows while other flows did not finish."""
        return _of_finished(d) and any(
            Left.of(self.found.of_name[name]).unfinished for name in (self.baseline, d.design)
        )


def _few(d: Difference) -> bool:
    """True if a difference is not judged, because seeds, flows or jobs are too few, or flows and
    jobs those of another warm-up."""
    return d.verdict == TOO_FEW or d.unjudged


def _of_finished(d: Difference) -> bool:
    return d.metric.path[0] in ("fct", "slowdown")
