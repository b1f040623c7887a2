"""Fits names into figures for papers: short names of designs, lines of limited width, and legends
outside the axes, where they cover no curve."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import settings
from .drawing import literal, printed

if TYPE_CHECKING:
    from .printed import Figure

#: Sizes of text in points: tick labels and legends, and labels of axes.
SMALL, NORMAL = 7, 8
#: Points per inch.
_POINTS = 72
#: Distance of lines, and of entries of a legend, in sizes of text.
_LINE, _ENTRY = 1.17, 1.67
#: Most columns of a legend.
_COLUMNS = 3


def short(names: Iterable[str]) -> dict[str, str]:
    """Shortens the names of designs as the tables do: points of a sweep to the settings in which
    they differ."""
    return {name: literal(text) for name, text in settings.short_names(list(names)).items()}


def wrapped(text: str, width: float, size: float = SMALL) -> str:
    """Breaks text into lines of at most `width` points: at spaces, and within a longer word after
    punctuation."""

    def fits(line: str) -> bool:
        return not line or bool(printed().text_width(line, size) <= width)

    lines = [""]
    for word in text.split(" "):
        if fits(longer := f"{lines[-1]} {word}".lstrip()):
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for part in re.findall(r"[^,=_/:-]*[,=_/:-]|[^,=_/:-]+", word):
            if lines[-1] and not fits(lines[-1] + part):
                lines.append("")
            lines[-1] += part
    return "\n".join(lines)


def rows(axes: Any, names: Iterable[str], height: float | None = None) -> None:
    """Writes the names of designs as tick labels of the vertical axis, in at most two fifths of the
    figure's width. Without `height`, lines that are added make the figure higher."""
    figure = axes.figure
    shown = [wrapped(name, 0.4 * _POINTS * figure.get_size_inches()[0]) for name in names]
    axes.set_yticks(range(len(shown)), shown)
    if height is None:
        most = max(name.count("\n") for name in shown)
        _grow(figure, len(shown) * max(0.0, most - 0.5) * SMALL * _LINE)


def below(axes: Any, text: str) -> None:
    """Labels the horizontal axis, on several lines if the text is long."""
    # Tick labels of the vertical axis leave about three fifths of the figure to the axes.
    width = _POINTS * (axes.figure.get_size_inches()[0] - 1.3)
    axes.set_xlabel(wrapped(text, width, NORMAL))


def legend(
    figure: "Figure",
    height: float | None,
    *,
    included: int = 1,
    title: str | None = None,
    handlelength: float = 2.6,
) -> None:
    """Adds a legend above the axes, with as many columns as fit.

    Without `height`, rows beyond those that the figure's height includes make the figure higher, so
    that the axes keep their size.
    """
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if not labels:
        return
    width = _POINTS * figure.get_size_inches()[0] - 2 * SMALL
    before = (handlelength + 0.8) * SMALL
    labels = [wrapped(label, width - before) for label in labels]
    widths = [
        before + max(printed().text_width(line, SMALL) for line in label.split("\n"))
        for label in labels
    ]
    columns = next(
        count
        for count in range(min(_COLUMNS, len(labels)), 0, -1)
        if count == 1
        or sum(max(part) for part in _columns(widths, count)) + (count - 1) * SMALL <= width
    )
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=columns,
        columnspacing=1,
        handlelength=handlelength,
        title=title,
        title_fontsize=SMALL,
    )
    if height is None:
        sizes = [_ENTRY + label.count("\n") * _LINE for label in labels]
        points = max(sum(part) for part in _columns(sizes, columns)) * SMALL
        if title:
            points += _ENTRY * SMALL
        _grow(figure, max(0.0, points - included * _ENTRY * SMALL))


def _columns(values: list[float], count: int) -> list[list[float]]:
    """Splits values as a legend of matplotlib does: column by column, the first ones longer."""
    least, more = divmod(len(values), count)
    ends = [place * least + min(place, more) for place in range(count + 1)]
    return [values[ends[at] : ends[at + 1]] for at in range(count)]


def _grow(figure: "Figure", points: float) -> None:
    wide, high = figure.get_size_inches()
    figure.set_size_inches(wide, high + points / _POINTS)
