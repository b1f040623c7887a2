"""`afflux study`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..terminal.console import FAILED, failures, lacks_points, print_json, show, warn
from .options import OUTPUT, SELECTION, Address, Fresh, Jobs, Json, Storage, Watched, With

EXAMPLES = (
    "afflux study",
    "afflux study hadoop --quick",
    "afflux study hadoop --quick --baseline deep",
    "afflux study standard --scenario mixture.toml --goals mixture-goals.toml",
    "afflux study conweave --executor dask --address tcp://head:8786",
)


def _studies(incomplete: str) -> list[str]:
    from .. import studies

    return [study.name for study in studies.built_in() if study.name.startswith(incomplete)]


def _designs(context: typer.Context, incomplete: str) -> list[str]:
    from .. import studies

    name, *_ = [context.params.get("name"), *context.args]
    points = studies.find(name).points(bool(context.params.get("quick"))) if name in _studies("") else []
    return [design for design in dict.fromkeys(point.name for point in points) if design.startswith(incomplete)]


def study(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a study. Without a name, the studies are listed.", show_default=False, autocompletion=_studies),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run only the part that takes minutes.", rich_help_panel=SELECTION)] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Also compare all designs of the study with this one.",
            show_default=False,
            autocompletion=_designs,
            rich_help_panel=SELECTION,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            "--scenario", metavar="FILE", help="A mixture of your own; for the study standard.", show_default="that of the study", rich_help_panel=SELECTION
        ),
    ] = None,
    goals: Annotated[
        Path | None,
        typer.Option(
            "--goals", metavar="FILE", help="Its tenants, their goals, and the designs.", show_default="those of the study", rich_help_panel=SELECTION
        ),
    ] = None,
    executor: With = "local",
    address: Address = None,
    storage: Storage = None,
    jobs: Jobs = None,
    watched: Watched = False,
    fresh: Fresh = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Directory of all results.", show_default="out/study-<name>", rich_help_panel=OUTPUT),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the built-in studies, or run one and compare its results with the published numbers. A study that was stopped continues."""
    from .. import studies, watching
    from ..terminal import points, progress
    from ..terminal.comparison import verdicts
    from .baseline import against, known

    with failures():
        if name is None:
            for option, value in (("--baseline", baseline), ("--scenario", scenario), ("--goals", goals)):
                if value is not None:
                    raise ValueError(f"{option} needs the name of a study")
            listed = [
                {"study": s.name, "title": s.title, "question": s.question, "answer": s.finding, "duration": s.duration, "parts": list(s.parts)}
                | {"points": len(s.points(False)), "points_quick": len(s.points(True))}
                for s in studies.built_in()
            ]
            print_json(listed) if as_json else show(points.studies(listed))
            return
        chosen = studies.find(name)
        if scenario is not None or goals is not None:
            chosen = chosen.of_files(scenario, goals)
        known(baseline, [point.name for point in chosen.points(quick)])
        title = f"study {chosen.name}{' --quick' if quick else ''}"
        with progress.of_batch(Console(stderr=True)) as bar, watching.of_batch(title, bar, watched) as watch:
            verdict = studies.carry_out(chosen, quick=quick, out=out, executor=executor, address=address, storage=storage, jobs=jobs, fresh=fresh, watch=watch)
        warn(verdict.outcome.warnings)
        found = None if baseline is None or not verdict.outcome.results else against(verdict.outcome.designs, baseline)
        if as_json:
            print_json(verdict.to_dict() | ({"comparison": found.to_dict()} if found else {}))
        else:
            show(points.verdict(verdict))
            if found:
                show(verdicts(found))
        if lacks_points(verdict.outcome):
            raise typer.Exit(FAILED)
