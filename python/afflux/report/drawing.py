"""Draws lines, points and intervals on the axes of figures for papers, and finds the metrics that
they show."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from ..comparison.compare import Comparison
from ..comparison.paired import Difference
from ..extras import needed
from ..metrics import Metric, named
from ..results.designs import Value
from ..results.explain import LABELS
from ..results.statistics import ENOUGH_SEEDS, interval, mean

if TYPE_CHECKING:
    from .printed import Figure

P = ParamSpec("P")
#: Colours of the parts, as on the page (style.css). Neighbours in the stack differ in lightness.
PARTS = dict(
    zip(
        LABELS,
        (
            "#bfc5cc",
            "#78b7e3",
            "#e8743b",
            "#e5b1d3",
            "#b073a8",
            "#f2c230",
            "#9ad9ef",
            "#3fae8a",
            "#d8dbb5",
        ),
        strict=True,
    )
)
PART_HATCHES = dict(
    zip(LABELS, ("", "////", "", "....", "", "\\\\\\\\", "", "xxxx", ""), strict=True)
)
#: A mean and, if there are enough seeds, its interval.
Estimated = tuple[float, tuple[float, float] | None]


def in_style(draw: "Callable[P, Figure]") -> "Callable[P, Figure]":
    """Runs a drawing function in the style of these figures. matplotlib reads much of a style at
    drawing time, so the whole function must run in it."""

    @wraps(draw)
    def styled(*args: P.args, **options: P.kwargs) -> "Figure":
        with printed().in_style():
            return draw(*args, **options)

    return styled


def printed() -> Any:
    with needed("plot", "a figure for papers"):
        from . import printed
    return printed


def begin(width: str | float, height: float | None, panels: int = 1) -> "tuple[Figure, Any]":
    """Returns a figure and its first axes. Panels are below each other and share the x axis."""
    figure = printed().Figure.sized(width, height)
    figure.subplots(panels, 1, sharex=True)
    return figure, figure.axes[0]


def part(label: str) -> dict[str, Any]:
    """Returns colour and hatching of a part's bars."""
    return {
        "color": PARTS[label],
        "hatch": PART_HATCHES[label],
        "edgecolor": "white",
        "linewidth": 0.4,
    }


def estimate(values: Sequence[float], most: float | None = None) -> Estimated:
    """Returns the mean and, from three values on, its interval."""
    found = interval(values) if len(values) >= ENOUGH_SEEDS else None
    return mean(values), found and (found[0], found[1] if most is None else min(found[1], most))


def estimated(value: Value, seeds: int, factor: float = 1.0) -> Estimated:
    """Returns the mean and the interval of a value in a unit of `factor`."""
    if value.low is None or value.high is None or seeds < ENOUGH_SEEDS:
        return value.mean / factor, None
    return value.mean / factor, (value.low / factor, value.high / factor)


def line(
    axes: Any, index: int, name: str, xs: Sequence[float], estimates: Sequence[Estimated]
) -> None:
    style = printed()
    axes.plot(xs, [y for y, _ in estimates], label=name, **style.line(index))
    bounds = [known or (y, y) for y, known in estimates]
    if any(known for _, known in estimates):
        axes.fill_between(
            xs,
            [low for low, _ in bounds],
            [high for _, high in bounds],
            color=style.COLOURS[index % len(style.COLOURS)],
            alpha=0.2,
            linewidth=0,
        )


def errors(
    axes: Any, index: int, name: str, xs: Sequence[float], estimates: Sequence[Estimated]
) -> None:
    style = printed()
    sides = [
        [y - (known or (y, y))[0] for y, known in estimates],
        [(known or (y, y))[1] - y for y, known in estimates],
    ]
    errors = sides if any(known for _, known in estimates) else None
    axes.errorbar(
        xs,
        [y for y, _ in estimates],
        errors,
        label=name,
        capsize=1.5,
        elinewidth=0.8,
        **style.line(index) | style.marker(index),
    )


def across(
    axes: Any,
    index: int,
    name: str | None,
    at: float,
    value: float,
    bounds: tuple[float, float] | None,
) -> None:
    """Draws a point with its interval on a horizontal scale."""
    errors = [[value - bounds[0]], [bounds[1] - value]] if bounds else None
    axes.errorbar(
        [value],
        [at],
        xerr=errors,
        label=name,
        capsize=2,
        elinewidth=0.9,
        linestyle="",
        **printed().marker(index) | {"markersize": 4},
    )


def metric_of(name: str) -> Metric:
    """Returns the metric of a name in JSON output or of a short name. Raises `ValueError`."""
    try:
        return named(name)
    except LookupError as error:
        raise ValueError(str(error)) from None


def ratios(found: Comparison, metrics: Sequence[Metric]) -> dict[tuple[str, str], Difference]:
    """Returns the differences that have a ratio, by design and name of the metric. Includes those of
    `metrics` that the comparison does not contain, except where it leaves them out on purpose."""
    every = {(one.design, one.metric.name): one for one in found.differences}
    for name in found.designs:
        for metric in metrics:
            if one := found.between(metric, name):
                every[name, metric.name] = one
    return {key: one for key, one in every.items() if one.ratio is not None}


def title(metric: Metric) -> str:
    """Returns the title of a metric for the label of an axis."""
    shown = literal(metric.title)
    return shown if metric.begins_with_name else shown[0].upper() + shown[1:]


def literal(text: str) -> str:
    """Returns a name as text of a figure. Text between two dollar signs would be a formula."""
    return text.replace("$", r"\$")


def percentile(name: str) -> str:
    """Formats a percentile: `p999` becomes p99.9."""
    return f"p{name[1:3]}" + (f".{name[3:]}" if name[3:] else "")
