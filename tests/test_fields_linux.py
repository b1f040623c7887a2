"""`export linux`: every key of a transport has an effect or a note, one file configures one group
of hosts, and no key is obsolete."""

import re
from typing import Any

import pytest

from afflux import _core
from afflux.exchange import sysctl
from afflux.files import toml

#: Values that differ from those of Linux's stack, for every key of a TCP transport. Tables need
#: their congestion control.
CHANGES: dict[str, str] = {
    "ack_priority": "0",
    "burst": "4",
    "congestion": '"dctcp"',
    "delayed_ack": '"off"',
    "dupack_threshold": "5",
    "ecn": '"classic"',
    "granularity": '"1ms"',
    "handshake": "false",
    "idle_restart": "false",
    "initial_rto": '"3s"',
    "initial_window": "4",
    "max_rto": '"60s"',
    "max_window": "100",
    "min_rto": '"10ms"',
    "min_rto_on_variance": "false",
    "mptcp": '{ manager = "ndiffports", subflows = 2, coupling = "lia", scheduler = "lowest_rtt" }',
    "mss": '"1000B"',
    "pacing": "true",
    "prr": "false",
    "receive_buffer": '"1MB"',
    "receive_buffer_max": '"9MB"',
    "receive_buffer_share": "0.75",
    "receive_window": '"1MB"',
    "recovery": '"sack"',
    "retries": "3",
    "rtt_estimator": '"rfc6298"',
    "sack_compression": "false",
    "send_buffer": '"1MB"',
    "send_buffer_max": '"1MB"',
    "small_queues": "false",
    "ssthresh_cache": "true",
    "stack": '"basic"',
    "syn_retries": "2",
    "tail_probe": "false",
    "tick": '"4ms"',
    "timer_wheel": '"cascading"',
    "undo": "false",
}
#: Tables of congestion controls, and a reader, which requires other keys.
TABLES = {
    "bbr": 'congestion = "bbr"\nbbr = { flavour = "ns3" }',
    "bbr3": 'congestion = "bbr3"\nbbr3 = { probe_rtt_time = "300ms" }',
    "cubic": "cubic = { c = 0.5 }",
    "d2tcp": 'congestion = "d2tcp"\nd2tcp = { most = 3.0 }',
    "dctcp": 'congestion = "dctcp"\ndctcp = { gain = 0.125 }',
    "hystart_plusplus": 'congestion = "newreno"\nhystart_plusplus = true',
    "htcp": 'congestion = "htcp"\nhtcp = { rtt_scaling = false }',
    "ledbatpp": 'congestion = "ledbatpp"\nledbatpp = { target = "100us" }',
    "newreno": 'congestion = "newreno"\nnewreno = { flavour = "rfc5681" }',
    "reader": 'receive_buffer = "1MB"\nreader = { read = "1ms", sleep = "1ms" }',
}


def resolved(transport: str, more: str = "") -> Any:
    text = f'format = 1\n[topology]\nkind = "star"\nhosts = 4\n[host.transport]\n{transport}\n{more}\n[[traffic]]\nkind = "permutation"\nsizes = "1kB"\n'
    return toml.with_defaults(_core.parse(text, "x.toml").resolved)


def exported(transport: str) -> str:
    return sysctl.document(sysctl.of_scenario(resolved(transport)))


def properties(name: str) -> dict[str, Any]:
    import json

    kinds = json.loads(_core.schema())["$defs"][name]
    found: dict[str, Any] = next(
        one["properties"]
        for one in kinds["oneOf"]
        if one["properties"]["kind"].get("const") == "tcp"
    )
    return found


def test_every_key_is_here():
    assert set(CHANGES) | set(TABLES) | {"kind"} == set(properties("Transport"))


@pytest.mark.parametrize("key", CHANGES)
def test_no_key_is_silent(key):
    base = 'receive_buffer = "1MB"' if key == "receive_buffer_share" else ""
    assert exported(f"{base}\n{key} = {CHANGES[key]}") != exported(base), key


@pytest.mark.parametrize("key", TABLES)
def test_no_table_is_silent(key):
    changed = TABLES[key]
    base = "\n".join(line for line in changed.splitlines() if not line.startswith(f"{key} ="))
    assert exported(changed) != exported(base), key


def test_an_export_that_ignores_a_key_is_found(monkeypatch):
    """Without the last step of the export, keys without a Linux setting would be silent."""
    before = {
        key: exported(f"{key} = {value}")
        for key, value in CHANGES.items()
        if key in ("granularity", "retries", "tick", "rtt_estimator")
    }
    monkeypatch.setattr(sysctl, "_rest", lambda *_: None)
    assert [key for key in before if exported(f"{key} = {CHANGES[key]}") != exported("")] == []


def test_one_group_is_set_and_the_others_are_comments():
    more = '[host.transports.bulk]\ncongestion = "bbr"\n[[host.override]]\nmatch = "host3"\necn = false\n'
    groups = sysctl.of_scenario(resolved('congestion = "cubic"', more))
    lines = sysctl.document(groups).splitlines()
    set_ = [line.split(" = ")[0] for line in lines if line and not line.startswith("#")]
    assert len(set_) == len(set(set_)), "each key once"
    assert "net.ipv4.tcp_congestion_control = cubic" in lines
    assert "# net.ipv4.tcp_congestion_control = bbr" in lines
    assert "# net.ipv4.tcp_ecn = 0" in lines
    assert any(
        "traffic with transport = 'bulk'" in note and "hosts host3" in note
        for note in sysctl.notes(groups)
    )


def test_groups_with_equal_settings_are_one():
    groups = sysctl.of_scenario(
        resolved('congestion = "cubic"', '[host.transports.bulk]\ncongestion = "cubic"\n')
    )
    text = sysctl.document(groups)
    assert text.startswith("# all hosts, traffic with transport = 'bulk'\n")
    assert text.count("tcp_congestion_control") == 1


def test_the_transport_of_all_traffic_is_set():
    text = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\n[host.transports.bulk]\ncongestion = "bbr"\n'
    text += '[[traffic]]\nkind = "permutation"\nsizes = "1kB"\ntransport = "bulk"\n'
    lines = sysctl.document(
        sysctl.of_scenario(toml.with_defaults(_core.parse(text, "x.toml").resolved))
    ).splitlines()
    assert "net.ipv4.tcp_congestion_control = bbr" in lines
    assert "# net.ipv4.tcp_congestion_control = cubic" in lines


#: Keys without effect in current kernels (Documentation/networking/ip-sysctl.rst), or removed keys.
OBSOLETE = (
    "tcp_adv_win_scale",
    "tcp_low_latency",
    "tcp_fack",
    "tcp_tw_recycle",
    "tcp_max_ssthresh",
    "tcp_frto_response",
    "tcp_abc",
    "tcp_dma_copybreak",
)


def test_no_key_is_obsolete():
    from afflux.estimates import planner

    path = planner.Path(rate=1e9, rtt=0.1, loss=0.0, memory=1e9, mtu=1500, congestion="cubic")
    written = exported("") + "\n".join(planner.plan(path).sysctl)
    assert not [key for key in OBSOLETE if re.search(rf"\b{key}\b", written)]
