"""Figures for papers. Each function returns a matplotlib figure; `save` writes it.

    from afflux import plot
    plot.completion_times(results).save("fct.pdf")

`results` are results, result directories (one, or a list), or `afflux.Designs`. Results of one scenario name are one
design with several seeds: lines and points are means over the seeds, and bands and bars are their
95 % intervals, from three seeds on. `width` is `"column"` (3.4 inches), `"page"` (7 inches), or a
number of inches. Text has 7 and 8 points. Lines differ in colour and dash, points in shape, bars in
hatching, so that a grey print can be read. A figure has no title: the paper's caption says what it
shows. matplotlib is the extra `plot`.

A figure raises `NothingToDraw`, a `ValueError`, if the results lack the data that it shows, and
`MissingExtra` without matplotlib.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .. import settings
from ..comparison.compare import compare
from ..results import percentiles
from ..results import split as parts_of
from ..results.designs import Design, Results, gather
from ..results.explain import LABELS
from ..results.statistics import ENOUGH_SEEDS
from ..words import text
from . import axis, completion, drawing, labels, scale, series

if TYPE_CHECKING:
    from .printed import Figure

Points = tuple[Sequence[float], Sequence[float | Sequence[float]]]

_MEASURES = {"fct": "Flow completion time", "slowdown": "Slowdown"}
_NONE_FINISHED = "no flow finished after the warm-up: there are no completion times"
#: Metrics of `changes`, used if the results have them.
CHANGES = (
    "job_time_mean_ns",
    "fct_mean_ns",
    "fct_p50_ns",
    "fct_p99_ns",
    "slowdown_mean",
    "slowdown_p99",
    "goodput_bps",
)
#: Ratio of the largest to the smallest change above which `changes` has a logarithmic axis.
WIDE = 3.0


class Combination(Protocol):
    """A combination of the varied keys, as `Sweep.combinations` returns it."""

    @property
    def values(self) -> Mapping[str, Any]: ...
    @property
    def means(self) -> Mapping[str, Any]: ...
    @property
    def samples(self) -> int: ...


class Swept(Protocol):
    """A sweep, as `afflux.sweep` returns it."""

    keys: tuple[str, ...]

    @property
    def combinations(self) -> Sequence[Combination]: ...


class NothingToDraw(ValueError):
    """The results lack the data that a figure shows."""


@drawing.in_style
def completion_times(
    results: Results,
    *,
    measure: str = "fct",
    tail: bool = False,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws the distribution of completion times (`measure="slowdown"`: of slowdowns). With `tail`,
    draws the share of flows above each value, on a logarithmic axis.

    Only finished flows that do not start in the warm-up count. The line is the mean of the seeds'
    distributions.
    """
    if measure not in _MEASURES:
        raise ValueError(f"measure {measure!r}: write 'fct' or 'slowdown'")
    designs, seeds, found = _by_seed(results)
    short = labels.short(design.name for design in designs)
    grid = found["cdf"][measure]
    label, factor = _MEASURES[measure], 1.0
    if measure == "fct":
        factor, unit = axis.unit(text.time, (grid["x"][0] * grid["x"][-1]) ** 0.5)
        label += f" ({unit})"
    figure, axes = drawing.begin(width, height)
    xs = [x / factor for x in grid["x"]]
    lowest = 1.0
    for index, design in enumerate(designs):
        shares = [
            [(flows - below if tail else below) / flows for below in counts]
            for of, counts, flows in zip(seeds, grid["below"], grid["flows"], strict=True)
            if of == index and flows
        ]
        if not shares:
            continue
        estimates = [drawing.estimate(column, most=1.0) for column in zip(*shares, strict=True)]
        lowest = min([lowest, *(y for y, _ in estimates if y)])
        drawing.line(axes, index, short[design.name], xs, estimates)
    axes.set(
        xscale="log", xlabel=label, ylabel="Share of flows above" if tail else "Share of flows"
    )
    if tail:
        axes.set(yscale="log", ylim=(lowest / 1.5, 1.2))
    else:
        axes.set_ylim(0, 1.02)
    labels.legend(figure, height)
    return figure


@drawing.in_style
def slowdown_by_size(
    results: Results,
    *,
    measure: str = "slowdown",
    percentile: str | None = None,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws a percentile of slowdowns (`measure="fct"`: of completion times) by flow size, with
    intervals over the seeds.

    Size classes have equally many flows. `percentile` is `"mean"`, `"p50"`, `"p95"`, `"p99"` or
    `"p999"`. The default is the highest up to p99 that at least half of the classes have. A class
    has a percentile if every seed has enough flows in it: 20 for p95, 100 for p99, 1,000 for p99.9.
    """
    if measure not in _MEASURES:
        raise ValueError(f"measure {measure!r}: write 'slowdown' or 'fct'")
    if percentile not in (None, "mean", *percentiles.PERCENTILES):
        raise ValueError(
            f"percentile {percentile!r}: write 'mean', {', '.join(map(repr, percentiles.PERCENTILES))}"
        )
    designs, seeds, found = _by_seed(results)
    short = labels.short(design.name for design in designs)

    def samples(name: str) -> list[list[list[float] | None]]:
        """Returns, by design and size class, the values of the seeds; `None` if a seed has too few
        flows."""
        own = [
            [
                one[measure][name]
                for of, one in zip(seeds, found["designs"], strict=True)
                if of == index
            ]
            for index in range(len(designs))
        ]
        return [
            [None if None in values else list(values) for values in zip(*of_design, strict=True)]
            for of_design in own
        ]

    def enough(name: str) -> bool:
        return all(
            2 * sum(values is not None for values in classes) >= len(classes)
            for classes in samples(name)
        )

    chosen = percentile or next((name for name in ("p99", "p95") if enough(name)), "p50")
    figure, axes = drawing.begin(width, height)
    every: list[float] = []
    for index, (design, classes) in enumerate(zip(designs, samples(chosen), strict=True)):
        there = [
            (high / 1e3, drawing.estimate(values))
            for (_, high), values in zip(found["sizes"], classes, strict=True)
            if values
        ]
        every += [y for _, (y, _) in there]
        # Shifted sideways, so that no interval hides another.
        aside = 1.05 ** (index - (len(designs) - 1) / 2)
        drawing.errors(
            axes,
            index,
            short[design.name],
            [x * aside for x, _ in there],
            [estimate for _, estimate in there],
        )
    if not every:
        raise NothingToDraw(
            f"{chosen}: no class of flow sizes has enough flows in every seed: choose a lower percentile, or simulate more flows"
        )
    factor, unit = (
        (1.0, "")
        if measure == "slowdown"
        else axis.unit(text.time, (min(every) * max(every)) ** 0.5)
    )
    name = (
        "mean" if chosen == "mean" else "median" if chosen == "p50" else drawing.percentile(chosen)
    )
    axes.set(
        xscale="log",
        xlabel="Flow size up to (kB)",
        ylabel=f"{_MEASURES[measure]}, {name}" + (f" ({unit})" if unit else ""),
    )
    if max(every) > 30 * min(every):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    if factor != 1:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value / factor:g}")
    labels.legend(figure, height)
    return figure


@drawing.in_style
def designs(
    results: Results,
    metric: str = "fct_p99_ns",
    *,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws one metric of every design with its 95 % interval over the seeds. `metric` is the name
    of a row of `afflux compare --json`, or another name that `afflux compare --metric` takes."""
    found = gather(results)
    wanted = drawing.metric_of(metric)
    values = [(name, value) for name, design in found.items() if (value := design.value(wanted))]
    if not values:
        raise NothingToDraw(
            f"no design has {metric!r}: there are {', '.join(known.name for known in found.metrics())}"
        )
    factor, unit = axis.unit(wanted.show, max(value.mean for _, value in values))
    figure, axes = drawing.begin(width, height or max(1.0, 0.55 + 0.24 * len(values)))
    for index, (name, value) in enumerate(values):
        mean, bounds = drawing.estimated(value, value.seeds, factor)
        drawing.across(axes, index, name, index, mean, bounds)
    short = labels.short(found)
    labels.rows(axes, (short[name] for name, _ in values), height)
    axes.set(
        xlabel=drawing.title(wanted) + (f" ({unit})" if unit else ""),
        ylim=(len(values) - 0.5, -0.5),
    )
    axes.set_xlim(left=0)
    return figure


@drawing.in_style
def changes(
    results: Results,
    baseline: str | None = None,
    *,
    metrics: Sequence[str] = CHANGES,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws the change of each metric from the baseline (default: the first design), with the 95 %
    intervals of `afflux.compare`.

    `metrics` are names as in `designs`. Designs are paired by seed. The axis is in per cent. If the largest ratio is more than three
    times the smallest, it shows ratios on a logarithmic scale. Counts of events, and metrics that
    the results lack, are left out.
    """
    found = gather(results)
    try:
        comparison = compare(found, baseline)
    except ValueError as error:  # only one design, or no seed in common
        raise NothingToDraw(str(error)) from None
    chosen = [drawing.metric_of(name) for name in metrics]
    known = drawing.ratios(comparison, chosen)
    rows = [
        metric
        for metric in chosen
        if any((name, metric.name) in known for name in comparison.designs)
    ]
    if not rows:
        raise NothingToDraw(
            f"no design has {', '.join(metrics)} to compare with those of {comparison.baseline!r}"
        )
    shown_names = {metric.name for metric in rows}
    ratios = [one.ratio or 1.0 for (_, name), one in known.items() if name in shown_names]
    wide_by = max(1.0, *ratios) / min(1.0, *ratios)
    wide = wide_by > WIDE

    def shown(ratio: float) -> float:
        return ratio if wide else 100 * (ratio - 1)

    names = list(comparison.of_name)
    short = labels.short(names)
    figure, axes = drawing.begin(
        width, height or 0.7 + (0.14 * len(comparison.designs) + 0.12) * len(rows)
    )
    step = 0.7 / len(comparison.designs)
    for place, name in enumerate(comparison.designs):
        label: str | None = short[name]
        for row, metric in enumerate(rows):
            if (one := known.get((name, metric.name))) is None or one.ratio is None:
                continue
            whole = (
                one.ratio_low is not None
                and one.ratio_high is not None
                and one.samples >= ENOUGH_SEEDS
            )
            bounds = (shown(one.ratio_low or 0), shown(one.ratio_high or 0)) if whole else None
            at = row + (place - (len(comparison.designs) - 1) / 2) * step
            # In the other figures, the first colour is that of the baseline.
            drawing.across(axes, names.index(name), label, at, shown(one.ratio), bounds)
            label = None
    axes.axvline(shown(1.0), color="black", linewidth=0.6)
    axes.set_yticks(range(len(rows)), [drawing.title(metric) for metric in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    one_design = f" of {short[comparison.designs[0]]}" if len(comparison.designs) == 1 else ""
    base = short[comparison.baseline]
    if wide:
        axes.set_xscale("log")
        labels.below(axes, f"Ratio{one_design} to {base}")
        scale.plain(axes, wide_by)
    else:
        labels.below(axes, f"Change{one_design} from {base} (%)")
    if not one_design:
        labels.legend(figure, height, handlelength=1)
    return figure


@drawing.in_style
def queues(
    results: Results,
    ports: str | Sequence[str] | None = None,
    *,
    whole_run: bool = False,
    hosts: bool = False,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws the queue length over time, for the lowest seed: the longest queue within each
    interval. `[record] ports` must have recorded it.

    `ports` are names such as `"switch0 port 0 → host0"` or, as `explain` prints them,
    `"switch0 → host0"`, with a panel each. The default is the switch port with the longest queue (with `hosts`: the port of any node). The time axis ends
    where the fabric gets quiet for longer than everything before; with `whole_run` it ends at the
    end of the run.
    """
    every = list(gather(results).values())
    names = [ports] if isinstance(ports, str) else ports
    found = series.of(every, hosts=hosts, names=names)
    if not found:
        raise NothingToDraw(
            'no port was recorded: write ports = { interval = "100us" } in [record]'
        )
    view = found["views"][-1 if whole_run else 0]

    def whole(of: dict[str, Any] | None) -> list[int]:
        return (of or {}).get("-1", {}).get("queue_max", [])

    shown = (
        [
            max(
                view["ports"],
                key=lambda one: max((max(whole(of), default=0) for of in one["series"]), default=0),
            )
        ]
        if ports is None
        else view["ports"]
    )
    figure, _ = drawing.begin(width, height or 0.9 + 1.3 * len(shown), panels=len(shown))
    short = labels.short(design.name for design in every)
    more = (
        f"; the run ends at {found['end_ns'] / 1e6:.4g} ms"
        if view is not found["views"][-1]
        else ""
    )
    for axes, port in zip(figure.axes, shown, strict=True):
        for index, (design, of, lasted) in enumerate(
            zip(every, port["series"], view["lasted"], strict=True)
        ):
            if of is None:
                continue
            values = [*whole(of), *[0] * lasted][:lasted]
            times = [(at + 1) * view["bucket_ns"] / 1e6 for at in range(lasted)]
            axes.plot(
                times,
                [value / 1e3 for value in values],
                label=short[design.name],
                **drawing.printed().line(index) | {"linewidth": 0.8},
            )
        axes.set_ylabel(f"Queue (kB), {port['name']}", size=7)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
    figure.axes[-1].set_xlabel(f"Time (ms{more})")
    labels.legend(figure, height)
    return figure


@drawing.in_style
def split(
    results: Results,
    *,
    shares: bool = False,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws the parts of the mean completion time, a bar per design; with `shares`, the mean share
    of each flow's completion time."""
    designs = gather(results)
    found = {
        design.name: parts_of.groups(parts_of.explained(design)) for design in designs.values()
    }
    shown = {name: groups[0].mean for name, groups in found.items() if groups}
    if not shown:
        # Flows that did not finish have no parts, although the split was recorded.
        recorded = any(True for one in designs.values() for _ in parts_of.explained(one))
        raise NothingToDraw(
            _NONE_FINISHED
            if recorded
            else "the split of completion times was not recorded: remove explain = false from [record]"
        )
    factor, unit = axis.unit(text.time, max(one.fct_ns for one in shown.values()))
    figure, axes = drawing.begin(width, height or 0.85 + 0.3 * len(shown))
    ends = [0.0] * len(shown)
    for label in LABELS:
        values = [
            100 * one.flow_shares[label] if shares else one.parts_ns[label] / factor
            for one in shown.values()
        ]
        if any(values):
            axes.barh(
                range(len(shown)),
                values,
                left=ends,
                label=label,
                height=0.65,
                **drawing.part(label),
            )
            ends = [end + value for end, value in zip(ends, values, strict=True)]
    if shares:
        axes.set(xlim=(0, 100), xlabel="Mean share of each flow's completion time (%)")
    else:
        axes.set(xlabel=f"Mean completion time ({unit})")
        axes.set_xlim(left=0)
    short = labels.short(found)
    labels.rows(axes, (short[name] for name in shown), height)
    axes.invert_yaxis()
    axes.grid(visible=False)
    labels.legend(figure, height, included=3, handlelength=1)
    return figure


@drawing.in_style
def split_difference(
    results: Results,
    baseline: str | None = None,
    *,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws the difference of each design's mean completion time from the baseline's (default: the
    first design), part by part."""
    found = gather(results)
    base = baseline or next(iter(found))
    shown = {name: change.all for name, change in parts_of.changes(found, base).items() if change}
    parts = [label for label in LABELS if any(change.parts_ns[label] for change in shown.values())]
    if not parts:
        raise NothingToDraw(
            f"there is no difference from {base!r} to show: it needs a second design with the same seeds and other completion times, and [record] explain"
        )
    rows = [*parts, "in all"]
    factor, unit = axis.unit(
        text.time,
        max(
            abs(ns)
            for change in shown.values()
            for ns in (*change.parts_ns.values(), change.fct_ns)
        ),
    )
    figure, axes = drawing.begin(width, height or 0.75 + (0.1 + 0.1 * len(shown)) * len(rows))
    thick = 0.8 / len(shown)
    names, short = list(found), labels.short(found)
    for place, (name, change) in enumerate(shown.items()):
        values = [*(change.parts_ns[label] / factor for label in parts), change.fct_ns / factor]
        places = [row + (place - (len(shown) - 1) / 2) * thick for row in range(len(rows))]
        style = drawing.printed().bar(names.index(name))
        axes.barh(places, values, height=thick, label=short[name], **style)
    axes.set_yticks(range(len(rows)), rows)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.axhline(len(parts) - 0.5, color="0.6", linewidth=0.5)
    labels.below(axes, f"Mean completion time less that of {short[base]} ({unit})")
    axes.invert_yaxis()
    labels.legend(figure, height, handlelength=1)
    return figure


@drawing.in_style
def swept(
    found: Swept,
    key: str,
    metric: str = "fct_mean_ns",
    *,
    by: str | None = None,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws a metric of a sweep over one of its varied keys, with 95 % intervals over the seeds.
    With `by`, another varied key, draws a line for each of its values.

    Numbers, and quantities of one kind such as `"30kB"` and `"1MB"`, are in ascending order on a
    true axis, in the unit of the largest. The axis is logarithmic if the largest value is more than
    20 times the smallest. Other values are words, at equal distances in the order of the sweep.

    `metric` is a column of the sweep's table: the name of a row of `afflux compare --json`, or of a
    metric that `afflux.sweep` was asked for. Points without a result are left out. Intervals need three seeds with different results.
    """
    wanted = drawing.metric_of(metric)
    for name in (key, *([by] if by else [])):
        if name not in found.keys:
            raise ValueError(f"{name!r} was not varied: there are {', '.join(found.keys)}")
    other = [
        name
        for name in found.keys
        if name not in (key, by) and len({str(one.values[name]) for one in found.combinations}) > 1
    ]
    if other:
        raise ValueError(f"{', '.join(other)} varied, too: write by={other[0]!r}, or sweep less")
    along = scale.of([one.values[key] for one in found.combinations])
    known: dict[str, list[tuple[float, drawing.Estimated]]] = {}
    for one in found.combinations:
        if (value := one.means.get(wanted.name)) is not None:
            known.setdefault(settings.shown(one.values[by]) if by else "", []).append(
                (along.at(one.values[key]), drawing.estimated(value, one.samples))
            )
    if not known:
        there = dict.fromkeys(name for one in found.combinations for name in one.means)
        raise NothingToDraw(f"no point of the sweep has {metric!r}: there are {', '.join(there)}")
    for points in known.values():
        points.sort(key=lambda point: point[0])
    factor, unit = axis.unit(
        wanted.show, max(value for points in known.values() for _, (value, _) in points)
    )
    figure, axes = drawing.begin(width, height)
    for index, (name, points) in enumerate(known.items()):
        scaled = [
            (value / factor, bounds and (bounds[0] / factor, bounds[1] / factor))
            for _, (value, bounds) in points
        ]
        drawing.errors(axes, index, drawing.literal(name), [at for at, _ in points], scaled)
    along.draw(axes, key)
    axes.set(ylabel=drawing.title(wanted) + (f" ({unit})" if unit else ""))
    axes.set_ylim(bottom=0)
    if by:
        labels.legend(figure, height, title=settings.short([by])[0])
    return figure


@drawing.in_style
def lines(
    points: Mapping[str, Points],
    *,
    x: str,
    y: str,
    width: str | float = "column",
    height: float | None = None,
) -> "Figure":
    """Draws your own numbers in the same style: values of x and of y, by the name of the line. `x`
    and `y` label the axes, with units in parentheses.

    A value of y may be a list of the values of several seeds. Then the line is their mean, with a
    band of its 95 % interval from three seeds on.
    """
    figure, axes = drawing.begin(width, height)
    for index, (name, (xs, ys)) in enumerate(points.items()):
        drawing.line(
            axes,
            index,
            name,
            xs,
            # A row of an array is no `Sequence`.
            [drawing.estimate(list(y)) if isinstance(y, Iterable) else (y, None) for y in ys],
        )
    axes.set(xlabel=x, ylabel=y)
    if len(points) > 1:
        labels.legend(figure, height)
    return figure


def _by_seed(results: Results) -> tuple[list[Design], list[int], dict[str, Any]]:
    """Returns the designs, the index of the design of each sample, and the result of
    `completion.of` over all samples."""
    every = list(gather(results).values())
    singles = [
        (place, Design(design.name, {seed: result}))
        for place, design in enumerate(every)
        for seed, result in design.samples.items()
    ]
    found = completion.of([single for _, single in singles])
    if not found:
        raise NothingToDraw(_NONE_FINISHED)
    return every, [place for place, _ in singles], found
