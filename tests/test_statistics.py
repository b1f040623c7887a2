"""Intervals and tests: known values, and the coverage of afflux's own functions."""

import math
import random
from itertools import pairwise

import pytest
from conftest import as_many

from afflux.comparison.paired import of_pairs
from afflux.decision.measures import Tenant, of_tenant
from afflux.metrics import Metric, named
from afflux.results import statistics
from afflux.words import text

#: Samples per case. The share of intervals that contain the truth then has a standard error of 0.4
#: %, with the samples of `make fuzz` 0.1 %.
SAMPLES = as_many(3_000)
SIGMA = 0.5
TIME = Metric("time", "time", (), text.time)
COUNT = Metric("count", "count", (), text.count, counter=True)


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.706204736), (2, 4.302652730), (4, 2.776445105), (9, 2.262157163), (30, 2.042272456)],
)
def test_students_t(freedom, value):
    assert statistics.student(freedom) == pytest.approx(value, abs=2e-9)
    assert statistics.tail(value, freedom) == pytest.approx(0.05, abs=1e-10)


def test_the_tail_of_students_t():
    # One degree of freedom gives Cauchy's distribution, many degrees nearly the normal
    # distribution.
    for t in (0.01, 0.3, 1.0, 2.5, 40.0, 1e6):
        assert statistics.tail(t, 1) == pytest.approx(1 - 2 * math.atan(t) / math.pi, rel=1e-9)
        assert statistics.tail(t, 2) == pytest.approx(1 - t / math.sqrt(2 + t * t), abs=1e-12)
    assert statistics.tail(1.959963985, 10_000_000) == pytest.approx(0.05, rel=1e-5)
    assert statistics.tail(0.0, 7) == 1
    assert all(a > b for a, b in pairwise(statistics.tail(t / 10, 4) for t in range(100)))


def test_holm():
    # Holm's steps: 0.01 · 4 and 0.013 · 3 are below 0.05, 0.03 · 2 is not, so neither are the later
    # ones.
    assert statistics.holm([0.03, 0.01, 0.04, 0.013]) == [False, True, False, True]
    assert statistics.holm([0.0125, 0.05, 0.05]) == [True, False, False]
    assert statistics.holm([0.02, 0.05, 0.024]) == [False, False, False]
    assert statistics.holm([]) == []
    assert statistics.holm([0.05]) == [True]


def test_where_nothing_differs_holm_names_something_once_in_twenty():
    draws = random.Random(3)
    named = sum(any(statistics.holm([draws.random() for _ in range(9)])) for _ in range(20_000))
    assert named / 20_000 == pytest.approx(0.05, abs=0.006)


def of_mean(draws: random.Random, normal: bool, seeds: int) -> bool:
    truth = 10.0 if normal else 10 * math.exp(SIGMA**2 / 2)
    found = statistics.interval(
        [
            draws.gauss(10, 2) if normal else 10 * draws.lognormvariate(0, SIGMA)
            for _ in range(seeds)
        ]
    )
    # An interval that is too wide to be shown claims nothing.
    return found is None or found[0] <= truth <= found[1]


def of_ratio(draws: random.Random, normal: bool, seeds: int) -> bool:
    """The design takes half as long as the baseline. A factor common to both does not matter."""

    def pair() -> tuple[float, float]:
        common = draws.lognormvariate(0, 1)
        old, new = (
            (draws.gauss(10, 1), draws.gauss(10, 1))
            if normal
            else (10 * draws.lognormvariate(0, SIGMA), 10 * draws.lognormvariate(0, SIGMA))
        )
        return common * old, common * new / 2

    found = of_pairs(TIME, "design", [pair() for _ in range(seeds)])
    assert found.ratio_low is not None
    assert found.ratio_high is not None
    return found.ratio_low <= 0.5 <= found.ratio_high


def of_difference(draws: random.Random, normal: bool, seeds: int) -> bool:
    """The design's count is three higher than the baseline's."""
    by = (
        (lambda: draws.gauss(0, 2))
        if normal
        else (lambda: draws.lognormvariate(0, SIGMA) - draws.lognormvariate(0, SIGMA))
    )
    found = of_pairs(COUNT, "design", [(10.0, 13 + by()) for _ in range(seeds)])
    assert found.low is not None
    assert found.high is not None
    return found.low <= 3 <= found.high


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("normal", [True, False], ids=["normal", "skewed"])
@pytest.mark.parametrize("holds", [of_mean, of_ratio, of_difference])
def test_intervals_hold_the_truth_as_often_as_they_say(holds, normal, seeds):
    draws = random.Random(f"{holds.__name__} {normal} {seeds}")
    covered = sum(holds(draws, normal, seeds) for _ in range(SAMPLES)) / SAMPLES
    assert 0.93 <= covered <= 0.97, covered


def test_verdicts_are_wrong_once_in_twenty():
    # Both sides have the same distribution, so clear verdicts occur by chance.
    drawn = random.Random(4)
    for seeds in (3, 5, 10):
        pairs = [
            [(drawn.lognormvariate(0, SIGMA), drawn.lognormvariate(0, SIGMA)) for _ in range(seeds)]
            for _ in range(as_many(1_500))
        ]
        # The typical ratio and the means must also agree on the direction, which makes such
        # verdicts rarer.
        assert (
            0.03 <= sum(of_pairs(TIME, "design", pair).clear for pair in pairs) / len(pairs) <= 0.06
        )


def test_intervals_of_means():
    assert statistics.interval([1.0]) is None
    low, high = statistics.interval([2.0, 2.0, 2.0])
    assert (low, high) == (2, 2)
    low, high = statistics.interval([10.0, 11.0, 12.0])
    assert low < 11 < high
    # Counts use the plain t interval, bounded below by zero. 4.303 · 1 / sqrt(3) = 2.484.
    assert statistics.interval([0.0, 1.0, 2.0]) == (0, pytest.approx(3.484, abs=1e-3))
    assert statistics.interval([0.0, 1.0, 2.0], signed=True) == (
        pytest.approx(-1.484, abs=1e-3),
        pytest.approx(3.484, abs=1e-3),
    )
    assert statistics.interval([1.0, 1e30]) is None


def test_intervals_that_say_nothing():
    """One seed of five has a time-out: bounds from 0.4 to 370 ms."""
    assert statistics.interval([0.77, 0.8, 0.9, 1.1, 37.6]) is None
    low, high = statistics.interval([5.0, 6.0, 9.0, 11.0, 7.0])
    assert 5 < low < high < 12
    # The rule holds for plain t, too: 12.7 times the deviation of two values.
    assert statistics.interval([0.0, 1.0]) is None
    assert statistics.interval([0.0, 0.0, 1.0]) is not None
    assert statistics.interval([-1.0, 1.0], signed=True) is not None


def test_slowdowns_are_cut_at_1():
    values = [1.1, 1.4, 2.2]
    assert statistics.interval(values)[0] < 1
    assert statistics.interval(values, least=1.0) == (1, statistics.interval(values)[1])
    # A value below the bound shows that the bound does not hold.
    assert statistics.interval([0.9, *values], least=1.0) == statistics.interval([0.9, *values])


@pytest.mark.parametrize(
    "name",
    ["slowdown_p99", "class.web.slowdown_mean", "slowdown.by_class.web.p99", "p99_slowdown"],
)
def test_every_slowdown_is_at_least_1(name):
    assert named(name).least == 1
    assert of_tenant(Tenant("web", ("web",)), "slowdown_p95").least == 1
    assert named("fct_p99").least == named("slowdown.all.count").least == 0


def test_how_many_seeds_would_decide():
    estimate = statistics.Estimate(1.0, 2.0, 5)
    size = estimate.decided_by()
    assert size == 18
    for count, decided in ((size - 1, False), (size, True)):
        assert (statistics.student(count - 1) * 2 / math.sqrt(count) < 1) is decided
    assert statistics.Estimate(0.0, 2.0, 5).decided_by() is None
    assert statistics.Estimate(1e-6, 2.0, 5).decided_by() is None
    assert statistics.Estimate(1.0, 0.0, 2).decided_by() == 3
