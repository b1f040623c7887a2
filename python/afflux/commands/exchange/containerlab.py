"""`afflux import containerlab`, `afflux export containerlab`."""

from typing import Annotated

import typer

from ... import _core
from ...terminal.console import failures
from .options import File, Force, IntoOf, Json, Out, ScenarioFile, TrafficIn
from .output import finish, flows_path, importing, into_of, scenario_text


def containerlab(
    file: File,
    rate: Annotated[str | None, typer.Option("--rate", help="Of links whose labels have none.", show_default=False)] = None,
    host_rate: Annotated[str | None, typer.Option("--host-rate", help="Of hosts' links whose labels have none.", show_default="as --rate")] = None,
    delay: Annotated[str, typer.Option("--delay", help="Of links whose labels have none.")] = "1us",
    host: Annotated[list[str] | None, typer.Option("--host", metavar="PATTERN", help="Names of nodes that are hosts; may be repeated.")] = None,
    switch: Annotated[list[str] | None, typer.Option("--switch", metavar="PATTERN", help="Names of nodes that are switches; may be repeated.")] = None,
    flows: TrafficIn = None,
    into: IntoOf = None,
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A topology of containerlab as a scenario. Rates and delays come from links' labels or from options; hosts keep their names and addresses."""
    from ...exchange import containerlab as form

    with failures(), importing(file):
        options = form.Options(rate, host_rate, delay, host or (), switch or ())
        text, account = form.topology(file, options, flows_path(flows, out), into_of(into, out))
        finish(out, scenario_text(text, out or into), {}, [account], force, as_json)


def export_containerlab(
    scenario: ScenarioFile,
    switch_kind: Annotated[str, typer.Option("--switch-kind", metavar="KIND", help="Kind of the switches.")] = "nokia_srlinux",
    switch_image: Annotated[str | None, typer.Option("--switch-image", metavar="IMAGE", show_default="ghcr.io/nokia/srlinux for nokia_srlinux")] = None,
    host_image: Annotated[str, typer.Option("--host-image", metavar="IMAGE", help="Image of the hosts.")] = "alpine:latest",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A scenario's fabric as a lab of containerlab."""
    from ...exchange import containerlab as form

    with failures():
        image = switch_image or ("ghcr.io/nokia/srlinux" if switch_kind == "nokia_srlinux" else None)
        text, account = form.topology_of(_core.load(scenario), switch_kind, image, host_image)
        finish(out, text, {}, [account], force, as_json)
