"""Import and export of the settings of real switches and hosts."""

import gzip
import itertools
import json
import lzma
import re
import tomllib
from pathlib import Path

import pytest

from afflux import _core
from afflux.exchange import Account, sonic

CONFIG = {
    "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "26": "3", "0": "0"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
    "SCHEDULER": {
        "scheduler.0": {"type": "DWRR", "weight": "14"},
        "scheduler.1": {"type": "DWRR", "weight": "15"},
        "scheduler.2": {"type": "STRICT"},
    },
    "WRED_PROFILE": {
        "AZURE_LOSSLESS": {
            "wred_green_enable": "true",
            "ecn": "ecn_all",
            "green_min_threshold": "1048576",
            "green_max_threshold": "2097152",
            "green_drop_probability": "5",
        }
    },
    "QUEUE": {
        **{
            f"Ethernet{p}|{q}": {"scheduler": "scheduler.0"}
            for p in (0, 4)
            for q in (0, 1, 2, 5, 6)
        },
        **{
            f"Ethernet{p}|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
            for p in (0, 4)
        },
        **{f"Ethernet{p}|7": {"scheduler": "scheduler.2"} for p in (0, 4)},
    },
    "PORT_QOS_MAP": {
        f"Ethernet{p}": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3,4"}
        for p in (0, 4)
    },
    "BUFFER_POOL": {
        "ingress_lossless_pool": {
            "type": "ingress",
            "mode": "dynamic",
            "size": "10875072",
            "xoff": "4194112",
        },
        "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"},
    },
    "BUFFER_PROFILE": {
        "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"},
        "pg_lossless_25000_5m_profile": {
            "pool": "ingress_lossless_pool",
            "size": "4608",
            "xoff": "39936",
            "xon": "4608",
            "xon_offset": "4608",
            "dynamic_th": "0",
        },
    },
    "BUFFER_PG": {f"Ethernet{p}|3-4": {"profile": "pg_lossless_25000_5m_profile"} for p in (0, 4)},
    "BUFFER_QUEUE": {f"Ethernet{p}|0-2": {"profile": "egress_lossy_profile"} for p in (0, 4)},
    "PFC_WD": {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        **{
            f"Ethernet{p}": {"action": "drop", "detection_time": "200", "restoration_time": "400"}
            for p in (0, 4)
        },
    },
}


@pytest.fixture
def config(tmp_path):
    """Returns a function that writes a configuration changed by `change`."""

    def write(change=lambda tables: None):
        tables = json.loads(json.dumps(CONFIG))
        change(tables)
        path = tmp_path / "config_db.json"
        path.write_text(json.dumps(tables, indent=2))
        return path

    return write


def test_what_is_imported(command, config, tmp_path):
    done = command("import", "sonic", config(), "-o", "leaf.toml")
    assert done.returncode == 0, done.stderr
    switch = tomllib.loads((tmp_path / "leaf.toml").read_text())["switch"]
    assert switch["sharing"] == "sonic"
    assert switch["buffer"] == "15069184B"
    assert switch["alpha"] == 8
    assert switch["mmu"]["lossless_alpha"] == 1
    assert switch["pfc"]["priorities"] == [3, 4]
    assert switch["pfc"]["headroom"] == "39936B"
    assert switch["queue"][3]["weight"] == 15
    assert switch["queue"][3]["ecn"] == {
        "kmin": "1048576B",
        "kmax": "2097152B",
        "pmax": 0.05,
        "incapable": "drop",
    }
    assert switch["queue"][7]["strict"]
    assert command("run", "leaf.toml").returncode == 0


def test_export_of_import(command, config):
    assert command("import", "sonic", config(), "-o", "leaf.toml").returncode == 0
    done = command("export", "sonic", "leaf.toml")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == CONFIG


def test_a_changed_design_changes_what_it_must(command, config, tmp_path):
    command("import", "sonic", config(), "-o", "leaf.toml")
    path = tmp_path / "leaf.toml"
    path.write_text(
        path.read_text()
        .replace('kmin = "1048576B"', 'kmin = "150000B"')
        .replace('headroom = "39936B"', 'headroom = "62464B"')
    )
    done = command("export", "sonic", "leaf.toml")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)
    assert {name for name in tables if tables[name] != CONFIG[name]} == {
        "WRED_PROFILE",
        "QUEUE",
        "BUFFER_PROFILE",
    }
    assert tables["BUFFER_PROFILE"]["pg_lossless_25000_5m_profile"]["xoff"] == "62464"
    assert (
        tables["WRED_PROFILE"][tables["QUEUE"]["Ethernet4|3"]["wred_profile"]][
            "green_min_threshold"
        ]
        == "150000"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda t: t["BUFFER_POOL"]["egress_lossy_pool"].update(size="9 MB"),
            "BUFFER_POOL → egress_lossy_pool → size: found '9 MB', expected a whole number",
        ),
        (
            lambda t: t["BUFFER_PG"]["Ethernet0|3-4"].update(profile="none"),
            "BUFFER_PG → Ethernet0|3-4 → profile: BUFFER_PROFILE has no 'none'",
        ),
        (
            lambda t: t["QUEUE"].update({"Ethernet0": {}}),
            "QUEUE → Ethernet0: expected a key of the form port|priorities",
        ),
        (
            lambda t: t["SCHEDULER"]["scheduler.0"].update(weight="300"),
            "SCHEDULER → scheduler.0 → weight: found '300', expected a whole number from 1 to 100",
        ),
        (lambda t: t.update(WRED_PROFILE=[]), "WRED_PROFILE: found a list, expected an object"),
    ],
)
def test_broken_tables_are_named(command, config, tmp_path, change, says):
    path = config(change)
    done = command("import", "sonic", path, "-o", "leaf.toml")
    assert done.returncode == 2
    assert re.search(rf"{re.escape(str(path))}:\d+: ", done.stderr)
    assert says in done.stderr
    assert not (tmp_path / "leaf.toml").exists()


def test_unknown_tables_are_named(command, config):
    done = command(
        "import", "sonic", config(lambda t: t.update(VLAN={"Vlan100": {}})), "-o", "leaf.toml"
    )
    assert done.returncode == 0
    assert "table VLAN is unknown and ignored" in done.stderr


def test_a_scenario_that_was_never_imported(command, scenario):
    done = command("export", "sonic", scenario(('sharing = "static"', 'ecn = { k = "30kB" }')))
    assert done.returncode == 0, done.stderr
    assert "WRED_PROFILE" in json.loads(done.stdout)


FABRIC = """\
format = 1
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[switch]
sharing = "sonic"
buffer = "32MB"
[[switch.override]]
match = "leaf*"
buffer = "16MB"
scheduling = "dwrr"
[[switch.override.queue]]
priorities = [0, 1, 2]
weight = 14
[[switch.override.queue]]
priorities = [3, 4]
weight = 15
ecn = { kmin = "1MiB", kmax = "2MiB", pmax = 0.05, spacing = "linux" }
[[switch.override.queue]]
priorities = [5, 6, 7]
strict = true
[[switch.override]]
match = "leaf1"
buffer = "8MB"
[[traffic]]
kind = "permutation"
class = "bulk"
sizes = "1MB"
priority = 3
[[traffic]]
kind = "permutation"
class = "control"
sizes = "1kB"
priority = 7
[[traffic]]
kind = "permutation"
sizes = "1kB"
"""


def test_the_switch_of_an_export_is_chosen(command, scenario):
    path = scenario(text=FABRIC)
    sizes = {}
    for name in ("spine1", "leaf0", "leaf1"):
        done = command("export", "sonic", path, "--switch", name)
        assert done.returncode == 0, done.stderr
        assert "--switch" not in done.stderr
        tables = json.loads(done.stdout)
        assert ("DSCP_TO_TC_MAP" in tables) == name.startswith("leaf")
        pool = tables["BUFFER_POOL"]["ingress_lossless_pool"]
        sizes[name] = int(pool["size"]) + int(pool.get("xoff", 0))
    assert sizes == {"spine1": 32_000_000, "leaf0": 16_000_000, "leaf1": 8_000_000}
    plain = command("export", "sonic", path)
    assert plain.returncode == 0
    assert (
        "leaf0, leaf1 have other settings, from [[switch.override]]: write --switch leaf0 to export them"
        in plain.stderr
    )
    wrong = command("export", "sonic", path, "--switch", "leave0")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert (
        "--switch leave0: there is no switch called 'leave0' (did you mean 'leaf0'?): there are leaf0, leaf1, spine0, spine1"
        in wrong.stderr
    )
    every = command("export", "sonic", scenario(('match = "leaf*"', 'match = "*"'), text=FABRIC))
    assert every.returncode == 2
    assert (
        "every switch has settings of its own in [[switch.override]]: write --switch with one of leaf0, leaf1, spine0, spine1"
        in every.stderr
    )


def test_classes_of_an_export_fit_together(command, scenario, tmp_path):
    """An export reads back as the same queues, and every DSCP leads to the queue of
    its priority.
    """
    path = scenario(text=FABRIC)
    done = command("export", "sonic", path, "--switch", "leaf0", "--ports", "2", "-o", "patch.json")
    assert done.returncode == 0, done.stderr
    tables = json.loads((tmp_path / "patch.json").read_text())
    assert command("import", "sonic", "patch.json", "-o", "again.toml").returncode == 0
    again = tomllib.loads((tmp_path / "again.toml").read_text())
    wanted = tomllib.loads(FABRIC)["switch"]["override"][0]["queue"]
    for found, meant in zip(again["switch"]["queue"], wanted, strict=True):
        assert (found["priorities"], found.get("weight"), found.get("strict")) == (
            meant["priorities"],
            meant.get("weight"),
            meant.get("strict"),
        )
    assert again["host"]["dscp_to_priority"]["46"] == 5
    assert len(tables["DSCP_TO_TC_MAP"]["AZURE"]) == 64
    for port in ("Ethernet0", "Ethernet4"):
        maps = tables["PORT_QOS_MAP"][port]
        queue = tables["TC_TO_QUEUE_MAP"][maps["tc_to_queue_map"]][
            tables["DSCP_TO_TC_MAP"][maps["dscp_to_tc_map"]]["3"]
        ]
        assert "wred_profile" in tables["QUEUE"][f"{port}|{queue}"]
    # The messages state what hosts must do, what is impossible, and what got lost.
    assert "hosts must send traffic of priority 3 (bulk) with DSCP 3" in done.stderr
    assert "hosts must send traffic of priority 0 (default) with DSCP 8" in done.stderr
    assert (
        "no DSCP leads to priority 7 (control): write one in [host] dscp_to_priority, as in 56 = 7, and export again"
        in done.stderr
    )
    assert (
        'not exported: queue 1: spacing = "linux": WRED_PROFILE has no field for it' in done.stderr
    )


def test_lossless_classes_have_groups_and_queues(command, scenario):
    text = FABRIC.replace(
        'buffer = "16MB"', 'buffer = "16MB"\npfc = { priorities = [3], headroom = "40kB" }'
    )
    done = command("export", "sonic", scenario(text=text), "--switch", "leaf0", "--ports", "1")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)
    maps = tables["PORT_QOS_MAP"]["Ethernet0"]
    assert maps["pfc_enable"] == "3"
    assert tables["TC_TO_PRIORITY_GROUP_MAP"][maps["tc_to_pg_map"]] == {
        str(tc): "3" if tc == 3 else "0" for tc in range(8)
    }
    assert "xoff" in tables["BUFFER_PROFILE"][tables["BUFFER_PG"]["Ethernet0|3"]["profile"]]
    # Priority 3 is in queue 1, so PAUSE frames stop this queue, and its profile limits nothing.
    assert (
        tables["MAP_PFC_PRIORITY_TO_QUEUE"][maps["pfc_to_queue_map"]]["3"]
        == tables["TC_TO_QUEUE_MAP"][maps["tc_to_queue_map"]]["3"]
        == "1"
    )
    assert tables["BUFFER_QUEUE"]["Ethernet0|1"] == {"profile": "egress_lossless_profile"}
    assert tables["BUFFER_QUEUE"]["Ethernet0|0"] == {"profile": "egress_lossy_profile"}


def test_buffers_that_sonic_does_not_know_are_said(command, scenario):
    done = command("export", "sonic", scenario())
    assert done.returncode == 0, done.stderr
    said = 'not exported: buffer sizes: SONiC has no counterpart of sharing = "static"; write sharing = "sonic" or "dynamic" to export them'
    assert said in " ".join(done.stderr.split())


def comes_back(path: Path, folder: Path) -> None:
    """Checks that everything that the import understands survives an export."""
    scenario = folder / "imported.toml"
    scenario.write_text(sonic.imported([path])[0])
    back, notes = sonic.exported(scenario)
    assert back == sonic.read(path, Account("fields")), path
    assert not [note for note in notes if "not exported" in note or "removes" in note]


def test_a_configuration_comes_back(config, tmp_path):
    comes_back(config(), tmp_path)


def test_public_configurations_come_back(shared, tmp_path):
    """Configurations that SONiC generates for real switches."""
    files = sorted((shared / "data/sonic").glob("*.json"))
    assert files
    for path in files:
        comes_back(path, tmp_path)


def test_linux_without_the_module(command, scenario):
    done = command(
        "export", "linux", scenario(('stack = "basic"\nmin_rto = "1ms"', 'congestion = "d2tcp"'))
    )
    assert done.returncode == 0, done.stderr
    assert "tcp_congestion_control" not in done.stdout
    assert "congestion = 'd2tcp': mainline Linux has no such module" in done.stderr


def test_linux(command, scenario):
    transport = (
        'congestion = "htcp"\necn = "classic"\nreceive_window = "unlimited"\nmin_rto = "10ms"'
    )
    done = command("export", "linux", scenario(('stack = "basic"\nmin_rto = "1ms"', transport)))
    assert done.returncode == 0, done.stderr
    assert "net.ipv4.tcp_congestion_control = htcp" in done.stdout
    assert "net.ipv4.tcp_ecn = 1" in done.stdout
    assert "rto_min 10ms" in done.stdout
    assert "receive_window = 'unlimited'" in done.stderr


@pytest.mark.parametrize(("ending", "unpack"), [(".gz", gzip.decompress), (".xz", lzma.decompress)])
@pytest.mark.parametrize("exported", ["linux", "htsim", "hpcc-topology"])
def test_text_is_packed_as_its_name_says(command, scenario, tmp_path, exported, ending, unpack):
    path = scenario()
    out = tmp_path / f"text{ending}"
    assert command("export", exported, path, "-o", out).returncode == 0
    printed = command("export", exported, path).stdout
    assert printed
    assert unpack(out.read_bytes()).decode() == printed


def test_a_packed_topology_is_read(command, scenario, tmp_path):
    path = scenario()
    for name in ("plain.txt", "packed.txt.gz", "packed.txt.xz"):
        assert command("export", "hpcc-topology", path, "-o", name).returncode == 0
        done = command("import", "hpcc-topology", name, "-o", f"{name}.toml")
        assert done.returncode == 0, done.stderr
        assert _core.load(tmp_path / f"{name}.toml").hosts == _core.load(path).hosts
    wrong = b"3 1 2\n2\n0 2 10Gbps 1us 0\n1 9 10Gbps 1us 0\n"
    (tmp_path / "wrong.gz").write_bytes(gzip.compress(wrong))
    done = command("import", "hpcc-topology", "wrong.gz")
    assert done.returncode == 2
    assert "wrong.gz:4: " in done.stderr


def test_a_scenario_is_not_packed(command, scenario, tmp_path):
    topology, lab = tmp_path / "topology.txt", tmp_path / "lab.clab.yml"
    assert command("export", "hpcc-topology", scenario(), "-o", topology).returncode == 0
    assert command("export", "containerlab", scenario(), "-o", lab).returncode == 0
    for made in (
        ("new", "incast"),
        ("new", "decide", scenario()),
        ("import", "hpcc-topology", topology),
        ("import", "containerlab", lab),
    ):
        done = command(*made, "-o", tmp_path / "fabric.toml.gz")
        assert done.returncode == 2
        assert "fabric.toml.gz: no command reads a packed scenario" in done.stderr
        assert not (tmp_path / "fabric.toml.gz").exists()


def test_linux_without_ecn(command, scenario):
    changes = [
        ("[host.transport]", "[host]\necn = false\n\n[host.transport]"),
        ('stack = "basic"\nmin_rto = "1ms"', 'congestion = "{}"'),
    ]
    for congestion, told in [("cubic", False), ("dctcp", True)]:
        done = command(
            "export",
            "linux",
            scenario(changes[0], (changes[1][0], changes[1][1].format(congestion))),
        )
        assert done.returncode == 0, done.stderr
        assert "net.ipv4.tcp_ecn = 0" in done.stdout
        # Linux's DCTCP ignores this setting.
        assert ("host.ecn = false: DCTCP of Linux asks for ECN" in done.stderr) == told


LOSSLESS = """format = 1
[topology]
kind = "star"
hosts = 3
rate = "{rate}"
delay = "{delay}"
[switch]
sharing = "sonic"
buffer = "4MB"
mmu = {{ cell = "{cell}" }}
pfc = {{ priorities = [3], headroom = "{headroom}" }}
[host]
mtu = "9216B"
[host.transport]
kind = "rdma"
congestion = "none"
payload = "{payload}"
[[traffic]]
kind = "incast"
to = 0
senders = 2
bytes = "1MB"
priority = 3
"""


@pytest.mark.parametrize("headroom", ["sonic", "mellanox", "hpcc", "worst_case"])
@pytest.mark.parametrize("cell", ["off", "256B"])
def test_exported_headroom_is_never_too_small(tmp_path, headroom, cell):
    for rate, delay, payload in itertools.product(
        ["10Gbps", "100Gbps", "400Gbps"], ["25ns", "1.515us"], ["18B", "1000B", "9000B"]
    ):
        path = tmp_path / "lossless.toml"
        path.write_text(
            LOSSLESS.format(rate=rate, delay=delay, cell=cell, headroom=headroom, payload=payload)
        )
        ports = _core.load(path).headrooms
        assert len(ports) == 3
        tables, notes = sonic.exported(path)
        [profile] = [profile for profile in tables["BUFFER_PROFILE"].values() if "xoff" in profile]
        assert all(int(profile["xoff"]) >= max(own, least) for *_, own, _, least in ports)
        assert (headroom != "worst_case") == any("xoff is" in note for note in notes)
        assert not any("balance" in note for note in notes), (
            "ECMP is what switches do by themselves"
        )


def test_a_size_that_is_too_small_is_exported_and_said(tmp_path):
    path = tmp_path / "lossless.toml"
    path.write_text(
        LOSSLESS.format(
            rate="100Gbps", delay="1.515us", cell="off", headroom="20kB", payload="1000B"
        )
    )
    checked = _core.load(path)
    assert 'and the headroom is 20000 B; write headroom = "worst_case"' in str(checked.warnings[0])
    tables, notes = sonic.exported(path)
    assert tables["BUFFER_PROFILE"]["pg_lossless_profile"]["xoff"] == "20000"
    assert any("lossless frames can be lost" in note for note in notes)
