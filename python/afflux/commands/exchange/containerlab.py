"""`afflux import containerlab`, `afflux export containerlab`."""

from typing import Annotated

from ... import _core
from ...terminal.console import failures
from ..options import Panel, ScenarioFile
from .options import INPUT, File, Force, IntoOf, Json, Out, ScenarioOut, TrafficIn
from .output import finish, flows_path, importing, into_of, scenario_text

NODES = Panel("Nodes")


def containerlab(
    file: File,
    rate: Annotated[
        str | None,
        INPUT.option("--rate", "RATE", "Rate of links without a rate label, as in 100Gbps."),
    ] = None,
    host_rate: Annotated[
        str | None,
        INPUT.option(
            "--host-rate",
            "RATE",
            "Rate of host links without a rate label.",
            show_default="as --rate",
        ),
    ] = None,
    delay: Annotated[
        str,
        INPUT.option("--delay", "TIME", "Delay of links without a delay label."),
    ] = "1us",
    host: Annotated[
        list[str] | None,
        INPUT.option(
            "--host",
            "PATTERN",
            "Nodes that are hosts, as in 'web*'. May be repeated.",
            show_default="by the kind of the node",
        ),
    ] = None,
    switch: Annotated[
        list[str] | None,
        INPUT.option(
            "--switch",
            "PATTERN",
            "Nodes that are switches. May be repeated.",
            show_default="by the kind of the node",
        ),
    ] = None,
    flows: TrafficIn = None,
    into: IntoOf = None,
    out: ScenarioOut = None,
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
        NODES.option("--switch-kind", "KIND", "Containerlab kind of the switches."),
    ] = "nokia_srlinux",
    switch_image: Annotated[
        str | None,
        NODES.option(
            "--switch-image",
            "IMAGE",
            "Container image of the switches.",
            show_default="ghcr.io/nokia/srlinux for nokia_srlinux",
        ),
    ] = None,
    host_image: Annotated[
        str,
        NODES.option("--host-image", "IMAGE", "Container image of the hosts."),
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
