"""Draws the recorded state of senders over time (senders.parquet): for the lowest seed of each
design, the median over the active senders."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from ..results.designs import Design, Designs
from ..words import say
from . import differs
from .lines import Lines, draw
from .markup import both, html_section

#: Most points in time. Each is the median over its part of the run.
TIMES = 300
#: Columns with their units.
MEASURES = {
    "window_bytes": ("kB", 1e3),
    "in_flight_bytes": ("kB", 1e3),
    "smoothed_rtt_ns": ("ms", 1e6),
    "pacing_bps": ("Mbps", 1e6),
}


def section(designs: Designs) -> str:
    """Returns the section of the page; empty if no senders were recorded."""
    recorded = [
        design
        for design in designs.values()
        if "senders" in design.first.recorded and len(design.first.table("senders"))
    ]
    colours = dict(zip(designs, differs.colours(designs), strict=True))
    figures = list(_figures(recorded, colours))
    if not figures:
        return ""
    pairs = "".join(
        f'<div class="pair even">{"".join(figures[at : at + 2])}</div>'
        for at in range(0, len(figures), 2)
    )
    return html_section("senders", say("senders.title"), pairs, both(say("senders.lead")))


def _figures(designs: list[Design], colours: dict[str, int]) -> Iterator[str]:
    for column, (unit, size) in MEASURES.items():
        series = {
            design.name: points
            for design in designs
            if len(points := _median(design, column, size)) > 1
        }
        if series and any(value for points in series.values() for _, value in points):
            yield draw(Lines(say(f"senders.{column}"), "ms", unit, series, colours=colours))


def _median(design: Design, column: str, size: float) -> list[tuple[float, float]]:
    """Returns pairs of time in ms and median over the senders at that time."""
    table = design.first.table("senders")
    times, values = table.column("time_ns"), table.column(column)
    width = max(-(-max(times) // TIMES), 1)
    at: dict[int, list[float]] = defaultdict(list)
    for time, value in zip(times, values, strict=True):
        if value is not None:
            at[(time - 1) // width].append(value)
    return [
        ((part + 0.5) * width / 1e6, median(found) / size) for part, found in sorted(at.items())
    ]
