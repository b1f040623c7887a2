"""The matplotlib figure of `afflux.plot`: its style, its sizes, and reproducible files.

Imports matplotlib, so this module is only imported when a figure is drawn.
"""

import io
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as MatplotlibFigure
from matplotlib.textpath import TextPath

from ..files.durable import NewFile

FORMATS = ("pdf", "svg", "png")
#: Widths in inches: one column and both columns of common two-column styles.
WIDTHS = {"column": 3.4, "page": 7.0}
HEIGHT = 2.2
DPI = 300
#: Resolution in notebooks, in dots per inch.
SHOWN_DPI = 144
#: Colours of Okabe and Ito. Neighbours differ in hue and in lightness, so the first three can be
#: distinguished in a grey print.
COLOURS = ("#0072b2", "#e69f00", "#000000", "#56b4e9", "#d55e00", "#cc79a7", "#009e73")
DASHES = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3, 1)),
    (0, (1, 2)),
    (0, (8, 2, 2, 2)),
)
MARKERS = "osD^vPX"
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "hatch.linewidth": 0.5,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "0.85",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 100,
    # TrueType in PDF, which journals accept; outlines in SVG, which look the same everywhere.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # A fixed salt, because the identifiers in SVG would otherwise be random.
    "svg.hashsalt": "afflux",
}
_DATES = {"pdf": "CreationDate", "svg": "Date"}


def in_style() -> AbstractContextManager[None]:
    return mpl.rc_context(STYLE)


class Figure(MatplotlibFigure):
    """A matplotlib figure for papers. `save` writes it with embedded fonts; notebooks show it as
    PNG."""

    @classmethod
    def sized(cls, width: str | float = "column", height: float | None = None) -> "Figure":
        """Returns an empty figure. `width` is in inches or a name, `height` in inches."""
        if isinstance(width, str) and width not in WIDTHS:
            raise ValueError(f"width {width!r}: write {' or '.join(map(repr, WIDTHS))}, or inches")
        with in_style():
            return cls(
                figsize=(WIDTHS[width] if isinstance(width, str) else width, height or HEIGHT),
                layout="constrained",
            )

    def write(self, path: Path, format: str) -> None:
        """Writes to an open or temporary file. The file contains no date, so the same figure gives
        the same bytes."""
        with in_style():
            self.savefig(
                path,
                format=format,
                dpi=DPI,
                metadata={_DATES[format]: None} if format in _DATES else None,
            )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes `path` as PDF, SVG or PNG, by its ending. The same results give the same bytes.
        Raises `ValueError` for other endings."""
        path = Path(path)
        format = path.suffix.removeprefix(".").lower()
        if format not in FORMATS:
            raise ValueError(
                f"{path}: the name of a figure ends in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}"
            )
        with NewFile(path) as new:
            self.write(new.partial, format)
            new.commit()
        return path

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        with in_style():
            self.savefig(file, format="png", dpi=SHOWN_DPI)
        return file.getvalue()


def text_width(text: str, size: float) -> float:
    """Returns the width of a line of text in points."""
    if not text.strip():
        return 0.0
    with in_style():
        return float(TextPath((0, 0), text, size=size).get_extents().width)


def line(index: int) -> dict[str, Any]:
    """Returns colour and dash of a design. The first 49 designs differ."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[(index + index // len(COLOURS)) % len(DASHES)],
    }


def marker(index: int) -> dict[str, Any]:
    """Returns colour and shape of a design's points."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
    }


def bar(index: int) -> dict[str, Any]:
    """Returns colour and hatching of a design's bars."""
    hatch = HATCHES[(index + index // len(COLOURS)) % len(HATCHES)]
    return {
        "facecolor": COLOURS[index % len(COLOURS)],
        "hatch": hatch,
        "edgecolor": "white",
        "linewidth": 0.4,
    }
