"""Captures (pcap, pcapng) as flow lists."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from .. import _core
from .account import Account, plural
from .flow_list import FlowList


def flows(path: Path, gap_ns: int, given: Mapping[str, int] | None) -> tuple[FlowList, Mapping[str, int], Account]:
    """Flows, addresses with the numbers of their hosts, and what was left out. `given` numbers are kept."""
    table, addresses, origin_ns, frames, used, dropped, cut = _core.read_capture(path, gap_ns)
    list_ = FlowList.of_table(table)
    account = Account("frames", used)
    for reason, count in dropped:
        account.drop(reason, count)
    numbers: Mapping[str, int] = {address: number for number, address in enumerate(addresses)}
    if given is not None:
        numbers = {address: given[address] for address in addresses if address in given}
        rows = [row for row in range(len(list_)) if addresses[list_.src[row]] in numbers and addresses[list_.dst[row]] in numbers]
        if strangers := len(list_) - len(rows):
            account.notes.append(f"{plural(strangers, 'flow')} of hosts that the mapping does not name left out")
        list_ = list_.chosen(rows)
        list_.src = [numbers[addresses[host]] for host in list_.src]
        list_.dst = [numbers[addresses[host]] for host in list_.dst]
        local = [row for row in range(len(list_)) if list_.src[row] == list_.dst[row]]
        if local:
            account.notes.append(f"{plural(len(local), 'flow')} within a host of the mapping left out")
            list_ = list_.chosen(sorted(set(range(len(list_))) - set(local)))
    # Clocks of captures are not always set; years beyond 2100 are no dates.
    began = f" from {datetime.fromtimestamp(origin_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC on" if origin_ns < 1 << 62 else ""
    account.notes.append(f"{plural(frames, 'frame')}{began}: {plural(len(list_), 'flow')} of {plural(len(numbers), 'host')}")
    if cut:
        account.notes.append("the file ends within a frame, which is left out: the capture was stopped there")
    return list_, numbers, account
