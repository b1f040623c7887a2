"""Writes the answer of a comparison in which no difference is established."""

import math

from ..metrics import COST as PRICE
from ..metrics import UNFINISHED
from ..results.statistics import ADVISED_SEEDS, ENOUGH_SEEDS
from ..words import Words, join, say
from . import changes, circumstances
from .findings import (
    ADVICE,
    ANSWER,
    COST,
    DESIGNS,
    ITEMS,
    NOTABLE,
    SIZE,
    SURE,
    WHY,
    Findings,
    Part,
    counts_unfinished,
    joined,
)
from .paired import SAME, TOO_FEW, Difference
from .phrases import (
    between,
    decide,
    design_item,
    largest_distance,
    listed,
    paired_seeds,
    samples,
    seeds_needed_sentence,
    short,
    size,
    what_of,
)


class Undecided(Findings):
    """The answer that says what is the same and what is open."""

    def parts(self) -> list[Part]:
        if all(d.verdict == SAME for d in self.main):
            return self._same()
        if all(d.verdict in (SAME, TOO_FEW) for d in self.main):
            return self._few()
        return self._open()

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
        # Measures that were not asked for, or are not judged, may differ. Notes name the latter.
        asked = bool(self.found.asked) and not (identical and all(map(self.equal, names)))
        judged = not asked and not all(map(self.equal, names))
        key = "compare.same.several" if self.several else "compare.same"
        key += ".in" if asked else ".judged" if judged else ""
        metrics = dict.fromkeys(d.metric for d in self.main)
        equal = joined([what_of(metric) for metric in metrics])
        what = "compare.same.flows" if identical else "compare.same.measures"
        what = "compare.same.values" if asked and not identical else what
        # Prices do not depend on the seed.
        drawn = any(metric is not PRICE for metric in metrics)
        return [
            (say(key, design=names[0], baseline=self.baseline, what=equal), ANSWER),
            (say(what, seeds=every) if drawn or identical else Words("", ""), SURE),
            (self._only_counters("compare.same.counters"), WHY),
            (circumstances.unfinished(self.found, names), SURE),
            (self.price(), COST),
        ]

    def _few(self) -> list[Part]:
        names = self.found.designs
        few = [d for d in self.main if d.verdict == TOO_FEW]
        seeds = max(d.samples for d in few)
        answer = say("compare.few.one") if seeds == 1 else say("compare.few", seeds=seeds)
        parts = [(answer, ANSWER), (circumstances.unfinished(self.found, names), SURE)]
        for name in names[:DESIGNS]:
            of_design = [d for d in few if d.design == name and not counts_unfinished(d)]
            most = sorted(of_design[1:], key=largest_distance, reverse=True)[:1]
            shown = of_design[:1] + [d for d in most if largest_distance(d) > math.log(NOTABLE)]
            items = [
                say("compare.few.item", what=what_of(d.metric), **changes.values(d)) for d in shown
            ]
            if items:
                words = {"baseline": self.baseline, "items": listed(items, ITEMS)}
                parts.append((say("compare.few.design", design=name, **words), SIZE))
        return [
            *parts,
            *((words, SURE) for words in self._equal()),
            (self.price(), COST),
            (say("compare.few.run", enough=ENOUGH_SEEDS, advised=ADVISED_SEEDS), ADVICE),
        ]

    def _open(self) -> list[Part]:
        """Words the open metrics, and the differences that are clear only when judged alone. The
        more important of the two groups comes first."""
        names = self.found.designs
        opened = self._open_several() if self.several else self._open_one()
        blocks = [self._clear_alone(), opened]
        if self.open and self.alone and self.open[0].metric.rank < self.alone[0].metric.rank:
            blocks.reverse()
        if self.alone and not self.several and blocks[1] is opened:
            blocks[1] = [self.cannot_tell(self.open)]
        key = "compare.undecided.several" if self.several else "compare.undecided"
        judged = {d.metric for d in self.main}
        asked = join(
            [what_of(metric) for metric in self.found.asked if metric in judged], (", ", "、")
        )
        key += ".asked" if asked else ""
        said = [
            circumstances.unfinished(self.found, names),
            *blocks[0],
            *blocks[1],
            *self._equal(),
            self._without_seeds(),
        ]
        counters = Words("", "") if self.alone else self._only_counters("compare.counters")
        answer = say(key, design=names[0], baseline=self.baseline, what=asked)
        return [
            (answer, ANSWER),
            *((words, SURE) for words in said),
            (counters, WHY),
            (self.price(), COST),
        ]

    def _clear_alone(self) -> list[Words]:
        if not self.alone:
            return []
        first, *rest = self.alone
        words = self._values(first)
        found = [
            say("compare.alone.first", count=self.family, size=size(first), **words),
            decide(first.seeds_to_decide),
        ]
        if rest:
            found.append(
                say(
                    "compare.alone.rest",
                    items=listed([short(d, with_design=self.several) for d in rest], ITEMS),
                )
            )
        return found

    def _values(self, d: Difference) -> dict[str, Words | str]:
        return {
            "design": d.design,
            "what": what_of(d.metric),
            "baseline": self.baseline,
            **changes.values(d),
        }

    def _open_one(self) -> list[Words]:
        if not self.open:
            return []
        first, *rest = self.open
        words = self._values(first)
        opened = say(
            "compare.open.first", between=between(first), seeds=paired_seeds(first), **words
        )
        return [
            opened,
            seeds_needed_sentence(first),
            self.cannot_tell(rest, "compare.open.either"),
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
                *([most.metric] if most and largest_distance(most) > math.log(NOTABLE) else []),
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
                    items=listed(items, DESIGNS),
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
        return say("compare.others.few", items=listed(few, DESIGNS)) if few else Words("", "")

    def _equal(self) -> list[Words]:
        """Words, of several designs, those that are equal to the baseline in every measure that is
        judged."""
        verdicts = {
            name: {d.verdict for d in self.main if d.design == name} for name in self.found.designs
        }
        return self.equals([d for d in self.main if verdicts[d.design] == {SAME}])

    def _only_counters(self, key: str) -> Words:
        clear = [
            d for d in self.found.differences if d.metric.counter and not d.metric.main and d.clear
        ]
        items = [short(d, with_design=self.several) for d in clear]
        return say(key, items=listed(items, ITEMS)) if items else Words("", "")
