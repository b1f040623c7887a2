"""Series of ports, from ports.parquet: of the lowest seed of each design, of the ports with most to show, no finer than a screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

from ..results.designs import Design
from ..results.statistics import mean
from ..results.written import Table
from . import busy

#: Intervals shown, at most; fewer where many queues were in use, for no more than so many values; but at least so many.
BUCKETS, VALUES, FEWEST = 1_500, 3_000_000, 200
#: Ports shown, at most.
PORTS = 24

#: Column of ports.parquet, and what becomes of the values of several intervals.
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
#: By what ports are chosen, in turns: each gives its best one, then its second best …
RANKS = (("drops", "in_discards"), ("pause_tx", "pause_rx", "paused_ns"), ("queue_max",), ("ecn_marks",), ("tx_bytes",))


@dataclass(frozen=True)
class Recording:
    """A table of ports: blocks of rows, one block per sample, the same ports and queues in the same order in each."""

    table: Table
    #: Samples' times.
    times: list[int]
    #: Place in the block by port and queue.
    places: dict[str, dict[int, int]]
    block: int
    #: Ports of hosts.
    of_hosts: frozenset[str]

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
        names = zip(*(table.column(name)[:block] for name in ("node", "peer", "port", "queue")), strict=True)
        places: dict[str, dict[int, int]] = {}
        for place, (node, peer, port, queue) in enumerate(names):
            places.setdefault(f"{node} port {port} → {peer}", {})[queue] = place
        is_host = cache(design.first.is_host)
        of_hosts = frozenset(port for port in places if is_host(port.partition(" port ")[0]))
        return cls(table, samples, places, block, of_hosts)

    @property
    def interval(self) -> int:
        return self.times[1] - self.times[0] if len(self.times) > 1 else self.times[0]

    def busy_until(self) -> int | None:
        """When it gets quiet; `None`: not before the end."""
        return busy.until(self.times, self.summed("tx_bytes"), self.summed("queue_bytes_max"))

    def summed(self, column: str) -> list[int]:
        """By sample: over all ports and their queues."""
        values = self.table.column(column)
        return [sum(values[at : at + self.block]) for at in range(0, len(self.times) * self.block, self.block)]

    def cut(self, end: int) -> "Recording":
        """The samples up to this time."""
        return replace(self, times=[time for time in self.times if time <= end] or self.times[:1])

    def used(self, ports: Sequence[str]) -> int:
        """How many queues of these ports have sent anything; and the ports themselves."""
        sent = self.table.column("tx_bytes")
        places = [place for port in ports for queue, place in self.places.get(port, {}).items() if queue == -1 or any(sent[place :: self.block])]
        return max(len(places), 1)

    def mean_queues(self, ports: Sequence[str]) -> list[dict[str, int]]:
        """Bytes by port and queue, over the whole run."""
        column = self.table.column("queue_bytes")
        return [{str(queue): round(mean(column[place :: self.block])) for queue, place in self.places.get(port, {}).items()} for port in ports]

    def weights(self, metric: str) -> dict[str, int]:
        """By port, over the whole run."""
        name, combine = COLUMNS[metric]
        column = self.table.column(name)
        return {port: combine(column[queues.get(-1, min(queues.values())) :: self.block]) for port, queues in self.places.items()}


def of(designs: Sequence[Design], *, hosts: bool = True) -> dict[str, Any] | None:
    """Ports of switches come first; without `hosts` there are no others, unless nothing else was recorded."""
    recordings = [Recording.of(design) for design in designs]
    there = [recording for recording in recordings if recording]
    if not there:
        return None
    names = _chosen(there, hosts)
    end = max(recording.times[-1] for recording in there)
    last = max(recording.busy_until() or recording.times[-1] for recording in there)
    until = last if last < end else None
    short = [recording and recording.cut(last) for recording in recordings]
    return {
        "intervals_ns": [recording.interval if recording else None for recording in recordings],
        "recorded": len({name for recording in there for name in recording.places}),
        "seeds": [design.seeds[0] for design, recording in zip(designs, recordings, strict=True) if recording],
        "end_ns": end,
        # What is shown at first is the first; the whole run is the second, if it is not the same.
        "views": [_view(recordings, names, VALUES)] if until is None else [_view(part, names, VALUES // 2) for part in (short, recordings)],
        "share": None if until is None else sent_share([recording for recording in short if recording], there),
        # By design, then port, then queue: the mean of the sampled queue lengths.
        "means": [recording and recording.mean_queues(names) for recording in recordings],
    }


def sent_share(shown: Sequence["Recording"], whole: Sequence["Recording"]) -> float:
    """How much of the bytes is in what is shown."""
    part, everything = (sum(sum(recording.summed("tx_bytes")) for recording in of) for of in (shown, whole))
    return round(part / max(everything, 1), 4)


def _view(recordings: Sequence[Recording | None], names: Sequence[str], values: int) -> dict[str, Any]:
    there = [recording for recording in recordings if recording]
    interval = max(recording.interval for recording in there)
    end = max(recording.times[-1] for recording in there)
    most = min(BUCKETS, max(values // (len(COLUMNS) * sum(recording.used(names) for recording in there)), FEWEST))
    bucket = -(-end // (most * interval)) * interval
    ports: list[dict[str, Any]] = [{"name": name, "series": [None] * len(recordings)} for name in names]
    for index, recording in enumerate(recordings):
        if recording is None:
            continue
        # The samples of each bucket; a sample at the end of a bucket belongs to it.
        spans = edges(recording.times, bucket)
        for metric, (column, combine) in COLUMNS.items():
            whole = recording.table.column(column)
            for port in ports:
                queues = recording.places.get(port["name"])
                if queues is None:
                    continue
                port["series"][index] = port["series"][index] or {str(queue): {} for queue in sorted(queues)}
                for queue, place in queues.items():
                    series = reduced(whole[place :: recording.block], spans, combine)
                    if series:
                        port["series"][index][str(queue)][metric] = series
    return {
        "bucket_ns": bucket,
        "end_ns": end,
        "buckets": -(-end // bucket),
        "lasted": [-(-recording.times[-1] // bucket) if recording else None for recording in recordings],
        "ports": ports,
    }


def _chosen(recordings: Sequence[Recording], hosts: bool) -> list[str]:
    """The ports with most to show, the first the most worth looking at."""
    every = list(dict.fromkeys(port for recording in recordings for port in recording.places))
    inside = {*every}.difference(*(recording.of_hosts for recording in recordings))
    rankings = []
    for metrics in RANKS:
        weights: dict[str, int] = {}
        for recording in recordings:
            for metric in metrics:
                for port, weight in recording.weights(metric).items():
                    weights[port] = weights.get(port, 0) + weight
        rankings.append(sorted((port for port in weights if weights[port]), key=lambda port: -weights[port]))
    turns = [ranking[turn] for turn in range(len(every)) for ranking in rankings if turn < len(ranking)]
    ordered = sorted(dict.fromkeys([*turns, *every]), key=lambda port: port not in inside)
    return [port for port in ordered if hosts or port in inside or not inside][:PORTS]


def edges(times: Sequence[int], bucket: int) -> list[tuple[int, int]]:
    """First sample of each bucket, and the one after its last."""
    found, first = [], 0
    for place in range(-(-times[-1] // bucket)):
        last = first
        while last < len(times) and times[last] <= (place + 1) * bucket:
            last += 1
        found.append((first, last))
        first = last
    return found


def reduced(values: Sequence[int], spans: Sequence[tuple[int, int]], combine: Callable[[Sequence[int]], int]) -> list[int]:
    """A value per bucket, without the zeros at the end."""
    reduced = [combine(values[first:last]) if last > first else 0 for first, last in spans]
    while reduced and not reduced[-1]:
        reduced.pop()
    return reduced
