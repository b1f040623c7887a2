"""Sentences about designs that are equal to the baseline: in every main measure, or only in some."""

import pytest
from made import design, spread

import afflux
from afflux.comparison import headline
from afflux.metrics import COST
from afflux.results.designs import Designs

BASE = [10.0, 12.0, 11.0, 13.0, 14.0]
LEFT = [9, 8, 9, 10, 9]


def by(ratio: float, spread_by: float) -> list[float]:
    return [old * new for old, new in zip(BASE, spread(ratio, spread_by), strict=True)]


def warm(design: afflux.Design, ns: int) -> afflux.Design:
    """Returns the design with a warm-up."""
    for result in design.results.values():
        result.summary["warmup_ns"] = ns
    return design


#: Designs, measures that are asked for, and the right sentence.
CASES = {
    "only the measure of the answer is equal": (
        [
            design("base", fct=BASE, unfinished=LEFT),
            design("deep", fct=by(1.01, 0.3), unfinished=[0] * 5),
            design("dctcp", fct=by(0.95, 0.3), unfinished=LEFT),
        ],
        [],
        "The same number of unfinished flows as with base: dctcp.",
    ),
    "every main measure is equal": (
        [
            design("base", fct=BASE, unfinished=LEFT),
            design("deep", fct=by(1.01, 0.3), unfinished=[0] * 5),
            design("dctcp", fct=BASE, unfinished=LEFT),
        ],
        [],
        "The same as with base: dctcp.",
    ),
    "the second is equal only in the measure of the answer": (
        [
            design("base", fct=BASE, unfinished=LEFT),
            design("deep", fct=by(0.9, 0.3), unfinished=[0] * 5),
            design("dctcp", fct=by(0.8, 0.3), unfinished=[0] * 5),
        ],
        [],
        "dctcp and deep have the same number of unfinished flows.",
    ),
    "a measure that was asked for is equal, others differ": (
        [design("base", fct=BASE), design("dc", fct=by(0.5, 0.02))],
        ["unfinished"],
        "**dc and base have the same number of unfinished flows.** The values are equal with each "
        "seed (5 paired seeds).",
    ),
    "two measures that were asked for are equal with several designs": (
        [design("base", fct=BASE), design("dc", fct=by(0.5, 0.02)), design("ec", fct=BASE)],
        ["unfinished", "drops"],
        "**Every design has the same number of unfinished flows and queue drops as base.** The "
        "values are equal with each seed (5 paired seeds).",
    ),
    "warm-ups differ": (
        [design("base", fct=BASE), warm(design("b", fct=by(1.1, 0.02)), 1_000_000)],
        [],
        "**No main measure that is judged differs between b and base.** They are equal with each "
        "seed (5 paired seeds).",
    ),
    "a price that was asked for": (
        [design("base", fct=BASE, price=10_000), design("dc", fct=by(0.5, 0.02), price=12_000)],
        ["cost"],
        "**dc has the higher cost:** USD 12,000 instead of USD 10,000 with base, 20 % more.",
    ),
    "prices of several designs": (
        [
            design("base", fct=BASE, price=10_000),
            design("dc", fct=by(0.5, 0.02), price=12_000),
            design("ec", fct=by(0.6, 0.02), price=8_000),
            design("fc", fct=by(0.6, 0.02), price=10_000),
        ],
        ["cost"],
        "**ec has a lower cost than base:** USD 8,000 instead of USD 10,000, 20 % less. Higher than "
        "with base: dc (20 % more). The same cost as with base: fc.",
    ),
    "equal prices": (
        [design("base", fct=BASE, price=9_000), design("dc", fct=by(0.5, 0.02), price=9_000)],
        ["cost"],
        "**dc and base have the same cost.**",
    ),
    "a price next to a measure": (
        [design("base", fct=BASE, price=10_000), design("dc", fct=by(0.9, 0.02), price=20_000)],
        ["fct", "cost"],
        "**dc has the lower mean completion time:** 10.8 ms instead of 12.0 ms with base, 10 % less "
        "(95 % interval 8.2 to 12 %, 5 paired seeds). Cost: USD 20,000 with dc instead of 10,000, "
        "100 % more.",
    ),
    "a count without a better direction next to a measure": (
        [
            design("base", fct=BASE, marks=[900, 1000, 1100, 950, 1050]),
            design("dc", fct=by(0.9, 0.02), marks=[90, 100, 110, 80, 70]),
        ],
        ["fct", "ecn_marks"],
        "**dc has the lower mean completion time:** 10.8 ms instead of 12.0 ms with base, 10 % less "
        "(95 % interval 8.2 to 12 %, 5 paired seeds). Also lower: ECN marks (90 instead of 1,000).",
    ),
    "nothing is established, and one design is equal": (
        [
            design("base", fct=BASE, price=10_000),
            design("a", fct=by(1.02, 0.3), price=11_000),
            design("cheap", fct=BASE, price=9_000),
        ],
        [],
        "The same as with base: cheap.",
    ),
    "too few seeds, and one design is equal": (
        [
            design("base", fct=[10.0, 11.0]),
            design("a", fct=[8.0, 9.0]),
            design("cheap", fct=[10.0, 11.0]),
        ],
        [],
        "The same as with base: cheap.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_names_what_is_equal(case):
    designs, asked, right = CASES[case]
    said = afflux.compare(Designs(designs), metrics=asked).sentence()
    shown = " ".join(f"**{words}**" if bold else words for words, bold in said.parts)
    assert shown == right if right.startswith("**") else right in shown, shown
    assert all(words.ja and words.ja != words for words, _ in said.parts)


def test_a_price_is_established_without_a_probability():
    designs = Designs([design("base", price=10_000), design("dc", price=12_000)])
    every = afflux.compare(designs, metrics=["cost"]).differences
    (found,) = [d for d in every if d.metric is COST]
    assert (found.verdict, found.established) == ("higher", True)


def test_designs_that_are_equal_only_as_far_as_they_are_judged():
    designs = [
        design("base", fct=BASE),
        warm(design("a", fct=by(1.1, 0.02)), 1_000_000),
        design("b", fct=by(1.02, 0.3)),
    ]
    said = str(headline.of(afflux.compare(Designs(designs))))
    assert "The same goodput while busy as with base: a." in said
