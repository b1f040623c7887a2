"""`afflux study`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..terminal.console import FAILED, complain, failures, print_json, show, warn, warn_of_doubts

EXAMPLES = (
    "afflux study",
    "afflux study hadoop --quick",
)


def study(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which; without it they are listed.", show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The part that is done in minutes.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Simulations at a time.", show_default="one per core")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Where everything is kept.", show_default="out/study-<name>")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run every point again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """List the built-in studies, or run one: ours beside the published numbers. A study that was stopped continues."""
    from .. import studies
    from ..terminal import points, progress

    with failures():
        if name is None:
            listed = [{"study": s.name, "title": s.title, "points": len(s.points(False)), "points_quick": len(s.points(True))} for s in studies.built_in()]
            print_json(listed) if as_json else show(points.studies(listed))
            return
        chosen = studies.find(name)
        with progress.of_batch(Console(stderr=True)) as watch:
            verdict = studies.carry_out(chosen, quick=quick, out=out, jobs=jobs, fresh=fresh, watch=watch)
        warn(verdict.outcome.warnings)
        print_json(verdict.to_dict()) if as_json else show(points.verdict(verdict))
        for failure in verdict.outcome.failures:
            complain(f"{failure.point}: {failure.error}")
        if warn_of_doubts(verdict.outcome.results.values()) or verdict.outcome.failures:
            raise typer.Exit(FAILED)
