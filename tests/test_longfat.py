"""The long-fat study: every point is a valid scenario, and what it measures is right where that is known."""

import pytest

from afflux import batch
from afflux.studies import find, longfat


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory):
    """Few of its points, the short ones."""
    names = {
        *(longfat._of_window(system, 700) for system in ("FreeBSD", "Linux 2.2", "600 ms")),
        longfat._of_window("Linux 2.2", 1000),
        longfat._of_frames(9000, False),
        longfat._of_transfer("datagrams", 300, "no loss"),
        longfat._of_pairs(1),
    }
    points = [point for point in find("longfat").points(True) if point.name in names]
    assert {point.name for point in points} == names
    outcome = batch.run(points, tmp_path_factory.mktemp("longfat"), jobs=2)
    assert not outcome.failures
    return outcome.designs


def test_every_point_is_valid():
    for quick in (True, False):
        points = find("longfat").points(quick)
        assert len({(point.name, point.seed) for point in points}) == len(points)
        if not quick:
            assert {point.name for point in points} == {point.name for point in find("longfat").points(True)}
        for point in points:
            point.load()


def test_what_it_measures(designs):
    def settled(name: str) -> float:
        return longfat._over_seeds(designs[name], longfat._settled)[0]

    # A window per round trip, in whole windows: 20 s hold one more or less.
    for name, trip in ((longfat._of_window("FreeBSD", 700), 0.3), (longfat._of_window("600 ms", 700), 0.6)):
        assert settled(name) == pytest.approx(700e3 * 8 / trip / 1e6, abs=700e3 * 8 / 20 / 1e6)
    # The driver's queue holds the slow start of 700 kB, not that of 1 MB.
    assert designs[longfat._of_window("Linux 2.2", 700)].first.summary["drops"] == 0
    assert designs[longfat._of_window("Linux 2.2", 1000)].first.summary["drops"] > 0
    jumbo = longfat._over_seeds(designs[longfat._of_frames(9000, False)], longfat._frames(9000))[0]
    assert jumbo == pytest.approx(1000 * 8948 / (9000 + 18 + 20), rel=1e-3)
    # 60 s less the way there, at 90 Mbps.
    datagrams = longfat._average(designs[longfat._of_transfer("datagrams", 300, "no loss")].first)
    assert datagrams == pytest.approx(90 * (60 - 0.15) / 60, rel=1e-4)
    assert settled(longfat._of_pairs(1)) == pytest.approx(100 * 1448 / 1514, rel=1e-3)


def test_a_table_and_checks_without_most_points(designs):
    study = find("longfat")
    rows, checks = study.table(designs), study.checks(designs)
    assert len(rows) > 5
    assert all(row.ours is not None for row in rows)
    assert {check.name for check in checks} == set()
    assert study.answer(designs) is None
    assert study.figures(designs) == [] or all(figure.series for figure in study.figures(designs))
