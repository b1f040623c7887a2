"""The long-fat study: every point is a valid scenario, and its results are correct where the
expected value is known."""

import json
import re

import pytest
from conftest import REPO

from afflux import batch
from afflux.studies import find, longfat
from afflux.studies.longfat import measure, pipeline, processor, windows


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory):
    """Simulates a few short points of the study."""
    names = {
        longfat._DEFAULTS,
        *(longfat._of_window(system, 700) for system in (longfat._FREE, "Linux 2.2", "600 ms")),
        longfat._of_window("Linux 2.2", 1000),
        longfat._of_frames(9000, False),
        longfat._of_transfer("datagrams", 300, "no loss"),
        longfat._of_pairs(1),
        *(processor.of_receiver(200, queue) for queue in (5000, 300)),
        processor.of_sender(3000, 400),
        *(longfat._of_cache(on) for on in (False, True)),
        longfat._of_stall("the kernel stops"),
        *(case.name for case in pipeline.PIPELINES[-2:]),
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
            assert {point.name for point in points} == {
                point.name for point in find("longfat").points(True)
            }
        for point in points:
            point.load()


def test_what_it_measures(designs):
    def converged_rate(name: str) -> float:
        return measure.over_seeds(designs[name], measure.converged_rate)[0]

    # One window per round trip, in whole windows: 20 s contain one window more or less.
    for name, trip in (
        (longfat._of_window(longfat._FREE, 700), 0.3),
        (longfat._of_window("600 ms", 700), 0.6),
    ):
        assert converged_rate(name) == pytest.approx(
            700e3 * 8 / trip / 1e6, abs=700e3 * 8 / 20 / 1e6
        )
    # The driver's queue can hold the slow start of 700 kB, but not that of 1 MB.
    assert designs[longfat._of_window("Linux 2.2", 700)].first.summary["drops"] == 0
    assert designs[longfat._of_window("Linux 2.2", 1000)].first.summary["drops"] > 0
    jumbo = measure.over_seeds(designs[longfat._of_frames(9000, False)], longfat._frames(9000))[0]
    assert jumbo == pytest.approx(1000 * 8948 / (9000 + 18 + 20), rel=1e-3)
    # 60 s minus the one-way delay, at 90 Mbps.
    datagrams = measure.average(designs[longfat._of_transfer("datagrams", 300, "no loss")].first)
    assert datagrams == pytest.approx(90 * (60 - 0.15) / 60, rel=1e-4)
    assert converged_rate(longfat._of_pairs(1)) == pytest.approx(100 * 1448 / 1514, rel=1e-3)


def test_default_settings_have_the_window_of_the_source(designs):
    """Six segments of 1,448 B fit into the window of 8,760 B, and a round trip carries them."""
    rows = {row.what: row for row in find("longfat").table(designs)}
    flight = rows["default settings: kB in flight, at most"]
    assert (flight.role, flight.theirs) == ("judged", 10.0)
    assert flight.ours == pytest.approx(6 * 1.448)
    rate = rows["default settings: Mbps (the source's window over the round trip)"]
    assert rate.role == "computed"
    assert rate.theirs == pytest.approx(10 * 8 / 0.3 / 1e3)
    assert rate.ours == pytest.approx(6 * 1.448 * 8 / 0.3 / 1e3, rel=0.03)
    text = (REPO / "studies" / "longfat" / "README.md").read_text(encoding="utf-8")
    assert f"| default settings: kB in flight | | 10 | | {flight.ours:.1f} |" in text
    assert f"| default settings: Mbps | | | {rate.theirs:.2f} | {rate.ours:.2f} |" in text


def test_a_table_and_checks_without_most_points(designs):
    study = find("longfat")
    rows, checks = study.table(designs), study.checks(designs)
    assert len(rows) > 5
    assert all(row.ours is not None for row in rows)
    assert {check.name for check in checks} == {
        "a cached threshold slows the connections after a loss down to half and less, Mbps"
    }
    # The values are those of the table, not rounded.
    (check,) = checks
    assert check.value in [row.ours for row in rows]
    assert check.value != round(check.value, 1)
    assert study.answer(designs) is None
    assert study.figures(designs) == [] or all(figure.series for figure in study.figures(designs))


def test_the_answer_of_the_readme_is_that_of_the_command(monkeypatch):
    """The command prints the README's sentences with the numbers of the README's tables."""
    text = (REPO / "studies" / "longfat" / "README.md").read_text(encoding="utf-8")

    def cells(start: str) -> list[str]:
        return [
            cell.strip()
            for cell in text[text.index(f"\n| {start}") :].split("\n")[1].strip("|").split("|")
        ]

    apart, once = (
        float(cells(f"2, 4, 8 connections{of}")[-1].split(",")[-1])
        for of in (" of 450 kB, starts 1 s apart", ", slow start at once")
    )
    flush = float(cells("files: 8 connections")[-1].split(";")[2].partition(",")[0])
    numbers = {
        longfat._of_parallel(8, "1s"): apart,
        longfat._of_parallel(8, "1ns"): once,
        longfat._of_stall("the kernel stops"): flush,
    }
    for transport, cell in zip(
        longfat._TRANSPORTS, cells("300 ms, 1 frame in 10,000 lost")[1:], strict=True
    ):
        numbers[longfat._of_transfer(transport, 300, "loss 1e-4")] = float(cell.split()[0])
    monkeypatch.setattr(longfat, "over_seeds", lambda number, _: (number, None, None))
    said = find("longfat").answer(numbers)
    answer = text.partition("**Answer.** ")[2].partition("\n\n")[0]
    assert said == " ".join(answer.split())
    assert (
        f"データグラムは {numbers[longfat._of_transfer('datagrams', 300, 'loss 1e-4')]:.0f} Mbps"
        in said.ja
    )
    numbers.pop(longfat._of_stall("the kernel stops"))
    assert find("longfat").answer(numbers) is None


def test_the_readme_says_what_stops_cost():
    """The shares in *Differences* follow from the row about files."""
    text = (REPO / "studies" / "longfat" / "README.md").read_text(encoding="utf-8")
    row = re.search(r"\n\| files: 8 connections.* ([\d.]+); ([\d.]+); ([\d.]+),", text)
    assert row
    none, program, kernel = map(float, row.groups())
    assert (
        f"costs {100 * (1 - program / none):.0f} %, a kernel that stops {100 * (1 - kernel / none):.0f} %"
        in text
    )


def test_the_page_has_what_short_points_give(designs):
    """No results of this study come with afflux, so the page's numbers are compared with runs."""
    text = (REPO / "studies" / "longfat" / "README.md").read_text(encoding="utf-8")
    stopped = designs[longfat._of_stall("the kernel stops")].first
    counts = (stopped.summary[name] for name in ("retransmits", "timeouts"))
    again, timeouts = (f"{count:,}" for count in counts)
    assert f"; {measure.average(stopped):.1f}, less than one connection without files" in text
    assert f"{again} retransmissions, {timeouts} time-outs |" in text
    jumbo = measure.over_seeds(designs[longfat._of_frames(9000, False)], longfat._frames(9000))[0]
    assert f"| gigabit, frames of 9000 B: Mbps | | 990 | | {jumbo:.1f} |" in text
    forgotten, cached = (
        measure.over_seeds(designs[longfat._of_cache(on)], longfat._second)[0]
        for on in (False, True)
    )
    assert f'"2.2 may have been better" | | {forgotten:.1f}, {cached:.1f} |' in text


def test_the_checks_of_our_formulas_say_so():
    """Three checks test formulas that the source does not have. The README counts them
    separately.
    """
    folder = REPO / "studies" / "longfat"
    assert (
        sum(
            path.read_text(encoding="utf-8").count('"our formula: ') for path in folder.glob("*.py")
        )
        == 3
    )
    assert "**Three test our own formulas**" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_processor_limits_where_its_formula_says(designs):
    """The receiver spends its time on a segment, the sender on an acknowledgement of
    two segments.
    """
    limits = {
        processor.of_receiver(200): 1448 * 8 / 200,
        processor.of_sender(3000, 400): 2 * 1448 * 8 / 400,
    }
    for name, limit in limits.items():
        assert measure.over_seeds(designs[name])[0] == pytest.approx(limit, rel=1e-3)
    # If its queue cannot hold a slow start, the receiver loses frames, and Reno does not reach the
    # limit.
    shallow = processor.of_receiver(200, 300)
    assert designs[shallow].first.summary["retransmits"] > 0
    assert measure.over_seeds(designs[shallow])[0] < 0.5 * limits[processor.of_receiver(200)]


def test_formulas_of_processors_and_stages():
    # One window per round trip below the limit, and the limit above it.
    assert processor.by_formula(700, 400, 2) == pytest.approx(700e3 * 8 / 0.3 / 1e6)
    assert processor.by_formula(4000, 400, 2) == pytest.approx(57.92)
    narrowest = [case.stages().index(min(case.stages())) for case in pipeline.PIPELINES]
    assert narrowest == [0, 1, 2, 0, 2]


def test_the_narrowest_stage_sets_the_rate(designs):
    suffices, narrow = pipeline.PIPELINES[-2:]
    assert measure.over_seeds(designs[suffices.name])[0] == pytest.approx(20, rel=2e-3)
    # There are five stops in the second half. One window more or less at each of them is 4 %.
    assert measure.over_seeds(designs[narrow.name])[0] == pytest.approx(
        1000e3 * 8 / 0.3 / 1e6 * (1 - 0.7 / 4), rel=0.04
    )
    # A window that closes causes no loss.
    assert designs[suffices.name].first.summary["retransmits"] == 0


def test_windows_over_time(designs, tmp_path):
    forgotten, cached = (
        windows.over_time(designs[longfat._of_cache(on)], 1) for on in (False, True)
    )
    # The second connection either knows no losses or starts with the cached threshold, which ends
    # its slow start.
    assert windows.THRESHOLD not in forgotten
    threshold = cached[windows.THRESHOLD][0][1]
    assert max(flight for _, flight in forgotten[windows.FLIGHT]) == pytest.approx(2000, rel=0.01)
    assert threshold < 1000
    slow_start = [time for time, window in cached[windows.WINDOW] if window < threshold]
    growth = [
        (time, window) for time, window in cached[windows.WINDOW] if time > max(slow_start) + 1
    ]
    rates = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for earlier, later in zip(growth, growth[300:], strict=False)
    ]
    # From there on Reno grows by one segment per round trip.
    assert min(rates) > 0.9 * 1.448 / 0.3
    assert max(rates) < 1.1 * 1.448 / 0.3
    cases = {"forgotten": longfat._of_cache(False), "cached": longfat._of_cache(True)}
    made = windows.draw(designs, tmp_path, {"missing": "none"}, {"missing": "none"}, cases)
    assert [path.name for path in made] == ["windows-cached.svg"]
    drawn = made[0].read_text()
    assert "cached" in drawn
    assert drawn.count("<polyline") == 5
    assert find("longfat").plots(designs, tmp_path) == made


@pytest.mark.parametrize(("value", "least"), [("1e-5", 2.0), ("1e-3", 0.0)])
def test_losses_decide_whether_cubic_will_do(value: str, least: float) -> None:
    """One seed of CUBIC over 300 ms: with a tenth of the losses it carries more than twice as much,
    with ten times the losses less than half. The page has what the list of assumptions says."""
    study = find("longfat")
    (loss,) = (one for one in study.assumptions if one.name == "loss")
    (before,) = (
        point
        for point in study.points(False)
        if (point.name, point.seed) == ("CUBIC, 300 ms, loss 1e-4", 1)
    )
    (after,) = (
        point
        for point in study.assuming([f"loss={value}"]).simulated(False)
        if (point.name, point.seed) == (before.name, 1)
    )
    less, more = (
        json.loads(point.load().run().summary)["goodput_bps"] for point in (before, after)
    )
    assert more > least * less if least else 2 * more < less
    page = " ".join((REPO / "python/afflux/studies/longfat/README.md").read_text().split())
    for carried in re.findall(r"(?:Reno carries|CUBIC|H-TCP|BBR) ([\d.]+)", loss.changes[value]):
        assert carried in page
