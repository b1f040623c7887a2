"""Runs the benchmark cases (`benches/*.toml`) and writes `out/bench.json`.

Each case runs alternately with the window-log engine on one thread and with the classical engine,
each run in a separate process. The run with the least processor time counts. With
BENCH_INSTRUCTIONS=1 and valgrind installed, it also counts instructions per hop (slow).

    make bench              all cases
    make bench CASE=name    one
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from rich.console import Console

import afflux
from afflux.terminal import drawing
from afflux.words import text

BENCHES = Path(__file__).resolve().parent
OUT = BENCHES.parent / "out" / "bench.json"
REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))


def main() -> int:
    wanted = sys.argv[1:]
    cases = {path.stem: path for path in sorted(BENCHES.glob("*.toml"))}
    unknown = [name for name in wanted if name not in cases]
    if unknown or not cases:
        print(
            f"no benchmark case {', '.join(unknown)}; there are: {', '.join(cases) or 'none'}",
            file=sys.stderr,
        )
        return 2
    rows = []
    for name in wanted or cases:
        if missing := [file for file in inputs(cases[name]) if not file.exists()]:
            print(
                f"{name}: left out, its input is not there: {', '.join(map(str, missing))}",
                file=sys.stderr,
            )
            continue
        print(f"{name} …", file=sys.stderr)
        rows.append(measure(name, cases[name]))
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(json.dumps(rows, indent=2) + "\n")
    show(rows)
    print(f"written to {OUT.relative_to(Path.cwd()) if OUT.is_relative_to(Path.cwd()) else OUT}")
    return 0


def inputs(case: Path) -> list[Path]:
    blocks = tomllib.loads(case.read_text()).get("traffic", [])
    return [case.parent / block["file"] for block in blocks if "file" in block]


def measure(name: str, case: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="afflux-bench-") as scratch:
        dir = Path(scratch) / "result"
        fast, classical = [], []
        for _ in range(REPEATS):
            fast.append(run(case, dir, "window_log"))
            classical.append(run(case, dir, "classical"))
        hashes = ("result_hash", "ports_hash", "counters_hash")
        if any(run[key] != fast[0][key] for run in fast + classical for key in hashes):
            raise SystemExit(f"{name}: the engines disagree; this is a defect of afflux")
        best, other = (min(runs, key=lambda s: s["engine_cpu_s"]) for runs in (fast, classical))
        links = afflux.Result.open(dir).links
        hosts = sum(1 for node in set(links.column("from")) if re.fullmatch(r"host\d+", node))
        return {
            "case": name,
            "hosts": hosts,
            "packet_hops": hops(best),
            "drops": best["drops"],
            "ecn_marks": best["ecn_marks"],
            "engine_cpu_s": best["engine_cpu_s"],
            "ns_per_hop": ns_per_hop(best),
            "mhops_per_cpu_s": 1e3 / ns_per_hop(best),
            "classical_ns_per_hop": ns_per_hop(other),
            "ratio_to_classical": ns_per_hop(other) / ns_per_hop(best),
            "instructions_per_hop": instructions_per_hop(case, dir, best["simulated_ns"]),
            "peak_rss_bytes": best["peak_rss_bytes"],
        }


def run(
    case: Path, dir: Path, engine: str, *, before: tuple[str, ...] = (), until_ns: int | None = None
) -> dict[str, Any]:
    """Returns the summary of one run."""
    command = [
        *before,
        sys.executable,
        "-m",
        "afflux",
        "run",
        str(case),
        "-o",
        str(dir),
        "--force",
        "--json",
    ]
    command += ["--threads", "1", "--set", f"run.engine={engine}"]
    if until_ns is not None:
        command += ["--set", f"run.until={until_ns}ns"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)


def hops(summary: dict[str, Any]) -> int:
    """Returns the packet-hops without PAUSE frames."""
    return summary["packet_hops"] - summary["pause_frames"]


def ns_per_hop(summary: dict[str, Any]) -> float:
    return summary["engine_cpu_s"] * 1e9 / hops(summary)


def instructions_per_hop(case: Path, dir: Path, simulated_ns: int) -> float | None:
    """Returns the instructions per hop in the second tenth of the run: the difference between two
    runs, in which everything except the simulation cancels."""
    if os.environ.get("BENCH_INSTRUCTIONS") != "1" or not shutil.which("valgrind"):
        return None
    counted = []
    for tenths in (1, 2):
        log = dir.parent / f"callgrind-{tenths}"
        valgrind = (
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={log}",
            f"--log-file={log}.log",
        )
        summary = run(
            case, dir, "window_log", before=valgrind, until_ns=simulated_ns * tenths // 10
        )
        found = re.search(r"^(?:summary|totals): (\d+)", log.read_text(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"{case.stem}: valgrind counted nothing")
        counted.append((int(found[1]), hops(summary)))
    (before, hops_before), (after, hops_after) = counted
    return (after - before) / (hops_after - hops_before)


def show(rows: list[dict[str, Any]]) -> None:
    table = drawing.table(
        "",
        "case",
        "hosts",
        "hops",
        "drops",
        "marks",
        "ns/hop",
        "Mhop/s",
        "classical",
        "ratio",
        "instr/hop",
        "memory",
    )
    for row in rows:
        instructions = row["instructions_per_hop"]
        table.add_row(
            row["case"],
            text.count(row["hosts"]),
            f"{row['packet_hops'] / 1e6:.1f} M",
            text.count(row["drops"]),
            text.count(row["ecn_marks"]),
            f"{row['ns_per_hop']:.1f}",
            f"{row['mhops_per_cpu_s']:.1f}",
            f"{row['classical_ns_per_hop']:.0f}",
            f"{row['ratio_to_classical']:.1f}×",
            "–" if instructions is None else f"{instructions:.0f}",
            text.size(row["peak_rss_bytes"]),
        )
    # Long lines wrap, so that no number is cut off.
    Console(width=max(Console().width, 110)).print(table, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
