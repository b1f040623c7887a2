"""Comparisons of small numbers: counts that are equal by chance, shares below 1, amounts from 0,
and values that a change cannot be read from."""

import io

import pytest
from made import compare, design, spread
from rich.console import Console

from afflux.comparison import changes
from afflux.comparison.paired import Difference
from afflux.metrics import COST, named
from afflux.report import measures
from afflux.report.markup import Terms
from afflux.results.statistics import Estimate
from afflux.terminal import comparison as terminal
from afflux.words import text


def difference(name: str, old: list[float], new: list[float], key: str) -> Difference:
    found = compare(design("base", **{key: old}), design("new", **{key: new}))
    return next(d for d in found.of("new") if d.metric == named(name))


@pytest.mark.parametrize(
    ("pair", "seeds", "decided", "needed"),
    [
        ((0, 1), 3, False, 7),
        ((0, 1), 6, False, 7),
        ((0, 1), 7, True, 7),
        ((5, 9), 3, False, 6),
        ((0, 64), 3, True, 3),
        ((0, 1_000), 5, True, 5),
    ],
)
def test_equal_differences_of_counts_may_be_chance(pair, seeds, decided, needed):
    """Counts of independent events deviate by their square root: t = 1 / (1 / sqrt(7)) = 2.65 is
    beyond Student's t of 2.45 for seven seeds, and 2.45 within 2.57 for six."""
    found = Estimate.of_counts([pair] * seeds)
    assert (found.p < 0.05) == decided
    assert found.decided_by() == needed
    # Where no chance is left, all values are the interval.
    low, high = found.bounds
    assert (low == high) == decided
    assert low <= pair[1] - pair[0] <= high


def test_counts_that_do_not_differ_are_the_same():
    found = Estimate.of_counts([(5, 5)] * 3)
    assert (found.p, found.bounds, found.decided_by()) == (1.0, (0.0, 0.0), None)


def test_one_flow_that_did_not_finish_is_no_answer():
    found = compare(design("base", seeds=(1, 2, 3)), design("new", unfinished=1, seeds=(1, 2, 3)))
    d = next(d for d in found.of("new") if d.metric.name == "unfinished")
    assert d.verdict == "cannot tell"
    assert not d.established
    assert "Cannot tell whether new is better than base" in str(found.sentence())


@pytest.mark.parametrize(
    ("value", "count", "shown"),
    [
        (0.0004, 3, "0.000400"),
        (0.0349, 2, "0.035"),
        (0.0996, 2, "0.1"),
        (0.34, 3, "0.34"),
        (3.456, 3, "3.46"),
        (12_345.6, 3, "12,346"),
        (0, 3, "0"),
    ],
)
def test_digits_of_small_numbers(value, count, shown):
    assert text.digits(value, count) == shown


def test_values_that_differ_look_different():
    d = difference("slowdown_mean", [1.00004] * 5, [1.00005] * 5, "slow")
    shown = changes.values(d)
    assert shown == {"new": "1.00005", "old": "1.00004"}


def test_an_interval_of_times_has_their_unit():
    """Without a ratio (the baseline's value is 0), the change is an amount."""
    d = difference("goodput_bps", [1.0, 1.1, 1.2], [0.0, 0.0, 0.0], "goodput")
    assert (d.ratio, changes.in_unit_of_interval(d)) == (None, "−1.100 Gbps")
    assert changes.interval(d) == "−1.35 Gbps to −852 Mbps"
    assert str(changes.amount_change(d)) == "1.10 Gbps less"
    # Counts have none, and thousands are abbreviated.
    d = difference("drops", [0, 0, 0], [20_000, 21_000, 22_000], "drops")
    assert changes.interval(d) == "+18.5k to +23.5k"
    assert str(changes.amount_change(d)) == "21,000 more"


def test_a_measure_is_not_its_own_cause():
    base, new = design("base", drops=[2, 3, 4, 3, 2]), design("new", drops=[40, 41, 39, 44, 38])
    found = compare(base, new)
    assert "Likely cause" not in str(found.sentence())
    asked = type(found)(**{**vars(found), "asked": (named("drops"),)})
    assert "queue drops" in str(asked.sentence())
    assert "Likely cause" not in str(asked.sentence())


def test_slowdowns_of_different_fabrics_get_no_verdict():
    """The slower fabric has the lower slowdown, because flows take longer alone."""
    slow = {"fct": spread(10.0, 0.01), "slow": spread(3.0, 0.01), "alone": 3.0}
    base = design("fast", fct=spread(5.0, 0.01), slow=spread(5.0, 0.01), alone=1.0)
    found = compare(base, design("slow", **slow))
    mean, fct = named("slowdown_mean"), named("fct_mean_ns")
    assert found.between(mean, "slow") is None
    assert found.between(fct, "slow") is not None
    drawn = measures.section(
        found.of_name, found, Terms(), metrics=[mean], asked=[], currency="", lead=""
    )
    assert "better" not in drawn


def test_a_change_that_the_means_do_not_give_is_explained():
    """Four pairs fall by half and one rises from 100 to 110 ms: the geometric mean falls, and the
    mean rises."""
    found = compare(
        design("base", fct=[1.0, 1.0, 1.0, 1.0, 100.0]),
        design("new", fct=[0.5, 0.5, 0.5, 0.5, 110.0]),
    )
    out = io.StringIO()
    for part in terminal.comparison(found, {}, 100):
        Console(file=out, width=100).print(part)
    assert "note: Changes are geometric means of the pairs" in " ".join(out.getvalue().split())
    drawn = measures.section(
        found.of_name,
        found,
        Terms(),
        metrics=[named("fct_mean_ns")],
        asked=[],
        currency="",
        lead="",
    )
    assert "Changes are geometric means" in drawn
    even = compare(design("base", fct=spread(5.0, 0.01)), design("new", fct=spread(9.0, 0.01)))
    out = io.StringIO()
    for part in terminal.comparison(even, {}, 100):
        Console(file=out, width=100).print(part)
    assert "geometric" not in out.getvalue()


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        (0, "0"),
        (9_000, "9,000"),
        (9.6, "9.60"),
        (10.4, "10.40"),
        (9_001.75, "9,001.75"),
        (0.25, "0.25"),
        (10.4 - 9.4, "1"),
    ],
)
def test_prices_that_differ_look_different(price, shown):
    """A price of 9.6 was shown as 10, like one of 10.4."""
    assert COST.show(price) == shown
