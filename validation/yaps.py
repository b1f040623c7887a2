"""Reader of pFabric in yaps: `yaps/pfabric_*.csv.gz`.

yaps has a second, simpler pFabric (README of the reference; spec/transports.md §2.10 and §8.3). The
fabric is in `fabric.toml` next to the runs, or else in `fabrics.toml` here: the README's nine racks
of sixteen hosts. Queues of 36,864 B, windows of 12 to 24 segments, 45 us, no probes. Slowdowns use
yaps's own oracle, flow by flow, and the files contain only flows that yaps finished. One difference
remains: in yaps a queue is full only if a frame would exceed its limit (24 frames of 1500 B fit
here too), and its victim is the frame with the lowest priority, regardless of its size.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import fabric, kept
from .bars import Bars
from .case import Case, Runner, Setup, Unmeasured, Unreadable, number, read_csv
from .pfabric import CLASSES, HEADER, SEGMENT, summary

SET = "yaps"
#: Time in us at which yaps starts its first flow.
BEGIN_US = 1e6


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    for path in sorted(path for path in folder.iterdir() if path.name.endswith(".csv.gz")):
        run = path.name.removesuffix(".csv.gz")
        reference = f"{SET}.{run.split('.')[0]}"
        if re.fullmatch(r"pfabric_(ws|dm)_[\d.]+_\w+", run) is None:
            continue
        try:
            rows = read_csv(path, ["start_us", "src", "dst", "size_bytes", "oracle_us"])
            rows.sort(key=lambda row: number(row, "start_us"))
            flows = tuple(
                (
                    round((number(row, "start_us") - BEGIN_US) * 1e3),
                    *(int(number(row, name)) for name in ("src", "dst", "size_bytes")),
                )
                for row in rows
            )
            table = fabric.of(SET, folder, run)
            theirs = kept.of(folder, path.name, finished)
        except Unreadable as error:
            yield Case(reference, run, problem=str(error), bars=bars.of(SET))
            continue
        parameters = {"oracle_ns": [number(row, "oracle_us") * 1e3 for row in rows]}
        setups = [
            Setup(scenario(table), slowdowns, parameters, flows, seed)
            for seed in range(1, bars.repetitions(SET) + 1)
        ]
        for name in CLASSES:
            here = {
                metric: value for metric, value in theirs.items() if metric.startswith(f"{name}.")
            }
            if here:
                yield Case(
                    reference,
                    f"{run}/{name}",
                    here,
                    {
                        metric: bar
                        for metric in here
                        if (bar := bars.of(SET).get(metric.partition(".")[2]))
                    },
                    setups,
                )


def finished(path: Path) -> dict[str, float]:
    rows = read_csv(path, ["size_bytes", "slowdown"])
    return summary(
        "pfabric",
        [int(number(row, "size_bytes")) for row in rows],
        [number(row, "slowdown") for row in rows],
    )


def scenario(table: dict[str, Any]) -> dict[str, Any]:
    """Returns the scenario that the reference's README describes."""
    return {
        "format": 1,
        "topology": fabric.leaf_spine(table),
        "switch": {
            "scheduling": "pfabric",
            "buffer": "36864B",
            "queue_length": "before_transmission",
            "balance": "round_robin",
        },
        "host": {
            "delay": table.get("host_delay", "0ns"),
            "scheduling": "pfabric",
            "queue": "36864B",
            "wire": {"base": "pfabric", "mtu_header": f"{HEADER}B"},
            "mtu": f"{SEGMENT + HEADER}B",
            "transport": {
                "kind": "pfabric",
                "initial_window": 12,
                "max_window": 24,
                "min_rto": "45us",
                "probe_after": "off",
            },
        },
        "traffic": [{"kind": "flows", "file": "flows.csv"}],
        "run": {"fct_end": "last_ack"},
        "record": {"explain": False},
    }


def slowdowns(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    flows = runner.run(ports=False).flows
    times = list(flows.column("fct_ns"))
    if None in times:
        raise Unmeasured(f"{times.count(None)} flows did not end")
    return summary(
        "pfabric",
        list(flows.column("bytes")),
        [fct / oracle for fct, oracle in zip(times, p["oracle_ns"], strict=True)],
    )
