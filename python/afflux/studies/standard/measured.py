"""Values of the goals by the name of points: measured in results, or read from a file with a line
for each simulation. The command writes `values.csv`; the study's page rests on
`results/values.csv`."""

from collections.abc import Mapping
from pathlib import Path

from ...comparison.censored import Value
from ...decision.file import Question
from ...decision.judge import Values
from ...decision.points import by_seed
from ...results.designs import Designs
from .. import lines
from .mixtures import Mixtures


def of(mixtures: Mixtures, designs: Designs) -> Values:
    """Returns the values of the points that were simulated. Raises `NoValue` if a tenant has none
    with any seed."""
    return {
        name: {goal.name: by_seed(designs[name], goal) for goal in goals}
        for name, goals in mixtures.goals().items()
        if name in designs
    }


def write(question: Question, found: Values, to: Path) -> Path:
    """Writes a line for each simulation. A goal of a tenant that it does not have is empty."""
    goals = _names(question)
    table = [
        (name, seed, *(_cell(of_goals.get(goal, {}).get(seed)) for goal in goals))
        for name, of_goals in found.items()
        for seed in sorted({seed for of_seeds in of_goals.values() for seed in of_seeds})
    ]
    return lines.write(to, _COMMENT, ("point", "seed", *goals), table)


def read(question: Question, file: Path) -> Values:
    """Returns the values of a file that `write` wrote. Raises `ValueError` for a missing column and
    for a value that is no number."""
    goals = _names(question)
    found: dict[str, dict[str, dict[int, Value]]] = {}

    def note(line: Mapping[str, str]) -> None:
        of_goals = found.setdefault(line["point"], {})
        for goal in goals:
            if line[goal]:
                of_goals.setdefault(goal, {})[int(line["seed"])] = Value(float(line[goal]))

    lines.parsed(file, ("point", "seed", *goals), note)
    return found


_COMMENT = "Values of the goals in ns, bit/s or as a share, by simulation: afflux study standard"


def _names(question: Question) -> list[str]:
    return list(dict.fromkeys(goal.name for goal in question.goals))


def _cell(value: Value | None) -> str:
    return "" if value is None else f"{value.number:.9g}"
