"""The measured cases, and the scenario keys for each."""

import tomllib
from functools import cache
from typing import Any, NamedTuple

from .. import files, lines

_LEAF = "switch.override[0]"
#: ECN thresholds. The source shows them only in a picture; these are SONiC's defaults
#: (AZURE_LOSSLESS). They drop frames that are not ECN-capable by the same curve.
_ECN = {"kmin": "1MiB", "kmax": "2MiB", "pmax": 0.05, "incapable": "drop"}
_SWITCH_MARKS: dict[str, Any] = {f"{_LEAF}.ecn": _ECN}
_MARKS: dict[str, Any] = _SWITCH_MARKS | {"host.transport.ecn": "classic"}
_SHALLOW: dict[str, Any] = {f"{_LEAF}.preset": "trident3"}
#: Keys that put all traffic into a lossless class.
_LOSSLESS: dict[str, Any] = {
    f"{_LEAF}.preset": "trident3_lossless",
    "traffic[0].priority": 3,
    "traffic[1].priority": 3,
}
_LOSSLESS |= {"host.scheduling": "strict_priority", f"{_LEAF}.scheduling": "strict_priority"}

_OBEY: dict[str, Any] = {"host.honours_pause": True}

#: Management hosts, and all hosts except the compute nodes.
_MANAGEMENT = ["host21", "host22"]
_OTHERS = [f"host{number}" for number in range(14, 23)]


def _without_ecn(hosts: list[str]) -> dict[str, Any]:
    return {"host.override": [{"match": hosts, "ecn": False}]}


#: Keys of each design for the compute leaf and the hosts, after the patterns of the source. All
#: hosts accept ECN if a compute node asks for it, as Linux does by default (`tcp_ecn = 2`).
DESIGNS: dict[str, dict[str, Any]] = {
    "deep": {f"{_LEAF}.preset": "jericho_plus"},
    "shallow": _SHALLOW,
    "ecn": _SHALLOW | _MARKS,
    "ecn_pfc": _LOSSLESS | _MARKS,
    "pfc": _LOSSLESS,
    "dctcp": _SHALLOW
    | _MARKS
    | {"host.transport.congestion": "dctcp", "host.transport.ecn": "dctcp"},
}
#: Further keys of a design on the source's cluster. DCTCP's SYN is ECN-capable, and Linux refuses
#: ECN to such a SYN unless it uses DCTCP too. The source set DCTCP on compute and data nodes, but
#: not on its management hosts (slides 78 and 79).
_CLUSTER: dict[str, dict[str, Any]] = {"dctcp": _without_ecn(_MANAGEMENT)}

#: Designs that the source's slides mention without a measured job time:
#:
#: - a queue discipline against the standing queue of the deep buffer (slide 20)
#: - a data leaf that is shallow too (44)
#: - ECN on compute nodes only, with `tcp_ecn = 0` on all others (45, 46 and 59)
#: - ECN on data nodes only (45); they open no connections to compute nodes, so nobody requests ECN
#: - DCTCP on management hosts too (79)
#: - a watchdog against long PAUSE (72), with hosts that obey PAUSE
#: - spines that obey PAUSE, with hosts that ignore it and with hosts that obey it, too
#: - switches that select uplinks by load
OTHERS: dict[str, dict[str, Any]] = {
    "deep_codel": {
        f"{_LEAF}.preset": "jericho_plus",
        f"{_LEAF}.ecn": "off",
        f"{_LEAF}.aqm": {"kind": "codel"},
    },
    "deep_codel_fast": {
        f"{_LEAF}.preset": "jericho_plus",
        f"{_LEAF}.ecn": "off",
        f"{_LEAF}.aqm": {"kind": "codel", "target": "500us", "interval": "10ms"},
    },
    "shallow_data_leaf": {
        "switch.override": [{"match": ["compute-leaf", "data-leaf"], "preset": "trident3"}]
    },
    "ecn_compute_only": DESIGNS["ecn"] | _without_ecn(_OTHERS),
    "ecn_data_only": _SHALLOW | _SWITCH_MARKS,
    "dctcp_everywhere": DESIGNS["dctcp"],
    "pfc_watchdog": _LOSSLESS | _OBEY | {f"{_LEAF}.pfc.watchdog": {}},
    "pfc_spines_obey": _LOSSLESS | {"switch.honours_pause": True},
    "pfc_all_obey": _LOSSLESS | _OBEY | {"switch.honours_pause": True},
    "shallow_dlb": _SHALLOW | {"switch.balance": "dlb"},
    "shallow_glb": _SHALLOW | {"switch.balance": "glb"},
}


class Otherwise(NamedTuple):
    """A changed assumption for the sort of 10 GB without traffic."""

    keys: dict[str, Any]
    designs: tuple[str, ...]
    frameworks: tuple[str, ...]


def _compute_links(delay: str, hosts: int = 14) -> dict[str, Any]:
    """Returns keys that set the delay of the compute nodes' links. It is half of the added time,
    once per direction: a call gets the whole for each compute node at its ends."""
    return {f"topology.link[{host}].delay": delay for host in range(hosts)}


_FAST_DISKS = {"traffic[0].cluster.disks": {"read": "12Gbps"}}
_TWENTY_COPIES = {"traffic[0].cluster.parallel_copies": 20}
OTHERWISE: dict[str, Otherwise] = {
    # Candidates that could explain why Tez without traffic is slower behind the shallow buffer.
    # They fill its port: disks as fast as memory, 20 fetches at a time.
    "fast_disks": Otherwise(_FAST_DISKS, ("deep", "shallow"), ("tez",)),
    "20_copies": Otherwise(_TWENTY_COPIES, ("deep", "shallow"), ("tez",)),
    "fast_disks_20_copies": Otherwise(_FAST_DISKS | _TWENTY_COPIES, ("deep", "shallow"), ("tez",)),
    # Check of the counted round trips: the delay of a standing queue, without traffic or losses.
    "30ms": Otherwise(_compute_links("15ms"), ("deep",), ("mapreduce", "tez")),
    "60ms": Otherwise(_compute_links("30ms"), ("deep",), ("mapreduce", "tez")),
    "60ms_at_four": Otherwise(_compute_links("30ms", 4), ("deep",), ("mapreduce", "tez")),
}
VARIED = {
    f"{design}_{name}": DESIGNS[design] | one.keys
    for name, one in OTHERWISE.items()
    for design in one.designs
}
#: Repeated measurements of the same design.
_SAME = {"ecn_again": "ecn"}
FRAMEWORKS = ("mapreduce", "tez")
SIZES = (10, 200)

#: Settings of Tez. TeraSort is a MapReduce program. Run by Tez (`mapreduce.framework.name =
#: yarn-tez`) it keeps MapReduce's settings: MRHelpers translates every key of mapred-default.xml
#: into Tez's own.
_YARN_TEZ: dict[str, Any] = {
    "parallel_copies": 5,
    "slow_start": [0.05, 0.05],
    "merge_factor": 10,
    "merge_share": 0.66,
    "shuffle_memory": "601295421B",
}


class Case(NamedTuple):
    """A case with a published job time."""

    #: Name of the design in the source. `simulated` is the design that represents it.
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
    """The fitted constants: at most these four numbers, the same for both frameworks, both sizes
    and all designs."""

    #: Time in seconds from the submission to the first request of the job's master, in addition to
    #: what the model has.
    start: float
    #: Processor time of maps and reducers in ms per megabyte.
    cpu: float
    #: Rate of each of a node's twelve disks in MB/s. As fast as memory if writes stay in the page
    #: cache.
    disk: float
    #: Share of the compute nodes' processors that is left to tasks while they send and receive
    #: background traffic.
    share: float

    @property
    def under_traffic(self) -> "Constants":
        """Constants under background traffic. Start and processing take longer with the remaining
        processors; disks are not affected."""
        return Constants(self.start / self.share, self.cpu / self.share, self.disk, 1.0)


#: Defaults of `kind = "hadoop"`. No job time was used to choose them.
BASE = Constants(start=0.0, cpu=10.0, disk=150.0, share=1.0)


@cache
def calibration() -> dict[str, Any]:
    return tomllib.loads((files("hadoop") / "calibration.toml").read_text(encoding="utf-8"))


#: The study's own constants.
FITTED = Constants(**calibration()["fitted"])
#: The deep buffer and processors that have work besides, without the traffic that is this work.
BUSY = "deep_busy"
_BUSY: dict[str, Any] = DESIGNS["deep"] | {"traffic[0].cluster.cpu_share": FITTED.share}


@cache
def published() -> dict[Case, float]:
    """Returns the published job times in seconds."""
    rows = lines.read(files("hadoop") / "published.csv")
    return {
        Case(r["design"], r["framework"], int(r["size_gb"]), r["traffic"] == "yes"): float(
            r["job_s"]
        )
        for r in rows
    }


def keys(case: Case, constants: Constants) -> dict[str, Any]:
    """Returns the keys of a case that differ from terasort.toml."""
    assumed, others = calibration()["assumed"], calibration()["traffic"]
    cluster: dict[str, Any] = {
        "master_init": f"{round(1e6 * constants.start)}us",
        "map_cpu_per_mb": f"{round(1e3 * constants.cpu)}us",
        "reduce_cpu_per_mb": f"{round(1e3 * constants.cpu)}us",
        "disks": {"read": f"{round(8 * constants.disk)}Mbps"},
        "read_buffer": assumed["receive_buffer"],
        # The published times are averages of several runs. The client polls every two seconds,
        # which adds the same to all on average and is part of the fitted start.
        "client_poll": "10ms",
    }
    if case.framework == "tez":
        cluster |= _YARN_TEZ
    if case.traffic:
        cluster["cpu_share"] = constants.share
    design = (DESIGNS | OTHERS | VARIED | {BUSY: _BUSY})[case.simulated]
    if design.get(f"{_LEAF}.preset") == _LOSSLESS[f"{_LEAF}.preset"]:
        # Only there does anything send PAUSE to hosts.
        design = {"host.honours_pause": assumed["honours_pause"]} | design
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
        found |= {f"traffic[1].{key}": value for key, value in others.items()} | {
            "traffic[1].start": "0s"
        }
    return found | design | _CLUSTER.get(case.simulated, {})
