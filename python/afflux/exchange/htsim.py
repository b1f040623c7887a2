"""htsim's connection matrices: `Nodes N`, `Connections M`, then `src->dst id N start PS size BYTES`. Source: Broadcom/csg-htsim."""

from pathlib import Path

from .. import _core
from .account import Account
from .flow_list import FlowList
from .hpcc import _with_notes


def flows(path: Path) -> tuple[FlowList, Account]:
    table, notes = _core.read_flows(path, "htsim", 0)
    return _with_notes(FlowList.of_table(table), notes)


def matrix_of(flows: FlowList, hosts: int, account: Account) -> str:
    """A connection matrix; identifiers count from 1, as its scripts write them."""
    if flows.classes is not None and any(flows.classes):
        account.notes.append("the format has no classes: they were dropped")
    if flows.deadlines_ns is not None:
        account.notes.append("the format has no deadlines: they were dropped")
    rows = zip(flows.src, flows.dst, flows.start_ns, flows.bytes, strict=True)
    out = [f"Nodes {hosts}", f"Connections {len(flows)}"]
    out += [f"{src}->{dst} id {at} start {start * 1000} size {size}" for at, (src, dst, start, size) in enumerate(rows, 1)]
    return "\n".join(out) + "\n"
