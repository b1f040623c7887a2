"""Figures 5 to 9 of the source, as simulated. Its own are pictures without numbers."""

import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import mean

from ...results.designs import Design, Designs
from ...results.result import Result
from ...results.statistics import interval, quantile
from .. import figure
from . import four, path

_PATHS = ("core0", "core1", "core2", "core3")
_TICKS = ("path 1", "path 2", "path 3", "path 4")
#: By the name in the legend.
_COLOURS = dict(zip((four.ALONE, four.BESIDE, four.LARGE), ("#0072b2", "#e69f00", "#d55e00"), strict=True))
_Lines = dict[str, list[tuple[float, float]]]
_Bars = dict[str, list[tuple[float, float, float]]]

#: Milliseconds since the start of the flow before.
_GAPS = ((0, 10), (10, 20), (20, 40), (40, 70), (70, 110), (110, 200), (200, 400), (400, 1_000))


def draw(designs: Designs, dir: Path) -> list[Path]:
    """The figures for which there are results."""
    made = []
    cases = {case: designs[name] for case in _COLOURS if (name := four.name(case, "70 kB")) in designs}
    if cases:
        made.append(figure.write(dir / "figure-5.svg", [[_by_path(cases), _use(cases)]], _COLOURS))
        made.append(figure.write(dir / "figure-8.svg", [[_spans(cases)]], _COLOURS))
    if four.name(four.LARGE, "2 kB") in designs:
        drawn = {"paths 1 and 2": "#d55e00", "paths 3 and 4": "#0072b2"}
        made.append(figure.write(dir / "figure-6.svg", [[_by_size(designs, case) for case in (four.BESIDE, four.LARGE)]], drawn))
    spaced = [case for case in (four.LARGE, four.TENTH) if four.name(case, "70 kB") in designs]
    if spaced:
        drawn = {"median": "#0072b2", "95th percentile": "#d55e00"}
        made.append(figure.write(dir / "figure-7.svg", [[_by_gap(designs[four.name(case, "70 kB")], case) for case in spaced]], drawn))
    received = [case for case in (path.SPACED, path.DENSE) if case in designs and designs[case].first.dir]
    if received:
        drawn = {"a flow": "#0072b2", "the interface": "#000000"}
        made.append(figure.write(dir / "figure-9.svg", [[_received(designs[case], case) for case in received]], drawn))
    return made


def _over_seeds(design: Design, value: Callable[[Result], float]) -> tuple[float, tuple[float, float]]:
    each = [value(result) for result in design.samples.values()]
    return mean(each), interval(each) or (mean(each), mean(each))


def _lined(cases: dict[str, Design], values: Callable[[int], Callable[[Result], float]], count: int) -> tuple[_Lines, _Bars]:
    """Lines and intervals: a value for each place."""
    lines, bars = {}, {}
    for case, design in cases.items():
        found = [_over_seeds(design, values(place)) for place in range(count)]
        lines[case] = [(float(place), middle) for place, (middle, _) in enumerate(found)]
        bars[case] = [(float(place), *ends) for place, (_, ends) in enumerate(found)]
    return lines, bars


def _by_path(cases: dict[str, Design]) -> figure.Panel:
    """Medians; bars from the 5th to the 95th percentile of all seeds' flows, because the source speaks of spread."""
    lines: _Lines = {case: [] for case in cases}
    bars: _Bars = {case: [] for case in cases}
    for shift, (case, design) in enumerate(cases.items()):
        for place, core in enumerate(_PATHS):
            times = sorted(flow.fct / 1e6 for result in design.samples.values() for flow in four.short(result) if flow.core == core)
            if times:
                lines[case].append((float(place), quantile(times, 0.5)))
                bars[case].append((place + 0.03 * (shift - 1), quantile(times, 0.05), quantile(times, 0.95)))
    return figure.Panel("70 kB: median, 5th to 95th percentile", "", "completion time, ms", lines, _TICKS, bars=bars)


def _use(cases: dict[str, Design]) -> figure.Panel:
    lines, bars = _lined(cases, lambda place: four.used(_PATHS[place]), len(_PATHS))
    return figure.Panel("utilisation", "", "%", lines, _TICKS, bars=bars)


def _by_size(designs: Designs, case: str) -> figure.Panel:
    sizes = [size for size in four.BYTES if four.name(case, size) in designs]
    lines, bars = {}, {}
    for name, loaded in (("paths 1 and 2", True), ("paths 3 and 4", False)):
        found = [_over_seeds(designs[four.name(case, size)], four.slow_on(loaded)) for size in sizes]
        lines[name] = [(float(place), middle) for place, (middle, _) in enumerate(found)]
        bars[name] = [(float(place), *ends) for place, (_, ends) in enumerate(found)]
    return figure.Panel(f"slowest 5 %, {case}", "flow size", "completion time, ms", lines, sizes, bars=bars)


def _by_gap(design: Design, case: str) -> figure.Panel:
    """Completion times by the time since the flow before started."""
    found: dict[tuple[int, int], list[float]] = {gap: [] for gap in _GAPS}
    for result in design.samples.values():
        flows = sorted(four.short(result), key=lambda flow: flow.start)
        for before, flow in pairwise(flows):
            since = (flow.start - before.start) / 1e6
            for low, high in _GAPS:
                if low <= since < high:
                    found[low, high].append(flow.fct / 1e6)
    known = {gap: sorted(times) for gap, times in found.items() if len(times) >= 20}
    lines = {
        name: [(float(place), quantile(times, q)) for place, times in enumerate(known.values())] for name, q in (("median", 0.5), ("95th percentile", 0.95))
    }
    return figure.Panel(f"70 kB {case}", "ms since the flow before, below", "completion time, ms", lines, [str(high) for _, high in known])


def _spans(cases: dict[str, Design]) -> figure.Panel:
    lines, bars = _lined(cases, lambda place: lambda result: four.spans(result)[place], len(four.HOPS))
    return figure.Panel("70 kB, loaded paths: first to last frame", "hop", "ms", lines, [str(place + 1) for place in range(len(four.HOPS))], bars=bars)


def _received(design: Design, case: str) -> figure.Panel:
    """Bytes that arrive in the first seconds, flow by flow and in all."""
    result = design.first
    assert result.dir
    by_port: dict[int, list[tuple[float, float]]] = {}
    total, every = 0, [(0.0, 0.0)]
    for time, port, size in frames(next(result.dir.glob("edge1-host1*.pcapng"))):
        if time < _SHOWN:
            line = by_port.setdefault(port, [(1e3 * time, 0.0)])
            line.append((1e3 * time, line[-1][1] + size / 1e3))
            total += size
            every.append((1e3 * time, total / 1e3))
    # One line with a break between flows would need a move: each flow starts at 0 again.
    flows = [point for line in by_port.values() for point in ((line[0][0], 0.0), *line[1:], (line[-1][0], 0.0))]
    return figure.Panel(case.removeprefix("path, "), "ms", "received, kB", {"the interface": every, "a flow": flows})


#: Seconds of the figure.
_SHOWN = 1.5


def frames(file: Path) -> Iterator[tuple[float, int, int]]:
    """Of the TCP frames with data in a capture: seconds, the sender's port, bytes of data."""
    data, place = file.read_bytes(), 0
    while place + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == 6:  # An enhanced packet block; stamps are in nanoseconds.
            _, high, low, _, _ = struct.unpack_from("<IIIII", data, place + 8)
            ip = place + 28 + 14
            tcp = ip + 4 * (data[ip] & 15)
            size = struct.unpack_from(">H", data, ip + 2)[0] - 4 * (data[ip] & 15) - 4 * (data[tcp + 12] >> 4)
            if size > 0:
                yield ((high << 32) + low) / 1e9, struct.unpack_from(">H", data, tcp)[0], size
        place += length
