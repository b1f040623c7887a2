"""Averages times in parts over the runs of each design, and computes the differences from the first
design with their intervals. All parts add up."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from ..comparison.paired import Pairs
from ..results.designs import Design
from ..results.result import Result
from ..results.statistics import ENOUGH_SEEDS, Estimate, mean
from ..words import text


@dataclass(frozen=True, slots=True)
class Change:
    """Mean of paired differences in ns, with its 95 % interval if there is one."""

    by: int
    low: int | None
    high: int | None

    @property
    def clear(self) -> bool:
        """True if the interval excludes 0. Without an interval, a difference is never clear."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def shown(self) -> list[int | None]:
        return [self.by, self.low, self.high]


@dataclass(frozen=True, slots=True)
class Changes:
    #: Number of pairs of runs.
    pairs: int
    #: Mean total of the first design in these pairs, in ns.
    before: int
    #: True if every run gives the same difference.
    exact: bool
    parts: list[Change]
    total: Change

    def shown(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "before": self.before,
            "exact": self.exact,
            "parts": [part.shown() for part in self.parts],
            "total": self.total.shown(),
        }


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Means and changes by design; `None` for designs whose parts are unknown."""

    means: list[list[int] | None]
    changes: list[Changes | None]

    @classmethod
    def of(
        cls, designs: Sequence[Design], parts: Callable[[Result], Sequence[int] | None]
    ) -> "Breakdown":
        return cls(
            [
                _mean(found)
                if (found := _known(parts(result) for result in design.samples.values()))
                else None
                for design in designs
            ],
            [
                None if place == 0 else _changes(designs[0], design, parts)
                for place, design in enumerate(designs)
            ],
        )

    def shown(self) -> dict[str, Any]:
        return {
            "designs": self.means,
            "changes": [change and change.shown() for change in self.changes],
        }


def signed(ns: int) -> str:
    """Formats a difference with three digits: `+1.23 ms`, `−350 ns`."""
    return f"{'−' if ns < 0 else '+' if ns > 0 else ''}{text.time(abs(ns), 3)}"


def _known(found: Iterable[Sequence[int] | None]) -> list[Sequence[int]]:
    return [parts for parts in found if parts is not None]


def _changes(
    base: Design, design: Design, parts: Callable[[Result], Sequence[int] | None]
) -> Changes | None:
    pairs = Pairs.of(base, design)
    found = [
        (before, after)
        for one, other in pairs.samples
        if (before := parts(one)) is not None and (after := parts(other)) is not None
    ]
    if not found:
        return None
    differences = [
        [new - old for old, new in zip(before, after, strict=True)] for before, after in found
    ]
    columns = [*zip(*differences, strict=True)]
    middles = _mean(differences)
    several = len(found) >= ENOUGH_SEEDS and not pairs.deterministic
    bounds = [
        Estimate.of(values).bounds if several else (None, None)
        for values in (*columns, [sum(values) for values in differences])
    ]
    changes = [
        Change(by, *map(_whole, ends))
        for by, ends in zip([*middles, sum(middles)], bounds, strict=True)
    ]
    return Changes(
        len(found),
        sum(_mean([before for before, _ in found])),
        pairs.deterministic,
        changes[:-1],
        changes[-1],
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _mean(rows: Sequence[Sequence[int]]) -> list[int]:
    """Returns the mean of each part. Cumulative sums are rounded, so the parts add up to the
    rounded total."""
    boundaries = [0, *map(round, accumulate(mean(values) for values in zip(*rows, strict=True)))]
    return [after - before for before, after in pairwise(boundaries)]
