"""The difference between two designs in one metric, over the seeds that both have."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..metrics import COST, Metric
from ..results.designs import Design
from ..results.result import Result
from ..results.statistics import CONFIDENCE, ENOUGH_SEEDS, Estimate, mean

BETTER, WORSE, LOWER, HIGHER, SAME = "better", "worse", "lower", "higher", "same"
UNCLEAR, TOO_FEW = "cannot tell", "too few seeds"
#: Verdicts that name a direction.
CLEAR = (BETTER, WORSE, LOWER, HIGHER)


@dataclass(frozen=True)
class Straggler:
    """The one seed whose ratio is far from those of all others, so that it alone keeps a difference from being clear, or makes its interval wide."""

    #: The seed.
    seed: int
    #: The ratio of design to baseline with this seed.
    ratio: float
    #: 95 % interval of the typical ratio with the other seeds.
    low: float
    #: Upper end.
    high: float


@dataclass(frozen=True)
class Difference:
    """A design's metric beside the baseline's, over the seeds that both have."""

    #: The metric; its name ends in the unit of the values (`_ns`, `_bps`).
    metric: Metric
    #: Name of the design.
    design: str
    #: Seeds that both have.
    seeds: int
    #: Number of distinct results among them: seeds with equal result hashes are one sample.
    samples: int
    #: Mean of the baseline over the samples.
    baseline_mean: float
    #: Mean of the design over the samples.
    design_mean: float
    #: Mean of the paired differences, with its 95 % interval by Student's t. One sample and prices have no interval.
    difference: float
    #: Lower end of the interval of `difference`.
    low: float | None
    #: Upper end.
    high: float | None
    #: The typical ratio of design to baseline: the geometric mean of the paired ratios, with its 95 % interval by t on their logarithms. None for
    #: counts of events, and where a value is not positive.
    ratio: float | None
    #: Lower end of the interval of `ratio`.
    ratio_low: float | None
    #: Upper end.
    ratio_high: float | None
    #: `ratio` - 1; for counts the difference by the baseline's mean, without an interval. None if that mean is 0.
    share: float | None
    #: Lower end of the interval of `share`.
    share_low: float | None
    #: Upper end.
    share_high: float | None
    #: Probability of a difference at least this large between equal designs; None with one sample, and if the designs are deterministic.
    p: float | None
    #: Number of further seeds that would decide if mean and spread stay the same; None if it is decided, or if no number is known.
    seeds_to_decide: int | None
    #: All seeds gave the same result, with the design and with the baseline.
    deterministic: bool
    #: `better`, `worse`, `lower`, `higher`, `same`, `cannot tell` or `too few seeds`.
    verdict: str
    #: Least and largest ratio of design to baseline among the samples; None where there is no `ratio`.
    ratio_least: float | None = None
    #: Largest one.
    ratio_most: float | None = None
    #: For differences that are not clear: the seed that is far from all others, if there is one.
    straggler: Straggler | None = None
    #: For main measures: whether the difference holds when all main measures of all designs are judged together (Holm). None for other measures.
    established: bool | None = None

    @property
    def clear(self) -> bool:
        """Whether the verdict names a direction."""
        return self.verdict in CLEAR

    @property
    def fell(self) -> bool:
        """Whether the value is lower than the baseline's."""
        return (self.difference if self.ratio is None else self.ratio - 1) < 0

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that the verdict follows from: of the ratio where there is one. None if there is none, or no spread."""
        low, high = (self.low, self.high) if self.ratio is None else (self.ratio_low, self.ratio_high)
        return None if low is None or high is None or low == high else (low, high)

    def to_dict(self) -> dict[str, Any]:
        """As `afflux compare --json` prints it."""
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return made | {"metric": self.metric.name, "group": self.metric.group, "straggler": self.straggler and asdict(self.straggler)}


@dataclass(frozen=True)
class Pairs:
    """How the results of two designs are paired."""

    #: Seeds of both designs, and seeds of only one of them.
    seeds: tuple[int, ...]
    alone: tuple[int, ...]
    #: Baseline and design of each sample.
    samples: tuple[tuple[Result, Result], ...]
    deterministic: bool

    @classmethod
    def of(cls, base: Design, design: Design, seeds: Sequence[int] | None = None) -> "Pairs":
        """Seeds that give a pair of result hashes once more add nothing. Where both designs have one result only, any seeds are a pair."""
        both = [seed for seed in base.seeds if seed in design.results and (seeds is None or seed in seeds)]
        alone = sorted({*base.seeds, *design.seeds} - {*both})
        if base.deterministic and design.deterministic:
            return cls(tuple(both or base.seeds), tuple(alone), ((base.first, design.first),), True)
        samples: dict[object, tuple[Result, Result]] = {}
        for seed in both:
            pair = base.results[seed], design.results[seed]
            hashes = tuple(result.summary.get("result_hash") for result in pair)
            samples.setdefault(hashes if all(hashes) else seed, pair)
        return cls(tuple(both), tuple(alone), tuple(samples.values()), False)


def difference(metric: Metric, base: Design, design: Design, seeds: Sequence[int]) -> Difference | None:
    """None if no seed has the metric on both sides."""
    pairs = Pairs.of(base, design, seeds)
    values = [(metric.of(before.summary), metric.of(after.summary), int(after.summary["seed"])) for before, after in pairs.samples]
    known = [(old, new, seed) for old, new, seed in values if old is not None and new is not None]
    if not known:
        return None
    numbers = [seed for *_, seed in known]
    return of_pairs(metric, design.name, [(old, new) for old, new, _ in known], seeds=len(pairs.seeds), deterministic=pairs.deterministic, numbers=numbers)


def of_pairs(
    metric: Metric,
    design: str,
    pairs: Sequence[tuple[float, float]],
    *,
    seeds: int | None = None,
    deterministic: bool = False,
    numbers: Sequence[int] = (),
) -> Difference:
    """From pairs of values, baseline and design, one pair per sample. `numbers`: the seeds of the samples, in case one of them stands out."""
    old_mean, new_mean = mean([old for old, _ in pairs]), mean([new for _, new in pairs])
    differences = [new - old for old, new in pairs]
    positive = not metric.counter and all(old > 0 and new > 0 for old, new in pairs)
    logs = [math.log(new / old) for old, new in pairs] if positive else []
    # A price is not a sample, and neither is a result that does not depend on the seed.
    certain = metric is COST or deterministic
    several = len(pairs) > 1 and not certain
    of_differences, of_logs = (Estimate.of(values) if several and values else None for values in (differences, logs))
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
        straggler=_straggler(logs, numbers) if verdict == UNCLEAR and len(numbers) == len(logs) else None,
    )


#: A straggler's ratio differs from the typical one of the others by this factor at least, and by this many of their deviations.
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
    return None if ratio is None or low is None or high is None else Straggler(numbers[place], ratio, low, high)


def _power(exponent: float) -> float | None:
    """None beyond all numbers."""
    return math.exp(exponent) if abs(exponent) < 700 else None


def _missing(judged: Estimate) -> int | None:
    size = judged.decided_by()
    # Where it is clear by itself and yet left open, seeds are not what is missing.
    return size - judged.size if size is not None and size > judged.size else None


def _verdict(metric: Metric, pairs: Sequence[tuple[float, float]], judged: Estimate | None, certain: bool) -> str:
    if all(new == old for old, new in pairs):
        return SAME
    fell = mean([new - old for old, new in pairs]) < 0
    if not certain:
        if judged is None or judged.size < ENOUGH_SEEDS:
            return TOO_FEW
        # The typical seed and the mean over the seeds must say the same.
        if judged.p >= 1 - CONFIDENCE or (judged.mean < 0) != fell:
            return UNCLEAR
    if metric.lower_is_better is None:
        return LOWER if fell else HIGHER
    return BETTER if fell == metric.lower_is_better else WORSE
