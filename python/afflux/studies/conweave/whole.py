"""Slowdowns of the whole study, case by case and seed by seed: the lines that come with afflux, and
ConWeave next to the best baseline of each case."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...results.designs import Designs
from ...results.result import Result
from ...results.statistics import mean
from ...words.text import digits
from .. import files, lines
from .cases import BASELINES, CLAIMED, CONWEAVE, SCHEMES, Case, others
from .series import imbalance, reordering
from .tables import NAMES

#: Name of the file, in the results of a run of the study and among those that come with afflux.
NAME = "slowdowns.csv"
FILE = files("conweave") / "results" / NAME
CASES = [*CLAIMED, *(case for case, _ in others())]


class Point(NamedTuple):
    case: Case
    scheme: str
    seed: int


class Measured(NamedTuple):
    """Slowdowns of all flows, and the figures 14 to 16 of the paper."""

    mean: float
    p99: float
    #: Mean over ToRs and windows of 100 us of (maximum - minimum) / average of the uplinks.
    imbalance: float
    #: Most reorder queues in use at a port, and the memory of a switch that they held in bytes: the
    #: 99.9th percentile of its samples and the most. None without ConWeave.
    queues: int | None = None
    memory_p999: int | None = None
    memory_most: int | None = None


Whole = Mapping[Point, Measured]
_COLUMNS = ("fabric", "sizes", "load", "mode", "scheme", "seed", *Measured._fields)


def _measure(result: Result) -> Measured:
    slowdown = result.summary["slowdown"]["all"]
    found = Measured(
        round(slowdown["mean"], 5), round(slowdown["p99"], 5), round(mean(imbalance(result)), 5)
    )
    if "reorder" not in result.recorded:
        return found
    held = reordering(result)
    return found._replace(
        queues=held.queues(1.0), memory_p999=held.bytes(0.999), memory_most=held.bytes(1.0)
    )


def of_designs(designs: Designs) -> dict[Point, Measured]:
    """Returns the measurements of a run of the study."""
    return {
        Point(case, scheme, seed): _measure(result)
        for case in CASES
        for scheme, design in case.of(designs).items()
        for seed, result in design.results.items()
    }


def read(file: Path = FILE) -> dict[Point, Measured]:
    return dict(lines.parsed(file, _COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Point, Measured]:
    case = Case(row["fabric"], row["sizes"], int(row["load"]), row["mode"])
    held = (int(row[name]) if row[name] else None for name in Measured._fields[3:])
    measured = Measured(float(row["mean"]), float(row["p99"]), float(row["imbalance"]), *held)
    return Point(case, row["scheme"], int(row["seed"])), measured


def write(found: Whole, file: Path) -> Path:
    table = [
        (case.fabric, case.sizes, case.load, case.mode, scheme, seed)
        + tuple("" if value is None else value for value in measured)
        for (case, scheme, seed), measured in found.items()
    ]
    comment = "Slowdowns of all flows, and figures 14 to 16: afflux study conweave"
    return lines.write(file, comment, _COLUMNS, table)


class Comparison(NamedTuple):
    """ConWeave's slowdown and that of the best baseline of a case, as means over the seeds."""

    case: Case
    seeds: int
    statistic: str
    baseline: str
    best: float
    ours: float

    @property
    def gain(self) -> float:
        """Share by which ConWeave is below; negative if it is above."""
        return 1 - self.ours / self.best


def compared(found: Whole, case: Case, statistic: str) -> Comparison | None:
    """Returns ConWeave next to the baseline with the lowest slowdown; None if one of them was not
    simulated."""
    of = {
        scheme: [
            getattr(measured, statistic)
            for point, measured in found.items()
            if point[:2] == (case, scheme)
        ]
        for scheme in SCHEMES
    }
    if not all(of.values()):
        return None
    means = {scheme: mean(values) for scheme, values in of.items()}
    best = min(BASELINES, key=means.__getitem__)
    return Comparison(case, len(of[CONWEAVE]), statistic, best, means[best], means[CONWEAVE])


def every(found: Whole, statistic: str) -> Iterator[Comparison]:
    """Yields the comparison of each case, in the order of the page."""
    order = sorted(CASES, key=lambda case: (case.fabric != "leaf-spine", case.sizes, case.load))
    return (one for case in order if (one := compared(found, case, statistic)))


def table(found: Whole) -> str:
    """Returns mean and p99 of the best baseline and of ConWeave, case by case."""
    rows = [
        "| | seeds | mean: the best baseline | ConWeave | % below | p99: the best baseline | ConWeave | % below |",
        "|" + "---|" * 8,
    ]
    for mean_of, p99_of in zip(every(found, "mean"), every(found, "p99"), strict=True):
        cells = [
            cell
            for one in (mean_of, p99_of)
            for cell in (
                f"{digits(one.best, 3)} ({NAMES[one.baseline]})",
                digits(one.ours, 3),
                f"{100 * one.gain:.1f}" if one.gain >= 0 else f"**{100 * one.gain:.1f}**",
            )
        ]
        rows.append(f"| {mean_of.case} | {mean_of.seeds} | {' | '.join(cells)} |")
    return "\n".join(rows)
