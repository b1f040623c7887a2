"""`afflux study`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..terminal.console import FAILED, failures, lacks_points, note, print_json, show, visible, warn
from .options import (
    OUTPUT,
    SELECTION,
    Address,
    Fresh,
    Jobs,
    Json,
    Storage,
    Watched,
    With,
    argument,
    results_dir,
)

EXAMPLES = (
    "afflux study",
    "afflux study hadoop --list",
    "afflux study hadoop --quick",
    "afflux study hadoop 10GB --quick --assume connections=4",
    "afflux study hadoop --quick --baseline deep",
    "afflux study standard --scenario mixture.toml --goals mixture-goals.toml",
    "afflux study conweave --executor dask --address tcp://head:8786",
)


def _studies(incomplete: str) -> list[str]:
    from .. import studies

    return [study.name for study in studies.built_in() if study.name.startswith(incomplete)]


def _parts(context: typer.Context, incomplete: str) -> list[str]:
    from .. import studies

    name = str(context.params.get("name"))
    every = studies.find(name).parts if name in _studies("") else []
    return [part.name for part in every if part.name.startswith(incomplete)]


def _assumptions(context: typer.Context, incomplete: str) -> list[str]:
    from .. import studies

    name = str(context.params.get("name"))
    every = studies.find(name).assumptions if name in _studies("") else []
    return [
        each
        for one in every
        for value in one.alternatives
        if (each := f"{one.name}={value}").startswith(incomplete)
    ]


def _designs(context: typer.Context, incomplete: str) -> list[str]:
    from .. import studies

    name, *_ = [context.params.get("name"), *context.args]
    points = (
        studies.find(name).points(bool(context.params.get("quick"))) if name in _studies("") else []
    )
    return [
        design
        for design in dict.fromkeys(point.name for point in points)
        if design.startswith(incomplete)
    ]


def study(
    name: Annotated[
        str | None,
        argument(
            "NAME",
            "Name of a study. Without a name, the studies are listed.",
            autocompletion=_studies,
        ),
    ] = None,
    part: Annotated[
        str | None,
        argument(
            "PART",
            "One of its parts, as --list names them.",
            show_default="the whole study",
            autocompletion=_parts,
        ),
    ] = None,
    listed: Annotated[
        bool,
        OUTPUT.flag("--list", "List its parts and its assumptions instead of running it."),
    ] = False,
    quick: Annotated[
        bool,
        SELECTION.flag("--quick", "Run only the part that takes minutes."),
    ] = False,
    assume: Annotated[
        list[str] | None,
        SELECTION.option(
            "--assume",
            "NAME=VALUE",
            "Another value of an assumption, as --list names them; its results have their own directory. May be repeated.",
            show_default="the defaults",
            autocompletion=_assumptions,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        SELECTION.option(
            "--baseline",
            "NAME",
            "Also compare all designs of the study with this one.",
            autocompletion=_designs,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        SELECTION.option(
            "--scenario",
            "FILE",
            "A mixture of your own; for the study standard.",
            show_default="that of the study",
        ),
    ] = None,
    goals: Annotated[
        Path | None,
        SELECTION.option(
            "--goals",
            "FILE",
            "Its tenants, their goals, and the designs.",
            show_default="those of the study",
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
        results_dir("out/study-<name>"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the built-in studies. With NAME, run a study or a part of it and compare its results
    with the published numbers. A study that was stopped continues."""
    from .. import studies, watching
    from ..studies import part as parts
    from ..terminal import points, progress
    from ..terminal import studies as screens
    from ..terminal.comparison import verdicts
    from .baseline import against, known

    with failures():
        if name is None:
            for option, value in (
                ("--baseline", baseline),
                ("--scenario", scenario),
                ("--goals", goals),
                ("--assume", assume),
            ):
                if value:
                    raise ValueError(f"{option} needs the name of a study")
            every = screens.listed(studies.built_in())
            print_json(every) if as_json else show(screens.studies(every))
            return
        chosen = studies.find(name)
        if listed:
            found = screens.about(chosen)
            print_json(found) if as_json else show(screens.study(chosen), paged=True)
            return
        if scenario is not None or goals is not None:
            if assume:
                raise ValueError(
                    "--assume is of the study's own scenario: leave it out, or leave out --scenario and --goals"
                )
            chosen = chosen.of_files(scenario, goals)
        chosen = chosen.assuming(assume or [])
        piece = chosen.part(part) if part else None
        if isinstance(piece, studies.Series):
            _refuse(
                piece.name,
                {
                    "--assume": assume,
                    "--baseline": baseline,
                    "--scenario": scenario,
                    "--goals": goals,
                    "--storage": storage,
                    "--jobs": jobs,
                },
            )
            _refuse(piece.name, {"--watch": watched, "--executor": executor != "local"})
            ended = parts.run(
                piece,
                out or Path("out") / f"{chosen.folder}-{piece.name}",
                quick=quick,
                fresh=fresh,
                tell=note,
            )
            if as_json:
                print_json({"study": chosen.name} | ended.to_dict())
                return
            if ended.tables:
                # Table rows are not wrapped to the terminal's width, because users paste them into
                # pages.
                print(f"{visible(ended.tables)}\n")
            show(screens.series(ended))
            return
        assert piece is None or isinstance(piece, studies.Slice)
        known(baseline, [point.name for point in chosen.simulated(quick, piece)])
        title = f"study {chosen.name}{f' {part}' if part else ''}{' --quick' if quick else ''}"
        with (
            progress.of_batch(Console(stderr=True)) as bar,
            watching.of_batch(title, bar, watched) as watch,
        ):
            verdict = studies.carry_out(
                chosen,
                part=piece,
                quick=quick,
                out=out,
                executor=executor,
                address=address,
                storage=storage,
                jobs=jobs,
                fresh=fresh,
                watch=watch,
            )
        warn(verdict.outcome.warnings)
        compared = (
            None
            if baseline is None or not verdict.outcome.results
            else against(verdict.outcome.designs, baseline)
        )
        if as_json:
            print_json(verdict.to_dict() | ({"comparison": compared.to_dict()} if compared else {}))
        else:
            show(points.verdict(verdict))
            if compared:
                show(verdicts(compared))
        if lacks_points(verdict.outcome):
            raise typer.Exit(FAILED)


def _refuse(part: str, options: dict[str, object]) -> None:
    """Refuses options that a series of runs does not have."""
    for option, value in options.items():
        if value:
            raise ValueError(
                f"the part {part} is a series of single runs and has no {option}: leave it out"
            )
