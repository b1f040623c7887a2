"""Computes the difference between two designs in one metric, over the seeds that both have."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..metrics import COST, Metric
from ..results import percentiles
from ..results.designs import Design
from ..results.result import Result
from ..results.statistics import (
    CONFIDENCE,
    ENOUGH_SEEDS,
    Estimate,
    drawn,
    holm,
    mean,
    student,
)

BETTER, WORSE, LOWER, HIGHER, SAME = "better", "worse", "lower", "higher", "same"
UNCLEAR, TOO_FEW = "cannot tell", "too few seeds"
#: Verdicts on a percentile of too few flows or jobs, which is not judged.
FEW_VALUES = {"flows": "too few flows", "jobs": "too few jobs"}
#: Verdict on a measure of the flows or jobs after the warm-up, if two designs have different
#: warm-ups. It is not judged.
OTHER_WARMUP = "other warm-up"
#: Verdicts that name a direction.
CLEAR = (BETTER, WORSE, LOWER, HIGHER)


@dataclass(frozen=True)
class Straggler:
    """The only seed whose ratio is far from those of all others. It alone keeps a difference from
    being clear, or makes its interval wide."""

    #: Seed.
    seed: int
    #: Ratio of design to baseline with this seed.
    ratio: float
    #: Lower end of the 95 % interval of the typical ratio with the other seeds.
    low: float
    #: Upper end of that interval.
    high: float


@dataclass(frozen=True)
class Difference:
    """A metric of a design compared with that of the baseline, over the seeds that both have."""

    #: The metric. Its name ends in the unit of the values (`_ns`, `_bps`).
    metric: Metric
    #: Name of the design.
    design: str
    #: Number of seeds that both have.
    seeds: int
    #: Number of these seeds with the metric; 1 if all of them gave the same results.
    samples: int
    #: Mean of the baseline over the samples.
    baseline_mean: float
    #: Mean of the design over the samples.
    design_mean: float
    #: Mean of the paired differences. Its 95 % interval is by Student's t. A single sample and
    #: prices have no interval.
    difference: float
    #: Lower end of the interval of `difference`.
    low: float | None
    #: Upper end of the interval of `difference`.
    high: float | None
    #: Typical ratio of design to baseline: the geometric mean of the paired ratios. Its 95 %
    #: interval is by t on their logarithms. None for counts of events, and if a value is not
    #: positive.
    ratio: float | None
    #: Lower end of the interval of `ratio`.
    ratio_low: float | None
    #: Upper end of the interval of `ratio`.
    ratio_high: float | None
    #: `ratio` - 1. For counts, the difference divided by the baseline's mean, without an interval.
    #: None if that mean is 0.
    share: float | None
    #: Lower end of the interval of `share`.
    share_low: float | None
    #: Upper end of the interval of `share`.
    share_high: float | None
    #: Probability of a difference at least this large between equal designs. None with one sample,
    #: and if the designs are deterministic.
    p: float | None
    #: Number of further seeds that would decide if mean and spread stay the same. Differences that
    #: are judged together are decided by Holm's method. None if it is decided, or if no number is
    #: known.
    seeds_to_decide: int | None
    #: True if all seeds gave the same result, with the design and with the baseline.
    deterministic: bool
    #: `better`, `worse`, `lower`, `higher`, `same`, `cannot tell`, `too few seeds`, `too few flows`,
    #: `too few jobs` or `other warm-up`.
    verdict: str
    #: Smallest ratio of design to baseline among the samples; None if there is no `ratio`.
    ratio_least: float | None = None
    #: Largest ratio of design to baseline among the samples; None if there is no `ratio`.
    ratio_most: float | None = None
    #: For a difference that is not clear: the seed that is far from all others, if there is one.
    straggler: Straggler | None = None
    #: For main metrics: True if the difference holds when all main metrics of all designs are
    #: judged together (Holm). None for other metrics.
    established: bool | None = None
    #: For a percentile that is not judged because a run has too few flows or jobs: the number that
    #: each run needs. Otherwise None.
    needed: int | None = None

    @property
    def clear(self) -> bool:
        """True if the verdict names a direction."""
        return self.verdict in CLEAR

    @property
    def unjudged(self) -> bool:
        """True if the metric is not judged, because flows or jobs are too few or those of another
        warm-up."""
        return self.needed is not None or self.verdict == OTHER_WARMUP

    @property
    def fell(self) -> bool:
        """True if the value is lower than the baseline's."""
        return (self.difference if self.ratio is None else self.ratio - 1) < 0

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Interval from which the verdict follows: that of the ratio if there is one, otherwise
        that of the difference. None if there is no interval, or no spread."""
        low, high = (
            (self.low, self.high) if self.ratio is None else (self.ratio_low, self.ratio_high)
        )
        return None if low is None or high is None or low == high else (low, high)

    def to_dict(self) -> dict[str, Any]:
        """Returns the difference as `afflux compare --json` prints it."""
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return made | {
            "metric": self.metric.name,
            "group": self.metric.group,
            "straggler": self.straggler and asdict(self.straggler),
        }


@dataclass(frozen=True)
class Pairs:
    """Pairing of the results of two designs."""

    #: Seeds of both designs, and seeds of only one of them.
    seeds: tuple[int, ...]
    alone: tuple[int, ...]
    #: Results of the baseline and of the design for each sample.
    samples: tuple[tuple[Result, Result], ...]
    deterministic: bool

    @classmethod
    def of(cls, base: Design, design: Design, seeds: Sequence[int] | None = None) -> "Pairs":
        """Pairs the results by seed. If all seeds gave the same pair of results, they are one sample.
        If each design has only one distinct result, any two seeds form a pair."""
        both = [
            seed
            for seed in base.seeds
            if seed in design.results and (seeds is None or seed in seeds)
        ]
        alone = sorted({*base.seeds, *design.seeds} - {*both})
        if base.deterministic and design.deterministic:
            return cls(tuple(both or base.seeds), tuple(alone), ((base.first, design.first),), True)
        pairs = [(base.results[seed], design.results[seed]) for seed in both]
        return cls(tuple(both), tuple(alone), tuple(drawn(pairs, _hashes)), False)


def _hashes(pair: tuple[Result, Result]) -> tuple[Any, ...] | None:
    """Returns the hashes of two results; None if one is not known."""
    hashes = tuple(result.summary.get("result_hash") for result in pair)
    return hashes if all(hashes) else None


def _of_summary(metric: Metric, result: Result) -> float | None:
    return metric.of(result.summary)


def difference(
    metric: Metric,
    base: Design,
    design: Design,
    seeds: Sequence[int],
    of: Callable[[Metric, Result], float | None] = _of_summary,
) -> Difference | None:
    """Returns the difference in a metric; None if no seed has the metric in both designs. `of`
    returns the value of the metric from a result."""
    pairs = Pairs.of(base, design, seeds)
    values = [
        (of(metric, before), of(metric, after), int(after.summary["seed"]))
        for before, after in pairs.samples
    ]
    known = [(old, new, seed) for old, new, seed in values if old is not None and new is not None]
    if not known:
        return None
    numbers = [seed for *_, seed in known]
    return of_pairs(
        metric,
        design.name,
        [(old, new) for old, new, _ in known],
        seeds=len(pairs.seeds),
        deterministic=pairs.deterministic,
        numbers=numbers,
    )


def compared(
    metric: Metric, base: Design, design: Design, seeds: Sequence[int]
) -> Difference | None:
    """Returns the difference in a metric of summary.json, as `difference` does. A percentile of too
    few flows or jobs, and a measure after different warm-ups, has no interval, and its verdict says
    why."""
    d = difference(metric, base, design, seeds)
    if d is None:
        return None
    needed = percentiles.lacking(metric, base, design)
    if metric.after_warmup and warmup(base) != warmup(design):
        verdict, needed = OTHER_WARMUP, None
    elif needed is not None:
        verdict = SAME if d.verdict == SAME else FEW_VALUES[percentiles.things(metric)]
    else:
        return d
    return replace(
        d,
        verdict=verdict,
        needed=needed,
        p=None,
        seeds_to_decide=None,
        straggler=None,
        low=None,
        high=None,
        ratio_low=None,
        ratio_high=None,
        share_low=None,
        share_high=None,
    )


def warmup(design: Design) -> int:
    """Returns the warm-up of a design in nanoseconds. It is the same with each seed."""
    return design.first.summary.get("warmup_ns") or 0


def of_pairs(
    metric: Metric,
    design: str,
    pairs: Sequence[tuple[float, float]],
    *,
    seeds: int | None = None,
    deterministic: bool = False,
    numbers: Sequence[int] = (),
) -> Difference:
    """Returns the difference from pairs of values (baseline, design), one pair per sample.
    `numbers` are the seeds of the samples, needed to name one that is an outlier."""
    old_mean, new_mean = mean([old for old, _ in pairs]), mean([new for _, new in pairs])
    differences = [new - old for old, new in pairs]
    positive = not metric.counter and all(old > 0 and new > 0 for old, new in pairs)
    logs = [math.log(new / old) for old, new in pairs] if positive else []
    # A price is not a sample, and neither is a result that does not depend on the seed.
    certain = metric is COST or deterministic
    several = len(pairs) > 1 and not certain
    of_differences = (
        (Estimate.of_counts(pairs) if metric.counter else Estimate.of(differences))
        if several
        else None
    )
    of_logs = Estimate.of(logs) if several and logs else None
    judged = of_logs or of_differences
    low, high = of_differences.bounds if of_differences else (None, None)
    ratio = math.exp(mean(logs)) if logs else None
    ratio_low, ratio_high = map(_power, of_logs.bounds) if of_logs else (None, None)
    share = ratio - 1 if ratio is not None else new_mean / old_mean - 1 if old_mean > 0 else None
    verdict = _verdict(metric, pairs, judged, certain)
    return Difference(
        metric=metric,
        design=design,
        seeds=len(pairs) if seeds is None else seeds,
        samples=len(pairs),
        baseline_mean=old_mean,
        design_mean=new_mean,
        difference=mean(differences),
        low=low,
        high=high,
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        share=share,
        share_low=ratio_low - 1 if ratio_low is not None else None,
        share_high=ratio_high - 1 if ratio_high is not None else None,
        p=judged.p if judged and verdict != SAME else None,
        seeds_to_decide=_missing(judged) if judged and verdict in (UNCLEAR, TOO_FEW) else None,
        deterministic=deterministic,
        verdict=verdict,
        ratio_least=_power(min(logs)) if logs else None,
        ratio_most=_power(max(logs)) if logs else None,
        straggler=_straggler(logs, numbers)
        if verdict == UNCLEAR and len(numbers) == len(logs)
        else None,
    )


#: The ratio of a straggler differs from the typical one of the others by at least this factor, and
#: by at least this many of their standard deviations.
_FAR, _DEVIATIONS = 3.0, 5.0


def _straggler(logs: Sequence[float], numbers: Sequence[int]) -> Straggler | None:
    if len(logs) <= ENOUGH_SEEDS:
        return None
    middle = sorted(logs)[len(logs) // 2]
    place = max(range(len(logs)), key=lambda place: abs(logs[place] - middle))
    others = Estimate.of([log for other, log in enumerate(logs) if other != place])
    if abs(logs[place] - others.mean) < max(math.log(_FAR), _DEVIATIONS * others.deviation):
        return None
    ratio, low, high = map(_power, (logs[place], *others.bounds))
    return (
        None
        if ratio is None or low is None or high is None
        else Straggler(numbers[place], ratio, low, high)
    )


def _power(exponent: float) -> float | None:
    """Returns e to this power; None if that is too large for a float."""
    return math.exp(exponent) if abs(exponent) < 700 else None


def next_level(chances: Sequence[float], level: float = 1 - CONFIDENCE) -> float:
    """Returns the level at which Holm's method judges the next of several tests, after those that
    hold. A test whose probability falls below this level holds, too."""
    held = sum(holm(chances, level))
    return level / max(len(chances) - held, 1)


def more_seeds(d: Difference, level: float) -> int | None:
    """Returns the number of further seeds with which a difference would be clear at this level, if
    mean and spread stay the same. None if the number is unknown, or if no number would."""
    if not d.p:
        return None
    # The mean and the spread that were judged follow from the interval.
    middle, low, high = d.difference, d.low, d.high
    if d.ratio is not None:
        if not d.ratio_low or not d.ratio_high:
            return None
        middle, low, high = map(math.log, (d.ratio, d.ratio_low, d.ratio_high))
    if low is None or high is None:
        return None
    spread = (high - low) / 2 * math.sqrt(d.samples) / student(d.samples - 1)
    return _missing(Estimate(middle, spread, d.samples), level)


def together(found: Sequence[Difference]) -> list[Difference]:
    """Returns differences that are judged together (Holm), with the number of further seeds that
    would decide those that do not hold."""
    level = next_level([_chance(d) for d in found])
    held = holm([_chance(d) for d in found])
    return [
        replace(d, seeds_to_decide=None if holds else more_seeds(d, level))
        for d, holds in zip(found, held, strict=True)
    ]


def _chance(d: Difference) -> float:
    return 0.0 if d.deterministic else 1.0 if d.p is None else d.p


def _missing(judged: Estimate, level: float = 1 - CONFIDENCE) -> int | None:
    size = judged.decided_by(level)
    # If the difference is clear when judged alone and yet left open, more seeds would not decide
    # it.
    return size - judged.size if size is not None and size > judged.size else None


def _verdict(
    metric: Metric, pairs: Sequence[tuple[float, float]], judged: Estimate | None, certain: bool
) -> str:
    if all(new == old for old, new in pairs):
        return SAME
    fell = mean([new - old for old, new in pairs]) < 0
    if not certain:
        if judged is None or judged.size < ENOUGH_SEEDS:
            return TOO_FEW
        # The sign of the typical seed and that of the mean over the seeds must agree.
        if judged.p >= 1 - CONFIDENCE or (judged.mean < 0) != fell:
            return UNCLEAR
    if metric.lower_is_better is None:
        return LOWER if fell else HIGHER
    return BETTER if fell == metric.lower_is_better else WORSE
