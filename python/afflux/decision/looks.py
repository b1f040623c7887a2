"""Adds seeds until a decision is made, within the stated error rate.

Each look at the results judges all goals of all designs (Holm) at a separate level. The levels add
up to 5 %, in proportion to the seeds that each look adds (alpha spending: K. K. G. Lan and D. L.
DeMets, Biometrika 70, 1983, with a linear spending function). By Bonferroni's inequality, the
chance that any look wrongly calls a goal met or missed is therefore at most 5 %. Looks at growing
samples depend on each other, which makes the true chance smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..results.statistics import CONFIDENCE

#: Seeds of the first look, growth factor of the seeds from look to look, and default budget of
#: seeds.
FIRST, FACTOR, BUDGET = 5, 2, 40


@dataclass(frozen=True)
class Look:
    """A look at the results of the first `seeds` seeds."""

    seeds: int
    #: Error probability spent at this look.
    level: float


def looks(
    budget: int = BUDGET, first: int = FIRST, error: float = 1 - CONFIDENCE
) -> Sequence[Look]:
    """Returns looks with 5, 10, 20, … seeds. The last one has the budget."""
    sizes = [min(first, budget)]
    while sizes[-1] < budget:
        sizes.append(min(sizes[-1] * FACTOR, budget))
    return [
        Look(size, error * (size - before) / budget)
        for before, size in zip([0, *sizes], sizes, strict=False)
    ]
