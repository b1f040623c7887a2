"""Forms of SONiC's files, and the scenarios that they are imported into."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from sonic_base import PORTS, base, computed, imported
from test_sonic_rows import said

from afflux.exchange import sonic


def read(folder: Path, document: Any) -> tuple[dict[str, Any], Any]:
    path = folder / "config_db.json"
    path.write_text(json.dumps(document, indent=1))
    text, account = sonic.imported([path])
    return tomllib.loads(text), account


def test_a_table_and_entries_of_it_elsewhere_are_one(tmp_path):
    tables: Any = base()
    entry = tables["BUFFER_PG"].pop("Ethernet0|0")
    wanted, _ = read(tmp_path, base())
    assert read(tmp_path, {"BUFFER_PG|Ethernet0|0": entry, **tables})[0] == wanted
    first, second = dict(tables), {"BUFFER_PG": tables["BUFFER_PG"]}
    first["BUFFER_PG"] = {"Ethernet0|0": entry}
    assert read(tmp_path, [first, second])[0] == wanted
    with pytest.raises(ValueError, match=r"BUFFER_PG → Ethernet0\|3-4 twice"):
        read(tmp_path, [base(), {"BUFFER_PG": {"Ethernet0|3-4": entry}}])


def test_deleted_entries_are_left_out(tmp_path):
    key, entry = "BUFFER_PG_TABLE:Ethernet0:0", {"profile": "ingress_lossy_profile"}
    tables: Any = base()
    del tables["BUFFER_PG"]["Ethernet0|0"]
    deletes = {key: entry, "OP": "DEL"}
    scenario, account = read(tmp_path, [tables, {key: entry, "OP": "SET"}, deletes])
    assert scenario == read(tmp_path, tables)[0]
    assert said(account, '"OP": "DEL"', key)
    with pytest.raises(ValueError, match='OP = \'MOD\', expected "SET" or "DEL"'):
        read(tmp_path, [tables, {key: entry, "OP": "MOD"}])


@pytest.mark.parametrize("value", [[], None, "x"])
def test_a_table_that_is_no_object_is_refused(tmp_path, value):
    tables: Any = base()
    del tables["BUFFER_PG"]
    with pytest.raises(ValueError, match=r"config_db\.json:\d+: found the table BUFFER_PG as "):
        read(tmp_path, {"BUFFER_PG": value, "BUFFER_PG|Ethernet0|1": {"profile": "x"}, **tables})


def test_groups_and_queues_without_a_class_are_named(tmp_path):
    tables = base()
    tables["BUFFER_PG"]["Ethernet0|9"] = {"profile": "ingress_lossy_profile"}
    tables["BUFFER_QUEUE"]["Ethernet0|12"] = {"profile": "egress_lossy_profile"}
    _, account = imported(tmp_path, tables)
    assert said(account, "no traffic class is in priority group 9", "BUFFER_PG|Ethernet0|9")
    assert said(account, "no traffic class is in queue 12", "BUFFER_QUEUE|Ethernet0|12")


def test_a_port_without_a_cable(tmp_path):
    tables = computed()
    wanted, _ = imported(tmp_path, tables)
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet8"] = "None"
    assert imported(tmp_path, tables)[0] == wanted


def test_pools_of_computed_profiles_are_used(tmp_path):
    _, account = imported(tmp_path, computed())
    assert not said(account, "ingress_lossless_pool", "takes memory from this pool")
    tables = computed()
    del tables["BUFFER_PG"]["Ethernet0|0"], tables["BUFFER_PG"]["Ethernet4|0"]
    _, account = imported(tmp_path, tables)
    assert not said(account, "ingress_lossless_pool", "takes memory from this pool")


def test_ports_with_eight_lanes_without_a_shared_headroom_pool(tmp_path):
    """Numbers by hand, from buffer_headroom_mellanox.lua: SN4700, 400 Gbps, 40 m."""
    tables = computed()
    tables["PORT"] = {
        port: {"speed": "400000", "lanes": "0,1,2,3,4,5,6,7", "mtu": "9100"} for port in PORTS
    }
    tables["DEVICE_METADATA"] = {"localhost": {"platform": "x86_64-mlnx_msn4700-r0"}}
    scenario, account = imported(tmp_path, tables)
    mmu = scenario["switch"]["mmu"]
    assert (mmu["xon"], mmu["lossless_reserved"]) == ("37888B", "37888B")
    assert said(account, "8 lanes", "with a shared headroom pool")
    assert not said(account, "PORT: lanes")
    del tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"]
    scenario, account = imported(tmp_path, tables)
    xoff = int(scenario["switch"]["pfc"]["headroom"][:-1])
    size = -(-(xoff + 37_888 + 9_100) // 1024) * 1024
    assert scenario["switch"]["mmu"]["xon"] == "37888B"
    assert scenario["switch"]["mmu"]["lossless_reserved"] == f"{size - xoff}B"
    assert said(account, f"size = {size} B includes xoff")
    # Only the ratio makes SONiC share the headroom.
    tables["DEFAULT_LOSSLESS_BUFFER_PARAMETER"]["AZURE"]["over_subscribe_ratio"] = "2"
    scenario, _ = imported(tmp_path, tables)
    assert scenario["switch"]["mmu"]["lossless_reserved"] == "37888B"


FABRIC = """\
format = 1
[topology]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
[switch]
sharing = "sonic"
buffer = "32MB"
alpha = 1.0
latency = "800ns"
balance = "letflow"
forwarding = "cut_through"
quantum = "3000B"
scheduling = "dwrr"
[switch.mmu]
cell = "256B"
lossy_ingress_alpha = 2.0
[[switch.queue]]
weight = 1
[[switch.queue]]
priorities = [1]
weight = 1
[[switch.override]]
match = "leaf*"
buffer = "9MB"
[[traffic]]
kind = "permutation"
sizes = "1MB"
"""


def into(folder: Path, tables: Any, match: str | None = None) -> tuple[dict[str, Any], Any]:
    path, scenario, out = folder / "config_db.json", folder / "fabric.toml", folder / "out.toml"
    path.write_text(json.dumps(tables))
    if not scenario.exists():
        scenario.write_text(FABRIC)
    text, account = sonic.imported([path], scenario, out, match)
    return tomllib.loads(text), account


def test_what_tables_cannot_say_stays(tmp_path):
    scenario, account = into(tmp_path, base())
    switch = scenario["switch"]
    kept = {key: switch[key] for key in ("latency", "balance", "forwarding")}
    assert kept == {"latency": "800ns", "balance": "letflow", "forwarding": "cut_through"}
    assert switch["mmu"]["cell"] == "256B"
    assert switch["mmu"]["lossy_ingress_alpha"] == 8
    assert switch["buffer"] == "64000000B"
    assert said(account, "[switch] quantum", "is removed")
    assert said(account, "[[switch.override]] for leaf*", "take precedence")


def test_a_second_map_of_dscps_is_said(tmp_path):
    into_first = into(tmp_path, base(), "leaf*")
    assert not said(into_first[1], "dscp_to_priority")
    (tmp_path / "fabric.toml").write_text(
        sonic.imported([tmp_path / "config_db.json"], tmp_path / "fabric.toml", None, "leaf*")[0]
    )
    tables = base()
    tables["DSCP_TO_TC_MAP"]["AZURE"]["0"] = "1"
    _, account = into(tmp_path, tables, "spine*")
    assert said(account, "[host] dscp_to_priority", "DSCP 0: 0, now 1")


def test_a_pattern_that_matches_nothing_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^--match nosuch\*: .*fabric\.toml: no node matches"):
        into(tmp_path, base(), "nosuch*")
