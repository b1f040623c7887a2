"""Converts htsim's connection matrices: `Nodes N`, `Connections M`, then `src->dst id N start PS
size BYTES`. Source: Broadcom/csg-htsim."""

from pathlib import Path

from .. import _core
from .account import Account
from .flow_list import FlowList
from .hpcc import _with_notes
from .reading import lines


def flows(path: Path) -> tuple[FlowList, Account]:
    table, notes = _core.read_flows(path, "htsim", 0)
    flows, account = _with_notes(FlowList.of_table(table), notes)
    identified = 0
    for _, line in lines(path):
        words = line.split()
        if words[0] == "Nodes":
            account.notes.append(
                f"left out, the number of hosts, which the scenario's topology has: {line}"
            )
        identified += "id" in words
    if identified:
        account.notes.append(f"left out, identifiers: id ({identified:,})")
    return flows, account


def matrix_of(flows: FlowList, hosts: int, account: Account) -> str:
    """Returns a connection matrix. Identifiers count from 1, as htsim's scripts write them."""
    if flows.classes is not None and any(flows.classes):
        account.notes.append("the format has no classes: they were dropped")
    if flows.dscps is not None:
        account.notes.append("the format has no DSCPs: they were dropped")
    if flows.priorities is not None:
        account.notes.append("the format has no priorities: they were dropped")
    if flows.deadlines_ns is not None:
        account.notes.append("the format has no deadlines: they were dropped")
    rows = zip(flows.src, flows.dst, flows.start_ns, flows.bytes, strict=True)
    out = [f"Nodes {hosts}", f"Connections {len(flows)}"]
    out += [
        f"{src}->{dst} id {at} start {start * 1000} size {size}"
        for at, (src, dst, start, size) in enumerate(rows, 1)
    ]
    return "\n".join(out) + "\n"
