"""Compares designs with a baseline, paired by seed. With the same seed both saw the same arrivals,
so the design causes the difference."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..metrics import COST, Metric, named
from ..results import percentiles
from ..results.designs import Design, Designs, gather
from ..results.result import Result
from ..results.statistics import ADVISED_SEEDS, CONFIDENCE, ENOUGH_SEEDS, holm, mean
from ..words import Marked, Words, join, said, say, text
from . import headline, shown
from .paired import Difference, Pairs, compared, more_seeds, next_level, warmup
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

    def covers(self, metric: Metric) -> bool:
        """True if the answer is about the metric, unless the metric is not judged."""
        return metric in self.asked if self.asked else metric.main

    def judges(self, metric: Metric) -> bool:
        """True if the metric can be part of the answer. A percentile of too few flows or jobs
        cannot, nor can a measure after different warm-ups."""
        of_metric = [d for d in self.differences if d.metric == metric]
        return self.covers(metric) and not (of_metric and all(d.unjudged for d in of_metric))

    def of(self, design: str) -> list[Difference]:
        """Returns the differences of one design."""
        return [difference for difference in self.differences if difference.design == design]

    def between(self, metric: Metric, design: str) -> Difference | None:
        """Returns the difference of one design in any metric, also one that the comparison does not
        contain. None if it leaves the metric out on purpose: costs in several currencies, and
        slowdowns on different fabrics."""
        own = self.of(design)
        if found := next((d for d in own if d.metric.name == metric.name), None):
            return found
        if metric is COST:
            return None
        if metric.path[0] == "slowdown" and not any(d.metric.path[0] == "slowdown" for d in own):
            return None
        base = self.of_name[self.baseline]
        return compared(metric, base, self.of_name[design], base.seeds)

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
    some metrics, by names such as `job_time` or `class.web.fct_p99`. All main metrics are judged
    together with them, so a difference is as certain as in a comparison of everything. A percentile
    of which a run has too few flows or jobs is not judged, and neither is a measure of the flows
    after the warm-up if the warm-ups differ. Raises `ValueError` if there is nothing to compare or
    the results are of several versions of afflux, and `LookupError` if there is no such metric.
    """
    # Short names of one metric are the same one.
    asked = tuple(
        dict.fromkeys(metric if isinstance(metric, Metric) else named(metric) for metric in metrics)
    )
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
        if alone := _alone(pairs, base, design):
            key, old, new = alone
            words = {"design": design.name, "baseline": base.name}
            notes.append(say(key, old=text.time(old), new=text.time(new), **words))
            if key != _OTHER_FINISHED:
                # For equal completion times a slower fabric would show the lower slowdown.
                known = [metric for metric in known if metric.path[0] != "slowdown"]
        found += [d for metric in known if (d := compared(metric, base, design, pairs.seeds))]
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
    notes += _unjudged([d for d in found if not asked or d.metric in asked])
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


#: Notes on flows that take different times alone: the fabrics differ; only other flows finished;
#: there are other flows, so that fabrics cannot be compared.
_OTHER_FABRIC, _OTHER_FINISHED, _OTHER_FLOWS = (
    "compare.note.alone.differs",
    "compare.note.flows.differ",
    "compare.note.flows.none",
)


def _alone(pairs: Pairs, base: Design, design: Design) -> tuple[str, float, float] | None:
    """Returns what flows would take alone on average with the baseline and with the design, and the
    key of the note on it; None if it is the same. The fabrics are equally fast if flows of equal
    size between the same hosts take equally long alone in both."""
    found = [list(one.by_seed(_ALONE).values()) for one in (base, design)]
    # After different warm-ups the flows that count are others, which has a note of its own.
    if not all(found) or warmup(base) != warmup(design):
        return None
    of_finished = mean(found[0]), mean(found[1])
    if not _differ(of_finished):
        return None
    ours, theirs = ([pair[side] for pair in pairs.samples] for side in (0, 1))
    old, new = _ideals(ours), _ideals(theirs)
    if not (old and new):
        # Without tables, equal numbers of finished flows are taken for the same flows.
        same = _finished(ours) == _finished(theirs)
        return _OTHER_FABRIC if same else _OTHER_FINISHED, *of_finished
    # Flows of one class, pair of hosts and size count as often as both have them.
    common = [(flow, min(old[flow][1], new[flow][1])) for flow in old if flow in new]
    if not (count := sum(flows for _, flows in common)):
        return _OTHER_FLOWS, *of_finished
    first, second = (
        sum(flows * found[flow][0] / found[flow][1] for flow, flows in common) / count
        for found in (old, new)
    )
    times = first, second
    return (_OTHER_FABRIC, *times) if _differ(times) else (_OTHER_FINISHED, *of_finished)


def _differ(times: tuple[float, float]) -> bool:
    return abs(times[1] - times[0]) > _SAME_ALONE * times[0]


def _ideals(results: Iterable[Result]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Returns the sum of the times in ns that flows would take alone, and the number of these flows,
    by class, ends and size."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for result in results:
        if "flows" in result.recorded:
            names = ("start_ns", "ideal_ns", "class", "src", "dst", "bytes")
            columns = (result.flows.column(name) for name in names)
            for start, ideal, *flow in zip(*columns, strict=True):
                if start is not None and ideal:
                    time, count = found.get(tuple(flow), (0, 0))
                    found[tuple(flow)] = time + ideal, count + 1
    return found


def _finished(results: Iterable[Result]) -> list[int]:
    return [result.summary["flows"]["finished"] for result in results]


def _remarks(pairs: "Pairs", base: Design, design: Design) -> list[Words]:
    """Returns notes on the pairing of two designs."""
    remarks = []
    if (old := warmup(base)) != (new := warmup(design)):
        times = {"old": text.time(old), "new": text.time(new)}
        names = {"design": design.name, "baseline": base.name}
        remarks.append(say("compare.note.warmup", **names, **times))
    if pairs.deterministic:
        remarks.append(say("compare.note.deterministic", design=design.name, baseline=base.name))
        return remarks
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


def _unjudged(found: Sequence[Difference]) -> list[Words]:
    """Returns notes on the percentiles that are not judged, because runs have too few flows or
    jobs."""
    groups: dict[tuple[str, int, tuple[str, ...]], list[str]] = {}
    for metric in dict.fromkeys(d.metric for d in found if d.needed):
        some = [d for d in found if d.metric == metric and d.needed]
        key = percentiles.things(metric), some[0].needed or 0, tuple(d.design for d in some)
        groups.setdefault(key, []).append(said(f"metric.{metric.name}", metric.title))
    return [
        say(
            f"compare.note.unjudged.{things}",
            metrics=join(metrics, (", ", "、")),
            designs=join(designs, (", ", "、")),
            count=text.count(needed),
        )
        for (things, needed, designs), metrics in groups.items()
    ]


def _together(found: Sequence[Difference], asked: Sequence[Metric]) -> tuple[list[Difference], int]:
    """Marks the differences in the main metrics and in those asked for that hold when judged
    together (Holm), and says how many further seeds would decide the others. Returns all
    differences, and how many were judged together."""
    main = [d for d in found if (d.metric.main or d.metric in asked) and not d.unjudged]
    family = [d for d in main if d.p is not None and d.samples >= ENOUGH_SEEDS]
    chances = [d.p or 0.0 for d in family]
    held = {id(d) for d, holds in zip(family, holm(chances), strict=True) if holds}
    judged, level = {id(d) for d in main}, next_level(chances)

    def made(d: Difference) -> Difference:
        if id(d) not in judged:
            return d
        # Prices are not random, so no probability speaks against them.
        established = d.clear and (d.deterministic or d.metric is COST or id(d) in held)
        missing = None if established else more_seeds(d, level)
        return replace(d, established=established, seeds_to_decide=missing)

    return [made(d) for d in found], len(family)
