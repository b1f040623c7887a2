"""Settings of real switches and hosts: in and out."""

import itertools
import json
import tomllib

import pytest

from afflux import _core
from afflux.exchange import sonic

CONFIG = {
    "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "26": "3", "0": "0"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}, "scheduler.2": {"type": "STRICT"}},
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
        **{f"Ethernet{p}|{q}": {"scheduler": "scheduler.0"} for p in (0, 4) for q in (0, 1, 2, 5, 6)},
        **{f"Ethernet{p}|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"} for p in (0, 4)},
        **{f"Ethernet{p}|7": {"scheduler": "scheduler.2"} for p in (0, 4)},
    },
    "PORT_QOS_MAP": {f"Ethernet{p}": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3,4"} for p in (0, 4)},
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10875072", "xoff": "4194112"},
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
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, **{f"Ethernet{p}": {"action": "drop", "detection_time": "200", "restoration_time": "400"} for p in (0, 4)}},
}


@pytest.fixture
def config(tmp_path):
    """Writes a configuration, changed by `change`."""

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
    assert switch["queue"][3]["ecn"] == {"kmin": "1048576B", "kmax": "2097152B", "pmax": 0.05, "incapable": "drop"}
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
    path.write_text(path.read_text().replace('kmin = "1048576B"', 'kmin = "150000B"').replace('headroom = "39936B"', 'headroom = "62464B"'))
    done = command("export", "sonic", "leaf.toml")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)
    assert {name for name in tables if tables[name] != CONFIG[name]} == {"WRED_PROFILE", "QUEUE", "BUFFER_PROFILE"}
    assert tables["BUFFER_PROFILE"]["pg_lossless_25000_5m_profile"]["xoff"] == "62464"
    assert tables["WRED_PROFILE"][tables["QUEUE"]["Ethernet4|3"]["wred_profile"]]["green_min_threshold"] == "150000"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t["BUFFER_POOL"]["egress_lossy_pool"].update(size="9 MB"), "BUFFER_POOL → egress_lossy_pool → size: found '9 MB', expected a whole number"),
        (lambda t: t["BUFFER_PG"]["Ethernet0|3-4"].update(profile="none"), "BUFFER_PG → Ethernet0|3-4 → profile: BUFFER_PROFILE has no 'none'"),
        (lambda t: t["QUEUE"].update({"Ethernet0": {}}), "QUEUE → Ethernet0: expected a key of the form port|priorities"),
        (lambda t: t["SCHEDULER"]["scheduler.0"].update(wieght="3"), "SCHEDULER → scheduler.0 → wieght: unknown field"),
        (lambda t: t.update(WRED_PROFILE=[]), "WRED_PROFILE: found a list, expected an object"),
    ],
)
def test_broken_tables_are_named(command, config, tmp_path, change, says):
    path = config(change)
    done = command("import", "sonic", path, "-o", "leaf.toml")
    assert done.returncode == 2
    assert f"{path}: line " in done.stderr
    assert says in done.stderr
    assert not (tmp_path / "leaf.toml").exists()


def test_unknown_tables_are_named(command, config):
    done = command("import", "sonic", config(lambda t: t.update(VLAN={"Vlan100": {}})), "-o", "leaf.toml")
    assert done.returncode == 0
    assert "table VLAN is unknown and ignored" in done.stderr


def test_a_scenario_that_was_never_imported(command, scenario):
    done = command("export", "sonic", scenario(('sharing = "static"', 'ecn = { k = "30kB" }')))
    assert done.returncode == 0, done.stderr
    assert "WRED_PROFILE" in json.loads(done.stdout)


def test_public_configurations(shared):
    """Those that SONiC generates for real switches: everything that is understood comes back."""
    files = sorted((shared / "data/sonic").glob("*.json"))
    assert files
    for path in files:
        text, _ = sonic.imported([path])
        scenario = tomllib.loads(text)
        back, missing = sonic.of_design(scenario)
        assert back == sonic.read(path)[0], path
        assert not missing


def test_linux_without_the_module(command, scenario):
    done = command("export", "linux", scenario(('stack = "basic"\nmin_rto = "1ms"', 'congestion = "d2tcp"')))
    assert done.returncode == 0, done.stderr
    assert "tcp_congestion_control" not in done.stdout
    assert "congestion = 'd2tcp': mainline Linux has no such module" in done.stderr


def test_linux(command, scenario):
    transport = 'congestion = "htcp"\necn = "classic"\nreceive_window = "unlimited"\nmin_rto = "10ms"'
    done = command("export", "linux", scenario(('stack = "basic"\nmin_rto = "1ms"', transport)))
    assert done.returncode == 0, done.stderr
    assert "net.ipv4.tcp_congestion_control = htcp" in done.stdout
    assert "net.ipv4.tcp_ecn = 1" in done.stdout
    assert "rto_min 10ms" in done.stdout
    assert "receive_window = 'unlimited'" in done.stderr


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
    written = computed = 0
    for rate, delay, payload in itertools.product(["10Gbps", "100Gbps", "400Gbps"], ["25ns", "1.515us"], ["18B", "1000B", "9000B"]):
        path = tmp_path / "lossless.toml"
        path.write_text(LOSSLESS.format(rate=rate, delay=delay, cell=cell, headroom=headroom, payload=payload))
        ports = _core.load(path).headrooms
        assert len(ports) == 3
        tables, notes = sonic.exported(path)
        xoff = next((int(profile["xoff"]) for profile in tables.get("BUFFER_PROFILE", {}).values() if "xoff" in profile), None)
        # Without a number the switch computes it.
        assert all((own if xoff is None else xoff) >= least for *_, own, least in ports)
        assert (xoff is not None and headroom != "worst_case") == any("xoff is" in note for note in notes)
        written, computed = written + (xoff is not None), computed + (xoff is None)
    assert written > 0
    assert (computed > 0) == (headroom == "sonic")


def test_a_size_that_is_too_small_is_exported_and_said(tmp_path):
    path = tmp_path / "lossless.toml"
    path.write_text(LOSSLESS.format(rate="100Gbps", delay="1.515us", cell="off", headroom="20kB", payload="1000B"))
    checked = _core.load(path)
    assert 'and the headroom is 20000 B; write headroom = "worst_case"' in str(checked.warnings[0])
    tables, notes = sonic.exported(path)
    assert tables["BUFFER_PROFILE"]["pg_lossless_profile"]["xoff"] == "20000"
    assert any("lossless frames can be lost" in note for note in notes)
