"""SONiC configurations: each field of each table changes the scenario, or a note names it."""

import copy
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from sonic_base import PORTS, Config, base, computed, imported

from afflux.exchange import Account
from afflux.exchange.sonic import leftovers
from afflux.exchange.sonic.reading import Reading
from afflux.exchange.sonic.tables import LAYOUTS

#: Values that differ from those of both egress profiles of the base configuration.
EGRESS_PROFILE = {
    "pool": "ingress_lossless_pool",
    "size": "9216",
    "static_th": "2500000",
    "dynamic_th": "0",
    "xoff": "170000",
    "xon": "9216",
    "xon_offset": "1",
    "headroom_type": "dynamic",
    "packet_discard_action": "trim",
}
#: Table → key (`None`: all entries, for tables of ports) → field → a value that the base does not
#: have. Tables, fields and allowed values are those of the YANG models sonic-*.yang in
#: src/sonic-yang-models/yang-models of sonic-net/sonic-buildimage. (old) marks fields that only
#: older images have.
FIELDS: dict[str, dict[str | None, dict[str, str]]] = {
    "BUFFER_POOL": {
        "ingress_lossless_pool": {
            "size": "50000000",
            "type": "egress",
            "mode": "static",
            "xoff": "3000000",
            "percentage": "50",
        },
        "egress_lossy_pool": {
            "size": "40000000",
            "type": "both",
            "mode": "static",
            "xoff": "1",
            "percentage": "50",
        },
        "egress_lossless_pool": {
            "size": "40000000",
            "type": "both",
            "mode": "dynamic",
            "xoff": "1",
            "percentage": "50",
        },
    },
    "BUFFER_PROFILE": {
        "pg_lossless_profile": {
            "pool": "egress_lossy_pool",
            "size": "9216",
            "static_th": "2500000",
            "dynamic_th": "0",
            "xoff": "170000",
            "xon": "9216",
            "xon_offset": "1",
            "headroom_type": "dynamic",
            "packet_discard_action": "trim",
        },
        "ingress_lossy_profile": {
            "pool": "egress_lossy_pool",
            "size": "9216",
            "static_th": "2500000",
            "dynamic_th": "0",
            "xon": "9216",
            "xon_offset": "1",
            "headroom_type": "dynamic",
            "packet_discard_action": "trim",
        },
        "egress_lossy_profile": EGRESS_PROFILE,
        "egress_lossless_profile": EGRESS_PROFILE,
        "other_profile": {
            "pool": "egress_lossless_pool",
            "size": "1",
            "static_th": "1",
            "dynamic_th": "2",
            "xoff": "1",
            "xon": "1",
            "xon_offset": "1",
        },
    },
    "BUFFER_PG": {
        "Ethernet0|0": {"profile": "other_profile"},
        "Ethernet0|3-4": {"profile": "ingress_lossy_profile"},
        None: {"profile": "NULL"},
    },
    "BUFFER_QUEUE": {
        "Ethernet0|0-2": {"profile": "other_profile"},
        "Ethernet0|3-4": {"profile": "other_profile"},
        None: {"profile": "other_profile"},
    },
    "BUFFER_PORT_INGRESS_PROFILE_LIST": {"Ethernet0": {"profile_list": "ingress_lossy_profile"}},
    "BUFFER_PORT_EGRESS_PROFILE_LIST": {
        "Ethernet0": {"profile_list": "egress_lossy_profile,egress_lossless_profile"}
    },
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "300m"}},
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {
        "AZURE": {"default_dynamic_th": "1", "over_subscribe_ratio": "2"}
    },
    "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "9100", "small_packet_percentage": "10"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"0": "1", "26": "4", "5": "9"}, "OTHER": {"3": "2"}},
    "DSCP_TO_FC_MAP": {"AZURE": {"0": "1"}},
    "DOT1P_TO_TC_MAP": {"AZURE": {"0": "1"}},
    "MPLS_TC_TO_TC_MAP": {"AZURE": {"0": "1"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {"0": "1", "3": "5", "9": "1"}, "OTHER": {"3": "2"}},
    "TC_TO_PRIORITY_GROUP_MAP": {
        "AZURE": {"2": "3", "3": "0", "5": "1", "9": "3"},
        "OTHER": {"3": "2"},
    },
    "TC_TO_DSCP_MAP": {"AZURE": {"0": "1"}},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {"3": "5"}, "OTHER": {"3": "2"}},
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "5"}, "OTHER": {"3": "2"}},
    "SCHEDULER": {
        "scheduler.0": {
            "type": "STRICT",
            "weight": "20",
            "priority": "3",
            "meter_type": "packets",
            "cir": "1250000",
            "cbs": "8192",
            "pir": "2500000",
            "pbs": "8192",
        },
        "scheduler.2": {
            "type": "WRR",
            "weight": "3",
            "priority": "3",
            "meter_type": "packets",
            "cir": "1250000",
            "cbs": "1",
            "pir": "2500000",
            "pbs": "1",
        },
    },
    "QUEUE": {
        "Ethernet0|3-4": {"scheduler": "scheduler.2", "wred_profile": "OTHER"},
        "CPU|0": {"scheduler": "scheduler.0", "wred_profile": "OTHER"},
        None: {"scheduler": "port_scheduler", "wred_profile": "OTHER"},
    },
    "WRED_PROFILE": {
        "AZURE_LOSSLESS": {
            "ecn": "ecn_none",
            **{f"wred_{colour}_enable": "false" for colour in ("green", "yellow", "red")},
            **{f"{colour}_min_threshold": "1000" for colour in ("green", "yellow", "red")},
            **{f"{colour}_max_threshold": "300000" for colour in ("green", "yellow", "red")},
            **{f"{colour}_drop_probability": "10" for colour in ("green", "yellow", "red")},
            **{f"ecn_{colour}_min_threshold": "1000" for colour in ("green", "yellow", "red")},
            **{f"ecn_{colour}_max_threshold": "300000" for colour in ("green", "yellow", "red")},
            **{f"ecn_{colour}_mark_probability": "10" for colour in ("green", "yellow", "red")},
        },
        "OTHER": {"ecn": "ecn_none", "green_max_threshold": "3"},
    },
    "PORT_QOS_MAP": {
        None: {
            **dict.fromkeys(
                (
                    "dscp_to_tc_map",
                    "tc_to_queue_map",
                    "tc_to_pg_map",
                    "pfc_to_queue_map",
                    "pfc_to_pg_map",
                ),
                "OTHER",
            ),
            **dict.fromkeys(
                ("dot1p_to_tc_map", "tc_to_dscp_map", "dscp_to_fc_map", "mpls_tc_to_tc_map"),
                "ELSEWHERE",
            ),
            "scheduler": "scheduler.0",
            "pfc_enable": "3",
            "pfcwd_sw_enable": "3",
            # (old)
            "pfc_asym": "on",
        },
        "Ethernet0": {"dscp_to_tc_map": "OTHER", "pfc_enable": "", "pfcwd_sw_enable": "4"},
        "global": {"dscp_to_tc_map": "AZURE", "scheduler": "scheduler.0"},
    },
    "PFC_WD": {
        "Ethernet0": {
            "action": "forward",
            "detection_time": "400",
            "restoration_time": "1000",
            "pfc_stat_history": "enable",
        },
        # (old) BIG_RED_SWITCH
        "GLOBAL": {"POLL_INTERVAL": "400", "BIG_RED_SWITCH": "enable"},
    },
    "PORT": {
        "Ethernet0": {
            "speed": "400000",
            "lanes": "1,2,3,4,5,6,7,8",
            "mtu": "1500",
            "pfc_asym": "on",
            **dict.fromkeys(
                (
                    "core_id",
                    "core_port_id",
                    "num_voq",
                    "alias",
                    "mode",
                    "description",
                    "dhcp_rate_limit",
                    "link_training",
                    "autoneg",
                ),
                "1",
            ),
            **dict.fromkeys(
                (
                    "adv_speeds",
                    "interface_type",
                    "adv_interface_types",
                    "subport",
                    "index",
                    "asic_port_name",
                    "role",
                    "admin_status",
                ),
                "1",
            ),
            **dict.fromkeys(
                (
                    "fec",
                    "dom_polling",
                    "tpid",
                    "mux_cable",
                    "macsec",
                    "tx_power",
                    "laser_freq",
                    "fast_linkup",
                ),
                "1",
            ),
        }
    },
    "DEVICE_METADATA": {
        "localhost": {
            "hwsku": "Arista-7050CX3-32S-C32",
            "platform": "x86_64-arista_7050cx3_32s",
            **dict.fromkeys(
                (
                    "asic_id",
                    "hostname",
                    "mac",
                    "default_pfcwd_status",
                    "bgp_asn",
                    "type",
                    "buffer_model",
                    "asic_name",
                    "switch_type",
                ),
                "1",
            ),
            **dict.fromkeys(
                (
                    "sub_role",
                    "peer_switch",
                    "create_only_config_db_buffers",
                    "synchronous_mode",
                    "subtype",
                    "timezone",
                ),
                "1",
            ),
        }
    },
    "DEVICE_NEIGHBOR": {
        "Ethernet0": {
            "name": "spine1",
            "mgmt_addr": "10.0.0.9",
            "local_port": "Ethernet0",
            "port": "Ethernet8",
            "type": "LeafRouter",
        }
    },
    "SWITCH_TRIMMING": {
        "GLOBAL": {"size": "128", "dscp_value": "48", "tc_value": "6", "queue_index": "6"}
    },
}

#: Fields that a table requires in addition to the tested field to be valid in the models.
NEEDED = {
    **{
        f"BUFFER_PORT_{way}_PROFILE_LIST": {"profile_list": "egress_lossy_profile"}
        for way in ("INGRESS", "EGRESS")
    },
    "BUFFER_PG": {"profile": "ingress_lossy_profile"},
    "BUFFER_QUEUE": {"profile": "egress_lossy_profile"},
    "BUFFER_POOL": {"type": "egress", "mode": "dynamic"},
}
CASES = [
    (table, key, field, value)
    for table, keys in FIELDS.items()
    for key, fields in keys.items()
    for field, value in fields.items()
]


@functools.cache
def _unchanged(folder: Path, text: str) -> tuple[dict[str, Any], Account]:
    return imported(folder, json.loads(text))


def silent(
    folder: Path, tables: Config, table: str, key: str | None, field: str, value: str
) -> bool:
    """True if the field has no effect on the scenario and no note names it."""
    before, said = _unchanged(folder, json.dumps(tables))
    changed = copy.deepcopy(tables)
    entries = changed.setdefault(table, {})
    for name in [key] if key is not None else list(entries):
        entry = entries.setdefault(name, dict(NEEDED.get(table, {})))
        assert entry.get(field) != value, "the base has this value already"
        entry[field] = value
    after, notes = imported(folder, changed)
    if before != after:
        return False
    if LAYOUTS[table].any:
        # The field names are data, so an additional message, or a note that names the map, is
        # enough.
        return set(notes.lines()[1:]) <= set(said.lines()[1:]) and not any(
            table in note and f"{table} {key}" in note for note in notes.lines()
        )
    known = said.lines()
    return not any(
        field in note and (note not in known or (table in note and (key is None or key in note)))
        for note in notes.lines()
    )


@pytest.fixture(scope="module")
def watched() -> Config:
    """Returns the base configuration with a PFC watchdog."""
    tables = base()
    tables["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        **{
            port: {"action": "drop", "detection_time": "200", "restoration_time": "300"}
            for port in PORTS
        },
    }
    return tables


@pytest.mark.parametrize("table", FIELDS)
def test_no_field_is_silent(table, tmp_path, watched):
    unsaid = [case[1:] for case in CASES if case[0] == table if silent(tmp_path, watched, *case)]
    assert not unsaid


@pytest.mark.parametrize(
    "table",
    [
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
        "LOSSLESS_TRAFFIC_PATTERN",
        "CABLE_LENGTH",
        "PORT",
        "DEVICE_METADATA",
    ],
)
def test_no_field_is_silent_where_sonic_computes_headroom(table, tmp_path):
    unsaid = [case[1:] for case in CASES if case[0] == table if silent(tmp_path, computed(), *case)]
    assert not unsaid


def test_every_field_that_the_reader_knows_is_tried():
    for table, layout in LAYOUTS.items():
        tried = {field for fields in FIELDS[table].values() for field in fields}
        assert set(layout.fields) <= tried, table
        assert tried, table


def test_a_field_of_tomorrow_is_named(tmp_path):
    for table, keys in FIELDS.items():
        if not LAYOUTS[table].any:
            for key in keys:
                assert not silent(tmp_path, base(), table, key, "field_of_tomorrow", "1"), (
                    table,
                    key,
                )
    assert any(
        "table TABLE_OF_TOMORROW is unknown" in note
        for note in imported(tmp_path, {**base(), "TABLE_OF_TOMORROW": {"a": {"b": "1"}}})[
            1
        ].lines()
    )


# These tests break readers on purpose, to show that the test of silent fields can fail.


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("WRED_PROFILE", "green_max_threshold"),
        ("BUFFER_POOL", "xoff"),
        ("BUFFER_PROFILE", "dynamic_th"),
        ("SCHEDULER", "weight"),
    ],
)
def test_a_field_that_the_reader_takes_and_forgets_is_found(
    table, field, tmp_path, monkeypatch, watched
):
    key = next(key for key in FIELDS[table] if key is not None)
    assert not silent(tmp_path, watched, table, key, field, FIELDS[table][key][field])
    number = Reading.number

    def forgetful(self, of, name, wanted, to=None):
        found = number(self, of, name, wanted, to)
        return (
            int(watched[table][key][field]) if (of, name, wanted) == (table, key, field) else found
        )

    monkeypatch.setattr(Reading, "number", forgetful)
    _unchanged.cache_clear()
    assert silent(tmp_path, watched, table, key, field, FIELDS[table][key][field])


def test_a_field_that_no_note_names_is_found(tmp_path, monkeypatch, watched):
    assert not silent(tmp_path, watched, "SCHEDULER", "scheduler.0", "pir", "2500000")
    left = leftovers._left

    def quiet(*about):
        return {
            why: rest
            for why, fields in left(*about).items()
            if (rest := {name: value for name, value in fields.items() if name != "pir"})
        }

    monkeypatch.setattr(leftovers, "_left", quiet)
    _unchanged.cache_clear()
    assert silent(tmp_path, watched, "SCHEDULER", "scheduler.0", "pir", "2500000")
