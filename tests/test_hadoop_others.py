"""The Hadoop study's table of what the source names and has not measured."""

import pytest

from afflux.studies import files
from afflux.studies.hadoop.cases import BASE, Case
from afflux.studies.hadoop.others import CHANGED, NAMES, differences, otherwise, table, table_otherwise
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


def test_what_is_assumed_otherwise_changes_both_buffers() -> None:
    runs = {run("deep", 1): 31.0, run("deep", 2): 33.0, run("shallow", 1): 28.0, run("shallow", 2): 28.0}
    runs |= {run("deep_1500B", 1): 40.0, run("shallow_1500B", 1): 30.0, run("deep_100ms", 2): 35.0}
    study, small, long = otherwise(runs)
    assert (study[0], study[1].difference, study[1].samples) == ("", 4e9, 2)
    assert (small[0], small[1].difference) == ("1500B", 10e9)
    # The cap is the deep buffer's; the shallow one has none.
    assert (long[0], long[1].difference, long[1].baseline_mean) == ("100ms", 7e9, 28e9)
    assert table_otherwise([study]).splitlines()[-1].endswith("| 2 | 32.0 | 28.0 | 4.0 (-8.7 to 16.7) |")


def test_the_readme_has_the_tables() -> None:
    readme = (files("hadoop") / "README.md").read_text(encoding="utf-8")
    found = differences(read())
    assert [one.design for one in found] == list(CHANGED)
    assert table(found) in readme
    other = otherwise(read())
    assert [name for name, _ in other] == list(NAMES)
    assert table_otherwise(other) in readme
