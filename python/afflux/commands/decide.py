"""`afflux decide`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import _core, settings
from ..terminal.console import (
    FAILED,
    complain,
    failures,
    note,
    print_json,
    show,
    warn,
    warn_of_failed_checks,
)
from .batch import Execution, batch_options
from .options import (
    SCENARIO,
    SELECTION,
    Fresh,
    Json,
    argument,
    results_dir,
)

if TYPE_CHECKING:
    from ..decision.file import Question

EXAMPLES = (
    "afflux decide designs.toml",
    "afflux decide designs.toml --seeds 1-10",
    "afflux decide designs.toml --until-decided --budget 80",
    "afflux decide designs.toml --executor dask --address tcp://head:8786",
)


@batch_options
def decide(
    file: Annotated[
        Path,
        argument(
            "FILE.toml",
            "Decision file: designs, tenants and goals of a scenario (afflux new decide writes one).",
        ),
    ],
    seeds: Annotated[
        str | None,
        SCENARIO.option(
            "--seeds",
            "A-B",
            "Seeds of every design, as in 1-10 or 1,2,7.",
            show_default="the file's, else 1-5",
        ),
    ] = None,
    quick: Annotated[bool, SELECTION.flag("--quick", "Three seeds: a first look.")] = False,
    until_decided: Annotated[
        bool,
        SELECTION.flag(
            "--until-decided", "Add seeds (5, 10, 20, …) until more cannot change the choice."
        ),
    ] = False,
    budget: Annotated[
        int | None,
        SELECTION.option(
            "--budget", "SEEDS", "Most seeds with --until-decided.", min=3, show_default="40"
        ),
    ] = None,
    execution: Execution = Execution(),
    fresh: Fresh = False,
    out: Annotated[
        Path | None,
        results_dir("out/decide-<file>"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate the designs of a decision file and say which one meets the goals of its tenants at the least price. A decision that was stopped continues."""
    from ..decision import decide as decided
    from ..decision.file import read
    from ..terminal import decision as shown

    with failures():
        question = read(file)
        dir = out or Path("out") / f"decide-{file.stem}"
        numbers = None if seeds is None else settings.seeds(seeds)
        _announce(question, numbers, quick, until_decided, budget)
        with execution.begun(f"decide {file.name}") as options:
            found = decided(
                question,
                seeds=numbers,
                quick=quick,
                until_decided=until_decided,
                budget=budget,
                out=dir,
                fresh=fresh,
                **options,
            )
        # Scenarios of tenants alone are generated, so the lines in their warnings belong to no file.
        warn(
            list(
                {
                    re.sub(r"\.toml:\d+:", ".toml:", warning).partition(" (in ")[0]: warning
                    for warning in reversed(found.outcome.warnings)
                }.values()
            )[::-1]
        )
        print_json(found.to_dict()) if as_json else show(shown.decision(found, dir))
        if warn_of_failed_checks(found.outcome.results.values()):
            complain("some results fail checks of their own: see the notes")
            raise typer.Exit(FAILED)


def _announce(
    question: "Question",
    seeds: list[int] | None,
    quick: bool,
    until_decided: bool,
    budget: int | None,
) -> None:
    """Says how many scenarios and seeds will be simulated, and about how long they take on one core.
    Raises `ValueError` for contradictory options first."""
    from ..decision.decide import planned
    from ..decision.file import place_of
    from ..decision.points import points
    from ..estimates import checking
    from ..words import text

    count = len(planned(question, seeds, quick, until_decided, budget)[0])
    once = []
    for point in points(question, [1]):
        try:
            once.append(checking.check(point.load()))
        except _core.ScenarioError as error:
            place = place_of(question, point.name, error.key)
            raise ValueError(f"{place}: design {point.name}: {error}") from None
    seconds = sum(max(one.seconds, 0.1) for one in once)
    runs = f"{len(once)} scenarios with {'up to ' if until_decided else ''}{count} seed{'s' * (count != 1)}"
    note(
        f"{runs}: about {text.duration(count * seconds)} on one core, {text.duration(seconds)} for each seed"
    )
