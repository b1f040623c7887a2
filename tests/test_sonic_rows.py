"""SONiC configurations as real switches have them, each with the expected value."""

import json
import re
from typing import Any

import pytest
from sonic_base import PORTS, Config, base, imported

from afflux import _core
from afflux.exchange import sonic
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


# ------------------------------------------------------------------------------------------------------------------------------ round trip


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
