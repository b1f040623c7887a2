"""Compares designs with a baseline, paired by seed. With the same seed both saw the same arrivals,
so the design causes the difference."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..metrics import COST, Metric, named
from ..results.designs import Design, Designs, gather
from ..results.result import Result
from ..results.statistics import ADVISED_SEEDS, CONFIDENCE, ENOUGH_SEEDS, holm, mean
from ..words import Marked, Words, say, text
from . import headline, shown
from .paired import Difference, Pairs, difference, more_seeds, next_level
from .unfinished import counted

#: Mean completion time that the flows would have alone in the fabric, and the largest relative
#: difference of it at which slowdowns of two designs are compared.
_ALONE = Metric("ideal", "alone", ("slowdown", "all", "ideal_mean_ns"), text.time)
_SAME_ALONE = 0.01


@dataclass(frozen=True)
class Comparison:
    """The differences of every design from the baseline, as `compare` returns them."""

    #: Name of the baseline.
    baseline: str
    #: Names of the other designs.
    designs: tuple[str, ...]
    #: Differences by design, then by metric.
    differences: tuple[Difference, ...]
    #: Limits of the comparison, one sentence each.
    notes: tuple[str, ...]
    #: Currency of the costs; None without prices.
    currency: str | None
    #: The designs with their results.
    of_name: Designs
    #: Metrics that were asked for. If empty, the answer uses the main metrics.
    asked: tuple[Metric, ...] = ()
    #: Number of differences that were judged together (Holm): those in the main metrics and in the
    #: metrics asked for.
    family: int = 0

    def judges(self, metric: Metric) -> bool:
        """True if the metric can be part of the answer."""
        return metric in self.asked if self.asked else metric.main

    def of(self, design: str) -> list[Difference]:
        """Returns the differences of one design."""
        return [difference for difference in self.differences if difference.design == design]

    def to_dict(self) -> dict[str, Any]:
        """Returns the comparison as `afflux compare --json` prints it."""
        return {
            "baseline": self.baseline,
            "designs": list(self.designs),
            "answer": str(self.sentence()),
            "currency": self.currency,
            "judged_together": self.family,
            "differences": [difference.to_dict() for difference in self.differences],
            "notes": list(self.notes),
        }

    def sentence(self) -> Marked:
        """Returns the answer as text: the strongest established difference first, then its causes,
        price and certainty."""
        return headline.of(self)

    def __repr__(self) -> str:
        return shown.card(self).text()

    def _repr_html_(self) -> str:
        return shown.card(self).html()


def compare(
    results: Designs | Iterable[Result | str | os.PathLike[str]],
    baseline: str | None = None,
    *,
    metrics: Sequence[str | Metric] = (),
) -> Comparison:
    """Compares each design with the baseline, which is the name of a design (default: the first).

    Results of one scenario name are one design with several seeds. `metrics` limits the answer to
    some metrics, by names such as `class.web.fct_p99`. All main metrics are judged together with
    them, so a difference is as certain as in a comparison of everything. Raises `ValueError` if
    there is nothing to compare or the results are of several versions of afflux, and `LookupError`
    if there is no such metric.
    """
    asked = tuple(metric if isinstance(metric, Metric) else named(metric) for metric in metrics)
    designs = counted(gather(results))
    base = designs[baseline] if baseline is not None else next(iter(designs.values()))
    others = [design for design in designs.values() if design.name != base.name]
    if not others:
        raise ValueError(
            f"there is only one design, {base.name!r}: results with the same scenario name are one design; add results of another design"
        )
    notes: list[str] = []
    found: list[Difference] = []
    for design in others:
        pairs = Pairs.of(base, design)
        if not pairs.samples:
            raise ValueError(
                f"{design.name!r} and {base.name!r} have no seed in common: run both with the same seeds"
            )
        notes += _remarks(pairs, base, design)
        known = designs.metrics()
        known += [metric for metric in asked if metric not in known]
        alone = [
            mean(list(one.by_seed(_ALONE).values()))
            for one in (base, design)
            if one.by_seed(_ALONE)
        ]
        if len(alone) == 2 and abs(alone[1] / alone[0] - 1) > _SAME_ALONE:
            # For equal completion times the slower fabric would show the lower slowdown.
            known = [metric for metric in known if metric.path[0] != "slowdown"]
            times = [text.time(time) for time in alone]
            notes.append(
                say(
                    "compare.note.alone.differs",
                    design=design.name,
                    baseline=base.name,
                    new=times[1],
                    old=times[0],
                )
            )
        found += [d for metric in known if (d := difference(metric, base, design, pairs.seeds))]
    censored = [
        design.name
        for design in designs.values()
        if any(result.summary["fct"]["all"]["censored"] for result in design.results.values())
    ]
    if censored:
        notes.append(say("compare.note.censored", designs=", ".join(censored)))
    currencies = {
        result.summary["cost"]["currency"]
        for design in designs.values()
        for result in design.results.values()
        if result.summary.get("cost")
    }
    if len(currencies) > 1:
        notes.append(say("compare.note.currencies", currencies=", ".join(sorted(currencies))))
        found = [d for d in found if d.metric is not COST]
    currency = currencies.pop() if len(currencies) == 1 else None
    if missing := [metric.name for metric in asked if not any(d.metric == metric for d in found)]:
        raise LookupError(
            f"no design and {base.name!r} both have {missing[0]}: the results have {', '.join(metric.name for metric in designs.metrics())}"
        )
    found, family = _together(found, asked)
    if (judged := sum(d.p is not None and d.samples >= ENOUGH_SEEDS for d in found)) > 1:
        notes.append(
            say("compare.note.many", judged=judged, false=f"{(1 - CONFIDENCE) * judged:.1f}")
        )
    return Comparison(
        base.name,
        tuple(design.name for design in others),
        tuple(found),
        (*designs.notes, *notes),
        currency,
        designs,
        asked,
        family,
    )


def _remarks(pairs: "Pairs", base: Design, design: Design) -> list[Words]:
    """Returns notes on the pairing of two designs."""
    if pairs.deterministic:
        return [say("compare.note.deterministic", design=design.name, baseline=base.name)]
    remarks = []
    if pairs.alone:
        seeds = say(
            "seed.many" if len(pairs.alone) > 1 else "seed.one",
            seeds=", ".join(map(str, pairs.alone)),
        )
        remarks.append(say("compare.note.alone", design=design.name, seeds=seeds))
    samples = len(pairs.samples)
    if samples < len(pairs.seeds):
        remarks.append(
            say(
                "compare.note.equal",
                design=design.name,
                baseline=base.name,
                seeds=len(pairs.seeds),
                samples=samples,
            )
        )
    if samples < ENOUGH_SEEDS:
        few = say("seeds.one" if samples == 1 else "seeds.many", count=samples)
        remarks.append(
            say(
                "compare.note.few",
                design=design.name,
                seeds=few,
                enough=ENOUGH_SEEDS,
                advised=ADVISED_SEEDS,
            )
        )
    return remarks


def _together(found: Sequence[Difference], asked: Sequence[Metric]) -> tuple[list[Difference], int]:
    """Marks the differences in the main metrics and in those asked for that hold when judged
    together (Holm), and says how many further seeds would decide the others. Returns all
    differences, and how many were judged together."""
    main = [d for d in found if d.metric.main or d.metric in asked]
    family = [d for d in main if d.p is not None and d.samples >= ENOUGH_SEEDS]
    chances = [d.p or 0.0 for d in family]
    held = {id(d) for d, holds in zip(family, holm(chances), strict=True) if holds}
    judged, level = {id(d) for d in main}, next_level(chances)

    def made(d: Difference) -> Difference:
        if id(d) not in judged:
            return d
        established = d.clear and (d.deterministic or id(d) in held)
        missing = None if established else more_seeds(d, level)
        return replace(d, established=established, seeds_to_decide=missing)

    return [made(d) for d in found], len(family)
