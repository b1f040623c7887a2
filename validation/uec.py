"""Reader of uet-htsim and csg-htsim on connection matrices: `uec/runs.csv`, `uec/fct.csv.gz`,
`uec/inputs/*.cm`.

afflux has NDP and RoCE with PFC, so the runs of `htsim_ndp` and `htsim_roce` are simulated. afflux
lacks Ultra Ethernet's own congestion control (`htsim_uec`: NSCC, RCCC), EQDS, and matrices whose
flows begin when others end. Rows of such runs say so, and count as neither run nor missed.

- The fat-tree is in `fabric.toml` next to the runs, or else in `fabrics.toml` here: the README's,
  with 128 hosts. afflux itself reads the matrices.
- NDP: a frame of `-mtu` bytes carries as many bytes of the flow, so data has no header. Answers,
  pulls and trimmed frames have 64 B. Pulls are sent at (mtu + 64) · 8 / (0.99 · rate). Queues hold
  `-q` frames of data and twice as many bytes of headers (spec/ai.md §5.1, §5.2). Every frame takes
  its own path: at random here, in shuffled turns there (`-strat perm`) or hashed (`ecmp_host`).
- RoCE: frames of `-mtu` bytes with 64 B of header, a path per flow, no congestion control, PFC and
  no loss. The PFC thresholds there are 20 and 25 frames. Here the memory is large and the threshold
  dynamic.
- `last_us` and the others are the times at which the sender has the last acknowledgement, as in the
  reference.
- bars.toml has no entry for this reference. Two runs have a tolerance in spec/ai.md §9.5, which is
  used: A4 and A17. The others are informational.
"""

import gzip
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from afflux.results.statistics import quantile

from . import fabric as tables
from . import kept
from .bars import Bar, Bars, median
from .case import (
    Case,
    Row,
    Runner,
    Setup,
    Unmeasured,
    Unreadable,
    maybe,
    number,
    one_line,
    read_csv,
)

SET = "uec"
HEADER = 64
#: Number of seeds, which draw paths.
SEEDS = 5
#: Options of runs that lack them in runs.csv (spec/ai.md §9.3).
OPTIONS = {
    "ndpU_incast_cw40_q40": "htsim_ndp -strat perm -nodes 128 -tm inputs/incast_128.cm -cwnd 40 -q 40 -mtu 4150",
    "ndpU_perm_cw30_q8_9k": "htsim_ndp -strat perm -nodes 128 -tm inputs/perm_128n_128c_2MB.cm -cwnd 30 -q 8 -mtu 9000",
    "ndpU_perm_cw40": "htsim_ndp -strat perm -nodes 128 -tm inputs/perm_128n_128c_2MB.cm -cwnd 40 -q 8 -mtu 4150",
    "roceU_perm_pfc": "htsim_roce -strat ecmp_host -paths 128 -nodes 128 -tm inputs/perm_128n_128c_2MB.cm -q 200 -mtu 4150 -queue_type lossless_input",
}
#: spec/ai.md §9.5: A4 "NDP 127→1 incast, window 9", A17 "RoCE+PFC incast".
BARS = {
    "csg_ndp_incast_cw9": {"last_us": Bar(rel=0.002)},
    "roce_incast_pfc": {"last_us": Bar(rel=0.01)},
}
METRICS = ("first_us", "median_us", "p99_us", "last_us")
#: Percentiles of the distribution in fct.csv.gz.
SHARES = {"p10_us": 0.1, "p25_us": 0.25, "p75_us": 0.75, "p90_us": 0.9}


def cases(folder: Path, bars: Bars) -> Iterator[Case]:
    try:
        runs = read_csv(folder / "runs.csv", ("run", *METRICS, "options"))
        spreads = kept.of(folder, "fct.csv.gz", spread)
    except Unreadable as error:
        yield Case(f"{SET}.runs", "runs.csv", problem=str(error), bars=bars.of(SET))
        return
    for row in runs:
        run = row["run"]
        own = bars.of(SET, "runs") or BARS.get(run, {})
        whole = Case(f"{SET}.runs", run, {name: maybe(row, name) for name in METRICS}, own)
        parts = Case(
            f"{SET}.fct", run, dict(spreads.get(run) or dict.fromkeys(SHARES)), bars.of(SET, "fct")
        )
        try:
            scenario, whole.absent = scenario_of(row, folder)
        except Unreadable as error:
            whole.problem = str(error)
        if whole.problem or whole.absent:
            yield whole
            continue
        whole.setups = [
            Setup(scenario, completions, {}, seed=seed)
            for seed in range(1, bars.repetitions(SET, "runs", least=SEEDS) + 1)
        ]
        parts.setups = whole.setups
        yield whole
        yield parts


def spread(path: Path) -> dict[str, dict[str, float]]:
    """Returns the distribution of completion times by run."""
    times: dict[str, list[float]] = {}
    for row in read_csv(path, ("run", "finished_us")):
        times.setdefault(row["run"], []).append(number(row, "finished_us"))
    return {
        run: {name: quantile(sorted(here), share) for name, share in SHARES.items()}
        for run, here in times.items()
    }


#: Options that the scenario reproduces or that have no effect on it.
KNOWN = {
    "-strat",
    "-paths",
    "-nodes",
    "-tm",
    "-cwnd",
    "-q",
    "-mtu",
    "-end",
    "-queue_type",
    "-pfc_thresholds",
    "-o",
}


#: Programs that afflux has a model of.
MODELLED = ("htsim_ndp", "htsim_roce")


def options_of(row: Row) -> list[str]:
    return (row["options"] or OPTIONS.get(row["run"], "")).split()


def scenario_of(row: Row, folder: Path) -> tuple[dict[str, Any], str | None]:
    """Returns the scenario, and the name of a model that afflux lacks, if any."""
    words = options_of(row)
    program = words[0] if words and words[0].startswith("htsim_") else "htsim_uec"
    if program == "htsim_eqds":
        return {}, "EQDS"
    if program not in MODELLED:
        return {}, "Ultra Ethernet's congestion control (NSCC, RCCC)"
    options = dict(pairwise(words))
    if unknown := [
        word for word in words if re.fullmatch(r"-[a-z]\w*", word) and word not in KNOWN
    ]:
        raise Unreadable(f"the option {unknown[0]} is not understood")
    try:
        mtu, queue, hosts = (int(options[name]) for name in ("-mtu", "-q", "-nodes"))
        window = int(options["-cwnd"]) if program == "htsim_ndp" else 0
        matrix = folder / options["-tm"]
    except (KeyError, ValueError):
        raise Unreadable(f"options {' '.join(words)!r} cannot be understood") from None
    table = tables.of(SET, folder, row["run"])
    if 4 * hosts != table.get("k", 0) ** 3:
        raise Unreadable(f"{hosts} hosts are not those of a fat-tree with k = {table.get('k')}")
    if not matrix.is_file():
        matrix = matrix.with_name(f"{matrix.name}.gz")
    if "Triggers " in text_of(matrix)[:100]:
        return {}, "flows that begin when others end (triggers of a matrix)"
    if program == "htsim_ndp":
        transport = {
            "kind": "ndp",
            "initial_window": window,
            "pull_rate": round(0.99 * mtu / (mtu + HEADER), 6),
        }
        return scenario(
            table,
            matrix,
            mtu,
            0,
            transport,
            {
                "trimming": {
                    "data": f"{queue * mtu}B",
                    "headers": f"{2 * queue * mtu}B",
                    "header": f"{HEADER}B",
                }
            },
        ), None
    lossless = {
        "sharing": "sonic",
        "buffer": "200MB",
        "alpha": 8,
        "mmu": {"lossless_alpha": 1},
        "pfc": {"priorities": [0]},
    }
    return scenario(
        table, matrix, mtu, HEADER, {"kind": "rdma", "mode": "lossless"}, lossless
    ), None


def text_of(matrix: Path) -> str:
    try:
        return (
            gzip.decompress(matrix.read_bytes()) if matrix.suffix == ".gz" else matrix.read_bytes()
        ).decode("ascii")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Unreadable(f"the matrix {matrix.name} cannot be read: {one_line(error)}") from None


def scenario(
    table: dict[str, Any],
    matrix: Path,
    mtu: int,
    header: int,
    transport: dict[str, Any],
    switch: dict[str, Any],
) -> dict[str, Any]:
    short = dict.fromkeys(("ack", "syn"), f"{HEADER}B") | dict.fromkeys(
        ("sack_base", "sack_block", "min_frame", "gap"), "0B"
    )
    wire = {"data_header": f"{header}B", "mtu_header": f"{header}B"} | short
    return {
        "format": 1,
        "topology": {"kind": "fat_tree", **table},
        "switch": switch,
        "host": {"mtu": f"{mtu}B", "wire": wire, "timing": "exact", "transport": transport},
        "traffic": [{"kind": "flows", "file": str(matrix.resolve()), "format": "htsim"}],
        "run": {"fct_end": "last_ack"},
        "record": {"explain": False},
    }


def completions(runner: Runner, p: dict[str, Any]) -> dict[str, float]:
    times = list(runner.run(ports=False).flows.column("fct_ns"))
    if None in times:
        raise Unmeasured(f"{times.count(None)} flows did not end")
    ours = sorted(time / 1e3 for time in times)
    values = {
        "first_us": ours[0],
        "median_us": median(ours),
        "p99_us": quantile(ours, 0.99),
        "last_us": ours[-1],
    }
    return values | {name: quantile(ours, share) for name, share in SHARES.items()}
