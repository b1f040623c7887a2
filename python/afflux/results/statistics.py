"""Computes means, percentiles as in summaries, and intervals by Student's t.

Coverage of the 95 % intervals, each of 100,000 samples (tests/test_statistics.py holds the functions to 93 to 97 %):

| interval of | data | 3 seeds | 5 | 10 |
|---|---|---|---|---|
| a mean: `interval` | normal, deviation a tenth of the mean | 95.0 | 95.1 | 95.2 |
| | normal, a third | 95.2 | 95.5 | 96.1 |
| | log-normal, sigma 0.5 | 94.3 | 94.5 | 94.6 |
| | log-normal, sigma 1 | 93.1 | 92.8 | 93.2 |
| the same, plain t | log-normal, sigma 0.5 | 92.2 | 91.7 | 92.1 |
| Johnson's t (1978) | log-normal, sigma 0.5 | 92.2 | 91.8 | 92.2 |
| t on logarithms around the mean | log-normal, sigma 0.5 | 94.1 | 94.0 | 93.7 |
| Cox's, as Olsson modified it | log-normal, sigma 0.5 | 94.4 | 94.6 | 94.8 |
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")

CONFIDENCE = 0.95
#: Fewest seeds for a verdict. Two values may be equal by chance, and the factor of Student's t for
#: them is 12.7.
ENOUGH_SEEDS = 3
#: Number of seeds that the program advises.
ADVISED_SEEDS = 5
#: A standard deviation below this share of the largest value is a rounding error.
_ROUNDING = 1e-12
#: Largest number of seeds in the search for the number that would decide.
_MOST_SEEDS = 1_000_000


def drawn(items: Sequence[T], outcome: Callable[[T], object | None]) -> Sequence[T]:
    """Returns the samples among the items of several seeds: all of them, but only the first if all
    have the same outcome. None is an outcome that is not known."""
    outcomes = {outcome(item) for item in items}
    return items[:1] if len(outcomes) == 1 and None not in outcomes else items


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Returns the sample standard deviation (n - 1); 0 if values differ only by rounding."""
    middle = mean(values)
    found = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
    return 0.0 if found <= _ROUNDING * max(map(abs, values)) else found


def quantile(ordered: Sequence[float], q: float) -> float:
    """Returns the quantile by linear interpolation, as numpy does. `ordered` must be ascending and
    not empty."""
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def interval(
    values: Sequence[float],
    *,
    signed: bool = False,
    least: float = 0.0,
    most: float = math.inf,
) -> tuple[float, float] | None:
    """Returns the 95 % interval of the mean of a quantity that is never below `least` or above
    `most`, or of a `signed` one. `least` cuts the lower bound, unless a value is below it, and
    `most` the upper bound, unless a value is above it.

    Positive values use Olsson's form of Cox's method (U. Olsson, Journal of Statistics Education 13
    (1), 2005), whose width in logarithms is t·sqrt(s²/n + s⁴/(2(n - 1))). Here it is centred on the
    arithmetic mean, so that the interval contains the mean that is shown. Simulated times are
    skewed, and plain t intervals are too short for them. Signed values, and values that include 0,
    use plain t, not below 0 unless signed. None with fewer than two values, and if the interval is
    too wide to say anything (`_WIDEST`).
    """
    if len(values) < 2:
        return None
    middle, factor = mean(values), student(len(values) - 1)
    floor = least if min(values) >= least else 0.0
    ceiling = most if max(values) <= most else math.inf
    if signed or min(values) <= 0:
        half = factor * deviation(values) / math.sqrt(len(values))
        if signed or min(values) < 0:
            return middle - half, middle + half
        if middle + half > _WIDEST * middle > 0:
            return None
        return max(middle - half, floor), min(middle + half, ceiling)
    variance = deviation([math.log(value) for value in values]) ** 2
    half = factor * math.sqrt(variance / len(values) + variance**2 / (2 * (len(values) - 1)))
    if half > math.log(_WIDEST):
        return None
    return max(middle * math.exp(-half), floor), min(middle * math.exp(half), ceiling)


#: Largest ratio of an interval's upper bound to the mean. The lower bound is as far below it, so
#: that a wider interval would span more than a factor of 100. It says nothing: not even the order
#: of magnitude is known, and bounds beyond what is physically possible (a goodput above the link's
#: rate) look like results. The usual cause is one seed with a time-out among others without. These
#: values are of two kinds, but the formula takes them for log-normal ones. The s⁴ in it then makes
#: the bounds explode: five values between 0.8 and 38 ms would have one from 0.4 to 370 ms. With
#: log-normal data of sigma 0.5, 90 % of the intervals are shown for 3 seeds, and all for 5. The
#: intervals that are shown contain the true mean in 94 % of cases for 3 seeds and sigma 0.5, and in
#: 92 % for 5 seeds and sigma 1.
_WIDEST = 10.0
#: Says why there is no interval, in plain text.
WIDE = (
    "the seeds differ so much that a 95 % interval would reach above ten times the mean and say "
    "nothing: look at each seed, or run more"
)


@dataclass(frozen=True)
class Estimate:
    """The mean of a sample of differences, judged by Student's t."""

    mean: float
    deviation: float
    size: int
    #: Deviation by which values without spread are judged.
    of_chance: float = 0.0

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        """Makes the estimate from at least two values."""
        return cls(mean(values), deviation(values), len(values))

    @classmethod
    def of_counts(cls, pairs: Sequence[tuple[float, float]]) -> "Estimate":
        """Makes the estimate of the difference between two counts from at least two pairs. Small
        counts may have equal differences by chance (1 instead of 0 with each of three seeds), so
        without spread they are judged like counts of independent events."""
        found = cls.of([new - old for old, new in pairs])
        return replace(found, of_chance=math.sqrt(mean([old + new for old, new in pairs])))

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % interval; the value itself if all values are equal, unless they may be so by
        chance."""
        by_chance = self.mean != 0 and self.p >= 1 - CONFIDENCE
        spread = self.deviation or (self.of_chance if by_chance else 0.0)
        half = student(self.size - 1) * spread / math.sqrt(self.size) if spread else 0.0
        return self.mean - half, self.mean + half

    @property
    def p(self) -> float:
        """Probability of a mean at least this far from 0 if the true mean is 0."""
        spread = self.deviation or self.of_chance
        if not spread or not self.mean:
            return 0.0 if self.mean else 1.0
        return tail(abs(self.mean) * math.sqrt(self.size) / spread, self.size - 1)

    def decided_by(self, level: float = 1 - CONFIDENCE) -> int | None:
        """Returns the sample size with which the mean would differ from 0 at this level, if mean
        and standard deviation stayed the same. None if no size would."""
        if abs(self.mean) <= _ROUNDING:
            return None
        least, most = max(self.size, ENOUGH_SEEDS), _MOST_SEEDS
        spread = self.deviation or self.of_chance

        def decided(size: int) -> bool:
            return (
                tail(abs(self.mean) * math.sqrt(size) / spread, size - 1) < level
                if spread
                else True
            )

        # The search starts at the size by the normal distribution. Student's t is wider, but mostly
        # needs only two or three values more.
        normal = NormalDist().inv_cdf(1 - level / 2) * spread / abs(self.mean)
        least, step = max(least, math.floor(min(normal * normal, most))), 1
        while not decided(min(least + step, most)):
            if least + step >= most:
                return None
            least, step = least + step, 2 * step
        most = min(least + step, most)
        while least < most:
            middle = (least + most) // 2
            least, most = (least, middle) if decided(middle) else (middle + 1, most)
        return least


def holm(chances: Sequence[float], level: float = 1 - CONFIDENCE) -> list[bool]:
    """Returns which of several tests hold when judged together (S. Holm, Scandinavian Journal of
    Statistics 6, 1979). If nothing differs, the probability that any test holds is at most
    `level`."""
    held = [False] * len(chances)
    for rank, place in enumerate(sorted(range(len(chances)), key=lambda place: chances[place])):
        if chances[place] * (len(chances) - rank) > level:
            break
        held[place] = True
    return held


@cache
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Returns Student's t: the value whose two-sided tail probability is 1 - confidence."""
    low, high = 0.0, 1.0
    while tail(high, freedom) > 1 - confidence:
        high *= 2
    # Bisection until no number lies between.
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if tail(middle, freedom) > 1 - confidence else (low, middle)
    return high


def tail(t: float, freedom: int) -> float:
    """Returns the two-sided tail probability: the chance that Student's t is farther from 0 than
    `t`."""
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Returns the regularized incomplete beta function by its continued fraction, NIST DLMF
    8.17.22, evaluated by Lentz's method."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = (
        math.exp(
            math.lgamma(a + b)
            - math.lgamma(a)
            - math.lgamma(b)
            + a * math.log(x)
            + b * math.log1p(-x)
        )
        / a
    )
    tiny = 1e-300
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1_000):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + term * d) or tiny)
        c = (1 + term / c) or tiny
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * (value - 1)
