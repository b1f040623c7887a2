"""Flows of 70 kB beside an endless MPTCP flow on the slice of four hosts, all between Linux kernels,
and all between models.

A part of `afflux study mptcp`; results/background.csv is shipped with afflux. Upstream Linux has no
coupled congestion control, so each subflow of the background is Reno, in the model as in the kernel.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..._core import Error
from ...results.result import Result
from ...results.statistics import interval, mean, quantile
from ...scenario import Scenario
from .. import Series, files, guests
from ..guests import KERNEL, MODEL, Run
from .four import LARGE, LOADED
from .kernels import BYTES, CARDS, END, FIRST, PORT, base, starts

FILE = files("mptcp") / "results" / "background.csv"
SEEDS = (1, 2, 3, 4, 5)
#: Receive window of the background in bytes: that of slice.toml, and that of the author's later
#: scripts.
CASES = {LOADED: 200_000, LARGE: 5_000_000}
#: Cards of the background. Their paths begin at `edge0a`; short flows take all cards in turn.
_LOADED_CARDS = 2
#: Start of the background in ns.
_BACKGROUND = 500_000_000
#: Duration of a lone flow in the source, in ms.
_SOURCE_MS = 130
#: Mean difference in ms up to which the kernels confirm the model.
_ALIKE_MS = 1
FIGURES = (
    "flows",
    "loaded_flows",
    "loaded_ms",
    "loaded_p95_ms",
    "loaded_most_ms",
    "later_than_130_ms",
    "other_ms",
    "background_mbps",
    "queue_frames",
    "drops",
)

COMPARISON = guests.Comparison(
    "Flows of 70 kB beside MPTCP with Linux 6.12 kernels and with the model: afflux study mptcp background",
    tuple(CASES),
    SEEDS,
    FIGURES,
)


class Flow(NamedTuple):
    """A short flow: whether its path is that of the background, and ms from the SYN to the arrival
    of the last byte."""

    loaded: bool
    ms: float


def address(host: int, card: int) -> str:
    return f"10.{card}.0.{host + 1}"


def with_kernels(run: Run) -> Scenario:
    ip = shutil.which("ip")
    if ip is None:
        raise Error("the program ip of iproute2 tells kernels the addresses of MPTCP: install it")
    sysctl: dict[str, Any] = {
        "net.ipv4.tcp_congestion_control": "reno",
        "net.ipv4.tcp_no_metrics_save": 1,
    }
    # About half of a receive buffer is window.
    large = sysctl | {
        "net.ipv4.tcp_rmem": f"4096 131072 {2 * CASES[run.case]}",
        "net.ipv4.tcp_wmem": "4096 16384 16777216",
    }
    common = {"memory": "128MB", "watchdog": "600s"}
    sends = {
        f"{start}ns": f"bulk client {address(3, flow % CARDS)} {PORT} {BYTES}B"
        for flow, start in enumerate(starts(run.seed))
    }
    limits = f"{ip} mptcp limits set subflow 8 add_addr_accepted 8"
    own = "".join(
        f"; {ip} mptcp endpoint add {address(0, card)} subflow fullmesh"
        for card in range(_LOADED_CARDS)
    )
    signal = f"; {ip} mptcp endpoint add {address(2, 1)} signal"
    endless = {
        "300ms": limits + own,
        f"{_BACKGROUND}ns": f"bulk client {address(2, 0)} {PORT} 1000 mptcp",
    }
    server = f"bulk server {PORT}"
    made = base(tenth=False)
    made.set(
        "host.kernel",
        [
            {"match": "host1", "at": sends, "sysctl": sysctl, **common},
            {"match": "host3", "run": server, "sysctl": sysctl, **common},
            {"match": "host0", "at": endless, "files": [ip], "sysctl": large, **common},
            {
                "match": "host2",
                "run": server,
                "at": {"300ms": limits + signal},
                "files": [ip],
                "sysctl": large,
                **common,
            },
        ],
    )
    made.set("record", _RECORD)
    return made


def with_model(run: Run, folder: Path) -> Scenario:
    """Returns the scenario of the model; its flow list is written to `folder`."""
    rows = "".join(f"{start},1,3,{BYTES},short\n" for start in starts(run.seed))
    (folder / "flows.csv").write_text("start_ns,src,dst,bytes,class\n" + rows, encoding="utf-8")
    tcp: dict[str, Any] = {"kind": "tcp", "stack": "linux", "congestion": "newreno", "tick": "4ms"}
    made = base(tenth=False)
    keys = {
        "host.transports.short": tcp,
        "host.transports.background": tcp
        | {
            "receive_window": f"{CASES[run.case]}B",
            "mptcp": {"manager": "fullmesh", "subflows": 4, "coupling": "off"},
        },
        "traffic": [
            {"kind": "flows", "file": str(folder / "flows.csv"), "transport": "short"},
            {
                "kind": "pairs",
                "class": "background",
                "pairs": [[0, 2]],
                "sizes": "40GB",
                "start": f"{_BACKGROUND}ns",
                "transport": "background",
            },
        ],
        "record": {"paths": True} | _RECORD,
    }
    for key, value in keys.items():
        made.set(key, value)
    return made


#: The queue that short flows share with the background is sampled every 20 ms.
_RECORD: dict[str, Any] = {"ports": {"interval": "20ms", "nodes": ["edge0a"]}}


def of_captures(left: Mapping[str, bytes]) -> list[Flow]:
    """Reads the short flows from what passed the cards of their hosts."""
    begins: dict[tuple[str, int], int] = {}
    for one in guests.segments(left["host1.pcap"]):
        if one.syn and one.dst[1] == PORT:
            begins.setdefault(one.src, one.time)
    arrived: dict[tuple[str, int], list[guests.Segment]] = {name: [] for name in begins}
    for one in guests.segments(left["host3.pcap"]):
        if one.src in arrived:
            arrived[one.src].append(one)
    ends = {name: guests.complete(of, BYTES) for name, of in arrived.items()}
    return [
        Flow(int(name[0].split(".")[1]) < _LOADED_CARDS, (end - begins[name]) / 1e6)
        for name, end in ends.items()
        if end is not None
    ]


def of_model(result: Result) -> list[Flow]:
    paths = dict(zip(*(result.paths.column(name) for name in ("flow", "path")), strict=True))
    rows = zip(*(result.flows.column(name) for name in ("id", "class", "fct_ns")), strict=True)
    return [
        Flow("edge0a" in paths[id], fct / 1e6)
        for id, kind, fct in rows
        if kind == "short" and fct is not None
    ]


def measured(flows: Sequence[Flow], result: Result) -> dict[str, Any]:
    loaded = sorted(flow.ms for flow in flows if flow.loaded)
    names = ("from", "to", "bytes")
    links = zip(*(result.links.column(name) for name in names), strict=True)
    sent = sum(bytes for start, end, bytes in links if end == "host2" and start.startswith("edge1"))
    counters = ("peer", "time_ns", "queue_bytes", "drops")
    port = [
        row[1:]
        for row in zip(*(result.ports.column(name) for name in counters), strict=True)
        if row[0] == "agg0a"
    ]
    return {
        "flows": len(flows),
        "loaded_flows": len(loaded),
        "loaded_ms": round(mean(loaded), 3),
        "loaded_p95_ms": round(quantile(loaded, 0.95), 3),
        "loaded_most_ms": round(loaded[-1], 3),
        "later_than_130_ms": sum(ms > _SOURCE_MS for ms in loaded),
        "other_ms": round(mean([flow.ms for flow in flows if not flow.loaded]), 3),
        "background_mbps": round(sent * 8e3 / (END - _BACKGROUND), 2),
        "queue_frames": round(mean([row[1] for row in port if row[0] > FIRST]) / 1514, 1),
        "drops": sum(row[2] for row in port),
    }


def simulate(run: Run, file: Path) -> str:
    """Simulates a run and appends its line."""
    if run.sender == KERNEL:
        result, left = guests.run(with_kernels(run), run.seed)
        flows = of_captures(left)
    else:
        with tempfile.TemporaryDirectory(prefix="afflux-") as folder:
            result = Result.of_run(with_model(run, Path(folder)).check(seed=run.seed).run(None))
            flows = of_model(result)
    values = measured(flows, result)
    COMPARISON.write(run, values, file)
    return f"{run.case}, {run.sender}, seed {run.seed}: {values['loaded_ms']} ms on loaded paths, {values['other_ms']} ms on others"


def _cells(of: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns the cells of a row: means over the seeds with their 95 % intervals, and sums."""

    def cell(name: str) -> str:
        values = [float(one[name]) for one in of]
        low, high = interval(values) or (None, None)
        shown = f"{mean(values):.1f}"
        return shown if low is None or high is None else f"{shown} ({low:.1f} to {high:.1f})"

    late, flows = (
        sum(int(one[name]) for one in of) for name in ("later_than_130_ms", "loaded_flows")
    )
    most = max(float(one["loaded_most_ms"]) for one in of)
    return [
        cell("loaded_ms"),
        cell("loaded_p95_ms"),
        f"{most:.0f}",
        f"{late} of {flows}",
        *(cell(name) for name in ("other_ms", "background_mbps", "queue_frames", "drops")),
    ]


def table(file: Path = FILE) -> str:
    head = (
        "| background | hosts | loaded paths, ms | 95 % of them, ms | the longest, ms | longer than 130 ms "
        "| other paths, ms | background, Mbps | frames in the queue | drops |"
    )
    return COMPARISON.table(file, head, _cells) + finding(file)


def finding(file: Path = FILE) -> str:
    """Returns a sentence about what the kernels confirm or change, after an empty line; nothing
    where a sender has no line."""
    found, said = COMPARISON.read(file), []
    for case in CASES:
        kernel, model = (
            [of for run, of in found.items() if run[:2] == (case, sender)]
            for sender in (KERNEL, MODEL)
        )
        if not (kernel and model):
            return ""

        def later(of: Sequence[Mapping[str, str]]) -> float:
            return mean([float(one["loaded_ms"]) - float(one["other_ms"]) for one in of])

        def late(of: Sequence[Mapping[str, str]]) -> str:
            slow, flows = (
                sum(int(one[name]) for one in of) for name in ("later_than_130_ms", "loaded_flows")
            )
            return f"{slow} of {flows}"

        verdict, told = _judge(
            [(later([one]), later([other])) for one, other in zip(kernel, model, strict=True)]
        )
        said.append(
            f"{case[0].upper()}{case[1:]} the kernels {verdict} how much later flows on the background's paths are: "
            f"{later(kernel):.1f} ms, and {later(model):.1f} ms in the model{told}; {late(kernel)} take more than 130 ms, and {late(model)} in the model."
        )
    return "\n\n" + " ".join(said)


def _judge(by_seed: Sequence[tuple[float, float]]) -> tuple[str, str]:
    """Returns a verb for what kernels say about the model, by pairs of kernel and model with one
    seed, and the difference with its 95 % interval where chance explains it. Seeds that differ by
    more than `_ALIKE_MS` confirm nothing, however near the means are."""
    differences = [kernel - model for kernel, model in by_seed]
    found = mean(differences)
    low, high = interval(differences, signed=True) or (found, found)
    if low <= 0 <= high and max(-low, high) > _ALIKE_MS:
        # No "-0.0".
        told = f"{round(found, 1) + 0.0:.1f} ms, {low:.1f} to {high:.1f}"
        return "agree within chance on", f" (difference {told})"
    return ("confirm" if abs(found) <= _ALIKE_MS else "change"), ""


SERIES = Series(
    "background",
    "How long do flows of 70 kB take beside MPTCP with Linux kernels?",
    "about 10 min",
    FILE,
    COMPARISON.wanted,
    COMPARISON.read,
    simulate,
    table,
)
