"""Shows where frames wait in the Hadoop study's cluster with the deep buffer if every compute port is
full, by the hosts' queueing discipline.

    python -m validation.evidence.hadoop_full_ports -o validation/evidence/hadoop-full-ports.csv

Each compute node sends 25 Gbps to the next. The first 4 s of a sort of 10 GB, seed 1: mean bytes that
wait at a port of a compute node, at a port of the compute leaf to one of them, and drops at hosts.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from afflux import Result
from afflux.scenario import Scenario
from afflux.studies import files
from afflux.studies.hadoop.sensitivity import RING, Run, changed

#: Alternatives of the study; none is its own discipline, fq_codel.
DISCIPLINES = {"fq_codel": (), "pfifo": ("qdisc=pfifo",), "off": ("qdisc=off",)}
COLUMNS = ("qdisc", "host_mb", "leaf_mb", "drops_at_hosts")


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-o", "--out", type=Path, required=True)
    out = arguments.parse_args().out
    with out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *map(measured, DISCIPLINES)])


def measured(qdisc: str) -> tuple[object, ...]:
    scenario = Scenario.load(files("hadoop") / "terasort.toml")
    series = {"interval": "100ms", "nodes": ["compute-leaf", "host[0-13]"]}
    keys = changed(Run((RING, *DISCIPLINES[qdisc]), "deep", 1)) | {
        "run.seed": 1,
        "run.until": "4s",
        "record.ports": series,
    }
    for key, value in keys.items():
        scenario = scenario.set(key, value)
    result = scenario.run()
    hosts, leaf = ([*waiting(result, at_host)] for at_host in (True, False))
    return (
        qdisc,
        f"{mean(held for held, _ in hosts) / 1e6:.2f}",
        f"{mean(held for held, _ in leaf) / 1e6:.2f}",
        sum(lost for _, lost in hosts),
    )


def waiting(result: Result, at_host: bool) -> Iterator[tuple[int, int]]:
    """Yields the bytes that wait and the drops, per sample of a port at a host or of one to a host."""
    names = ("node", "peer", "queue", "queue_bytes", "drops")
    for node, peer, queue, held, lost in zip(
        *(result.ports.column(name) for name in names), strict=True
    ):
        if queue == -1 and (node if at_host else peer).startswith("host"):
            yield held, lost


if __name__ == "__main__":
    main()
