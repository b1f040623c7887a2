"""`afflux import containerlab`, `afflux export containerlab`."""

from typing import Annotated

import typer

from ... import _core
from ...terminal.console import failures
from ..options import ScenarioFile
from .options import INPUT, File, Force, IntoOf, Json, Out, TrafficIn
from .output import finish, flows_path, importing, into_of, scenario_text

NODES = "Nodes"


def containerlab(
    file: File,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="Rate of links without a rate label, as in 100Gbps.",
            show_default=False,
            rich_help_panel=INPUT,
        ),
    ] = None,
    host_rate: Annotated[
        str | None,
        typer.Option(
            "--host-rate",
            metavar="RATE",
            help="Rate of host links without a rate label.",
            show_default="as --rate",
            rich_help_panel=INPUT,
        ),
    ] = None,
    delay: Annotated[
        str,
        typer.Option(
            "--delay",
            metavar="TIME",
            help="Delay of links without a delay label.",
            rich_help_panel=INPUT,
        ),
    ] = "1us",
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="PATTERN",
            help="Nodes that are hosts, as in 'web*'. May be repeated.",
            show_default="by the kind of the node",
            rich_help_panel=INPUT,
        ),
    ] = None,
    switch: Annotated[
        list[str] | None,
        typer.Option(
            "--switch",
            metavar="PATTERN",
            help="Nodes that are switches. May be repeated.",
            show_default="by the kind of the node",
            rich_help_panel=INPUT,
        ),
    ] = None,
    flows: TrafficIn = None,
    into: IntoOf = None,
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Convert a containerlab topology to a scenario. Rates and delays come from link labels or options. Hosts keep their names and addresses."""
    from ...exchange import containerlab as form

    with failures(), importing(file, into):
        options = form.Options(rate, host_rate, delay, host or (), switch or ())
        text, account = form.topology(file, options, flows_path(flows, out), into_of(into, out))
        finish(out, scenario_text(text, out or into), {}, [account], force, as_json)


def export_containerlab(
    scenario: ScenarioFile,
    switch_kind: Annotated[
        str,
        typer.Option(
            "--switch-kind",
            metavar="KIND",
            help="Containerlab kind of the switches.",
            rich_help_panel=NODES,
        ),
    ] = "nokia_srlinux",
    switch_image: Annotated[
        str | None,
        typer.Option(
            "--switch-image",
            metavar="IMAGE",
            help="Container image of the switches.",
            show_default="ghcr.io/nokia/srlinux for nokia_srlinux",
            rich_help_panel=NODES,
        ),
    ] = None,
    host_image: Annotated[
        str,
        typer.Option(
            "--host-image",
            metavar="IMAGE",
            help="Container image of the hosts.",
            rich_help_panel=NODES,
        ),
    ] = "alpine:latest",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the fabric of a scenario as a containerlab topology."""
    from ...exchange import containerlab as form

    with failures():
        image = switch_image or (
            "ghcr.io/nokia/srlinux" if switch_kind == "nokia_srlinux" else None
        )
        text, account = form.topology_of(_core.load(scenario), switch_kind, image, host_image)
        finish(out, text, {}, [account], force, as_json)
