"""Ranges that the JSON Schema lacks. afflux receives values that are too small and too large, and
its error messages state the valid range."""

import atexit
import re
import tempfile
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import afflux
from afflux.files.toml import with_defaults
from afflux.reference.document import Key, Table

#: A time after the end of every run, and one that many keys allow: their flows start before it.
LATER, LONG = "5000h", "100h"
#: Values that are too small and too large, by the beginning of the type.
EXTREMES: dict[str, tuple[Any, ...]] = {
    "time": ("0ns", LATER),
    "size": ("0B", "9000TB"),
    "rate": ("0bps", "1bps", "9000000Tbps"),
    "number": (-1.0, 0.0, 1e15),
    "whole number": (0, 4_000_000_000),
    "whole percentage": ("0%",),
}

#: Words of errors that concern other keys, this small scenario or a machine's integers, and not
#: only the value.
ELSEWHERE = re.compile(
    r"\bneeds?\b|too large for|integer|expected|has no effect|has an effect|supports|is a part of|unknown|does not|no such|is for\b|together|bound of"
    r"|is below|is above|is not after|more than the whole|longer than|is less than"
    r"|up to (255|65535), not negative$|: \d+$|this makes|this machine|this fabric|blocks:"
    r"|a flow of|multiple of the|^(allowed is )?1 to \d+$"
)


LOSSLESS = {
    "switch.sharing": "sonic",
    "switch.scheduling": "strict_priority",
    "switch.buffer": "32MB",
    "switch.pfc.priorities": [3],
}
LINKED = {
    "topology.hosts": 2,
    "topology.switches": ["switch0"],
    "topology.link": [{"a": "host0", "b": "switch0"}, {"a": "host1", "b": "switch0"}],
}
IRN = {"host.transport.mode": "irn"}
LOSSY = {"host.transport.mode": "gbn_no_pfc", "host.transport.entropy": "flow"}
ROUNDS = {"traffic.rounds": 2}
COFLOW = {"traffic": [{"kind": "flows", "format": "coflow", "file": "coflows.txt"}]}

#: Other keys of the scenario, by the prefix of the tested key. Without them afflux would report a
#: different error first.
CONTEXT: dict[str, dict[str, Any]] = {
    "cost.override.": {"cost.override.match": "switch0"},
    "host.nic_ecn.": {"host.nic_ecn.k": "100kB"},
    "host.kernel.": {"host.kernel.match": "host0", "run.until": "1s", "traffic": []},
    "host.override.": {"host.override.match": "host0"},
    "host.quantum": {"host.scheduling": "dwrr", "host.nic_queue": [{"weight": 1}, {"weight": 2}]},
    "host.storm.from": {"host.storm.until": "1ms"},
    "host.transport.dcqcn.": LOSSY,
    "host.transport.entropy.": LOSSY
    | {"host.transport.cnp": "ack", "host.transport.entropy": {"kind": "reps"}},
    "host.transport.hpcc.": LOSSY | {"host.transport.congestion": "hpcc"},
    "host.transport.swift.": LOSSY,
    "host.transport.timely.": LOSSY,
    "host.transport.rdma.nack_interval": LOSSY,
    "host.transport.rdma.bdp": IRN,
    "host.transport.rdma.rto_high": IRN,
    "host.transport.rdma.rto_low": IRN,
    "host.transport.tcp.receive_window": {"host.transport.stack": "basic"},
    "switch.cut_through_header": {"switch.forwarding": "cut_through"},
    "switch.ecn.": {"switch.ecn.kmin": "50kB", "switch.ecn.kmax": "100kB"},
    "switch.ecn.idle_frame": {"switch.ecn.average_weight": 0.002},
    "switch.ecn.k": {"switch.ecn": {}},
    "switch.ecn.km": {"switch.ecn": {"kmin": "50kB", "kmax": "100kB"}},
    "switch.mmu.": LOSSLESS,
    "switch.mmu.group.": LOSSLESS | {"switch.mmu.group": [{"priorities": [3], "reserved": "4kB"}]},
    "switch.mmu.group.reserved": LOSSLESS
    | {"switch.mmu.group": [{"priorities": [3], "alpha": 0.5}]},
    "switch.mmu.ingress_alpha": {"switch.sharing": "conweave"},
    "switch.mmu.mtu": {"switch.sharing": "conweave"},
    "switch.mmu.nic_rate": {"switch.sharing": "hpcc"},
    "switch.override.": {"switch.override.match": "switch0"},
    "switch.override.cut_through_header": {"switch.override.forwarding": "cut_through"},
    "switch.queue.": {"switch.scheduling": "dwrr", "switch.queue": [{"weight": 1}, {"weight": 2}]},
    "switch.trimming.": {"switch.trimming": {}},
    "switch.pfc.": LOSSLESS,
    "switch.pfc.watchdog.": LOSSLESS,
    "switch.quantum": {"switch.scheduling": "dwrr", "switch.queue": [{"weight": 1}, {"weight": 2}]},
    "switch.voq.": {"switch.sharing": "voq"},
    "topology.custom.": LINKED,
    "topology.fault.": {"topology.fault.link": "host0-switch0"},
    "topology.link.": LINKED,
    "topology.override.": {"topology.override.link": "host0-switch0"},
    "traffic.background.": {"run.until": "10ms"},
    "traffic.incast.": {"traffic.bytes": "1MB", "traffic.rounds": 2, "traffic.period": "1ms"},
    "traffic.incast.request_delay": {
        "traffic": [{"kind": "incast", "bytes": "1MB", "rounds": 2, "closed_loop": True}]
    },
    "traffic.pairs.period": ROUNDS,
    "traffic.permutation.period": ROUNDS,
    "traffic.random.duration": {"traffic.flows_per_second": 1000},
    "traffic.random.flows_per_second": {"traffic.duration": "1ms"},
    "traffic.random.load": {"traffic.load_basis": "host_payload", "traffic.duration": "1ms"},
    "traffic.random.sigma": {
        "traffic.arrivals": "lognormal",
        "traffic.flows_per_second": 1000,
        "traffic.duration": "1ms",
    },
    "traffic.cluster.idle_release": {"traffic.framework": "tez"},
    "traffic.cluster.next_task": {"traffic.framework": "tez"},
    "traffic.sizes.fixed": {"traffic.sizes": {}},
    "traffic.sizes.max": {"traffic.sizes": {"min": "1B"}},
    "traffic.sizes.mean": {"traffic.sizes": {}},
    "traffic.sizes.min": {"traffic.sizes": {"max": "20kB"}},
    "traffic.all_to_all.request_delay": {"traffic.parallel": 1},
    "traffic.ring_all_reduce.straggler_delay": {"traffic.stragglers": 1},
}


#: Other keys of the scenario when the key itself is left out, so that it has a default. By key, or
#: for all keys of a table.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "host.nic_queue.": {
        "host.scheduling": "dwrr",
        "host.nic_queue": [{"weight": 1}, {"weight": 2}],
    },
    "host.nic_queue.strict": {
        "host.scheduling": "strict_priority",
        "host.nic_queue": [{"name": "low"}, {"name": "high"}],
    },
    "host.priorities": {"host.scheduling": "strict_priority"},
    "host.processor.": {"host.processor.packet_time": "1us"},
    "host.processor.packet_time": {"host.processor.interrupt_time": "1us"},
    "host.storm.": {"host.storm.until": "1ms"},
    "host.storm.until": {"run.until": "10ms"},
    "host.transport.rdma.": {"host.transport.mode": "gbn_no_pfc"},
    **dict.fromkeys(
        [
            f"host.transport.rdma.{name}"
            for name in ("bdp", "rto_high", "rto_low", "rto_low_frames")
        ],
        IRN,
    ),
    "host.transport.rdma.mode": LOSSLESS
    | {"host.transport": {"kind": "rdma"}, "traffic.priority": 3},
    "host.transport.tcp.hystart_plusplus": {"host.transport.congestion": "newreno"},
    "host.transport.mptcp.queue_segments": {"host.transport.mptcp.coupling": "queue_aware"},
    "switch.aqm.coupling": {"switch.aqm": {"kind": "pi2", "ecn": True, "scalable": True}},
    "switch.aqm.ecn_threshold": {"switch.aqm": {"kind": "pie", "ecn": True}},
    "switch.drop_when": {"switch.sharing": "static", "switch.buffer": "225kB"},
    "switch.ecn.kmin": {"switch.ecn": {"k": "100kB"}},
    "switch.ecn.kmax": {"switch.ecn": {"k": "100kB"}},
    "switch.mmu.shift": {"switch.sharing": "hpcc"},
    "switch.priorities": {"switch.scheduling": "strict_priority"},
    "switch.processor.": {"switch.processor.packet_time": "1us"},
    "switch.processor.packet_time": {"switch.processor.interrupt_time": "1us"},
    "switch.queue.strict": {
        "switch.scheduling": "strict_priority",
        "switch.queue": [{"name": "low"}, {"name": "high"}],
    },
    "switch.voq.credit": {"switch.voq.ports_per_core": 2},
    "switch.voq.xoff": {"switch.pfc.priorities": [3], "switch.scheduling": "strict_priority"},
    "switch.voq.xon": {"switch.pfc.priorities": [3], "switch.scheduling": "strict_priority"},
    "topology.fault.": {"topology.fault.down": [{"from": "1ms"}]},
    "topology.fault.down": {"topology.fault": [{"link": "host0-switch0", "loss": 0.1}]},
    "topology.hosts.": {"topology.hosts": [{"name": "a", "address": "10.0.0.1"}, {"name": "b"}]},
    "topology.hosts.name": {"topology.hosts": [{"address": "10.0.0.1"}, {"name": "b"}]},
    "topology.override.": {"topology.override": [{"link": "host0-switch0", "rate": "10Gbps"}]},
    "topology.override.rate": {"topology.override": [{"link": "host0-switch0", "delay": "2us"}]},
    "traffic.datagram.": {"traffic.duration": "1ms"},
    "traffic.datagram.duration": {"traffic.bytes": "1MB"},
    **dict.fromkeys(
        [
            f"traffic.flows.{name}"
            for name in ("coflows", "megabyte", "placement", "size_scale", "time_scale")
        ],
        COFLOW,
    ),
    "traffic.flows.origin": {"traffic": [{"kind": "flows", "format": "hpcc", "file": "flow.txt"}]},
    "traffic.incast.bytes": {"traffic": [{"kind": "incast", "total": "1MB"}]},
    "traffic.incast.rounds": {"traffic": [{"kind": "incast", "bytes": "1MB"}]},
    "traffic.incast.period": {"traffic": [{"kind": "incast", "bytes": "1MB"}]},
    "traffic.pairs.period": {"traffic": [{"kind": "pairs", "pairs": [[0, 1]], "sizes": "1MB"}]},
    "traffic.permutation.period": {"traffic": [{"kind": "permutation", "sizes": "1MB"}]},
    "traffic.random.": {
        "traffic": [{"kind": "random", "sizes": "1MB", "flows_per_second": 1000, "duration": "1ms"}]
    },
    "traffic.random.sigma": {"traffic.arrivals": "lognormal"},
    "traffic.random.matrix_sha256": {
        "topology": {"kind": "leaf_spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2},
        "traffic.matrix": "matrix.csv",
    },
    "traffic.random.duration": {
        "traffic": [{"kind": "random", "sizes": "1MB", "flows_per_second": 1000, "flows": 10}]
    },
    "traffic.random.flows_per_second": {
        "traffic": [
            {
                "kind": "random",
                "sizes": "1MB",
                "load": 0.5,
                "load_basis": "host_payload",
                "duration": "1ms",
            }
        ]
    },
    "traffic.sizes.": {
        "traffic": [
            {"kind": "pairs", "pairs": [[0, 1]], "sizes": {"file": "sizes.txt", "unit": "1B"}}
        ]
    },
    "traffic.sizes.file": {
        "traffic": [{"kind": "pairs", "pairs": [[0, 1]], "sizes": {"fixed": "1MB"}}]
    },
}


def put(scenario: dict[str, Any], path: str, value: Any) -> None:
    """Sets a key. In arrays of tables, sets it in the first table."""
    *steps, name = path.split(".")
    table: Any = scenario
    for step in steps:
        table = table.setdefault(step, {})
        table = table[0] if isinstance(table, list) else table
    table[name] = value


LIMIT = re.compile(r"\d|above|at least|at most|an even")
#: Limits that refer to other keys.
RELATIVE = (
    (re.compile(r"is not after (\w+) = "), "later than `{}`"),
    (re.compile(r"is (?:below|less than) (\w+) = "), "at least `{}`"),
    (re.compile(r"is (?:above|longer than) (\w+) = "), "at most `{}`"),
    (re.compile(r"is more than the whole (buffer)"), "at most the whole `{}`"),
)


class Probe:
    """Determines the range of a key, in a small scenario with the key's table."""

    def __init__(self, filled: Callable[..., dict[str, Any]]) -> None:
        self.filled = filled

    def range(self, key: Key) -> str | None:
        if key.type.many or not key.type.words:
            return None
        extremes = next(
            (values for word, values in EXTREMES.items() if key.type.words[0].startswith(word)), ()
        )
        said = [text for value in extremes if (text := self.refusal(key, value))]
        if (
            extremes
            and not said
            and self.error(key, LONG if extremes[-1] == LATER else extremes[-1]) is None
            and self.error(key, extremes[0]) is None
        ):
            return "0 or more" if extremes[0] != -1.0 else "any number"
        return "; ".join(dict.fromkeys(said)) or None

    def refusal(self, key: Key, value: Any) -> str | None:
        """Returns the valid range from afflux's error, if afflux refuses the value because of its
        size."""
        error = self.error(key, value)
        if (
            error is None
            or error.key is None
            or re.sub(r"\[\d+\]|\.\d+(?=\.|$)", "", error.key) != key.path
        ):
            return None
        text = str(error).partition(f"key {error.key}: ")[2]
        text = re.sub(r'^(found [^:]*|"[^"]*"): ', "", text)
        for limit, words in RELATIVE:
            if found := limit.search(text):
                return words.format(found[1])
        if ELSEWHERE.search(text) or str(inputs()) in text:
            return None
        _, write, rest = text.rpartition("write ")
        said = (
            (rest if write else text)
            .removeprefix("allowed is ")
            .removesuffix("; one that is down is a [[topology.fault]]")
        )
        return said if LIMIT.search(said) else None

    def error(self, key: Key, value: Any) -> "afflux.ScenarioError | None":
        scenario, table = self.around(key, CONTEXT)
        table[key.name] = value
        try:
            self.checked(scenario)
        except afflux.ScenarioError as error:
            return error
        except (afflux.Error, OSError, ValueError):
            return None
        return None

    def computed(self, key: Key) -> Any:
        """Returns afflux's value for a missing key, or None if it has none. Raises `ScenarioError`
        if the key is required."""
        further = {
            begin: others
            for begin, others in LEFT_OUT.items()
            if begin.endswith(".") or begin == key.place
        }
        scenario, table = self.around(key, CONTEXT, further)
        table.pop(key.name, None)
        found: Any = with_defaults(self.checked(scenario).resolved)
        for step in self.steps(key.table):
            found = found.get(step.place.rpartition(".")[2]) if isinstance(found, dict) else None
            found = found[0] if isinstance(found, list) and found else found
        return found.get(key.name) if isinstance(found, dict) else None

    def checked(self, scenario: dict[str, Any]) -> Any:
        return afflux.Scenario(scenario, path=inputs() / "scenario.toml").check()

    def around(
        self, key: Key, *contexts: dict[str, dict[str, Any]]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns a scenario with the key's table, and that table in it."""
        scenario = self.scenario(key.table)
        table = scenario
        for step in self.steps(key.table):
            name = step.place.rpartition(".")[2]
            inner = table.get(name)
            if not (
                isinstance(inner, dict)
                or (isinstance(inner, list) and inner and isinstance(inner[0], dict))
            ):
                table[name] = self.fresh(step)
            table = table[name]
            if isinstance(table, list):
                table = table[0]
        for begin, others in [pair for context in contexts for pair in context.items()]:
            if key.place.startswith(begin):
                for path, other in others.items():
                    put(scenario, path, deepcopy(other))
        # The context may have replaced a table.
        table = scenario
        for step in self.steps(key.table):
            table = table[step.place.rpartition(".")[2]]
            table = table[0] if isinstance(table, list) else table
        kinds = key.table.key("kind")
        if (
            kinds is not None
            and (kind := re.search(r"With `(\w+)`", key.text))
            and kind[1] in [word for word, _ in kinds.type.choices]
        ):
            table["kind"] = kind[1]
        return scenario, table

    def fresh(self, table: Table) -> Any:
        made = (
            self.filled(table.parent, table.kind)
            if table.kind and table.parent
            else self.filled(table)
            if table.kinds or self.must(table)
            else {}
        )
        return [made] if table.array else made

    def must(self, table: Table) -> bool:
        return any(key.required for key in table.keys)

    def steps(self, table: Table) -> list[Table]:
        """Returns the tables from the top level to this one. For a table with kinds, only the last
        variant is included."""
        chain: list[Table] = []
        step: Table | None = table
        while step is not None and step.name:
            if not (chain and chain[0].place == step.place):
                chain.insert(0, step)
            step = step.parent
        return chain

    def scenario(self, table: Table) -> dict[str, Any]:
        scenario: dict[str, Any] = {
            "format": 1,
            "topology": {"kind": "star", "hosts": 4},
            "traffic": [{"kind": "pairs", "pairs": [[0, 1]], "sizes": "1MB"}],
        }
        for step in self.steps(table):
            if step.kind and "." not in step.place:
                fresh = self.filled(step.parent, step.kind)
                scenario[step.place] = [fresh] if step.array else fresh
        if table.place.startswith("host.transport"):
            scenario["host"] = {"transport": self.transport(table)}
        return scenario

    def transport(self, table: Table) -> dict[str, Any]:
        variant = next((step for step in self.steps(table) if step.kind), None)
        if variant is None or variant.parent is None:
            return {}
        made = self.filled(variant.parent, variant.kind)
        name = table.place.rpartition(".")[2]
        congestion = variant.key("congestion")
        if congestion and name in [word for word, _ in congestion.type.choices]:
            made["congestion"] = name
        return made


#: Files that the scenarios refer to.
INPUTS = {
    "flows.csv": "start_ns,src,dst,bytes\n0,0,1,1000\n",
    "jobs.tsv": "job0\t0\t0\t1000000\t1000000\t1000000\n",
    "topology.txt": "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
    "aimd.py": "import afflux\n\n\nclass Aimd(afflux.CongestionControl):\n    pass\n",
    "flow.txt": "1\n0 1 3 50000 2.0\n",
    "coflows.txt": "4 1\n7 100 1 0 1 2:3.0\n",
    "matrix.csv": "[[0.0, 1.0], [1.0, 0.0]]\n",
    "sizes.txt": "1000 0.5\n2000 1\n",
}


@cache
def inputs() -> Path:
    """Returns a directory with these files, which exists until the process ends."""
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    for name, text in INPUTS.items():
        (Path(directory.name) / name).write_text(text, encoding="utf-8")
    return Path(directory.name)


@cache
def probe() -> Probe:
    from .examples import filled

    return Probe(filled)
