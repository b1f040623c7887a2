"""Draws a figure of lines without a script: values over a few places, with a line for each name.
Curves are SVG that stretches; texts are HTML on top of it."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from ..words import say
from ..words.text import digits
from .markup import both

#: Height of a name next to the curves, as a share of the plot's height.
_NAME = 0.085
#: Width of a letter of an axis text, as a share of the plot's width.
_LETTER = 0.02
#: Lines of more points than this have no dots, and their axis has round numbers.
_DOTTED = 30
#: Dash patterns. Lines can thus be distinguished without their colours.
_DASHES = ("", "8 4", "2 3", "10 3 2 3", "5 2", "1 2", "12 4 4 4", "3 6")


@dataclass(frozen=True)
class Lines:
    title: str
    across: str
    up: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    #: Upper limit of the axis. Values beyond it are drawn at the edge, and a note gives their
    #: numbers.
    most: float | None = None
    #: Colour indices of lines that do not use the index of their position.
    colours: Mapping[str, int] | None = None


def draw(figure: Lines) -> str:
    """Returns the figure as HTML."""
    points = [point for line in figure.series.values() for point in line]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = max(y for _, y in points)
    top = min(top, figure.most) if figure.most is not None else top
    step = _step(top)
    top = step * ceil(top / step)

    def across(x: float) -> float:
        return (x - low) / (high - low) if high > low else 0.5

    def down(y: float) -> float:
        return 1 - min(y, top) / top

    curves, texts, keys, notes = [], [], [], []
    for tick in range(round(top / step) + 1):
        y = down(tick * step)
        curves.append(f'<line class="g" x1="0" x2="1000" y1="{1000 * y:.1f}" y2="{1000 * y:.1f}"/>')
        texts.append(f'<span class="y" style="--y:{100 * y:.2f}%">{tick * step:.4g}</span>')
    ends = _spread([down(line[-1][1]) for line in figure.series.values()])
    for index, ((name, line), end) in enumerate(zip(figure.series.items(), ends, strict=True)):
        number = (figure.colours or {}).get(name, index)
        colour, dashes = f"var(--series-{min(number, 8)})", _DASHES[number % len(_DASHES)]
        style = f"stroke:{colour};stroke-width:2;stroke-dasharray:{dashes}"
        way = "L".join(f"{1000 * across(x):.1f} {1000 * down(y):.1f}" for x, y in line)
        curves.append(f'<path d="M{way}" style="{style}"/>')
        for x, y in line if len(line) <= _DOTTED else ():
            told = f"{html.escape(name, quote=True)}, {x:.4g}: {digits(y)}"
            texts.append(
                f'<span class="dot" style="--x:{100 * across(x):.2f}%;--y:{100 * down(y):.2f}%;--c:{colour}" title="{told}"></span>'
            )
        sample = f'<svg width="22" height="8" aria-hidden="true"><line x1="0" x2="22" y1="4" y2="4" style="{style}"/></svg>'
        texts.append(
            f'<span class="line-name" style="--y:{100 * end:.2f}%;--c:{colour}">{sample}{html.escape(name)}</span>'
        )
        keys.append(f'<span style="--c:{colour}">{sample}{html.escape(name)}</span>')
        above = [(x, value) for x, value in line if value > top]
        if above:
            values = [value for _, value in above]
            beyond = (
                ", ".join(f"{digits(value)} ({x:.4g})" for x, value in above)
                if len(above) < 3
                else f"{digits(min(values))} – {digits(max(values))}"
            )
            notes.append(f"{html.escape(name)} {beyond}")
    drawing = f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">{"".join(curves)}</svg>'
    plot = f'<div class="plot" role="img" aria-label="{html.escape(_said(figure), quote=True)}">{drawing}{"".join(texts)}</div>'
    places = {x for x, _ in points}
    if any(len(line) > _DOTTED for line in figure.series.values()):
        between = _step(high)
        places = {between * tick for tick in range(ceil(low / between), int(high / between) + 1)}
    axis = "".join(
        f'<span style="--x:{100 * across(x):.2f}%">{x:.4g}</span>' for x in _ticks(places, across)
    )
    width = max(map(len, figure.series))
    told = say("lines.beyond", items="; ".join(notes))
    beyond = (
        f'<p class="note"><span lang="en">{told}</span><span lang="ja">{told.ja}</span></p>'
        if notes
        else ""
    )
    head = f'<h3>{both(figure.title)}</h3><p class="up">{html.escape(figure.up)}</p>'
    foot = f'<div class="axis">{axis}</div><p class="across">{html.escape(figure.across)}</p>'
    # A phone has no room for names next to the curves.
    key = f'<div class="line-key phone" aria-hidden="true">{"".join(keys)}</div>'
    return f'<figure class="lines">{head}{key}<div class="lines-plot" style="--names:{width}">{plot}{foot}</div>{beyond}</figure>'


def _said(figure: Lines) -> str:
    """Describes the lines in words: first and last value of each."""
    lines = (
        f"{name} {digits(line[0][1])} – {digits(line[-1][1])}"
        for name, line in figure.series.items()
    )
    return f"{figure.title}, {figure.up}: {'; '.join(lines)}"


def _ticks(places: set[float], across: Callable[[float], float]) -> list[float]:
    """Selects the ticks whose texts fit, starting at the right."""
    found, free = [], float("inf")
    for x in sorted(places, reverse=True):
        half = _LETTER * len(f"{x:.4g}") / 2
        if across(x) + half < free:
            found.append(x)
            free = across(x) - half - _LETTER
    return found[::-1]


def _spread(heights: Sequence[float]) -> list[float]:
    """Places names as near to the ends of their curves as possible without overlap."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    found = list(heights)
    for before, place in pairwise(order):
        found[place] = max(found[place], found[before] + _NAME)
    limit = 1.0
    for place in reversed(order):
        found[place] = min(found[place], limit)
        limit = found[place] - _NAME
    return found


def _step(top: float) -> float:
    """Returns a round step that gives between four and ten grid lines."""
    step = 0.01
    while top / step > 10:
        step *= 2.5 if f"{step:e}"[0] == "2" else 2
    return step
