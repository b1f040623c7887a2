"""Values of a sweep's combinations as text, for the terminal and for notebooks: which of them are
marked, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import settings
from ..comparison.unfinished import Left
from ..metrics import UNFINISHED, Metric
from ..results import percentiles
from ..results.designs import Design

if TYPE_CHECKING:
    from ..results.result import Result
    from .grid import Sweep

#: Mark of a value that covers only finished flows or jobs while others did not finish.
MARK = "*"


@dataclass(frozen=True)
class Values:
    """Values of the combinations, one row each, with a column per metric."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Explanations of marks and columns, one sentence each.
    notes: Sequence[str]


def values(found: "Sweep", metrics: Sequence[Metric], *, asked: bool = False) -> Values:
    """Returns means over the seeds. `asked`: the metrics were asked for, so a column of unfinished
    flows is added only if it explains a mark."""
    every = found.combinations
    designs = _designs(found)
    marks = [[_censored(metric, design) for metric in metrics] for design in designs]
    left = [Left.of(design) if design else None for design in designs]
    # Times of finished flows alone praise the settings that cut off slow ones.
    counted = (not asked or any(map(any, marks))) and any(one and one.unfinished for one in left)
    rows = []
    for one, marked, undone in zip(every, marks, left, strict=True):
        means = [one.means.get(metric.name) for metric in metrics]
        row = [
            "–" if value is None else f"{metric.show(value.mean)}{MARK if mark else ''}"
            for metric, value, mark in zip(metrics, means, marked, strict=True)
        ]
        if counted:
            row.append("–" if undone is None else str(undone))
        rows.append(row)
    notes: list[str] = []
    if any(map(any, marks)):
        notes.append(f"{MARK} some flows or jobs did not finish, so the true values are higher")
    if counted and any(one and one.never_started for one in left):
        notes.append(f"{UNFINISHED.title}: those that never started count, too")
    simulated = [design for design in designs if design]
    notes += [words for metric in metrics if (words := percentiles.remark(metric, *simulated))]
    heads = [*(metric.title for metric in metrics), *([UNFINISHED.title] if counted else [])]
    return Values(heads, rows, notes)


def _designs(found: "Sweep") -> list[Design | None]:
    """Returns the results of each combination; None if all its points failed."""
    by_name: dict[str, dict[int, Result]] = {}
    for (point, seed), result in found.outcome.results.items():
        # Where nothing varies, all points are one combination without a name.
        by_name.setdefault(point if found.keys else "", {})[seed] = result
    names = [settings.point_name(one.values) for one in found.combinations]
    return [Design(name, by_name[name]) if name in by_name else None for name in names]


def _censored(metric: Metric, design: Design | None) -> bool:
    """True if the values of some seed cover only finished flows or jobs while others did not
    finish."""
    return design is not None and any(
        metric.censored(result.summary) for result in design.samples.values()
    )
