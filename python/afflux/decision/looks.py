"""Seeds that are added until a decision is made, without spending more than the error rate that is stated.

Each look at the results judges all goals of all designs (Holm) at a level of its own. The levels add up to 5 %, in proportion to the seeds that each look adds
(alpha spending: K. K. G. Lan and D. L. DeMets, Biometrika 70, 1983, with a linear spending function), so by Bonferroni's inequality the chance that any
look calls a goal met or missed that is not is at most 5 %. Looks at growing samples depend on each other, which makes the true chance smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..results.statistics import CONFIDENCE

#: Seeds of the first look, the factor between two looks, and the budget if none is given.
FIRST, FACTOR, BUDGET = 5, 2, 40


@dataclass(frozen=True)
class Look:
    """A look at the results of the first seeds."""

    seeds: int
    #: The chance of a wrong statement that is spent here.
    level: float


def looks(budget: int = BUDGET, first: int = FIRST, error: float = 1 - CONFIDENCE) -> Sequence[Look]:
    """Looks with 5, 10, 20, … seeds; the last one has the budget."""
    sizes = [min(first, budget)]
    while sizes[-1] < budget:
        sizes.append(min(sizes[-1] * FACTOR, budget))
    return [Look(size, error * (size - before) / budget) for before, size in zip([0, *sizes], sizes, strict=False)]
