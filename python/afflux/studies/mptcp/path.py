"""One path with the author's links: his captured flows again, and flows that follow each other
closely or at a distance.

His program measures a flow's time from its SYN to its FIN. The five flows of the capture end 0.468
ms after a multiple of 4 ms, which is the tick of his kernel (CONFIG_HZ = 250). An acknowledgement
of 62 B needs 0.4688 ms for this path. So the FIN is sent when the receiver's timer for delayed
acknowledgements has expired: MPTCP closes the connection first and its subflow afterwards, and each
waits for a delayed acknowledgement.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean
from typing import Any

from ...batch import Point
from ...results.result import Result
from .. import files, lines

CAPTURED, SPACED, DENSE, PRINTED, PRINTED_DENSE = (
    "path, captured flows",
    "path, a flow every 200 ms",
    "path, a flow every 50 ms",
    "path, a flow every 200 ms, printed rates",
    "path, a flow every 50 ms, printed rates",
)
#: Delay in ns and rate factor of the same path with the rates and the round trip that the source
#: prints.
_PRINTED_DELAY, _FASTER = 62_500.0, 10
#: As in the source's experiment, flows start for 2 s.
_DENSE = {"traffic[0].flows_per_second": 20, "traffic[0].duration": "2s"}
_TENFOLD = {
    f"topology.link.{link}.rate": rate
    for link, rate in enumerate(("100Mbps", "200Mbps", "200Mbps", "100Mbps"))
}
_TENFOLD |= {f"topology.link.{link}.delay": f"{_PRINTED_DELAY:g}ns" for link in range(4)}
#: Keys that differ from path.toml.
CASES: dict[str, dict[str, Any]] = {
    SPACED: {},
    DENSE: _DENSE,
    PRINTED: _TENFOLD,
    PRINTED_DENSE: _DENSE | _TENFOLD,
}

#: Tick of the author's kernel in ns, and the shortest delay of an acknowledgement in ticks
#: (TCP_DELACK_MIN is a 25th of a second).
TICK, TICKS = 4_000_000, 10
#: Number of delayed acknowledgements before the FIN is sent: those of the connection and of the
#: subflow.
DELAYED = 2
_ACK, _DELAY, _RATES = 62, 80_000.0, (10e6, 20e6, 20e6, 10e6)


def points(seeds: Sequence[int]) -> list[Point]:
    scenario, flows = files("mptcp") / "path.toml", files("mptcp") / "captured.csv"
    captured = Point(CAPTURED, scenario, {"traffic": [{"kind": "flows", "file": str(flows)}]}, 1)
    return [
        captured,
        *(Point(case, scenario, keys, seed) for case, keys in CASES.items() for seed in seeds),
    ]


def travel_ns(printed: bool = False) -> float:
    """Returns the time in ns that an acknowledgement needs for the path."""
    delay, faster = (_PRINTED_DELAY, _FASTER) if printed else (_DELAY, 1)
    return sum(_ACK * 8e9 / (rate * faster) + delay for rate in _RATES)


def fin_ns(last: float, travel: float) -> float:
    """Returns the time at which the FIN reaches the sender if the last byte arrives at `last` and
    no other flow delays the closing."""
    end = last
    for _ in range(DELAYED):
        expired = (last // TICK + TICKS) * TICK
        end = expired + travel
        # Arrival of the sender's answer at the receiver.
        last = end + travel
    return end


@dataclass(frozen=True)
class Flow:
    start: int
    #: Time at which the last byte reaches the receiver.
    last: int
    #: True if no other flow is active from its start until its last byte has arrived.
    lone: bool


def flows(result: Result) -> list[Flow]:
    rows = sorted(
        zip(*(result.flows.column(name) for name in ("start_ns", "finish_ns")), strict=True)
    )
    rows = [(start, last) for start, last in rows if last is not None]
    return [
        Flow(
            start,
            last,
            not any(
                other != (start, last) and other[0] < last and other[1] > start for other in rows
            ),
        )
        for start, last in rows
    ]


def to_fin(flow: Flow, *, printed: bool = False) -> float:
    """Returns the time from SYN to FIN in ms."""
    return (fin_ns(flow.last, travel_ns(printed)) - flow.start) / 1e6


def lone_to_fin(printed: bool = False) -> Callable[[Result], float]:
    """Returns a function for the mean time in ms from SYN to FIN of the flows that meet no
    other."""
    return lambda result: mean(to_fin(flow, printed=printed) for flow in flows(result) if flow.lone)


def lone(result: Result) -> float:
    """Returns the mean time in ms until the last byte of the flows that meet no other."""
    return mean((flow.last - flow.start) / 1e6 for flow in flows(result) if flow.lone)


def busy(result: Result) -> float:
    """Returns the share of the time, from the first start to the last, in which data are sent to
    the receiver's interface."""
    starts = [flow.start for flow in flows(result)]
    names = ("time_ns", "peer", "queue", "tx_bytes")
    rows = zip(*(result.ports.column(name) for name in names), strict=True)
    sent = sum(
        bytes
        for time, peer, queue, bytes in rows
        if peer == "host1" and queue == -1 and starts[0] < time <= starts[-1]
    )
    links = zip(*(result.links.column(name) for name in ("to", "rate_bps")), strict=True)
    rate = next(rate for end, rate in links if end == "host1")
    return sent * 8e9 / rate / (starts[-1] - starts[0])


@cache
def published() -> dict[str, float]:
    """Returns the source's numbers in ms."""
    return {row["name"]: float(row["ms"]) for row in lines.read(files("mptcp") / "published.csv")}
