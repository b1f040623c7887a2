"""`afflux import htsim`, `afflux export htsim`."""

from ...terminal.console import failures
from .flows import loaded_flows
from .options import File, FlowsOut, Force, Json, Out, Planned
from .output import finish, flow_list


def htsim(file: File, out: FlowsOut = None, force: Force = False, as_json: Json = False) -> None:
    """Convert a connection matrix of htsim to a flow list."""
    from ...exchange import htsim as form

    with failures():
        flows, account = form.flows(file)
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def export_htsim(
    source: Planned, out: Out = None, force: Force = False, as_json: Json = False
) -> None:
    """Write the flows of a scenario or a result as a connection matrix of htsim."""
    from ...exchange import htsim as form

    with failures():
        flows, account, hosts = loaded_flows(source)
        finish(out, form.matrix_of(flows, hosts, account), {}, [account], force, as_json)
