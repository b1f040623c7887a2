"""What the cases of the study measure."""

from collections.abc import Callable

from ...results.designs import Design
from ...results.result import Result
from ...results.statistics import interval, mean

#: Payload of a segment in a frame, and the source's round trip in seconds.
PAYLOAD, FRAME, RTT = 1448, 1514, 0.3
WINDOW = "host.transport.receive_window"


def of_window(kilobytes: float, trip: float = RTT) -> float:
    """Mbps of a window per round trip."""
    return kilobytes * 8 / trip / 1e3


def settled(result: Result) -> float:
    """Mbps of payload that come to the receivers in the second half, by the frames on their links."""
    names = ("time_ns", "peer", "queue", "tx_bytes")
    rows = list(zip(*(result.ports.column(name) for name in names), strict=True))
    end = max(time for time, *_ in rows)
    half = sum(bytes for time, peer, queue, bytes in rows if peer.startswith("host") and queue == -1 and time > end / 2)
    return half * PAYLOAD / FRAME * 8e3 / (end / 2)


def average(result: Result) -> float:
    """Mbps that programs have received, from the first start on."""
    return result.summary["goodput_bps"] / 1e6


def over_seeds(design: Design, value: Callable[[Result], float] = settled) -> tuple[float, float | None, float | None]:
    each = [value(result) for result in design.samples.values()]
    return mean(each), *(interval(each) or (None, None))
