"""Fabrics with a failed switch: all traffic arrives over other switches."""

import itertools
from pathlib import Path

import pytest

import afflux

FABRIC = """\
format = 1
name = "fabric"

[topology]
{topology}
[[topology.fault]]
link = "{failed}-*"
down = [{{ from = "0s" }}]

[host.transport]
kind = "tcp"
{mptcp}
[[traffic]]
kind = "permutation"
sizes = "100kB"

[run]
until = "1s"

[record]
paths = true
"""
FABRICS = {
    "fat-tree": ('kind = "fat_tree"\nk = 4\n', "core0"),
    "dual-homed": ('kind = "dual_homed_fat_tree"\nk = 4\n', "edge0"),
    "vl2": (
        'kind = "vl2"\naggregation_ports = 4\nintermediate_ports = 4\nhosts_per_tor = 4\n',
        "int0",
    ),
    "vl2, aggregation": (
        'kind = "vl2"\naggregation_ports = 4\nintermediate_ports = 4\nhosts_per_tor = 4\n',
        "agg1",
    ),
    "bcube": ('kind = "bcube"\nports = 4\n', "level1_0"),
    "bcube, three levels": ('kind = "bcube"\nports = 3\nlevels = 3\n', "level0_4"),
}


@pytest.mark.parametrize(
    "mptcp",
    ["", 'mptcp = { manager = "fullmesh", subflows = 4, coupling = "lia" }\n'],
    ids=["tcp", "mptcp"],
)
@pytest.mark.parametrize(("topology", "failed"), FABRICS.values(), ids=FABRICS)
def test_a_failed_switch_is_avoided(tmp_path: Path, topology: str, failed: str, mptcp: str) -> None:
    (tmp_path / "fabric.toml").write_text(
        FABRIC.format(topology=topology, failed=failed, mptcp=mptcp)
    )
    result = afflux.load(tmp_path / "fabric.toml").run()
    assert set(result.flows.column("status")) == {"finished"}
    paths = [path.split(">") for path in result.paths.column("path")]
    assert paths
    assert all(failed not in path for path in paths)


def test_a_failed_link_between_groups_of_a_dragonfly_is_avoided(tmp_path: Path) -> None:
    topology = 'kind = "dragonfly"\nrouters = 3\nhosts_per_router = 2\nglobal_links = 2\n'
    whole = FABRIC.format(topology=topology, failed="none", mptcp="")
    fault = whole[whole.index("[[topology.fault]]") : whole.index("[host.transport]")]

    def links(text: str) -> set[tuple[str, str]]:
        (tmp_path / "fabric.toml").write_text(text)
        result = afflux.load(tmp_path / "fabric.toml").run()
        assert set(result.flows.column("status")) == {"finished"}
        paths = [path.split(">") for path in result.paths.column("path")]
        return {tuple(sorted(pair)) for path in paths for pair in itertools.pairwise(path)}

    def group(router: str) -> int:
        return int(router.removeprefix("router")) // 3

    used = links(whole.replace(fault, ""))
    one, other = min((a, b) for a, b in used if a.startswith("router") and group(a) != group(b))
    left = links(whole.replace("none-*", f"{one}-{other}"))
    assert (one, other) not in left
    assert len(left) > 30


def test_paths_of_bcube_pass_hosts(tmp_path: Path) -> None:
    text = FABRIC.format(topology='kind = "bcube"\nports = 4\n', failed="level0_3", mptcp="")
    (tmp_path / "fabric.toml").write_text(text)
    result = afflux.load(tmp_path / "fabric.toml").run()
    paths = [path.split(">") for path in result.paths.column("path")]
    assert any(node.startswith("host") for path in paths for node in path[1:-1])
    # Hosts of the failed switch change the other digit of the address first, then this one, and
    # change the other one back.
    assert {len(path) for path in paths} <= {3, 5, 7}
