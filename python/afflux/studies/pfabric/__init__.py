"""pFabric's figures (SIGCOMM 2013): completion times by load, scheme and size, normalised to the idle fabric.

studies/pfabric/README.md tells what the source did, what is assumed and what comes out.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from ...batch import Point
from ...report import Lines
from ...results.designs import Designs
from ...results.result import Result
from ...results.statistics import quantile
from ...words import say
from .. import Check, Row, Study, files

#: The study's TCP: no fast retransmit, estimated time-outs. Each flow has a connection: with eight for each of 20,592 pairs hardly two flows share one.
_TCP: dict[str, Any] = {"kind": "pfabric", "rto": "estimated", "max_window": 149}
_FIFO: dict[str, Any] = {
    "switch.scheduling": "fifo",
    "switch.buffer": "225000B",
    "host.scheduling": "fifo",
    "host.queue": "225000B",
    "host.transport": _TCP,
}
#: 15 frames, by ns-2's rules; at a host the frame in transmission counts besides.
_MARKS, _HOST_MARKS = ({"k": k, "compare": "at_or_above", "spacing": "ns2"} for k in ("22500B", "24000B"))
_DCTCP = _TCP | {"congestion": "dctcp", "dctcp": {"initial_alpha": 0.0}}

#: HULL at 10 Gbps, as in qjump's ns-2.
_PHANTOM = {"kind": "phantom", "drain": 0.95, "threshold": "6kB"}
_PACER = {"interval": "7.2us", "queue_gain": 3000.0, "timeout": "1ms"}

#: What differs from studies/pfabric/fabric.toml.
SCHEMES: dict[str, dict[str, Any]] = {
    "Ideal": {"run.engine": "ideal"},
    "pFabric": {},
    # Its answers come back by the flow's own path, so paths go by hash. Without dampening: one flow per 10 us is too few where 16 hosts meet.
    "PDQ": _FIFO | {"host.transport": {"kind": "pdq", "dampening": "0ns"}, "switch.balance": "ecmp", "switch.hash": "symmetric"},
    "DCTCP": _FIFO | {"switch.ecn": _MARKS, "host.nic_ecn": _HOST_MARKS, "host.transport": _DCTCP},
    # Hosts mark as DCTCP's do: their NICs are the first queues here.
    "HULL": _FIFO | {"switch.aqm": _PHANTOM, "host.nic_ecn": _HOST_MARKS, "host.pacer": _PACER, "host.transport": _DCTCP},
    "TCP-DropTail": _FIFO,
}
#: From best to worst, as in the slides' legend; HULL is not on them.
ORDER = ("Ideal", "pFabric", "PDQ", "DCTCP", "TCP-DropTail")
WORKLOADS = {"websearch": "web search", "datamining": "data mining"}
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
QUICK_LOADS = (0.3, 0.6)
#: Share of the slowest flows that the comparison of schemes leaves out.
TRIMMED = 0.001
#: From this load on the order is to hold.
ORDERED_FROM = 0.3
#: "Almost no jitter": from the least load to the greatest the mice's 99th percentile rises by no more than a tenth of the slides' axis.
FLAT = 1.0

_SEGMENT, _HOSTS_PER_RACK = 1460, 16
_MICE, _ELEPHANTS = 100_000, 10_000_000


@dataclass(frozen=True)
class Measured:
    """Completion times over those of the idle fabric."""

    flows: int
    average: float
    trimmed: float
    mice_average: float
    mice_p99: float
    #: None without such a flow.
    elephants_average: float | None
    unfinished: int


#: The figures of the slides, and how they are called.
FIGURES: dict[str, tuple[str, Callable[[Measured], float | None]]] = {
    "average": ("all flows, average", lambda m: m.average),
    "trimmed": ("all flows, average without the slowest 0.1 %", lambda m: m.trimmed),
    "mice_average": ("flows up to 100 kB, average", lambda m: m.mice_average),
    "mice_p99": ("flows up to 100 kB, 99th percentile", lambda m: m.mice_p99),
    "elephants": ("flows beyond 10 MB, average", lambda m: m.elephants_average),
}


def idle_ns(src: int, dst: int, size: int) -> float:
    """The source's formula (spec: a first packet and its acknowledgement, and 1.2 us for each further one), for all sizes."""
    across = src // _HOSTS_PER_RACK != dst // _HOSTS_PER_RACK
    return (14_680 if across else 13_264) + (-(-size // _SEGMENT) - 1) * 1_200


def measure(result: Result) -> Measured:
    columns = (list(result.flows.column(name)) for name in ("src", "dst", "bytes", "fct_ns"))
    rows = list(zip(*columns, strict=True))
    done = sorted((fct / idle_ns(src, dst, size), size) for src, dst, size, fct in rows if fct is not None)
    every = [ratio for ratio, _ in done]
    mice = [ratio for ratio, size in done if size <= _MICE]
    elephants = [ratio for ratio, size in done if size > _ELEPHANTS]
    return Measured(
        flows=len(rows),
        average=fmean(every),
        trimmed=fmean(every[: len(every) - round(TRIMMED * len(every))]),
        mice_average=fmean(mice),
        mice_p99=quantile(mice, 0.99),
        elephants_average=fmean(elephants) if elephants else None,
        unfinished=len(rows) - len(done),
    )


@cache
def ideal() -> dict[tuple[str, float], float]:
    """The overall average of the Ideal, by workload and load."""
    with (files("pfabric") / "ideal.csv").open(encoding="utf-8") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {(row["workload"], float(row["load"])): float(row["average"]) for row in rows}


def _name(scheme: str, workload: str, load: float) -> str:
    return f"{scheme}-{workload}-{load}"


class Pfabric(Study):
    name = "pfabric"
    title = "pFabric: completion times by load, scheme and size"

    def __init__(self) -> None:
        self._measured: dict[str, Measured] = {}

    def points(self, quick: bool) -> Sequence[Point]:
        loads, workloads = (QUICK_LOADS, ("websearch",)) if quick else (LOADS, tuple(WORKLOADS))
        # All schemes of a load, before the next: what is there of a run that was stopped can be compared.
        cases = [(scheme, workload, load) for workload in workloads for load in loads for scheme in SCHEMES]
        return [
            Point(
                _name(*case),
                files("pfabric") / "fabric.toml",
                SCHEMES[case[0]] | {"traffic[0].sizes": f"pfabric-{case[1]}", "traffic[0].load": case[2]},
                seed=1,
            )
            for case in cases
        ]

    def measured(self, designs: Designs, scheme: str, workload: str, load: float) -> Measured | None:
        name = _name(scheme, workload, load)
        if name not in designs:
            return None
        if name not in self._measured:
            self._measured[name] = measure(designs[name].first)
        return self._measured[name]

    def table(self, designs: Designs) -> Sequence[Row]:
        rows = []
        for workload, called in WORKLOADS.items():
            for load in LOADS:
                for figure, (title, of) in FIGURES.items():
                    for scheme in SCHEMES:
                        if (m := self.measured(designs, scheme, workload, load)) is not None:
                            # The slides have no numbers; the Ideal's are from elsewhere.
                            known = ideal().get((workload, load)) if (scheme, figure) == ("Ideal", "average") else None
                            rows.append(Row(f"{called}, load {load}, {title}, {scheme}", known, of(m)))
        return rows

    def checks(self, designs: Designs) -> Sequence[Check]:
        checks = []
        for workload, called in WORKLOADS.items():
            here = {load: {s: m for s in ORDER if s in SCHEMES and (m := self.measured(designs, s, workload, load))} for load in LOADS}
            for load, measured in here.items():
                if load >= ORDERED_FROM and len(measured) > 1:
                    values = [m.trimmed for m in measured.values()]
                    said = ", ".join(f"{scheme} {m.trimmed:.2f}" for scheme, m in measured.items())
                    checks.append(Check(f"order of the averages, {called}, load {load}", values == sorted(values), said, " < ".join(measured)))
            mice = [m["pFabric"].mice_p99 for m in here.values() if "pFabric" in m]
            if len(mice) > 1:
                rise = max(mice) - min(mice)
                checks.append(Check(f"pFabric's 99th percentile of mice is nearly flat, {called}", rise <= FLAT, round(rise, 3), FLAT))
            near = [m["pFabric"].average / ideal()[workload, load] for load, m in here.items() if "pFabric" in m]
            if near:
                # "Close to Ideal": nearer than any other scheme.
                others = [m[s].average / ideal()[workload, load] for load, m in here.items() for s in m if s not in ("Ideal", "pFabric")]
                if others:
                    checks.append(
                        Check(f"pFabric's average over the Ideal's, {called}, at most", max(near) < max(others), round(max(near), 3), round(max(others), 3))
                    )
        lost = sum(m.unfinished for m in self._measured.values())
        return [*checks, Check("flows that did not finish", lost == 0, lost, 0)]

    def answer(self, designs: Designs) -> str | None:
        found = {scheme: self.measured(designs, scheme, "websearch", 0.6) for scheme in SCHEMES}
        if not all(found.values()):
            return None
        said = ", ".join(f"{scheme} {m.average:.2f} ({m.mice_p99:.2f})" for scheme, m in found.items() if m)
        return say("pfabric.answer", said=said)

    def figures(self, designs: Designs) -> Sequence[Lines]:
        drawn = []
        for workload, called in WORKLOADS.items():
            for figure in ("average", "mice_average", "mice_p99", "elephants"):
                title, of = FIGURES[figure]
                series = {}
                for scheme in SCHEMES:
                    points = [(load, of(m)) for load in LOADS if (m := self.measured(designs, scheme, workload, load))]
                    series[scheme] = [(load, value) for load, value in points if value is not None]
                if any(series.values()):
                    # The slides' axis ends at 10.
                    drawn.append(Lines(f"{called[0].upper()}{called[1:]}: {title}", "load", "times the idle fabric", series, most=10.0))
        return drawn

    def shown(self, designs: Designs) -> Designs:
        return Designs([design for design in designs.values() if design.name.endswith("websearch-0.6")])


STUDY = Pfabric()
