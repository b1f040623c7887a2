"""Measurements of the study's cases."""

from collections.abc import Callable

from ...results.designs import Design
from ...results.result import Result
from ...results.statistics import interval, mean

#: Payload of a segment and size of its frame in bytes, and the source's round-trip time in seconds.
PAYLOAD, FRAME, RTT = 1448, 1514, 0.3
WINDOW = "host.transport.receive_window"


def of_window(kilobytes: float, trip: float = RTT) -> float:
    """Returns the rate in Mbps of one window per round trip."""
    return kilobytes * 8 / trip / 1e3


def converged_rate(result: Result) -> float:
    """Returns the payload rate in Mbps at the receivers in the second half, from the frames on
    their links."""
    names = ("time_ns", "peer", "queue", "tx_bytes")
    rows = list(zip(*(result.ports.column(name) for name in names), strict=True))
    end = max(time for time, *_ in rows)
    half = sum(
        bytes
        for time, peer, queue, bytes in rows
        if peer.startswith("host") and queue == -1 and time > end / 2
    )
    return half * PAYLOAD / FRAME * 8e3 / (end / 2)


def average(result: Result) -> float:
    """Returns the rate in Mbps at which programs received data, from the first start on."""
    return result.summary["goodput_bps"] / 1e6


def over_seeds(
    design: Design, value: Callable[[Result], float] = converged_rate
) -> tuple[float, float | None, float | None]:
    each = [value(result) for result in design.samples.values()]
    return mean(each), *(interval(each) or (None, None))
