"""Collects time series of ports (ports.parquet): for the lowest seed of each design, for the most
notable ports, no finer than a screen shows."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

from ..results.designs import Design
from ..results.written import Table
from ..spelling import unknown
from . import busy

#: Most intervals; fewer if many queues were in use, so that there are at most `VALUES` values; but
#: at least `FEWEST`.
BUCKETS, VALUES, FEWEST = 1_500, 3_000_000, 200
#: Most ports.
PORTS = 24

#: Columns of ports.parquet, and how the values of several intervals are combined.
COLUMNS: dict[str, tuple[str, Callable[[Sequence[int]], int]]] = {
    "queue_max": ("queue_bytes_max", max),
    "queue_min": ("queue_bytes", min),
    "drops": ("drops", sum),
    "in_discards": ("in_discards", sum),
    "ecn_marks": ("ecn_marks", sum),
    "pause_tx": ("pause_frames_tx", sum),
    "pause_rx": ("pause_frames_rx", sum),
    "paused_ns": ("paused_ns", sum),
    "latency_max": ("latency_ns_max", max),
    "tx_bytes": ("tx_bytes", sum),
    "rx_bytes": ("rx_bytes", sum),
}
#: Criteria for choosing ports, used in turns: each contributes its best port, then its second best,
#: and so on.
RANKS = (
    ("drops", "in_discards"),
    ("pause_tx", "pause_rx", "paused_ns"),
    ("queue_max",),
    ("ecn_marks",),
    ("tx_bytes",),
)


@dataclass(frozen=True)
class Recording:
    """A table of ports as blocks of rows: one block per sample, with the same ports and queues in
    the same order."""

    table: Table
    #: Time of each sample.
    times: list[int]
    #: Row within the block, by port and queue.
    places: dict[str, dict[int, int]]
    block: int
    #: Names of the ports of hosts.
    of_hosts: frozenset[str]
    #: True if the run ended because nothing was left to do, so that all queues are empty after the
    #: last sample.
    done: bool

    @classmethod
    def of(cls, design: Design) -> "Recording | None":
        if "ports" not in design.first.recorded or not len(design.first.ports):
            return None
        table = design.first.ports
        times = table.column("time_ns")
        block = next((row for row, time in enumerate(times) if time != times[0]), len(times))
        if len(times) % block or times[::block] != times[block - 1 :: block]:
            raise table.refuse("samples do not all have the same rows")
        samples = times[::block]
        if not all(earlier < later for earlier, later in pairwise([0, *samples])):
            raise table.refuse("column time_ns does not increase from sample to sample")
        names = zip(
            *(table.column(name)[:block] for name in ("node", "peer", "port", "queue")), strict=True
        )
        places: dict[str, dict[int, int]] = {}
        for place, (node, peer, port, queue) in enumerate(names):
            places.setdefault(f"{node} port {port} → {peer}", {})[queue] = place
        is_host = cache(design.first.is_host)
        of_hosts = frozenset(port for port in places if is_host(port.partition(" port ")[0]))
        done = design.first.summary.get("ended_by") == "done"
        return cls(table, samples, places, block, of_hosts, done)

    @property
    def interval(self) -> int:
        return self.times[1] - self.times[0] if len(self.times) > 1 else self.times[0]

    def busy_until(self) -> int | None:
        """Returns the time at which the run gets quiet; `None` if it does not before its end."""
        return busy.until(self.times, self.summed("tx_bytes"), self.summed("queue_bytes_max"))

    def summed(self, column: str) -> list[int]:
        """Returns the sum over all ports and their queues, for each sample."""
        values = self.table.column(column)
        return [
            sum(values[at : at + self.block])
            for at in range(0, len(self.times) * self.block, self.block)
        ]

    def cut(self, end: int) -> "Recording":
        """Returns the samples up to this time."""
        times = [time for time in self.times if time <= end] or self.times[:1]
        return replace(self, times=times, done=self.done and times == self.times)

    def used(self, ports: Sequence[str]) -> int:
        """Returns the number of queues of these ports that have sent frames, counting each port
        itself too."""
        sent = self.table.column("tx_bytes")
        places = [
            place
            for port in ports
            for queue, place in self.places.get(port, {}).items()
            if queue == -1 or any(sent[place :: self.block])
        ]
        return max(len(places), 1)

    def mean_queues(self, ports: Sequence[str], end: int) -> list[dict[str, int]]:
        """Returns the mean bytes by port and queue, from 0 to this time in ns. After the end of a
        run that was done, all queues are empty."""
        column = self.table.column("queue_bytes")
        samples = bisect_right(self.times, end)
        covered = end / self.interval if self.done else samples
        return [
            {
                str(queue): round(sum(column[place :: self.block][:samples]) / max(covered, 1))
                for queue, place in self.places.get(port, {}).items()
            }
            for port in ports
        ]

    def weights(self, metric: str) -> dict[str, int]:
        """Returns the combined value of each port over the whole run."""
        name, combine = COLUMNS[metric]
        column = self.table.column(name)
        return {
            port: combine(column[queues.get(-1, min(queues.values())) :: self.block])
            for port, queues in self.places.items()
        }


def of(
    designs: Sequence[Design], *, hosts: bool = True, names: Sequence[str] | None = None
) -> dict[str, Any] | None:
    """Returns the series of the most notable ports. Ports of switches come first. Without `hosts`,
    ports of hosts are left out unless nothing else was recorded. With `names`, returns the series
    of the ports that these names mean, and raises `ValueError` if one of them was not recorded."""
    recordings = [Recording.of(design) for design in designs]
    there = [recording for recording in recordings if recording]
    if not there:
        return None
    ports = _chosen(there, hosts) if names is None else _named(there, names)
    end = max(recording.times[-1] for recording in there)
    last = max(recording.busy_until() or recording.times[-1] for recording in there)
    until = last if last < end else None
    short = [recording and recording.cut(last) for recording in recordings]
    return {
        "intervals_ns": [recording.interval if recording else None for recording in recordings],
        "recorded": len({name for recording in there for name in recording.places}),
        "seeds": [
            design.seeds[0]
            for design, recording in zip(designs, recordings, strict=True)
            if recording
        ],
        "end_ns": end,
        # The first view is shown by default. The second one is the whole run, if it differs.
        "views": [_view(recordings, ports, VALUES)]
        if until is None
        else [_view(part, ports, VALUES // 2) for part in (short, recordings)],
        "share": None
        if until is None
        else sent_share([recording for recording in short if recording], there),
    }


def sent_share(shown: Sequence["Recording"], whole: Sequence["Recording"]) -> float:
    """Returns the share of all sent bytes that the shown part contains."""
    part, everything = (
        sum(sum(recording.summed("tx_bytes")) for recording in of) for of in (shown, whole)
    )
    return round(part / max(everything, 1), 4)


def _view(
    recordings: Sequence[Recording | None], names: Sequence[str], values: int
) -> dict[str, Any]:
    there = [recording for recording in recordings if recording]
    interval = max(recording.interval for recording in there)
    end = max(recording.times[-1] for recording in there)
    most = min(
        BUCKETS,
        max(values // (len(COLUMNS) * sum(recording.used(names) for recording in there)), FEWEST),
    )
    bucket = -(-end // (most * interval)) * interval
    ports: list[dict[str, Any]] = [
        {"name": name, "series": [None] * len(recordings)} for name in names
    ]
    for index, recording in enumerate(recordings):
        if recording is None:
            continue
        # Samples of each bucket. A sample at the end of a bucket belongs to it.
        spans = edges(recording.times, bucket)
        for metric, (column, combine) in COLUMNS.items():
            whole = recording.table.column(column)
            for port in ports:
                queues = recording.places.get(port["name"])
                if queues is None:
                    continue
                port["series"][index] = port["series"][index] or {
                    str(queue): {} for queue in sorted(queues)
                }
                for queue, place in queues.items():
                    series = reduced(whole[place :: recording.block], spans, combine)
                    if series:
                        port["series"][index][str(queue)][metric] = series
    # A run that was cut off limits the time of the means: its queues are not known afterwards.
    until = min([end, *(recording.times[-1] for recording in there if not recording.done)])
    return {
        # Mean of the sampled queue lengths from 0 to `mean_ns`, by design, port and queue.
        "mean_ns": until,
        "means": [recording and recording.mean_queues(names, until) for recording in recordings],
        "bucket_ns": bucket,
        "end_ns": end,
        "buckets": -(-end // bucket),
        "lasted": [
            -(-recording.times[-1] // bucket) if recording else None for recording in recordings
        ],
        "ports": ports,
    }


def _every(recordings: Sequence[Recording]) -> list[str]:
    return list(dict.fromkeys(port for recording in recordings for port in recording.places))


def _named(recordings: Sequence[Recording], names: Sequence[str]) -> list[str]:
    """Returns the recorded ports that names mean, in the order of the names: `leaf1 port 0 → host3`,
    or `leaf1 → host3` and `host3 → leaf1 (NIC)` as `afflux explain` prints them. Parallel links are
    several ports. Raises `ValueError`."""
    every = _every(recordings)
    by_name: dict[str, list[str]] = {}
    for port in every:
        for name in dict.fromkeys((port, re.sub(r" port \d+ →", " →", port))):
            by_name.setdefault(name, []).append(port)
    found: list[str] = []
    for name in names:
        if (wanted := name.removesuffix(" (NIC)")) not in by_name:
            raise ValueError(unknown("recorded port", name, every))
        found += by_name[wanted]
    return list(dict.fromkeys(found))


def _chosen(recordings: Sequence[Recording], hosts: bool) -> list[str]:
    """Returns the most notable ports, the best first."""
    every = _every(recordings)
    inside = {*every}.difference(*(recording.of_hosts for recording in recordings))
    rankings = []
    for metrics in RANKS:
        weights: dict[str, int] = {}
        for recording in recordings:
            for metric in metrics:
                for port, weight in recording.weights(metric).items():
                    weights[port] = weights.get(port, 0) + weight
        rankings.append(
            sorted((port for port in weights if weights[port]), key=lambda port: -weights[port])
        )
    turns = [
        ranking[turn] for turn in range(len(every)) for ranking in rankings if turn < len(ranking)
    ]
    ordered = sorted(dict.fromkeys([*turns, *every]), key=lambda port: port not in inside)
    return [port for port in ordered if hosts or port in inside or not inside][:PORTS]


def edges(times: Sequence[int], bucket: int) -> list[tuple[int, int]]:
    """Returns, for each bucket, the index of its first sample and the index after its last one."""
    found, first = [], 0
    for place in range(-(-times[-1] // bucket)):
        last = first
        while last < len(times) and times[last] <= (place + 1) * bucket:
            last += 1
        found.append((first, last))
        first = last
    return found


def reduced(
    values: Sequence[int], spans: Sequence[tuple[int, int]], combine: Callable[[Sequence[int]], int]
) -> list[int]:
    """Returns a value per bucket, without zeros at the end."""
    reduced = [combine(values[first:last]) if last > first else 0 for first, last in spans]
    while reduced and not reduced[-1]:
        reduced.pop()
    return reduced
