"""`afflux study`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..terminal.console import (
    FAILED,
    failures,
    lacks_points,
    note,
    print_json,
    show,
    visible,
    warn,
)
from .batch import Execution, batch_options
from .options import (
    OUTPUT,
    SELECTION,
    Fresh,
    Json,
    argument,
    results_dir,
)

if TYPE_CHECKING:
    from ..studies import Series, Slice, Study

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


Assume = Annotated[
    list[str] | None,
    SELECTION.option(
        "--assume",
        "NAME=VALUE",
        "Another value of an assumption, as --list names them; its results have their own directory. May be repeated.",
        show_default="the defaults",
        autocompletion=_assumptions,
    ),
]


@batch_options
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
        SELECTION.flag("--quick", "Fewer seeds and cases: takes minutes."),
    ] = False,
    assume: Assume = None,
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
    execution: Execution = Execution(),
    fresh: Fresh = False,
    out: Annotated[
        Path | None,
        results_dir("out/study-<name>"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a built-in study or a part of it, and compare its results with the published numbers.
    Without NAME, list the studies. A study that was stopped continues."""
    from .. import studies
    from ..terminal import studies as screens

    own = {"--assume": assume, "--baseline": baseline, "--scenario": scenario, "--goals": goals}
    with failures():
        if name is None or listed:
            started = {"--quick": quick, "--fresh": fresh, "--out": out, "PART": part}
            _refuse(own | started, _ONLY_LISTED if name else "{} needs the name of a study")
        if name is None:
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
            _refuse(own | _elsewhere(execution), _SERIES.format(piece.name, "{}"))
            place = out or Path("out") / f"{chosen.folder}-{piece.name}"
            from ..executors.local import cores

            jobs = execution.jobs or cores()
            _run_series(chosen.name, piece, place, quick, fresh, jobs, as_json)
        else:
            assert piece is None or isinstance(piece, studies.Slice)
            _simulate(chosen, piece, quick, baseline, execution, fresh, out, as_json)


_ONLY_LISTED = "--list runs nothing, so {} has no effect: leave it out"
_SERIES = "the part {} is a series of single runs and has no {}: leave it out"


def _elsewhere(execution: Execution) -> dict[str, Any]:
    """Returns the options of runs on other machines, which a series of runs does not have."""
    return {
        "--executor": execution.executor != "local",
        "--address": execution.address,
        "--storage": execution.storage,
        "--watch": execution.watched,
    }


def _refuse(options: dict[str, Any], why: str) -> None:
    """Refuses the first of these options that has a value. `why`: message with `{}` for its
    name."""
    for option in (option for option, value in options.items() if value):
        raise ValueError(why.format(option))


def _run_series(
    study: str,
    series: "Series",
    out: Path,
    quick: bool,
    fresh: bool,
    jobs: int,
    as_json: bool,
) -> None:
    from ..studies import part
    from ..terminal import studies as screens

    ended = part.run(series, out, quick=quick, fresh=fresh, jobs=jobs, tell=note)
    if as_json:
        print_json({"study": study} | ended.to_dict())
        return
    if ended.tables:
        # Table rows are not wrapped to the terminal's width, because users paste them into pages.
        print(f"{visible(ended.tables)}\n")
    show(screens.series(ended))


def _simulate(
    study: "Study",
    part: "Slice | None",
    quick: bool,
    baseline: str | None,
    execution: Execution,
    fresh: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Carries out a study or a slice of its points."""
    from .. import studies
    from ..terminal import points
    from ..terminal.comparison import verdicts
    from .baseline import against, complain_if_missing, known

    known(baseline, [point.name for point in study.simulated(quick, part)])
    title = f"study {study.name}{f' {part.name}' if part else ''}{' --quick' if quick else ''}"
    with execution.begun(title) as options:
        verdict = studies.carry_out(study, part=part, quick=quick, out=out, fresh=fresh, **options)
    warn(verdict.outcome.warnings)
    compared = against(verdict.outcome, baseline)
    if as_json:
        print_json(verdict.to_dict() | ({"comparison": compared.to_dict()} if compared else {}))
    else:
        show(points.verdict(verdict))
        if compared:
            show(verdicts(compared))
    complain_if_missing(compared, baseline)
    if lacks_points(verdict.outcome):
        raise typer.Exit(FAILED)
