"""The whole ConWeave study: the results that come with afflux, and what the page says of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from afflux.results.statistics import mean
from afflux.studies import files
from afflux.studies.conweave import STUDY, whole
from afflux.studies.conweave.cases import CLAIMED, CONWEAVE, SCHEMES, Case
from afflux.studies.conweave.runs import DEFAULT, Run
from afflux.studies.conweave.runs import read as read_runs
from afflux.studies.conweave.verdicts import DEFAULT_ONLY, HOLDS, judged
from afflux.studies.conweave.whole import Measured, Point

CASE = CLAIMED[0]
HARD = Case("fat-tree", "alistorage", 80, "lossless")


def page() -> str:
    return (files("conweave") / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("conweave") / "results" / "study.json").read_text(encoding="utf-8")
    )
    return found


def made(means: dict[str, float]) -> dict[Point, Measured]:
    return {
        Point(CASE, scheme, seed): Measured(value + seed - 1, 10 * value, 0.5)
        for scheme, value in means.items()
        for seed in (1, 2)
    }


def test_conweave_is_compared_with_the_best_baseline() -> None:
    found = made({"ecmp": 4.0, "conga": 2.0, "letflow": 3.0, "drill": 9.0, "conweave": 2.5})
    ahead, behind = (whole.compared(found, CASE, statistic) for statistic in ("mean", "p99"))
    assert ahead
    assert behind
    assert (ahead.baseline, ahead.best, ahead.ours, ahead.seeds) == ("conga", 2.5, 3.0, 2)
    assert ahead.gain == pytest.approx(-0.2)
    assert behind.gain == pytest.approx(-0.25)
    assert whole.table(found).splitlines()[2:] == [
        f"| {CASE} | 2 | 2.50 (CONGA) | 3.00 | **-20.0** | 20.0 (CONGA) | 25.0 | **-25.0** |"
    ]
    # Without one of the baselines nobody knows the best.
    assert whole.compared(made({"ecmp": 4.0, "conweave": 2.5}), CASE, "mean") is None
    assert whole.table({}).count("\n") == 1


def test_the_file_is_written_as_it_is_read(tmp_path: Path) -> None:
    found = whole.read()
    assert whole.write(found, tmp_path / "again.csv").read_bytes() == whole.FILE.read_bytes()
    held = {point.scheme for point, measured in found.items() if measured.queues is not None}
    assert held == {CONWEAVE}


def test_the_file_has_all_points_of_the_study() -> None:
    points = {
        (point.name, point.seed)
        for point in STUDY.points(False)
        if not point.name.endswith("-100ms")
    }
    assert {(case.name(scheme), seed) for case, scheme, seed in whole.read()} == points


def test_points_and_series_agree() -> None:
    """Cases on the leaf-spine are simulated by the study and by the series of the claims: the
    same scenario and seed give the same numbers."""
    series, compared = read_runs(), 0
    for (case, scheme, seed), measured in whole.read().items():
        run = Run(case, scheme, DEFAULT, 10, seed)
        if run in series:
            assert (measured.mean, measured.p99) == (series[run].all_mean, series[run].all_p99)
            compared += 1
    assert compared > 90


def test_the_page_has_all_cases() -> None:
    found, words = whole.read(), " ".join(page().split())
    assert whole.table(found) in page()
    ahead = {
        statistic: [one.gain > 0 for one in whole.every(found, statistic)]
        for statistic in ("mean", "p99")
    }
    assert len(ahead["mean"]) == len(whole.CASES) == 36
    assert (
        f"the lowest mean in {sum(ahead['mean'])} and the lowest 99th percentile in {sum(ahead['p99'])}."
        in words
    )
    behind = [one for one in whole.every(found, "mean") if one.gain < 0]
    fat = [one for one in behind if one.case.fabric == "fat-tree"]
    assert {(one.case.load, one.case.mode) for one in fat} == {(80, "lossless")}
    assert [one.case for one in fat] == [
        one.case for one in whole.every(found, "p99") if one.gain < 0
    ]
    (hard,) = [one for one in fat if one.case == HARD]
    assert f"(AliStorage: {-100 * hard.gain:.0f} % in the mean, one seed)" in words
    others = [one for one in behind if one not in fat]
    assert {(one.baseline, one.case.load, one.case.mode) for one in others} == {
        ("drill", 50, "irn")
    }
    by = " and ".join(f"{-100 * one.gain:.1f}" for one in others)
    assert f"at 50 % over IRN with Hadoop's sizes and SolarRPC, by {by} %." in words


def test_figures_14_to_16() -> None:
    found, words = whole.read(), " ".join(page().split())
    leaf = [case for case in CLAIMED if case.fabric == "leaf-spine"]

    def of(case: Case, scheme: str) -> list[Measured]:
        return [measured for point, measured in found.items() if point[:2] == (case, scheme)]

    for case in leaf:
        own = mean([one.imbalance for one in of(case, CONWEAVE)])
        better = [
            scheme for scheme in SCHEMES if mean([one.imbalance for one in of(case, scheme)]) < own
        ]
        assert better == ["drill"], case
    most = max(one.queues or 0 for case in leaf for one in of(case, CONWEAVE))
    assert f"a port uses at most {most} reorder queues" in words
    held = {case.mode: of(case, CONWEAVE) for case in leaf if case.load == 80}
    p999, largest = (
        mean([(getattr(one, name) or 0) / 1e6 for one in held["lossless"]])
        for name in ("memory_p999", "memory_most")
    )
    irn = mean([(one.memory_p999 or 0) / 1e6 for one in held["irn"]])
    assert (
        f"p99.9 {p999:.2f} MB, most {largest:.2f} MB, means over five seeds (the paper: 1.5 and 2.4). "
        f"With IRN it is {irn:.2f} MB (p99.9)." in words
    )


def test_the_fat_tree_in_windows_of_10_ms(study: dict[str, Any]) -> None:
    """The least gains over defaults and the claims they reach: an interval that is not below the
    published gain."""
    words, least, reached = " ".join(page().split()), {}, []
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in study["rows"]:
        claim, percent, _ = row["what"].partition(", % below ")
        if claim.startswith("fat-tree") and percent:
            rows.setdefault(claim, []).append(row)
    for claim, found in rows.items():
        least[claim] = min(row["ours"] for row in found)
        if all(row["high"] >= row["published"] for row in found):
            reached.append(claim)
    values = list(least.values())
    assert len(values) == 8
    lossless, irn = (
        f"{', '.join(map(str, some[:3]))} and {some[3]}" for some in (values[:4], values[4:])
    )
    assert f"{lossless} % lossless and {irn} % with IRN" in words
    assert reached == [
        "fat-tree, 60 %, lossless: mean slowdown of short flows",
        "fat-tree, 60 %, lossless: p99 slowdown of short flows",
        "fat-tree, 60 %, irn: p99 slowdown of short flows",
    ]


def test_the_page_says_by_which_checks_the_whole_study_judges(study: dict[str, Any]) -> None:
    """The study's checks compare mean gains, and the verdicts intervals. Both agree against the
    defaults. That the window matters is a check that misses."""
    words = " ".join(page().split())
    checks = {check["name"]: check for check in study["checks"]}
    hold = {
        name.partition(": % below every baseline")[0]
        for name, check in checks.items()
        if ": % below every baseline" in name and check["holds"]
    }
    assert hold == {
        str(judge.claim) for judge in judged(read_runs()) if judge.verdict in (HOLDS, DEFAULT_ONLY)
    }
    assert len(hold) == 6
    assert "By them six of the sixteen claims hold" in words
    mean, p99 = (check for name, check in checks.items() if "from 10 to 100 ms" in name)
    assert not mean["holds"]
    assert not p99["holds"]
    assert (
        f"differ by at most {mean['bar']:g} points misses ({mean['value']} points in the mean and {p99['value']} in the 99th percentile"
        in words
    )
