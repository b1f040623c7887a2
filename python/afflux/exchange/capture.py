"""Converts captures (pcap, pcapng) to flow lists."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from .. import _core
from ..spelling import nearest
from .account import Account, Wrong, plural, shown
from .flow_list import FlowList
from .hosts import Known


def flows(
    path: Path, gap_ns: int, known: Known | None, of_class: str | None = None
) -> tuple[FlowList, Mapping[str, int], Account]:
    """Returns the flows, the host numbers by address, and the account. Numbers that are `known` are
    kept. `of_class` is the class of all flows."""
    table, addresses, origin_ns, frames, used, noted, cut = _core.read_capture(path, gap_ns)
    list_ = FlowList.of_table(table)
    account = Account("frames", used)
    _note(account, noted)
    numbers: Mapping[str, int] = {address: number for number, address in enumerate(addresses)}
    if known is not None:
        numbers = {
            address: number for address in addresses if (number := known.find(address)) is not None
        }
        if addresses and not numbers:
            expected = f"addresses of the hosts of {known.source}{nearest(addresses[0], known.numbers)}: write address = … beside their names there"
            raise Wrong(
                path,
                None,
                f"only addresses of unknown hosts: {', '.join(addresses[:5])}{' …' if len(addresses) > 5 else ''}",
                expected,
            )
        rows = [
            row
            for row in range(len(list_))
            if addresses[list_.src[row]] in numbers and addresses[list_.dst[row]] in numbers
        ]
        if strangers := len(list_) - len(rows):
            others = [address for address in addresses if address not in numbers]
            named = f"{', '.join(others[:3])}{' …' if len(others) > 3 else ''}"
            account.notes.append(
                f"{plural(strangers, 'flow')} of hosts that {shown(known.source)[1:-1]} does not name left out ({named})"
            )
        list_ = list_.chosen(rows)
        list_.src = [numbers[addresses[host]] for host in list_.src]
        list_.dst = [numbers[addresses[host]] for host in list_.dst]
        local = [row for row in range(len(list_)) if list_.src[row] == list_.dst[row]]
        if local:
            account.notes.append(f"{plural(len(local), 'flow')} within a host left out")
            list_ = list_.chosen(sorted(set(range(len(list_))) - set(local)))
        list_ = list_.called(known.names)
    if of_class is not None:
        list_.classes = [of_class] * len(list_)
    # The clock of a capture may be unset. Times beyond the year 2100 are not shown as dates.
    began = (
        f" from {datetime.fromtimestamp(origin_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC on"
        if origin_ns < 1 << 62
        else ""
    )
    account.notes.append(
        f"{plural(frames, 'frame')}{began}: {plural(len(list_), 'flow')} of {plural(len(set(numbers.values())), 'host')}"
    )
    if list_.dscps is not None:
        account.notes.append("DSCPs are kept: [host] dscp_to_priority says which priority each is")
    if cut:
        account.notes.append(
            "the file ends within a frame, which was ignored: the capture was stopped there"
        )
    return list_, numbers, account


def _note(account: Account, noted: list[tuple[str | None, str | None, int, list[int]]]) -> None:
    for reason, sentence, count, first in noted:
        if reason is not None:
            account.drop(reason, count)
        if sentence is not None:
            places: list[str | None] = [f"frame {frame}" for frame in first] or [None]
            for place in places[:-1]:
                account.noted(sentence, place)
            account.noted(sentence, places[-1], count - len(places) + 1)
