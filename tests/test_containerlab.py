"""Topologies of containerlab, with right values."""

import tomllib

import pytest
from containerlab_base import OPTIONS, topology_of

from afflux import _core
from afflux.exchange import containerlab
from afflux.exchange.account import Wrong
from afflux.exchange.into import Into

ROUTERS = """\
topology:
  groups:
    core: {{kind: linux, image: {image}}}
    end: {{kind: linux, image: tools}}
  nodes:
    r1: {{group: core}}
    r2: {{group: core}}
    pc1: {{group: end}}
    pc2: {{group: end}}
  links:
    - endpoints: ["r1:eth1", "r2:eth1"]
    - endpoints: ["pc1:eth1", "r1:eth2"]
    - endpoints: ["pc2:eth1", "r2:eth2"]
"""


_WHOLE = "expected a mapping with name and topology, and in topology nodes and links"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: [\nb: }",
            "2: found text that is not YAML (did not find expected node content), expected a topology file",
        ),
        ("- a\n- b\n", f"1: found a list of 2, {_WHOLE}"),
        ("just text", f"1: found 'just text', {_WHOLE}"),
        ("", f"1: found nothing, {_WHOLE}"),
        ("name: x\ntopology:\n", f"2: found topology: nothing, {_WHOLE}"),
    ],
)
def test_files_that_are_no_topology_are_refused_in_a_sentence(tmp_path, text, message):
    with pytest.raises(Wrong) as error:
        topology_of(tmp_path, text)
    assert str(error.value) == f"{tmp_path}/x.clab.yml:{message}"


@pytest.mark.parametrize(
    "image",
    [
        "frr",
        "quay.io/frrouting/frr:10.5.1",
        "ghcr.io/x/bird:2",
        "osrg/gobgp",
        "vyos/vyos:1.4",
        "unknown:1",
    ],
)
def test_routers_of_kind_linux(tmp_path, image):
    with pytest.raises(Wrong, match=r"x\.clab\.yml:11: found 3 links that join two hosts") as wrong:
        topology_of(tmp_path, ROUTERS.format(image=image))
    # If the image is unknown, nodes with several links count as intermediate nodes.
    assert "--switch r1 --switch r2" in str(wrong.value)
    assert (f"2 hosts with images of routers ('{image}')" in str(wrong.value)) == (
        image != "unknown:1"
    )
    scenario, notes = topology_of(
        tmp_path, ROUTERS.format(image=image), containerlab.Options(rate="1Gbps", switches=["r*"])
    )
    assert scenario["topology"]["switches"] == ["r1", "r2"]
    assert notes[0].startswith("3 links taken, 0 dropped")


def test_routers_beside_switches(tmp_path):
    more = ROUTERS.format(image="frr").replace("  nodes:\n", "  nodes:\n    s: {kind: bridge}\n")
    more += '    - endpoints: ["pc1:eth2", "s:1"]\n    - endpoints: ["pc2:eth2", "s:2"]\n'
    _, notes = topology_of(tmp_path, more)
    assert any(
        "3 links that join two hosts (r1 – r2, pc1 – r1, pc2 – r2)" in note
        and "--switch r1 --switch r2" in note
        for note in notes
    ), notes


def test_mtus_and_addresses(tmp_path):
    text = """\
topology:
  nodes: {leaf: {kind: nokia_srlinux}, s1: {kind: linux}, s2: {kind: linux, exec: [ip link set eth1 mtu 1400]}}
  links:
    - {endpoints: ["s1:eth1", "leaf:e1-1"], mtu: 9000, ipv4: [10.0.0.2/24]}
    - type: veth
      mtu: 1500
      endpoints: [{node: s2, interface: eth1, ipv4: 10.0.0.3/24, ipv6: "2001:DB8::3/64"}, {node: leaf, interface: e1-2}]
"""
    scenario, _ = topology_of(tmp_path, text)
    assert scenario["host"] == {"mtu": "9000B"}
    assert scenario["topology"]["hosts"] == [
        {"name": "s1", "address": "10.0.0.2"},
        {"name": "s2", "address": ["10.0.0.3", "2001:db8::3"]},
    ]
    assert scenario["topology"]["override"] == [
        {"link": ["s1-leaf"], "mtu": "9000B"},
        {"link": ["s2-leaf"], "mtu": "1400B"},
    ]
    # An existing scenario keeps its hosts, and a note states the packet size of the links.
    (tmp_path / "there.toml").write_text(
        'format = 1\ntopology = { kind = "star", hosts = 2 }\ntraffic = [{ kind = "permutation", sizes = "1kB" }]\n'
    )
    into, account = containerlab.topology(
        tmp_path / "x.clab.yml", OPTIONS, None, Into(tmp_path / "there.toml")
    )
    assert "host" not in tomllib.loads(into)
    assert any("links of hosts carry packets of 9000 B" in note for note in account.lines())


def test_one_mtu_of_all_links(tmp_path):
    nodes = "  nodes: {leaf: {kind: bridge}, s1: {kind: linux}, s2: {kind: linux}}\n"
    links = "  links:\n    - {endpoints: ['s1:1', 'leaf:1'], mtu: 9000}\n    - {endpoints: ['s2:1', 'leaf:2'], mtu: 9000}\n"
    scenario, _ = topology_of(tmp_path, f"topology:\n{nodes}{links}")
    assert scenario["topology"]["override"] == [{"link": "*-*", "mtu": "9000B"}]


@pytest.mark.parametrize(
    ("settings", "node", "role"),
    [
        # The kind is taken from the node, its group, the group of the defaults, or the defaults, in
        # this order. A group that only the kind names has no effect on the kind.
        ("defaults: {kind: bridge}", "{kind: linux}", "host"),
        ("defaults: {kind: bridge}", "", "switch"),
        ("defaults: {kind: bridge, group: g}\n  groups: {g: {kind: linux}}", "", "host"),
        (
            "defaults: {kind: bridge, group: g}\n  groups: {g: {kind: linux}, h: {}}",
            "{group: h}",
            "host",
        ),
        ("defaults: {kind: bridge}\n  groups: {g: {kind: linux}}", "{group: g}", "host"),
        ("kinds: {linux: {group: g}}\n  groups: {g: {kind: bridge}}", "{kind: linux}", "host"),
        # Labels of the node take precedence over those of its group, its kind and the defaults, and
        # the group of a kind counts.
        ("kinds: {linux: {labels: {role: switch}}}", "{kind: linux}", "switch"),
        (
            "kinds: {linux: {labels: {role: switch}}}\n  groups: {g: {labels: {role: host}}}",
            "{kind: linux, group: g}",
            "host",
        ),
        (
            "kinds: {linux: {group: g}}\n  groups: {g: {labels: {role: switch}}}",
            "{kind: linux}",
            "switch",
        ),
        (
            "defaults: {labels: {role: switch}}\n  groups: {g: {labels: {other: x}}}",
            "{kind: linux, group: g}",
            "switch",
        ),
    ],
)
def test_inheritance(tmp_path, settings, node, role):
    nodes = f"    x: {node}\n    s: {{kind: bridge, labels: {{role: switch}}}}\n    h: {{kind: linux, labels: {{role: host}}}}\n"
    nodes += "    i: {kind: linux, labels: {role: host}}\n"
    links = "".join(f"    - endpoints: ['{node}:1', 's:{node}']\n" for node in "xhi")
    scenario, _ = topology_of(
        tmp_path, f"topology:\n  {settings}\n  nodes:\n{nodes}  links:\n{links}"
    )
    names = [
        host if isinstance(host, str) else host["name"] for host in scenario["topology"]["hosts"]
    ]
    assert ("x" in names) == (role == "host")


def test_commands_of_all_levels_count(tmp_path):
    text = """\
topology:
  defaults: {exec: [ip addr add 10.0.0.1/24 dev eth1]}
  kinds: {linux: {exec: [ip addr add 10.0.0.2/24 dev eth1]}}
  groups: {g: {exec: ["sh -c 'ip -6 a a dev eth1 2001:db8::3/64 && ip link set eth1 up'"]}}
  nodes: {x: {kind: linux, group: g, exec: [ifconfig eth1 10.0.0.4 netmask 255.255.255.0]}, s: {kind: bridge}, h: {kind: bridge, labels: {role: host}}}
  links: [{endpoints: ["x:eth1", "s:1"]}, {endpoints: ["h:eth1", "s:2"]}]
"""
    scenario, notes = topology_of(tmp_path, text)
    # Two hosts would have 10.0.0.1 of the defaults.
    assert scenario["topology"]["hosts"][0] == {
        "name": "x",
        "address": ["10.0.0.2", "2001:db8::3", "10.0.0.4"],
    }
    assert any("addresses that several hosts have, left out: 10.0.0.1" in note for note in notes)


def test_variables_have_their_defaults(tmp_path):
    nodes = "  nodes: {x: {kind: '${HOST_KIND:=linux}'}, y: {kind: linux, image: '${IMAGE}'}, s: {kind: bridge}}\n"
    scenario, notes = topology_of(
        tmp_path,
        f"topology:\n{nodes}  links: [{{endpoints: ['x:1', 's:1']}}, {{endpoints: ['y:1', 's:2']}}]\n",
    )
    assert scenario["topology"]["hosts"] == ["x", "y"]
    assert any(
        "${HOST_KIND}: environment variables are not read, so its default is taken (line 2)" in note
        for note in notes
    )
    assert any(
        "${IMAGE}: environment variables are not read, so it stays as written (line 2)" in note
        for note in notes
    )


HEAD = "topology:\n  nodes:\n    s: {kind: bridge}\n    a: {kind: linux}\n    b: {kind: linux}\n"


LINKS = "  links:\n    - endpoints: ['a:eth1', 's:1']\n    - endpoints: ['b:eth1', 's:2']\n"


@pytest.mark.parametrize(
    ("text", "line", "found", "cure"),
    [
        (
            HEAD + "    a: {kind: bridge}\n" + LINKS,
            6,
            "the key 'a' a second time (first in line 4)",
            "each key once",
        ),
        (
            HEAD.replace("{kind: linux}", "{kind: linux, kind: bridge}", 1) + LINKS,
            4,
            "the key 'kind' a second time (first in line 4)",
            "each key once",
        ),
        (
            HEAD + LINKS + "  links: []\n",
            9,
            "the key 'links' a second time (first in line 6)",
            "each key once",
        ),
        (
            HEAD + LINKS + "    - endpoints: ['a:eth1', 's:3']\n",
            9,
            "the interface 'a:eth1' a second time (first in line 7)",
            "each interface in one link",
        ),
        (
            HEAD + LINKS + "    - endpoints: ['a:eth2', 's:1']\n",
            9,
            "the interface 's:1' a second time",
            "each interface in one link",
        ),
        (
            HEAD + LINKS + "    - {type: dummy, endpoint: {node: a, interface: eth1}}\n",
            9,
            "the interface 'a:eth1' a second time",
            "each interface",
        ),
        (
            HEAD + LINKS + "    - endpoints: ['a:eth1', 'host:x']\n",
            9,
            "the interface 'a:eth1' a second time",
            "each interface in one link",
        ),
        (
            HEAD + LINKS + "    - {type: tunnel, endpoints: ['a:2', 's:3']}\n",
            9,
            "the type 'tunnel' of a link",
            "veth, veth-stitch, brief, mgmt-net",
        ),
        (
            HEAD + LINKS + "    - {type: vxlan, remote: 10.0.0.1}\n",
            9,
            "a link of type vxlan without endpoint",
            "endpoint: {node: …",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], mtu: jumbo}\n",
            9,
            "mtu: 'jumbo'",
            "a number",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], mtu: 0}\n",
            9,
            "the mtu '0' of a link",
            "from 1 to 65535",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], mtu: 20}\n",
            9,
            "the mtu '20B'",
            "write a packet size from",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], ipv4: [10.0.0.300/24]}\n",
            9,
            "ipv4 of a link: '10.0.0.300/24'",
            "an address of IPv4",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], ipv6: [10.0.0.3/24]}\n",
            9,
            "ipv6 of a link: '10.0.0.3/24'",
            "an address of IPv6",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], ipv4: [10.0.0.3]}\n",
            9,
            "ipv4 of a link: '10.0.0.3'",
            "as in 10.0.0.2/24",
        ),
        (
            HEAD
            + LINKS
            + "    - {endpoints: ['a:2', 's:3'], ipv4: [1.1.1.1/8, 1.1.1.2/8, 1.1.1.3/8]}\n",
            9,
            "3 addresses in ipv4",
            "at most two",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], labels: {rate: fast}}\n",
            9,
            "the rate 'fast'",
            "bps",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], labels: {delay: soon}}\n",
            9,
            "the delay 'soon'",
            "us",
        ),
        (
            HEAD + LINKS + "    - {endpoints: ['a:2', 's:3'], labels: {loss: '2'}}\n",
            9,
            "the loss '2'",
            "below 1",
        ),
        (
            HEAD + LINKS + "    - endpoints: ['a:', 's:3']\n",
            9,
            "the endpoint 'a:'",
            "node:interface",
        ),
        (
            HEAD.replace("{kind: linux}", "{kind: linux, binds: x}", 1) + LINKS,
            4,
            "binds: 'x'",
            "a list",
        ),
        (
            HEAD.replace("{kind: linux}", "{kind: linux, privileged: perhaps}", 1) + LINKS,
            4,
            "privileged: 'perhaps'",
            "true or false",
        ),
        (
            HEAD.replace("{kind: linux}", "{kind: linux, mgmt-ipv4: here}", 1) + LINKS,
            4,
            "mgmt-ipv4: 'here'",
            "an address of IPv4",
        ),
        (
            HEAD.replace("{kind: linux}", "{kind: linux, labels: [x]}", 1) + LINKS,
            4,
            "labels: a list of 1",
            "a mapping",
        ),
        (HEAD + LINKS.replace("b:eth1", "s:3"), 4, "one host with a link (a)", "--host PATTERN"),
        ("topology:\n  defaults: []\n", 2, "topology.defaults: a list of 0", "a mapping"),
        (
            "name: x\ntopology:\n  nodes:\n    {{ range .leafs }}\n",
            4,
            "a key that is not text",
            "a template is filled in first",
        ),
        (
            "name: x\ntopology:\n  nodes:\n{{- range .leafs }}\n    a: {kind: linux}\n{{ end }}\n",
            4,
            "'{{- range .leafs }}', a placeholder of a template",
            "filled in",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, line, found, cure):
    with pytest.raises(Wrong) as wrong:
        topology_of(tmp_path, text)
    said = str(wrong.value)
    assert f"x.clab.yml:{line}: found {found}" in said, said
    assert cure in said, said


def test_aliases_of_an_interface_are_one(tmp_path):
    text = HEAD.replace("bridge", "nokia_srlinux") + LINKS.replace("s:1", "s:e1-1").replace(
        "s:2", "s:ethernet-1/1"
    )
    with pytest.raises(
        Wrong, match=r":8: found the interface 's:ethernet-1/1' a second time \(first in line 7\)"
    ):
        topology_of(tmp_path, text)


def test_patterns_that_mean_no_node(tmp_path):
    with pytest.raises(
        Wrong, match=r"no node that --switch 'r\*' means, expected one of the nodes: s, a, b"
    ):
        topology_of(tmp_path, HEAD + LINKS, containerlab.Options(rate="1Gbps", switches=["r*"]))


def test_free_names_do_not_flood_the_notes(tmp_path):
    labels = ", ".join(f"k{number}: x" for number in range(5_000))
    _, notes = topology_of(
        tmp_path, HEAD.replace("{kind: linux}", f"{{kind: linux, labels: {{{labels}}}}}", 1) + LINKS
    )
    assert len(notes) < 60
    assert any("label further names of nodes" in note and "(4,9" in note for note in notes), notes[
        -3:
    ]


@pytest.mark.parametrize(
    ("name", "lab"),
    [("my fabric", "my-fabric"), ("_x", "lab_x"), ("B\u00fcro", "B-ro"), ("fabric_1.a", None)],
)
def test_a_lab_has_a_name_that_docker_allows(tmp_path, name, lab):
    text = f'format = 1\nname = "{name}"\ntopology = {{ kind = "star", hosts = 2 }}\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n'
    scenario = _core.parse(text, tmp_path / "x.toml")
    written, account = containerlab.topology_of(scenario, "nokia_srlinux", None, "alpine:3")
    assert written.splitlines()[0] == f"name: {lab or name}"
    assert any("name of the lab" in note for note in account.notes) == (lab is not None)
