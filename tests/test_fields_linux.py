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


#: Values that differ from the defaults, for every key of `[host]` that is a setting of a host.
HOST = {
    "bql": '"300kB"',
    "delay": '"5us"',
    "dscp_to_priority": "{ 46 = 6 }",
    "ecn": "false",
    "hardware_queues": "4",
    "honours_pause": "false",
    "mtu": '"9000B"',
    "nic_ecn": '{ k = "30kB" }',
    "nic_queue": "[{ priorities = [0], weight = 1 }, { priorities = [1], weight = 2 }]",
    "pacer": "{}",
    "priorities": '4\nscheduling = "strict_priority"',
    "processor": '{ packet_time = "1us" }',
    "qdisc": '"off"',
    "quantum": '"3000B"\nscheduling = "dwrr"\nnic_queue = [{ priorities = [0], weight = 1 }, { priorities = [1], weight = 2 }]',
    "queue": '"100kB"',
    "scheduling": '"strict_priority"',
    "wire": '"rocev2"',
}
#: Keys that are exported elsewhere, refer to files, or model a machine or a fault (`timing`).
OTHERS = {"kernel", "override", "python", "storm", "timing", "transport", "transports"}


def of_host(keys: str, more: str = "") -> tuple[str, list[str]]:
    groups = sysctl.of_scenario(resolved("", f"[host]\n{keys}\n{more}"))
    return sysctl.document(groups), sysctl.notes(groups)


def test_every_key_of_hosts_is_here():
    import json

    host = json.loads(_core.schema())["$defs"]["Host"]["properties"]
    assert set(HOST) | OTHERS == set(host)


@pytest.mark.parametrize("key", HOST)
def test_no_key_of_hosts_is_silent(key):
    text, notes = of_host(f"{key} = {HOST[key]}")
    lines = {line for line in text.splitlines() if line not in of_host("")[0].splitlines()}
    # A line that vanishes is no word about the key.
    assert lines, key
    if key not in ("bql", "ecn", "hardware_queues", "mtu"):
        assert any(f"host.{key} = " in note for note in notes), notes


@pytest.mark.parametrize(
    "key", sorted(HOST.keys() - {"dscp_to_priority", "mtu", "wire", "priorities", "quantum"})
)
def test_no_override_of_hosts_is_silent(key):
    more = f'[[host.override]]\nmatch = "host3"\n{key} = {HOST[key]}\n'
    text, notes = of_host("", more)
    assert "# hosts host3 (comments" in text
    if key not in ("bql", "ecn", "hardware_queues"):
        assert any(f"hosts host3: host.{key} = " in note for note in notes), notes


def test_one_command_sets_all_metrics_of_the_route():
    """`ip route change` replaces all metrics, so a second command would undo the first."""
    text = exported('initial_window = 20\nmin_rto = "5500us"\ndelayed_ack = "off"\nmss = "1000B"\n')
    lines = [line for line in text.splitlines() if line.startswith("# ip route")]
    assert lines == [
        "# ip route change default via GATEWAY dev DEV initcwnd 20 rto_min 6ms quickack 1 advmss 1000"
        "  # rto_min is for kernels before Linux 6.11"
    ]
    assert "delayed_ack" not in text
    assert "mss =" not in text
    assert "net.ipv4.tcp_rto_min_us = 5500" in text


def test_all_queues_of_a_nic_have_the_discipline_and_the_limit():
    queues = 'hardware_queues = 4\nbql = "300kB"\n'
    lines = of_host(queues + 'qdisc = { kind = "fq", limit = 20000 }')[0].splitlines()
    first = lines.index("# ethtool -L DEV combined 4")
    assert lines[first + 1 : first + 4] == [
        "# tc qdisc replace dev DEV root handle 1: mq",
        "# for queue in $(seq 4); do tc qdisc replace dev DEV parent 1:$(printf %x $queue) fq limit 20000; done",
        "# for queue in /sys/class/net/DEV/queues/tx-*/byte_queue_limits; do echo 300000 > $queue/limit_max; echo 300000 > $queue/limit_min; done",
    ]
    # Pacing changes the discipline, not the NIC.
    paced = sysctl.document(sysctl.of_scenario(resolved("pacing = true", f"[host]\n{queues}")))
    assert "net.core.default_qdisc = fq\n" in paced
    assert "# ethtool -L DEV combined 4\n" in paced
    assert "echo 300000" in paced
    # One queue has one discipline.
    one = of_host('qdisc = { kind = "fq", limit = 20000 }')[0]
    assert "# tc qdisc replace dev DEV root fq limit 20000\n" in one
    assert "mq" not in one


def test_what_follows_from_other_keys_is_not_called_missing():
    text, _notes = of_host('mtu = "9000B"')
    assert "mss" not in text
    assert "advmss" not in text
    assert "ip link set dev DEV mtu 9000" in text
    text = exported(CHANGES["mptcp"].join(("mptcp = ", "")))
    assert "mss" not in text
    assert "net.mptcp.enabled = 1" in text
    assert "ip mptcp limits set subflows 1" in text
    assert "net.ipv4.tcp_rto_max_ms = 60000" in exported('max_rto = "60s"')
    assert "max_rto = '200s': Linux takes" in exported('max_rto = "200s"')
    # A time that afflux computed.
    assert not re.search(r"[0-9]{4,}ps", exported("handshake = false"))
    assert 'initial_rto = "200.' in exported("handshake = false")


def test_unlimited_send_buffers_are_named():
    assert "send_buffer_max = 'unlimited': choose tcp_wmem" in exported(
        'send_buffer_max = "unlimited"'
    )


def test_the_mtu_of_a_link_has_its_own_lines():
    more = '[[topology.override]]\nlink = "host2-switch0"\nmtu = "1500B"\n'
    groups = sysctl.of_scenario(resolved("", f'[host]\nmtu = "9000B"\n{more}'))
    assert "\n# ip link set dev DEV mtu 1500" in sysctl.document(groups)
    assert any(
        "hosts at the ends of the links host2-switch0" in one for one in sysctl.notes(groups)
    )


def test_rdma_hosts_have_an_mtu():
    text = 'format = 1\n[topology]\nkind = "star"\nhosts = 4\n[host]\nmtu = "9000B"\ndelay = "5us"\n[host.transport]\nkind = "rdma"\nmode = "irn"\n'
    text += '[[traffic]]\nkind = "permutation"\nsizes = "1kB"\n'
    written = sysctl.document(
        sysctl.of_scenario(toml.with_defaults(_core.parse(text, "x.toml").resolved))
    )
    assert "9000" in written
    assert "host.delay" in written


def test_a_congestion_control_in_python_is_no_module():
    transport = {"congestion": "cubic", "delayed_ack": {}}
    found = sysctl.settings(transport, host={"python": {"file": "own.py"}, "kernel": [{}]})
    assert "net.ipv4.tcp_congestion_control" not in found.sysctl
    assert any(line.startswith("host.python: ") for line in found.missing)
    assert any(line.startswith("host.kernel: ") for line in found.missing)


def test_quick_acknowledgements_are_no_silent_key():
    assert "delayed_ack = " in exported(
        'delayed_ack = { segments = 2, timeout = "40ms", quick = 4 }'
    )


@pytest.mark.parametrize(
    ("keys", "line", "note"),
    [
        ('receive_buffer = "3GB"', "tcp_rmem = 4096 2147483647 2147483647", "receive_buffer: "),
        ('receive_buffer_max = "3GB"', "tcp_rmem = 4096 131072 2147483647", "receive_buffer_max: "),
        (
            'stack = "ns3"\nreceive_window = "1GiB"',
            "tcp_rmem = 4096 2147483647 2147483647",
            "receive_window: a buffer of 2147483648 B: ",
        ),
        ('send_buffer = "3GB"', "tcp_wmem = 4096 2147483647 2147483647", "send_buffer: "),
        ('send_buffer_max = "3GB"', "tcp_wmem = 4096 16384 2147483647", "send_buffer_max: "),
        ("retries = 300", "tcp_retries2 = 255", "retries = 300: Linux takes 0 to 255"),
        ("syn_retries = 128", "tcp_syn_retries = 127", "syn_retries = 128: "),
        ("syn_retries = 0", "tcp_syn_retries = 1", "syn_retries = 0: Linux takes 1 to 127"),
    ],
)
def test_values_that_linux_refuses_are_not_written(keys, line, note):
    text = exported(keys if "stack" in keys else f'stack = "linux"\n{keys}')
    assert f"{line}\n" in text
    assert f"#   {note}" in text


def test_disciplines_have_units_and_values_that_tc_takes():
    text, notes = of_host(
        'qdisc = { kind = "fq_codel", target = "5500ns", interval = "200us", quantum = "3000B" }'
    )
    assert " fq_codel target 6us interval 200us quantum 3000\n" in text
    [target] = [note for note in notes if "host.qdisc" in note]
    assert 'target = "5500ns": tc counts whole microseconds; the file sets 6 us' in target
