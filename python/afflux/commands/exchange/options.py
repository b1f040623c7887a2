"""Options of several importers and exporters."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ... import _core
from ...exchange.account import shown

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file; .gz and .xz are read too.", show_default=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="The files; .gz and .xz are read too.", show_default=False)]
ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)]
Planned = Annotated[Path, typer.Argument(metavar="SCENARIO.toml|DIR", help="A scenario, or a result directory: the flows as they were.", show_default=False)]
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where it goes.", show_default="printed")]
FlowsOut = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the flow list goes: .csv, .csv.gz or .parquet.", show_default="printed")
]
HostsOut = Annotated[
    Path | None, typer.Option("--hosts-out", metavar="FILE", help="Where the hosts' numbers go.", show_default="beside the output: NAME.hosts.csv")
]
HostsIn = Annotated[
    Path | None,
    typer.Option("--hosts", metavar="FILE", help="Who is who: a scenario with names and addresses, or CSV host,name.", show_default="natural order"),
]
IntoOf = Annotated[
    Path | None,
    typer.Option("--into", metavar="SCENARIO.toml", help="The scenario to write into; what is not imported stays, comments too.", show_default=False),
]
ClassIn = Annotated[str | None, typer.Option("--class", metavar="NAME", help="Class of all flows.", show_default="as the file tells")]
TrafficIn = Annotated[Path | None, typer.Option("--flows", metavar="FILE", help="A flow list for the scenario.", show_default="a permutation stands in")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print what was taken and dropped as JSON; needs -o.")]
Origin = Annotated[str, typer.Option("--origin", metavar="TIME", help="Timestamp in the input that becomes time 0 in the output.")]


def time_ns(text: str, option: str) -> int:
    """`100us` in nanoseconds."""
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(s|ms|us|µs|ns)\s*", text)
    if not found:
        raise ValueError(f"{option} {text}: expected a time with its unit, as in 500us, 1ms or 2s")
    return round(float(found[1]) * {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1}[found[2]])


def class_of(name: str | None) -> str | None:
    if name is not None and (expected := _core.wrong_name(name)):
        raise ValueError(f"--class {shown(name)}: expected {expected}")
    return name
