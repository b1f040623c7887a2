"""`afflux sweep`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .. import settings
from ..terminal.console import FAILED, complain, failures, print_json, show, warn, warn_of_doubts
from .options import Address, Jobs, Set, Strict, Values, With

EXAMPLES = (
    "afflux sweep star.toml --vary switch.buffer=200kB,1MB,9MB --vary switch.ecn.k=50kB,100kB,200kB --seeds 1-5",
    "afflux sweep star.toml --vary switch.buffer=200kB,9MB --seeds 1-10 --executor dask --address tcp://head:8786",
)

Seeds = Annotated[str | None, typer.Option("--seeds", metavar="A-B", help="Seeds of every combination, as in 1-5 or 1,2,7.", show_default="the scenario's own")]


def sweep(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    vary: Values = None,
    seeds: Seeds = None,
    set: Set = None,
    executor: With = "local",
    address: Address = None,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Where everything is kept.", show_default="out/sweep-<scenario name>")] = None,
    strict: Strict = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run every point again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON instead of a table.")] = False,
) -> None:
    """Simulate every combination of some settings, each once, and make one table. A sweep that was stopped or killed continues."""
    from ..batch import grid
    from ..terminal import points, progress

    with failures():
        varied = [settings.assignment(text) for text in vary or []]
        for key in {key for key, _ in varied if [other for other, _ in varied].count(key) > 1}:
            raise ValueError(f"--vary {key} is there twice: name all its values once, as in --vary {key}=A,B")
        with progress.of_batch(Console(stderr=True)) as watch:
            found = grid.sweep(
                scenario,
                {key: [settings.value(item) for item in settings.choices(values)] for key, values in varied},
                seeds=None if seeds is None else settings.seeds(seeds),
                set={key: settings.value(value) for key, value in map(settings.assignment, set or [])},
                out=out,
                executor=executor,
                address=address,
                jobs=jobs,
                fresh=fresh,
                watch=watch,
                strict=strict,
            )
        warn(found.outcome.warnings)
        print_json(list(found.rows)) if as_json else show(points.sweep(found))
        for failure in found.outcome.failures:
            complain(f"{failure.point}: {failure.error}")
        if warn_of_doubts(found.outcome.results.values()) or found.outcome.failures:
            raise typer.Exit(FAILED)
