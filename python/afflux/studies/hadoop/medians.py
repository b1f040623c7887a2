"""Judges the signs of differences between the deep buffer and the other designs on medians over
seeds, next to means: a mean can depend on a single seed.

The jobs are those of the study itself, or those of earlier hosts. A difference is that of two jobs
with one seed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from .. import Check
from .cases import Case, published
from .crossvalidation import DIFFERENCE
from .runs import Times
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


def judged(times: Times) -> Iterator[Judged]:
    """Yields the differences from the deep buffer above `DIFFERENCE`."""
    numbers = published()
    for case, seconds in numbers.items():
        deep = case._replace(design="deep")
        if case == deep or abs(seconds / numbers[deep] - 1) <= DIFFERENCE:
            continue
        own, other = (times(one._replace(design=one.simulated)) for one in (case, deep))
        if common := sorted(own.keys() & other.keys()):
            ours = Difference({seed: own[seed] - other[seed] for seed in common})
            yield Judged(case, seconds - numbers[deep], ours)


def check(times: Times) -> Check:
    found = list(judged(times))
    return Check(
        "measured differences of more than 8 % between deep and shallow whose median has the right sign",
        all(one.right for one in found),
        sum(one.right for one in found),
        len(found),
    )


def table(times: Times) -> str:
    lines = [
        "| case, against the deep buffer | the source, s | median / mean, s, and seeds that agree | right |",
        "|---|---|---|---|",
    ]
    for one in judged(times):
        case = one.case
        words = f"{case.design}, {case.framework}, {case.size} GB, {'traffic' if case.traffic else 'quiet'}"
        lines.append(
            f"| {words} | {signed(one.theirs)} | {one.ours} | {'yes' if one.right else '**no**'} |"
        )
    return "\n".join(lines)


def variants(exact_hosts: Times, todays: Times, size: int) -> str:
    """Returns how many signs of differences with this many gigabytes are right with the hosts of
    both, and which differ between them, as the page says it."""
    by_hosts = [
        {one.case: one for one in judged(times) if one.case.size == size}
        for times in (exact_hosts, todays)
    ]
    exact, today = by_hosts
    counts = [f"{sum(one.right for one in found.values())} of {len(found)}" for found in by_hosts]
    other, none = (
        [
            f"{case.design} with {case.framework} ({one.ours})"
            for case, one in today.items()
            if one.right != exact[case].right and bool(one.ours.sign) == signed_there
        ]
        for signed_there in (True, False)
    )
    said = [
        *([f"{' and '.join(other)} have the other sign with today's"] if other else []),
        *([f"{' and '.join(none)} do not differ with today's"] if none else []),
    ]
    return (
        f"Of the differences with {size} GB {counts[1]} are right with today's hosts, and {counts[0]} with those of exact timing that obey PAUSE"
        + (f": {', and '.join(said)}." if said else ".")
    )
