"""The slice of four hosts: its cases, and what is read from their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean
from typing import Any

from ...batch import Point
from ...results.result import Result
from ...results.statistics import quantile
from ...results.waits import behind
from .. import files

#: Flow sizes by name.
BYTES = {"2 kB": "2kB", "10 kB": "10kB", "20 kB": "20kB", "40 kB": "40kB", "70 kB": "70kB"}
#: Sizes of most cases. The others are only for the figure over sizes. Two cases take most of the
#: time, and have fewer sizes.
SIZES, _ENDS = ("2 kB", "20 kB", "70 kB"), ("2 kB", "70 kB")

_BACKGROUND = "host.transports.background"
#: No background: a flow that ends at once.
_ALONE = {"traffic[0].sizes": "1kB"}
#: Background on all paths, as its host could do, with windows that follow its queues.
_ALL_PATHS = {
    f"{_BACKGROUND}.mptcp.subflows": 16,
    f"{_BACKGROUND}.receive_window": "5MB",
    "traffic[1].duration": "40s",
    "run.until": "41s",
}
#: Link rates of the author's script of February 2014: a tenth of the printed rates.
_RATES = {"10Mbps": range(16), "20Mbps": range(16, 20), "40Mbps": range(20, 28)}
_TENTH = {f"topology.link.{link}.rate": rate for rate, links in _RATES.items() for link in links}
_TENTH |= {f"topology.link.{link}.delay": "80us" for link in range(28)}

#: Recording of waits and gaps takes most of the time of a simulation, so cases that do not need
#: them turn it off.
_BARE: dict[str, Any] = {"record.waits": [], "record.gaps": []}

ALONE, LOADED, LARGE, DENSE = "alone", "beside MPTCP", "beside MPTCP with 5 MB", "alone, dense"
LIA, AWARE, TENTH = (
    "beside LIA on all paths",
    "beside queue-aware windows on all paths",
    "alone, a tenth of the rates",
)
#: Keys that differ from slice.toml, and the sizes that are simulated.
CASES: dict[str, tuple[dict[str, Any], Sequence[str]]] = {
    ALONE: (_ALONE, tuple(BYTES)),
    LOADED: ({}, tuple(BYTES)),
    # Receive buffers of the author's later scripts: no window limits the queues.
    LARGE: ({f"{_BACKGROUND}.receive_window": "5MB"}, tuple(BYTES)),
    DENSE: (_ALONE | {"traffic[1].flows_per_second": 20}, SIZES),
    TENTH: (_BARE | _ALONE | _TENTH, SIZES),
    LIA: (_BARE | _ALL_PATHS, _ENDS),
    AWARE: (_BARE | _ALL_PATHS | {f"{_BACKGROUND}.mptcp.coupling": "queue_aware"}, _ENDS),
}


def name(case: str, size: str) -> str:
    return f"slice, {size} {case}"


def points(seeds: Sequence[int]) -> list[Point]:
    scenario = files("mptcp") / "slice.toml"
    return [
        Point(
            name(case, size),
            scenario,
            {"traffic[1].class": size, "traffic[1].sizes": BYTES[size]} | keys,
            seed,
        )
        for case, (keys, sizes) in CASES.items()
        for size in sizes
        for seed in seeds
    ]


@dataclass(frozen=True)
class Short:
    """A short flow of the slice. Times are in ns."""

    id: int
    start: int
    fct: int
    queueing: int
    #: Core switch of the flow's path. Each path has its own.
    core: str
    #: True if the flow used the uplink that the background uses.
    loaded: bool


@lru_cache(maxsize=64)
def short(result: Result) -> tuple[Short, ...]:
    by_path = dict(zip(result.paths.column("flow"), result.paths.column("path"), strict=True))
    names = ("id", "class", "start_ns", "fct_ns", "queueing_ns")
    rows = zip(*(result.flows.column(name) for name in names), strict=True)
    return tuple(
        Short(id, start, fct, queueing, by_path[id].split(">")[3], "edge0a" in by_path[id])
        for id, size, start, fct, queueing in rows
        if size in BYTES and fct is not None
    )


def slowest(times: Sequence[float]) -> float:
    """Returns the mean of the slowest twentieth."""
    return mean(sorted(times)[-max(1, len(times) // 20) :])


def later(result: Result) -> float:
    """Returns by how many ms the 95th percentile is later on loaded paths than on others."""
    return p95_on(True)(result) - p95_on(False)(result)


def p95_on(loaded: bool) -> Callable[[Result], float]:
    """Returns a function for the 95th percentile of completion times in ms, on loaded paths or on
    the others."""
    return lambda result: (
        quantile(sorted(flow.fct for flow in short(result) if flow.loaded is loaded), 0.95) / 1e6
    )


def slow(result: Result) -> float:
    """Returns the mean completion time of the slowest twentieth, in ms."""
    return slowest([flow.fct for flow in short(result)]) / 1e6


def average(result: Result) -> float:
    """Returns the mean completion time in ms."""
    return mean(flow.fct for flow in short(result)) / 1e6


def used(core: str) -> Callable[[Result], float]:
    """Returns a function for the utilisation in percent of the path over a core switch, taken at
    the uplink from pod 0 to this switch, which no other path uses."""

    def of(result: Result) -> float:
        links = zip(
            *(result.links.column(name) for name in ("from", "to", "utilisation")), strict=True
        )
        return 100 * max(
            used for start, end, used in links if end == core and start.startswith("agg0")
        )

    return of


def by_path(core: str, value: Callable[[list[float]], float]) -> Callable[[Result], float]:
    """Returns a function that applies `value` to the completion times in ms over a core switch."""
    return lambda result: value([flow.fct / 1e6 for flow in short(result) if flow.core == core])


def in_front(result: Result, loaded: bool) -> list[tuple[str, float, str]]:
    """Returns the causes of waits: class waited behind, share of the waits, and node with most of
    them. The longest come first."""
    chosen = [flow.id for flow in short(result) if flow.loaded is loaded]
    return [
        (one.behind, one.share, one.node)
        for one in behind(result.table("waits"), result.flows, chosen)
    ]


def share_behind(whom: str) -> Callable[[Result], float]:
    """Returns a function for the share of the waits on loaded paths that was behind flows of this
    class."""
    return lambda result: sum(share for name, share, _ in in_front(result, True) if name == whom)


def background(result: Result) -> float:
    """Returns the rate in Mbps at which the background sends."""
    links = zip(*(result.links.column(name) for name in ("from", "to", "bytes")), strict=True)
    return (
        sum(bytes for start, end, bytes in links if end == "host2" and start.startswith("edge1"))
        * 8e3
        / result.summary["simulated_ns"]
    )


def by_overlap(result: Result) -> tuple[list[int], list[int]]:
    """Returns completion times of flows that start while another short one is active, and of the
    others."""
    ends = 0
    overlapping: list[int] = []
    separate: list[int] = []
    for flow in sorted(short(result), key=lambda flow: flow.start):
        (overlapping if flow.start < ends else separate).append(flow.fct)
        ends = max(ends, flow.start + flow.fct)
    return overlapping, separate


def spans(result: Result) -> list[float]:
    """Returns the mean time in ms from a flow's first frame to its last at each port of the path,
    for flows over loaded paths."""
    chosen = {flow.id for flow in short(result) if flow.loaded}
    columns = ("flow", "node", "peer", "frames", "gap_ns_mean")
    found: dict[str, list[float]] = {hop: [] for hop in HOPS}
    for flow, node, peer, frames, gap in zip(
        *(result.table("gaps").column(name) for name in columns), strict=True
    ):
        hop = f"{node.rstrip('0123ab')} to {peer.rstrip('0123ab')}"
        hop = f"{hop} 2" if node.startswith(("core", "agg1", "edge1")) else hop
        if flow in chosen and gap is not None and hop in found:
            found[hop].append((frames - 1) * gap / 1e6)
    return [mean(times) if times else 0.0 for times in found.values()]


#: Ports on the path of a short flow.
HOPS = (
    "host to edge",
    "edge to agg",
    "agg to core",
    "core to agg 2",
    "agg to edge 2",
    "edge to host 2",
)
