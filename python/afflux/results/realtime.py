"""Reads the report of `afflux live` about a run in real time."""

import json
from typing import Any

from .explain import Queue
from .result import Result

LIVE = "live.json"


def of(result: Result) -> dict[str, Any] | None:
    """Returns the `live.json` of a result; `None` for a simulation."""
    if result.dir is None or LIVE not in result.digests:
        return None
    result.check(LIVE)
    found: dict[str, Any] = json.loads((result.dir / LIVE).read_text(encoding="utf-8"))
    return found


def mean_wait_ns(report: dict[str, Any], queue: Queue) -> float | None:
    """Returns the mean time in ns that a byte spent in a port, by Little's law from the mean queue
    and the throughput. `None` if the port sent nothing."""
    for port in report["ports"]:
        if (port["node"], port["peer"]) == (queue.node, queue.peer) and port["tx_bytes"]:
            return (
                1e9
                * float(port["queue_bytes_mean"])
                * float(report["duration_s"])
                / float(port["tx_bytes"])
            )
    return None
