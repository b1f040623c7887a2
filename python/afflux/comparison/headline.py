"""Writes the answer of a comparison: the established differences, their size, causes and prices,
and the open questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..metrics import COST as PRICE
from ..metrics import JOB_TIME, JOBS_UNFINISHED, UNFINISHED
from ..results.statistics import ADVISED_SEEDS, CONFIDENCE, ENOUGH_SEEDS, Estimate, holm, student
from ..words import Marked, Words, join, say
from . import changes, circumstances
from .paired import BETTER, SAME, TOO_FEW, UNCLEAR, WORSE, Difference, difference
from .phrases import (
    between,
    change_of,
    decide,
    design_item,
    largest_distance,
    listed,
    paired_seeds,
    samples,
    seeds_needed,
    seeds_needed_sentence,
    short,
    size,
    strength,
    what_of,
)

if TYPE_CHECKING:
    from .compare import Comparison

#: Limits for a sentence: open metrics with their intervals, further metrics, and designs.
_FAR, _ITEMS, _DESIGNS = 2, 4, 6
#: An undecided metric is named if its means differ by at least this factor.
_NOTABLE = 1.1


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


def of(found: Comparison) -> Marked:
    return Marked.of([(words, role == ANSWER) for words, role in parts(found)])


def parts(found: Comparison) -> list[Part]:
    """Returns the sentences of the answer with their roles, in the order of the answer."""
    return _Headline(found).parts()


def lead(found: Comparison) -> Difference | None:
    """Returns the difference that the answer names first, in bold; None if none is established."""
    return _Headline(found).lead()


def _counts_unfinished(d: Difference) -> bool:
    return d.metric in (UNFINISHED, JOBS_UNFINISHED)


def _foremost(pool: Sequence[Difference], prices: Mapping[str, float] | None = None) -> Difference:
    """Returns the strongest difference in the preferred metric. The design and the verdict are
    those of the strongest difference overall. Job time is preferred, then any metric but goodput.

    If several designs have equal differences, the cheapest is taken.
    """
    strongest = max(pool, key=_weight)
    alike = [d for d in pool if (d.design, d.verdict) == (strongest.design, strongest.verdict)]
    of_jobs = [d for d in alike if d.metric is JOB_TIME]
    of_flows = [d for d in alike if not d.metric.name.startswith("goodput")]
    metric = max(of_jobs or of_flows or alike, key=_weight).metric
    return max(
        (d for d in pool if d.metric == metric and d.verdict == strongest.verdict),
        key=lambda d: (_weight(d), -(prices or {}).get(d.design, 0.0)),
    )


class _Headline:
    def __init__(self, found: Comparison) -> None:
        self.found, self.baseline = found, found.baseline
        self.main = sorted(
            (d for d in found.differences if found.judges(d.metric)), key=lambda d: d.metric.rank
        )
        self.established = [d for d in self.main if d.established]
        self.alone = sorted(
            (d for d in self.main if d.clear and not d.established), key=lambda d: d.p or 0.0
        )
        self.open = [d for d in self.main if d.verdict == UNCLEAR]
        self.prices = {d.design: d.design_mean for d in found.differences if d.metric is PRICE}
        #: Number of differences that were judged together.
        self.family = found.family

    def parts(self) -> list[Part]:
        parts: list[Part]
        if not self.main:
            parts = [(say("compare.nothing"), ANSWER)]
        elif self.established:
            parts = self._decided()
        elif all(d.verdict == SAME for d in self.main):
            parts = self._same()
        elif all(d.verdict in (SAME, TOO_FEW) for d in self.main):
            parts = self._few()
        else:
            parts = self._undecided()
        return [part for part in parts if part[0]]

    # The following methods write the answer if at least one difference is established.

    def lead(self) -> Difference | None:
        """Returns the strongest established difference; with several designs, that of the best
        design.

        Differences in unfinished flows take precedence. If several metrics show the same, job time
        is named rather than the others, because job owners wait for it, and a completion time
        rather than goodput. Metrics of a traffic class are used only if nothing is established for
        all flows.
        """
        established = [d for d in self.established if d.metric.group is None] or self.established
        if not established:
            return None
        unfinished = [d for d in established if _counts_unfinished(d)]
        if len(self.found.designs) == 1:
            return max(unfinished, key=_weight) if unfinished else _foremost(established)
        losing = {d.design for d in unfinished if d.verdict == WORSE}
        better = [d for d in established if d.verdict == BETTER]
        # A gain is no reason to choose a design that loses more in another metric.
        worst = {
            d.design: _weight(d)
            for d in sorted(self.established, key=_weight)
            if d.verdict == WORSE
        }
        sound = [
            d for d in better if d.design not in losing and _weight(d) > worst.get(d.design, 0.0)
        ]
        pools = (
            [d for d in better if _counts_unfinished(d)],
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
            else _foremost(pool, self.prices)
        )

    def _decided(self) -> list[Part]:
        lead = self.lead()
        assert lead
        several = len(self.found.designs) > 1
        rivals = self._rivals(lead) if several and lead.verdict == BETTER else {}
        parts: list[Part] = []
        if several and lead.verdict == WORSE:
            parts.append((say("compare.none", baseline=self.baseline), ANSWER))
        unfinished = (
            circumstances.unfinished(self.found, [lead.design])
            if lead.metric != UNFINISHED
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
                self._size(
                    lead, "compare.size" if len(self.found.designs) == 1 else "compare.size.short"
                ),
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
            (price, COST),
            (self._beaten_by_price(lead, rivals), COST),
        ]
        parts += [(self._taken_alone([d for d in self.alone if d.design == lead.design]), SURE)]
        parts += [(self._cannot_tell([d for d in self.open if d.design == lead.design]), SURE)]
        if not self._concerns_finished(lead):
            parts.append((unfinished, SURE))
            if any(self._concerns_finished(d) for d in own):
                parts.append((say("compare.finished.only"), SURE))
        return parts

    def _answer(self, lead: Difference, rivals: Mapping[str, Difference]) -> Words:
        if _counts_unfinished(lead):
            return say(
                f"compare.{'fewer' if lead.fell else 'more'}.{lead.metric.name}", design=lead.design
            )
        what = self._what(lead)
        if len(self.found.designs) == 1:
            key = "compare.lower" if lead.fell else "compare.higher"
        elif rivals and self._beaten(rivals) == set(self.found.designs) - {lead.design}:
            key = "compare.lowest" if lead.fell else "compare.highest"
        else:
            key = "compare.below" if lead.fell else "compare.above"
        return say(key, design=lead.design, what=what, baseline=self.baseline)

    def _size(self, d: Difference, key: str = "compare.size") -> Words:
        return say(
            key,
            **changes.values(d),
            what=self._what(d),
            design=d.design,
            baseline=self.baseline,
            size=size(d),
        )

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
        contrary = sorted((d for d in own if d.verdict != lead.verdict), key=_weight, reverse=True)
        alike = [d for d in own if d.verdict == lead.verdict]
        found = []
        first = [d for d in contrary if matters(d) or d.metric is JOB_TIME or not matters(lead)][:1]
        if first:
            found.append(self._size(first[0], self._of(f"compare.but.{first[0].verdict}")))
        for some in ([d for d in contrary if d not in first], alike):
            if some:
                found.append(
                    say(
                        self._of(f"compare.also.{some[0].verdict}"),
                        design=lead.design,
                        items=listed([short(d) for d in some], len(some)),
                    )
                )
        return found

    def _of(self, key: str) -> str:
        """Returns the key of the sentence, in the variant that names the design if there are
        several."""
        return f"{key}.of" if len(self.found.designs) > 1 else key

    def _other_designs(self, lead: Difference) -> list[Words]:
        """Words the other designs: in the metric of the answer, or by their strongest difference if
        they have no established one in that metric."""
        others = [d for d in self.main if d.metric == lead.metric and d.design != lead.design]
        own = {
            name: _foremost(some)
            for name in self.found.designs
            if (some := [d for d in self.established if d.design == name])
        }
        elsewhere = [own[d.design] for d in others if not d.established and d.design in own]
        left = [d for d in others if not d.established and d.design not in own]
        groups = {
            "same-side": [d for d in others if d.established and d.fell == lead.fell],
            "other-side": [d for d in others if d.established and d.fell != lead.fell],
            "else.better": [d for d in elsewhere if d.verdict == BETTER],
            "else.worse": [d for d in elsewhere if d.verdict == WORSE],
            "open": [d for d in left if d.verdict not in (SAME, TOO_FEW)],
            "equal": [d for d in left if d.verdict == SAME],
            "few": [d for d in left if d.verdict == TOO_FEW],
        }
        direction = {"same-side": lead.fell, "other-side": not lead.fell}
        found = []
        for name, some in groups.items():
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
                        items=listed(items, _DESIGNS),
                    )
                )
        return found

    def _rivals(self, lead: Difference) -> dict[str, Difference]:
        """Compares the design of the answer with every other one except the baseline, in the metric
        of the answer."""
        best, designs = self.found.of_name[lead.design], self.found.of_name
        others = [name for name in self.found.designs if name != lead.design]
        return {
            name: d
            for name in others
            if (d := difference(lead.metric, designs[name], best, best.seeds))
        }

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
        left = [name for name, d in rivals.items() if name not in beaten and d.verdict != TOO_FEW]
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
                    "paid": short(max(paid, key=_weight)),
                }
                return say(
                    "compare.second.lower" if lead.fell else "compare.second.higher", **words
                )
        if not left:
            return Words("", "")
        name = min(left, key=lambda name: rivals[name].baseline_mean * (1 if lead.fell else -1))
        d = rivals[name]
        if d.verdict == SAME:
            return say("compare.second.same", design=lead.design, second=name)
        if d.clear:
            return say(
                "compare.second",
                design=lead.design,
                second=name,
                between=say("compare.only-alone", change=change_of(d)),
                more="",
            )
        return say(
            "compare.second",
            design=lead.design,
            second=name,
            between=between(d),
            more=seeds_needed(d),
        )

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
            and d.verdict != TOO_FEW
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

    # The following methods write the answer if no difference is established.

    def _undecided(self) -> list[Part]:
        """Words the open metrics, and the differences that are clear only when judged alone. The
        more important of the two groups comes first."""
        names = self.found.designs
        several = len(names) > 1
        opened = self._open_several() if several else self._open_one()
        blocks = [self._clear_alone(several), opened]
        if self.open and self.alone and self.open[0].metric.rank < self.alone[0].metric.rank:
            blocks.reverse()
        if self.alone and not several and blocks[1] is opened:
            blocks[1] = [self._cannot_tell(self.open)]
        key = "compare.undecided.several" if several else "compare.undecided"
        asked = join([what_of(metric) for metric in self.found.asked], (", ", "、"))
        key += ".asked" if asked else ""
        said = [
            circumstances.unfinished(self.found, names),
            *blocks[0],
            *blocks[1],
            self._without_seeds(),
        ]
        counters = Words("", "") if self.alone else self._only_counters("compare.counters")
        prices = (
            circumstances.prices(self.found)
            if several
            else circumstances.cost(self.found, names[0])
        )
        answer = say(key, design=names[0], baseline=self.baseline, what=asked)
        return [
            (answer, ANSWER),
            *((words, SURE) for words in said),
            (counters, WHY),
            (prices, COST),
        ]

    def _clear_alone(self, several: bool) -> list[Words]:
        if not self.alone:
            return []
        first, *rest = self.alone
        words = {
            "design": first.design,
            "what": what_of(first.metric),
            "baseline": self.baseline,
            **changes.values(first),
        }
        found = [
            say("compare.alone.first", count=self.family, size=size(first), **words),
            decide(self._needed_together(first)),
        ]
        if rest:
            found.append(
                say(
                    "compare.alone.rest",
                    items=listed([short(d, with_design=several) for d in rest], _ITEMS),
                )
            )
        return found

    def _open_one(self) -> list[Words]:
        if not self.open:
            return []
        first, *rest = self.open
        words = {
            "design": first.design,
            "what": what_of(first.metric),
            "baseline": self.baseline,
            **changes.values(first),
        }
        opened = say(
            "compare.open.first", between=between(first), seeds=paired_seeds(first), **words
        )
        return [
            opened,
            seeds_needed_sentence(first),
            self._cannot_tell(rest, "compare.open.either"),
        ]

    def _open_several(self) -> list[Words]:
        """Words, for every design, the most important open metric and the one in which the designs
        differ most."""
        metrics = list(dict.fromkeys(d.metric for d in self.open))
        most = max(
            (d for d in self.open if d.metric != UNFINISHED), key=largest_distance, default=None
        )
        chosen = dict.fromkeys(
            [
                *metrics[:1],
                *([most.metric] if most and largest_distance(most) > math.log(_NOTABLE) else []),
            ]
        )
        found = []
        for metric in chosen:
            items = [design_item(d, "open", full=True) for d in self.open if d.metric == metric]
            found.append(
                say(
                    "compare.open.several",
                    what=what_of(metric),
                    baseline=self.baseline,
                    items=listed(items, _DESIGNS),
                )
            )
        return found

    def _without_seeds(self) -> Words:
        few = [
            name
            for name in self.found.designs
            if {d.verdict for d in self.main if d.design == name} <= {SAME, TOO_FEW}
        ]
        few = [
            name for name in few if any(d.verdict == TOO_FEW for d in self.main if d.design == name)
        ]
        return say("compare.others.few", items=listed(few, _DESIGNS)) if few else Words("", "")

    def _needed_together(self, d: Difference) -> int | None:
        """Returns the number of further seeds that would establish a difference in the strictest
        step of Holm's method; None if it is unknown."""
        if not d.p or d.samples < ENOUGH_SEEDS:
            return None
        effect = student(d.samples - 1, 1 - d.p) / math.sqrt(d.samples)
        size = Estimate(effect, 1.0, d.samples).decided_by((1 - CONFIDENCE) / self.family)
        return size - d.samples if size and size > d.samples else None

    def _same(self) -> list[Part]:
        names = self.found.designs
        hashes = {
            tuple(
                result.summary.get("result_hash")
                for result in self.found.of_name[name].results.values()
            )
            for name in (self.baseline, *names)
        }
        identical = len(hashes) == 1 and all(next(iter(hashes)))
        certain = all(d.deterministic for d in self.main)
        every = samples(min(d.samples for d in self.main), certain)
        key = "compare.same" if len(names) == 1 else "compare.same.several"
        parts = [(say(key, design=names[0], baseline=self.baseline), ANSWER)]
        parts.append(
            (say("compare.same.flows" if identical else "compare.same.measures", seeds=every), SURE)
        )
        parts += [
            (self._only_counters("compare.same.counters"), WHY),
            (circumstances.unfinished(self.found, names), SURE),
        ]
        parts += [
            (
                circumstances.cost(self.found, names[0])
                if len(names) == 1
                else circumstances.prices(self.found),
                COST,
            )
        ]
        return parts

    def _few(self) -> list[Part]:
        names = self.found.designs
        few = [d for d in self.main if d.verdict == TOO_FEW]
        seeds = max(d.samples for d in few)
        answer = say("compare.few.one") if seeds == 1 else say("compare.few", seeds=seeds)
        parts = [(answer, ANSWER), (circumstances.unfinished(self.found, names), SURE)]
        for name in names[:_DESIGNS]:
            of_design = [d for d in few if d.design == name and not _counts_unfinished(d)]
            most = sorted(of_design[1:], key=largest_distance, reverse=True)[:1]
            shown = of_design[:1] + [d for d in most if largest_distance(d) > math.log(_NOTABLE)]
            items = [
                say("compare.few.item", what=what_of(d.metric), **changes.values(d)) for d in shown
            ]
            if items:
                parts.append(
                    (
                        say(
                            "compare.few.design",
                            design=name,
                            baseline=self.baseline,
                            items=listed(items, _ITEMS),
                        ),
                        SIZE,
                    )
                )
        parts.append(
            (
                circumstances.cost(self.found, names[0])
                if len(names) == 1
                else circumstances.prices(self.found),
                COST,
            )
        )
        parts.append((say("compare.few.run", enough=ENOUGH_SEEDS, advised=ADVISED_SEEDS), ADVICE))
        return parts

    def _taken_alone(self, some: Sequence[Difference]) -> Words:
        if not some:
            return Words("", "")
        return say(
            self._of("compare.alone"),
            count=self.family,
            design=some[0].design,
            items=listed([short(d) for d in some], _ITEMS),
        )

    def _cannot_tell(self, some: Sequence[Difference], key: str = "compare.open") -> Words:
        """Lists open metrics: those whose means differ most with intervals, the others by name.
        Unfinished flows have a separate sentence."""
        some = [
            d
            for d in some
            if d.metric != UNFINISHED
            and (d.metric.group is None or largest_distance(d) > math.log(_NOTABLE))
        ]
        if not some:
            return Words("", "")
        key = self._of(key) if key == "compare.open" else key
        far = [
            d
            for d in sorted(some, key=largest_distance, reverse=True)[:_FAR]
            if largest_distance(d) > math.log(_NOTABLE)
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

    def _only_counters(self, key: str) -> Words:
        clear = [
            d for d in self.found.differences if d.metric.counter and not d.metric.main and d.clear
        ]
        several = len(self.found.designs) > 1
        items = [short(d, with_design=several) for d in clear]
        return say(key, items=listed(items, _ITEMS)) if items else Words("", "")

    def _concerns_finished(self, d: Difference) -> bool:
        """True if the metric covers only finished flows while other flows did not finish."""
        return _of_finished(d) and any(
            circumstances.left_unfinished(self.found, name) for name in (self.baseline, d.design)
        )


def _weight(d: Difference) -> float:
    """Returns the rank of a difference: its ratio, or the amount for counts of unfinished flows."""
    return abs(d.difference) if _counts_unfinished(d) else strength(d)


def matters(d: Difference) -> bool:
    """True if an established difference is large enough to act on."""
    return _counts_unfinished(d) or strength(d) >= math.log(_TRIFLE)


def _of_finished(d: Difference) -> bool:
    return d.metric.path[0] in ("fct", "slowdown")
