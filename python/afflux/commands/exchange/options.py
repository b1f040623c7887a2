"""Options shared by several importers and exporters."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ... import _core
from ...exchange.account import shown
from ...terminal.console import INPUT
from ..options import OUTPUT

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The file to read; .gz and .xz files are decompressed.",
        show_default=False,
    ),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="The files to read; .gz and .xz files are decompressed.",
        show_default=False,
    ),
]
Planned = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO.toml|DIR",
        help="A scenario (its planned flows) or a result directory (its simulated flows).",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        help="Output file.",
        show_default="stdout",
        rich_help_panel=OUTPUT,
    ),
]
FlowsOut = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        help="Output file of the flow list: .csv, .csv.gz or .parquet.",
        show_default="stdout",
        rich_help_panel=OUTPUT,
    ),
]
HostsOut = Annotated[
    Path | None,
    typer.Option(
        "--hosts-out",
        metavar="FILE",
        help="Output file of the host numbers and names (CSV).",
        show_default="NAME.hosts.csv next to the output",
        rich_help_panel=OUTPUT,
    ),
]
HostsIn = Annotated[
    Path | None,
    typer.Option(
        "--hosts",
        metavar="FILE",
        help="Numbers of the hosts: a scenario with host names and addresses, or CSV with columns host,name.",
        show_default="natural order of the names",
        rich_help_panel=INPUT,
    ),
]
IntoOf = Annotated[
    Path | None,
    typer.Option(
        "--into",
        metavar="SCENARIO.toml",
        help="Existing scenario that receives the import. Its other keys and its comments stay.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
ClassIn = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="NAME",
        help="Traffic class of all flows.",
        show_default="from the file",
        rich_help_panel=INPUT,
    ),
]
TrafficIn = Annotated[
    Path | None,
    typer.Option(
        "--flows",
        metavar="FILE",
        help="Flow list that the scenario uses as its traffic.",
        show_default="a permutation as a placeholder",
        rich_help_panel=INPUT,
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace existing files.", rich_help_panel=OUTPUT)
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the counts of imported and dropped records as JSON; needs -o.",
        rich_help_panel=OUTPUT,
    ),
]
Origin = Annotated[
    str,
    typer.Option(
        "--origin",
        metavar="TIME",
        help="Timestamp in the files of ns-3 that corresponds to time 0 in afflux.",
        rich_help_panel=INPUT,
    ),
]


def time_ns(text: str, option: str) -> int:
    """Converts a time such as `100us` to nanoseconds."""
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(s|ms|us|µs|ns)\s*", text)
    if not found:
        raise ValueError(f"{option} {text}: expected a time with its unit, as in 500us, 1ms or 2s")
    return round(float(found[1]) * {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1}[found[2]])


def class_of(name: str | None) -> str | None:
    if name is not None and (expected := _core.wrong_name(name)):
        raise ValueError(f"--class {shown(name)}: expected {expected}")
    return name
