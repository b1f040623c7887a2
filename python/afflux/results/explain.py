"""Explains each flow's completion time as a sum of parts."""

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import compress
from operator import truediv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .written import Table

if TYPE_CHECKING:
    from .result import Result

#: Labels of the parts: propagation and serialization, then the waits in the order in which ties are
#: decided.
LABELS = (
    "propagation",
    "serialization",
    "recovery",
    "reordering",
    "paused",
    "queueing",
    "pacing",
    "window",
    "application",
)


@dataclass(frozen=True, slots=True)
class Flow:
    """A finished flow and the parts of its completion time, which add up to it exactly."""

    #: The flow's number in the run.
    id: int
    #: Traffic class of the flow.
    flow_class: str
    #: Number of the sending host.
    src: int
    #: Number of the receiving host.
    dst: int
    #: Payload in bytes.
    bytes: int
    #: Completion time in nanoseconds.
    fct_ns: int
    #: Completion time divided by that of the same flow in the idle fabric.
    slowdown: float
    #: Nanoseconds of each part, by label.
    parts_ns: dict[str, int]
    #: Name of the sending host.
    src_name: str
    #: Name of the receiving host.
    dst_name: str
    #: Part of the queueing in the sender's own host, in nanoseconds; `None` if its transport does
    #: not report it.
    host_ns: int | None = None

    def share(self, label: str) -> float:
        """Returns the share (0 to 1) of a part in the completion time."""
        return self.parts_ns[label] / self.fct_ns if self.fct_ns else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns the flow as `afflux explain --json` prints it."""
        head = {
            "id": self.id,
            "class": self.flow_class,
            "src": self.src,
            "dst": self.dst,
            "bytes": self.bytes,
        }
        head |= {"src_name": self.src_name, "dst_name": self.dst_name}
        times = {"fct_ns": self.fct_ns, "slowdown": self.slowdown} | {
            f"{label}_ns": ns for label, ns in self.parts_ns.items()
        }
        return head | times | {"queueing_host_ns": self.host_ns}


#: Name of a group of flows.
Name = str | None
#: Name of the group of all flows. It is no text, because a class of traffic may have any name.
ALL: Name = None
#: The two ways of grouping.
GROUPINGS = ("size", "class")


@dataclass(frozen=True, slots=True)
class Sums:
    """A group of flows of one run: number of flows, and sums of their parts in whole
    nanoseconds."""

    #: Number of flows.
    flows: int
    #: Sums in nanoseconds, by label.
    parts_ns: dict[str, int]
    #: Sum over the flows of each part's share in its flow's completion time.
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class Queue:
    """A port with its longest queue and its losses in the whole run."""

    node: str
    peer: str
    #: True if the port belongs to a host.
    at_host: bool
    bytes_max: int
    wait_ns_max: int
    drops: int
    in_discards: int
    ecn_marks: int
    paused_ns: int


@dataclass(frozen=True, slots=True)
class Queues:
    """Queues of the recorded ports of a run."""

    #: Ports that had a standing queue, the longest first.
    longest: list[Queue]
    #: Number of recorded ports.
    recorded: int
    #: Number of recorded ports of hosts.
    at_hosts: int
    #: Number of all ports of the fabric.
    ports: int

    @classmethod
    def of(cls, result: "Result") -> "Queues | None":
        """Returns the queues of a result; `None` if ports were not recorded."""
        if "ports" not in result.recorded:
            return None
        ports = result.ports
        found: dict[tuple[int, str, str], list[int]] = {}
        highest = [ports.column(name) for name in ("queue_bytes_max", "latency_ns_max")]
        sums = [ports.column(name) for name in ("drops", "in_discards", "ecn_marks", "paused_ns")]
        # Queue -1 stands for the whole port.
        for row, key in enumerate(
            zip(*(ports.column(name) for name in ("queue", "port", "node", "peer")), strict=True)
        ):
            if key[0] == -1:
                values = found.setdefault(key[1:], [0] * 6)
                values[:2] = [
                    max(values[place], column[row]) for place, column in enumerate(highest)
                ]
                values[2:] = [values[place + 2] + column[row] for place, column in enumerate(sums)]
        # Queues of at most 10,000 B are left out: they are about one frame of 9000 B.
        standing = sorted(
            ((key, values) for key, values in found.items() if values[0] > 10_000),
            key=lambda item: -item[1][0],
        )
        longest = [
            Queue(node, peer, result.is_host(node), *values) for (_, node, peer), values in standing
        ]
        at_hosts = sum(result.is_host(node) for _, node, _ in found)
        # Each direction of a link begins at a port.
        every = len(result.links) if "links" in result.recorded else len(found)
        return cls(longest, len(found), at_hosts, every)


def busiest_link(result: "Result") -> tuple[str, str, float] | None:
    """Returns the direction of a link that was in use for the largest share of the run: its two
    nodes and this share. None if links carried nothing."""
    if "links" not in result.recorded:
        return None
    links = result.links
    found = max(
        zip(*(links.column(name) for name in ("utilisation", "from", "to")), strict=True),
        key=lambda row: row[0] or 0.0,
        default=None,
    )
    return None if found is None or not found[0] else (found[1], found[2], found[0])


class Explanation:
    """The split of every finished flow of a run. Flows of real kernels have none and are left
    out."""

    def __init__(self, flows: Table, summary: dict[str, Any], dir: Path | None = None) -> None:
        #: Result directory; None if the result has none.
        self._dir = dir
        #: Results of earlier versions lack this column, and `queueing_host_ns`.
        kernel = flows.column("kernel") if "kernel" in flows else ()
        #: Number of flows of kernels, which are left out.
        self.without = sum(kernel)
        simulated = [not real for real in kernel] if self.without else None

        def column(name: str) -> Sequence[Any]:
            values = flows.column(name)
            return values if simulated is None else list(compress(values, simulated))

        # Arrays of integers need a fifth of the memory of lists; -1 stands for unknown values.
        self._ids, self._src, self._dst, self._bytes, self._start, self._fct = (
            _whole(column(name)) for name in ("id", "src", "dst", "bytes", "start_ns", "fct_ns")
        )
        self._parts = {label: _whole(column(f"{label}_ns")) for label in LABELS}
        self._host = column("queueing_host_ns") if "queueing_host_ns" in flows else None
        known: dict[str, str] = {}
        self._class = [known.setdefault(name, name) for name in column("class")]
        self._slowdown = column("slowdown")
        self._explained = bytes(part >= 0 for part in self._parts["propagation"])
        self._running = bytes(status == "running" for status in column("status"))
        # A flow whose parts do not add up (a failed check) has no split.
        if (
            not any(self._explained)
            and any(fct >= 0 for fct in self._fct)
            and not summary.get("failed_checks_total")
        ):
            raise LookupError(
                "the split was not recorded: set explain = true in [record] and run again"
            )
        names: list[str] = summary.get("host_names", [])
        self._host_name = lambda host: names[host] if names else f"host{host}"
        #: Names of the size classes in ascending order; None if they were switched off.
        sizes = list(summary["slowdown"]["by_size"])
        self._sizes = None if sizes == ["all"] else sizes
        self._warmup, self._end = summary["warmup_ns"], summary["simulated_ns"]

    def __len__(self) -> int:
        return sum(self._explained)

    def flow(self, id: int) -> Flow:
        """Returns one flow by its identifier. Raises `LookupError` if it does not exist or did not
        finish."""
        try:
            row = self._ids.index(id)
        except ValueError:
            of = "" if self._dir is None else f"{self._dir}: "
            there = (
                f"its flows have identifiers from {min(self._ids)} to {max(self._ids)}"
                if self._ids
                else "it has no flows"
            )
            raise LookupError(f"{of}there is no flow {id}: {there}") from None
        if self._fct[row] < 0:
            raise LookupError(f"flow {id} did not finish: there is no completion time to explain")
        if not self._explained[row]:
            raise LookupError(
                f"the parts of flow {id} do not add up to its completion time and are not shown: see failed_checks in summary.json"
            )
        return self._flow(row)

    def slowest(self, count: int) -> list[Flow]:
        """Returns the flows with the largest slowdown, the worst first."""
        slowdown = self._slowdown
        return [
            self._flow(row)
            for row in nsmallest(count, self._rows(), key=lambda row: (-slowdown[row], row))
        ]

    def unfinished(self) -> tuple[int, int]:
        """Returns the number of flows that had started and not finished when the run ended, and the
        longest time in nanoseconds that one of them had run. Flows whose sender had given up or
        stopped are not counted."""
        starts = [start for start in compress(self._start, self._running) if 0 <= start < self._end]
        return len(starts), self._end - min(starts, default=self._end)

    def same_flows(self, other: "Explanation") -> bool:
        """True if the other run has the same flows: identifiers, hosts, bytes and starts."""
        mine, theirs = (
            (one._ids, one._src, one._dst, one._bytes, one._start) for one in (self, other)
        )
        return mine == theirs

    def counted(self) -> bytes:
        """Returns, for each row, whether the flow finished and started after the warm-up."""
        return bytes(
            done and start >= self._warmup
            for done, start in zip(self._explained, self._start, strict=True)
        )

    def names(self, by: str) -> Sequence[Name]:
        """Returns, for each row, the name of the flow's size class or traffic class. Without size
        classes, flows belong only to the group of all flows. Raises `ValueError` for other
        groupings."""
        if by == "class":
            return self._class
        if by != "size":
            raise ValueError(f"by {by!r}: write {' or '.join(GROUPINGS)}")
        if self._sizes is None:
            return [ALL] * len(self._bytes)
        bounds = [_bytes(name) for name in self._sizes[1:]]
        return [self._sizes[bisect_left(bounds, bytes)] for bytes in self._bytes]

    def sums(self, names: Sequence[Name], counted: bytes) -> dict[Name, Sums]:
        """Returns sums over the rows that count: of all of them, then by name. Size classes are in
        the order of the summary, traffic classes in alphabetical order."""
        found = {ALL: self._sums(counted)}
        sizes = self._sizes or []
        there = {name for name in compress(names, counted) if name is not None}
        # A class of traffic may be called like a size class.
        order = [*(size for size in sizes if size in there), *sorted(there - set(sizes))]
        for name in order:
            found[name] = self._sums(
                bytes(counts and name == own for counts, own in zip(counted, names, strict=True))
            )
        return found

    def left_out(
        self, names: Sequence[Name], counted: bytes, other: "Explanation | None" = None
    ) -> Counter[Name]:
        """Returns the numbers of flows that started after the warm-up and do not count: of all, and
        by name. With another run of the same flows, the later warm-up and the later end apply."""
        warmup, end = self._limits(other)
        rows = zip(self._start, counted, names, strict=True)
        found = Counter(
            name
            for start, counts, name in rows
            if warmup <= start <= end and start >= 0 and not counts
        )
        found[ALL] = found.total()
        return found

    def in_warmup(self, names: Sequence[Name], other: "Explanation | None" = None) -> Counter[Name]:
        """Returns the numbers of flows that started in the warm-up: of all, and by name. With
        another run of the same flows, the later warm-up applies."""
        warmup, _ = self._limits(other)
        rows = zip(self._start, names, strict=True)
        found = Counter(name for start, name in rows if 0 <= start < warmup)
        found[ALL] = found.total()
        return found

    def none_counts(self, other: "Explanation | None" = None) -> str:
        """Says why no flow counts, if none does: because of the warm-up, or because none finished.
        With another run of the same flows, the later warm-up applies."""
        warmup, _ = self._limits(other)
        late = any(start >= warmup for start in self._start if start >= 0)
        if warmup and not late and any(start >= 0 for start in self._start):
            return "all flows started in the warm-up"
        runs = [one for one in (self, other) if one is not None]
        early = any(len(one) for one in runs)
        after = "that started after the warm-up " if warmup and early else ""
        return f"no flow {after}finished" + ("" if other is None else " in both results")

    def _limits(self, other: "Explanation | None") -> tuple[int, int]:
        """Returns the end of the warm-up and of the run, in nanoseconds: of both runs the later
        ones."""
        runs = [one for one in (self, other) if one is not None]
        return max(one._warmup for one in runs), max(one._end for one in runs)

    def __iter__(self) -> Iterator[Flow]:
        return map(self._flow, self._rows())

    def _rows(self) -> Iterator[int]:
        return compress(range(len(self._ids)), self._explained)

    def _flow(self, row: int) -> Flow:
        id, src, dst, bytes, fct_ns = (
            column[row] for column in (self._ids, self._src, self._dst, self._bytes, self._fct)
        )
        parts = {label: parts[row] for label, parts in self._parts.items()}
        names = (self._host_name(src), self._host_name(dst))
        host_ns = self._host[row] if self._host is not None else None
        return Flow(
            id,
            self._class[row],
            src,
            dst,
            bytes,
            fct_ns,
            self._slowdown[row],
            parts,
            *names,
            host_ns,
        )

    def _sums(self, chosen: bytes) -> Sums:
        fct = [max(ns, 1) for ns in compress(self._fct, chosen)]
        shares = {
            label: sum(map(truediv, compress(parts, chosen), fct))
            for label, parts in self._parts.items()
        }
        return Sums(
            sum(chosen),
            {label: sum(compress(parts, chosen)) for label, parts in self._parts.items()},
            shares,
        )


def _whole(column: Sequence[int | None]) -> "array[int]":
    return array("q", (-1 if value is None else value for value in column))


def _bytes(size_class: str) -> int:
    """Returns the lower bound in bytes in the name of a size class of the summary: `100KB_10MB`,
    `gt_10MB`."""
    found = re.search(r"(\d+)(B|KB|MB|GB|TB)", size_class)
    if not found:
        raise ValueError(f"not a size class with a lower bound: {size_class}")
    return int(found[1]) * 1_000 ** ("B", "KB", "MB", "GB", "TB").index(found[2])
