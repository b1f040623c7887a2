"""Simulates mechanisms that could make a lone flow of 70 kB take 130 ms instead of 7.4: the
distribution of its completion time under each.

A part of `afflux study mptcp`; results/mechanisms.csv is shipped with afflux. The last two cases
change the links instead.
"""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from ...batch import Point
from ...results.result import Result
from ...results.statistics import quantile
from .. import Series, files, lines
from .four import CASES, LIA, TENTH, short

FILE = files("mptcp") / "results" / "mechanisms.csv"
QUANTILES = {"least": 0.0, "p5": 0.05, "p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}
SEED = 1

_ALONE = {"traffic[0].sizes": "1kB"}
_TCP: dict[str, Any] = {
    "kind": "tcp",
    "stack": "linux",
    "congestion": "newreno",
    "receive_window": "unlimited",
}
#: Timers of the author's kernel of 2014; Linux has another wheel since 4.8 (2016).
_CLOCK = {"tick": "4ms", "timer_wheel": "cascading"}
_KERNEL = _CLOCK | {"delayed_ack": {"quick": 0}}
_NO_PROBES = {"tail_probe": False, "recovery": "sack"}
_MPTCP = {"mptcp": {"manager": "fullmesh", "subflows": 4, "coupling": "lia"}}


def _tcp(**keys: Any) -> dict[str, Any]:
    """Returns the transport of the short flows with changed keys."""
    # A receive buffer replaces the receive window.
    kept = {
        key: value
        for key, value in _TCP.items()
        if key != "receive_window" or "receive_buffer" not in keys
    }
    return {"host.transport": kept | keys}


def _rates(host: str, uplink: str) -> dict[str, Any]:
    return {f"topology.link.{link}.rate": host if link < 16 else uplink for link in range(28)}


#: Keys of each mechanism that differ from slice.toml without background. All are simulated with 70
#: kB.
MECHANISMS: dict[str, Mapping[str, Any]] = {
    "as printed": {},
    "delayed acknowledgements from the first segment on, ticks of 4 ms": _tcp(**_KERNEL),
    "the same, initial window of 1 segment: one stall": _tcp(**_KERNEL, initial_window=1),
    "the same, an acknowledgement for every 8 segments: three stalls": _tcp(
        **_CLOCK, delayed_ack={"quick": 0, "segments": 8}, initial_window=1
    ),
    "receive buffer of 50 kB": _tcp(**_KERNEL, receive_buffer="50kB"),
    "receive buffer of 10 kB": _tcp(**_KERNEL, receive_buffer="10kB"),
    "short flows with MPTCP, too, receive buffer of 50 kB": _tcp(
        **_KERNEL, **_MPTCP, receive_buffer="50kB"
    ),
    "queues of 10 frames, losses found by time-outs of 200 ms only": {"switch.buffer": "10packets"}
    | _tcp(**_NO_PROBES),
    "queue of 3 frames in the host, the same": {"host.queue": "3packets"}
    | _tcp(**_NO_PROBES, small_queues=False),
    "queue of 2 frames in the host, the same": {"host.queue": "2packets"}
    | _tcp(**_NO_PROBES, small_queues=False),
    "next to LIA on all paths (losses and time-outs)": CASES[LIA][0] | {"traffic[0].sizes": "40GB"},
    "a tenth of the rates, 80 us per link": CASES[TENTH][0],
    "5 and 10 Mbps": _rates("5Mbps", "10Mbps"),
}


def distribution(result: Result) -> dict[str, float]:
    """Returns mean, standard deviation and quantiles of the completion times in ms."""
    times = sorted(flow.fct / 1e6 for flow in short(result))
    return {"mean": fmean(times), "deviation": pstdev(times)} | {
        name: quantile(times, q) for name, q in QUANTILES.items()
    }


def point(name: str, keys: Mapping[str, Any]) -> Point:
    sized = {
        "traffic[1].class": "70 kB",
        "traffic[1].sizes": "70kB",
        "record.waits": [],
        "record.gaps": [],
    }
    return Point(name, files("mptcp") / "slice.toml", sized | _ALONE | dict(keys), SEED)


COLUMNS = (
    "mechanism",
    "flows",
    "mean_ms",
    "deviation_ms",
    *(f"{name}_ms" for name in QUANTILES),
    "drops",
    "timeouts",
)


def read(file: Path) -> list[list[str]]:
    """Returns the lines of a file. Empty if the file does not exist."""
    return [[*row.values()] for row in lines.read(file, COLUMNS)] if file.exists() else []


def simulate(name: str, file: Path) -> str:
    """Simulates a mechanism and appends its line."""
    result = Result.of_run(point(name, MECHANISMS[name]).load().run(None))
    shown = [round(value, 2) for value in distribution(result).values()]
    line = [name, len(short(result)), *shown, result.summary["drops"], result.summary["timeouts"]]
    lines.append(
        file,
        "Completion times of 70 kB without background, seed 1: afflux study mptcp mechanisms",
        COLUMNS,
        line,
    )
    return f"{name}: mean {shown[0]} ms"


def table(file: Path) -> str:
    return "\n".join(
        "| " + " | ".join(line) + " |" for line in (COLUMNS, ["---"] * len(COLUMNS), *read(file))
    )


SERIES = Series(
    "mechanisms",
    "What else could make a lone flow of 70 kB take 130 ms?",
    "about 2 min",
    FILE,
    lambda file, quick: MECHANISMS,
    lambda file: [line[0] for line in read(file)],
    simulate,
    table,
)
