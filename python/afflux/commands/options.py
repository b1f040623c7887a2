"""Options shared by several commands, and the groups of options in the help."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..settings import MOST_SEED

#: Groups of options in the help.
SCENARIO, SEARCH, EXECUTION, SELECTION, OUTPUT = (
    "Scenario",
    "Search",
    "Execution",
    "Selection",
    "Output",
)


def starting(*values: str) -> Callable[[str], list[str]]:
    """Returns a shell completion for these values."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def _assignments(incomplete: str) -> list[str]:
    from ..terminal.completion import assignments

    return assignments(incomplete)


def _designs(context: typer.Context, incomplete: str) -> list[str]:
    from ..terminal.completion import designs

    return designs([*map(str, context.params.get("dirs") or ()), *context.args], incomplete)


def _measures(incomplete: str) -> list[str]:
    from ..metrics import METRICS

    return [metric.name for metric in METRICS if metric.name.startswith(incomplete)]


def _forbid(wanted: bool) -> None:
    from ..terminal import pager

    if wanted:
        pager.forbid()


def at_most(most: int) -> Callable[[int | None], int | None]:
    """Returns a callback that refuses option values above `most`."""

    def checked(value: int | None) -> int | None:
        if value is not None and value > most:
            raise typer.BadParameter(f"at most {most}")
        return value

    return checked


#: Upper limit of points or threads at a time. More would not help on any machine.
MOST_AT_ONCE = 1024

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)
]
Dirs = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR",
        help="Result directories. Results with the same scenario name are one design, run with several seeds.",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Change a key of the scenario. May be repeated.",
        show_default=False,
        autocompletion=_assignments,
        rich_help_panel=SCENARIO,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        callback=at_most(MOST_SEED),
        help="Seed of all random draws.",
        show_default="the scenario's",
        rich_help_panel=SCENARIO,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Treat warnings about the scenario as errors.", rich_help_panel=SCENARIO
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY.PATH=A,B,…",
        help="A key and its values. May be repeated.",
        show_default=False,
        autocompletion=_assignments,
        rich_help_panel=SCENARIO,
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY.PATH=LOW..HIGH",
        help="A key and its range, or its choices as A,B,…. May be repeated.",
        show_default=False,
        autocompletion=_assignments,
        rich_help_panel=SCENARIO,
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Answer in this measure only, as in fct_p99, class.web.fct_p99, class.storage.goodput or query.p99; may be repeated.",
        show_default="the main measures",
        autocompletion=_measures,
        rich_help_panel=SELECTION,
    ),
]
By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="size|class",
        help="Group flows by size or by traffic class.",
        autocompletion=starting("size", "class"),
        rich_help_panel=SELECTION,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME|DIR",
        help="Design that the others are compared with: its name, or one of its result directories.",
        show_default="the first design",
        autocompletion=_designs,
        rich_help_panel=SELECTION,
    ),
]
With = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="local|dask|ray",
        help="Run the points on this machine, or on a Dask or Ray cluster. Results do not depend on it.",
        autocompletion=starting("local", "dask", "ray"),
        rich_help_panel=EXECUTION,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="URL",
        help="Address of the cluster, as in tcp://head:8786.",
        show_default="a new cluster on this machine",
        rich_help_panel=EXECUTION,
    ),
]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        help="Shared folder where a cluster leaves results, as in s3://bucket/sweep.",
        show_default="results come back",
        rich_help_panel=EXECUTION,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        callback=at_most(MOST_AT_ONCE),
        help="Number of points that run at the same time.",
        show_default="one per core",
        rich_help_panel=EXECUTION,
    ),
]
Watched = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Serve a page about the run on this machine, and print its address on stderr.",
        rich_help_panel=EXECUTION,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Run all points again, also those with results.", rich_help_panel=EXECUTION
    ),
]
ForceDir = Annotated[
    bool,
    typer.Option("--force", help="Replace an existing result directory.", rich_help_panel=OUTPUT),
]
ForceFile = Annotated[
    bool, typer.Option("--force", help="Replace an existing file.", rich_help_panel=OUTPUT)
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT)
]
NoPager = Annotated[
    bool,
    typer.Option(
        "--no-pager",
        callback=_forbid,
        help="Print long output directly, without a pager.",
        rich_help_panel=OUTPUT,
    ),
]
