"""Simulates the source's remedy: hosts with two edge switches, so that a short flow can take another
port than the MPTCP flows that fill one.

A part of `afflux study mptcp`; results/dual-homed.csv is shipped with afflux. Both fabrics have 64
hosts, the same aggregation and core switches, and four times as many hosts as their core carries.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from ...batch import Point
from ...comparison.paired import Difference, of_pairs
from ...metrics import Metric
from ...results.result import Result
from ...results.statistics import interval, mean, quantile
from .. import Series, files, lines
from .four import slowest

FILE = files("mptcp") / "results" / "dual-homed.csv"
SEEDS = 5

_SINGLE = {"topology.k": 4, "run.warmup": "200ms", "run.until": "3s"}
_DUAL = _SINGLE | {
    "topology": {
        "kind": "dual_homed_fat_tree",
        "k": 4,
        "hosts_per_pair": 8,
        "rate": "100Mbps",
        "delay": "10us",
    }
}
FABRICS: dict[str, dict[str, Any]] = {
    "FatTree": _SINGLE,
    "dual-homed": {key: value for key, value in _DUAL.items() if key != "topology.k"},
}
#: Long flows next to the short ones. Without any, a flow of 1 kB ends at once.
BACKGROUNDS: dict[str, dict[str, Any]] = {
    "none": {"traffic[0].sizes": "1kB"},
    "TCP": {"host.transports.long.mptcp.subflows": 1},
    "MPTCP": {},
}
FIGURES = ("mean_ms", "p95_ms", "slowest_ms", "long_mbps")


class Run(NamedTuple):
    fabric: str
    background: str
    seed: int


COLUMNS = (*Run._fields, *FIGURES)


def wanted(seeds: int = SEEDS) -> Iterator[Run]:
    """Yields the runs seed by seed."""
    for seed in range(1, seeds + 1):
        for fabric in FABRICS:
            for background in BACKGROUNDS:
                yield Run(fabric, background, seed)


def point(run: Run) -> Point:
    return Point(
        f"{run.fabric}, {run.background}",
        files("mptcp") / "short-flows.toml",
        FABRICS[run.fabric] | BACKGROUNDS[run.background],
        run.seed,
    )


def measured(result: Result) -> dict[str, float]:
    """Returns mean, 95th percentile and mean of the slowest twentieth of the short flows'
    completion times, and the goodput of the long flows together."""
    warmup = result.summary["warmup_ns"]
    rows = zip(
        *(result.flows.column(name) for name in ("class", "start_ns", "fct_ns")), strict=True
    )
    times = sorted(
        fct / 1e6
        for kind, start, fct in rows
        if kind == "short" and fct is not None and start >= warmup
    )
    classes = zip(
        *(result.flows.column(name) for name in ("class", "delivered_bytes")), strict=True
    )
    sent = sum(bytes for kind, bytes in classes if kind == "long")
    seconds = result.summary["simulated_ns"] / 1e9
    values = (fmean(times), quantile(times, 0.95), slowest(times), 8e-6 * sent / seconds)
    return dict(zip(FIGURES, (round(value, 3) for value in values), strict=True))


def read(file: Path = FILE) -> dict[Run, dict[str, float]]:
    if not file.exists():
        return {}
    return dict(lines.parsed(file, COLUMNS, _line))


def _line(row: Mapping[str, str]) -> tuple[Run, dict[str, float]]:
    run = Run(row["fabric"], row["background"], int(row["seed"]))
    return run, {name: float(row[name]) for name in FIGURES}


def write(run: Run, values: Mapping[str, float], file: Path) -> None:
    """Appends the line of a run."""
    lines.append(
        file,
        "Short flows of 70 kB next to long ones, with hosts of one and of two edge switches: afflux study mptcp dual-homed",
        COLUMNS,
        [*run, *(values[name] for name in FIGURES)],
    )


def simulate(run: Run, file: Path) -> str:
    values = measured(Result.of_run(point(run).load().run(None)))
    write(run, values, file)
    return f"{run.fabric}, {run.background}, seed {run.seed}: mean {values['mean_ms']} ms"


def cell(found: Mapping[Run, Mapping[str, float]], fabric: str, background: str, name: str) -> str:
    """Formats a mean over the seeds with its 95 % interval."""
    values = [values[name] for run, values in found.items() if run[:2] == (fabric, background)]
    shown = f"{mean(values):.1f}"
    low, high = interval(values) or (None, None)
    return shown if low is None or high is None else f"{shown} ({low:.1f} to {high:.1f})"


def against_single(
    found: Mapping[Run, Mapping[str, float]], background: str, name: str
) -> Difference:
    """Compares dual-homed hosts with those of one edge switch, seed by seed."""
    pairs = [
        (values[name], found[run._replace(fabric="dual-homed")][name])
        for run, values in found.items()
        if run[:2] == ("FatTree", background)
    ]
    return of_pairs(Metric(name, "", (), str), "dual-homed", pairs)


def in_per_cent(one: Difference) -> str:
    """Formats the change of a mean in percent with its 95 % interval."""
    ratios = (one.ratio, one.ratio_low, one.ratio_high)
    change, low, high = (100 * ((ratio or 1.0) - 1) for ratio in ratios)
    return f"{change:+.0f} % ({low:+.0f} to {high:+.0f} %)"


def table(file: Path = FILE) -> str:
    found = read(file)
    lines = [
        "| hosts | long flows | mean, ms | 95 %, ms | slowest 5 %, ms | long flows, Mbps |",
        "|---|---|---|---|---|---|",
    ]
    for background in BACKGROUNDS:
        for fabric in FABRICS:
            if any(run[:2] == (fabric, background) for run in found):
                cells = [cell(found, fabric, background, name) for name in FIGURES[:3]]
                sent = "–" if background == "none" else cell(found, fabric, background, FIGURES[3])
                lines.append(f"| {fabric} | {background} | {' | '.join(cells)} | {sent} |")
    return "\n".join(lines)


SERIES = Series(
    "dual-homed",
    "Do short flows wait less with hosts of two edge switches, the source's remedy?",
    "about 2 min",
    FILE,
    lambda file, quick: wanted(1 if quick else SEEDS),
    read,
    simulate,
    table,
)
