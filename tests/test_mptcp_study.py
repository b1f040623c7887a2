"""The MPTCP study: its points are valid, three of the author's five captured flows end at the
recorded times, and its figures show the right data."""

import json
import re

import pytest

from afflux import Design, batch
from afflux.results.designs import Designs
from afflux.results.statistics import quantile
from afflux.studies import figure, files, find
from afflux.studies.mptcp import STUDY, dual_homed, figures, four, mechanisms, path


@pytest.fixture(scope="module")
def designs(tmp_path_factory: pytest.TempPathFactory):
    """Simulates a few short points of the study."""
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
    # Flow 3 would end a tick earlier without the frames of flow 2. Flows 2 and 5 meet other flows
    # when they close.
    assert [path.to_fin(flows[number - 1]) for number in (1, 3, 4)] == [
        pytest.approx(theirs[f"capture {number}"], abs=0.0011) for number in (1, 3, 4)
    ]
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


class Columns(dict):
    def column(self, name: str) -> list:
        return self[name]


class Made:
    """A made-up result of the slice. 21 flows use each core switch, in turn. The gaps between their
    starts are 30 and 5 ms, and 530 ms before the last one.

    Flows over core n take `base` + 10 n ms, and up to 2 ms more. The frames of a flow over loaded
    paths are `base` ms apart, and 1 ms more at each port.
    """

    dir = None
    kernel_failure = None

    def __init__(
        self, seed: int, base: float, size: str = "70 kB", gaps: tuple[float, float] = (30, 5)
    ) -> None:
        numbers = range(84)
        starts = [1e6 * (sum(gaps) * (n // 2) + gaps[0] * (n % 2)) for n in numbers]
        starts[-1] += 5e8
        self.times = [base + 10 * (n % 4) + 0.1 * (n // 4) for n in numbers]
        ends = [start + 1e6 * time for start, time in zip(starts, self.times, strict=True)]
        times = [round(1e6 * time) for time in self.times]
        self.flows = Columns(
            id=list(numbers), start_ns=starts, fct_ns=times, finish_ns=ends, queueing_ns=[0] * 84
        ) | {"class": [size] * 84}
        self.flows = Columns(self.flows)
        sides = [("ab"[n % 4 // 2], n % 4) for n in numbers]
        self.paths = Columns(
            flow=list(numbers),
            path=[
                f"host1>edge0{side}>agg0{side}>core{core}>agg1{side}>edge1{side}>host3"
                for side, core in sides
            ],
        )
        links = [
            (f"agg0{'ab'[core // 2]}", f"core{core}", (core + 1) / 10, 0) for core in range(4)
        ] + [("edge1a", "host2", 0.9, 25_000 * base)]
        self.links = Columns(
            zip(
                ("from", "to", "utilisation", "bytes"),
                map(list, zip(*links, strict=True)),
                strict=True,
            )
        )
        self.summary = {
            "result_hash": f"{base}-{seed}",
            "simulated_ns": 1e6,
            "goodput_bps": 128e9 * 1436 / 1538 * base / 100,
        }
        ports = (
            "host1 edge0a",
            "edge0a agg0a",
            "agg0a core0",
            "core0 agg1a",
            "agg1a edge1a",
            "edge1a host3",
        )
        # Three frames have two gaps. Flows over other paths and flows of one frame are excluded.
        rows = [
            (n, *port.split(), 3, 5e5 * (base + hop + seed))
            for n in (0, 1, 4)
            for hop, port in enumerate(ports)
        ]
        rows += [(2, *port.split(), 3, 9e9) for port in ports] + [
            (5, *port.split(), 1, None) for port in ports
        ]
        self.gaps = Columns(
            zip(
                ("flow", "node", "peer", "frames", "gap_ns_mean"),
                map(list, zip(*rows, strict=True)),
                strict=True,
            )
        )

    def table(self, name: str) -> Columns:
        assert name == "gaps"
        return self.gaps


def made(name: str, base: float, size: str = "70 kB", **keys) -> Design:
    return Design(name, {seed: Made(seed, base, size, **keys) for seed in (1, 2)})


@pytest.fixture
def drawn(monkeypatch) -> dict:
    """Returns for each drawn file its panels in rows, and the colours by name in its legend."""
    kept, write = {}, figure.write

    def keep(path, rows, colours):
        kept[path.name] = rows, colours
        return write(path, rows, colours)

    monkeypatch.setattr(figure, "write", keep)
    return kept


def test_figures(designs, tmp_path):
    made = STUDY.plots(designs, tmp_path)
    assert [file.name for file in made] == ["figure-9.svg"]
    assert "<polyline" in made[0].read_text()


def test_figures_of_the_slice_without_simulations(drawn, tmp_path):
    """Figures 5 to 8 of made-up results: names, series, values."""
    bases = {four.ALONE: 1.0, four.LOADED: 2.0, four.LARGE: 5.0}
    cases = {
        (case, size): made(four.name(case, size), base, size)
        for case, base in bases.items()
        for size in ("2 kB", "20 kB", "70 kB")
    }
    cases[four.TENTH, "70 kB"] = made(four.name(four.TENTH, "70 kB"), 60.0)
    written = STUDY.plots(Designs(cases.values()), tmp_path)
    assert [file.name for file in written] == [
        "figure-5.svg",
        "figure-8.svg",
        "figure-6.svg",
        "figure-7.svg",
    ]
    for file in written:
        (panels,), colours = drawn[file.name]
        text = file.read_text()
        assert text.count("<polyline") == sum(len(panel.lines) for panel in panels)
        # Every line and every bar has its colour and its name in the legend.
        assert {name for panel in panels for name in (*panel.lines, *panel.bars)} == set(colours)
        assert all(f">{name}</text>" in text for name in colours)

    # Figure 5: completion times by path with their spread, and how much the paths are used.
    ((times, use),), _ = drawn["figure-5.svg"]
    assert list(times.ticks) == list(use.ticks) == ["path 1", "path 2", "path 3", "path 4"]
    assert list(times.lines) == list(use.lines) == list(bases)
    for place, (case, base) in enumerate(bases.items()):
        assert times.lines[case] == [
            (float(core), pytest.approx(base + 10 * core + 1)) for core in range(4)
        ]
        ends = [(base + 10 * core + 0.1, base + 10 * core + 1.9) for core in range(4)]
        assert [(low, high) for _, low, high in times.bars[case]] == [
            pytest.approx(pair) for pair in ends
        ]
        assert [x for x, _, _ in times.bars[case]] == [
            pytest.approx(core + 0.03 * (place - 1)) for core in range(4)
        ], "bars stand side by side"
        assert use.lines[case] == [
            (float(core), pytest.approx(10 * (core + 1))) for core in range(4)
        ]

    # Figure 6: the 95th percentile by size, on loaded paths and on the others.
    (panels,), _ = drawn["figure-6.svg"]
    assert [panel.title for panel in panels] == [
        f"95th percentile, {case}" for case in (four.LOADED, four.LARGE)
    ]
    for panel, case in zip(panels, (four.LOADED, four.LARGE), strict=True):
        assert list(panel.ticks) == ["2 kB", "20 kB", "70 kB"]
        of_one = cases[case, "70 kB"].first.times
        for name, chosen in (("paths 1 and 2", (0, 1)), ("paths 3 and 4", (2, 3))):
            expected = quantile(
                sorted(time for n, time in enumerate(of_one) if n % 4 in chosen), 0.95
            )
            assert panel.lines[name] == [
                (float(place), pytest.approx(expected, abs=1e-6)) for place in range(3)
            ]
            assert len(panel.bars[name]) == 3

    # Figure 7: completion times by the time since the start of the previous flow. Even flows start
    # 5 ms after it, odd flows 30 ms, and the last one 530 ms, which is too few flows for a point.
    (panels,), _ = drawn["figure-7.svg"]
    assert [panel.title for panel in panels] == [
        f"70 kB {case}" for case in (four.LARGE, four.TENTH)
    ]
    for panel, case in zip(panels, (four.LARGE, four.TENTH), strict=True):
        assert list(panel.ticks) == ["10", "40"]
        both = [result.times for result in cases[case, "70 kB"].results.values()]
        for name, q in (("median", 0.5), ("95th percentile", 0.95)):
            close, apart = (
                quantile(sorted(time for times in both for time in times[first:83:2]), q)
                for first in (2, 1)
            )
            assert panel.lines[name] == [
                (0.0, pytest.approx(close, abs=1e-6)),
                (1.0, pytest.approx(apart, abs=1e-6)),
            ]

    # Figure 8: from a flow's first frame to its last at each port, mean and interval over the seeds.
    (panels,), _ = drawn["figure-8.svg"]
    assert [panel.title for panel in panels] == ["20 kB, paths 1 and 2", "70 kB, paths 1 and 2"]
    for panel in panels:
        assert list(panel.ticks) == ["1", "2", "3", "4", "5", "6"]
        assert list(panel.lines) == list(bases)
        for case, base in bases.items():
            assert panel.lines[case] == [
                (float(hop), pytest.approx(base + hop + 1.5)) for hop in range(len(four.HOPS))
            ]
            assert all(low < base + hop + 1.5 < high for hop, low, high in panel.bars[case])


def test_figures_without_their_results_are_not_drawn(drawn, tmp_path):
    some = Designs(
        [
            made(four.name(four.TENTH, "70 kB"), 60.0),
            made(four.name(four.LOADED, "2 kB"), 2.0, "2 kB"),
        ]
    )
    assert [file.name for file in STUDY.plots(some, tmp_path)] == ["figure-7.svg"]
    (panels,), _ = drawn["figure-7.svg"]
    assert [panel.title for panel in panels] == [f"70 kB {four.TENTH}"]


def test_the_answer_says_how_much_is_filled():
    bases = {four.LOADED: 2.0, four.LARGE: 5.0, four.LIA: 40.0, four.AWARE: 20.0}
    cases = [made(four.name(case, "70 kB"), base) for case, base in bases.items()]
    cases += [made(name, 60.0, gaps=(500, 500)) for name in (path.PRINTED, path.SPACED)]
    assert STUDY.answer(Designs(cases)) is None
    said = STUDY.answer(Designs([*cases, made("permutation-8", 85.0)]))
    assert said.startswith(
        "With eight subflows MPTCP fills 85 % of what the hosts of a FatTree can send (about 90 % in Raiciu et al.). "
    )
    assert said.ja.startswith(
        "サブフロー 8 本の MPTCP は、ファットツリーのホストが送信できる量の 85% を使います"
    )


def test_no_interval_of_a_share_is_above_the_whole():
    """Seeds that differ have a wide interval, but no fabric is used by more than all of it."""
    shares = {1: 70.0, 2: 99.0, 3: 99.5}
    name = "permutation-8"
    results = {seed: Made(seed, base) for seed, base in shares.items()}
    (row,) = STUDY.table(Designs([Design(name, results)]))
    assert row.ours == pytest.approx(sum(shares.values()) / 300)
    assert row.low < 0.7
    assert row.high == 1.0


def test_mechanisms_are_valid():
    for name, keys in mechanisms.MECHANISMS.items():
        mechanisms.point(name, keys).load()
    with mechanisms.FILE.open() as lines:
        kept = [line.split(",")[0] for line in lines][2:]
    assert len(kept) == len(mechanisms.MECHANISMS)


def test_the_page_has_the_mechanisms_and_its_own_differences():
    text = (files("mptcp") / "README.md").read_text(encoding="utf-8")
    with mechanisms.FILE.open() as lines:
        kept = [
            [float(value) for value in re.findall(r",([\d.]+)", line)][1:9]
            for line in list(lines)[2:]
        ]
    rows = text.partition("| mechanism |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(kept)
    for row, (average, _, _, *quantiles) in zip(rows, kept, strict=True):
        said = [float(cell) for cell in row.split(" | ")[1:7]]
        assert said == [pytest.approx(value, rel=0.01) for value in (average, *quantiles)], row
    # The numbers in the sentence about the core come from the table above it.
    pairs = re.findall(r"\| \d+, \d+, (\d+) % \| .*, ([\d.]+) % \(", text)
    more = [100 * (float(ours) / float(theirs) - 1) for theirs, ours in pairs]
    assert len(more) == 4
    assert f"{min(more):.0f} to {max(more):.0f} % more of the core than in the source" in text
    # The sentences about captured flows agree with the table.
    flows = [
        (float(theirs), float(ours))
        for theirs, ours in re.findall(r"\| \d[^|]* \| (1\d\d\.\d{3}) \| (1\d\d\.\d{3}) \|", text)
    ]
    assert [f"{abs(theirs - ours):.0f}" for theirs, ours in flows] == ["0", "24", "0", "0", "28"]
    assert "Flow 2 ends 24 ms later" in text
    assert "Flow 5 ends 28 ms later" in " ".join(text.split())


def test_both_fabrics_of_the_remedy_have_the_same_hosts_and_core():
    loaded = {
        fabric: dual_homed.point(dual_homed.Run(fabric, "MPTCP", 1)).load()
        for fabric in dual_homed.FABRICS
    }
    assert {scenario.hosts for scenario in loaded.values()} == {64}
    names = {fabric: [name for name, *_ in scenario.nodes] for fabric, scenario in loaded.items()}
    for tier, counts in (("core", (4, 4)), ("agg", (8, 8)), ("edge", (8, 16))):
        assert (
            tuple(sum(name.startswith(tier) for name in names[fabric]) for fabric in names)
            == counts
        )


def test_the_page_has_the_remedy():
    found = dual_homed.read()
    assert set(found) == set(dual_homed.wanted())
    page = " ".join((files("mptcp") / "README.md").read_text(encoding="utf-8").split())
    assert " ".join(dual_homed.table().split()) in page
    shorter = dual_homed.against_single(found, "MPTCP", "mean_ms")
    more = dual_homed.against_single(found, "MPTCP", "long_mbps")
    # Zero is within the one interval, and not within the other.
    assert shorter.ratio_low < 1 < shorter.ratio_high
    assert more.ratio_low > 1
    assert f"by {dual_homed.in_per_cent(shorter)}" in page
    assert f"by {dual_homed.in_per_cent(more)}" in page


def test_the_page_has_the_numbers_of_the_run_that_comes_with_afflux() -> None:
    place = files("mptcp")
    rows = {
        row["what"]: row
        for row in json.loads((place / "results" / "study.json").read_text())["rows"]
    }
    words = " ".join((place / "README.md").read_text(encoding="utf-8").split())

    def within(what: str, digits: int) -> str:
        row = rows[what]
        return f"{row['ours']:.{digits}f} ({row['low']:.{digits}f} to {row['high']:.{digits}f})"

    reached, missed = (f"FatTree permutation, {n} subflows: share of the optimum" for n in (1, 8))
    assert f"1 subflow: share of the optimum | 0.5 | {within(reached, 3)} |" in words
    assert f"| 8 subflows | 0.9 | {within(missed, 3)}: **missed** |" in words
    eight = rows[missed]
    assert f"eight subflows reach {eight['ours']:.3f} instead of 0.9" in words
    assert f"rounded | {eight['low']:.3f} to {eight['high']:.3f} |" in words
    for case in ("TCP", "packet scatter", "MPTCP", "uncoupled"):
        of = f"70 kB beside {case}"
        core = rows[f"{of}: core used, %"]
        shown = f"{core['ours']:.1f} % ({core['low']:.1f} to {core['high']:.1f})"
        times = f"{within(f'{of}: mean, ms', 0)}, {within(f'{of}: deviation, ms', 0)}"
        assert re.search(rf"\| {case} \| [^|]* \| {re.escape(f'{times}, {shown}')} \|", words), case
    loaded, large = (
        rows[f"2 kB {case}: 95th percentile later on loaded paths, ms"]
        for case in (four.LOADED, four.LARGE)
    )
    assert f"2 kB: {loaded['ours']:.2f} ms later with the printed buffers" in words
    assert f"{large['ours']:.1f} ms later (95th percentile, about 10 ms in the source)" in words
    text = (place / "README.md").read_text(encoding="utf-8")
    for case, buffers, digits in ((four.LOADED, "printed buffers", 2), (four.LARGE, "5 MB", 1)):
        later = [
            rows[f"{size} {case}: 95th percentile later on loaded paths, ms"]["ours"]
            for size in four.BYTES
        ]
        line = next(line for line in text.splitlines() if line.startswith(f"| {buffers} | "))
        assert re.findall(r"([\d.]+) ms", line) == [f"{value:.{digits}f}" for value in later]
    spaced, printed = (
        rows[f"{case}: lone flows from SYN to FIN, ms"]["ours"]
        for case in (path.SPACED, path.PRINTED)
    )
    assert f"{spaced:.1f} ms instead of about 130 ms" in words
    assert f"the two fitted waits make it {spaced:.1f}, and" in words
    assert f"at the printed rates instead of {printed:.1f}" in words
    scatter = 42 / rows["70 kB beside packet scatter: mean, ms"]["ours"]
    assert f"packet scatter {scatter:.1f} times as fast" in words
