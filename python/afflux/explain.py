"""Where each flow's time went."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._core import Table
from .statistics import mean

#: The parts of a completion time, in the order in which ties are decided.
LABELS = ("propagation", "serialization", "recovery", "reordering", "paused", "queueing", "pacing", "window", "application")


@dataclass(frozen=True, slots=True)
class Flow:
    """A finished flow and the parts of its completion time; they add up to it exactly."""

    id: int
    flow_class: str
    src: int
    dst: int
    bytes: int
    fct_ns: int
    slowdown: float
    parts_ns: dict[str, int]

    def share(self, label: str) -> float:
        return self.parts_ns[label] / self.fct_ns if self.fct_ns else 0.0

    def to_dict(self) -> dict[str, Any]:
        head = {"id": self.id, "class": self.flow_class, "src": self.src, "dst": self.dst, "bytes": self.bytes}
        return head | {"fct_ns": self.fct_ns, "slowdown": self.slowdown} | {f"{label}_ns": ns for label, ns in self.parts_ns.items()}


@dataclass(frozen=True, slots=True)
class Group:
    """Mean shares of the flows of a size class."""

    name: str
    flows: int
    mean_fct_ns: float
    shares: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return {"size": self.name, "flows": self.flows, "mean_fct_ns": self.mean_fct_ns, "shares": self.shares}


@dataclass(frozen=True, slots=True)
class Queue:
    """A port, and what stood and was lost there in the whole run."""

    node: str
    peer: str
    bytes_max: int
    wait_ns_max: int
    drops: int
    in_discards: int
    ecn_marks: int
    paused_ns: int


def longest_queues(ports: Table, count: int = 5) -> list[Queue]:
    """The ports of ports.parquet with the longest queues, the longest first."""
    found: dict[tuple[int, str, str], list[int]] = {}
    highest = [ports.column(name) for name in ("queue_bytes_max", "latency_ns_max")]
    sums = [ports.column(name) for name in ("drops", "in_discards", "ecn_marks", "paused_ns")]
    # Row -1 is the whole port.
    for row, key in enumerate(zip(*(ports.column(name) for name in ("queue", "port", "node", "peer")), strict=True)):
        if key[0] == -1:
            values = found.setdefault(key[1:], [0] * 6)
            values[:2] = [max(values[place], column[row]) for place, column in enumerate(highest)]
            values[2:] = [values[place + 2] + column[row] for place, column in enumerate(sums)]
    # Those that stood for no longer than a frame of 9000 B hide nothing.
    standing = sorted(((key, values) for key, values in found.items() if values[0] > 10_000), key=lambda item: -item[1][0])
    return [Queue(node, peer, *values) for (_, node, peer), values in standing[:count]]


class Explanation:
    """The split of every finished flow of a run."""

    def __init__(self, flows: Table, summary: dict[str, Any]) -> None:
        self._columns = {name: flows.column(name) for name in ("id", "class", "src", "dst", "bytes", "start_ns", "fct_ns", "slowdown")}
        self._parts = {label: flows.column(f"{label}_ns") for label in LABELS}
        finished = [row for row, fct in enumerate(self._columns["fct_ns"]) if fct is not None]
        # A flow whose parts do not add up (a failed check) has none.
        self._rows = [row for row in finished if self._parts["propagation"][row] is not None]
        if finished and not self._rows and not summary.get("failed_checks_total"):
            raise LookupError("the split was not recorded: set explain = true in [record] and run again")
        self._sizes = list(summary["slowdown"]["by_size"])  # ["all"] if the classes were switched off

    def __len__(self) -> int:
        return len(self._rows)

    def flow(self, id: int) -> Flow:
        """One flow by its identifier. Raises `LookupError` if there is none, or it did not finish."""
        try:
            row = self._columns["id"].index(id)
        except ValueError:
            raise LookupError(f"there is no flow {id}") from None
        if self._columns["fct_ns"][row] is None:
            raise LookupError(f"flow {id} did not finish: there is no completion time to explain")
        if self._parts["propagation"][row] is None:
            raise LookupError(f"the parts of flow {id} do not add up to its completion time, so they are not shown: see failed_checks in summary.json")
        return self._flow(row)

    def slowest(self, count: int) -> list[Flow]:
        """The flows with the largest slowdown, the worst first."""
        slowdown = self._columns["slowdown"]
        return [self._flow(row) for row in sorted(self._rows, key=lambda row: (-slowdown[row], row))[:count]]

    def by_size(self) -> list[Group]:
        """Mean share of each label, over all finished flows and by size class."""
        bounds = [_bytes(name) for name in self._sizes[1:]]
        classes: list[list[int]] = [[] for _ in self._sizes]
        for row in self._rows:
            bytes = self._columns["bytes"][row]
            classes[sum(bytes > bound for bound in bounds)].append(row)
        groups = [(name, rows) for name, rows in zip(self._sizes, classes, strict=True) if rows and name != "all"]
        return [self._group(name, rows) for name, rows in [("all", self._rows), *groups]]

    def __iter__(self) -> Iterator[Flow]:
        return map(self._flow, self._rows)

    def _flow(self, row: int) -> Flow:
        id, of_class, src, dst, bytes, fct_ns, slowdown = (self._columns[name][row] for name in ("id", "class", "src", "dst", "bytes", "fct_ns", "slowdown"))
        return Flow(id, of_class, src, dst, bytes, fct_ns, slowdown, {label: parts[row] for label, parts in self._parts.items()})

    def _group(self, name: str, rows: list[int]) -> Group:
        fct = self._columns["fct_ns"]
        if not rows:
            return Group(name, 0, 0.0, dict.fromkeys(LABELS, 0.0))
        shares = {label: mean([parts[row] / max(fct[row], 1) for row in rows]) for label, parts in self._parts.items()}
        return Group(name, len(rows), mean([fct[row] for row in rows]), shares)


def _bytes(size_class: str) -> int:
    """The lower bound in the name of a size class of the summary: `100KB_10MB`, `gt_10MB`."""
    found = re.search(r"(\d+)(B|KB|MB|GB|TB)", size_class)
    if not found:
        raise ValueError(f"not a size class with a lower bound: {size_class}")
    return int(found[1]) * 1_000 ** ("B", "KB", "MB", "GB", "TB").index(found[2])
