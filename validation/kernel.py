"""Rows of real Linux that are outside their bars, with Linux kernels as hosts (`[[host.kernel]]`)
and with our model of TCP, in the same simulated network.

    make validate-kernel                       all cells, ten seeds each
    make validate-kernel ONLY=c_reno           cells whose name contains this
    make validate-kernel SEEDS=20              more seeds

Each run of a kernel and of the model is a row of `evidence/linux-kernel.csv`. A run with a row is
not repeated, so an interrupted comparison continues. The kernel has to have 1,000 ticks a second,
as that of the reference (`afflux kernel build --hz 1000`, into a directory of its own that
AFFLUX_KERNELS names).

The network is that of `linux/` for both: topology, queues, marking. Only the hosts differ. Each
seed varies the things that the reference left to chance:

- bulk transfers: the starts (of one flow within 10 ms, of parallel connections within 3 ms each; the
  two hosts of b_ begin 2.6 to 4.2 ms apart, as the handshakes in raw/ tell);
- incast: each server answers up to a packet time late, drawn anew in each round.

decision.py has the rule that decides each row. It was written down before the first run.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import afflux
from afflux import kernels

from . import linux
from .bars import Bars, median
from .case import (
    Row,
    Setup,
    Unmeasured,
    Unreadable,
    fraction,
    measure,
    number,
    read_csv,
)
from .decision import COLUMNS, FILE, KERNEL, MODEL, decisions, read

SEEDS = 10
#: Ticks a second of the reference's kernel.
HZ = 1000
#: Time in ns at which the traffic of kernels begins: they have booted.
BASE_NS = 500_000_000
#: Time in ns in which all rounds of an incast end.
ROUNDS_NS = 2_500_000_000
PORT = 5001
#: Buffers of the reference (its README: up to 64 MB, tcp_mem raised).
SYSCTLS: dict[str, Any] = {
    "net.ipv4.tcp_no_metrics_save": 1,
    "net.ipv4.tcp_rmem": "4096 131072 67108864",
    "net.ipv4.tcp_wmem": "4096 16384 67108864",
    "net.ipv4.tcp_mem": "196608 262144 393216",
}
LINUX_NAMES = {"newreno": "reno"}

#: Rows that are outside their bars, by file. Those of the series `cubic_dt64k` say together at which
#: number of servers it collapses (decision.py).
CELLS: dict[str, tuple[str, ...]] = {
    "a2_parallel": ("a2_reno_par8_auto_gap2_q01bdp",),
    "a3_cc_loss": ("a3_cubic_loss0_q01bdp",),
    "b_datacentre": ("b_cubic_red30k_n2",),
    "c_incast": (
        "c_reno_dt64k_n8",
        "c_reno_dt64k_n16",
        "c_cubic_dt64k_rto10_n16",
        "c_cubic_dt64k_n4",
        "c_cubic_dt64k_n8",
        "c_cubic_dt64k_n16",
    ),
    "d_mptcp_bulk": ("d_bulk_mptcp_cubic_100-5ms_100-50ms",),
}


@dataclass(frozen=True)
class Trial:
    """A run of kernels: its scenario, and what is measured."""

    scenario: dict[str, Any]
    measure: Callable[[afflux.Result, Path], dict[str, float]]
    seed: int


# ----------------------------------------------------------------------------------------------------------------------- kernels


def hosts(names: Iterable[str], **keys: Any) -> dict[str, Any]:
    """Returns a block `[[host.kernel]]`."""
    return {"match": list(names), "memory": "256MB", "watchdog": "300s", **keys}


def settings(tcp: dict[str, Any]) -> dict[str, Any]:
    """Returns the kernel's parameters for a transport of `linux/`."""
    congestion = tcp["congestion"]
    found = SYSCTLS | {
        "net.ipv4.tcp_congestion_control": LINUX_NAMES.get(congestion, congestion),
        "net.ipv4.tcp_ecn": int(tcp.get("ecn") == "classic" or congestion == "dctcp"),
    }
    if (least := tcp.get("min_rto", "200ms")) != "200ms":
        found["net.ipv4.tcp_rto_min_us"] = 1000 * int(least.removesuffix("ms"))
    return found


def with_kernels(
    setup: Setup, blocks: Sequence[dict[str, Any]], end_ns: float, record: dict[str, Any]
) -> dict[str, Any]:
    """Returns the network of a setup, with these kernels as hosts."""
    return {
        "format": 1,
        "topology": setup.scenario["topology"],
        "switch": setup.scenario["switch"],
        "host": {"wire": "linux", "kernel": list(blocks)},
        "run": {"until": f"{round(end_ns)}ns"},
        "record": record,
    }


def address(host: int, nic: int = 0) -> str:
    """Returns the address of a host (docs/kernels.md)."""
    return f"10.{nic}.{(host + 1) // 256}.{(host + 1) % 256}"


def run(trial: Trial) -> dict[str, float]:
    """Runs kernels. Raises `Unmeasured` if one fails."""
    with tempfile.TemporaryDirectory(prefix="afflux-validation-") as folder:
        scratch = Path(folder)
        shutil.copy(program(), scratch / "guest")
        scenario = afflux.Scenario(trial.scenario, scratch / "scenario.toml")
        result = scenario.run(seed=trial.seed, out=scratch / "out")
        if result.kernel_failure:
            raise Unmeasured(result.kernel_failure)
        return trial.measure(result, scratch / "out")


def program() -> Path:
    """Returns the compiled programs of the guests (guest.c)."""
    source = Path(__file__).with_name("guest.c")
    target = Path(tempfile.gettempdir()) / f"afflux-validation-{os.getuid()}" / "guest"
    if not target.is_file() or target.stat().st_mtime < source.stat().st_mtime:
        target.parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-O2", "-static", "-s", "-o", str(target), str(source)], check=True)
    return target


def left(out: Path, host: str, file: str) -> list[Row]:
    """Returns the rows of a file that a guest left in its /results."""
    return read_csv(out / f"{host}.{file}", ())


# ---------------------------------------------------------------------------------------------------------------- bulk transfers


def starts(row: Row, seed: int) -> list[int]:
    """Returns the start of each flow in ns, in the order of `linux.bulk.transfer`."""
    pairs = int(number(row, "HOSTS", 1))
    if pairs > 1:
        return [
            round(1e6 * fraction(seed, 0)),
            *(
                round(pair * (2.6e6 + 1.6e6 * fraction(seed, pair)) + 1e6 * fraction(seed, 0))
                for pair in range(1, pairs)
            ),
        ]
    parallel, gap = int(number(row, "CONNS", 1)), number(row, "GAP", 0) * 1e9
    within = 3e6 if parallel > 1 else 10e6
    return [round(flow * gap + within * fraction(seed, flow)) for flow in range(parallel)]


def bulk(row: Row, rows: Sequence[Row], seed: int) -> tuple[Setup, Trial]:
    del rows
    setup = linux.bulk.transfer(row, seed)
    flows = tuple(
        (start, *flow[1:]) for start, flow in zip(starts(row, seed), setup.flows, strict=True)
    )
    setup = replace(setup, flows=flows)
    duration = number(row, "T")
    tcp = setup.scenario["host"]["transport"]
    blocks = []
    for source in sorted({flow[1] for flow in flows}):
        sends = {
            f"{BASE_NS + start}ns": f"bulk client {address(to)} {PORT} {round(duration) + 100}"
            for start, src, to, _ in flows
            if src == source
        }
        look = {"0.4s": "tcpinfo 500 > /results/tcp.csv"}
        blocks.append(hosts([f"host{source}"], at=look | sends, sysctl=settings(tcp)))
    sinks = sorted({flow[2] for flow in flows})
    blocks.append(
        hosts([f"host{to}" for to in sinks], run=f"bulk server {PORT}", sysctl=settings(tcp))
    )
    record = {"ports": {"interval": linux.network.interval(duration), "nodes": ["r1"]}}
    end = BASE_NS + duration * 1e9 + 1e6
    senders = sorted({f"host{flow[1]}" for flow in flows})

    def found(result: afflux.Result, out: Path) -> dict[str, float]:
        half, whole = (
            sum(acknowledged(out, host, BASE_NS / 1e9 + share * duration) for host in senders)
            for share in (0.5, 1)
        )
        return {"half2_mbps": (whole - half) * 8e-6 / (duration / 2)} | bottleneck(
            result, BASE_NS + duration * 5e8
        )

    return setup, Trial(with_kernels(setup, blocks, end, record), found, seed)


def acknowledged(out: Path, host: str, at_s: float) -> int:
    """Returns the bytes that the connections of a host have delivered at a time."""
    rows = [row for row in left(out, host, "tcp.csv") if abs(float(row["time_s"]) - at_s) < 1e-6]
    if not rows:
        raise Unmeasured(f"{host} has no connection at {at_s:g} s")
    return sum(int(row["bytes_acked"]) for row in rows)


def bottleneck(result: afflux.Result, from_ns: float) -> dict[str, float]:
    """Returns the mean queue from a time on, drops and marks of the port from r1 to r2."""
    names = ("node", "peer", "time_ns", "queue_bytes", "drops", "ecn_marks")
    rows = [
        row
        for row in zip(*(result.ports.column(name) for name in names), strict=True)
        if row[:2] == ("r1", "r2")
    ]
    queues = [max(0, row[3] - linux.network.FRAME) for row in rows if row[2] > from_ns]
    return {
        "q_mean_B": sum(queues) / len(queues),
        "drops": sum(row[4] for row in rows),
        "marked": sum(row[5] for row in rows),
    }


# ------------------------------------------------------------------------------------------------------------------------ incast


def incast(row: Row, rows: Sequence[Row], seed: int) -> tuple[Setup, Trial]:
    setup = linux.incast.rounds(row, list(rows), seed)
    servers, block = int(number(row, "N")), int(number(row, "block"))
    count = int(number(row, "rounds"))
    tcp = setup.scenario["host"]["transport"]
    late = round(linux.network.FRAME * 8e9 / linux.incast.rate_of(row))
    answer = f"./guest rounds-server {PORT} {block} {late} $((AFFLUX_NUMBER + {1000 * seed}))"
    ask = " ".join(
        map(
            str,
            (
                "./guest rounds-client",
                *(PORT, block, count, linux.incast.THINK_NS),
                *map(address, range(servers)),
            ),
        )
    )
    begin = BASE_NS + round(10e6 * fraction(seed, 0))
    common = {"files": ["guest"], "sysctl": settings(tcp), "memory": "64MB"}
    blocks = [
        hosts([f"host{server}" for server in range(servers)], run=answer, **common),
        hosts([f"host{servers}"], at={f"{begin}ns": f"{ask} > /results/rounds"}, **common),
    ]

    def found(result: afflux.Result, out: Path) -> dict[str, float]:
        lines = (out / f"host{servers}.rounds").read_text(encoding="utf-8").split()
        spans = [int(span) for span in lines[1::2]]
        if len(spans) != count:
            raise Unmeasured(f"{len(spans)} of {count} rounds ended")
        mean = sum(spans) / count
        return {
            "goodput_mbps": servers * block * 8e3 / mean,
            "drops": result.summary["drops"],
        }

    scenario = with_kernels(setup, blocks, BASE_NS + ROUNDS_NS, {})
    return setup, Trial(scenario, found, seed)


# ------------------------------------------------------------------------------------------------------------------------- MPTCP


def multipath(row: Row, rows: Sequence[Row], seed: int) -> tuple[Setup, Trial]:
    del rows
    setup = linux.mptcp.paths(row, seed)
    (flow,) = setup.flows
    start = round(10e6 * fraction(seed, 0))
    setup = replace(setup, flows=((start, *flow[1:]),))
    duration = setup.parameters["to_s"]
    # The reference's duration follows from its bytes, to a few milliseconds.
    duration = round(duration)
    tcp, cards = setup.scenario["host"]["transport"], len(linux.mptcp.used_paths(row)[0])
    ip = shutil.which("ip")
    if ip is None:
        raise Unmeasured("the program ip (iproute2) tells kernels the addresses of MPTCP")
    limits = f"{ip} mptcp limits set subflow 8 add_addr_accepted 8"
    signals = "".join(
        f"; {ip} mptcp endpoint add {address(1, nic)} signal" for nic in range(1, cards)
    )
    common = {"files": [ip, "guest"], "sysctl": settings(tcp)}
    sends = f"bulk client {address(1)} {PORT} {duration + 100} mptcp"
    blocks = [
        hosts(["host0"], at={"0.3s": limits, f"{BASE_NS + start}ns": sends}, **common),
        hosts(
            ["host1"],
            at={"0.3s": limits + signals},
            run=f"./guest sink {PORT} 500 > /results/rx.csv",
            **common,
        ),
    ]

    def found(result: afflux.Result, out: Path) -> dict[str, float]:
        got = {int(line["time_ns"]): int(line["bytes"]) for line in left(out, "host1", "rx.csv")}
        half, whole = (got[BASE_NS + round(share * duration * 1e9)] for share in (0.5, 1))
        return {
            "half2_mbps": (whole - half) * 8e-6 / (duration / 2),
            "drops": result.summary["drops"],
        }

    end = BASE_NS + duration * 1e9 + 1e6
    return setup, Trial(with_kernels(setup, blocks, end, {}), found, seed)


#: Builders of a setup of the model and a run of kernels, by file.
BUILDERS = {
    "a2_parallel": bulk,
    "a3_cc_loss": bulk,
    "b_datacentre": bulk,
    "c_incast": incast,
    "d_mptcp_bulk": multipath,
}


# ---------------------------------------------------------------------------------------------------------------------- evidence


def write(file: Path, rows: Iterable[Sequence[object]]) -> None:
    new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as out:
        lines = csv.writer(out, lineterminator="\n")
        if new:
            lines.writerow(COLUMNS)
        lines.writerows(rows)


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


# -------------------------------------------------------------------------------------------------------------------------- runs


def cells(ref: Path) -> Iterator[tuple[str, str, Row, list[Row]]]:
    """Yields file, name, row, and all rows of the file."""
    for file, names in CELLS.items():
        rows = read_csv(ref / "linux" / f"{file}.csv", ("name",))
        for name in names:
            yield file, name, next(row for row in rows if row["name"] == name), rows


def simulate(ref: Path, only: str, seeds: int, file: Path) -> None:
    """Runs what has no row yet, seed by seed."""
    bars = Bars.read(ref / "bars.toml")
    done = {(row["run"], row["setting"], row["repetition"]) for row in read(file)}
    for seed in range(1, seeds + 1):
        for name, cell, row, rows in cells(ref):
            place = f"linux.{name}/{cell}"
            if only not in place:
                continue
            metrics = bars.of("linux", name)
            setup, trial = BUILDERS[name](row, rows, seed)
            for setting in (MODEL, KERNEL):
                if (place, setting, str(seed)) in done:
                    continue
                begin = time.monotonic()
                values = of_model(setup) if setting == MODEL else run(trial)
                write(
                    file,
                    [
                        (
                            place,
                            setting,
                            metric,
                            row.get(metric, "") if metric in metrics else "",
                            seed,
                            shown(value),
                        )
                        for metric, value in values.items()
                        if metric in metrics or metric in ("drops", "marked")
                    ],
                )
                told = ", ".join(f"{metric} {shown(value)}" for metric, value in values.items())
                print(
                    f"{cell}, seed {seed}, {setting}: {told} ({time.monotonic() - begin:.0f} s)",
                    flush=True,
                )


def of_model(setup: Setup) -> dict[str, float]:
    done = measure((setup, 3600.0, False))
    if done.error:
        raise Unmeasured(done.error)
    return {{"bneck_drops": "drops"}.get(name, name): value for name, value in done.values.items()}


def main(arguments: list[str] | None = None) -> int:
    from .run import REF

    parser = argparse.ArgumentParser(
        prog="make validate-kernel",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ref", type=Path, default=REF)
    parser.add_argument("--only", default="", help='cells that have this in "linux.file/run"')
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    if trouble := lacking():
        print(f"validate-kernel: {trouble}", file=sys.stderr)
        return 2
    try:
        simulate(options.ref, options.only, options.seeds, options.out)
    except (afflux.Error, Unmeasured, Unreadable) as error:
        print(f"validate-kernel: {error}", file=sys.stderr)
        return 2
    for one in decisions(read(options.out)):
        print(
            f"{one.run} {one.metric}: reference {one.theirs:g}, kernel {spread(one.kernel)}, "
            f"model {spread(one.model)}: {one.right}"
        )
    return 0


def spread(values: Sequence[float]) -> str:
    return f"{median(values):.6g} ({min(values):.6g} to {max(values):.6g})"


def lacking() -> str | None:
    """Returns what is missing for runs of kernels."""
    image = next((one for one in kernels.images() if one.version == kernels.USUAL), None)
    if image is None or image.facts["hz"] != HZ:
        there = "there is none" if image is None else f"that one has {image.facts['hz']}"
        return (
            f"the reference's kernel has {HZ} ticks a second, and in {kernels.directory()} {there}: "
            f"set AFFLUX_KERNELS to a directory of its own, and  afflux kernel build --hz {HZ}"
        )
    if shutil.which("gcc") is None:
        return "gcc compiles the programs of the guests: apt-get install gcc"
    return None


if __name__ == "__main__":
    sys.exit(main())
