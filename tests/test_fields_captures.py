"""Captures, header by header: a frame that differs from a base frame in one header changes the flow
list, or a note names the header."""

import json
from pathlib import Path

import pytest
from conftest import SHARED

from afflux.exchange import capture, hosts
from afflux.exchange.account import Account, Wrong
from fuzz.importer_samples import pcap

SECOND = 10**9


def ethernet(ether_type: int, inside: bytes) -> bytes:
    return bytes(12) + ether_type.to_bytes(2) + inside


def ipv4(protocol: int, inside: bytes, net: int = 1, place: int = 0) -> bytes:
    header = bytes(
        [
            0x45,
            26 << 2,
            *(20 + len(inside)).to_bytes(2),
            0,
            9,
            *place.to_bytes(2),
            64,
            protocol,
            0,
            0,
        ]
    )
    return header + bytes([10, net, 0, 1, 10, net, 0, 2]) + inside


def ipv6(following: int, inside: bytes) -> bytes:
    hosts = [bytes([0xFD, *[0] * 14, last]) for last in (1, 2)]
    return (
        bytes([0x66, 0x80, 0, 0, *len(inside).to_bytes(2), following, 64])
        + b"".join(hosts)
        + inside
    )


def udp(port: int, inside: bytes) -> bytes:
    return bytes([0x10, 0, *port.to_bytes(2), *(8 + len(inside)).to_bytes(2), 0, 0]) + inside


def rocev2(opcode: int, number: int, extended: int, data: int) -> bytes:
    """Returns a RoCEv2 frame: base header, extended headers, data, check sequence."""
    base = bytes([opcode, 0, 255, 255, 0, 0, 0, 0x11, 0, *number.to_bytes(3)])
    return ethernet(0x0800, ipv4(17, udp(4791, base + bytes(extended + data + 4))))


DATAGRAM = udp(800, bytes(100))
PACKET = ipv4(17, DATAGRAM)
FRAME = ethernet(0x0800, PACKET)
FLOW = ("10.1.0.1", "10.1.0.2", 100, "udp", 26)
VXLAN = bytes([8, 0, 0, 0, 0, 0, 5, 0])


def outer(port: int, header: bytes, inside: bytes) -> bytes:
    return ethernet(0x0800, ipv4(17, udp(port, header + inside), net=9))


#: Header name to: the frame with the header around or instead of the datagram; the flow, if there
#: is one; a note.
HEADERS = {
    "vlan": (ethernet(0x8100, b"\0\7\x08\0" + PACKET), FLOW, "VLAN tags were removed"),
    "qinq": (ethernet(0x88A8, b"\0\7\x81\0\0\x08\x08\0" + PACKET), FLOW, "VLAN tags were removed"),
    "vxlan": (outer(4789, VXLAN, FRAME), FLOW, "VXLAN was removed"),
    "geneve": (
        outer(6081, bytes([1, 0, 0x65, 0x58, 0, 0, 5, 0, 0, 0, 0, 0]), FRAME),
        FLOW,
        "Geneve was removed",
    ),
    "gre": (
        ethernet(0x0800, ipv4(47, bytes([0x20, 0, 8, 0, 0, 0, 0, 1]) + PACKET, net=9)),
        FLOW,
        "GRE was removed",
    ),
    "ip-in-ip": (ethernet(0x0800, ipv4(4, PACKET, net=9)), FLOW, "IP in IP was removed"),
    "mpls": (ethernet(0x8847, bytes([0, 1, 1, 64]) + PACKET), FLOW, "MPLS was removed"),
    "pseudo-wire": (
        ethernet(0x8847, bytes([0, 1, 1, 64, 0, 0, 0, 0]) + FRAME),
        None,
        "MPLS that does not carry IP",
    ),
    "ipv6": (ethernet(0x86DD, ipv6(17, DATAGRAM)), ("fd00::1", "fd00::2", 100, "udp", 26), None),
    "ipv6-options": (
        ethernet(0x86DD, ipv6(0, bytes([17, 0, 1, 4, 0, 0, 0, 0]) + DATAGRAM)),
        ("fd00::1", "fd00::2", 100, "udp", 26),
        None,
    ),
    "jumbo": (
        ethernet(0x0800, ipv4(17, udp(800, bytes(8_972)))),
        ("10.1.0.1", "10.1.0.2", 8_972, "udp", 26),
        None,
    ),
    "arp": (ethernet(0x0806, bytes(28)), None, "ARP: left out, because"),
    "icmp": (ethernet(0x0800, ipv4(1, bytes(64), net=7)), None, "ICMP: left out, because"),
    "esp": (
        ethernet(0x0800, ipv4(50, bytes(64), net=7)),
        None,
        "ESP: left out, because it is encrypted",
    ),
    "sctp": (ethernet(0x0800, ipv4(132, bytes(64), net=7)), None, "SCTP: left out, because"),
    "fragment": (
        ethernet(0x0800, ipv4(17, bytes(100), place=185)),
        None,
        "IP fragments whose first fragment is not in the capture",
    ),
    "write": (rocev2(0x0A, 5, 16, 100), (*FLOW[:3], "rdma", 26), None),
    "immediate": (rocev2(0x0B, 5, 20, 100), (*FLOW[:3], "rdma", 26), None),
    "read-response": (rocev2(0x10, 5, 4, 100), (*FLOW[:3], "rdma", 26), None),
    "read-request": (rocev2(0x0C, 5, 16, 0), None, "read requests of RoCEv2: left out, because"),
    "acknowledgement": (
        rocev2(0x11, 5, 4, 0),
        None,
        "acknowledgements of RoCEv2: left out, because",
    ),
    "atomic": (rocev2(0x14, 5, 28, 0), None, "atomic requests of RoCEv2: left out, because"),
    "cnp": (
        rocev2(0x81, 5, 16, 0),
        None,
        "congestion notifications (CNP) of RoCEv2: left out, because",
    ),
    "unknown-opcode": (
        rocev2(0xC5, 5, 16, 0),
        None,
        "RoCEv2 packets of opcode 0xc5: left out, because",
    ),
    "closed-tunnel": (
        outer(2152, b"", bytes(100)),
        ("10.9.0.1", "10.9.0.2", 100, "udp", 26),
        "UDP to the port of GTP-U",
    ),
}

Flow = tuple[str, str, int, str, int]


def read(path: Path, *frames: bytes) -> tuple[list[Flow], list[str], dict[str, int]]:
    """Returns flows, notes, and counts of frames without a flow by reason."""
    path.write_bytes(pcap([(1 + number / 1000, frame) for number, frame in enumerate(frames)]))
    return taken(path)


def taken(path: Path) -> tuple[list[Flow], list[str], dict[str, int]]:
    list_, numbers, account = capture.flows(path, SECOND, None)
    names = {number: name for name, number in numbers.items()}
    hosts = [(names[src], names[dst]) for src, dst in zip(list_.src, list_.dst, strict=True)]
    assert {name for both in hosts for name in both} == set(numbers), (
        "only hosts of flows have numbers"
    )
    flows = list(
        zip(hosts, list_.bytes, list_.classes or [], list_.dscps or [0] * len(list_), strict=True)
    )
    return (
        [(src, dst, size, str(of), int(dscp or 0)) for (src, dst), size, of, dscp in flows],
        account.left_out(),
        dict(account.dropped),
    )


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_is_taken_or_noted(tmp_path, name):
    frame, flow, note = HEADERS[name]
    flows, notes, dropped = read(tmp_path / "c.pcap", frame)
    assert flows == ([flow] if flow else [])
    assert sum(dropped.values()) == (0 if flow else 1)
    if note is None:
        assert notes == []
    else:
        (said,) = notes
        assert said.startswith(note)
        assert said.endswith("(frame 1)")


def silent(path: Path) -> list[str]:
    """Returns the headers that change nothing and that no note mentions."""
    base = read(path, FRAME)
    assert base == ([FLOW], [], {})
    return [name for name, (frame, _, _) in HEADERS.items() if read(path, frame) == base]


def test_no_header_is_silent(tmp_path):
    assert silent(tmp_path / "c.pcap") == []


def test_a_reader_that_says_nothing_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(Account, "noted", lambda *_: None)
    assert silent(tmp_path / "c.pcap") == [
        "vlan",
        "qinq",
        "vxlan",
        "geneve",
        "gre",
        "ip-in-ip",
        "mpls",
    ]


def write(number: int) -> list[bytes]:
    """Returns a write of 16,384 bytes in four packets."""
    operations = [(0x06, 16), (0x07, 0), (0x07, 0), (0x08, 0)]
    return [
        rocev2(opcode, number + at, extended, 4_096)
        for at, (opcode, extended) in enumerate(operations)
    ]


def test_a_write_is_a_flow_of_its_data(tmp_path):
    frames = [*write(0), *write(0)[2:], rocev2(0x11, 3, 4, 0), rocev2(0x81, 0, 16, 0), *write(4)]
    flows, notes, dropped = read(tmp_path / "c.pcap", *frames)
    assert flows == [("10.1.0.1", "10.1.0.2", 16_384, "rdma", 26)] * 2
    assert dropped == {
        "sent again": 2,
        "acknowledgements of RoCEv2": 1,
        "congestion notifications of RoCEv2": 1,
    }
    assert [note[note.index(" (frame") :] for note in notes] == [" (frame 7)", " (frame 8)"]


def test_fragments_count_by_the_length_of_udp(tmp_path):
    whole = udp(800, bytes(4_000))
    pieces = [
        ethernet(
            0x0800,
            ipv4(
                17,
                whole[at : at + 1_480],
                place=at // 8 | (0x2000 if at + 1_480 < len(whole) else 0),
            ),
        )
        for at in range(0, 4_008, 1_480)
    ]
    for order in (pieces, pieces[::-1]):
        assert read(tmp_path / "c.pcap", *order) == ([(*FLOW[:2], 4_000, "udp", 26)], [], {})
    flows, (note,), _ = read(tmp_path / "c.pcap", *pieces[:2])
    assert flows == [(*FLOW[:2], 4_000, "udp", 26)]
    assert note.startswith("datagrams of which the capture lacks fragments")
    assert read(tmp_path / "c.pcap", *pieces[1:])[2] == {"IP fragments without the first": 2}


def test_notes_have_counts_and_first_frames(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = [FRAME, *[outer(4789, VXLAN, FRAME)] * 5, ethernet(0x0806, bytes(28))]
    (tmp_path / "c.pcap").write_bytes(pcap([(1, frame) for frame in frames]))
    done = command("import", "pcap", "c.pcap", "-o", "flows.csv", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["records"]
    assert (record["taken"], record["dropped"]) == (6, {"ARP": 1})
    vxlan = next(note for note in record["notes"] if note.startswith("VXLAN"))
    assert vxlan.endswith("(5 times, first at frame 2, frame 3, frame 4)")
    assert "10.9.0.1" not in (tmp_path / "flows.hosts.csv").read_text()


def test_a_capture_without_flows_says_what_it_has(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.pcap").write_bytes(pcap([(1, rocev2(0x11, 3, 4, 0))]))
    done = command("import", "pcap", "c.pcap", "-o", "flows.csv")
    assert done.returncode == 2
    assert "c.pcap: no flows found" in done.stderr
    assert "acknowledgements of RoCEv2" in done.stderr


@pytest.mark.parametrize(
    ("name", "right"), [("roce", [(16_384, "rdma")]), ("fragments", [(4_000, "udp")])]
)
def test_captures_that_went_wrong(name, right):
    file = SHARED / "defects" / "hunt" / f"{name}.pcap"
    if not file.exists():
        pytest.skip(f"needs {file}")
    flows, _, _ = taken(file)
    assert [(size, of) for _, _, size, of, _ in flows] == right


def test_addresses_have_several_spellings(tmp_path):
    path = tmp_path / "hosts.csv"
    path.write_text("host,name\n4,2001:DB8::1\n5,2001:0db8:0::2\n6,::FFFF:10.0.0.1\n7,Node-1\n")
    known = hosts.read(path)
    names = ("2001:db8::1", "2001:db8::2", "::ffff:10.0.0.1", "Node-1", "node-1", "10.0.0.1")
    assert [known.find(name) for name in names] == [4, 5, 6, 7, None, None]
    path.write_text("host,name\n4,2001:DB8::1\n5,2001:db8::1\n")
    with pytest.raises(Wrong, match=r"hosts.csv:3: .*a second time"):
        hosts.read(path)
