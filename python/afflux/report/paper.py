"""Figures for papers, of the numbers that the page shows: a column wide, fonts inside, colours for everybody. Drawn by matplotlib, the extra `plot`.

`afflux.figure` draws the studies' own panels, as SVG and with nothing else installed.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..designs import Design, Designs, gather
from ..durable import Writer, make_dir, write_all
from ..explain import LABELS
from ..extras import needed
from ..result import Result
from . import completion, series, split

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


def write(results: Designs | Iterable[Result | str | os.PathLike[str]], dir: str | os.PathLike[str], format: str) -> list[Path]:
    """Writes what there is to draw into `dir`: fct-cdf, slowdown-by-size, queue, split. Raises `MissingExtra`, `ValueError`."""
    if format not in FORMATS:
        raise ValueError(f"format {format!r}: there are html, {', '.join(FORMATS)}")
    with needed("plot", "a figure for papers"):
        import matplotlib
        from matplotlib.figure import Figure
    designs = list(gather(results).values())
    dir = Path(dir)
    if dir.exists() and not dir.is_dir():
        raise ValueError(f"{dir} is a file: --format {format} writes several figures, -o names their directory")
    drawn: dict[str, Callable[[Any], bool]] = {
        "fct-cdf": lambda axes: _cdf(axes, designs),
        "slowdown-by-size": lambda axes: _by_size(axes, designs),
        "queue": lambda axes: _queue(axes, designs),
        "split": lambda axes: _split(axes, designs),
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


def _queue(axes: Any, designs: Sequence[Design]) -> bool:
    """Of the port with the longest queue."""
    found = series.of(designs)
    if not found:
        return False

    def whole(of: dict[str, Any] | None) -> list[int]:
        return (of or {}).get("-1", {}).get("queue_max", [])

    port = max(found["ports"], key=lambda one: max((max(whole(of), default=0) for of in one["series"]), default=0))
    for index, (design, of, lasted) in enumerate(zip(designs, port["series"], found["lasted"], strict=True)):
        if of is None:
            continue
        values = [*whole(of), *[0] * lasted][:lasted]
        times = [(at + 1) * found["bucket_ns"] / 1e6 for at in range(lasted)]
        axes.plot(times, [value / 1e3 for value in values], label=design.name, **_line(index) | {"linewidth": 0.8})
    axes.set(xlabel="Time (ms)", ylabel=f"Queue (kB), {port['name']}")
    axes.yaxis.label.set_size(7)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=1)
    return True


def _split(axes: Any, designs: Sequence[Design]) -> bool:
    found = split.of(designs)
    if not found:
        return False
    shown = [(design.name, of["shares"]) for design, of in zip(designs, found["groups"][0]["designs"], strict=True) if of]
    names = [name for name, _ in shown]
    ends = [0.0] * len(shown)
    for place, label in enumerate(found["labels"]):
        shares = [100 * of[place] for _, of in shown]
        if any(shares):
            axes.barh(names, shares, left=ends, color=PARTS[label], label=label, edgecolor="white", linewidth=0.4, height=0.65)
            ends = [end + share for end, share in zip(ends, shares, strict=True)]
    axes.set(xlim=(0, 100), xlabel="Mean share of completion time (%)")
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=1, handlelength=1)
    return True
