"""`afflux sweep`."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .. import settings
from ..terminal.console import FAILED, failures, lacks_points, print_json, show, warn
from .batch import Execution, batch_options
from .options import (
    OUTPUT,
    SCENARIO,
    SELECTION,
    Fresh,
    ScenarioFile,
    Set,
    Strict,
    Values,
    measures,
    results_dir,
)

EXAMPLES = (
    "afflux sweep star.toml --vary switch.buffer=200kB,1MB,9MB --vary switch.ecn.k=50kB,100kB,200kB --seeds 1-5",
    "afflux sweep star.toml --vary switch.buffer=200kB,1MB,9MB --seeds 1-5 --baseline switch.buffer=9MB",
    "afflux sweep star.toml --vary switch.buffer=200kB,9MB --seeds 1-5 --metric fct_p99 --metric class.default.goodput",
    "afflux sweep star.toml --vary switch.buffer=200kB,9MB --seeds 1-10 --executor dask --address tcp://head:8786",
)

Seeds = Annotated[
    str | None,
    SCENARIO.option(
        "--seeds",
        "A-B",
        "Seeds of every combination, as in 1-5 or 1,2,7.",
        show_default="the scenario's",
    ),
]

Metrics = Annotated[
    list[str] | None,
    SELECTION.option(
        "--metric",
        "NAME",
        "Measure in the columns of the table, and of the comparison with --baseline, as in job_time, fct_p99, p99_slowdown, throughput, "
        "class.web.fct_p99 or query.p99; may be repeated.",
        show_default="the main measures",
        autocompletion=measures,
    ),
]


def _names(vary: Sequence[str]) -> list[str]:
    """Returns the names of the designs of a sweep, as in results and directories."""
    varied = {key: settings.choices(values) for key, values in map(settings.assignment, vary)}
    settings.limited(*map(len, varied.values()))
    combinations = itertools.product(*varied.values())
    return [
        settings.point_name(
            {key: settings.value(value) for key, value in zip(varied, values, strict=True)}
        )
        for values in combinations
    ]


def _designs(context: typer.Context, incomplete: str) -> list[str]:
    return [
        name for name in _names(context.params.get("vary") or []) if name.startswith(incomplete)
    ]


@batch_options
def sweep(
    scenario: ScenarioFile,
    vary: Values = None,
    seeds: Seeds = None,
    set: Set = None,
    strict: Strict = False,
    execution: Execution = Execution(),
    fresh: Fresh = False,
    metric: Metrics = None,
    baseline: Annotated[
        str | None,
        SELECTION.option(
            "--baseline",
            "NAME",
            "Also compare all combinations with this one, as in switch.buffer=9MB.",
            autocompletion=_designs,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        results_dir("out/sweep-<scenario name>"),
    ] = None,
    as_json: Annotated[
        bool,
        OUTPUT.flag(
            "--json", "Print the rows as JSON; with --baseline an object of rows and comparison."
        ),
    ] = False,
) -> None:
    """Simulate every combination of the varied values and make one table. A sweep that was stopped or killed continues."""
    from ..batch import grid
    from ..metrics import named
    from ..terminal import points
    from ..terminal.comparison import verdicts
    from .baseline import against, complain_if_missing, known

    with failures():
        varied = settings.varied(vary, "A,B")
        baseline = known(baseline, _names(vary or []))
        asked = list(dict.fromkeys(map(named, metric or [])))
        with execution.begun(f"sweep {scenario.name}") as options:
            found = grid.sweep(
                scenario,
                {
                    key: [settings.value(item) for item in settings.choices(values)]
                    for key, values in varied
                },
                seeds=None if seeds is None else settings.seeds(seeds),
                set=settings.changes(set),
                out=out,
                fresh=fresh,
                **options,
                strict=strict,
                metrics=asked,
            )
        warn(found.outcome.warnings)
        compared = against(found.outcome, baseline, asked)
        if as_json:
            print_json(
                list(found.rows)
                if baseline is None
                else {"rows": list(found.rows), "comparison": compared and compared.to_dict()}
            )
        else:
            show(points.sweep(found, asked))
            if compared:
                show(verdicts(compared))
        complain_if_missing(compared, baseline)
        if lacks_points(found.outcome):
            raise typer.Exit(FAILED)
