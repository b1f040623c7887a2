"""Other people's inputs: public traces and flow lists that are no part of this repository."""

import json
import lzma

import pytest
from conftest import REPO


def test_facebook_coflows(command, shared):
    trace = shared / "data/traces/FB2010-1Hr-150-0.txt"
    done = command("run", REPO / "examples/coflows.toml", "--set", f"traffic.0.file={trace}", "--set", "traffic.0.coflows=60", "--json", "-o", "fb")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["jobs"]["finished"] == 60
    assert summary["flows"]["unfinished"] == 0
    assert any("mapper and reducer share a host" in note for note in summary["notes"])


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


@pytest.mark.parametrize("flows", ["ls128_ali_L50_0.0005s", "micro_incast16_1MB", "micro_perm", "micro_single"])
def test_conweave_flow_lists(command, scenario, shared, tmp_path, flows):
    inputs = shared / "reference/conweave/inputs"
    (tmp_path / "flows.txt").write_bytes(lzma.decompress((inputs / f"{flows}.txt.xz").read_bytes()))
    fabric = f'file = "{inputs / "leaf_spine_128_100G_OS2.txt"}"'
    text = FABRIC.format(kind="hpcc", fabric=fabric, format="hpcc", file="flows.txt", until="300us")
    done = command("run", scenario(text=text), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    listed = int((tmp_path / "flows.txt").read_text().split()[0])
    assert summary["flows"]["started"] + summary["flows"]["not_started"] == listed
    assert summary["conservation"]["holds"]


def test_htsim_connection_matrix(command, scenario, shared):
    matrix = shared / "reference/htsim/perm_128n_10000000B.cm"
    text = FABRIC.format(kind="fat_tree", fabric="k = 8", format="htsim", file=matrix, until="100us")
    done = command("run", scenario(text=text), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"]["started"] == 128
