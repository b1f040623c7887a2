"""Inputs in the formats of other simulators: flow lists of the reference runs, and public traces
that are not part of this repository."""

import json
import lzma

import pytest
from conftest import REPO
from given import REFERENCE


def coflows(command, trace, count: int) -> None:
    """Runs the first `count` coflows of a trace to their end. The notes must mention flows within a
    host."""
    done = command(
        "run",
        REPO / "examples/coflows.toml",
        "--set",
        f"traffic.0.file={trace}",
        "--set",
        f"traffic.0.coflows={count}",
        "--json",
        "-o",
        "out",
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["jobs"]["finished"] == count
    assert summary["flows"]["unfinished"] == 0
    assert any("mapper and reducer share a host" in note for note in summary["notes"])


def test_coflows(command, tmp_path):
    """A made-up trace: mappers in one to eight racks, reducers in four racks, each of which fetches
    1 to 12 MB."""
    lines = ["150 8"]
    for coflow in range(8):
        mappers = [(17 * coflow + 3 * mapper) % 150 for mapper in range(1 + coflow)]
        # One rack has both mappers and reducers.
        reducers = {mappers[0], *((40 + 7 * coflow + 11 * reducer) % 150 for reducer in range(3))}
        to = [f"{rack}:{1 + (coflow + rack) % 12}.0" for rack in sorted(reducers)]
        lines.append(
            " ".join(map(str, [coflow + 1, 900 * coflow, len(mappers), *mappers, len(to), *to]))
        )
    (tmp_path / "trace.txt").write_text("\n".join(lines) + "\n")
    coflows(command, tmp_path / "trace.txt", 6)


def test_facebook_coflows(command, shared):
    # Coflow twelve has more than ten times the bytes of the first eleven: 147 mappers, 138
    # reducers.
    coflows(command, shared / "data/traces/FB2010-1Hr-150-0.txt", 11)


FABRIC = """\
format = 1
[topology]
kind = "{kind}"
{fabric}
[host.transport]
congestion = "dctcp"
min_rto = "1ms"
[switch]
ecn = {{ kmin = "100kB", kmax = "400kB", pmax = 0.2 }}
[[traffic]]
kind = "flows"
format = "{format}"
file = "{file}"
[run]
until = "{until}"
"""


@pytest.mark.parametrize(
    "flows", ["ls128_ali_L80_0.001s", "micro_incast16_1MB", "micro_perm", "micro_single"]
)
def test_conweave_flow_lists(command, scenario, tmp_path, flows):
    inputs = REFERENCE / "conweave/inputs"
    (tmp_path / "flows.txt").write_bytes(lzma.decompress((inputs / f"{flows}.txt.xz").read_bytes()))
    fabric = f'file = "{inputs / "leaf_spine_128_100G_OS2.txt"}"'
    text = FABRIC.format(kind="hpcc", fabric=fabric, format="hpcc", file="flows.txt", until="300us")
    done = command("run", scenario(text=text), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    listed = int((tmp_path / "flows.txt").read_text().split()[0])
    assert summary["flows"]["started"] + summary["flows"]["not_started"] == listed
    assert summary["conservation"]["holds"]


def test_htsim_connection_matrix(command, scenario):
    matrix = REFERENCE / "htsim/perm_128n_10000000B.cm"
    text = FABRIC.format(
        kind="fat_tree", fabric="k = 8", format="htsim", file=matrix, until="100us"
    )
    done = command("run", scenario(text=text), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"]["started"] == 128
