"""The MPTCP study: its points are valid, and the author's captured flows end when they did."""

import pytest

from afflux import batch
from afflux.studies import find
from afflux.studies.mptcp import STUDY, figures, four, mechanisms, path


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory):
    """Few of its points, the short ones."""
    names = {path.CAPTURED, path.DENSE, path.PRINTED_DENSE, four.name(four.TENTH, "2 kB")}
    points = [point for point in STUDY.points(True) if point.name in names]
    assert {point.name for point in points} == names
    outcome = batch.run(points, tmp_path_factory.mktemp("mptcp"), jobs=2)
    assert not outcome.failures
    return outcome.designs


def test_every_point_is_valid():
    for quick in (True, False):
        points = find("mptcp").points(quick)
        assert len({(point.name, point.seed) for point in points}) == len(points)
    for name in {point.name for point in points}:
        next(point for point in points if point.name == name).load()


def test_captured_flows_end_within_a_microsecond(designs):
    flows = path.flows(designs[path.CAPTURED].first)
    theirs = path.published()
    # Flow 3 would end a tick earlier without the frames of flow 2. Flows 2 and 5 meet others when they close.
    assert [path.to_fin(flows[number - 1]) for number in (1, 3, 4)] == [pytest.approx(theirs[f"capture {number}"], abs=0.0011) for number in (1, 3, 4)]
    assert [flow.lone for flow in flows] == [True, False, False, True, True]
    assert path.travel_ns() == pytest.approx(468_800)


def test_timers_end_on_ticks():
    # Just before and just after a tick: the same timer ends a tick later.
    assert path.fin_ns(3_999_999, 0) == 80_000_000
    assert path.fin_ns(4_000_000, 0) == 84_000_000


def test_the_interface_is_busy_at_a_tenth_of_the_rates_only(designs):
    assert path.busy(designs[path.DENSE].first) > 0.95
    assert path.busy(designs[path.PRINTED_DENSE].first) < 0.2
    checks = {check.name: check.holds for check in STUDY.checks(designs)}
    assert checks == {
        f"{path.DENSE}: the interface always sends, share of time": True,
        f"{path.PRINTED_DENSE}: the interface always sends, share of time": False,
    }


def test_a_capture_has_every_byte_of_its_flows(designs):
    result = designs[path.DENSE].first
    by_port: dict[int, int] = {}
    for _, port, size in figures.frames(next(result.dir.glob("*.pcapng"))):
        by_port[port] = by_port.get(port, 0) + size
    assert set(by_port.values()) == {68_498}
    assert len(by_port) == len(path.flows(result))


def test_figures(designs, tmp_path):
    made = STUDY.plots(designs, tmp_path)
    assert [file.name for file in made] == ["figure-9.svg"]
    assert "<polyline" in made[0].read_text()


def test_mechanisms_are_valid():
    for name, keys in mechanisms.MECHANISMS.items():
        mechanisms.point(name, keys).load()
    with mechanisms.FILE.open() as lines:
        kept = [line.split(",")[0] for line in lines][2:]
    assert len(kept) == len(mechanisms.MECHANISMS)
