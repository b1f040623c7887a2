"""SONiC configurations as real switches have them, each with the expected value."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sonic_base import PORTS, Config, base, computed, imported

from afflux import _core
from afflux.exchange import sonic
from afflux.exchange.sonic.headroom import Pattern, xoff
from afflux.files import toml


def said(account: Any, *words: str) -> bool:
    return any(all(word in note for word in words) for note in account.lines())


# ------------------------------------------------------------------------------------------------------- classes, groups, priorities


def remapped() -> Config:
    """Returns a configuration in which DSCP 26 is class 5, with priority group 3 and queue 5, and
    PFC pauses group 3."""
    tables = base()
    tables["DSCP_TO_TC_MAP"]["AZURE"]["26"] = "5"
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"] = {
        str(tc): "3" if tc == 5 else "0" for tc in range(8)
    }
    tables["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"] = {"3": "5"}
    for port in PORTS:
        tables["PORT_QOS_MAP"][port]["pfc_enable"] = "3"
    return tables


def test_lossless_are_classes_whose_priority_group_pfc_pauses(tmp_path):
    scenario, account = imported(tmp_path, remapped())
    assert scenario["switch"]["pfc"]["priorities"] == [5]
    assert scenario["host"]["dscp_to_priority"]["26"] == 5
    assert said(account, "PFC priority 3 (priority group 3): it is traffic class 5")
    assert not said(account, "stop queue"), "priority 3 stops queue 5, which is that of class 5"


def test_a_priority_may_have_another_group(tmp_path):
    tables = base()
    tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"]["AZURE"] |= {"3": "4", "4": "3"}
    for port in PORTS:
        tables["PORT_QOS_MAP"][port]["pfc_enable"] = "4"
    scenario, _ = imported(tmp_path, tables)
    assert scenario["switch"]["pfc"]["priorities"] == [3]


def test_classes_of_one_group_are_all_lossless(tmp_path):
    tables = base()
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"] |= {"2": "3"}
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["pfc"]["priorities"] == [2, 3, 4]
    assert said(account, "traffic classes 2, 3 share this group")


def test_a_pause_that_stops_another_queue_is_said(tmp_path):
    tables = base()
    tables["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"]["3"] = "6"
    assert said(imported(tmp_path, tables)[1], "PFC priority 3", "stop queue 6", "queue 3")


@pytest.mark.parametrize(
    ("value", "lossless"),
    [("", None), ("3,4", [3, 4]), (" 3, 4 ", [3, 4]), (["3", "4"], [3, 4]), ([3], [3])],
)
def test_forms_of_pfc_enable(tmp_path, value, lossless):
    tables = base()
    for port in PORTS:
        tables["PORT_QOS_MAP"][port]["pfc_enable"] = value
    assert imported(tmp_path, tables)[0]["switch"].get("pfc", {}).get("priorities") == lossless


def test_a_map_that_leaves_out_classes_means_0(tmp_path):
    tables = base()
    tables["TC_TO_QUEUE_MAP"]["AZURE"] = {"3": "3", "4": "4"}
    tables["DSCP_TO_TC_MAP"]["AZURE"] = {"26": "3"}
    scenario, account = imported(tmp_path, tables)
    assert next(queue for queue in scenario["switch"]["queue"] if queue["index"] == 0)[
        "priorities"
    ] == [0, 1, 2, 5, 6, 7]
    # The default map of hosts assigns priority 5 to DSCP 46.
    assert scenario["host"]["dscp_to_priority"]["46"] == 0
    assert said(account, "DSCPs that it leaves out are of class 0")


# ------------------------------------------------------------------------------------------------------------------------------ memory


def test_a_fixed_limit_of_lossless_groups_is_that_of_the_groups(tmp_path):
    tables = base()
    profile = tables["BUFFER_PROFILE"]["pg_lossless_profile"]
    del profile["dynamic_th"]
    profile["static_th"] = "2500000"
    mmu = imported(tmp_path, tables)[0]["switch"]["mmu"]
    assert "lossless_alpha" not in mmu
    assert mmu["group"] == [{"priorities": [3, 4], "limit": "2500000B"}]
    profile["dynamic_th"] = "0"
    scenario, account = imported(tmp_path, tables)
    assert "group" not in scenario["switch"]["mmu"]
    assert said(account, "pg_lossless_profile", "static_th = 2500000", "dynamic_th decides")


def test_groups_with_other_profiles_have_their_own_alpha_limit_and_reserve(tmp_path):
    tables = base()
    tables["BUFFER_PROFILE"]["slow"] = tables["BUFFER_PROFILE"]["pg_lossless_profile"] | {
        "dynamic_th": "1",
        "size": "9216",
        "xoff": "90000",
    }
    tables["BUFFER_PROFILE"]["fixed"] = {
        "pool": "ingress_lossless_pool",
        "size": "1280",
        "static_th": "300000",
    }
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["6"] = "1"
    for port in PORTS:
        del tables["BUFFER_PG"][f"{port}|3-4"]
        tables["BUFFER_PG"] |= {
            f"{port}|3": {"profile": "pg_lossless_profile"},
            f"{port}|4": {"profile": "slow"},
            f"{port}|1": {"profile": "fixed"},
        }
    scenario, account = imported(tmp_path, tables)
    mmu = scenario["switch"]["mmu"]
    assert (mmu["lossless_alpha"], mmu["lossless_reserved"], mmu["lossy_ingress_alpha"]) == (
        0.25,
        "18432B",
        8,
    )
    assert mmu["group"] == [
        {"priorities": [4], "alpha": 2, "reserved": "9216B"},
        {"priorities": [6], "limit": "300000B", "reserved": "1280B"},
    ]
    assert said(account, "slow", "xoff = 90000", "160000")


def test_a_reserve_that_classes_share_is_divided(tmp_path):
    tables = base()
    tables["BUFFER_PROFILE"]["ingress_lossy_profile"]["size"] = "12000"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["mmu"]["group"] == [
        {"priorities": [0, 1, 2, 5, 6, 7], "reserved": "2000B"}
    ]
    assert said(account, "share the priority group 0", "equal part of its reserve")


def test_a_fixed_limit_of_lossy_queues_is_that_of_the_queues(tmp_path):
    tables = base()
    profile = tables["BUFFER_PROFILE"]["egress_lossy_profile"]
    profile["static_th"] = "300000"
    del profile["dynamic_th"]
    switch = imported(tmp_path, tables)[0]["switch"]
    assert {queue["index"]: queue.get("buffer") for queue in switch["queue"]} == {
        **dict.fromkeys((0, 1, 2, 5, 6, 7), "300000B"),
        **dict.fromkeys((3, 4)),
    }
    # A limit of the size of the whole pool has no effect.
    profile["static_th"] = "48000000"
    assert not any("buffer" in queue for queue in imported(tmp_path, tables)[0]["switch"]["queue"])
    # Without queues the limit cannot be applied.
    profile["static_th"] = "300000"
    for table in ("QUEUE", "TC_TO_QUEUE_MAP"):
        del tables[table]
    assert said(imported(tmp_path, tables)[1], "egress_lossy_profile", "static_th = 300000")


def test_a_pool_of_both_directions(tmp_path):
    tables = base()
    tables["BUFFER_POOL"] = {
        "ingress_lossless_pool": {
            "size": "5000000000",
            "type": "both",
            "mode": "dynamic",
            "xoff": "400000000",
        }
    }
    for profile in tables["BUFFER_PROFILE"].values():
        profile["pool"] = "ingress_lossless_pool"
    tables["BUFFER_PROFILE"]["egress_lossy_profile"] |= {"size": "0", "dynamic_th": "-6"}
    tables["BUFFER_PROFILE"]["ingress_lossy_profile"] |= {"size": "1280", "dynamic_th": "0"}
    scenario, account = imported(tmp_path, tables)
    switch = scenario["switch"]
    assert (switch["alpha"], switch["reserved"], switch["mmu"]["lossy_ingress_alpha"]) == (
        0.015625,
        "0B",
        1,
    )
    assert (switch["buffer"], switch["mmu"]["headroom_pool"]) == ("5400000000B", "400000000B")
    assert switch["mmu"]["group"] == [{"priorities": [0, 1, 2, 5, 6, 7], "reserved": "213B"}]
    assert said(account, "share the priority group 0", "equal part of its reserve")


def other_queues() -> Config:
    """Returns a configuration in which queues 6 and 7 have another profile than the other lossy
    queues."""
    tables = base()
    for port in PORTS:
        tables["BUFFER_QUEUE"][f"{port}|6-7"] = {"profile": "other_profile"}
        tables["BUFFER_QUEUE"][f"{port}|5"] = tables["BUFFER_QUEUE"].pop(f"{port}|5-7")
    return tables


def test_queues_with_other_profiles_have_their_own_alpha_reserve_and_limit(tmp_path):
    tables = other_queues()
    switch = imported(tmp_path, tables)[0]["switch"]
    assert (switch["alpha"], switch["reserved"]) == (0.5, "1664B")
    own = {
        queue["index"]: (queue.get("alpha"), queue.get("reserved"), queue.get("buffer"))
        for queue in switch["queue"]
    }
    assert own == {
        **dict.fromkeys(range(6), (None, None, None)),
        **dict.fromkeys((6, 7), (2, "0B", None)),
    }
    # A fixed limit is applied in addition to alpha, which is then the largest value that SONiC
    # supports.
    tables["BUFFER_PROFILE"]["other_profile"] = {
        "pool": "egress_lossy_pool",
        "size": "1664",
        "static_th": "90000",
    }
    queue = imported(tmp_path, tables)[0]["switch"]["queue"][6]
    assert (queue["alpha"], queue.get("reserved"), queue["buffer"]) == (256, None, "90000B")
    # Without queues the values cannot be applied.
    for table in ("QUEUE", "TC_TO_QUEUE_MAP"):
        del tables[table]
    assert said(
        imported(tmp_path, tables)[1], "other_profile", "static_th = 90000", "needs the queues"
    )


def test_ports_that_differ_in_the_profile_of_a_queue_are_said(tmp_path):
    tables = other_queues()
    tables["BUFFER_QUEUE"]["Ethernet4|6-7"] = {"profile": "egress_lossy_profile"}
    scenario, account = imported(tmp_path, tables)
    assert not any("alpha" in queue for queue in scenario["switch"]["queue"])
    assert said(account, "BUFFER_QUEUE", "lossy queues 6", "other_profile", "dynamic_th 1")


def test_lossless_queues_are_not_among_the_lossy_ones(tmp_path):
    tables = base()
    tables["BUFFER_PROFILE"]["egress_lossless_profile"] = {
        "pool": "egress_lossless_pool",
        "size": "0",
        "dynamic_th": "7",
    }
    for port in PORTS:
        for queues in ("0-2", "5-7"):
            del tables["BUFFER_QUEUE"][f"{port}|{queues}"]
        tables["BUFFER_QUEUE"][f"{port}|0"] = {"profile": "egress_lossy_profile"}
    switch = imported(tmp_path, tables)[0]["switch"]
    assert (switch["alpha"], switch["reserved"]) == (0.5, "1664B")


def test_a_lossy_pool_larger_than_the_memory_is_limited_by_it(tmp_path):
    tables = base()
    tables["BUFFER_POOL"]["egress_lossy_pool"]["size"] = "90000000"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["mmu"]["lossy_pool"] == "64000000B"
    assert said(account, "lossy pool of 90000000 B is larger")


def test_a_headroom_pool_of_0_is_none(tmp_path):
    """Headroom is then reserved for each group."""
    tables = base()
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "0"
    assert "headroom_pool" not in imported(tmp_path, tables)[0]["switch"]["mmu"]


def test_two_ingress_pools_are_added(tmp_path):
    tables = base()
    tables["BUFFER_POOL"]["ingress_lossy_pool"] = {
        "size": "1000000",
        "type": "ingress",
        "mode": "dynamic",
    }
    tables["BUFFER_PROFILE"]["ingress_lossy_profile"]["pool"] = "ingress_lossy_pool"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["buffer"] == "65000000B"
    assert said(account, "ingress_lossless_pool, ingress_lossy_pool", "sizes are added")


def test_headroom_that_sonic_computes(tmp_path):
    # Spectrum 1 has cells of 96 B, so 2 · 96 / 97 of the bytes. 100 Gbps, 40 m and 394 quanta of 64
    # B.
    by_hand = (
        -(
            -(
                1024
                + (9100 + 2 * 40 * 100_000 * 1e9 / 198e6 / 8192 + 0.8 * 1024 + 394 * 64)
                * (192 / 97)
            )
            // 1024
        )
        * 1024
    )
    assert xoff(100_000, 40, 9100, Pattern(1024, 100), 96) == by_hand
    scenario, account = imported(tmp_path, computed())
    switch = scenario["switch"]
    assert switch["mmu"]["lossless_alpha"] == 0.125
    assert switch["pfc"]["headroom"] == f"{int(by_hand)}B"
    assert (switch["mmu"]["xon"], switch["mmu"]["lossless_reserved"]) == ("19456B", "19456B")
    assert scenario["topology"]["rate"] == "100Gbps"
    assert said(
        account, "headroom computed", "lossless MTU 1024", "100 % of small packets", "cells of 96 B"
    )


def test_headroom_without_speed_or_cable(tmp_path):
    tables = computed()
    del tables["PORT"], tables["DEVICE_METADATA"]
    switch = imported(tmp_path, tables)[0]["switch"]
    assert switch["pfc"]["headroom"] == f"{xoff(25_000, 40, 9100, Pattern(1024, 100), 1)}B", (
        "the links of the scenario have a rate"
    )
    del tables["CABLE_LENGTH"]
    scenario, account = imported(tmp_path, tables)
    assert "headroom" not in scenario["switch"]["pfc"], "it follows from the links"
    assert said(
        account,
        "LOSSLESS_TRAFFIC_PATTERN: mtu = 1024, small_packet_percentage = 100",
        "no CABLE_LENGTH",
    )


def test_a_computed_profile_may_have_its_own_alpha(tmp_path):
    tables = computed()
    tables["BUFFER_PROFILE"]["mine"] = {
        "pool": "ingress_lossless_pool",
        "headroom_type": "dynamic",
        "dynamic_th": "2",
    }
    for port in PORTS:
        tables["BUFFER_PG"][f"{port}|3-4"]["profile"] = "mine"
    switch = imported(tmp_path, tables)[0]["switch"]
    assert switch["mmu"]["lossless_alpha"] == 4
    assert switch["pfc"]["headroom"].endswith("B")


# ----------------------------------------------------------------------------------------------------------------------- queues, marking


@pytest.mark.parametrize("value", [None, "false"])
def test_marking_without_wred_enabled_is_said(tmp_path, value):
    tables = base()
    profile = tables["WRED_PROFILE"]["AZURE_LOSSLESS"]
    del profile["wred_green_enable"]
    if value:
        profile["wred_green_enable"] = value
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["queue"][3]["ecn"]["incapable"] == "pass"
    assert said(
        account,
        "AZURE_LOSSLESS",
        "wred_green_enable",
        "SAI's default",
        "is taken to mark all the same",
    )


def test_a_profile_that_drops_without_marking_is_said(tmp_path):
    tables = base()
    tables["WRED_PROFILE"]["AZURE_LOSSLESS"]["ecn"] = "ecn_none"
    scenario, account = imported(tmp_path, tables)
    assert not any("ecn" in queue for queue in scenario["switch"]["queue"])
    assert said(account, "AZURE_LOSSLESS", "ecn = ecn_none", "drops green frames without marking")


def test_a_step_has_no_probability(tmp_path):
    tables = base()
    tables["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_min_threshold"] = "1048576"
    assert imported(tmp_path, tables)[0]["switch"]["queue"][3]["ecn"]["pmax"] == 1


def test_shapers_of_queues_and_ports_are_said(tmp_path):
    tables = base()
    tables["SCHEDULER"]["scheduler.2"] |= {"pir": "1250000000", "pbs": "8192"}
    tables["SCHEDULER"]["port"] = {"meter_type": "bytes", "cir": "1", "pir": "2500000000"}
    tables["PORT_QOS_MAP"]["Ethernet0"]["scheduler"] = "port"
    _, account = imported(tmp_path, tables)
    assert said(account, "SCHEDULER scheduler.2", "pir = 1250000000", "shaper")
    assert said(account, "SCHEDULER port", "pir = 2500000000", "shaper")
    assert said(account, "PORT_QOS_MAP: scheduler", "shaper of the port")


def test_a_scheduler_without_a_type(tmp_path):
    tables = base()
    tables["SCHEDULER"]["scheduler.0"] = {"priority": "3"}
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["queue"][0]["weight"] == 1
    assert said(account, "scheduler.0", "no type, so WRR")
    assert said(account, "scheduler.0", "priority = 3")


def test_queues_with_gaps(tmp_path):
    tables = base()
    tables["TC_TO_QUEUE_MAP"]["AZURE"] = {"0": "0", "1": "1", "3": "3", "4": "4"}
    tables["QUEUE"] = {
        f"{port}|{queue}": {"scheduler": "scheduler.1"} for port in PORTS for queue in (0, 1, 3, 4)
    }
    queues = imported(tmp_path, tables)[0]["switch"]["queue"]
    assert [(queue["index"], queue.get("name"), queue["priorities"]) for queue in queues] == [
        (0, None, [0, 2, 5, 6, 7]),
        (1, None, [1]),
        (2, "queue3", [3]),
        (3, "queue4", [4]),
    ]


@pytest.mark.parametrize(
    "tables", [("QUEUE",), ("QUEUE", "SCHEDULER", "WRED_PROFILE"), ("SCHEDULER",)]
)
def test_maps_without_queues_or_schedulers(tmp_path, tables):
    config = base()
    for table in tables:
        del config[table]
    scenario, account = imported(tmp_path, config)
    assert scenario["switch"]["scheduling"] == "strict_priority"
    assert len(scenario["switch"]["queue"]) == 8
    assert said(account, "queues without a scheduler", "strict")


def test_all_queues_strict(tmp_path):
    tables = base()
    tables["SCHEDULER"] = {f"scheduler.{n}": {"type": "STRICT"} for n in range(3)}
    assert imported(tmp_path, tables)[0]["switch"]["scheduling"] == "strict_priority"


def test_one_queue_for_all_classes(tmp_path):
    tables = base()
    tables["TC_TO_QUEUE_MAP"]["AZURE"] = {str(tc): "3" for tc in range(8)}
    tables["QUEUE"] = {
        f"{port}|3": {"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"}
        for port in PORTS
    }
    switch = imported(tmp_path, tables)[0]["switch"]
    assert "queue" not in switch
    assert switch["ecn"]["kmin"] == "250000B"


def test_queues_of_the_processor_and_beyond_eight(tmp_path):
    tables = base()
    tables["QUEUE"] |= {
        "CPU|0-47": {"scheduler": "scheduler.2"},
        **{f"{port}|8-15": {"scheduler": "scheduler.0"} for port in PORTS},
    }
    scenario, account = imported(tmp_path, tables)
    assert [queue["index"] for queue in scenario["switch"]["queue"]] == list(range(8))
    assert said(account, "own processor", "QUEUE|CPU|0-47")
    assert said(account, "queues without a traffic class", "8 times")


# --------------------------------------------------------------------------------------------------------------------- watchdog, ports


def test_a_watchdog_of_one_priority(tmp_path):
    tables = base()
    tables["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "100"},
        **{port: {"action": "alert", "detection_time": "400"} for port in PORTS},
    }
    for port in PORTS:
        tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = "3"
    scenario, account = imported(tmp_path, tables)
    assert scenario["switch"]["pfc"]["watchdog"] == {
        "detection": "400ms",
        "restoration": "800ms",
        "poll": "100ms",
        "action": "alert",
        "priorities": [3],
    }
    for port in PORTS:
        tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = ""
    scenario, account = imported(tmp_path, tables)
    assert "watchdog" not in scenario["switch"]["pfc"]
    assert said(account, "PFC_WD", "left out")


def test_what_surrounds_a_switch_is_said(tmp_path):
    tables = base()
    tables["PORT"] = {
        port: {"speed": "100000", "lanes": "1,2", "alias": "etp1", "pfc_asym": "on"}
        for port in PORTS
    }
    tables["DEVICE_METADATA"] = {"localhost": {"hwsku": "Arista-7050CX3-32S-C32"}}
    tables["DEVICE_NEIGHBOR"] = {
        "Ethernet0": {"name": "spine1", "port": "Ethernet8", "local_port": "Ethernet0"}
    }
    scenario, account = imported(tmp_path, tables)
    assert scenario["topology"]["rate"] == "100Gbps"
    assert said(account, "a star of 8 hosts at 100 Gbps")
    assert said(account, "2 of 2 ports have 100 Gbps")
    assert said(account, "Arista-7050CX3-32S-C32", "trident3_lossless")
    assert said(account, "DEVICE_NEIGHBOR", "Ethernet0 → spine1 Ethernet8")
    assert said(account, "pfc_asym = on", "PORT|Ethernet0")
    assert said(account, "PORT: lanes")


# -------------------------------------------------------------------------------------------------------------------------- forms of files


def chassis(tables: Config) -> Config:
    for table in ("QUEUE", "BUFFER_QUEUE"):
        tables[table] = {f"leaf1|asic0|{key}": entry for key, entry in tables[table].items()}
    return tables


def dump(tables: Config, separator: str, ending: str) -> dict[str, Any]:
    return {
        separator.join([f"{table}{ending}", *key.split("|")]): entry
        for table, keys in tables.items()
        for key, entry in keys.items()
    }


FORMS = {
    "chassis": chassis,
    "config database": lambda tables: dump(tables, "|", ""),
    "application database": lambda tables: dump(tables, ":", "_TABLE"),
    "redis-dump": lambda tables: {
        key: {"type": "hash", "value": entry, "ttl": -1}
        for key, entry in dump(tables, "|", "").items()
    },
    "swssconfig": lambda tables: [
        {key: entry, "OP": "SET"} for key, entry in dump(tables, ":", "_TABLE").items()
    ],
    "blanks": lambda tables: {
        table: {
            f" {key.replace('|', ' | ')}": {field: f" {value} " for field, value in entry.items()}
            for key, entry in keys.items()
        }
        for table, keys in tables.items()
    },
    "numbers": lambda tables: {
        table: {
            key: {field: int(value) if value.isdigit() else value for field, value in entry.items()}
            for key, entry in keys.items()
        }
        for table, keys in tables.items()
    },
    "old references": lambda tables: {
        **tables,
        "BUFFER_PG": {
            key: {"profile": f"[BUFFER_PROFILE|{entry['profile']}]"}
            for key, entry in tables["BUFFER_PG"].items()
        },
    },
    "nothing in an entry": lambda tables: {**tables, "CABLE_LENGTH": {"AZURE": {"NULL": "NULL"}}},
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_configuration_are_one(tmp_path, form):
    plain, _ = imported(tmp_path, base())
    assert imported(tmp_path, FORMS[form](base()))[0] == plain


def test_a_chassis_comes_back(tmp_path):
    path = tmp_path / "chassis.json"
    path.write_text(json.dumps(chassis(base())))
    text, _ = sonic.imported([path])
    scenario = tmp_path / "chassis.toml"
    scenario.write_text(text)
    assert sonic.exported(scenario)[0] == chassis(base())
    scenario.write_text(text.replace("weight = 14", "weight = 20"))
    tables = sonic.exported(scenario)[0]
    [name] = {
        entry["scheduler"]
        for key, entry in tables["QUEUE"].items()
        if key.startswith("leaf1|asic0|") and key.endswith(("|0", "|6"))
    }
    assert tables["SCHEDULER"][name]["weight"] == "20"
    assert {key.count("|") for key in tables["QUEUE"]} == {3}


# --------------------------------------------------------------------------------------------------------------------------------- errors


def wrong(folder: Path, text: str) -> str:
    path = folder / "config_db.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r".") as error:
        sonic.imported([path])
    message = str(error.value)
    assert "imported.toml" not in message
    assert message.startswith(f"{path}:")
    assert not re.search(r"[A-Z]\w+Error|\berrno\b", message)
    return message


def test_a_key_that_occurs_twice_is_named(tmp_path):
    assert "config_db.json:1: found the key SCHEDULER twice" in wrong(
        tmp_path, '{"SCHEDULER": {"a": {"weight": "1"}}, "SCHEDULER": {"a": {"weight": "2"}}}'
    )
    nested = '{"QUEUE": {"a": {"weight": "1"}},\n"SCHEDULER": {"a": {"weight": "1",\n"type": "DWRR", "w\\u0065ight": "2"}}}'
    assert "config_db.json:3: found the key SCHEDULER → a → weight twice" in wrong(tmp_path, nested)
    assert "thousands of digits" in wrong(tmp_path, '{"a": ' + "9" * 5_000 + "}")


def edited(*path_and_value: Any) -> str:
    tables: Any = base()
    *path, value = path_and_value
    at = tables
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(tables, indent=1)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            ("BUFFER_POOL", "ingress_lossless_pool", "size", "2000000000000"),
            "BUFFER_POOL → ingress_lossless_pool → size = 2000000000000 becomes switch.buffer",
        ),
        (
            ("BUFFER_PROFILE", "egress_lossy_profile", "size", "99000000"),
            "BUFFER_PROFILE → egress_lossy_profile → size = 99000000 becomes switch.reserved",
        ),
        (
            ("BUFFER_PROFILE", "pg_lossless_profile", "xon", "99000000"),
            "BUFFER_PROFILE → pg_lossless_profile → xon = 99000000 becomes switch.mmu.xon",
        ),
        (
            ("BUFFER_POOL", "ingress_lossless_pool", "size", "100000"),
            "BUFFER_POOL → ingress_lossless_pool → size = 100000 becomes switch.buffer",
        ),
        (
            ("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold", "9000000"),
            "green_min_threshold: found '9000000', expected at most green_max_threshold",
        ),
        (
            ("PFC_WD", {"Ethernet0": {"detection_time": "0"}}),
            "PFC_WD → Ethernet0 → detection_time: found '0', expected a whole number from 1",
        ),
        (
            ("QUEUE", "Ethernet0|4-3", {}),
            "QUEUE → Ethernet0|4-3: '4-3': expected a number or a range of queues",
        ),
        (
            ("QUEUE", "leaf1|Ethernet0|3", {}),
            "expected a key of the form port|priorities or card|chip|port|priorities",
        ),
        (
            ("PORT", {"Ethernet0": {"speed": "fast"}}),
            "PORT → Ethernet0 → speed: found 'fast', expected a whole number",
        ),
        (
            ("BUFFER_PG", "Ethernet0|0", {"profile": None}),
            "BUFFER_PG → Ethernet0|0 → profile: found null, expected text",
        ),
    ],
)
def test_errors_name_the_users_file_and_field(tmp_path, edit, says):
    assert says in wrong(tmp_path, edited(*edit))


def test_an_error_about_the_scenario_names_the_scenario(tmp_path):
    path, into = tmp_path / "config_db.json", tmp_path / "fabric.toml"
    path.write_text(json.dumps(base()))
    into.write_text(
        'format = 1\n[topology]\nkind = "star"\nhosts = 2\nrate = "10Gbps"\ndelay = "1us"\n[host]\nmtu = "9999999B"\n'
    )
    with pytest.raises(ValueError, match=r"fabric\.toml") as error:
        sonic.imported([path], into)
    assert "host.mtu" in str(error.value)


# ------------------------------------------------------------------------------------------------------------------------------ round trip

FABRIC = """\
format = 1
[topology]
kind = "star"
hosts = 8
rate = "25Gbps"
delay = "1us"
[switch]
sharing = "sonic"
buffer = "64000000B"
alpha = 0.5
reserved = "1664B"
scheduling = "dwrr"
[switch.mmu]
lossless_alpha = 0.25
lossless_reserved = "18432B"
lossy_pool = "50000000B"
headroom_pool = "4000000B"
xon = "18432B"
xon_offset = "2496B"
[switch.pfc]
priorities = [3, 4]
headroom = "160000B"
[[switch.queue]]
priorities = [0, 1, 2, 7]
weight = 14
[[switch.queue]]
priorities = [3]
weight = 15
ecn = { kmin = "250000B", kmax = "1048576B", pmax = 0.05 }
[[switch.queue]]
priorities = [4, 5]
weight = 20
[[switch.queue]]
priorities = [6]
strict = true
[[traffic]]
kind = "permutation"
sizes = "1MB"
"""
CHANGES = [
    ('buffer = "64000000B"', 'buffer = "70000000B"'),
    ("alpha = 0.5\n", "alpha = 4.0\n"),
    ('reserved = "1664B"', 'reserved = "0B"'),
    ("lossless_alpha = 0.25", "lossless_alpha = 2.0"),
    ("lossless_alpha = 0.25", "lossless_alpha = 0.25\nlossy_ingress_alpha = 8.0"),
    ('lossless_reserved = "18432B"', 'lossless_reserved = "9216B"'),
    ('lossy_pool = "50000000B"\n', ""),
    ('lossy_pool = "50000000B"', 'lossy_pool = "30000000B"'),
    ('headroom_pool = "4000000B"', 'headroom_pool = "3000000B"'),
    ('headroom_pool = "4000000B"\n', ""),
    ('xon = "18432B"', 'xon = "9216B"'),
    ('xon_offset = "2496B"', 'xon_offset = "0B"'),
    ("priorities = [3, 4]", "priorities = [3]"),
    ("priorities = [3, 4]", "priorities = [2, 5]"),
    ('headroom = "160000B"', 'headroom = "200000B"'),
    (
        'headroom = "160000B"',
        'headroom = "200000B"\nwatchdog = { detection = "400ms", restoration = "500ms", poll = "100ms", action = "forward" }',
    ),
    (
        'headroom = "160000B"',
        'headroom = "200000B"\nwatchdog = { detection = "400ms", restoration = "500ms", poll = "100ms", action = "forward", priorities = [4] }',
    ),
    ("weight = 20", "weight = 50"),
    ("weight = 20", "strict = true"),
    ('scheduling = "dwrr"', 'scheduling = "strict_priority"'),
    ('kmin = "250000B"', 'kmin = "100000B"'),
    ('kmax = "1048576B"', 'kmax = "2000000B"'),
    ("pmax = 0.05", "pmax = 0.2"),
    ("pmax = 0.05", 'pmax = 0.05, incapable = "pass"'),
    ("[switch.mmu]", "[host]\ndscp_to_priority = { 26 = 3, 10 = 4 }\n[switch.mmu]"),
    ("priorities = [6]", 'priorities = [6]\nname = "queue7"'),
    ("weight = 14", 'weight = 14\nalpha = 2.0\nreserved = "0B"'),
    ("weight = 14", 'weight = 14\nalpha = 256.0\nbuffer = "90000B"'),
    (
        "[switch.pfc]",
        '[[switch.mmu.group]]\npriorities = [4]\nalpha = 2.0\nreserved = "9216B"\n[switch.pfc]',
    ),
    ("[switch.pfc]", '[[switch.mmu.group]]\npriorities = [3]\nlimit = "90000B"\n[switch.pfc]'),
    (
        "[switch.pfc]",
        '[[switch.mmu.group]]\npriorities = [2]\nalpha = 0.5\nreserved = "1000B"\n[[switch.mmu.group]]\npriorities = [6]\nlimit = "70000B"\n[switch.pfc]',
    ),
    (
        "lossless_alpha = 0.25",
        'lossless_alpha = 0.25\nlossy_ingress_alpha = 8.0\ngroup = [{ priorities = [0, 1], alpha = 1.0 }, { priorities = [3], limit = "90000B" }]',
    ),
]


@pytest.mark.parametrize(
    "change",
    [("", ""), *CHANGES],
    ids=lambda change: change[1].replace("\n", " ") or change[0] or "as it is",
)
def test_what_is_exported_imports_as_it_was(tmp_path, change):
    text = FABRIC.replace(*change, 1)
    if change[1] == 'scheduling = "strict_priority"':
        text = re.sub(r"weight = \d+", "strict = true", text)
    first, second, path = tmp_path / "first.toml", tmp_path / "second.toml", tmp_path / "patch.json"
    first.write_text(text)
    tables, notes = sonic.exported(first, ports=2)
    assert not [
        note for note in notes if note.startswith("not exported") and "one colour" not in note
    ]
    path.write_text(json.dumps(tables))
    second.write_text(sonic.imported([path])[0])
    before, after = (toml.with_defaults(_core.load(file).resolved) for file in (first, second))
    assert after["switch"] == before["switch"]
    assert _core.load(second).priority_of_dscp == _core.load(first).priority_of_dscp
    # A second export gives the same tables.
    assert sonic.exported(second)[0] == tables


def test_a_lossless_class_of_another_group_is_exported_with_its_priority(tmp_path):
    path, scenario = tmp_path / "config_db.json", tmp_path / "leaf.toml"
    path.write_text(json.dumps(remapped()))
    text = sonic.imported([path])[0]
    scenario.write_text(text)
    assert sonic.exported(scenario)[0] == remapped()
    scenario.write_text(text.replace("priorities = [5]\nheadroom", "priorities = [5, 6]\nheadroom"))
    tables, _ = sonic.exported(scenario)
    path.write_text(json.dumps(tables))
    assert imported(tmp_path, tables)[0]["switch"]["pfc"]["priorities"] == [5, 6]
    assert {entry["pfc_enable"] for entry in tables["PORT_QOS_MAP"].values()} == {"3,6"}
