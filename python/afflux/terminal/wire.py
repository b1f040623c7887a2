"""Shows flows of real kernels, as far as their packets explain them."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from ..results.wire import UNKNOWN, KernelFlow
from ..words import text
from .drawing import plural, table


def one(flow: KernelFlow) -> Iterator[RenderableType]:
    """Renders one flow: its ends, completion, delays, round trips, losses."""
    ports = f" port {flow.src_port} → {flow.dst_port}" if flow.dst_port else ""
    if flow.subflows > 1:
        ports = f", {flow.subflows} subflows, the first{ports}"
    yield Text.assemble(
        (f"Flow {flow.id}", "bold"),
        f"  {flow.src_name} → {flow.dst_name}, {text.size(flow.bytes)}, class {flow.flow_class},"
        f" a real kernel's ({flow.protocol}{ports})",
    )
    yield Text(_end(flow))
    made = table("What its packets show", "", "least", "mean", "most")
    if flow.delay_ns_mean is not None:
        made.add_row(
            "delay from NIC to NIC",
            *map(text.time, (flow.delay_ns_least, flow.delay_ns_mean, flow.delay_ns_most)),
        )
        above = flow.delay_ns_most - (flow.delay_ns_least or 0) if flow.delay_ns_most else 0
        # Subflows can have paths of different lengths.
        most = above if flow.subflows == 1 else None
        made.add_row(
            "  above the least", text.time(0), *map(text.time, (flow.queueing_ns_mean, most))
        )
    if flow.round_trips:
        made.add_row(
            "round trip to its acknowledgement",
            *map(
                text.time,
                (flow.round_trip_ns_least, flow.round_trip_ns_mean, flow.round_trip_ns_most),
            ),
        )
    yield made
    yield Text(_losses(flow))


def _end(flow: KernelFlow) -> str:
    if flow.fct_ns is not None:
        rate = f", {text.rate(flow.goodput_bps)}" if flow.goodput_bps is not None else ""
        return f"started at {text.time(flow.start_ns)}, completed in {text.time(flow.fct_ns)}{rate}"
    start = f"started at {text.time(flow.start_ns)}"
    if flow.protocol not in ("tcp", "mptcp"):
        return f"{start}; packets of this protocol do not show an end"
    if flow.status == "terminated":
        return f"{start}, reset before it was complete"
    return f"{start}, not complete at the end of the run"


def _losses(flow: KernelFlow) -> str:
    """Says what was lost, sent again and marked."""
    packets = plural(flow.packets_sent, "data packet")
    said = f"{packets} sent, {text.count(flow.ecn_marked)} of them arrived with an ECN mark."
    said += f" The network dropped {plural(flow.dropped_packets, 'packet')}."
    if flow.packets_retransmitted:
        said += f" {plural(flow.packets_retransmitted, 'data packet')} had been sent before."
    if flow.unneeded:
        said += f" At least {text.count(flow.unneeded)} of these repeat data that the network had delivered."
    return said


def several(flows: Sequence[KernelFlow], *, most: int) -> Iterator[RenderableType]:
    """Renders a row for each of the `most` largest flows, the largest first."""
    made = table(
        "Flows of kernels, by their packets",
        "flow",
        "hosts",
        "bytes",
        "completion",
        "goodput",
        "queueing",
        "round trip",
        "dropped",
        "sent again",
    )
    largest = sorted(flows, key=lambda one: (-one.bytes, one.id))[:most]
    for one in largest:
        made.add_row(
            str(one.id),
            f"{one.src_name}→{one.dst_name}",
            text.size(one.bytes),
            text.time(one.fct_ns),
            "–" if one.goodput_bps is None else text.rate(one.goodput_bps),
            *map(text.time, (one.queueing_ns_mean, one.round_trip_ns_mean)),
            *map(text.count, (one.dropped_packets, one.packets_retransmitted)),
        )
    yield made
    yield Text(
        "queueing: mean delay between the NICs above the least; round trip: mean, on the wire",
        style="dim",
    )
    if len(flows) > len(largest):
        yield Text(f"and {plural(len(flows) - len(largest), 'smaller flow')} (--kernels shows all)")


def no_waits() -> Iterator[RenderableType]:
    yield Text(
        "where its packets waited was not recorded: run again with --set record.waits=all",
        style="dim",
    )


def unknown(sampled: bool) -> Iterator[RenderableType]:
    """Says what packets do not show, and where it is."""
    where = (
        "The table senders has what the kernel told of its windows."
        if sampled
        else 'tcp_info = "10ms" in [[host.kernel]] records what the kernel tells of its windows.'
    )
    yield Text(f"{UNKNOWN} {where}")
