"""Decisions about rows of real Linux that are outside their bars, by runs of Linux kernels
(kernel.py).

The rule that decides each row was written down before the first run:

- The kernel's range is from the least to the greatest of its runs, widened by 2 % at both ends: as
  much as bars.toml allows in cells in which nothing is left to chance (a1_window).
- The reference fits if its one run is within the kernel's range.
- The model fits if its median is within the kernel's range, and the kernel's median within the
  range of the model's runs, which is widened likewise.
- Both fit: it was chance. One run of the reference is no measure of the model there.
- Only the reference fits: the reference is right, and the model wrong.
- Only the model fits: the model is right. The same kernel does not give the reference's run again.
- None fits: neither is right.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .bars import median
from .case import Row, read_csv
from .linux import incast

FILE = Path(__file__).parent / "evidence" / "linux-kernel.csv"
COLUMNS = ("run", "setting", "metric", "theirs", "repetition", "ours")
#: Settings of the rows.
KERNEL, MODEL = "Linux 6.12.117", "the model"
#: Share by which ranges are widened.
WIDENED = 0.02
SERIES, SERIES_RUN = "cubic_dt64k", "linux.c_incast/cubic_dt64k"


def read(file: Path = FILE) -> list[Row]:
    return read_csv(file, COLUMNS) if file.is_file() else []


@dataclass(frozen=True)
class Decision:
    """A row of the reference, the runs of the kernel and of the model, and what they decide."""

    run: str
    metric: str
    theirs: float
    kernel: tuple[float, ...]
    model: tuple[float, ...]

    @property
    def right(self) -> str:
        reference = within(self.theirs, self.kernel)
        model = within(median(self.model), self.kernel) and within(median(self.kernel), self.model)
        if reference and model:
            return "chance"
        return "the reference" if reference else "the model" if model else "neither"


def within(value: float, values: Sequence[float]) -> bool:
    return min(values) * (1 - WIDENED) <= value <= max(values) * (1 + WIDENED)


def decisions(rows: Sequence[Row]) -> list[Decision]:
    """Returns what was decided, in the order of the rows."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    theirs: dict[tuple[str, str], float] = {}
    for row in rows:
        if not row["theirs"]:
            continue
        place = (row["run"], row["metric"])
        theirs[place] = float(row["theirs"])
        values.setdefault(place, {}).setdefault(row["setting"], []).append(float(row["ours"]))
    found = [
        Decision(*place, theirs[place], tuple(by[KERNEL]), tuple(by[MODEL]))
        for place, by in values.items()
        if by.keys() >= {KERNEL, MODEL}
    ]
    return found + series(rows)


def series(rows: Sequence[Row]) -> list[Decision]:
    """Returns the decision about the number of servers at which the goodput of CUBIC collapses:
    infinity where it does not up to 16, repetition by repetition."""
    goodput: dict[tuple[str, str], list[tuple[int, float]]] = {}
    theirs: dict[int, float] = {}
    for row in rows:
        name = row["run"].rpartition("/")[2].partition("_n")
        if name[0] == f"c_{SERIES}" and row["metric"] == "goodput_mbps":
            servers = int(name[2])
            theirs[servers] = float(row["theirs"])
            goodput.setdefault((row["setting"], row["repetition"]), []).append(
                (servers, float(row["ours"]))
            )

    def falls(line: Iterable[tuple[int, float]]) -> float:
        return incast.collapse(sorted(line)) or math.inf

    whole = {key: line for key, line in goodput.items() if len(line) == len(theirs)}
    kernel, model = (
        tuple(falls(line) for (setting, _), line in whole.items() if setting == name)
        for name in (KERNEL, MODEL)
    )
    if len(theirs) < 2 or not (kernel and model):
        return []
    return [Decision(SERIES_RUN, "collapse_N", falls(theirs.items()), kernel, model)]
