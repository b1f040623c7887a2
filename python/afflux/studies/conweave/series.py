"""Evaluates time series sampled while flows start: balance of the uplinks, and resources used for
reordering. The time when queues drain afterwards is left out."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...results.result import Result

#: Sampling window in ns: `record.imbalance` of the scenarios.
WINDOW = 100_000


@dataclass(frozen=True)
class Reordering:
    """Distributions over all samples of all ToRs."""

    #: Number of samples by the number of reorder queues in use at a host-facing port.
    ports: Counter[int]
    #: Number of samples by the bytes that all reorder queues of a switch held.
    switches: Counter[int]

    def queues(self, q: float) -> int:
        return _quantile(self.ports, q)

    def bytes(self, q: float) -> int:
        return _quantile(self.switches, q)

    def fewer_than(self, queues: int) -> float:
        """Returns the share of samples with fewer than `queues` reorder queues, of those with at
        least one. Idle ports would outweigh all others."""
        used = self.ports.total() - self.ports[0]
        return (
            sum(count for value, count in self.ports.items() if 0 < value < queues) / used
            if used
            else 1.0
        )


def reordering(result: Result) -> Reordering:
    assert result.dir
    return _reordering(result.dir, result.summary["result_hash"])


def imbalance(result: Result) -> list[float]:
    """Returns (maximum - minimum) / average of a ToR's uplinks in windows of 100 us, for all ToRs
    and windows, in ascending order."""
    assert result.dir
    return _imbalance(result.dir, result.summary["result_hash"])


def _starts(result: Result) -> tuple[int, int]:
    """Returns the end of the warm-up, and the time at which the last flow starts."""
    return result.summary["warmup_ns"], max(
        start for start in result.flows.column("start_ns") if start is not None
    )


@cache
def _imbalance(dir: Path, hash: str) -> list[float]:
    result = Result.open(dir)
    first, last = _starts(result)
    table = result.table("imbalance")
    pairs = zip(table.column("time_ns"), table.column("imbalance"), strict=True)
    return sorted(
        value
        for time, value in pairs
        if value is not None and first <= time and time + WINDOW <= last
    )


@cache
def _reordering(dir: Path, hash: str) -> Reordering:
    result = Result.open(dir)
    first, last = _starts(result)
    hosts = len({*result.flows.column("src"), *result.flows.column("dst")})
    table = result.table("reorder")
    ports: Counter[int] = Counter()
    switches: Counter[int] = Counter()
    for time, port, queues, bytes in zip(
        *(table.column(name) for name in ("time_ns", "port", "queues", "bytes")), strict=True
    ):
        if first <= time <= last:
            if port == -1:
                switches[bytes] += 1
            else:
                ports[queues] += 1
    # Ports without a reorder queue have no row.
    racks = len(
        {
            node
            for node, port in zip(table.column("node"), table.column("port"), strict=True)
            if port == -1
        }
    )
    ports[0] += switches.total() // racks * hosts - ports.total()
    return Reordering(ports, switches)


def _quantile(counts: Counter[int], q: float) -> int:
    """Returns the smallest value that at least the share `q` of the samples does not exceed."""
    wanted, seen = q * counts.total(), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return max(counts)
