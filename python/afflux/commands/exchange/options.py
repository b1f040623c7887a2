"""Options shared by several importers and exporters."""

import re
from pathlib import Path
from typing import Annotated

from ... import _core
from ...exchange.account import shown
from ...terminal import console
from ..options import OUTPUT, Panel, argument, out_option

INPUT = Panel(console.INPUT)

File = Annotated[
    Path,
    argument("FILE", "The file to read; .gz and .xz files are decompressed."),
]
Files = Annotated[
    list[Path],
    argument("FILE", "The files to read; .gz and .xz files are decompressed."),
]
Planned = Annotated[
    Path,
    argument(
        "SCENARIO.toml|DIR",
        "A scenario (its planned flows) or a result directory (its simulated flows).",
    ),
]
Out = Annotated[
    Path | None,
    out_option("FILE", "Output file; packed if its name ends with .gz or .xz.", "stdout"),
]
ScenarioOut = Annotated[
    Path | None,
    out_option("FILE", "Scenario file to write.", "stdout"),
]
FlowsOut = Annotated[
    Path | None,
    out_option(
        "FILE", "Output file of the flow list: .csv, .csv.gz, .csv.xz or .parquet.", "stdout"
    ),
]
HostsOut = Annotated[
    Path | None,
    OUTPUT.option(
        "--hosts-out",
        "FILE",
        "Output file of the host numbers and names (CSV).",
        show_default="NAME.hosts.csv next to the output",
    ),
]
HostsIn = Annotated[
    Path | None,
    INPUT.option(
        "--hosts",
        "FILE",
        "Numbers of the hosts: a scenario with host names and addresses, or CSV with columns host,name.",
        show_default="natural order of the names",
    ),
]
IntoOf = Annotated[
    Path | None,
    OUTPUT.option(
        "--into",
        "SCENARIO.toml",
        "Existing scenario that receives the import. Its other keys and its comments stay.",
    ),
]
ClassIn = Annotated[
    str | None,
    INPUT.option("--class", "NAME", "Traffic class of all flows.", show_default="from the file"),
]
TrafficIn = Annotated[
    Path | None,
    INPUT.option(
        "--flows",
        "FILE",
        "Flow list that the scenario uses as its traffic.",
        show_default="a permutation as a placeholder",
    ),
]
Force = Annotated[bool, OUTPUT.flag("--force", "Replace existing files.")]
Json = Annotated[
    bool,
    OUTPUT.flag("--json", "Print the counts of imported and dropped records as JSON; needs -o."),
]
Origin = Annotated[
    str,
    INPUT.option(
        "--origin", "TIME", "Timestamp in the files of ns-3 that corresponds to time 0 in afflux."
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
