"""A SONiC configuration for tests: two ports, PFC on two priorities, eight classes."""

import json
import tomllib
from pathlib import Path
from typing import Any

from afflux.exchange import Account, sonic

Config = dict[str, dict[str, dict[str, Any]]]

PORTS = ("Ethernet0", "Ethernet4")
_SAME = {str(number): str(number) for number in range(8)}
_COLOURS = ("green", "yellow", "red")

BASE: Config = {
    "BUFFER_POOL": {
        "ingress_lossless_pool": {
            "size": "60000000",
            "type": "ingress",
            "mode": "dynamic",
            "xoff": "4000000",
        },
        "egress_lossless_pool": {"size": "64000000", "type": "egress", "mode": "static"},
        "egress_lossy_pool": {"size": "48000000", "type": "egress", "mode": "dynamic"},
    },
    "BUFFER_PROFILE": {
        "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
        "egress_lossless_profile": {
            "pool": "egress_lossless_pool",
            "size": "0",
            "static_th": "64000000",
        },
        "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1664", "dynamic_th": "-1"},
        "other_profile": {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "1"},
        "pg_lossless_profile": {
            "pool": "ingress_lossless_pool",
            "xon": "18432",
            "xoff": "160000",
            "size": "18432",
            "dynamic_th": "-2",
            "xon_offset": "2496",
        },
    },
    "BUFFER_PG": {
        **{f"{port}|0": {"profile": "ingress_lossy_profile"} for port in PORTS},
        **{f"{port}|3-4": {"profile": "pg_lossless_profile"} for port in PORTS},
    },
    "BUFFER_QUEUE": {
        **{
            f"{port}|{queues}": {"profile": "egress_lossy_profile"}
            for port in PORTS
            for queues in ("0-2", "5-7")
        },
        **{f"{port}|3-4": {"profile": "egress_lossless_profile"} for port in PORTS},
    },
    "QUEUE": {
        **{
            f"{port}|{queues}": {"scheduler": "scheduler.0"}
            for port in PORTS
            for queues in ("0-2", "5-6")
        },
        **{
            f"{port}|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
            for port in PORTS
        },
        **{f"{port}|7": {"scheduler": "scheduler.2"} for port in PORTS},
    },
    "PORT_QOS_MAP": {
        port: {
            "dscp_to_tc_map": "AZURE",
            "tc_to_queue_map": "AZURE",
            "tc_to_pg_map": "AZURE",
            "pfc_to_queue_map": "AZURE",
            "pfc_to_pg_map": "AZURE",
            "pfc_enable": "3,4",
        }
        for port in PORTS
    },
    "CABLE_LENGTH": {"AZURE": dict.fromkeys(PORTS, "40m")},
    "SCHEDULER": {
        "scheduler.0": {"type": "DWRR", "weight": "14"},
        "scheduler.1": {"type": "DWRR", "weight": "15"},
        "scheduler.2": {"type": "STRICT"},
        "port_scheduler": {"type": "DWRR", "weight": "30"},
    },
    "WRED_PROFILE": {
        "AZURE_LOSSLESS": {
            "ecn": "ecn_all",
            **{f"wred_{colour}_enable": "true" for colour in _COLOURS},
            **{f"{colour}_min_threshold": "250000" for colour in _COLOURS},
            **{f"{colour}_max_threshold": "1048576" for colour in _COLOURS},
            **{f"{colour}_drop_probability": "5" for colour in _COLOURS},
        },
        "OTHER": {
            "ecn": "ecn_all",
            "wred_green_enable": "true",
            "green_min_threshold": "1",
            "green_max_threshold": "2",
        },
    },
    "DSCP_TO_TC_MAP": {
        "AZURE": {
            str(dscp): {3: "3", 4: "4", 26: "3", 46: "5", 48: "6"}.get(dscp, "0")
            for dscp in range(64)
        },
        "OTHER": {"3": "1"},
    },
    "TC_TO_QUEUE_MAP": {"AZURE": _SAME, "OTHER": {"3": "1"}},
    "TC_TO_PRIORITY_GROUP_MAP": {
        "AZURE": {str(tc): str(tc) if tc in (3, 4) else "0" for tc in range(8)},
        "OTHER": _SAME | {"3": "0"},
    },
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": _SAME, "OTHER": _SAME | {"3": "1"}},
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"AZURE": _SAME, "OTHER": _SAME | {"3": "1"}},
}


def base() -> Config:
    return json.loads(json.dumps(BASE))  # type: ignore[no-any-return]


def computed() -> Config:
    """Returns a configuration with the dynamic buffer model, in which SONiC computes the profiles
    of lossless groups."""
    tables = base()
    del tables["BUFFER_PROFILE"]["pg_lossless_profile"]
    for port in PORTS:
        tables["BUFFER_PG"][f"{port}|3-4"]["profile"] = "NULL"
    tables["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {"AZURE": {"default_dynamic_th": "-3"}}
    tables["LOSSLESS_TRAFFIC_PATTERN"] = {
        "AZURE": {"mtu": "1024", "small_packet_percentage": "100"}
    }
    tables["PORT"] = {
        port: {"speed": "100000", "lanes": "1,2,3,4", "mtu": "9100"} for port in PORTS
    }
    tables["DEVICE_METADATA"] = {
        "localhost": {"platform": "x86_64-mlnx_msn2700-r0", "hwsku": "ACS-MSN2700"}
    }
    return tables


def imported(folder: Path, tables: Any) -> tuple[dict[str, Any], Account]:
    """Imports a configuration. Returns the scenario without its embedded SONiC tables, and the
    account."""
    path = folder / "config_db.json"
    path.write_text(json.dumps(tables, indent=1))
    text, account = sonic.imported([path])
    scenario = tomllib.loads(text)
    del scenario["sonic"]
    return scenario, account
