"""Flows of real kernels, as far as their packets explain them.

The network sees when a packet enters at its sender's NIC, where it waits, and when it arrives. It
does not see why the kernel sent it no earlier: windows, pacing, queueing disciplines, socket
buffers and programs are inside the guest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .result import Result

#: Words about what packets do not show, for every output that explains flows of kernels.
UNKNOWN = (
    "Packets do not show why a kernel waited before it sent them: its congestion window, pacing, "
    "queueing disciplines, socket buffers and program are inside the guest."
)


@dataclass(frozen=True, slots=True)
class KernelFlow:
    """A flow of a real kernel: one direction of a connection. Times are in nanoseconds; a value is
    None if the packets do not show it."""

    id: int
    flow_class: str
    src_name: str
    dst_name: str
    #: `tcp`, `mptcp`, `udp`, `icmp`, or the protocol's number.
    protocol: str
    #: Number of subflows; 1 without MPTCP. The ports are those of the first one.
    subflows: int
    src_port: int
    dst_port: int
    #: Payload that was sent, and payload that arrived, without what was sent twice.
    bytes: int
    delivered_bytes: int
    start_ns: int
    status: str
    fct_ns: int | None
    goodput_bps: float | None
    #: Data packets: sent (with repetitions), sent again, and arrived with an ECN mark.
    packets_sent: int
    packets_retransmitted: int
    ecn_marked: int
    #: Packets of any kind that arrived, and that the network dropped.
    received_packets: int
    dropped_packets: int
    #: From the hand-over to the sender's NIC until arrival.
    delay_ns_least: int | None
    delay_ns_mean: float | None
    delay_ns_most: int | None
    #: Mean delay above the least one of its path, which is that of an empty path if any packet met
    #: one.
    queueing_ns_mean: float | None
    #: From a data packet that was sent once until its acknowledgement, at the sender's NIC.
    round_trips: int | None
    round_trip_ns_least: int | None
    round_trip_ns_mean: float | None
    round_trip_ns_most: int | None

    @property
    def unneeded(self) -> int:
        """Least number of retransmissions of packets that the network had delivered."""
        return max(self.packets_retransmitted - self.dropped_packets, 0)

    def to_dict(self) -> dict[str, Any]:
        """Returns the flow as `afflux explain --json` prints it."""
        return {
            "class" if name == "flow_class" else name: getattr(self, name)
            for name in self.__slots__
        }


_OF_FLOWS = (
    "src_name",
    "dst_name",
    "bytes",
    "delivered_bytes",
    "start_ns",
    "status",
    "fct_ns",
    "goodput_bps",
    "packets_sent",
    "packets_retransmitted",
    "ecn_marked",
)
_OF_PACKETS = (
    "protocol",
    "src_port",
    "dst_port",
    "received_packets",
    "dropped_packets",
    "delay_ns_least",
    "delay_ns_mean",
    "delay_ns_most",
    "round_trips",
    "round_trip_ns_least",
    "round_trip_ns_mean",
    "round_trip_ns_most",
)


def flows(result: Result, only: Iterable[int] | None = None) -> list[KernelFlow]:
    """Returns the flows of kernels, in order of their starts. `only` limits them to these
    identifiers. Empty if no host was a kernel."""
    if "packets" not in result.recorded:
        return []
    packets = result.table("packets")
    chosen = None if only is None else set(only)
    rows_of: dict[int, list[int]] = {}
    for row, id in enumerate(packets.column("flow")):
        if chosen is None or id in chosen:
            rows_of.setdefault(id, []).append(row)
    if not rows_of:
        return []
    of_packets = {name: packets.column(name) for name in _OF_PACKETS}
    table = result.flows
    of_flows = {name: table.column(name) for name in _OF_FLOWS}
    found = []
    for row, (id, name) in enumerate(zip(table.column("id"), table.column("class"), strict=True)):
        if (others := rows_of.get(id)) is not None:
            values = {key: column[row] for key, column in of_flows.items()}
            subflows = [
                {key: column[other] for key, column in of_packets.items()} for other in others
            ]
            values |= _joined(subflows)
            found.append(KernelFlow(id=id, flow_class=name, subflows=len(subflows), **values))
    return found


def _joined(subflows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the counts and times of all subflows together. Means are weighted by their samples."""
    joined = dict(subflows[0])
    delayed = [one for one in subflows if one["delay_ns_mean"] is not None]
    queueing = [
        (one["delay_ns_mean"] - one["delay_ns_least"]) * one["received_packets"] for one in delayed
    ]
    joined["queueing_ns_mean"] = (
        sum(queueing) / sum(one["received_packets"] for one in delayed) if delayed else None
    )
    if len(subflows) == 1:
        return joined
    for name in ("received_packets", "dropped_packets", "round_trips"):
        joined[name] = sum(one[name] for one in subflows)
    for name, weight in (("delay_ns", "received_packets"), ("round_trip_ns", "round_trips")):
        known = [one for one in subflows if one[f"{name}_mean"] is not None]
        if known:
            joined[f"{name}_least"] = min(one[f"{name}_least"] for one in known)
            joined[f"{name}_most"] = max(one[f"{name}_most"] for one in known)
            joined[f"{name}_mean"] = sum(one[f"{name}_mean"] * one[weight] for one in known) / sum(
                one[weight] for one in known
            )
    return joined
