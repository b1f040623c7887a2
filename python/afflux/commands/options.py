"""Options shared by several commands, and the groups of options in the help."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..settings import MOST_SEED, MOST_THREADS


class Panel(str):
    """A group of options in the help of a command."""

    __slots__ = ()

    def option(self, names: str, metavar: str | None, help: str, **more: Any) -> Any:
        """Declares an option with a value. `names` are separated by commas."""
        return typer.Option(
            *names.split(", "), metavar=metavar, help=help, rich_help_panel=self, **more
        )

    def flag(self, names: str, help: str, **more: Any) -> Any:
        """Declares an option without a value."""
        return self.option(names, None, help, **more)


SCENARIO, SEARCH, EXECUTION, SELECTION, OUTPUT = map(
    Panel, ("Scenario", "Search", "Execution", "Selection", "Output")
)


def argument(metavar: str, help: str, show_default: bool | str = False, **more: Any) -> Any:
    return typer.Argument(metavar=metavar, help=help, show_default=show_default, **more)


def out_option(metavar: str, help: str, default: str | bool = False) -> Any:
    return OUTPUT.option("-o, --out", metavar, help, show_default=default)


def results_dir(default: str) -> Any:
    """Declares the option of the directory of a batch."""
    return out_option("DIR", "Directory of all results.", default)


def starting(*values: str) -> Callable[[str], list[str]]:
    """Returns a shell completion for these values."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def _assignments(incomplete: str) -> list[str]:
    from ..terminal.completion import assignments

    return assignments(incomplete)


def _designs(context: typer.Context, incomplete: str) -> list[str]:
    from ..terminal.completion import designs

    return designs([*map(str, context.params.get("dirs") or ()), *context.args], incomplete)


def measures(incomplete: str) -> list[str]:
    from ..metrics import names

    return [name for name in names() if name.startswith(incomplete)]


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


#: Upper limit of points or threads at a time.
MOST_AT_ONCE = MOST_THREADS

ScenarioFile = Annotated[Path, argument("SCENARIO.toml", "The scenario file.")]
Dir = Annotated[Path, argument("DIR", "A result directory.")]
Dirs = Annotated[
    list[Path],
    argument(
        "DIR",
        "Result directories. Results with the same scenario name are one design, run with several seeds. "
        "The directory of a sweep, a search, a decision or a study stands for all its points.",
    ),
]
Set = Annotated[
    list[str] | None,
    SCENARIO.option(
        "--set",
        "KEY.PATH=VALUE",
        "Change a key of the scenario. May be repeated.",
        autocompletion=_assignments,
    ),
]
Seed = Annotated[
    int | None,
    SCENARIO.option(
        "--seed",
        "N",
        "Seed of all random draws.",
        min=0,
        callback=at_most(MOST_SEED),
        show_default="the scenario's",
    ),
]
Strict = Annotated[
    bool,
    SCENARIO.flag("--strict", "Treat warnings about the scenario as errors."),
]
Values = Annotated[
    list[str] | None,
    SCENARIO.option(
        "--vary",
        "KEY.PATH=A,B,…",
        "A key and its values. May be repeated.",
        autocompletion=_assignments,
    ),
]
Ranges = Annotated[
    list[str] | None,
    SCENARIO.option(
        "--vary",
        "KEY.PATH=LOW..HIGH",
        "A key and its range, or its choices as A,B,…. May be repeated.",
        autocompletion=_assignments,
    ),
]
Metrics = Annotated[
    list[str] | None,
    SELECTION.option(
        "--metric",
        "NAME",
        "Answer in this measure only, as in job_time, fct_p99, p99_slowdown, throughput, class.web.fct_p99 or query.p99; may be repeated.",
        show_default="the main measures",
        autocompletion=measures,
    ),
]
By = Annotated[
    str,
    SELECTION.option(
        "--by",
        "size|class",
        "Group flows by size or by traffic class.",
        autocompletion=starting("size", "class"),
    ),
]
Baseline = Annotated[
    str | None,
    SELECTION.option(
        "--baseline",
        "NAME|DIR",
        "Design that the others are compared with: its name, or one of its result directories.",
        show_default="the first design",
        autocompletion=_designs,
    ),
]
With = Annotated[
    str,
    EXECUTION.option(
        "--executor",
        "local|dask|ray",
        "Run the points on this machine, or on a Dask or Ray cluster. Results do not depend on it.",
        autocompletion=starting("local", "dask", "ray"),
    ),
]
Address = Annotated[
    str | None,
    EXECUTION.option(
        "--address",
        "URL",
        "Address of the cluster, as in tcp://head:8786.",
        show_default="a new cluster on this machine",
    ),
]
Storage = Annotated[
    str | None,
    EXECUTION.option(
        "--storage",
        "URL",
        "Shared folder where a cluster leaves results, as in s3://bucket/sweep.",
        show_default="results come back",
    ),
]
Jobs = Annotated[
    int | None,
    EXECUTION.option(
        "--jobs",
        "N",
        "Number of points that run at the same time.",
        min=1,
        callback=at_most(MOST_AT_ONCE),
        show_default="one per core",
    ),
]
Watched = Annotated[
    bool,
    EXECUTION.flag(
        "--watch", "Serve a page about the run on this machine, and print its address on stderr."
    ),
]
Fresh = Annotated[
    bool,
    EXECUTION.flag("--fresh", "Run all points again, also those with results."),
]
ForceDir = Annotated[
    bool,
    OUTPUT.flag("--force", "Replace an existing result directory."),
]
ForceFile = Annotated[bool, OUTPUT.flag("--force", "Replace an existing file.")]
Json = Annotated[bool, OUTPUT.flag("--json", "Print JSON instead of text.")]
NoPager = Annotated[
    bool,
    OUTPUT.flag("--no-pager", "Print long output directly, without a pager.", callback=_forbid),
]
