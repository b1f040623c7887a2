"""Draws the studies' line charts as SVG files: several panels next to each other with one legend.
Needs no other program. Figures for papers are in report/plot.py."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..files import durable

WIDTH, HEIGHT = 300, 210
LEFT, RIGHT, TOP, BOTTOM = 52, 18, 30, 44
LEGEND = 26
#: Colours of Okabe and Ito, which colour-blind readers can distinguish, without the yellow. The
#: last one is for the subject of the figure.
COLOURS = ("#000000", "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#009e73", "#cc79a7")


@dataclass(frozen=True)
class Panel:
    title: str
    x: str
    y: str
    #: Points in the order of x, by the name in the legend.
    lines: Mapping[str, Sequence[tuple[float, float]]]
    #: Names instead of numbers on the x axis, at 0, 1, 2, …
    ticks: Sequence[str] = field(default_factory=tuple)
    log_y: bool = False
    #: Intervals as (x, low, high), by the name in the legend.
    bars: Mapping[str, Sequence[tuple[float, float, float]]] = field(default_factory=dict)


def write(path: Path, rows: Sequence[Sequence[Panel]], colours: Mapping[str, str]) -> Path:
    """Writes panels in rows. A line has the same colour in all panels."""
    width, height = WIDTH * max(map(len, rows)), LEGEND + HEIGHT * len(rows)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    ]
    parts += [f'<rect width="{width}" height="{height}" fill="#fff"/>', _legend(colours)]
    for row, panels in enumerate(rows):
        for column, panel in enumerate(panels):
            parts.append(
                f'<g transform="translate({column * WIDTH} {LEGEND + row * HEIGHT})">{_panel(panel, colours)}</g>'
            )
    return durable.write_text(path, "\n".join([*parts, "</svg>\n"]))


def _legend(colours: Mapping[str, str]) -> str:
    parts, x = [], 12.0
    for name, colour in colours.items():
        parts.append(
            f'<line x1="{x}" x2="{x + 18}" y1="14" y2="14" stroke="{colour}" stroke-width="2"/><text x="{x + 23}" y="18">{html.escape(name)}</text>'
        )
        x += 40 + 6.5 * len(name)
    return "".join(parts)


def _panel(panel: Panel, colours: Mapping[str, str]) -> str:
    ends = [(x, y) for bars in panel.bars.values() for x, *interval in bars for y in interval]
    points = [
        point
        for line in (*panel.lines.values(), ends)
        for point in line
        if not panel.log_y or point[1] > 0
    ]
    if not points:
        return ""
    left, right = (0.0, len(panel.ticks) - 1.0) if panel.ticks else _bounds([x for x, _ in points])
    low, high = _decades([y for _, y in points]) if panel.log_y else _bounds([y for _, y in points])
    across = lambda x: LEFT + (x - left) / ((right - left) or 1) * (WIDTH - LEFT - RIGHT)  # noqa: E731
    scale = math.log10 if panel.log_y else float

    def up(y):
        return (
            HEIGHT
            - BOTTOM
            - (scale(y) - scale(low)) / ((scale(high) - scale(low)) or 1) * (HEIGHT - TOP - BOTTOM)
        )

    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{html.escape(panel.title)}</text>']
    for y in _log_ticks(low, high) if panel.log_y else _steps(low, high):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(y):.1f}" y2="{up(y):.1f}" stroke="#ddd"/>'
        )
        parts.append(f'<text x="{LEFT - 5}" y="{up(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    size = 9 if panel.ticks else 11
    for x, label in (
        enumerate(panel.ticks) if panel.ticks else ((x, f"{x:g}") for x in _steps(left, right))
    ):
        parts.append(
            f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle" font-size="{size}">{html.escape(label)}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 30}" text-anchor="middle">{html.escape(panel.x)}</text>'
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">{html.escape(panel.y)}</text>'
    )
    for name, bars in panel.bars.items():
        for x, low_end, high_end in bars:
            if not panel.log_y or low_end > 0:
                place, stroke = (
                    f'x1="{across(x):.1f}" x2="{across(x):.1f}"',
                    f'stroke="{colours[name]}" stroke-width="1"',
                )
                parts.append(
                    f'<line {place} y1="{up(low_end):.1f}" y2="{up(high_end):.1f}" {stroke}/>'
                )
    for name, line in panel.lines.items():
        drawn = " ".join(
            f"{across(x):.1f},{up(y):.1f}" for x, y in line if not panel.log_y or y > 0
        )
        parts.append(
            f'<polyline points="{drawn}" fill="none" stroke="{colours[name]}" stroke-width="1.6" stroke-linejoin="round"/>'
        )
    return "".join(parts)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Returns the range from 0 to a round number."""
    step = _step(max(values) or 1.0)
    return 0.0, math.ceil((max(values) or 1.0) / step - 1e-9) * step


def _step(length: float) -> float:
    """Returns a step of 1, 2 or 5 times a power of ten that gives at most six steps."""
    power = 10 ** math.floor(math.log10(length / 5))
    return next(factor * power for factor in (1, 2, 5, 10) if length / (factor * power) <= 6)


def _steps(low: float, high: float) -> list[float]:
    step = _step(high - low)
    return [round(low + place * step, 12) for place in range(int((high - low) / step + 1e-9) + 1)]


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Returns the range between 1, 2 or 5 times a power of ten that just contains the values."""
    marks = [factor * 10.0**power for power in range(-6, 10) for factor in (1, 2, 5)]
    return max(m for m in marks if m <= min(values) * (1 + 1e-9)), min(
        m for m in marks if m >= max(values) * (1 - 1e-9)
    )


def _log_ticks(low: float, high: float) -> list[float]:
    return [
        round(mark, 9)
        for power in range(-6, 10)
        for mark in (factor * 10.0**power for factor in (1, 2, 5))
        if low * 0.999 <= mark <= high * 1.001
    ]
