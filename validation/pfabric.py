"""Reader of the pFabric authors' ns-2 code: `pfabric/*.csv.gz`.

Racks, rates, delays and the time of a lone flow are in `fabric.toml` next to the runs, or else in
`fabrics.toml` here: the README's three racks of four hosts (spec/transports.md §2.10, §5.1). Frames
of 1460 + 40 B, acknowledgements of 40 B, SACK 2 + 8 per block. A queue's length excludes the frame
in transmission, and a queue is full if the arriving frame would reach the limit. The columns are
reproduced as follows:

- Completion is normalised by the reference's own formula for the idle fabric, flow by flow, then
  averaged by size class.
- The runs' TCP and DCTCP are the state machine from which pFabric's is derived: `rto =
  "estimated"`, no fast retransmit.
- Connections belong to a pair of hosts and are warm before its first flow. A flow that finds all of
  them busy opens another one.
- Marks are by bytes (`queue_in_bytes_`), and the first frame that finds 15 frames is not marked. A
  SYN is not ECN-capable, so marking queues drop it. The answer is ECN-capable.
- Next hops are selected round robin by frame and destination.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from afflux.results.statistics import quantile

from . import fabric, kept
from .bars import Bars
from .case import Case, Runner, Setup, Unmeasured, Unreadable, number, read_csv

SET = "pfabric"
SEGMENT, HEADER = 1460, 40
#: Upper bounds in bytes of the size classes.
CLASSES = {"le_100KB": 100_000, "100KB_10MB": 10_000_000, "gt_10MB": None}
#: Share of the slowest flows that a trimmed mean leaves out.
TRIMMED = 0.001
SCHEMES = ("pfabric", "dctcp", "tcp")


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    for path in sorted(path for path in folder.iterdir() if path.name.endswith(".csv.gz")):
        run = path.name.removesuffix(".csv.gz")
        reference = f"{SET}.{run.split('.')[0]}"
        match = re.fullmatch(r"(\w+?)_websearch_([\d.]+)", run)
        if match is None or match[1] not in SCHEMES:
            continue
        try:
            rows = read_csv(path, ["start_ns", "src", "dst", "bytes"])
            flows = tuple(
                (
                    int(number(row, "start_ns")),
                    int(number(row, "src")),
                    int(number(row, "dst")),
                    int(number(row, "bytes")),
                )
                for row in rows
            )
            table = fabric.of(SET, folder, run)
            if "idle" not in table:
                raise Unreadable("the fabric has no idle: completion times are normalised by it")
            theirs = kept.of(folder, path.name, partial(normalised, match[1]))
        except Unreadable as error:
            yield Case(reference, run, problem=str(error), bars=bars.of(SET))
            continue
        setups = [
            Setup(
                scenario(match[1], table),
                completions,
                {"scheme": match[1], "fabric": table},
                flows,
                seed,
            )
            for seed in range(1, bars.repetitions(SET) + 1)
        ]
        for name in CLASSES:
            named = {
                metric: bar for metric, bar in bars.of(SET).items() if f"{name}.{metric}" in theirs
            }
            for metric, bar in named.items():
                yield Case(
                    reference,
                    f"{run}/{name}",
                    {f"{name}.{metric}": theirs[f"{name}.{metric}"]},
                    {f"{name}.{metric}": bar},
                    setups,
                )


def scenario(scheme: str, table: dict[str, Any]) -> dict[str, Any]:
    """Returns the scenario that the reference's README describes."""
    transport: dict[str, Any] = {"kind": "pfabric", "connections": "pooled", "initial_window": 12}
    switch: dict[str, Any] = {
        "sharing": "static",
        "drop_when": "at_or_above",
        "queue_length": "before_transmission",
        "balance": "round_robin",
    }
    host: dict[str, Any] = {"delay": table.get("host_delay", "0ns")}
    if scheme == "pfabric":
        transport |= {"max_window": 23, "min_rto": "45us"}
        switch |= {"scheduling": "pfabric", "buffer": "36000B"}
        host |= {"scheduling": "pfabric", "queue": "36000B"}
    else:
        transport |= {"rto": "estimated", "max_window": 149, "min_rto": "200us"}
        switch["buffer"] = "225000B"
        host["queue"] = "225000B"
        if scheme == "dctcp":
            transport |= {"congestion": "dctcp", "dctcp": {"initial_alpha": 0.0}}
            # 15 frames in bytes. At a host the frame in transmission counts here.
            switch["ecn"], host["nic_ecn"] = (
                {"k": k, "compare": "at_or_above", "spacing": "ns2"} for k in ("22500B", "24000B")
            )
    wire = {
        "data_header": f"{HEADER}B",
        "ack": f"{HEADER}B",
        "syn": f"{HEADER}B",
        "sack_base": "2B",
        "sack_block": "8B",
        "min_frame": "0B",
        "gap": "0B",
    }
    return {
        "format": 1,
        "topology": fabric.leaf_spine(table),
        "switch": switch,
        "host": host
        | {
            "wire": wire | {"mtu_header": f"{HEADER}B"},
            "mtu": f"{SEGMENT + HEADER}B",
            "transport": transport,
        },
        "traffic": [{"kind": "flows", "file": "flows.csv"}],
        "run": {"fct_end": "last_ack"},
        "record": {"explain": False},
    }


def normalised(scheme: str, path: Path) -> dict[str, float]:
    rows = read_csv(path, ["bytes", "normalized"])
    return summary(
        scheme,
        [int(number(row, "bytes")) for row in rows],
        [number(row, "normalized") for row in rows],
    )


def summary(scheme: str, sizes: list[int], normalized: list[float]) -> dict[str, float]:
    values, low = {}, 0
    for name, high in CLASSES.items():
        here = sorted(
            n
            for size, n in zip(sizes, normalized, strict=True)
            if size > low and (high is None or size <= high)
        )
        low = high or low
        if not here:
            continue
        mean = "mean_trimmed_dctcp" if scheme == "dctcp" else "mean"
        values[f"{name}.{mean}"] = fmean(
            here[: len(here) - round(TRIMMED * len(here))] if scheme == "dctcp" else here
        )
        values[f"{name}.median"] = median(here)
        values[f"{name}.p99"] = quantile(here, 0.99)
    return values


def completions(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    flows = runner.run(ports=False).flows
    columns = {name: list(flows.column(name)) for name in ("src", "dst", "bytes", "fct_ns")}
    if None in columns["fct_ns"]:
        raise Unmeasured(f"{columns['fct_ns'].count(None)} flows did not end")
    rows = list(zip(*columns.values(), strict=True))
    return summary(
        p["scheme"],
        columns["bytes"],
        [
            fct / fabric.idle_ns(p["fabric"], src, dst, size, SEGMENT)
            for src, dst, size, fct in rows
        ],
    )
