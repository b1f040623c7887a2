"""Draws windows over time, for cases that the source does not have: a slow start, one with losses,
eight connections, and a cached threshold."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...results.designs import Design, Designs
from .. import figure

#: Sampling interval: a third of a round trip.
RECORDED = {"record.senders": "100ms"}
FLIGHT, WINDOW, THRESHOLD, SUM, LEAST, MOST = (
    "in flight",
    "congestion window",
    "threshold",
    "all 8 in flight",
    "least of the 8",
    "most of the 8",
)
_COLOURS = {
    FLIGHT: "#000000",
    WINDOW: "#0072b2",
    THRESHOLD: "#d55e00",
    SUM: "#000000",
    LEAST: "#56b4e9",
    MOST: "#009e73",
}
Line = list[tuple[float, float]]


def over_time(design: Design, flow: int = 0) -> dict[str, Line]:
    """Returns bytes in flight, window and threshold in kB of the connection that starts as number
    `flow`, against the seconds since its start."""
    result, senders = design.first, design.first.table("senders")
    start, chosen = sorted(
        zip(result.flows.column("start_ns"), result.flows.column("id"), strict=True)
    )[flow]
    found: dict[str, Line] = {}
    for name, column in (
        (FLIGHT, "in_flight_bytes"),
        (WINDOW, "window_bytes"),
        (THRESHOLD, "threshold_bytes"),
    ):
        rows = zip(*(senders.column(part) for part in ("time_ns", "flow", column)), strict=True)
        if line := [
            ((time - start) / 1e9, value / 1e3)
            for time, of, value in rows
            if of == chosen and value is not None
        ]:
            found[name] = line
    return found


def together(design: Design) -> dict[str, Line]:
    """Returns sum, minimum and maximum of the bytes in flight of all connections in kB, against
    seconds."""
    at: dict[int, list[int]] = defaultdict(list)
    senders = design.first.table("senders")
    for time, flight in zip(
        senders.column("time_ns"), senders.column("in_flight_bytes"), strict=True
    ):
        at[time].append(flight)
    of: dict[str, Callable[[list[int]], int]] = {SUM: sum, LEAST: min, MOST: max}
    return {
        name: [(time / 1e9, value(flights) / 1e3) for time, flights in sorted(at.items())]
        for name, value in of.items()
    }


def draw(
    designs: Designs,
    dir: Path,
    single: Mapping[str, str],
    eight: Mapping[str, str],
    cached: Mapping[str, str],
) -> list[Path]:
    """Writes the figures whose cases all exist. Each argument maps titles to designs. `cached`
    shows the second connection."""
    made = []
    for name, chosen, lines in (
        ("windows", single, over_time),
        ("windows-parallel", eight, together),
        ("windows-cached", cached, _second),
    ):
        panels = [
            _panel(title, lines(designs[design]))
            for title, design in chosen.items()
            if design in designs
        ]
        if len(panels) == len(chosen):
            shown = [key for key in _COLOURS if any(key in panel.lines for panel in panels)]
            made.append(
                figure.write(dir / f"{name}.svg", [panels], {key: _COLOURS[key] for key in shown})
            )
    return made


def _second(design: Design) -> dict[str, Line]:
    return over_time(design, 1)


def _panel(title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> figure.Panel:
    return figure.Panel(title, "s", "kB", lines)
