"""Draws Figures 5 to 9 of the source from the simulation. The source's own figures are pictures
without numbers."""

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
#: Colours by the name in the legend.
_COLOURS = dict(
    zip((four.ALONE, four.LOADED, four.LARGE), ("#0072b2", "#e69f00", "#d55e00"), strict=True)
)
_Lines = dict[str, list[tuple[float, float]]]
_Bars = dict[str, list[tuple[float, float, float]]]

#: Classes of the time in ms since the start of the previous flow.
_GAPS = ((0, 10), (10, 20), (20, 40), (40, 70), (70, 110), (110, 200), (200, 400), (400, 1_000))


def draw(designs: Designs, dir: Path) -> list[Path]:
    """Draws the figures for which there are results."""
    made = []
    cases = {
        case: designs[name] for case in _COLOURS if (name := four.name(case, "70 kB")) in designs
    }
    if cases:
        made.append(figure.write(dir / "figure-5.svg", [[_by_path(cases), _use(cases)]], _COLOURS))
        made.append(
            figure.write(
                dir / "figure-8.svg",
                [[_spans(designs, size) for size in ("20 kB", "70 kB")]],
                _COLOURS,
            )
        )
    if four.name(four.LARGE, "2 kB") in designs:
        drawn = {"paths 1 and 2": "#d55e00", "paths 3 and 4": "#0072b2"}
        made.append(
            figure.write(
                dir / "figure-6.svg",
                [[_by_size(designs, case) for case in (four.LOADED, four.LARGE)]],
                drawn,
            )
        )
    spaced = [case for case in (four.LARGE, four.TENTH) if four.name(case, "70 kB") in designs]
    if spaced:
        drawn = {"median": "#0072b2", "95th percentile": "#d55e00"}
        made.append(
            figure.write(
                dir / "figure-7.svg",
                [[_by_gap(designs[four.name(case, "70 kB")], case) for case in spaced]],
                drawn,
            )
        )
    received = [
        designs[case]
        for case in (path.SPACED, path.DENSE)
        if case in designs and designs[case].first.dir
    ]
    if received:
        rows = [
            [_flows(design) for design in received],
            [_interface(design) for design in received],
        ]
        made.append(figure.write(dir / "figure-9.svg", rows, _FLOWS | {"the interface": "#000000"}))
    return made


def _over_seeds(
    design: Design, value: Callable[[Result], float]
) -> tuple[float, tuple[float, float]]:
    each = [value(result) for result in design.samples.values()]
    return mean(each), interval(each) or (mean(each), mean(each))


def _by_path(cases: dict[str, Design]) -> figure.Panel:
    """Draws medians by path, with bars from the 5th to the 95th percentile of all seeds' flows,
    because the source discusses spread."""
    lines: _Lines = {case: [] for case in cases}
    bars: _Bars = {case: [] for case in cases}
    for shift, (case, design) in enumerate(cases.items()):
        for place, core in enumerate(_PATHS):
            times = sorted(
                flow.fct / 1e6
                for result in design.samples.values()
                for flow in four.short(result)
                if flow.core == core
            )
            if times:
                lines[case].append((float(place), quantile(times, 0.5)))
                bars[case].append(
                    (place + 0.03 * (shift - 1), quantile(times, 0.05), quantile(times, 0.95))
                )
    return figure.Panel(
        "70 kB: median, 5th to 95th percentile", "", "completion time, ms", lines, _TICKS, bars=bars
    )


def _use(cases: dict[str, Design]) -> figure.Panel:
    """Draws the utilisation by path without intervals: in some seeds one path carries most, in
    others the other."""
    lines = {
        case: [
            (float(place), _over_seeds(design, four.used(core))[0])
            for place, core in enumerate(_PATHS)
        ]
        for case, design in cases.items()
    }
    return figure.Panel("utilisation, mean over the seeds", "", "%", lines, _TICKS)


def _by_size(designs: Designs, case: str) -> figure.Panel:
    sizes = [size for size in four.BYTES if four.name(case, size) in designs]
    lines, bars = {}, {}
    for name, loaded in (("paths 1 and 2", True), ("paths 3 and 4", False)):
        found = [_over_seeds(designs[four.name(case, size)], four.p95_on(loaded)) for size in sizes]
        lines[name] = [(float(place), middle) for place, (middle, _) in enumerate(found)]
        bars[name] = [(float(place), *ends) for place, (_, ends) in enumerate(found)]
    return figure.Panel(
        f"95th percentile, {case}", "flow size", "completion time, ms", lines, sizes, bars=bars
    )


def _by_gap(design: Design, case: str) -> figure.Panel:
    """Draws completion times by the time since the previous flow started."""
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
        name: [(float(place), quantile(times, q)) for place, times in enumerate(known.values())]
        for name, q in (("median", 0.5), ("95th percentile", 0.95))
    }
    return figure.Panel(
        f"70 kB {case}",
        "ms since the start of the flow before, upper end",
        "completion time, ms",
        lines,
        [str(high) for _, high in known],
    )


def _spans(designs: Designs, size: str) -> figure.Panel:
    lines: _Lines = {}
    bars: _Bars = {}
    ports = range(len(four.HOPS))
    for case in _COLOURS:
        if (name := four.name(case, size)) in designs:
            each = [four.spans(result) for result in designs[name].samples.values()]
            lines[case] = [
                (float(place), mean([spans[place] for spans in each])) for place in ports
            ]
            bars[case] = [
                (float(place), *within)
                for place in ports
                if (within := interval([spans[place] for spans in each]))
            ]
    return figure.Panel(
        f"{size}, paths 1 and 2",
        "port, from the host on",
        "first to last frame, ms",
        lines,
        [str(place + 1) for place in ports],
        bars=bars,
    )


#: Flows that are drawn, and the time in seconds at which the drawing ends.
_FLOWS = {f"flow {number}": colour for number, colour in enumerate(figure.COLOURS[1:], 1)}
_SHOWN = 1.0


def _arrivals(design: Design) -> list[tuple[float, int, int]]:
    """Returns arrival time in ms, sender's port and bytes of the frames that arrive."""
    result = design.first
    assert result.dir
    found = frames(next(result.dir.glob("edge1-host1*.pcapng")))
    return [(1e3 * time, port, size) for time, port, size in found if time < _SHOWN]


def _flows(design: Design) -> figure.Panel:
    by_port: dict[int, list[tuple[float, float]]] = {}
    for time, port, size in _arrivals(design):
        line = by_port.setdefault(port, [(time, 0.0)])
        line.append((time, line[-1][1] + size / 1e3))
    return figure.Panel(
        design.name.removeprefix("path, "),
        "ms",
        "received, kB",
        dict(zip(_FLOWS, by_port.values(), strict=False)),
    )


def _interface(design: Design) -> figure.Panel:
    line = [(0.0, 0.0)]
    for time, _, size in _arrivals(design):
        line.append((time, line[-1][1] + size / 1e3))
    return figure.Panel("all flows", "ms", "received, kB", {"the interface": line})


def frames(file: Path) -> Iterator[tuple[float, int, int]]:
    """Yields, for each TCP frame with data in a capture: time in seconds, sender's port, bytes of
    data."""
    data, place = file.read_bytes(), 0
    while place + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == 6:  # An enhanced packet block; time stamps are in nanoseconds.
            _, high, low, _, _ = struct.unpack_from("<IIIII", data, place + 8)
            ip = place + 28 + 14
            tcp = ip + 4 * (data[ip] & 15)
            size = (
                struct.unpack_from(">H", data, ip + 2)[0]
                - 4 * (data[ip] & 15)
                - 4 * (data[tcp + 12] >> 4)
            )
            if size > 0:
                yield ((high << 32) + low) / 1e9, struct.unpack_from(">H", data, tcp)[0], size
        place += length
