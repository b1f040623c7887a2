"""Linux kernels with their own tuning of buffers over 300 ms, and the model with the limits of the
same `tcp_rmem` and `tcp_wmem`.

A part of `afflux study longfat`; results/kernels.csv is shipped with afflux. The path is that of the
part `transports`: 100 Mbps with a queue of one bandwidth-delay product, no losses, CUBIC.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...results.result import Result
from ...results.statistics import mean
from ...scenario import Scenario
from .. import Series, files, guests
from ..guests import KERNEL, MODEL, Run
from .measure import FRAME, PAYLOAD

FILE = files("longfat") / "results" / "kernels.csv"
#: Greatest sizes of receive and send buffer in bytes.
BUFFERS = {"6 and 4 MiB (Linux's defaults)": (6_291_456, 4_194_304)}
#: Seeds, which start the flow elsewhere between two ticks.
SEEDS = (1, 2, 3, 4, 5)
#: Start of the flow, and its duration, in s. A sample of the bottleneck covers 1 s.
_START, _LASTS, _SPAN = 1, 60, 5
#: Share of the link's payload rate at which the flow has filled it.
_FILLED = 0.9
#: Relative difference up to which the kernels confirm the model.
_ALIKE = 0.05
_RATE = 100 * PAYLOAD / FRAME
FIGURES = (
    "mbps",
    "last_20_s_mbps",
    "filled_s",
    "window_kB",
    "drops",
    "mbps_by_5_s",
)


COMPARISON = guests.Comparison(
    "CUBIC over 300 ms and 100 Mbps, with Linux 6.12 kernels and with the model: afflux study longfat kernels",
    tuple(BUFFERS),
    SEEDS,
    FIGURES,
)


def scenario(run: Run) -> Scenario:
    receive, send = BUFFERS[run.case]
    made = Scenario.load(files("longfat") / "path.toml")
    start = f"{_START * 1_000_000_000 + 1_234_567 * run.seed}ns"
    keys: dict[str, Any] = {
        "topology.link.0.rate": "1Gbps",
        "switch.override": [{"match": "hub1", "sharing": "static", "buffer": "3750kB"}],
        "run.until": f"{_START + _LASTS}s",
        "host.transport": {
            "kind": "tcp",
            "stack": "linux",
            "congestion": "cubic",
            "receive_buffer_max": f"{receive}B",
            "send_buffer_max": f"{send}B",
        },
    }
    if run.sender == MODEL:
        keys |= {"traffic.0.start": start, "record.senders": "100ms"}
    else:
        sysctl = {
            "net.ipv4.tcp_congestion_control": "cubic",
            "net.ipv4.tcp_rmem": f"4096 131072 {receive}",
            "net.ipv4.tcp_wmem": f"4096 16384 {send}",
        }
        sends = {start: f"bulk client host4 5001 {_LASTS + 100}"}
        look = {f"{_START * 900}ms": "tcpinfo 100 > /results/tcp.csv"}
        common = {"sysctl": sysctl, "memory": "256MB", "watchdog": "600s"}
        keys |= {
            "traffic": [],
            "host.kernel": [
                {"match": "host0", "at": look | sends, **common},
                {"match": "host4", "run": "bulk server 5001", **common},
            ],
        }
    for key, value in keys.items():
        made.set(key, value)
    return made


def measured(result: Result, window: float) -> dict[str, Any]:
    """Returns what the port to the receiver has carried. `window` is the most in flight, in
    bytes."""
    names = ("node", "peer", "time_ns", "tx_bytes", "drops")
    port = [
        row
        for row in zip(*(result.ports.column(name) for name in names), strict=True)
        if row[:2] == ("hub1", "host4") and row[2] > _START * 1_000_000_000
    ]
    rates = [row[3] * 8e-6 * PAYLOAD / FRAME for row in port]
    filled = (second for second, rate in enumerate(rates, 1) if rate >= _FILLED * _RATE)
    by_span = [mean(rates[at : at + _SPAN]) for at in range(0, len(rates), _SPAN)]
    return {
        "mbps": round(mean(rates), 2),
        "last_20_s_mbps": round(mean(rates[-20:]), 2),
        "filled_s": next(filled, ""),
        "window_kB": round(window / 1e3),
        "drops": sum(row[4] for row in port),
        "mbps_by_5_s": " ".join(f"{rate:.1f}" for rate in by_span),
    }


def simulate(run: Run, file: Path) -> str:
    """Simulates a run and appends its line."""
    if run.sender == KERNEL:
        result, left = guests.run(scenario(run), run.seed)
        info = guests.rows(left, "host0.tcp.csv")
        window = max(int(row["unacked"]) for row in info) * PAYLOAD
    else:
        result = Result.of_run(scenario(run).check(seed=run.seed).run(None))
        window = max(result.table("senders").column("in_flight_bytes"))
    values = measured(result, window)
    COMPARISON.write(run, values, file)
    return f"{run.case}, {run.sender}, seed {run.seed}: {values['mbps']} Mbps"


def _cells(of: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns the cells of a row: values that all seeds share, or their range."""

    def cell(name: str) -> str:
        values = sorted({float(one[name]) for one in of if one[name]})
        if not values:
            return "never"
        least, most = values[0], values[-1]
        return f"{least:g}" if least == most else f"{least:g} – {most:g}"

    return [*(cell(name) for name in FIGURES[:-1]), of[0][FIGURES[-1]]]


def table(file: Path = FILE) -> str:
    head = "| buffers up to | sender | Mbps in 60 s | in the last 20 s | 90 % of the link after, s | most in flight, kB | drops | Mbps by 5 s, seed 1 |"
    return COMPARISON.table(file, head, _cells) + finding(file)


def finding(file: Path = FILE) -> str:
    """Returns a sentence about what the kernels confirm or change, after an empty line; nothing
    where a sender has no line."""
    found, said = COMPARISON.read(file), []
    for buffers in BUFFERS:
        kernel, model = (
            [
                float(of["last_20_s_mbps"])
                for run, of in found.items()
                if run[:2] == (buffers, sender)
            ]
            for sender in (KERNEL, MODEL)
        )
        if not (kernel and model):
            return ""
        more = mean(model) / mean(kernel) - 1
        filled = any(of["filled_s"] for run, of in found.items() if run.case == buffers)
        said.append(
            f"With {buffers} the kernels {'confirm' if abs(more) <= _ALIKE else 'change'} the rate of the last 20 s: "
            f"{mean(kernel):.1f} Mbps, and {mean(model):.1f} Mbps in the model ({100 * more:+.1f} %); "
            f"{'some runs fill' if filled else 'neither fills'} the link."
        )
    return "\n\n" + " ".join(said)


SERIES = Series(
    "kernels",
    "What does a Linux kernel with its own tuning of buffers carry over 300 ms?",
    "about 2 min",
    FILE,
    COMPARISON.wanted,
    COMPARISON.read,
    simulate,
    table,
)
