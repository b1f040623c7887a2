"""Differences between designs, paired over seeds: both saw the same arrivals, so what differs is the design."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import doubts
from .designs import Design, Designs, gather
from .metrics import COST, JOB_TIME, SLOWDOWN_P99, Metric
from .result import Result
from .statistics import ENOUGH_SEEDS, interval, mean
from .words import Words, join, said, say

BETTER, WORSE, LOWER, HIGHER, SAME = "better", "worse", "lower", "higher", "same"
UNCLEAR, TOO_FEW = "cannot tell", "too few seeds"


@dataclass(frozen=True)
class Difference:
    """A design's metric less the baseline's, the mean over the seeds that both have."""

    metric: Metric
    design: str
    seeds: int
    baseline_mean: float
    design_mean: float
    difference: float
    #: None with one seed.
    low: float | None
    high: float | None
    #: The same as a share of the baseline's mean; None if that is 0.
    share: float | None
    share_low: float | None
    share_high: float | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"metric": self.metric.name}


@dataclass(frozen=True)
class Comparison:
    baseline: str
    designs: tuple[str, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    #: Of costs, if there are prices.
    currency: str | None = None

    def of(self, design: str) -> list[Difference]:
        return [difference for difference in self.differences if difference.design == design]

    def to_dict(self) -> dict[str, Any]:
        return {
            "baseline": self.baseline,
            "designs": list(self.designs),
            "answer": self.sentence(),
            "currency": self.currency,
            "differences": [difference.to_dict() for difference in self.differences],
            "notes": list(self.notes),
        }

    def sentence(self) -> Words:
        """The answer in words, by job time if there are jobs, else by the slowdown of the slowest hundredth of flows; and what it costs."""
        main = [d for metric in (JOB_TIME, SLOWDOWN_P99) for d in self.differences if d.metric == metric]
        main = [d for d in main if d.metric == main[0].metric]
        prices = [d for d in self.differences if d.metric is COST and d.verdict != SAME]
        return join([*(_sentence(d, self.baseline) for d in main), *(self._price(d) for d in prices)])

    def _price(self, d: Difference) -> Words:
        unit = f" {self.currency}" if self.currency else ""
        new, old = (f"{d.metric.show(value)}{unit}" for value in (d.design_mean, d.baseline_mean))
        share = say("compare.share", share=f"{100 * d.share:+.1f}") if d.share is not None else ""
        return say("compare.price", new=new, design=d.design, old=old, baseline=self.baseline, share=share)


def compare(results: Designs | Iterable[Result | str | os.PathLike[str]], baseline: str | None = None) -> Comparison:
    """Each design against the baseline, a design's name (by default the first).

    Results of one scenario name are one design with several seeds. Raises `ValueError` if there is nothing to compare.
    """
    designs = gather(results)
    base = designs[baseline] if baseline is not None else next(iter(designs.values()))
    others = [design for design in designs.values() if design.name != base.name]
    if not others:
        raise ValueError(
            f"there is only one design, {base.name!r}: results of one scenario name are one design with several seeds; name results of another too"
        )
    notes: list[str] = [*doubts.of(result for design in designs.values() for result in design.results.values())]
    found: list[Difference] = []
    for design in others:
        paired = [seed for seed in base.seeds if seed in design.results]
        alone = sorted({*base.seeds, *design.seeds} - {*paired})
        if not paired:
            raise ValueError(f"{design.name!r} and {base.name!r} have no seed in common: run both with the same seeds")
        if alone:
            notes.append(
                say("compare.note.alone", design=design.name, seeds=say("seed.many" if len(alone) > 1 else "seed.one", seeds=", ".join(map(str, alone))))
            )
        if len(paired) < ENOUGH_SEEDS:
            few = say("seeds.one" if len(paired) == 1 else "seeds.many", count=len(paired))
            notes.append(say("compare.note.few", design=design.name, seeds=few, enough=ENOUGH_SEEDS))
        found += [d for metric in designs.metrics() if (d := difference(metric, base, design, paired))]
    for design in designs.values():
        if any(result.summary["fct"]["all"]["censored"] for result in design.results.values()):
            notes.append(say("compare.note.censored", design=design.name))
    currencies = {result.summary["cost"]["currency"] for design in designs.values() for result in design.results.values() if result.summary.get("cost")}
    if len(currencies) > 1:
        notes.append(say("compare.note.currencies", currencies=", ".join(sorted(currencies))))
        found = [d for d in found if d.metric is not COST]
    currency = currencies.pop() if len(currencies) == 1 else None
    return Comparison(base.name, tuple(design.name for design in others), tuple(found), tuple(notes), currency)


def difference(metric: Metric, base: Design, design: Design, seeds: Sequence[int]) -> Difference | None:
    """None if the metric is not known on both sides for any of the seeds."""
    before, after = base.by_seed(metric), design.by_seed(metric)
    pairs = [(before[seed], after[seed]) for seed in seeds if seed in before and seed in after]
    if not pairs:
        return None
    low, high = interval(pairs, _mean_difference) or (None, None)
    positive = all(old > 0 for old, _ in pairs)
    shares = interval(pairs, _share) if positive else None
    share_low, share_high = shares or (None, None)
    old_mean, new_mean = mean([old for old, _ in pairs]), mean([new for _, new in pairs])
    share = _share(pairs) if old_mean > 0 else None
    verdict = _verdict(metric, pairs, low, high)
    return Difference(metric, design.name, len(pairs), old_mean, new_mean, _mean_difference(pairs), low, high, share, share_low, share_high, verdict)


def _mean_difference(pairs: Sequence[tuple[float, float]]) -> float:
    return mean([new - old for old, new in pairs])


def _share(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(new for _, new in pairs) / sum(old for old, _ in pairs) - 1


def _verdict(metric: Metric, pairs: Sequence[tuple[float, float]], low: float | None, high: float | None) -> str:
    if all(new == old for old, new in pairs):
        return SAME
    # A price is no sample.
    if metric is not COST and (len(pairs) < ENOUGH_SEEDS or low is None or high is None):
        return TOO_FEW
    if metric is not COST and low is not None and high is not None and low <= 0 <= high:
        return UNCLEAR
    fell = _mean_difference(pairs) < 0
    if metric.lower_is_better is None:
        return LOWER if fell else HIGHER
    return BETTER if fell == metric.lower_is_better else WORSE


def _sentence(d: Difference, baseline: str) -> Words:
    words = {
        "what": said(f"metric.{d.metric.name}", d.metric.title),
        "design": d.design,
        "baseline": baseline,
        "new": d.metric.show(d.design_mean),
        "old": d.metric.show(d.baseline_mean),
        "seeds": d.seeds,
    }
    if d.verdict == SAME:
        return say("compare.same", value=d.metric.show(d.design_mean), **words)
    if d.verdict == TOO_FEW:
        return say("compare.few.one" if d.seeds == 1 else "compare.few", **words)
    if d.verdict == UNCLEAR:
        return say("compare.unclear", **words)
    by = say("compare.by", share=f"{100 * abs(d.share):.1f}") if d.share is not None else ""
    bounds = () if d.share_low is None or d.share_high is None else (d.share_low, d.share_high)
    within = say("compare.within", low=f"{100 * bounds[0]:+.1f}", high=f"{100 * bounds[1]:+.1f}") if bounds else ""
    return say("compare.lower" if d.difference < 0 else "compare.higher", by=by, within=within, **words)
