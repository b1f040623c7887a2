"""Produce, transfer, read: the source's plan for a continuous run. The slowest stage determines the
rate if buffers suffice.

The producer is a series of flows on one connection: 50 segments at a time, at equal intervals. It
never waits: data that the connection cannot take yet are queued without limit. The reader is either
a host that needs time for each segment, or a program that stops reading for a part of the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...results.designs import Designs
from .. import Check, Row
from .measure import PAYLOAD, RTT, WINDOW, of_window, over_seeds

_SEGMENTS, _UNTIL = 50, 40
#: Time in us per segment of the slow reader: 38.6 Mbps.
_TIME = 300
#: Seconds in which the program reads, and in which it sleeps.
_READ, _SLEEP = 3, 1
_READER = {
    "kind": "tcp",
    "stack": "linux",
    "congestion": "newreno",
    "initial_window": 2,
    "burst": 1,
    "small_queues": False,
    "send_buffer_max": "unlimited",
}


@dataclass(frozen=True)
class Pipeline:
    """A pipeline. Rates are in Mbps."""

    produced: int
    #: Window in kB.
    window: int
    #: True if the reader is a program that stops reading for 1 s in 4, instead of a host that takes
    #: 300 us for a segment.
    stops: bool = False

    @property
    def name(self) -> str:
        reader = (
            f"a program that stops for {_SLEEP} s in {_READ + _SLEEP}"
            if self.stops
            else f"a host that takes {_TIME} us per segment"
        )
        return f"producer of {self.produced} Mbps, {reader}, window {self.window} kB"

    @property
    def _period(self) -> int:
        """Time in ns between two parts that are produced."""
        return round(_SEGMENTS * PAYLOAD * 8e3 / self.produced)

    def keys(self) -> dict[str, Any]:
        made = {
            "traffic.0.sizes": f"{_SEGMENTS * PAYLOAD}B",
            "traffic.0.persistent": True,
            "traffic.0.period": f"{self._period}ns",
            "traffic.0.rounds": _UNTIL * 10**9 // self._period,
        }
        if not self.stops:
            slow = {"packet_time": f"{_TIME}us", "queue": 5000}
            return made | {
                WINDOW: f"{self.window}kB",
                "host.override": [{"match": "host4", "processor": slow}],
            }
        # The window is half of the buffer.
        reader = {"read": f"{_READ}s", "sleep": f"{_SLEEP}s"}
        return made | {
            "host.transport": _READER | {"receive_buffer": f"{2 * self.window}kB", "reader": reader}
        }

    def stages(self) -> tuple[float, float, float]:
        """Rates in Mbps that producer, transfer and reader could each reach alone.

        While the program sleeps, one more window arrives within a round trip, and then nothing
        until it wakes up. So a reader that stops slows the transfer.
        """
        transfer = of_window(self.window)
        read = (
            transfer * (1 - (_SLEEP - RTT) / (_READ + _SLEEP))
            if self.stops
            else PAYLOAD * 8 / _TIME
        )
        return float(self.produced), transfer, read


#: Pipelines: each stage is the slowest once; then a reader that stops, with a sufficient buffer and
#: with an insufficient one.
PIPELINES = (
    Pipeline(20, 3000),
    Pipeline(60, 1000),
    Pipeline(60, 3000),
    Pipeline(20, 3000, True),
    Pipeline(40, 1000, True),
)


def cases() -> dict[str, dict[str, Any]]:
    return {pipeline.name: pipeline.keys() for pipeline in PIPELINES}


def rows(designs: Designs) -> Sequence[Row]:
    found = []
    for pipeline in PIPELINES:
        if pipeline.name in designs:
            found.append(
                Row(
                    f"{pipeline.name}: Mbps (narrowest stage)",
                    min(pipeline.stages()),
                    *over_seeds(designs[pipeline.name]),
                    computed=True,
                )
            )
    return found


def checks(designs: Designs) -> Sequence[Check]:
    if not all(pipeline.name in designs for pipeline in PIPELINES):
        return []
    worst = 100 * max(
        abs(over_seeds(designs[pipeline.name])[0] / min(pipeline.stages()) - 1)
        for pipeline in PIPELINES
    )
    return [
        Check(
            "our formula: produce, transfer, read: throughput is that of the narrowest stage, largest error in %",
            worst < 5,
            worst,
            5,
        )
    ]
