"""`afflux import` and `afflux export` of `hpcc-topology`, `hpcc-flows`, `hpcc-fct`: files of HPCC's and ConWeave's ns-3."""

from typing import Annotated

from ... import _core
from ...terminal.console import failures
from ..options import OUTPUT, Dir, ScenarioFile
from .flows import loaded_flows
from .options import (
    File,
    FlowsOut,
    Force,
    IntoOf,
    Json,
    Origin,
    Out,
    Planned,
    ScenarioOut,
    TrafficIn,
    time_ns,
)
from .output import finish, flow_list, flows_path, importing, into_of, scenario_text


def hpcc_topology(
    file: File,
    flows: TrafficIn = None,
    into: IntoOf = None,
    out: ScenarioOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Convert a topology file of HPCC's or ConWeave's ns-3 to a scenario."""
    from ...exchange import hpcc

    with failures(), importing(file, into):
        text, account = hpcc.topology(file, flows_path(flows, out), into_of(into, out))
        finish(out, scenario_text(text, out or into), {}, [account], force, as_json)


def hpcc_flows(
    file: File,
    origin: Origin = "2s",
    out: FlowsOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Convert a flow file of HPCC's or ConWeave's ns-3 to a flow list."""
    from ...exchange import hpcc

    with failures():
        flows, account = hpcc.flows(file, time_ns(origin, "--origin"))
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def hpcc_fct(
    file: File, origin: Origin = "2s", out: Out = None, force: Force = False, as_json: Json = False
) -> None:
    """Convert completion times of HPCC's or ConWeave's ns-3 (fct.txt) to CSV: a flow list with the columns fct_ns, standalone_ns and slowdown."""
    from ...exchange import hpcc

    with failures():
        text, account = hpcc.completion_times(file, time_ns(origin, "--origin"))
        finish(out, text, {}, [account], force, as_json)


def export_hpcc_topology(
    scenario: ScenarioFile, out: Out = None, force: Force = False, as_json: Json = False
) -> None:
    """Write the fabric of a scenario as a topology file of HPCC's and ConWeave's ns-3."""
    from ...exchange import hpcc

    with failures():
        text, account = hpcc.topology_of(_core.load(scenario))
        finish(out, text, {}, [account], force, as_json)


def export_hpcc_flows(
    source: Planned,
    ports: Annotated[
        bool,
        OUTPUT.flag(
            "--ports", "Write HPCC's column of destination ports, which ConWeave's form lacks."
        ),
    ] = False,
    origin: Origin = "2s",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the flows of a scenario or a result as a flow file of HPCC's and ConWeave's ns-3."""
    from ...exchange import hpcc

    with failures():
        flows, account, _ = loaded_flows(source)
        finish(
            out,
            hpcc.flows_of(flows, account, ports=ports, origin_ns=time_ns(origin, "--origin")),
            {},
            [account],
            force,
            as_json,
        )


def export_hpcc_fct(
    dir: Dir,
    origin: Origin = "2s",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the completion times of a result as fct.txt, for the scripts of HPCC and ConWeave."""
    from ...exchange import hpcc

    with failures():
        text, account = hpcc.completion_times_of(dir, time_ns(origin, "--origin"))
        finish(out, text, {}, [account], force, as_json)
