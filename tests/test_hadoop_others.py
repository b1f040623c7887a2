"""The Hadoop study's table of what the source names and has not measured."""

import pytest

from afflux.studies import files
from afflux.studies.hadoop.cases import BASE, Case
from afflux.studies.hadoop.others import CHANGED, differences, table
from afflux.studies.hadoop.runs import Run, read


def run(design: str, seed: int) -> Run:
    return Run(Case(design, "mapreduce", 10, True), BASE.cpu, BASE.disk, seed)


def test_seeds_that_both_have() -> None:
    runs = {run("deep", seed): 30.0 for seed in (1, 2, 3)} | {run("deep_codel", 1): 27.0, run("deep_codel", 3): 24.3, run("pfc_watchdog", 1): 9.0}
    # Other constants, sizes and frameworks do not count.
    runs |= {Run(Case("deep_codel", "tez", 10, True), BASE.cpu, BASE.disk, 2): 1.0, run("deep_codel", 2)._replace(cpu=4.0): 1.0}
    (one,) = differences(runs)
    assert (one.design, one.samples, one.baseline_mean, one.design_mean) == ("deep_codel", 2, 30e9, 25.65e9)
    assert one.ratio == pytest.approx((0.9 * 0.81) ** 0.5)
    assert "| `deep_codel` | 2 | 25.6 | 30.0 (`deep`) | -14.6 (-56.3 to +66.7) |" in table([one])


def test_the_readme_has_the_table() -> None:
    found = differences(read())
    assert [one.design for one in found] == list(CHANGED)
    assert table(found) in (files("hadoop") / "README.md").read_text(encoding="utf-8")
