"""`afflux import sonic`, `afflux export sonic`."""

import json
from pathlib import Path
from typing import Annotated

from ...files.delivery import refuse_packed
from ...terminal.console import deliver, failures
from ..options import OUTPUT, ScenarioFile, argument, at_most
from .options import INPUT, Force, IntoOf, Out, ScenarioOut

#: Most ports of a switch whose tables are written: those of a chassis.
MOST_PORTS = 4_096


def import_sonic(
    files: Annotated[
        list[Path],
        argument("FILE", "config_db.json, or files with its buffer and QoS tables."),
    ],
    into: IntoOf = None,
    match: Annotated[
        str | None,
        INPUT.option(
            "--match",
            "PATTERN",
            "Configure only switches with these names, as in 'leaf*', by a switch.override block.",
            show_default="all switches",
        ),
    ] = None,
    out: ScenarioOut = None,
    force: Force = False,
) -> None:
    """Configure the switches of a scenario from config_db.json of SONiC: buffers, WRED, scheduling, PFC. Ignored settings are listed."""
    from ...exchange import sonic

    with failures():
        refuse_packed(out)
        text, account = sonic.imported(files, into, out, match)
        deliver(text, out, force, account.lines())


def export_sonic(
    scenario: ScenarioFile,
    ports: Annotated[
        int | None,
        OUTPUT.option(
            "--ports",
            "N",
            "Number of ports of the switch, if the scenario was not imported from SONiC.",
            min=1,
            callback=at_most(MOST_PORTS),
            show_default="32",
        ),
    ] = None,
    switch: Annotated[
        str | None,
        INPUT.option(
            "--switch",
            "NAME",
            "Switch whose settings are written, as in leaf0.",
            show_default="the switches that no switch.override block changes",
        ),
    ] = None,
    out: Out = None,
    force: Force = False,
) -> None:
    """Write the settings of a switch of a scenario as a patch for config_db.json of SONiC. Apply it with sonic-cfggen -j FILE --write-to-db. Settings that
    SONiC does not have, entries to remove before, and the DSCPs that hosts must send with are listed on stderr."""
    from ...exchange import sonic

    with failures():
        tables, notes = sonic.exported(scenario, ports, switch)
        deliver(json.dumps(tables, indent=4) + "\n", out, force, notes)
