"""`afflux export flows`, and the loading of flows for the other exporters."""

from pathlib import Path

from ... import _core
from ...exchange import Account, FlowList, priorities
from ...exchange.account import plural
from ...terminal.console import failures
from .options import FlowsOut, Force, Json, Planned
from .output import finish, flow_list


def export_flows(
    source: Planned, out: FlowsOut = None, force: Force = False, as_json: Json = False
) -> None:
    """Write the flows of a scenario or a result as a flow list of afflux."""
    with failures():
        flows, account, _ = loaded_flows(source)
        finish(out, flow_list(flows, out), {}, [account], force, as_json)


def loaded_flows(source: Path) -> tuple[FlowList, Account, int]:
    """Returns the flows of a scenario or a result (with host names if there are any), the account,
    and the number of hosts."""
    account = Account("flows")
    names: list[str] = []
    if source.is_dir():
        from ...results.result import Result

        result = Result.open(source)
        flows = FlowList.of_table(result.flows)
        names = result.summary.get("host_names", [])
        beside = source / "scenario.toml"
        nodes = set(result.links["from"]) if "links" in result.recorded else ()
        hosts = sum(map(result.is_host, nodes)) or flows.hosts()
        try:
            flows.priorities = priorities.of_result(flows, beside) if beside.is_file() else None
        except _core.ScenarioError as error:
            account.notes.append(f"the priorities of the flows are unknown: {error}")
        # A flow that waits for other flows has no start if the run ends first.
        started = [row for row, start in enumerate(flows.start_ns) if start is not None]
        account.drop(
            "whose start is unknown because the run ended before it", len(flows) - len(started)
        )
        flows = flows.chosen(started)
    else:
        scenario = _core.load(source)
        table, later = scenario.flow_list()
        flows, hosts = FlowList.of_table(table), scenario.hosts
        names = [name for name, kind, *_ in scenario.nodes if kind == "host"]
        account.drop("that start only when other flows end (export the result of a run)", later)
        if scenario.flows > len(flows) + later:
            account.notes.append(
                "flows of applications are known only after a run: export its result"
            )
    local = [row for row in range(len(flows)) if flows.src[row] == flows.dst[row]]
    if local:
        account.drop("from a host to itself", len(local))
        flows = flows.chosen(sorted(set(range(len(flows))) - set(local)))
    if flows.classes is not None and set(flows.classes) <= {"default", None}:
        flows.classes = None
    account.taken = len(flows)
    if unknown := (flows.priorities or []).count(None):
        account.notes.append(
            f"the priority of {plural(unknown, 'flow')} is unknown, because blocks of one class have several priorities"
        )
    return flows.called(dict(enumerate(names)) if names else None), account, hosts
