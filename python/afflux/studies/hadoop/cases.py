"""The measured cases, and the keys of a scenario for each."""

import csv
import tomllib
from functools import cache
from typing import Any, NamedTuple

from .. import files

_LEAF = "switch.override[0]"
#: The source's thresholds were on a picture; these are SONiC's defaults (AZURE_LOSSLESS), which drop frames that are not ECN-capable by the same curve.
_ECN = {"kmin": "1MiB", "kmax": "2MiB", "pmax": 0.05, "incapable": "drop"}
_MARKS: dict[str, Any] = {f"{_LEAF}.ecn": _ECN, "host.transport.ecn": "classic"}
_SHALLOW: dict[str, Any] = {f"{_LEAF}.preset": "trident3"}
#: All traffic in a lossless class.
_LOSSLESS: dict[str, Any] = {f"{_LEAF}.preset": "trident3_lossless", "traffic[0].priority": 3, "traffic[1].priority": 3}
_LOSSLESS |= {"host.scheduling": "strict_priority", f"{_LEAF}.scheduling": "strict_priority"}

#: What the compute leaf and the hosts are, by the source's patterns.
DESIGNS: dict[str, dict[str, Any]] = {
    "deep": {f"{_LEAF}.preset": "jericho_plus"},
    "shallow": _SHALLOW,
    "ecn": _SHALLOW | _MARKS,
    "ecn_pfc": _LOSSLESS | _MARKS,
    "pfc": _LOSSLESS,
    "dctcp": _SHALLOW | _MARKS | {"host.transport.congestion": "dctcp", "host.transport.ecn": "dctcp"},
}
#: What the source's slides also name, without a measured job time: a discipline against the standing queue of the deep buffer (slide 20), a data leaf that
#: is shallow, too (44), management hosts that agree to ECN with DCTCP (79), a watchdog against PAUSE that lasts (72), spines that obey PAUSE, and switches that
#: choose among uplinks by load.
OTHERS: dict[str, dict[str, Any]] = {
    "deep_codel": {f"{_LEAF}.preset": "jericho_plus", f"{_LEAF}.ecn": "off", f"{_LEAF}.aqm": {"kind": "codel"}},
    "deep_codel_fast": {
        f"{_LEAF}.preset": "jericho_plus",
        f"{_LEAF}.ecn": "off",
        f"{_LEAF}.aqm": {"kind": "codel", "target": "500us", "interval": "10ms"},
    },
    "all_shallow": {"switch.preset": "trident3"} | _SHALLOW,
    "dctcp_everywhere": DESIGNS["dctcp"] | {"host.override[0].ecn": True},
    "pfc_watchdog": _LOSSLESS | {f"{_LEAF}.pfc.watchdog": {}},
    "pfc_spines_obey": _LOSSLESS | {"switch.honours_pause": True},
    "shallow_dlb": _SHALLOW | {"switch.balance": "dlb"},
    "shallow_glb": _SHALLOW | {"switch.balance": "glb"},
}
#: What is assumed, assumed otherwise, at the deep and the shallow buffer: does it explain what the deep buffer costs? Other frames, all ports full instead of
#: those that several nodes send to, and a cap of 100 ms (25G) instead of 40 ms on queues of the deep buffer.
OTHERWISE: dict[str, dict[str, Any]] = {
    "1500B": {"host.mtu": "1500B"},
    "4500B": {"host.mtu": "4500B"},
    "all_ports": {"traffic[1].pairing": "permutation", "traffic[1].rate": "25Gbps"},
    "100ms": {f"{_LEAF}.voq": {"max_bytes": "312MB"}},
}
VARIED: dict[str, dict[str, Any]] = {
    f"{design}_{name}": DESIGNS[design] | changed
    for name, changed in OTHERWISE.items()
    for design in ("deep", "shallow")
    if (design, name) != ("shallow", "100ms")
}
#: The same design measured again.
_SAME = {"ecn_again": "ecn"}
FRAMEWORKS = ("mapreduce", "tez")
SIZES = (10, 200)

#: TeraSort is a MapReduce program. Run by Tez (`mapreduce.framework.name = yarn-tez`) it keeps MapReduce's settings: MRHelpers translates every key of
#: mapred-default.xml into Tez's own.
_YARN_TEZ: dict[str, Any] = {"parallel_copies": 5, "slow_start": [0.05, 0.05], "merge_factor": 10, "merge_share": 0.66, "shuffle_memory": "601295421B"}


class Case(NamedTuple):
    """A published number."""

    #: As in the source; `simulated` is the design that stands for it.
    design: str
    framework: str
    size: int
    traffic: bool

    @property
    def simulated(self) -> str:
        return _SAME.get(self.design, self.design)

    @property
    def name(self) -> str:
        return f"{self.simulated}-{self.framework}-{self.size}GB-{'traffic' if self.traffic else 'quiet'}"


class Constants(NamedTuple):
    """What is fitted: at most these four numbers, the same for both frameworks, both sizes and all designs."""

    #: From the submission to the first request of the job's master, beyond what the model has: seconds.
    start: float
    #: Processor time per megabyte of maps and reducers, milliseconds.
    cpu: float
    #: Rate of each of a node's twelve disks, MB/s. As fast as memory where writes stay in the page cache.
    disk: float
    #: Share of the compute nodes' processors that sending and receiving the other traffic leaves to tasks.
    share: float

    @property
    def under_traffic(self) -> "Constants":
        """Start and work take longer with the processors that are left, disks do not."""
        return Constants(self.start / self.share, self.cpu / self.share, self.disk, 1.0)


#: Defaults of `kind = "hadoop"`, with which the network's part is simulated; no job time is used to choose them.
BASE = Constants(start=0.0, cpu=10.0, disk=150.0, share=1.0)


@cache
def assumptions() -> dict[str, Any]:
    return tomllib.loads((files("hadoop") / "calibration.toml").read_text(encoding="utf-8"))


@cache
def published() -> dict[Case, float]:
    """Seconds."""
    with (files("hadoop") / "published.csv").open(encoding="utf-8") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {Case(r["design"], r["framework"], int(r["size_gb"]), r["traffic"] == "yes"): float(r["job_s"]) for r in rows}


def keys(case: Case, constants: Constants) -> dict[str, Any]:
    """Of terasort.toml."""
    assumed, others = assumptions()["assumed"], assumptions()["traffic"]
    cluster: dict[str, Any] = {
        "master_init": f"{round(1e6 * constants.start)}us",
        "map_cpu_per_mb": f"{round(1e3 * constants.cpu)}us",
        "reduce_cpu_per_mb": f"{round(1e3 * constants.cpu)}us",
        "disks": {"read": f"{round(8 * constants.disk)}Mbps"},
        "read_buffer": assumed["receive_buffer"],
        # The published times are averages of several runs. The grid of two seconds on which a client sees the end adds the same to all on average,
        # so it is part of the fitted start.
        "client_poll": "10ms",
    }
    if case.framework == "tez":
        cluster |= _YARN_TEZ
    if case.traffic:
        cluster["cpu_share"] = constants.share
    design = (DESIGNS | OTHERS | VARIED)[case.simulated]
    found: dict[str, Any] = {
        "traffic[0].framework": case.framework,
        "traffic[0].size": f"{case.size}GB",
        "host.transport.receive_buffer": assumed["receive_buffer"][0],
        "host.transport.receive_buffer_max": assumed["receive_buffer"][1],
        "host.transport.receive_buffer_share": assumed["receive_buffer_share"],
        "host.mtu": assumed["mtu"],
    }
    found |= {f"traffic[0].cluster.{key}": value for key, value in cluster.items()}
    if case.traffic:
        found |= {f"traffic[1].{key}": value for key, value in others.items()} | {"traffic[1].start": "0s"}
    return found | design
