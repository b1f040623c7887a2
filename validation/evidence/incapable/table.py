"""Tables of connections behind a port that drops frames which are not ECN-capable, with Linux
kernels and with afflux.

python -m validation.evidence.incapable.table linux RUNS   # folders RATE-CASE-SEED of batch.sh, and consoles RATE-CASE-SEED.log of red.sh
python -m validation.evidence.incapable.table afflux -n 3  # runs port.toml
"""

import argparse
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import afflux

HERE = Path(__file__).parent
SCENARIO = HERE / "port.toml"
KMAX = 352_000
#: Interval in seconds in which the port is measured.
MEASURED = {"100M": (3, 29), "1G": (2, 13)}
#: Keys of port.toml for the other rate, and for the cases. Only a connection that its sender opens
#: has a handshake in the direction of the port.
RATES: dict[str, dict[str, Any]] = {
    "100M": {},
    "1G": {
        "topology.rate": "1Gbps",
        "topology.delay": "5us",
        "traffic.victim.sizes": "2MB",
        "traffic.victim.rounds": 12,
        "traffic.victim.period": "400ms",
        "traffic.victim.start": "2s",
        "run.until": "14s",
    },
}
CASES: dict[str, dict[str, Any]] = {
    "push": {},
    "pass": {"switch.ecn.incapable": "pass"},
    "plain": {"host.override": [{"match": "host1", "ecn": False}]},
    "read": {"traffic.victim.transport": "open"},
    "reverse": {
        "traffic.victim.pairs": [[0, 1]],
        "traffic.victim.sizes": "4GB",
        "traffic.victim.rounds": 4,
    },
    "reversepass": {
        "switch.ecn.incapable": "pass",
        "traffic.victim.pairs": [[0, 1]],
        "traffic.victim.sizes": "4GB",
        "traffic.victim.rounds": 4,
    },
}


class Connection(NamedTuple):
    """Times of a connection in seconds. Negative: not before the end."""

    start: float
    connected: float
    finished: float
    bytes: int
    ecn: int
    retransmissions: int
    timeouts: int


class Port(NamedTuple):
    """The receiver's port during the measurement: mean bytes, share of the time above kmax, drops
    of frames that are not ECN-capable."""

    mean: float
    above: float
    drops: int


def told(lines: list[list[str]]) -> list[Connection]:
    """Returns the connections that start later, as their senders report them. The start of a
    connection is taken from the client, because the server does not know it."""
    serving = [row for row in lines if row[0] == "serve"]
    found = []
    for row in lines:
        if row[0] in ("push", "read"):
            # The connection opens half a round trip later at the server than at the client.
            sends = (
                min(serving, key=lambda one: abs(float(one[2]) - float(row[2]))) if serving else row
            )
            found.append(
                Connection(
                    float(row[1]),
                    float(row[2]),
                    float(row[3]),
                    int(row[4]),
                    int(sends[5]),
                    int(sends[7]),
                    int(sends[8]),
                )
            )
    return sorted(found)


def connections(console: str) -> list[list[str]]:
    return [
        line.split()
        for line in console.splitlines()
        if re.match(r"(push|read|serve) [0-9.]+ ", line)
    ]


def of_kernels(folder: Path) -> tuple[list[Connection], Port]:
    """Reads a run with one kernel per host and a separate port."""
    lines = [
        line
        for host in ("h1.log", "h2.log")
        for line in connections((folder / host).read_text(errors="replace"))
    ]
    port = re.search(r"^port,1,(.*)$", (folder / "out").read_text(), re.MULTILINE)
    assert port, folder
    mean, _, above, _, _, kinds = port[1].split(",")
    return told(lines), Port(
        float(mean), float(above), sum(int(kind.split(":")[2]) for kind in kinds.split(";") if kind)
    )


def of_red(log: Path) -> tuple[list[Connection], Port]:
    """Reads a run with one kernel for all hosts, and that kernel's RED."""
    console = log.read_text(errors="replace")
    port = re.search(r"^queue mean ([0-9.]+) above ([0-9.]+) ", console, re.MULTILINE)
    drops = re.search(r"marked \d+ early (\d+) pdrop", console)
    assert port, log
    assert drops, log
    return told(connections(console)), Port(float(port[1]), float(port[2]), int(drops[1]))


def of_afflux(rate: str, case: str, seed: int) -> tuple[list[Connection], Port]:
    scenario = afflux.load(SCENARIO)
    for key, value in (RATES[rate] | CASES[case]).items():
        scenario[key] = value
    result = scenario.run(seed=seed)
    found = []
    for row in pl.DataFrame(result.flows).filter(pl.col("class") == "victim").iter_rows(named=True):
        start, end = row["start_ns"] / 1e9, row["finish_ns"]
        finished = -1.0 if end is None else end / 1e9
        # A connection without marks has no ECN, because some of hundreds of ECN-capable segments
        # are marked.
        ecn = int(row["ecn_marked"] > 0 or case.startswith("reverse"))
        took = row["bytes"] if end is not None else row.get("delivered_bytes") or 0
        found.append(
            Connection(
                start, start, finished, took, ecn, row["packets_retransmitted"], row["timeouts"]
            )
        )
    low, high = (1e9 * at for at in MEASURED[rate])
    seen = pl.DataFrame(result.ports).filter(
        (pl.col("peer") == "host0") & pl.col("time_ns").is_between(low, high)
    )
    above = (seen["queue_bytes"] > KMAX).mean()
    return sorted(found), Port(seen["queue_bytes"].mean(), above, int(seen["drops"].sum()))


def rows(
    source: str, rate: str, case: str, seed: int, found: list[Connection], port: Port
) -> Iterator[dict[str, Any]]:
    """Yields one row for the connections with ECN, and one for those without."""
    end = 18.0 if source.endswith("RED") else {"100M": 30.0, "1G": 14.0}[rate]
    for ecn in (1, 0):
        some = [one for one in found if one.ecn == ecn]
        done = [one.finished - one.start for one in some if one.finished >= 0]
        if not some:
            continue
        yield {
            "source": source,
            "rate": rate,
            "case": case,
            "seed": seed,
            "ecn": ecn,
            "connections": len(some),
            "finished": len(done),
            "mean_s": f"{sum(done) / len(done):.3f}" if done else "",
            "longest_s": f"{max(done):.3f}" if done else "",
            "mbps": f"{sum(one.bytes for one in some) * 8 / 1e6 / sum((one.finished if one.finished >= 0 else end) - one.start for one in some):.3f}",
            "retransmissions": sum(one.retransmissions for one in some),
            "timeouts": sum(one.timeouts for one in some),
            "queue_mean_B": f"{port.mean:.0f}",
            "above_kmax": f"{port.above:.4f}",
            "drops": port.drops,
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=("linux", "afflux"))
    parser.add_argument("runs", nargs="?", type=Path)
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("--rate", choices=RATES, action="append")
    parser.add_argument("--case", choices=CASES, action="append")
    given = parser.parse_args()
    made: list[dict[str, Any]] = []
    if given.source == "linux":
        for one in sorted(given.runs.iterdir()):
            rate, case, seed = one.name.removesuffix(".log").split("-")
            if one.suffix == ".log":
                made += rows("linux 6.12.117, its own RED", rate, case, int(seed), *of_red(one))
            else:
                made += rows("linux 6.12.117", rate, case, int(seed), *of_kernels(one))
    else:
        for rate in given.rate or RATES:
            for case in given.case or CASES:
                for seed in range(1, given.n + 1):
                    made += rows("afflux", rate, case, seed, *of_afflux(rate, case, seed))
    if made:
        writer = csv.DictWriter(sys.stdout, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)


if __name__ == "__main__":
    main()
