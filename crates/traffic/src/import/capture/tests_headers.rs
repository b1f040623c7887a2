//! Tests each header: frames that differ from a base in one header must differ in their flows or in
//! a note.

use super::tests::{dropped, parse, pcap};
use super::*;
use proptest::prelude::*;

pub const ETHERNET: u32 = 1;
/// Bytes of data in the datagram that is inside every header.
const DATA: usize = 100;

pub fn ethernet(ether_type: u16, inside: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ether_type.to_be_bytes(), inside].concat()
}

/// Returns a tag with the EtherType of the following header. The tag's own EtherType is in the
/// preceding header.
fn vlan(id: u16, ether_type: u16, inside: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &ether_type.to_be_bytes(), inside].concat()
}

/// Returns a packet from 10.`net`.0.1 to 10.`net`.0.2. `place` contains the flags and the offset of
/// fragments.
fn ipv4_part(net: u8, protocol: u8, place: u16, inside: &[u8]) -> Vec<u8> {
    let total = (20 + inside.len()) as u16;
    let start = [
        &[0x45, 26 << 2][..],
        &total.to_be_bytes(),
        &[0, 9],
        &place.to_be_bytes(),
        &[64, protocol, 0, 0],
    ]
    .concat();
    [&start[..], &[10, net, 0, 1, 10, net, 0, 2], inside].concat()
}

pub fn ipv4(net: u8, protocol: u8, inside: &[u8]) -> Vec<u8> {
    ipv4_part(net, protocol, 0, inside)
}

fn address6(last: u8) -> [u8; 16] {
    [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

pub fn ipv6(next: u8, inside: &[u8]) -> Vec<u8> {
    // DSCP 26 is spread over the first two bytes.
    let class = [0x60 | 26 >> 2, (26 << 6 & 0xff) as u8, 0, 0];
    [
        &class[..],
        &(inside.len() as u16).to_be_bytes(),
        &[next, 64],
        &address6(1),
        &address6(2),
        inside,
    ]
    .concat()
}

pub fn udp(port: u16, inside: &[u8]) -> Vec<u8> {
    [
        &5_000u16.to_be_bytes()[..],
        &port.to_be_bytes(),
        &(8 + inside.len() as u16).to_be_bytes(),
        &[0, 0],
        inside,
    ]
    .concat()
}

fn tcp(sequence: u32, inside: &[u8]) -> Vec<u8> {
    [
        &[0x13, 0x88, 0, 80][..],
        &sequence.to_be_bytes(),
        &[0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0],
        inside,
    ]
    .concat()
}

/// Returns the base datagram from 10.1.0.1 to 10.1.0.2.
fn packet() -> Vec<u8> {
    ipv4(1, 17, &udp(800, &[7; DATA]))
}

/// Returns the base datagram as an Ethernet frame.
fn frame() -> Vec<u8> {
    ethernet(0x0800, &packet())
}

fn read(frames: &[Vec<u8>]) -> Captured {
    let frames: Vec<(u64, Vec<u8>)> =
        frames.iter().enumerate().map(|(at, frame)| (at as u64, frame.clone())).collect();
    parse(&pcap(ETHERNET, &frames)).unwrap()
}

/// Returns the flows as source, destination, bytes and DSCP.
fn flows(captured: &Captured) -> Vec<(String, String, u64, u8)> {
    let host = |number: u32| captured.hosts[number as usize].to_string();
    captured
        .flows
        .iter()
        .map(|flow| (host(flow.src), host(flow.dst), flow.bytes, flow.dscp))
        .collect()
}

fn base() -> Captured {
    read(&[frame()])
}

fn outer(port: u16, header: &[u8], inside: &[u8]) -> Vec<u8> {
    ethernet(0x0800, &ipv4(9, 17, &udp(port, &[header, inside].concat())))
}

fn gre(flags: u16, ether_type: u16, fields: &[u8], inside: &[u8]) -> Vec<u8> {
    ethernet(
        0x0800,
        &ipv4(
            9,
            47,
            &[&flags.to_be_bytes()[..], &ether_type.to_be_bytes(), fields, inside].concat(),
        ),
    )
}

const VXLAN: [u8; 8] = [8, 0, 0, 0, 0, 0, 5, 0];

/// Frames around the base datagram. The flow is that of the base, and a note names the header that
/// was removed.
fn removed() -> Vec<(&'static str, Vec<u8>)> {
    let ether_in = |kind: u16| [&[0, 0][..], &kind.to_be_bytes(), &[0, 0, 5, 0]].concat();
    vec![
        ("VLAN tags", ethernet(0x8100, &vlan(7, 0x0800, &packet()))),
        ("VLAN tags", ethernet(0x88a8, &vlan(7, 0x8100, &vlan(8, 0x0800, &packet())))),
        ("VXLAN ", outer(4_789, &VXLAN, &frame())),
        ("VXLAN ", outer(8_472, &VXLAN, &ethernet(0x8100, &vlan(7, 0x0800, &packet())))),
        ("VXLAN-GPE", outer(4_790, &[0xc, 0, 0, 1, 0, 0, 5, 0], &packet())),
        ("VXLAN-GPE", outer(4_790, &[0xc, 0, 0, 3, 0, 0, 5, 0], &frame())),
        ("Geneve", outer(6_081, &ether_in(0x6558), &frame())),
        ("Geneve", outer(6_081, &[&[2][..], &ether_in(0x0800)[1..], &[0; 8]].concat(), &packet())),
        ("GRE", gre(0, 0x0800, &[], &packet())),
        ("GRE", gre(0xb000, 0x6558, &[0; 12], &frame())),
        ("GRE", outer(4_754, &[0, 0, 8, 0], &packet())),
        ("ERSPAN", gre(0, 0x88be, &[], &frame())),
        ("ERSPAN", gre(0x1000, 0x88be, &[0; 12], &frame())),
        ("ERSPAN", gre(0x1000, 0x22eb, &[0; 16], &frame())),
        ("ERSPAN", gre(0x1000, 0x22eb, &[&[0; 15][..], &[1], &[0; 8]].concat(), &frame())),
        ("IP in IP", ethernet(0x0800, &ipv4(9, 4, &packet()))),
        ("IP in IP", ethernet(0x86dd, &ipv6(4, &packet()))),
        ("MPLS", ethernet(0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64][..], &packet()].concat())),
        ("MPLS", outer(6_635, &[0, 1, 1, 64], &packet())),
        ("PPPoE", ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 130, 0, 0x21][..], &packet()].concat())),
    ]
}

#[test]
fn headers_around_a_datagram_are_removed() {
    let right = flows(&base());
    assert_eq!(right, [("10.1.0.1".into(), "10.1.0.2".into(), DATA as u64, 26)]);
    for (name, frame) in removed() {
        let captured = read(&[frame]);
        assert_eq!(flows(&captured), right, "{name}");
        assert_eq!(captured.hosts.len(), 2, "{name}: ends of tunnels are no hosts");
        let note = captured.noted.iter().find(|noted| {
            noted.sentence.as_ref().is_some_and(|sentence| sentence.starts_with(name))
        });
        assert_eq!(
            note.map(|noted| (noted.count, noted.first.as_slice())),
            Some((1, &[1][..])),
            "{name}: {:?}",
            captured.noted
        );
    }
}

/// Frames whose headers contain no flow, or a flow that is not read.
fn in_no_flow() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("ARP", ethernet(0x0806, &[0; 28])),
        ("LLDP", ethernet(0x88cc, &[0; 46])),
        ("MAC control (PAUSE, PFC)", ethernet(0x8808, &[0; 46])),
        ("MACsec", ethernet(0x88e5, &packet())),
        ("RoCEv1", ethernet(0x8915, &packet())),
        ("EtherType 0x1234", ethernet(0x1234, &packet())),
        ("802.3 with LLC", ethernet(38, &[0x42, 0x42, 3, 0, 0, 0, 0, 0])),
        ("ICMP", ethernet(0x0800, &ipv4(1, 1, &[8; 64]))),
        ("ICMPv6", ethernet(0x86dd, &ipv6(58, &[8; 64]))),
        ("ESP", ethernet(0x0800, &ipv4(1, 50, &[8; 64]))),
        ("SCTP", ethernet(0x0800, &ipv4(1, 132, &[8; 64]))),
        ("IP protocol 200", ethernet(0x0800, &ipv4(1, 200, &[8; 64]))),
        ("ARP", outer(4_789, &VXLAN, &ethernet(0x0806, &[0; 28]))),
        ("GRE of protocol 0x880b", gre(0x2001, 0x880b, &[0; 8], &packet())),
        ("MPLS without IP", ethernet(0x8847, &[&[0, 1, 1, 64, 0, 0, 0, 0][..], &frame()].concat())),
        ("IP fragments without the first", ethernet(0x0800, &ipv4_part(1, 17, 185, &[7; 100]))),
        (
            "with wrong lengths in headers",
            ethernet(0x0800, &ipv4(1, 17, &[&udp(800, &[7; 50])[..6], &[0, 0]].concat())),
        ),
        (
            "with too many headers",
            ethernet(0x0800, &(0..20).fold(packet(), |inside, _| ipv4(3, 4, &inside))),
        ),
        ("without payload", ethernet(0x0800, &ipv4(1, 17, &udp(800, &[])))),
    ]
}

#[test]
fn frames_in_no_flow_have_a_reason_that_is_true() {
    for (reason, frame) in in_no_flow() {
        let captured = read(&[self::frame(), frame]);
        assert_eq!(flows(&captured), flows(&base()), "{reason}");
        assert_eq!(dropped(&captured), [(reason, 1)]);
        let noted = captured.noted.iter().find(|noted| noted.reason.is_some()).unwrap();
        assert_eq!(noted.first, [2], "{reason}");
        assert!(
            noted.sentence.is_some() || reason == "without payload",
            "{reason}: the note says why"
        );
    }
}

/// Source, destination, bytes and DSCP of a flow.
type Seen = (&'static str, &'static str, u64, u8);

/// Frames with fields and headers that change the flow itself.
fn changed() -> Vec<(&'static str, Vec<u8>, Seen)> {
    let options = |next: u8, inside: &[u8]| [&[next, 0, 1, 4, 0, 0, 0, 0][..], inside].concat();
    let datagram = udp(800, &[7; DATA]);
    let route = |left: u8| {
        [&[17, 4, 4, left, 1, 0, 0, 0][..], &address6(3), &address6(2), &datagram].concat()
    };
    let authentication = [&[17, 4, 0, 0][..], &[0; 20], &datagram].concat();
    let mut offloaded = packet();
    offloaded[2..4].fill(0);
    vec![
        ("IPv6", ethernet(0x86dd, &ipv6(17, &datagram)), ("fd00::1", "fd00::2", 100, 26)),
        (
            "hop-by-hop options",
            ethernet(0x86dd, &ipv6(0, &options(60, &options(17, &datagram)))),
            ("fd00::1", "fd00::2", 100, 26),
        ),
        (
            "a route under way",
            ethernet(0x86dd, &ipv6(43, &route(1))),
            ("fd00::1", "fd00::3", 100, 26),
        ),
        (
            "a route at its end",
            ethernet(0x86dd, &ipv6(43, &route(0))),
            ("fd00::1", "fd00::2", 100, 26),
        ),
        (
            "a fragment header of a whole packet",
            ethernet(0x86dd, &ipv6(44, &[&[17, 0, 0, 0, 0, 0, 0, 1][..], &datagram].concat())),
            ("fd00::1", "fd00::2", 100, 26),
        ),
        (
            "authentication in IPv6",
            ethernet(0x86dd, &ipv6(51, &authentication)),
            ("fd00::1", "fd00::2", 100, 26),
        ),
        (
            "authentication in IPv4",
            ethernet(0x0800, &ipv4(2, 51, &authentication)),
            ("10.2.0.1", "10.2.0.2", 100, 26),
        ),
        (
            "a jumbo frame",
            ethernet(0x0800, &ipv4(1, 17, &udp(800, &[7; 8_972]))),
            ("10.1.0.1", "10.1.0.2", 8_972, 26),
        ),
        (
            "padding behind IP",
            [ethernet(0x0800, &ipv4(1, 17, &udp(800, &[7]))), vec![0; 17]].concat(),
            ("10.1.0.1", "10.1.0.2", 1, 26),
        ),
        (
            "padding behind UDP",
            ethernet(0x0800, &ipv4(1, 17, &[udp(800, &[7; 9]), vec![0; 20]].concat())),
            ("10.1.0.1", "10.1.0.2", 9, 26),
        ),
        (
            "SNAP",
            ethernet(140, &[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &ipv4(2, 17, &datagram)].concat()),
            ("10.2.0.1", "10.2.0.2", 100, 26),
        ),
        ("TCP", ethernet(0x0800, &ipv4(2, 6, &tcp(1, &[0; 90]))), ("10.2.0.1", "10.2.0.2", 90, 26)),
        (
            "a length of 0 of an offloaded segment",
            ethernet(0x0800, &[&offloaded[..], &[7; 5]].concat()),
            ("10.1.0.1", "10.1.0.2", 100, 26),
        ),
    ]
}

#[test]
fn fields_change_the_flow() {
    for (name, frame, (src, dst, bytes, dscp)) in changed() {
        let captured = read(&[frame]);
        assert_eq!(
            flows(&captured),
            [(src.to_string(), dst.to_string(), bytes, dscp)],
            "{name}: {:?}",
            captured.noted
        );
    }
}

#[test]
fn ports_of_tunnels_that_are_none_carry_data() {
    for (port, data, says) in [
        (4_789, vec![0; 40], "UDP to port 4789 without the header"),
        (4_789, vec![8; 4], "UDP to port 4789 without the header"),
        (6_081, vec![0xff; 40], "UDP to port 6081 without the header"),
        (4_790, vec![8; 40], "UDP to port 4790 without the header"),
        (2_152, vec![0x30; 40], "UDP to the port of GTP-U"),
        (51_820, vec![4; 40], "UDP to the port of WireGuard"),
    ] {
        let captured = read(&[outer(port, &data, &[])]);
        assert_eq!(
            flows(&captured),
            [("10.9.0.1".into(), "10.9.0.2".into(), data.len() as u64, 26)]
        );
        assert!(
            captured.noted[0].sentence.as_ref().unwrap().starts_with(says),
            "{:?}",
            captured.noted
        );
    }
}

/// Tests the IPv6 jumbo payload option (RFC 2675), with which the length in IP is 0.
#[test]
fn jumbo_payloads() {
    let datagram = udp(800, &[7; DATA]);
    let mut packet = ipv6(
        0,
        &[&[17, 0, 0xc2, 4][..], &(8 + datagram.len() as u32).to_be_bytes(), &datagram].concat(),
    );
    packet[4..6].fill(0);
    let captured = read(&[[ethernet(0x86dd, &packet), vec![0; 30]].concat()]);
    assert_eq!(flows(&captured), [("fd00::1".into(), "fd00::2".into(), 100, 26)]);
    // UDP states no length either, so the option's length counts.
    packet[40 + 8 + 4..40 + 8 + 6].fill(0);
    let captured = read(&[[ethernet(0x86dd, &packet), vec![0; 30]].concat()]);
    assert_eq!(flows(&captured), [("fd00::1".into(), "fd00::2".into(), 100, 26)]);
}

// -------------------------------------------------------------------------------------------------------------------------- fragments

/// Returns a datagram of 4,000 bytes in three fragments.
fn fragments(around: impl Fn(u32, bool, &[u8]) -> Vec<u8>, of: &[u8]) -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = of.chunks(1_480).collect();
    pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| around(1_480 * at as u32, at + 1 == pieces.len(), piece))
        .collect()
}

fn fragment4(protocol: u8) -> impl Fn(u32, bool, &[u8]) -> Vec<u8> {
    move |offset, last, piece| {
        ethernet(
            0x0800,
            &ipv4_part(1, protocol, (offset / 8) as u16 | if last { 0 } else { 0x2000 }, piece),
        )
    }
}

fn fragment6(next: u8) -> impl Fn(u32, bool, &[u8]) -> Vec<u8> {
    move |offset, last, piece| {
        let header =
            [&[next, 0][..], &(offset as u16 | u16::from(!last)).to_be_bytes(), &[0, 0, 0, 9]]
                .concat();
        ethernet(0x86dd, &ipv6(44, &[&header[..], piece].concat()))
    }
}

#[test]
fn fragments_count_by_the_length_of_udp_and_by_the_sequence_numbers_of_tcp() {
    let inner = outer(4_789, &VXLAN, &ethernet(0x0800, &ipv4(1, 17, &udp(800, &[7; 4_000]))));
    for (name, whole) in [
        ("UDP over IPv4", fragments(fragment4(17), &udp(800, &[7; 4_000]))),
        ("TCP over IPv4", fragments(fragment4(6), &tcp(77, &[7; 4_000]))),
        ("UDP over IPv6", fragments(fragment6(17), &udp(800, &[7; 4_000]))),
        ("TCP over IPv6", fragments(fragment6(6), &tcp(77, &[7; 4_000]))),
        ("VXLAN in fragments", fragments(fragment4(17), &inner[34..])),
    ] {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let captured = read(&order.map(|at| whole[at].clone()));
            assert_eq!(
                captured.flows.iter().map(|flow| flow.bytes).sum::<u64>(),
                4_000,
                "{name}, {order:?}"
            );
            assert_eq!(captured.flows.len(), 1, "{name}");
            assert_eq!(
                captured.used + dropped(&captured).iter().map(|(_, count)| count).sum::<u64>(),
                3,
                "{name}: each frame once"
            );
            if !name.starts_with("TCP") {
                assert_eq!((captured.used, dropped(&captured)), (3, vec![]), "{name}");
            }
        }
        // The same number again means another datagram, of which a part is missing.
        let captured = read(&[0, 1, 2, 0, 2].map(|at: usize| whole[at].clone()));
        if name.starts_with("UDP") {
            assert_eq!(captured.flows[0].bytes, 8_000);
            assert!(captured.noted.iter().any(|noted| {
                noted.sentence.as_ref().unwrap().starts_with("datagrams of which the capture lacks")
                    && noted.first == [4]
            }));
        }
        // The first fragment is missing.
        let captured = read(&whole[1..]);
        assert_eq!(
            (flows(&captured), dropped(&captured)),
            (vec![], vec![("IP fragments without the first", 2)]),
            "{name}"
        );
    }
}

#[test]
fn fragments_of_what_is_no_flow_have_its_reason() {
    let whole = fragments(fragment4(1), &[8; 4_000]);
    assert_eq!(dropped(&read(&whole)), [("ICMP", 3)]);
    assert_eq!(
        dropped(&read(&[whole[2].clone(), whole[0].clone(), whole[1].clone()])),
        [("ICMP", 3)]
    );
}

// ------------------------------------------------------------------------------------------------------------------------ snap length

/// Tests a capture of the first bytes of each frame, where the lengths in headers count.
#[test]
fn frames_captured_in_part() {
    for (whole, headers) in [
        (frame(), 14 + 20 + 8),
        (ethernet(0x0800, &ipv4(1, 6, &tcp(5, &[0; DATA]))), 14 + 20 + 20),
        (outer(4_789, &VXLAN, &frame()), 50 + 42),
        (ethernet(0x86dd, &ipv6(17, &udp(800, &[7; DATA]))), 14 + 40 + 8),
    ] {
        let shortened = |captured: usize| {
            let mut file = pcap(ETHERNET, &[(0, whole[..captured].to_vec())]);
            file[24 + 12..24 + 16].copy_from_slice(&(whole.len() as u32).to_le_bytes());
            parse(&file).unwrap()
        };
        let captured = shortened(headers);
        assert_eq!(captured.flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), [100]);
        assert!(captured.noted.iter().any(|noted| {
            noted
                .sentence
                .as_ref()
                .unwrap()
                .contains("captured only in part: their bytes are those")
        }));
        let captured = shortened(headers - 10);
        assert_eq!(
            (captured.flows.len(), dropped(&captured)),
            (0, vec![("cut off within the headers", 1)])
        );
    }
    // The file does not state the snap length, and IP states more bytes than the frame has.
    let captured = read(&[frame()[..60].to_vec()]);
    assert_eq!(flows(&captured), flows(&base()));
    assert!(
        captured.noted[0]
            .sentence
            .as_ref()
            .unwrap()
            .starts_with("IP headers that state more bytes")
    );
}

// ---------------------------------------------------------------------------------------------------------------------- nothing silent

/// True if the result is that of the base, without any further note.
fn is_silent(captured: &Captured) -> bool {
    let base = base();
    flows(captured) == flows(&base) && captured.noted == base.noted
}

#[test]
fn no_header_is_silent() {
    for (name, frame) in removed()
        .into_iter()
        .chain(in_no_flow())
        .chain(changed().into_iter().map(|(name, frame, _)| (name, frame)))
    {
        // Padding and segmentation offload change the frame and not the flow.
        if !name.starts_with("a length of 0") {
            assert!(!is_silent(&read(&[frame])), "{name}");
        }
    }
}

/// Tests the test: without its note, each frame around the base's datagram has the base's result. A
/// reader that removed a header silently would therefore be found.
#[test]
fn a_reader_that_ignores_a_header_is_found() {
    for (name, frame) in removed() {
        let mut captured = read(&[frame]);
        captured.noted.clear();
        assert!(is_silent(&captured), "{name}: the test would not find that its note is missing");
    }
}

proptest! {
    #[test]
    fn damaged_headers_are_read_or_noted(which in 0usize..100, place in any::<prop::sample::Index>(), byte in any::<u8>(), end in any::<prop::sample::Index>()) {
        let all: Vec<Vec<u8>> = removed().into_iter().chain(in_no_flow()).map(|(_, frame)| frame).chain(changed().into_iter().map(|(_, frame, _)| frame)).collect();
        let mut frame = all[which % all.len()].clone();
        let place = place.index(frame.len());
        frame[place] = byte;
        let shortened = frame[..end.index(frame.len())].to_vec();
        let captured = read(&[frame, shortened]);
        prop_assert_eq!(captured.used + dropped(&captured).iter().map(|(_, count)| count).sum::<u64>(), 2, "each frame is in a flow or has a reason");
    }
}
