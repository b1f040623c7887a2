"""`afflux import sonic`, `afflux export sonic`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ...terminal.console import deliver, failures


def import_sonic(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="config_db.json, or its buffer and QoS parts.", show_default=False)],
    into: Annotated[Path | None, typer.Option("--into", metavar="SCENARIO.toml", help="The scenario whose switches are set.", show_default=False)] = None,
    match: Annotated[
        str | None,
        typer.Option(
            "--match", metavar="PATTERN", help="Set only the switches of these names, as in 'leaf*': [[switch.override]].", show_default="all switches"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the scenario goes.", show_default="printed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Set a scenario's switches as SONiC's config_db.json says: buffers, WRED, scheduling, PFC. What is left out is named."""
    from ...exchange import sonic

    with failures():
        text, notes = sonic.imported(files, into, out, match)
        deliver(text, out, force, notes)


def export_sonic(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    ports: Annotated[
        int | None, typer.Option("--ports", metavar="N", min=1, help="Ports of the switch, for a scenario that was not imported.", show_default="32")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where the patch goes.", show_default="printed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write \\[switch] as a patch of SONiC's config_db.json (sonic-cfggen -j FILE --write-to-db). What SONiC cannot be told is named."""
    from ...exchange import sonic

    with failures():
        tables, missing = sonic.exported(scenario, ports)
        deliver(json.dumps(tables, indent=4) + "\n", out, force, [f"not expressed: {line}" for line in missing])
