"""Converts the output of hosts-flows.sh and hosts-qdisc.sh to CSV tables.

    python -m validation.evidence.hosts_tables LINES … -o validation/reference/hosts

It writes `measured-linux.csv` and `measured-qdisc.csv`. LINES has a JSON object on each line:
`clock` ("real" or "virtual"), `repetition`, `case` (of hosts-flows.sh), and `run` with the output
of the script.
"""

import argparse
import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FLOWS = (
    "case",
    "clock",
    "congestion",
    "repetition",
    "flow",
    "mbps",
    "retransmissions",
    "drops_at_the_port",
    "marks_at_the_port",
)
QUEUES = (
    *(
        "qdisc",
        "clock",
        "bulk",
        "connection",
        "repetition",
        "requests",
        "median_ms",
        "p90_ms",
        "p99_ms",
        "answered_median_ms",
        "late_starts",
    ),
    *(
        "bulk_mbps",
        "largest_bulk_share",
        "backlog_packets",
        "backlog_packets_greatest",
        "drops",
        "marks",
        "retransmissions",
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lines", type=Path, nargs="+")
    parser.add_argument("-o", type=Path, required=True, help="the folder")
    options = parser.parse_args()
    runs = [
        json.loads(line)
        for path in options.lines
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    runs.sort(key=lambda one: one["clock"])
    write(
        options.o / "measured-linux.csv",
        FLOWS,
        (row for one in runs if "case" in one for row in flows(one)),
    )
    write(
        options.o / "measured-qdisc.csv",
        QUEUES,
        sorted(
            (queue(one) for one in runs if "case" not in one),
            key=lambda row: [row[name] for name in QUEUES[:5]],
        ),
    )


def write(path: Path, columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def flows(one: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: one[name] for name in ("case", "clock", "repetition")}
        | {
            "congestion": flow["congestion"],
            "flow": f"sender{place}",
            "mbps": flow["mbps"],
            "retransmissions": flow["retransmissions"],
        }
        # The senders' delivered_ce is not used: with classic ECN it counts all segments until the
        # receiver knows of the smaller window.
        | {"drops_at_the_port": one["run"]["drops"], "marks_at_the_port": one["run"]["ce_mark"]}
        for place, flow in enumerate(one["run"]["flows"], 1)
    ]


def queue(one: dict[str, Any]) -> dict[str, Any]:
    run, seen = one["run"], one["run"]["queue"]
    times, answered, mbps = (
        sorted(run["received_ms"]),
        sorted(run["answered_ms"]),
        list(run["mbps"].values()),
    )
    return {
        "qdisc": run["qdisc"],
        "clock": one["clock"],
        "bulk": run["bulk"],
        "connection": run["connection"],
        "repetition": one["repetition"],
        "requests": len(times),
        "median_ms": round(quantile(times, 0.5), 3),
        "p90_ms": round(quantile(times, 0.9), 3),
        "p99_ms": round(quantile(times, 0.99), 3),
        "answered_median_ms": round(quantile(answered, 0.5), 3),
        "late_starts": run["serial"],
        "bulk_mbps": round(sum(mbps), 2),
        "largest_bulk_share": round(max(mbps) / sum(mbps), 3),
        "backlog_packets": seen["backlog_packets"],
        "backlog_packets_greatest": seen["backlog_packets_greatest"],
        "drops": seen["drops"],
        "marks": seen["ecn_mark"],
        "retransmissions": sum(flow["retransmissions"] for flow in run["flows"]),
    }


def quantile(ordered: list[float], share: float) -> float:
    return ordered[int(share * len(ordered))]


if __name__ == "__main__":
    main()
