"""An edited scenario, exported to SONiC and imported again, means the same; what does not is
named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from sonic_base import PORTS, Config, base, computed, imported

from afflux import _core
from afflux.exchange import sonic
from afflux.exchange.sonic.patch import removed
from afflux.exchange.sonic.tables import ConfigError
from afflux.files import toml


def watched() -> Config:
    tables = base()
    tables["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        **{
            port: {"action": "drop", "detection_time": "400", "restoration_time": "400"}
            for port in PORTS
        },
    }
    for port in PORTS:
        tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = "3"
    return tables


def edited(folder: Path, *edits: tuple[str, str], tables: Config | None = None) -> Path:
    """Imports tables, and edits the scenario by regular expressions."""
    path, scenario = folder / "config_db.json", folder / "edited.toml"
    path.write_text(json.dumps(watched() if tables is None else tables))
    text, sonics = sonic.imported([path])[0].split("\n[sonic]", 1)
    for old, new in edits:
        text, times = re.subn(old, new, text, count=1, flags=re.MULTILINE | re.DOTALL)
        assert times, old
    scenario.write_text(f"{text}\n[sonic]{sonics}")
    return scenario


def again(folder: Path, tables: Any) -> dict[str, Any]:
    path, scenario = folder / "again.json", folder / "again.toml"
    path.write_text(json.dumps(tables))
    scenario.write_text(sonic.imported([path])[0])
    return settings(scenario)


def settings(scenario: Path) -> dict[str, Any]:
    resolved = toml.with_defaults(_core.load(scenario).resolved)
    for queue in resolved["switch"].get("queue", []):
        queue.pop("ecn") if queue.get("ecn") == "off" else None
    return resolved["switch"]  # type: ignore[no-any-return]


def lost(notes: list[str]) -> list[str]:
    return [note for note in notes if note.startswith("not exported")]


EDITS = [
    # Spellings of quantities that the core takes.
    (r'^buffer = "64000000B"', 'buffer = "70_000_000B"'),
    (r'^buffer = "64000000B"', 'buffer = "70000KB"'),
    (r'^buffer = "64000000B"', 'buffer = "0.00007TB"'),
    (r'^buffer = "64000000B"', 'buffer = " 70 MB "'),
    (r'kmin = "250000B"', 'kmin = "250KB"'),
    (r'kmin = "250000B"', 'kmin = "200_000B"'),
    (r"pmax = 0.05", 'pmax = " 10 % "'),
    (r'headroom = "160000B"', 'headroom = "+170_000B"'),
    (r'detection = "400ms"', 'detection = "0.01min"'),
    (r'detection = "400ms"', 'detection = "500000000ns"'),
    (r"^\[switch.pfc\]", '[[switch.mmu.group]]\npriorities = [3]\nlimit = "100KB"\n[switch.pfc]'),
    (r"^\[switch.pfc\]", "[[switch.mmu.group]]\npriorities = [4]\nalpha = 2.0\n[switch.pfc]"),
    # Settings that are turned off or left out, so that the default applies.
    (r"^\[switch.pfc.watchdog\].*?(?=^\[\[)", ""),
    (r"^lossy_ingress_alpha = [\d.]+", 'lossy_ingress_alpha = "off"'),
    (r"^lossy_ingress_alpha = [\d.]+", ""),
    (r"^alpha = 0.5", ""),
    (r'^reserved = "1664B"', ""),
    (r'^xon = "18432B"', ""),
    (r"^lossless_alpha = [\d.]+", ""),
    (r"\[switch.queue.ecn\]\nkmin[^\[]*", ""),
    # Other lossless classes.
    (r"priorities = \[3, 4\]$", "priorities = [3, 5]"),
    (r"priorities = \[3, 4\]$", "priorities = [2, 3, 4, 5]"),
    (r"priorities = \[3, 4\]$", "priorities = [3]"),
    (r"^priorities = \[3\]$", "priorities = [3, 4]"),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit[1] or edit[0])
def test_an_edit_comes_back(tmp_path, edit):
    scenario = edited(tmp_path, edit)
    tables, notes = sonic.exported(scenario)
    assert not lost(notes)
    assert again(tmp_path, tables) == settings(scenario)


def test_priorities_that_become_lossless_get_profiles_and_the_others_lose_them(tmp_path):
    scenario = edited(tmp_path, (r"priorities = \[3, 4\]$", "priorities = [3, 5]"))
    tables, notes = sonic.exported(scenario)
    for port in PORTS:
        groups, queues = tables["BUFFER_PG"], tables["BUFFER_QUEUE"]
        assert tables["PORT_QOS_MAP"][port]["pfc_enable"] == "3,5"
        assert tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["5"] == "5"
        for number in (3, 5):
            assert groups[f"{port}|{number}"] == {"profile": "pg_lossless_profile"}
            assert queues[f"{port}|{number}"] == {"profile": "egress_lossless_profile"}
        assert groups[f"{port}|4"] == {"profile": "ingress_lossy_profile"}
        assert queues[f"{port}|4"] == {"profile": "egress_lossy_profile"}
    # The keys of ranges are not in the tables any more, and a switch does not remove them by itself.
    [removals] = [note for note in notes if "removes nothing" in note]
    for table, numbers in (("BUFFER_PG", "3-4"), ("BUFFER_QUEUE", "3-4"), ("BUFFER_QUEUE", "5-7")):
        command = f"sonic-db-cli CONFIG_DB DEL '{table}|'{{Ethernet0,Ethernet4}}'|{numbers}'"
        assert command in removals


def test_names_that_a_shell_would_run_stand_in_quotes():
    was = {"BUFFER_PG": {"Ethernet0|3-4": {}, "Ethernet4; reboot #|3-4": {}, "Ethernet8|3-4": {}}}
    assert removed(was, {}) == [
        "sonic-db-cli CONFIG_DB DEL 'BUFFER_PG|Ethernet0|3-4'",
        "sonic-db-cli CONFIG_DB DEL 'BUFFER_PG|Ethernet4; reboot #|3-4'",
        "sonic-db-cli CONFIG_DB DEL 'BUFFER_PG|Ethernet8|3-4'",
    ]
    del was["BUFFER_PG"]["Ethernet4; reboot #|3-4"]
    assert removed(was, {}) == [
        "sonic-db-cli CONFIG_DB DEL 'BUFFER_PG|'{Ethernet0,Ethernet8}'|3-4'"
    ]


def test_lossless_groups_that_sonic_computes_move_too(tmp_path):
    scenario = edited(
        tmp_path, (r"priorities = \[3, 4\]$", "priorities = [3, 5]"), tables=computed()
    )
    tables, notes = sonic.exported(scenario)
    assert not lost(notes)
    assert tables["BUFFER_PG"]["Ethernet0|5"] == {"profile": "NULL"}
    assert tables["BUFFER_PG"]["Ethernet0|4"] == {"profile": "ingress_lossy_profile"}


def test_pfc_that_is_turned_off(tmp_path):
    scenario = edited(tmp_path, (r"^\[switch.pfc\].*?(?=^\[\[)", ""))
    tables, notes = sonic.exported(scenario)
    assert not lost(notes)
    for port in PORTS:
        # A field that is left out would keep its value.
        assert tables["PORT_QOS_MAP"][port]["pfc_enable"] == ""
        assert tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] == ""
        assert tables["BUFFER_PG"][f"{port}|4"] == {"profile": "ingress_lossy_profile"}
    assert "pfc" not in again(tmp_path, tables) or again(tmp_path, tables)["pfc"] == "off"


def test_a_watchdog_that_is_turned_off_watches_nothing(tmp_path):
    scenario = edited(tmp_path, (r"^\[switch.pfc.watchdog\].*?(?=^\[\[)", ""))
    tables, notes = sonic.exported(scenario)
    assert set(tables["PFC_WD"]) == {"GLOBAL"}
    assert {entry["pfcwd_sw_enable"] for entry in tables["PORT_QOS_MAP"].values()} == {""}
    assert any("DEL 'PFC_WD|'{Ethernet0,Ethernet4}" in note for note in notes)


def test_a_headroom_pool_that_is_left_out(tmp_path):
    scenario = edited(tmp_path, (r'^headroom_pool = "4000000B"', ""))
    tables, _ = sonic.exported(scenario)
    pool = tables["BUFFER_POOL"]["ingress_lossless_pool"]
    assert (pool["size"], pool["xoff"]) == ("64000000", "0")
    assert again(tmp_path, tables)["buffer"] == "64MB"


def test_a_headroom_by_formula_is_written_as_a_number(tmp_path):
    for word in ("sonic", "mellanox"):
        scenario = edited(
            tmp_path,
            (
                r'headroom = "160000B"',
                f'headroom = "{word}"\ncable = "300m"'
                if word == "sonic"
                else f'headroom = "{word}"',
            ),
        )
        gives = max(port[2] for port in _core.load(scenario).headrooms)
        tables, notes = sonic.exported(scenario)
        assert tables["BUFFER_PROFILE"]["pg_lossless_profile"]["xoff"] == str(gives)
        [note] = [note for note in notes if note.startswith("pfc.headroom")]
        assert note.endswith(f"gives {gives} B: xoff is {gives} B")


def test_a_preset_is_part_of_the_settings(tmp_path):
    scenario = edited(tmp_path, (r"^sharing = ", 'preset = "trident3_lossless"\nsharing = '))
    tables, notes = sonic.exported(scenario)
    assert tables["BUFFER_POOL"]["egress_lossy_pool"]["size"] == "24192256"
    assert any("mmu.cell" in note for note in lost(notes))
    assert any("latency" in note for note in lost(notes))


def test_one_queue_instead_of_eight(tmp_path):
    scenario = edited(
        tmp_path,
        (r'^scheduling = "dwrr"', 'ecn = { k = "100kB" }'),
        (r"^\[\[switch.queue\]\].*?(?=^\[host\])", ""),
    )
    tables, notes = sonic.exported(scenario)
    assert not lost(notes)
    assert set(tables["TC_TO_QUEUE_MAP"]["AZURE"].values()) == {"0"}
    profile = tables["WRED_PROFILE"][tables["QUEUE"]["Ethernet0|0"]["wred_profile"]]
    assert profile["green_min_threshold"] == "100000"


@pytest.mark.parametrize(
    ("key", "edit"),
    [
        ("latency", (r"^sharing = ", 'latency = "500ns"\nsharing = ')),
        ("quantum", (r"^sharing = ", 'quantum = "3000B"\nsharing = ')),
        ("honours_pause", (r"^sharing = ", "honours_pause = false\nsharing = ")),
        ("queue_length", (r"^sharing = ", 'queue_length = "before_transmission"\nsharing = ')),
        ("hash", (r"^sharing = ", 'hash = "symmetric"\nsharing = ')),
        ("forwarding", (r"^sharing = ", 'forwarding = "cut_through"\nsharing = ')),
        ("balance", (r"^sharing = ", 'balance = "letflow"\nsharing = ')),
        ("pfc.pause_time", (r"^headroom = ", 'pause_time = "5us"\nheadroom = ')),
        ("mmu.cell", (r"^headroom_pool = ", 'cell = "256B"\nheadroom_pool = ')),
        ("compare", (r"^pmax = 0.05", 'pmax = 0.05\ncompare = "at_or_above"')),
        ("sharing", (r'^sharing = "sonic"', 'sharing = "static"')),
    ],
)
def test_what_no_table_has_is_named(tmp_path, key, edit):
    edits = [edit]
    if key == "sharing":
        edits += [(r"^\[switch.mmu\].*?(?=^\[\[)", ""), (r"^(alpha|reserved) = .*?$", "")]
        edits += [(r"^(alpha|reserved) = .*?$", "")]
    _, notes = sonic.exported(edited(tmp_path, *edits))
    assert any(key in note for note in lost(notes))


def test_times_of_the_watchdog_are_those_that_sonic_takes(tmp_path):
    scenario = edited(
        tmp_path,
        (r'detection = "400ms"', 'detection = "10ms"'),
        (r'restoration = "400ms"', 'restoration = "70s"'),
        (r'poll = "200ms"', 'poll = "500us"'),
    )
    tables, notes = sonic.exported(scenario)
    assert tables["PFC_WD"]["GLOBAL"] == {"POLL_INTERVAL": "100"}
    entry = tables["PFC_WD"]["Ethernet0"]
    assert (entry["detection_time"], entry["restoration_time"]) == ("100", "60000")
    for key, value in (("poll", "0.5 ms"), ("detection", "10 ms"), ("restoration", "70000 ms")):
        assert any(f"pfc.watchdog.{key} = {value}: SONiC takes" in note for note in lost(notes))


def test_weights_are_scaled_to_those_of_sonic(tmp_path):
    scenario = edited(tmp_path, (r"weight = 14", "weight = 500"))
    tables, notes = sonic.exported(scenario)
    assert [queue.get("weight") for queue in again(tmp_path, tables)["queue"]][:4] == [100, 3, 3, 3]
    assert any("weights 500, 14" in note and "as 100, 3" in note for note in lost(notes))


# ------------------------------------------------------------------------------------------------------------------ scenarios of one's own


STAR = """\
format = 1
[topology]
kind = "{kind}"
{fabric}
[switch]
{switch}
[[traffic]]
kind = "permutation"
sizes = "1MB"
"""


def star(folder: Path, switch: str) -> Path:
    path = folder / "star.toml"
    fabric = 'hosts = 4\nrate = "100Gbps"\ndelay = "1us"'
    path.write_text(STAR.format(kind="star", fabric=fabric, switch=switch))
    return path


LOSSLESS = 'sharing = "sonic"\npfc = { priorities = [3, 4] }'


def test_new_lossless_groups_have_headroom_and_queues(tmp_path):
    scenario = star(tmp_path, LOSSLESS)
    tables, notes = sonic.exported(scenario, ports=1)
    profile = tables["BUFFER_PROFILE"][tables["BUFFER_PG"]["Ethernet0|3"]["profile"]]
    gives = max(port[2] for port in _core.load(scenario).headrooms)
    assert profile["xoff"] == str(gives)
    assert any("SONiC's formula gives" in note for note in notes)
    queue = tables["BUFFER_PROFILE"][tables["BUFFER_QUEUE"]["Ethernet0|3"]["profile"]]
    pool = tables["BUFFER_POOL"][queue["pool"]]
    assert queue["static_th"] == pool["size"] == "32000000"
    assert {key.split("|")[1] for key in tables["BUFFER_QUEUE"]} == set("01234567")


def test_a_length_of_cable_is_in_whole_metres(tmp_path):
    scenario = star(tmp_path, LOSSLESS.replace("4]", '4], cable = "2.5m"'))
    tables, notes = sonic.exported(scenario, ports=1)
    assert tables["CABLE_LENGTH"]["AZURE"] == {"Ethernet0": "3m"}
    assert any("pfc.cable = 2.5 m" in note for note in lost(notes))


def test_high_priorities_go_to_the_last_of_few_queues(tmp_path):
    tables, notes = sonic.exported(
        star(tmp_path, 'scheduling = "strict_priority"\npriorities = 4'), ports=1
    )
    assert not lost(notes)
    assert tables["TC_TO_QUEUE_MAP"]["AZURE"] == {str(tc): str(min(tc, 3)) for tc in range(8)}
    assert again(tmp_path, tables)["queue"][3]["priorities"] == [3, 4, 5, 6, 7]


def test_maps_agree_on_priorities_that_no_queue_names(tmp_path):
    queues = "".join(f"\n[[switch.queue]]\npriorities = [{n}]\nweight = 1" for n in (0, 3))
    tables, _ = sonic.exported(star(tmp_path, f'{LOSSLESS}\nscheduling = "dwrr"{queues}'), ports=1)
    wanted = {str(tc): "1" if tc == 3 else "0" for tc in range(8)}
    assert tables["TC_TO_QUEUE_MAP"]["AZURE"] == wanted
    assert tables["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"] == wanted


LEAVES = STAR.format(
    kind="leaf_spine",
    fabric="leaves = 2\nspines = 1\nhosts_per_leaf = 2",
    switch='sharing = "sonic"\nbuffer = "32MB"\nalpha = 1.0\n[[switch.override]]\nmatch = MATCH\nbuffer = "9MB"\nalpha = 8.0',
)


@pytest.mark.parametrize("match", ['"leaf[0-1]"', '["leaf[0,1]"]', '"leaf*"', '"leaf?"'])
def test_overrides_match_as_in_the_core(tmp_path, match):
    path = tmp_path / "leaves.toml"
    path.write_text(LEAVES.replace("MATCH", match))
    try:
        _core.load(path)
    except _core.ScenarioError:
        pytest.skip("the core has no such pattern")
    tables, _ = sonic.exported(path, 1, "leaf0")
    assert tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"] == "9000000"
    assert tables["BUFFER_PROFILE"]["egress_lossy_profile"]["dynamic_th"] == "3"
    tables, notes = sonic.exported(path, 1)
    assert tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"] == "32000000"
    assert any("leaf0, leaf1 have other settings" in note for note in notes)


def test_a_scenario_with_a_byte_order_mark(tmp_path):
    path = star(tmp_path, LOSSLESS)
    plain = sonic.exported(path)
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert sonic.exported(path) == plain


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            r"\[sonic\]",
            '[sonic]\n[sonic.VLAN.Vlan1]\nid = "1"',
            "sonic.VLAN: unknown table; expected some of BUFFER_POOL",
        ),
        (r'type = "ingress"\n', "", "BUFFER_POOL → ingress_lossless_pool: type is missing"),
        (r'size = "60000000"', 'size = "abc"', "size: found 'abc', expected a whole number"),
        (r"\|3-4", "|3-x", "'3-x': expected a number or a range of queues"),
    ],
)
def test_a_wrong_table_of_the_scenario_is_named(tmp_path, old, new, says):
    scenario = edited(tmp_path)
    scenario.write_text(re.sub(old, new, scenario.read_text(), count=1))
    with pytest.raises(ConfigError, match=re.escape(str(scenario))) as error:
        sonic.exported(scenario)
    assert says in str(error.value)
    assert re.search(r":\d+: ", str(error.value))


def test_hosts_do_not_send_dscps_of_classes_above_seven(tmp_path):
    tables = base()
    tables["DSCP_TO_TC_MAP"]["AZURE"] = {
        str(dscp): "8" if dscp == 33 else "1" for dscp in range(64)
    }
    tables["DSCP_TO_TC_MAP"]["AZURE"]["8"] = "0"
    _, notes = sonic.exported(edited(tmp_path, tables=tables))
    assert "hosts must send traffic of priority 0 (default) with DSCP 8" in notes


def test_dscps_of_flow_lists_and_acknowledgements(tmp_path):
    """The notes had the block's priority alone, which a flow list does not need to have."""
    (tmp_path / "flows.csv").write_text(
        "start_ns,src,dst,bytes,class,priority\n0,1,0,1000,web,3\n0,2,0,1000,bulk,5\n"
    )
    scenario = tmp_path / "lists.toml"
    scenario.write_text(
        'format = 1\n[topology]\nkind = "star"\nhosts = 3\n'
        '[switch]\nscheduling = "strict_priority"\n'
        '[host]\nscheduling = "strict_priority"\n[host.transport]\nack_priority = 7\n'
        '[[traffic]]\nkind = "flows"\nfile = "flows.csv"\n'
    )
    _, notes = sonic.exported(scenario)
    assert [note for note in notes if "priority" in note and "DSCP" in note] == [
        "hosts must send traffic of priority 3 (web) with DSCP 3",
        "hosts must send traffic of priority 5 (bulk) with DSCP 46",
        "no DSCP leads to priority 7 (acknowledgements): write one in [host] dscp_to_priority, "
        "as in 56 = 7, and export again",
    ]


def test_what_is_written_is_not_called_lost(tmp_path):
    _, notes = sonic.exported(star(tmp_path, 'ecn = { k = "30kB" }'))
    assert any(note.startswith("WRED_PROFILE: afflux has one colour") for note in notes)
    assert not any("one colour" in note for note in lost(notes))


QUEUES = """\
buffer = "16MB"
scheduling = "dwrr"
[[switch.queue]]
weight = 50
priorities = [0, 1, 2]
ecn = { kmin = "100kB", kmax = "200kB", pmax = 0.1 }
[[switch.queue]]
weight = 50
priorities = [3, 4, 5, 6, 7]
ecn = { kmin = "100kB", kmax = "200kB", pmax = 0.1 }
"""


def test_a_wred_profile_that_another_queue_uses_stays(tmp_path):
    tables, _ = sonic.exported(star(tmp_path, QUEUES), ports=2)
    assert {entry["wred_profile"] for entry in tables["QUEUE"].values()} == {"AFFLUX_QUEUE0"}
    scenario = edited(
        tmp_path, (r'kmin = "100kB"|kmin = "100000B"', 'kmin = "50kB"'), tables=tables
    )
    tables, notes = sonic.exported(scenario)
    assert not lost(notes)
    thresholds = [
        tables["WRED_PROFILE"][tables["QUEUE"][f"Ethernet0|{queue}"]["wred_profile"]]
        for queue in (0, 1)
    ]
    assert [each["green_min_threshold"] for each in thresholds] == ["50000", "100000"]
    assert again(tmp_path, tables) == settings(scenario)


def test_a_buffer_profile_that_other_queues_use_stays(tmp_path):
    """The profile of all queues has the name that export gives to that of queue 0."""
    tables = base()
    profiles = tables["BUFFER_PROFILE"]
    profiles["egress_queue0_profile"] = profiles.pop("egress_lossy_profile")
    for entry in tables["BUFFER_QUEUE"].values():
        if entry["profile"] == "egress_lossy_profile":
            entry["profile"] = "egress_queue0_profile"
    scenario = edited(tmp_path, (r"\[\[switch.queue\]\]\n", "\\g<0>alpha = 2.0\n"), tables=tables)
    tables, notes = sonic.exported(scenario)
    assert not lost(notes)
    assert tables["BUFFER_PROFILE"]["egress_queue0_profile"] == profiles["egress_queue0_profile"]
    assert tables["BUFFER_QUEUE"]["Ethernet0|0"] == {"profile": "egress_queue0_profile_2"}
    assert again(tmp_path, tables) == settings(scenario)


#: Fields of newer images: marking thresholds apart from those of drops.
MARKS = {
    f"ecn_{colour}_{what}": value
    for colour in ("green", "yellow", "red")
    for what, value in (
        ("min_threshold", "100000"),
        ("max_threshold", "400000"),
        ("mark_probability", "20"),
    )
}


def test_marking_thresholds_come_before_those_of_drops(tmp_path):
    tables = base()
    profile = tables["WRED_PROFILE"]["AZURE_LOSSLESS"]
    profile.update(MARKS)
    scenario, account = imported(tmp_path, tables)
    ecn = scenario["switch"]["queue"][3]["ecn"]
    assert (ecn["kmin"], ecn["kmax"], ecn["pmax"]) == ("100000B", "400000B", 0.2)
    assert ecn.get("incapable", "pass") == "pass"
    assert any(
        "wred_green_enable = true, green_min_threshold = 250000" in note
        and "drop curve" in note
        and "left out" in note
        for note in account.lines()
    )
    # A change goes into the fields of marking, and the drop curve stays.
    edit = edited(tmp_path, (r'kmin = "100000B"', 'kmin = "50kB"'), tables=tables)
    out, notes = sonic.exported(edit)
    assert not lost(notes)
    name = out["QUEUE"]["Ethernet0|3"]["wred_profile"]
    lower = {field: "50000" for field in MARKS if "min" in field}
    assert out["WRED_PROFILE"][name] == {**profile, **lower}
    assert again(tmp_path, out) == settings(edit)


def test_equal_thresholds_of_marks_and_drops_are_one_curve(tmp_path):
    tables = base()
    plain, _ = imported(tmp_path, tables)
    profile = tables["WRED_PROFILE"]["AZURE_LOSSLESS"]
    profile["ecn_green_min_threshold"] = profile["green_min_threshold"]
    assert imported(tmp_path, tables)[0] == plain
    edit = edited(tmp_path, (r'kmin = "250000B"', 'kmin = "50kB"'), tables=tables)
    out, notes = sonic.exported(edit)
    assert not lost(notes)
    written = out["WRED_PROFILE"][out["QUEUE"]["Ethernet0|3"]["wred_profile"]]
    assert written["ecn_green_min_threshold"] == written["green_min_threshold"] == "50000"
    assert again(tmp_path, out) == settings(edit)


def test_a_marking_threshold_above_the_largest_is_refused(tmp_path):
    tables = base()
    tables["WRED_PROFILE"]["AZURE_LOSSLESS"]["ecn_green_min_threshold"] = "2000000"
    with pytest.raises(
        ConfigError,
        match="ecn_green_min_threshold: found '2000000', expected at most green_max_threshold",
    ):
        imported(tmp_path, tables)
