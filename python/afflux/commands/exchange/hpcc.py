"""`afflux import` and `afflux export` of `hpcc-topology`, `hpcc-flows`, `hpcc-fct`: files of HPCC's and ConWeave's ns-3."""

from pathlib import Path
from typing import Annotated

import typer

from ... import _core
from ...terminal.console import failures
from .flows import loaded_flows
from .options import File, FlowsOut, Force, IntoOf, Json, Origin, Out, Planned, ScenarioFile, TrafficIn, time_ns
from .output import finish, flow_list, flows_path, importing, into_of, scenario_text


def hpcc_topology(file: File, flows: TrafficIn = None, into: IntoOf = None, out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """A topology file of HPCC's or ConWeave's ns-3 as a scenario."""
    from ...exchange import hpcc

    with failures(), importing(file):
        text, account = hpcc.topology(file, flows_path(flows, out), into_of(into, out))
        finish(out, scenario_text(text, out or into), {}, [account], force, as_json)


def hpcc_flows(file: File, origin: Origin = "2s", out: FlowsOut = None, force: Force = False, as_json: Json = False) -> None:
    """A flow file of HPCC's or ConWeave's ns-3 as a flow list."""
    from ...exchange import hpcc

    with failures():
        flows, account = hpcc.flows(file, time_ns(origin, "--origin"))
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def hpcc_fct(file: File, origin: Origin = "2s", out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """Completion times of HPCC's or ConWeave's ns-3 (fct.txt) as CSV: a flow list with fct_ns, standalone_ns and slowdown beside it."""
    from ...exchange import hpcc

    with failures():
        text, account = hpcc.completion_times(file, time_ns(origin, "--origin"))
        finish(out, text, {}, [account], force, as_json)


def export_hpcc_topology(scenario: ScenarioFile, out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """A scenario's fabric as a topology file of HPCC's and ConWeave's ns-3."""
    from ...exchange import hpcc

    with failures():
        text, account = hpcc.topology_of(_core.load(scenario))
        finish(out, text, {}, [account], force, as_json)


def export_hpcc_flows(
    source: Planned,
    ports: Annotated[bool, typer.Option("--ports", help="With HPCC's column of destination ports; without it ConWeave's form.")] = False,
    origin: Origin = "2s",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The flows of a scenario or of a result as a flow file of HPCC's and ConWeave's ns-3."""
    from ...exchange import hpcc

    with failures():
        flows, account, _ = loaded_flows(source)
        finish(out, hpcc.flows_of(flows, account, ports=ports, origin_ns=time_ns(origin, "--origin")), {}, [account], force, as_json)


def export_hpcc_fct(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="A result directory.", show_default=False)],
    origin: Origin = "2s",
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """A result's completion times in the form of HPCC's and ConWeave's fct.txt, for their scripts."""
    from ...exchange import hpcc

    with failures():
        text, account = hpcc.completion_times_of(dir, time_ns(origin, "--origin"))
        finish(out, text, {}, [account], force, as_json)
