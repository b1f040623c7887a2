"""The ConWeave study: its scenarios are valid, and its evaluation of results is correct."""

from collections import Counter
from dataclasses import replace

import pytest

from afflux import batch
from afflux.results.designs import Design, Designs
from afflux.studies import figure
from afflux.studies.conweave import STUDY, claims, page
from afflux.studies.conweave.cases import LONG, SCHEMES, Case, long_name
from afflux.studies.conweave.series import Reordering, imbalance


def test_points():
    points = STUDY.points(False)
    assert len({(point.name, point.seed) for point in points}) == len(points)
    quick = STUDY.points(True)
    assert {(point.name, point.seed) for point in quick} < {
        (point.name, point.seed) for point in points
    }
    # Every case that the paper makes a claim about has five seeds.
    for claim in claims.claims():
        for scheme in SCHEMES:
            assert sum(point.name == claim.case.name(scheme) for point in points) == 5
    for case in (
        Case("fat-tree", "solar", 50, "irn"),
        Case("fat-tree", "fbhdp-20", 80, "lossless"),
        Case("leaf-spine", "solar", 60, "irn"),
    ):
        for scheme in SCHEMES:
            (first, *_) = [point for point in points if point.name == case.name(scheme)]
            replace(first, set={**first.set, "traffic[0].duration": "100us"}).load()


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    short = {"traffic[0].duration": "400us", "run.warmup": "100us"}
    points = [replace(point, set={**point.set, **short}) for point in LONG.points(2)]
    outcome = batch.run(points, tmp_path_factory.mktemp("study") / "points")
    assert not outcome.failures
    return outcome.designs


def test_rows_and_checks(designs):
    rows = STUDY.table(designs)
    gains = [row for row in rows if row.at_least]
    assert len(gains) == 8
    assert {row.theirs for row in gains} == {17.6, 35.8}
    assert all(row.low <= row.ours <= row.high for row in rows)
    ecmp, conweave = (designs[LONG.name(scheme)].results for scheme in ("ecmp", "conweave"))
    by_hand = [
        1
        - conweave[seed].summary["slowdown"]["all"]["mean"]
        / ecmp[seed].summary["slowdown"]["all"]["mean"]
        for seed in (1, 2)
    ]
    assert gains[0].what.endswith("below ecmp")
    assert gains[0].ours == pytest.approx(100 * sum(by_hand) / 2, abs=0.051)
    assert {check.bar for check in STUDY.checks(designs)} >= {17.6, 35.8, "drill", 15}
    assert "of 8 comparisons" in STUDY.answer(designs)


def test_the_long_window_is_compared_within_its_seed(designs):
    long = [
        Design(long_name(scheme), {1: designs[LONG.name(scheme)].results[1]})
        for scheme in ("ecmp", "conweave")
    ]
    found = list(claims.long_rows(Designs([*designs.values(), *long])))
    assert [check.value for _, check in found] == [0, 0]
    by_seed = [
        designs[LONG.name(scheme)].by_seed(claims.claims()[0].metric())
        for scheme in ("ecmp", "conweave")
    ]
    assert by_seed[0][1] / by_seed[1][1] != by_seed[0][2] / by_seed[1][2], (
        "or the mean over the seeds would do as well"
    )


def test_imbalance_is_of_windows_in_which_flows_start(designs):
    result = designs[LONG.name("ecmp")].first
    values = imbalance(result)
    # Eight ToRs, and two windows between 100 us and the last start just before 400 us.
    assert len(values) == 16
    assert values == sorted(values)


def test_pages_and_figures(designs, tmp_path):
    made = {path.name: path.read_text() for path in STUDY.plots(designs, tmp_path)}
    assert made.keys() == {
        "claims.md",
        "cases.md",
        "slowdowns.csv",
        "slowdown-by-size.svg",
        "imbalance.svg",
        "reordering.svg",
    }
    assert "## leaf-spine, alistorage, 80 %, lossless" in made["cases.md"]
    assert all(
        f"| {name}" in made["cases.md"]
        for name in (
            "slowdown, all, p99",
            "uplink imbalance, mean",
            "reroutes",
            "reorder memory of a switch, p99.9, kB",
        )
    )
    assert made["imbalance.svg"].count("<polyline") == len(SCHEMES)


def test_the_figure_of_the_fat_tree(designs, tmp_path):
    case = next(claim.case for claim in claims.claims() if claim.case.fabric == "fat-tree")
    renamed = Designs(
        [Design(case.name(scheme), designs[LONG.name(scheme)].results) for scheme in SCHEMES]
    )
    (made,) = page.figures(renamed, [case], tmp_path)
    assert made.name == "fat-tree.svg"
    assert made.read_text().count("<polyline") == 2 * len(SCHEMES)


def test_quantiles_of_samples():
    found = Reordering(ports=Counter({0: 90, 3: 9, 12: 1}), switches=Counter({0: 999, 5_000: 1}))
    assert (found.queues(0.5), found.queues(0.99), found.queues(1.0)) == (0, 3, 12)
    # The share of the ten samples in which a port had any reorder queue.
    assert found.fewer_than(10) == 0.9
    assert (found.bytes(0.999), found.bytes(1.0)) == (0, 5_000)


def test_ticks_of_figures(tmp_path):
    panel = figure.Panel("t", "x", "y", {"a": [(0, 0.5), (1, 40)]}, log_y=True)
    text = figure.write(tmp_path / "f.svg", [[panel]], {"a": "#000"}).read_text()
    assert all(f">{tick}</text>" in text for tick in ("0.5", "1", "10", "20", "50"))
    assert figure._bounds([0.3, 7.2]) == (0.0, 8.0)
