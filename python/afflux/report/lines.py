"""A figure of lines, drawn without a script: values over a few places, one line for each name."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ..words.text import digits

_WIDTH, _HEIGHT = 440, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 14, 44
#: About as wide as a digit.
_LETTER = 7
#: As the charts' dashes: no colour has to be told from another.
_DASHES = ("", "8 4", "2 3", "10 3 2 3", "5 2", "1 2", "12 4 4 4", "3 6")


@dataclass(frozen=True)
class Lines:
    title: str
    across: str
    up: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    #: The axis ends here at the latest; what is beyond is drawn at the edge, and its number told.
    most: float | None = None


def draw(figure: Lines) -> str:
    """The figure as HTML."""
    points = [point for line in figure.series.values() for point in line]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    span = high - low or 1.0
    top = max(y for _, y in points)
    top = min(top, figure.most) if figure.most is not None else top
    step = _step(top)
    top = step * ceil(top / step)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - low) / span if high > low else 0.5
        return round(_LEFT + across * (_WIDTH - _LEFT - _RIGHT), 1), round(_HEIGHT - _BOTTOM - min(y, top) / top * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = []
    for tick in range(round(top / step) + 1):
        _, y = at(low, tick * step)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="var(--grid)"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{tick * step:.4g}</text>')
    # From the right on, those that have room.
    free = float("inf")
    for x in sorted({x for x, _ in points}, reverse=True):
        place, half = at(x, 0)[0], _LETTER * len(f"{x:.4g}") / 2
        if place + half < free:
            parts.append(f'<text x="{place}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{x:.4g}</text>')
            free = place - half - _LETTER
    parts.append(f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{html.escape(figure.across)}</text>')
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">{html.escape(figure.up)}</text>')
    legend = []
    for index, (name, line) in enumerate(figure.series.items()):
        colour, dashes = f"var(--series-{index % 8})", _DASHES[index % len(_DASHES)]
        places = [at(x, y) for x, y in line]
        way = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
        for (x, y), (load, value) in zip(places, line, strict=True):
            told = f"{html.escape(name)}, {load:.4g}: {digits(value)}"
            parts.append(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"><title>{told}</title></circle>')
        dashed = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        sample = f'<svg width="34" height="10" aria-hidden="true"><line x1="1" x2="33" y1="5" y2="5" {dashed}/></svg>'
        above = [(x, value) for x, value in line if value > top]
        beyond = ", ".join(f"{digits(value)} at {x:.4g}" for x, value in above)
        if len(above) > 2:
            # There is room for two; the points tell each.
            beyond = f"{digits(min(value for _, value in above))} to {digits(max(value for _, value in above))}"
        legend.append(f'<span class="entry">{sample} {html.escape(name)}{f" (beyond: {beyond})" if beyond else ""}</span>')
    style = "display:block;width:100%;height:auto;font:12px var(--font);fill:var(--ink-soft)"
    svg = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(figure.title, quote=True)}" style="{style}">{"".join(parts)}</svg>'
    return f'<figure><figcaption>{html.escape(figure.title)}</figcaption>{svg}<div class="readout">{"".join(legend)}</div></figure>'


def _step(top: float) -> float:
    """Between four and ten lines, at round numbers."""
    step = 0.01
    while top / step > 10:
        step *= 2.5 if f"{step:e}"[0] == "2" else 2
    return step
