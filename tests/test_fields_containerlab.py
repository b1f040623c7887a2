"""Fields of containerlab files: each field changes the scenario, or a note names it.

Names and values are those of containerlab's JSON schema (srl-labs/containerlab,
schemas/clab.schema.json).
"""

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import DRAWS
from containerlab_base import OPTIONS, topology_of

from afflux import _core
from afflux.exchange import containerlab, hpcc, lab, lab_fields
from afflux.exchange.account import Wrong
from afflux.exchange.into import Into

#: Three hosts under a leaf. c1 and d1 inherit changes of groups, kinds and defaults.
BASE: dict[str, Any] = {
    "name": "base",
    "topology": {
        "defaults": {"kind": "linux"},
        "kinds": {"linux": {}},
        "groups": {
            "servers": {"kind": "linux"},
            "others": {"kind": "linux", "labels": {"role": "switch"}},
        },
        "nodes": {
            "leaf": {"kind": "nokia_srlinux"},
            "a": {"kind": "linux"},
            "c1": {"group": "servers"},
            "d1": None,
        },
        "links": [
            {"endpoints": ["a:eth1", "leaf:e1-1"]},
            {
                "type": "veth",
                "endpoints": [
                    {"node": "c1", "interface": "eth1"},
                    {"node": "leaf", "interface": "e1-2"},
                ],
            },
            {"endpoints": ["d1:eth1", "leaf:e1-3"]},
            {
                "type": "vxlan",
                "endpoint": {"node": "leaf", "interface": "e1-9"},
                "remote": "10.9.9.9",
                "vni": 100,
                "dst-port": 4789,
            },
        ],
    },
}


#: Values of node-config that containerlab's schema allows.
NODE: dict[str, Any] = {
    "image": "alpine:3",
    "image-pull-policy": "Always",
    "restart-policy": "always",
    "license": "x.lic",
    "type": "ixr-d2l",
    "startup-config": "x.cfg",
    "startup-delay": 5,
    "enforce-startup-config": True,
    "suppress-startup-config": True,
    "auto-remove": True,
    "exec": ["ip route add default via 10.0.0.1"],
    "binds": ["a:/a"],
    "volumes": ["a:/a"],
    "ports": ["80:80"],
    "env": {"A": "b"},
    "credentials": {"username": "x"},
    "env-files": ["x.env"],
    "user": "root",
    "hostname": "other",
    "entrypoint": "sh",
    "cmd": "sh",
    "runtime": "podman",
    "mgmt-ipv4": "172.20.20.9",
    "mgmt-ipv6": "2001:db8::9",
    "network-mode": "none",
    "link-apply-mode": "live",
    "cpu": 1.5,
    "memory": "1Gb",
    "cpu-set": "0-1",
    "extras": {"ceos-copy-to-flash": ["x"]},
    "config": {"vars": {"a": 1}},
    "stages": {"create": {"wait-for": [{"node": "a", "stage": "healthy"}]}},
    "dns": {"servers": ["1.1.1.1"]},
    "certificate": {"issue": True},
    "healthcheck": {"test": ["CMD", "true"]},
    "components": [{"slot": "A"}],
    "aliases": ["x"],
    "shm-size": "64MB",
    "cap-add": ["NET_ADMIN"],
    "privileged": False,
    "cgroupns-mode": "host",
    "cgroup-parent": "x",
    "pid-mode": "host",
    "tmpfs": {"/run": "rw"},
    "security-opts": ["x"],
    "sysctls": {"net.ipv4.tcp_congestion_control": "bbr"},
    "devices": ["/dev/kvm"],
    # Fields of older versions, and one that does not exist.
    "publish": ["tcp/22"],
    "wait-for": ["a"],
    "SANs": ["x"],
    "position": "1,2",
    "kernel": "x",
    "sandbox": "x",
    "username": "x",
    "password": "x",
    "not-yet-invented": 1,
}


_LINKS = ("topology", "links")


_VXLAN = (*_LINKS, 3)


_END = (*_LINKS, 1, "endpoints", 0)


#: A change: the path of a value, the value, and the name that a note must contain if the scenario
#: is unchanged.
Change = tuple[tuple[Any, ...], Any, str]


CHANGES: list[Change] = [
    *(
        (("topology", *level, name), value, name)
        for name, value in NODE.items()
        for level in [("nodes", "a"), ("groups", "servers"), ("kinds", "linux"), ("defaults",)]
    ),
    (("topology", "nodes", "a", "group"), "others", "group"),
    (("topology", "nodes", "a", "group"), "nowhere", "nowhere"),
    (("topology", "nodes", "a", "kind"), "arista_veos", "kind"),
    (("topology", "nodes", "a", "kind"), "typo", "typo"),
    (("topology", "nodes", "a", "labels"), {"role": "switch"}, "role"),
    (("topology", "nodes", "a", "labels"), {"address": "10.0.0.7"}, "address"),
    (("topology", "nodes", "a", "labels"), {"address": "Main Street 7"}, "address"),
    (("topology", "nodes", "a", "labels"), {"graph-level": 1}, "graph-level"),
    (("topology", "groups", "servers", "labels"), {"role": "switch"}, "role"),
    (("topology", "groups", "servers", "group"), "others", "group"),
    (("topology", "groups", "unused"), {"kind": "linux"}, "unused"),
    (("topology", "kinds", "linux", "kind"), "bridge", "kind"),
    (("topology", "kinds", "arista_ceos"), {"labels": {"role": "host"}}, "arista_ceos"),
    (("topology", "defaults", "kind"), "bridge", "kind"),
    (("topology", "defaults", "group"), "others", "group"),
    (("topology", "nodes", "a", "exec"), ["ip addr add 10.0.0.7/24 dev eth1"], "exec"),
    (("topology", "nodes", "a", "exec"), ["ip link set dev eth1 mtu 4000"], "exec"),
    (("topology", "nodes", "a", "exec"), ["ip link set dev eth7 mtu 4000"], "exec"),
    (("topology", "nodes", "a", "exec"), ["tc qdisc add dev eth1 root netem delay 10ms"], "exec"),
    (("topology", "nodes", "a", "exec"), ["sysctl -w net.ipv4.ip_forward=1"], "exec"),
    (("topology", "nodes", "a", "exec"), ["ip addr add 10.0.0.7/24 dev eth1 && iperf3 -s"], "exec"),
    (
        ("topology", "nodes", "a", "stages"),
        {"create": {"exec": [{"command": "ip addr add 10.0.0.7/24 dev eth1", "phase": "on-exit"}]}},
        "stages",
    ),
    (("topology", "nodes", "a", "mgmt_ipv4"), "172.20.20.9", "mgmt_ipv4"),
    (("topology", "nodes", "leaf", "mgmt-ipv4"), "172.20.20.9", "addresses of switches"),
    (("topology", "nodes", "e"), {"kind": "linux"}, "e"),
    (("name",), "other", "name"),
    (("prefix",), "x", "prefix"),
    (("debug",), True, "debug"),
    (("settings",), {"certificate-authority": {"key-size": 2048}}, "settings"),
    (("x-mine",), 1, "x-mine"),
    (("topology", "x-mine"), 1, "x-mine"),
    *(
        (("mgmt", name), value, f"mgmt.{name}")
        for name, value in {
            "network": "x",
            "bridge": "x",
            "ipv4-subnet": "10.0.0.0/24",
            "ipv6-subnet": "2001:db8::/64",
            "ipv4-gw": "10.0.0.1",
            "ipv6-gw": "2001:db8::1",
            "ipv4-range": "10.0.0.128/25",
            "ipv6-range": "2001:db8::/65",
            "mtu": 1400,
            "external-access": False,
            "skip-when-unused": True,
            "driver-opts": {"a": "b"},
            "x-mine": 1,
        }.items()
    ),
    ((*_LINKS, 1, "mtu"), 4000, "mtu"),
    ((*_LINKS, 1, "labels"), {"rate": "1Gbps"}, "rate"),
    ((*_LINKS, 1, "labels"), {"delay": "5us"}, "delay"),
    ((*_LINKS, 1, "labels"), {"loss": "1%"}, "loss"),
    ((*_LINKS, 1, "labels"), {"colour": "red"}, "colour"),
    ((*_LINKS, 0, "vars"), {"rate": "1Gbps"}, "rate"),
    ((*_LINKS, 0, "vars"), {"colour": {"a": "b"}}, "colour"),
    ((*_LINKS, 0, "mtu"), 4000, "mtu"),
    ((*_LINKS, 0, "ipv4"), ["10.0.0.7/24"], "ipv4"),
    ((*_LINKS, 0, "ipv4"), ["", "10.0.0.7/24"], "addresses of switches"),
    ((*_LINKS, 0, "ipv6"), ["2001:db8::7/64", "2001:db8::8/64"], "ipv6"),
    ((*_LINKS, 0, "x-mine"), 1, "x-mine"),
    ((*_LINKS, 0, "type"), "veth-stitch", "type"),
    ((*_END, "ipv4"), "10.0.0.7/24", "ipv4"),
    ((*_END, "ipv6"), "2001:db8::7/64", "ipv6"),
    ((*_END, "mac"), "aa:c1:ab:00:00:01", "mac"),
    ((*_END, "vars"), {"a": 1}, "vars"),
    ((*_END, "x-mine"), 1, "x-mine"),
    ((*_VXLAN, "src-port"), 5000, "src-port"),
    ((*_VXLAN, "mtu"), 1400, "mtu"),
    ((*_VXLAN, "labels"), {"a": "b"}, "labels"),
    ((*_VXLAN, "vars"), {"a": "b"}, "vars"),
    ((*_VXLAN, "x-mine"), 1, "x-mine"),
    ((*_VXLAN, "endpoint", "mac"), "aa:c1:ab:00:00:01", "mac"),
    *(
        (
            (*_LINKS, 4),
            {"type": kind, "endpoint": {"node": "c1", "interface": "eth5"}, **more},
            kind,
        )
        for kind, more in {
            "mgmt-net": {"host-interface": "x"},
            "host": {"host-interface": "x"},
            "macvlan": {"host-interface": "x", "mode": "bridge"},
            "vxlan-stitch": {"remote": "10.9.9.9", "vni": 7, "dst-port": 4789},
            "dummy": {},
        }.items()
    ),
    *(
        ((*_LINKS, 4), {"endpoints": ["c1:eth5", f"{end}:x"]}, end)
        for end in ("mgmt-net", "host", "macvlan")
    ),
    (
        (*_LINKS, 4),
        {"type": "dummy", "endpoint": {"node": "c1", "interface": "eth5", "ipv4": "10.0.0.7/24"}},
        "ipv4",
    ),
    ((*_LINKS, 4), {"endpoints": ["a:eth5", "c1:eth5"]}, "--switch"),
    ((*_LINKS, 4), {"endpoints": ["leaf:e1-5", "leaf:e1-6"]}, "from a node to itself"),
]


#: Changes without effect on the simulation, which neither the scenario nor a note must mention: the
#: two ways to write a link.
SAME = {"veth-stitch"}


def changed(change: Change) -> dict[str, Any]:
    path, value, _ = change
    made = copy.deepcopy(BASE)
    at: Any = made
    for key, after in zip(path, [*path[1:], None], strict=True):
        if after is None:
            if isinstance(at, list) and key == len(at):
                at.append(value)
            else:
                at[key] = value
        else:
            at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
    return made


def imported(folder: Path, made: Any) -> tuple[str, list[str]]:
    """Returns the scenario and the notes of an imported lab. If the lab is refused, the reason is
    the only note."""
    path = folder / "x.clab.yml"
    path.write_text(made if isinstance(made, str) else yaml.safe_dump(made, sort_keys=False))
    try:
        text, account = containerlab.topology(path, OPTIONS, None)
    except Wrong as wrong:
        return "", [str(wrong)]
    return text, account.lines()


def is_silent(folder: Path, change: Change) -> bool:
    """True if a change leaves the scenario unchanged and no additional note names the field."""
    (base, base_notes), (text, notes) = imported(folder, BASE), imported(folder, changed(change))
    name = re.compile(rf"(?<![\w-]){re.escape(change[2])}(?![\w-])")
    return text == base and not any(name.search(note) for note in notes if note not in base_notes)


def titled(change: Change) -> str:
    return ".".join(map(str, change[0])) + ":" + change[2]


@pytest.mark.parametrize("change", CHANGES, ids=titled)
def test_no_field_is_silent(tmp_path, change):
    assert is_silent(tmp_path, change) == (
        change[1] in SAME if isinstance(change[1], str) else False
    )


def test_a_reader_that_ignores_a_field_is_found(tmp_path, monkeypatch):
    """Hides a field from the reader, so that the check above must report it. Tests every third
    field here, and all fields in `make fuzz`."""
    read = lab.marked.read
    for change in CHANGES[:: 1 if DRAWS > 1 else 3]:
        path, value, _ = change
        if isinstance(value, str) and value in SAME:
            continue

        def without(*arguments, path=path, **named):
            values = at = read(*arguments, **named)
            for key in path[:-1]:
                at = at[key] if isinstance(at, list) else at.get(key, {})
            if isinstance(at, list):
                del at[path[-1] :], at.lines[path[-1] :]
            elif path == ("name",):
                at["name"] = "base"
            elif path[-1] == "kind" and path[-2] in ("a", "defaults"):
                at["kind"] = "linux"
            elif path[-1] == "type":
                at.pop("type", None)
            else:
                at.pop(path[-1], None)
            if path[0] == "mgmt" and not values.get("mgmt"):
                values.pop("mgmt", None)
            return values

        with monkeypatch.context() as patch:
            patch.setattr(lab.marked, "read", without)
            assert is_silent(tmp_path, change), titled(change)


def test_a_reader_without_notes_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(lab_fields.Fields, "look", lambda *_: None)
    known = {"binds", "sysctls", "mac", "prefix", "mgmt.mtu", "not-yet-invented"}
    assert known == {
        change[2] for change in CHANGES if change[2] in known and is_silent(tmp_path, change)
    }


def test_a_reader_without_mtus_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.Lab, "_mtu", lambda *_: None)
    assert is_silent(tmp_path, ((*_LINKS, 1, "mtu"), 4000, "mtu"))


# -------------------------------------------------------------------------------------------------------------------- round trip


SCENARIO = {
    "star": 'kind = "star"\nhosts = 3\nrate = "10Gbps"\ndelay = "1us"\n',
    "leaf-spine": 'kind = "leaf_spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_rate = "25Gbps"\nuplink_rate = "100Gbps"\ndelay = "1us"\n',
    "custom": 'kind = "custom"\nhosts = ["a", "b"]\nswitches = ["s", "t"]\nrate = "10Gbps"\ndelay = "1us"\n'
    'link = [{ a = "a", b = "s" }, { a = "s", b = "t", count = 2, mtu = "4000B" }, { a = "b", b = "t" }]\n',
}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *((kind, "") for kind in SCENARIO),
        (
            "star",
            'hosts = ["a", { name = "b", address = "10.0.0.2" }, { name = "c", address = ["10.0.0.3", "2001:db8::3"] }]',
        ),
        ("star", 'switches = ["tor"]'),
        ("star", 'override = [{ link = "host1-switch0", rate = "40Gbps" }]'),
        ("star", 'override = [{ link = "host1-switch0", delay = "3us" }]'),
        ("star", 'override = [{ link = "host1-switch0", mtu = "4000B" }]'),
        (
            "star",
            'override = [{ link = "*-*", mtu = "4000B" }, { link = "host2-*", mtu = "1400B" }]',
        ),
        ("star", 'fault = [{ link = "host1-switch0", loss = 0.01 }]'),
        ("leaf-spine", "parallel = 2"),
        ("leaf-spine", 'parallel = 2\noverride = [{ link = "leaf0-spine1#1", mtu = "4000B" }]'),
        ("leaf-spine", 'switches = ["l1", "l2", "s1", "s2"]'),
    ],
)
def test_what_is_exported_is_imported_again(tmp_path, kind, change):
    """All properties of links and hosts of a fabric, field by field."""
    key = change.split(" = ")[0]
    written = (
        "".join(
            line + "\n" for line in SCENARIO[kind].splitlines() if not line.startswith(f"{key} = ")
        )
        + change
    )
    text = f'format = 1\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n[topology]\n{written}\n'
    first = _core.parse(text, "first.toml")
    lab_text, account = containerlab.topology_of(first, "nokia_srlinux", None, "alpine")
    assert not any("left out" in note for note in account.lines())
    path = tmp_path / "x.clab.yml"
    path.write_text(lab_text)
    back, _ = containerlab.topology(path, containerlab.Options(), None)
    again = _core.parse(back, "again.toml")
    for name in ("nodes", "addresses"):
        assert getattr(again, name) == getattr(first, name)
    assert shape(again) == shape(first)
    assert re.findall(r'mtu = "[^"]*"', text) == [] or sorted(mtus(again)) == sorted(mtus(first))
    # A second export gives the same lab.
    assert (
        containerlab.topology_of(again, "nokia_srlinux", None, "alpine")[0].partition("topology:")[
            2
        ]
        == lab_text.partition("topology:")[2]
    )
    # Labels of containers are text.
    nodes = yaml.safe_load(lab_text)["topology"]["nodes"]
    assert all(
        isinstance(label, str) for node in nodes.values() for label in node["labels"].values()
    )


def shape(scenario: _core.Scenario) -> list[Any]:
    return sorted(
        (sorted((a, b)), rate, delay, fault)
        for (a, b, rate, delay), fault in zip(scenario.edges, scenario.link_faults(), strict=True)
    )


def mtus(scenario: _core.Scenario) -> list[tuple[Any, ...]]:
    fabric = containerlab.Fabric.of(scenario)
    containerlab._set_mtus(
        fabric, tomllib.loads(scenario.resolved)["topology"], containerlab.Account("links")
    )
    return [(sorted((link.a, link.b)), link.mtu) for link in fabric.links if link.mtu is not None]


def test_separate_planes(tmp_path):
    """A host with a link to each of two planes belongs to both. A host that is alone on its switch
    has no traffic."""
    nodes = "  nodes: {a: {kind: linux}, b: {kind: linux}, c: {kind: linux}, d: {kind: linux}, s: {kind: bridge}, t: {kind: bridge}, u: {kind: bridge}}\n"
    ends = [("a", "s"), ("b", "s"), ("b", "t"), ("c", "t"), ("d", "u")]
    links = "".join(f"    - endpoints: ['{a}:{n}', '{b}:{n}']\n" for n, (a, b) in enumerate(ends))
    scenario, notes = topology_of(tmp_path, f"topology:\n{nodes}  links:\n{links}")
    assert [(block["name"], block["hosts"]) for block in scenario["traffic"]] == [
        ("stand-in", ["a", "b"]),
        ("stand-in-2", ["b", "c"]),
    ]
    assert any(note.startswith("3 planes without a path between them") for note in notes)
    # Real traffic replaces both stand-ins.
    (tmp_path / "there.toml").write_text(
        containerlab.topology(tmp_path / "x.clab.yml", OPTIONS, None)[0]
    )
    into, _ = containerlab.topology(
        tmp_path / "x.clab.yml", OPTIONS, "flows.csv", Into(tmp_path / "there.toml")
    )
    assert tomllib.loads(into)["traffic"] == [{"kind": "flows", "file": "flows.csv"}]


def test_what_the_format_cannot_say_is_noted():
    faults = 'fault = [{ link = "host0>switch0", loss = 0.1 }, { link = "host1-switch0", down = [{ from = "1ms", to = "2ms" }] }]'
    text = f'format = 1\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n[topology]\n{SCENARIO["star"]}{faults}\n'
    _, account = containerlab.topology_of(_core.parse(text, "x.toml"), "linux", "frr", "alpine")
    assert sum("left out" in note for note in account.lines()) == 2


@pytest.mark.parametrize("link", ["leaf0>spine0", "spine0>leaf0"])
def test_losses_of_one_direction_are_left_out(tmp_path, link):
    """A label holds for both directions, so it would lose frames of the other one, too."""
    text = f'format = 1\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n[topology]\n{SCENARIO["leaf-spine"]}\n'
    text += f'[[topology.fault]]\nlink = "{link}"\nloss = 0.001\n[[topology.fault]]\nlink = "leaf1-spine0"\nloss = 0.01\n'
    made = _core.parse(text, "x.toml")
    lab, account = containerlab.topology_of(made, "linux", "frr", "alpine")
    losses = [one["labels"].get("loss") for one in yaml.safe_load(lab)["topology"]["links"]]
    assert [loss for loss in losses if loss] == ["0.01"]
    written, of_hpcc = hpcc.topology_of(made)
    assert [line.split()[4] for line in written.splitlines()[2:]].count("0.000000") == len(
        losses
    ) - 1
    for some in (account, of_hpcc):
        assert any("losses" in note and f"({link})" in note for note in some.lines())
    # The same loss in both directions is that of the link.
    back = ">".join(reversed(link.split(">")))
    both = _core.parse(f'{text}[[topology.fault]]\nlink = "{back}"\nloss = 0.001\n', "x.toml")
    lab, account = containerlab.topology_of(both, "linux", "frr", "alpine")
    assert lab.count("loss: '0.001'") == 1
    assert not any("two directions" in note for note in account.lines())


@pytest.mark.parametrize("mtu", [9000, 1500, 1000])
def test_mtus_of_hosts_come_back(tmp_path, mtu):
    text = f'format = 1\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n[host]\nmtu = "{mtu}B"\n[topology]\n{SCENARIO["leaf-spine"]}\n'
    text += '[[topology.override]]\nlink = "host1-*"\nmtu = "900B"\n'
    lab, _ = containerlab.topology_of(_core.parse(text, "x.toml"), "linux", "frr", "alpine")
    path = tmp_path / "x.clab.yml"
    path.write_text(lab)
    back, _ = containerlab.topology(path, containerlab.Options(), None)
    again = tomllib.loads(back)
    assert again.get("host", {}).get("mtu", "1500B") == f"{mtu}B"
    assert _core.parse(back, "again.toml").hosts
    of_links = {one["mtu"]: one["link"] for one in again["topology"]["override"] if "mtu" in one}
    assert any("host1" in link for link in of_links["900B"])
    assert f"{mtu}B" in of_links


def test_hpcc_topologies_have_no_mtus():
    text = f'format = 1\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n[topology]\n{SCENARIO["star"]}\n'
    text += '[[topology.override]]\nlink = "host1-*"\nmtu = "900B"\n'
    _, account = hpcc.topology_of(_core.parse(text, "x.toml"))
    assert any(note.startswith("mtu of links") and "host1-*" in note for note in account.lines())


def test_scenarios_with_a_byte_order_mark_are_taken(tmp_path):
    path = tmp_path / "there.toml"
    path.write_text(
        f'format = 1\n[host]\ndelay = "1us"\n[topology]\n{SCENARIO["star"]}', encoding="utf-8-sig"
    )
    assert Into(path).data["host"] == {"delay": "1us"}
