"""The pFabric study: rows, figures and tables have intervals over the seeds."""

from dataclasses import replace

import pytest

from afflux import batch
from afflux.studies import files
from afflux.studies.pfabric import STUDY, runs, schemes


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory):
    place = tmp_path_factory.mktemp("pfabric")
    points = [schemes.point(scheme, "websearch", 0.6, seed, place) for scheme in ("Ideal", "pFabric") for seed in (1, 2)]
    outcome = batch.run([replace(point, set={**point.set, "traffic[0].flows": 300}) for point in points], place / "points", jobs=2)
    assert not outcome.failures
    return outcome.designs


def test_rows_have_intervals_over_the_seeds(designs):
    rows = {row.what: row for row in STUDY.table(designs)}
    row = rows["web search, load 0.6, all flows, average, pFabric"]
    each = STUDY.seeds(designs, "pFabric", "websearch", 0.6)
    assert row.ours == pytest.approx((each[1].average + each[2].average) / 2)
    assert row.low < row.ours < row.high
    assert row.theirs is None
    assert rows["web search, load 0.6, all flows, average, Ideal"].theirs is not None


def test_figures_have_bars(designs, tmp_path):
    (file,) = STUDY.plots(designs, tmp_path)
    text = file.read_text()
    # Four figures, of which the one of elephants may be empty with so few flows; a bar has the same x at both ends.
    assert text.count("<polyline") >= 6
    assert text.count('stroke-width="1"/>') >= 6


def test_points_of_a_few_queues_read_prepared_flows(tmp_path):
    STUDY.place = tmp_path
    try:
        chosen = [point for point in STUDY.points(True) if point.name == "4 queues-websearch-0.3"]
        (file,) = STUDY.prepare(chosen)
        assert file.is_relative_to(tmp_path.resolve())
        assert chosen[0].load().flows == 20_000
    finally:
        STUDY.place = None


def test_the_kept_runs_and_their_differences():
    found = runs.read()
    every = {run.seed for run in found if (run.workload, run.load, run.scheme) == ("websearch", 0.6, "pFabric")}
    assert len(every) >= 3
    against = runs.differences(found, "websearch", 0.6, "average")
    dctcp = against["DCTCP"]
    ratios = [found[runs.Run("websearch", 0.6, "DCTCP", seed)]["average"] / found[runs.Run("websearch", 0.6, "pFabric", seed)]["average"] for seed in every]
    assert min(ratios) <= dctcp.ratio <= max(ratios)
    assert dctcp.ratio_low < dctcp.ratio < dctcp.ratio_high
    assert "| pFabric |" in "\n".join(runs.table(found))


def test_the_readme_has_the_tables_and_the_order():
    found = runs.read()
    readme = (files("pfabric") / "README.md").read_text(encoding="utf-8")
    for lines in (runs.means, runs.compared):
        assert "\n".join(lines(found, "websearch", 0.6)) in readme
    for scheme in schemes.SCHEMES:
        assert {run.seed for run in found if run[:3] == ("websearch", 0.6, scheme)} >= {1, 2, 3, 4, 5}
    for seed in range(1, 6):
        order = [found[runs.Run("websearch", 0.6, scheme, seed)]["average"] for scheme in ("Ideal", "pFabric", "PDQ", "DCTCP", "TCP-DropTail")]
        assert order == sorted(order)


def test_a_run_keeps_its_line(tmp_path):
    file = tmp_path / "runs.csv"
    run = runs.Run("websearch", 0.6, "PDQ, 10 us", 3)
    runs.write(run, dict.fromkeys(runs.FIGURES, 1.5) | {"elephants": None}, 0, file)
    assert runs.read(file) == {run: dict.fromkeys(runs.FIGURES, 1.5) | {"elephants": None}}
