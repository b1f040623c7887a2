"""Figures for papers, of the numbers that the page shows: a column wide, fonts inside, colours for everybody. Drawn by matplotlib, the extra `plot`.

`afflux.figure` draws the studies' own panels, as SVG and with nothing else installed.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..extras import needed
from ..files.durable import Writer, make_dir, write_all
from ..results import split
from ..results.designs import Design, Designs, gather
from ..results.explain import LABELS
from ..results.result import Result
from . import completion, series

FORMATS = ("pdf", "svg", "png")
#: Inches: a column of the usual two-column styles.
WIDTH, HEIGHT = 3.3, 2.1
#: Okabe and Ito's, in the page's order: neighbours differ in hue and in lightness.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
#: No line has to be told from another by its colour alone.
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (1, 2)), (0, (8, 2, 2, 2)))
MARKERS = "osD^vPX"
STYLE: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "0.85",
    "axes.spines.top": False,
    "axes.spines.right": False,
    # TrueType, which journals take; outlines in SVG, so that it looks the same everywhere.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # The same results give the same file.
    "svg.hashsalt": "afflux",
}
#: As on the page (style.css): neighbours in the stack differ in lightness.
PARTS = dict(zip(LABELS, ("#bfc5cc", "#78b7e3", "#e8743b", "#e5b1d3", "#b073a8", "#f2c230", "#9ad9ef", "#3fae8a", "#d8dbb5"), strict=True))


def write(
    results: Designs | Iterable[Result | str | os.PathLike[str]],
    dir: str | os.PathLike[str],
    format: str,
    *,
    whole_run: bool = False,
    hosts: bool = False,
) -> list[Path]:
    """Writes what there is to draw into `dir`: fct-cdf, slowdown-by-size, queue, split, split-shares, split-difference.

    The time axis ends where it gets quiet for longer than everything before, with `whole_run` when the run ends. Queues are those of switches, with
    `hosts` those of hosts too. Raises `MissingExtra`, `ValueError`.
    """
    if format not in FORMATS:
        raise ValueError(f"--format {format}: write html, {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    with needed("plot", "a figure for papers"):
        import matplotlib
        from matplotlib.figure import Figure
    designs = list(gather(results).values())
    dir = Path(dir)
    if dir.exists() and not dir.is_dir():
        raise ValueError(f"{dir} is a file: --format {format} writes several figures, -o names their directory")
    parts = {design.name: split.groups(split.explained(design)) for design in designs}
    changes = split.changes(Designs(designs), designs[0].name)
    drawn: dict[str, Callable[[Any], bool]] = {
        "fct-cdf": lambda axes: _cdf(axes, designs),
        "slowdown-by-size": lambda axes: _by_size(axes, designs),
        "queue": lambda axes: _queue(axes, designs, whole_run, hosts),
        "split": lambda axes: _split(axes, parts, by_time=True),
        "split-shares": lambda axes: _split(axes, parts, by_time=False),
        "split-difference": lambda axes: _difference(axes, designs[0].name, changes),
    }
    files: dict[Path, Writer] = {}
    date = {"pdf": "CreationDate", "svg": "Date"}.get(format)
    with matplotlib.rc_context(STYLE):
        for name, draw in drawn.items():
            figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
            if draw(figure.add_subplot()):
                save = partial(figure.savefig, format=format, dpi=300, metadata={date: None} if date else None)
                files[dir / f"{name}.{format}"] = save
        make_dir(dir)
        write_all(files)
    return list(files)


def _line(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def _cdf(axes: Any, designs: Sequence[Design]) -> bool:
    found = completion.of(designs)
    if not found:
        return False
    grid = found["cdf"]["fct"]
    for index, (design, below, flows) in enumerate(zip(designs, grid["below"], grid["flows"], strict=True)):
        axes.plot([x / 1e3 for x in grid["x"]], [count / max(flows, 1) for count in below], label=design.name, **_line(index))
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="Flow completion time (µs)", ylabel="Share of flows")
    axes.legend()
    return True


def _by_size(axes: Any, designs: Sequence[Design]) -> bool:
    found = completion.of(designs)
    if not found:
        return False
    # The highest percentile that some class of sizes has enough flows for, up to p99.
    percentile = next(name for name in ("p99", "p95", "p50") if any(value is not None for one in found["designs"] for value in one["slowdown"][name]))
    for index, (design, one) in enumerate(zip(designs, found["designs"], strict=True)):
        points = [(high, value) for (_, high), value in zip(found["sizes"], one["slowdown"][percentile], strict=True) if value is not None]
        axes.plot([x / 1e3 for x, _ in points], [y for _, y in points], label=design.name, marker=MARKERS[index % len(MARKERS)], **_line(index))
    axes.set(xscale="log", xlabel="Flow size up to (kB)", ylabel=f"Slowdown, {percentile}")
    axes.set_ylim(bottom=0)
    axes.legend()
    return True


def _queue(axes: Any, designs: Sequence[Design], whole_run: bool, hosts: bool) -> bool:
    """Of the port with the longest queue."""
    found = series.of(designs, hosts=hosts)
    if not found:
        return False
    view = found["views"][-1 if whole_run else 0]

    def whole(of: dict[str, Any] | None) -> list[int]:
        return (of or {}).get("-1", {}).get("queue_max", [])

    port = max(view["ports"], key=lambda one: max((max(whole(of), default=0) for of in one["series"]), default=0))
    for index, (design, of, lasted) in enumerate(zip(designs, port["series"], view["lasted"], strict=True)):
        if of is None:
            continue
        values = [*whole(of), *[0] * lasted][:lasted]
        times = [(at + 1) * view["bucket_ns"] / 1e6 for at in range(lasted)]
        axes.plot(times, [value / 1e3 for value in values], label=design.name, **_line(index) | {"linewidth": 0.8})
    more = f"; the run ends at {found['end_ns'] / 1e6:.4g} ms" if view is not found["views"][-1] else ""
    axes.set(xlabel=f"Time (ms{more})", ylabel=f"Queue (kB), {port['name']}")
    axes.yaxis.label.set_size(7)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=1)
    return True


def _split(axes: Any, parts: Mapping[str, Sequence[split.Group]], *, by_time: bool) -> bool:
    """A bar for each design, as long as its mean completion time; or the mean of each flow's shares."""
    shown = {name: groups[0].mean for name, groups in parts.items() if groups}
    if not shown:
        return False
    unit, factor = _unit(max(mean.fct_ns for mean in shown.values()))
    ends = [0.0] * len(shown)
    for label in LABELS:
        values = [mean.parts_ns[label] / factor if by_time else 100 * mean.flow_shares[label] for mean in shown.values()]
        if any(values):
            axes.barh(list(shown), values, left=ends, color=PARTS[label], label=label, edgecolor="white", linewidth=0.4, height=0.65)
            ends = [end + value for end, value in zip(ends, values, strict=True)]
    if by_time:
        axes.set(xlabel=f"Mean completion time ({unit})")
        axes.set_xlim(left=0)
    else:
        axes.set(xlim=(0, 100), xlabel="Mean share of each flow's completion time (%)")
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=1, handlelength=1)
    return True


def _difference(axes: Any, baseline: str, changes: Mapping[str, split.Comparison | None]) -> bool:
    """What makes the difference to the first design: a bar per part and design, to the left where it became less."""
    shown = {name: change.all for name, change in changes.items() if change}
    labels = [label for label in LABELS if any(change.parts_ns[label] for change in shown.values())]
    if not labels:
        return False
    rows = [*labels, "in all"]
    unit, factor = _unit(max(abs(ns) for change in shown.values() for ns in (*change.parts_ns.values(), change.fct_ns)))
    height = 0.8 / len(shown)
    for index, (name, change) in enumerate(shown.items()):
        values = [*(change.parts_ns[label] / factor for label in labels), change.fct_ns / factor]
        places = [row + (index - (len(shown) - 1) / 2) * height for row in range(len(rows))]
        # The first colour is the baseline's, in the other figures.
        axes.barh(places, values, height=height, color=COLOURS[(index + 1) % len(COLOURS)], label=name, edgecolor="white", linewidth=0.4)
    axes.set_yticks(range(len(rows)), rows)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.axhline(len(labels) - 0.5, color="0.6", linewidth=0.5)
    axes.set(xlabel=f"Mean completion time less that of {baseline} ({unit})")
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=1, handlelength=1)
    return True


def _unit(ns: float) -> tuple[str, float]:
    return next(((unit, size) for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)) if ns >= size), ("ns", 1.0))
