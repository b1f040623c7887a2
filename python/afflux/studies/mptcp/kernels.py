"""Lone flows of 70 kB between Linux kernels on the slice of four hosts, and between models: the time
from the SYN to the last byte and to the FIN.

A part of `afflux study mptcp`; results/kernels.csv is shipped with afflux. The kernel has MPTCP
version 1 (RFC 8684), the author's kernel of 2014 had version 0.
"""

import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from ...results.result import Result
from ...results.statistics import interval, mean
from ...scenario import Scenario
from .. import Series, files, guests
from ..guests import KERNEL, MODEL, Run
from .four import CASES as SLICE
from .four import TENTH

FILE = files("mptcp") / "results" / "kernels.csv"
SEEDS = (1, 2, 3, 4, 5)
#: Protocol of the flows, and whether the links have a tenth of the printed rates.
CASES: dict[str, tuple[str, bool]] = {
    "TCP, a tenth of the rates": ("tcp", True),
    "MPTCP, a tenth of the rates": ("mptcp", True),
    "TCP, printed rates": ("tcp", False),
    "MPTCP, printed rates": ("mptcp", False),
}
BYTES, PORT = 70_000, 5001
#: Cards of each host. Flows take them in turn, each to the address of the card of the same number.
CARDS = 4
#: Start of the first flow in ns, number of flows, time between them, and the greatest random delay
#: of one, which is two ticks of the kernel.
FIRST, _FLOWS, _EVERY, _WITHIN = 1_000_000_000, 50, 200_000_000, 8_000_000
END = FIRST + _FLOWS * _EVERY + 500_000_000
#: Relative difference up to which the kernels confirm the model.
_ALIKE = 0.05
FIGURES = (
    "flows",
    "last_byte_ms",
    "last_byte_most_ms",
    "fin_ms",
    "fin_least_ms",
    "fin_most_ms",
)


COMPARISON = guests.Comparison(
    "Lone flows of 70 kB on the slice with Linux 6.12 kernels and with the model: afflux study mptcp kernels",
    tuple(CASES),
    SEEDS,
    FIGURES,
)


class Flow(NamedTuple):
    """A flow. Times in ms from its SYN; the FIN is None for the model, which has no closing."""

    last_byte: float
    fin: float | None


def starts(seed: int) -> list[int]:
    draw = random.Random(seed)
    return [FIRST + flow * _EVERY + draw.randrange(_WITHIN) for flow in range(_FLOWS)]


def base(tenth: bool) -> Scenario:
    """Returns the slice without traffic, with the printed rates or a tenth of them."""
    made = Scenario.load(files("mptcp") / "slice.toml")
    rates = {key: value for key, value in SLICE[TENTH][0].items() if key.startswith("topology")}
    keys = {"traffic": [], "record": {}, "run.until": f"{END}ns"} | (rates if tenth else {})
    for key, value in keys.items():
        made.set(key, value)
    return made


def with_kernels(run: Run) -> Scenario:
    sysctl = {
        "net.ipv4.tcp_congestion_control": "reno",
        "net.ipv4.tcp_no_metrics_save": 1,
    }
    kind = " mptcp" if CASES[run.case][0] == "mptcp" else ""
    # Card n of host h has the address 10.n.0.(h + 1).
    sends = {
        f"{start}ns": f"bulk client 10.{flow % CARDS}.0.4 {PORT} {BYTES}B{kind}"
        for flow, start in enumerate(starts(run.seed))
    }
    common = {"sysctl": sysctl, "memory": "128MB", "watchdog": "600s"}
    made = base(CASES[run.case][1])
    made.set(
        "host.kernel",
        [
            {"match": "host1", "at": sends, **common},
            {"match": "host3", "run": f"bulk server {PORT}", **common},
        ],
    )
    return made


def of_captures(left: Mapping[str, bytes]) -> list[Flow]:
    """Reads the flows from what passed the cards of their hosts."""
    begins: dict[tuple[str, int], int] = {}
    fins: dict[tuple[str, int], int] = {}
    for one in guests.segments(left["host1.pcap"]):
        if one.dst[1] == PORT:
            if one.syn:
                begins.setdefault(one.src, one.time)
            if one.fin:
                fins.setdefault(one.src, one.time)
    ends: dict[tuple[str, int], int] = {}
    for one in guests.segments(left["host3.pcap"]):
        if one.dst[1] == PORT and one.payload:
            ends[one.src] = one.time
    return [
        Flow(
            (ends[name] - begin) / 1e6,
            (fins[name] - begin) / 1e6 if name in fins else None,
        )
        for name, begin in begins.items()
        if name in ends
    ]


def with_model(run: Run, folder: Path) -> Scenario:
    """Returns the scenario of the model; its flow list is written to `folder`."""
    rows = "".join(f"{start},1,3,{BYTES}\n" for start in starts(run.seed))
    (folder / "flows.csv").write_text("start_ns,src,dst,bytes\n" + rows, encoding="utf-8")
    tcp: dict[str, Any] = {"kind": "tcp", "stack": "linux", "congestion": "newreno", "tick": "4ms"}
    if CASES[run.case][0] == "mptcp":
        tcp["mptcp"] = {"manager": "fullmesh", "subflows": 1, "coupling": "off"}
    made = base(CASES[run.case][1])
    made.set("host.transport", tcp)
    made.set("traffic", [{"kind": "flows", "file": str(folder / "flows.csv")}])
    return made


def measured(flows: list[Flow]) -> dict[str, Any]:
    times = [flow.last_byte for flow in flows]
    fins = [flow.fin for flow in flows if flow.fin is not None]
    values = {
        "last_byte_ms": fmean(times),
        "last_byte_most_ms": max(times),
        "fin_ms": fmean(fins) if fins else None,
        "fin_least_ms": min(fins, default=None),
        "fin_most_ms": max(fins, default=None),
    }
    return {"flows": len(flows)} | {
        name: "" if value is None else round(value, 3) for name, value in values.items()
    }


def simulate(run: Run, file: Path) -> str:
    """Simulates a run and appends its line."""
    if run.sender == KERNEL:
        flows = of_captures(guests.run(with_kernels(run), run.seed)[1])
    else:
        with tempfile.TemporaryDirectory(prefix="afflux-") as folder:
            result = Result.of_run(with_model(run, Path(folder)).check(seed=run.seed).run(None))
        flows = [Flow(fct / 1e6, None) for fct in result.flows.column("fct_ns") if fct is not None]
    values = measured(flows)
    COMPARISON.write(run, values, file)
    return f"{run.case}, {run.sender}, seed {run.seed}: {values['last_byte_ms']} ms to the last byte, {values['fin_ms'] or '–'} ms to the FIN"


def _cell(of: Sequence[Mapping[str, str]], name: str) -> str:
    """Formats a mean over the seeds with its 95 % interval."""
    values = [float(one[name]) for one in of if one[name]]
    if not values:
        return "–"
    low, high = interval(values) or (None, None)
    shown = f"{mean(values):.2f}"
    return shown if low is None or high is None else f"{shown} ({low:.2f} to {high:.2f})"


def table(file: Path = FILE) -> str:
    columns = ("last_byte_ms", "last_byte_most_ms", "fin_ms", "fin_most_ms")
    head = "| flows | hosts | SYN to last byte, ms | the longest | SYN to FIN, ms | the longest |"
    return COMPARISON.table(file, head, lambda of: (_cell(of, name) for name in columns)) + finding(
        file
    )


def finding(file: Path = FILE) -> str:
    """Returns a sentence about what the kernels confirm or change, after an empty line; nothing
    where a sender has no line."""
    found = COMPARISON.read(file)

    def over_seeds(case: str, sender: str, name: str) -> float | None:
        values = [float(of[name]) for run, of in found.items() if run[:2] == (case, sender)]
        return mean(values) if values else None

    apart, closes = [], []
    for case, (protocol, _) in CASES.items():
        kernel, model = (over_seeds(case, sender, "last_byte_ms") for sender in (KERNEL, MODEL))
        if kernel is None or model is None:
            return ""
        apart.append(abs(model / kernel - 1))
        if protocol == "mptcp" and (fin := over_seeds(case, KERNEL, "fin_ms")) is not None:
            closes.append(f"{fin:.1f} ms ({case.partition(', ')[2]})")
    return (
        f"\n\nThe kernels {'confirm' if max(apart) <= _ALIKE else 'change'} the times to the last byte, from which the model's "
        f"differ by up to {100 * max(apart):.1f} %, and change the close: from SYN to FIN a lone MPTCP flow takes {' and '.join(closes)}."
    )


SERIES = Series(
    "kernels",
    "How long do lone flows of 70 kB take with Linux kernels, and does their close wait?",
    "about 3 min",
    FILE,
    COMPARISON.wanted,
    COMPARISON.read,
    simulate,
    table,
)
