"""Judges the signs of differences between the deep buffer and the other designs on medians over
seeds, next to means: a mean can depend on a single seed.

The runs are those of the cross-validation. A difference is that of two jobs with one seed and
Hadoop's defaults, so no fitted constant takes part.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .. import Check
from .cases import BASE, Case, published
from .crossvalidation import DIFFERENCE
from .runs import Run
from .sensitivity import Difference, signed


class Judged(NamedTuple):
    """A difference that the source measured, and the simulated one."""

    case: Case
    #: The source's difference in seconds: this case less the deep buffer.
    theirs: float
    ours: Difference

    @property
    def right(self) -> bool:
        return self.ours.sign == (1 if self.theirs > 0 else -1)

    @property
    def right_on_mean(self) -> bool:
        return self.ours.mean * self.theirs > 0


def judged(runs: Mapping[Run, float]) -> Iterator[Judged]:
    """Yields the differences from the deep buffer above `DIFFERENCE`."""
    numbers = published()
    for case, seconds in numbers.items():
        deep = case._replace(design="deep")
        if case == deep or abs(seconds / numbers[deep] - 1) <= DIFFERENCE:
            continue
        own, other = (
            {
                run.seed: time
                for run, time in runs.items()
                if run[:3] == (one._replace(design=one.simulated), BASE.cpu, BASE.disk)
            }
            for one in (case, deep)
        )
        if common := sorted(own.keys() & other.keys()):
            ours = Difference({seed: own[seed] - other[seed] for seed in common})
            yield Judged(case, seconds - numbers[deep], ours)


def check(runs: Mapping[Run, float]) -> Check:
    found = list(judged(runs))
    return Check(
        "measured differences of more than 8 % between deep and shallow whose median has the right sign",
        all(one.right for one in found),
        sum(one.right for one in found),
        len(found),
    )


def table(runs: Mapping[Run, float]) -> str:
    lines = [
        "| case, against the deep buffer | the source, s | median / mean, s, and seeds that agree | right |",
        "|---|---|---|---|",
    ]
    for one in judged(runs):
        case = one.case
        words = f"{case.design}, {case.framework}, {case.size} GB, {'traffic' if case.traffic else 'quiet'}"
        lines.append(
            f"| {words} | {signed(one.theirs)} | {one.ours} | {'yes' if one.right else '**no**'} |"
        )
    return "\n".join(lines)
