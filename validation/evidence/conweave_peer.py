"""Runs ConWeave's own simulator, seed by seed, on the runs of the reference: `python -m
validation.evidence.conweave_peer TREE RUN -n 10 -o FILE`.

TREE is a built checkout (README.md tells how to build it). The text of the configuration and its
values are those of its `run.py`. Topology, flows, scheme and mode are those of the reference's run.
Only RANDOM_SEED changes. Seed 1 must give the reference's completion times to the nanosecond, and
the script reports whether it does.
"""

import argparse
import csv
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from afflux.results.statistics import quantile

from ..conweave import read_finished, read_flows, read_json, read_lines
from ..run import REF
from .ours import COLUMNS, short

#: Scheme numbers, from lb_modes in the `run.py` of that tree.
SCHEMES = {"fecmp": 0, "drill": 2, "conga": 3, "letflow": 6, "conweave": 9}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m validation.evidence.conweave_peer", description=__doc__
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("run")
    parser.add_argument("-n", "--number", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="seed")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--ref", type=Path, default=REF)
    options = parser.parse_args(arguments)
    folder = options.ref / "conweave" / options.run
    summary = read_json(folder / "summary.json")
    inputs = folder.parent / "inputs"
    flows = read_flows(inputs / f"{summary['flow_file']}.xz")
    theirs = read_finished(folder / "fct.txt.xz", flows)
    new = not options.out.exists()
    with options.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for seed in range(options.first, options.first + options.number):
            with tempfile.TemporaryDirectory() as scratch:
                found = simulate(options.tree.resolve(), Path(scratch), summary, inputs, seed)
                (found / "fct.txt.xz").write_bytes(lzma.compress((found / "fct.txt").read_bytes()))
                finished = read_finished(found / "fct.txt.xz", flows)
                pauses = sum(
                    line.endswith(" 1") for line in (found / "pfc.txt").read_text().splitlines()
                )
                echoed = sum(
                    int(line.split()[2]) for line in (found / "cnp.txt").read_text().splitlines()
                )
            if seed == 1:
                same = [fct for fct, _ in finished] == [fct for fct, _ in theirs]
                print(
                    f"seed 1 {'gives' if same else 'DOES NOT GIVE'} the reference's completion times"
                )
            slowdowns = sorted(max(1.0, fct / alone) for fct, alone in finished)
            values = {
                "micro_fct": sum(fct for fct, _ in finished) / sum(fct for fct, _ in theirs),
                "slowdown_mean": sum(slowdowns) / len(slowdowns),
                "slowdown_p99": quantile(slowdowns, 0.99),
                # Numbers from its files: PAUSE frames as received, marks as echoed. It only counts
                # the PAUSE frames and marks that it sends.
                "pauses_received": float(pauses),
                "marks_echoed": float(echoed),
            }
            known = {
                "micro_fct": 1.0,
                "slowdown_mean": summary["all"]["all"]["avg"],
                "slowdown_p99": summary["all"]["all"]["p99"],
            }
            known |= {
                "pauses_received": summary["pfc_pause_rx"],
                "marks_echoed": summary["cnp_ecn"],
            }
            for metric, value in values.items():
                writer.writerow(
                    (
                        f"conweave.{options.run}/{options.run}",
                        "the simulator itself",
                        metric,
                        short(known.get(metric)),
                        seed,
                        short(value),
                    )
                )
            file.flush()
    return 0


def simulate(tree: Path, scratch: Path, summary: dict, inputs: Path, seed: int) -> Path:
    source = (tree / "run.py").read_text(encoding="utf-8")
    template = source.split('config_template = """', 1)[1].split('"""', 1)[0]
    topology = (inputs / f"{summary['topo']}.txt").resolve()
    (scratch / "flows.txt").write_text(
        "\n".join(read_lines(inputs / f"{summary['flow_file']}.xz")) + "\n", encoding="ascii"
    )
    lossless, conweave = summary["mode"] == "lossless", summary["lb"] == "conweave"
    window = re.search(r"_(\d+)ms_", f"_{summary['name']}_")
    per_rate = [bits * 10**8 for bits in (200, 500, 1000, 2000, 2500, 4000)]

    def maps(value: str) -> str:
        return "6 " + " ".join(f"{rate} {value}" for rate in per_rate)

    values = {
        "qlen_mon_start": 2.0,
        "qlen_mon_end": 2.0 + (int(window[1]) / 1e3 if window else 0.001),
        "flowgen_start_time": 2.0,
        "flowgen_stop_time": 2.0 + (int(window[1]) / 1e3 if window else 0.001),
        "sw_monitoring_interval": 10_000,
        "load": 40,
        "buffer_size": 9,
        "lb_mode": SCHEMES[summary["lb"]],
        "cwh_tx_expiry_time": 300 if conweave else 1000,
        "cwh_extra_reply_deadline": 4,
        "cwh_path_pause_time": 16,
        "cwh_extra_voq_flush_time": 16 if conweave else 64,
        "cwh_default_voq_waiting_time": 200 if conweave else 400,
        "enabled_pfc": int(lossless),
        "enabled_irn": int(not lossless),
        "cc_mode": 1,
        "ai": 40.0,
        "hai": 100.0,
        "dctcp_ai": 1000,
        "has_win": 0,
        "var_win": 0,
        "fast_react": 0,
        "mi": 0,
        "int_multi": 1,
        "ewma_gain": 0.00390625,
        "kmax_map": maps("400"),
        "kmin_map": maps("100"),
        "pmax_map": maps("0.20"),
    }
    text = template.format(id="ID", topo="TOPO", flow="FLOW", **values)
    text = text.replace("config/TOPO.txt", str(topology)).replace(
        "config/FLOW.txt", str(scratch / "flows.txt")
    )
    text = re.sub(
        r"mix/output/ID/ID_(?:in|out)_?(\w*)\.txt",
        lambda match: str(scratch / f"{match[1] or 'in'}.txt"),
        text,
    )
    text = text.replace("RANDOM_SEED 1", f"RANDOM_SEED {seed}")
    (scratch / "config.txt").write_text(text, encoding="utf-8")
    with (scratch / "log").open("w") as log:
        subprocess.run(
            [str(tree / "network-load-balance"), str(scratch / "config.txt")],
            cwd=tree,
            check=True,
            stdout=log,
            stderr=log,
        )
    return scratch


if __name__ == "__main__":
    sys.exit(main())
