"""The schemes of the study: the keys in which each differs from fabric.toml, and the flow lists of
schemes with a few priorities."""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...batch import Point
from ...files import durable
from .. import files

#: The study's TCP: no fast retransmit, estimated time-outs. Each flow has a separate connection:
#: even with eight for each of 20,592 pairs, hardly two flows would share one.
_TCP: dict[str, Any] = {"kind": "pfabric", "rto": "estimated", "max_window": 149}
_FIFO: dict[str, Any] = {
    "switch.scheduling": "fifo",
    "switch.buffer": "225000B",
    "host.scheduling": "fifo",
    "host.queue": "225000B",
    "host.transport": _TCP,
}
#: Marking threshold of 15 frames, by the rules of ns-2. At a host, the frame in transmission counts
#: too.
_MARKS, _HOST_MARKS = (
    {"k": k, "compare": "at_or_above", "spacing": "ns2"} for k in ("22500B", "24000B")
)
_DCTCP = _TCP | {"congestion": "dctcp", "dctcp": {"initial_alpha": 0.0}}
_MARKED = {"switch.ecn": _MARKS, "host.nic_ecn": _HOST_MARKS, "host.transport": _DCTCP}

#: HULL at 10 Gbps, as in qjump's ns-2.
_PHANTOM = {"kind": "phantom", "drain": 0.95, "threshold": "6kB"}
_PACER = {"interval": "7.2us", "queue_gain": 3000.0, "timeout": "1ms"}

#: PDQ's replies must return on the flow's own path, so paths are selected by hash.
_PDQ: dict[str, Any] = _FIFO | {"switch.balance": "ecmp", "switch.hash": "symmetric"}


def _queues(number: int) -> dict[str, Any]:
    """Returns the keys of DCTCP over strict priorities, as today's switches offer them. Each queue
    marks and is limited as the single queue of DCTCP.

    Long flows stop while shorter ones send. Their minimum time-out is that of PIAS's simulations,
    so that few of these stops count as losses.
    """
    strict = {
        f"{node}.{key}": value
        for node in ("switch", "host")
        for key, value in (("scheduling", "strict_priority"), ("priorities", number))
    }
    return _FIFO | _MARKED | strict | {"host.transport": _DCTCP | {"min_rto": "2ms"}}


#: Keys that differ from studies/pfabric/fabric.toml.
SCHEMES: dict[str, dict[str, Any]] = {
    "Ideal": {"run.engine": "ideal"},
    "pFabric": {},
    # Without dampening: one flow per 10 us is too few where 16 hosts meet.
    "PDQ": _PDQ | {"host.transport": {"kind": "pdq", "dampening": "0ns"}},
    "DCTCP": _FIFO | _MARKED,
    # Hosts mark as those of DCTCP do: their NICs are the first queues here.
    "HULL": _FIFO
    | {
        "switch.aqm": _PHANTOM,
        "host.nic_ecn": _HOST_MARKS,
        "host.pacer": _PACER,
        "host.transport": _DCTCP,
    },
    "TCP-DropTail": _FIFO,
    "8 queues": _queues(8),
    "4 queues": _queues(4),
    "PDQ, 10 us": _PDQ | {"host.transport": {"kind": "pdq", "dampening": "10us"}},
}
#: pFabric without rate control: the window stays at 12 segments, one round trip at line rate.
CONSTANT = "pFabric, constant window"
#: Tests of single causes, only for `runs`: pFabric without rate control, and DCTCP on afflux's general TCP, with connections that are
#: open from the start, or opened as those of PDQ.
_OPEN: dict[str, Any] = {
    "kind": "tcp",
    "stack": "basic",
    "congestion": "dctcp",
    "dctcp": {"initial_alpha": 0.0},
}
_OPEN |= {"initial_window": 12, "max_window": 149, "min_rto": "200us", "dupack_threshold": "off"}
TESTS: dict[str, dict[str, Any]] = {
    CONSTANT: {"host.transport.congestion": "none"},
    "DCTCP, open": _FIFO | _MARKED | {"host.transport": _OPEN},
    "DCTCP, handshake": _FIFO | _MARKED | {"host.transport": _OPEN | {"handshake": True}},
}
#: Schemes whose flows have a priority by size, and the number of priorities.
QUEUES = {"8 queues": 8, "4 queues": 4}
#: Schemes that are not on the slides and are simulated with web search only.
WEB_ONLY = ("8 queues", "4 queues", "PDQ, 10 us")
WORKLOADS = {"websearch": "web search", "datamining": "data mining"}


def of(workload: str) -> list[str]:
    """Returns the schemes that are simulated with these sizes."""
    return [scheme for scheme in SCHEMES if workload == "websearch" or scheme not in WEB_ONLY]


def name(scheme: str, workload: str, load: float) -> str:
    return f"{scheme}-{workload}-{load}"


def flow_list(place: Path, queues: int, workload: str, load: float, seed: int) -> Path:
    """Returns the path of the flow list with priorities."""
    return (place / "flows" / f"{workload}-{load}-{queues}-{seed}.csv").resolve()


def point(scheme: str, workload: str, load: float, seed: int, place: Path) -> Point:
    """Returns a point of the study. With a few priorities it reads a flow list below `place`, which
    `write_flows` writes."""
    if scheme in QUEUES:
        file = flow_list(place, QUEUES[scheme], workload, load, seed)
        traffic: dict[str, Any] = {"traffic": [{"kind": "flows", "file": str(file)}]}
    else:
        traffic = {"traffic[0].sizes": f"pfabric-{workload}", "traffic[0].load": load}
    return Point(
        name(scheme, workload, load),
        files("pfabric") / "fabric.toml",
        (SCHEMES | TESTS)[scheme] | traffic,
        seed,
    )


def bounds(sizes: Sequence[int], classes: int) -> list[int]:
    """Returns the largest size of each class but the last, so that all classes have equally many
    flows."""
    ordered = sorted(sizes)
    return [ordered[len(ordered) * place // classes - 1] for place in range(1, classes)]


def write_flows(place: Path, scheme: str, workload: str, load: float, seed: int) -> Path:
    """Writes the flows that the other schemes have with this seed, with a priority by size: the
    shortest flows have the highest."""
    queues = QUEUES[scheme]
    file = flow_list(place, queues, workload, load, seed)
    if not file.exists():
        table, _ = point("pFabric", workload, load, seed, place).load().flow_list()
        columns = ("id", "start_ns", "src", "dst", "bytes")
        rows = list(zip(*(list(table.column(column)) for column in columns), strict=True))
        limits = bounds([size for *_, size in rows], queues)
        lines = [
            (*columns, "priority"),
            *((*row, queues - 1 - bisect_left(limits, row[-1])) for row in rows),
        ]
        file.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(file, "".join(",".join(map(str, line)) + "\n" for line in lines))
    return file
