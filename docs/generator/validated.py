"""Mapping from rows of `docs/validation.md` to models."""

import fnmatch
import re
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs" / "validation.md"

#: Files of references, and the models that their runs use, as `kind/name`. A test compares this
#: with the scenarios of `make validate`.
COVERED: dict[str, tuple[str, ...]] = {
    "conweave.*": (
        "transport/rdma",
        "congestion control/dcqcn",
        "buffer/conweave",
        "topology/hpcc",
        "wire/ns3rdma",
        "marking/red",
    ),
    "conweave.*_lossless": ("flow control/pfc",),
    "conweave.*fecmp*": ("balance/ecmp",),
    "conweave.*_conga_*": ("balance/conga",),
    "conweave.*_conweave_*": ("balance/conweave",),
    "conweave.*_drill_*": ("balance/drill",),
    "conweave.*_letflow_*": ("balance/letflow",),
    "conweave.L50_2ms_lossless": (
        "balance/ecmp",
        "balance/conga",
        "balance/conweave",
        "balance/drill",
        "balance/letflow",
    ),
    "conweave.L50_2ms_irn": ("balance/ecmp", "balance/conweave", "balance/letflow"),
    "conweave.L80_1ms_irn": ("balance/ecmp", "balance/conweave", "balance/letflow"),
    "conweave.L80_1ms_lossless": ("balance/ecmp", "balance/conweave", "balance/letflow"),
    "hosts.*": (
        "transport/tcp",
        "congestion control/cubic",
        "topology/star",
        "host/timing",
    ),
    "hosts.[er]*": ("congestion control/newreno", "buffer/static"),
    "hosts.real-linux": ("congestion control/bbr", "wire/linux", "topology/custom"),
    "hosts.exact-time": ("congestion control/bbr", "wire/linux", "topology/custom"),
    "hosts.measured-linux": (
        "congestion control/newreno",
        "buffer/static",
        "congestion control/dctcp",
        "marking/ecn step",
    ),
    "hosts.measured-qdisc": (
        "host/qdisc",
        "queueing discipline of hosts/fq",
        "queueing discipline of hosts/pfifo",
        "queue discipline/fq_codel",
    ),
    "linux.*": (
        "transport/tcp",
        "congestion control/cubic",
        "wire/linux",
        "topology/custom",
        "buffer/static",
    ),
    "linux.a3*": (
        "congestion control/newreno",
        "congestion control/htcp",
        "congestion control/bbr",
        "fault/loss",
    ),
    "linux.a[125]*": ("congestion control/newreno",),
    "linux.b_datacentre": (
        "congestion control/newreno",
        "congestion control/htcp",
        "congestion control/dctcp",
        "marking/red",
    ),
    "linux.c_incast": (
        "congestion control/newreno",
        "congestion control/dctcp",
        "traffic pattern/incast",
    ),
    "linux.d_mptcp_bulk": ("transport/mptcp", "congestion control/newreno"),
    "ns3.*": ("transport/tcp", "congestion control/cubic", "wire/ns3p2p", "buffer/static"),
    "ns3.dc": (
        "congestion control/newreno",
        "congestion control/htcp",
        "congestion control/dctcp",
        "congestion control/bbr (ns-3)",
        "queue discipline/codel",
        "topology/dumbbell",
    ),
    "ns3.incast": (
        "congestion control/newreno",
        "congestion control/dctcp",
        "marking/ecn step",
        "topology/star",
    ),
    "ns3.lfn100": (
        "congestion control/newreno",
        "congestion control/htcp",
        "congestion control/bbr (ns-3)",
        "topology/dumbbell",
    ),
    "ns3.lfn1g": ("congestion control/newreno", "topology/dumbbell"),
    "ns3.window": ("topology/dumbbell",),
    "pfabric.*": ("transport/pfabric", "balance/round_robin", "topology/leaf_spine"),
    "pfabric.pfabric_*": ("scheduling/pfabric",),
    "pfabric.dctcp_*": ("marking/ecn step",),
}

Rows = list[list[str]]


@cache
def sections() -> dict[str, Rows]:
    """Returns the rows of the page's tables by the heading above them. Rows of a table below a
    file's heading start with the file's name."""
    found: dict[str, Rows] = {}
    part, file = "", ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            part, file = re.split(r":| \(", line[3:])[0], ""
        elif line.startswith("### "):
            file = line[4:]
        elif line.startswith("| ") and not line.startswith(("| file", "| run")):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            found.setdefault(part, []).append([file, *cells] if file else cells)
    return found


def of(model: str, section: str) -> Rows:
    patterns = [pattern for pattern, models in COVERED.items() if model in models]
    return [
        row
        for row in sections().get(section, [])
        if any(fnmatch.fnmatchcase(row[0], pattern) for pattern in patterns)
    ]
