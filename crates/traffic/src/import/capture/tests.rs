use super::*;
use proptest::prelude::*;

const GAP: u64 = 1_000_000_000;

/// Returns a pcap file with nanosecond time stamps and frames of `link_type`.
pub fn pcap(link_type: u32, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 65_535, link_type] {
        file.extend(word.to_le_bytes());
    }
    for (time_ns, frame) in frames {
        let words = [
            (time_ns / 1_000_000_000) as u32,
            (time_ns % 1_000_000_000) as u32,
            frame.len() as u32,
            frame.len() as u32,
        ];
        words.into_iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(frame);
    }
    file
}

/// Returns an Ethernet frame with IPv4 and TCP.
fn tcp(hosts: [u8; 2], ports: [u16; 2], sequence: u32, flags: u8, payload: u16) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x81, 0, 0, 7, 0x08, 0]); // VLAN 7
    frame.extend([0x45, 0]);
    frame.extend((40 + payload).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, hosts[0], 10, 0, 0, hosts[1]]);
    ports.into_iter().for_each(|port| frame.extend(port.to_be_bytes()));
    frame.extend(sequence.to_be_bytes());
    frame.extend([0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.resize(frame.len() + usize::from(payload), 0);
    frame
}

fn udp6(payload: u16) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((16 + payload).to_be_bytes());
    packet.extend([0, 64]); // hop-by-hop options come first
    for last in [1, 2] {
        packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    packet.extend([17, 0, 1, 4, 0, 0, 0, 0]);
    packet.extend([0, 53, 0, 53]);
    packet.extend((8 + payload).to_be_bytes());
    packet.extend([0, 0]);
    packet.resize(packet.len() + usize::from(payload), 0);
    packet
}

/// Returns the frames that are in no flow, by reason.
pub fn dropped(captured: &Captured) -> Vec<(&str, u64)> {
    captured
        .noted
        .iter()
        .filter_map(|noted| noted.reason.as_deref().map(|reason| (reason, noted.count)))
        .collect()
}

pub fn parse(file: &[u8]) -> Result<Captured, TrafficError> {
    read_from(file, Path::new("capture.pcap"), GAP)
}

#[test]
fn directions_and_gaps_and_what_is_sent_again() {
    let (there, back) = ([1, 2], [2, 1]);
    let frames = [
        (5_000_000_000, tcp(there, [9, 80], 99, 2, 0)),
        (5_000_000_100, tcp(back, [80, 9], 499, 0x12, 0)),
        (5_000_000_200, tcp(there, [9, 80], 100, 0x10, 1_000)),
        // The capture missed one segment before the first of these. The next segment repeats bytes
        // that were seen.
        (5_000_000_300, tcp(there, [9, 80], 2_100, 0x10, 1_000)),
        (5_000_000_400, tcp(there, [9, 80], 100, 0x10, 1_000)),
        (5_000_000_500, tcp(back, [80, 9], 500, 0x10, 10)),
        (5_000_000_600, tcp(there, [9, 80], 3_100, 0x10, 0)),
        (7_000_000_000, tcp(there, [9, 80], 3_100, 0x10, 7)),
    ];
    let captured = parse(&pcap(1, &frames)).unwrap();
    let flow = |start_ns, src, dst, bytes| CapturedFlow {
        start_ns,
        src,
        dst,
        bytes,
        kind: Kind::Tcp,
        dscp: 0,
    };
    assert_eq!(
        captured.flows,
        [flow(200, 0, 1, 3_000), flow(500, 1, 0, 10), flow(2_000_000_000, 0, 1, 7)]
    );
    assert_eq!(
        captured.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.0.0.1", "10.0.0.2"]
    );
    assert_eq!(captured.origin_ns, 5_000_000_000);
    assert_eq!((captured.frames, captured.used), (8, 4));
    assert_eq!(dropped(&captured), [("without payload", 3), ("sent again", 1)]);
}

#[test]
fn sequence_numbers_wrap_and_begin_anew() {
    let frames = [
        (1_000, tcp([1, 2], [9, 80], u32::MAX - 9, 0x10, 20)),
        (2_000, tcp([1, 2], [9, 80], 10, 0x10, 5)),
        // The ports are used again by a connection whose first frames were not captured.
        (3_000, tcp([1, 2], [9, 80], 2_000_000_000, 0x10, 100)),
        (4_000, tcp([1, 2], [9, 80], 77, 0x02, 0)),
        (5_000, tcp([1, 2], [9, 80], 78, 0x10, 1)),
    ];
    let captured = parse(&pcap(1, &frames)).unwrap();
    assert_eq!(captured.flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), [125, 1]);
}

#[test]
fn ipv6_and_what_is_no_flow() {
    let mut icmp = tcp([1, 2], [0, 0], 0, 0, 0);
    icmp[18 + 9] = 1;
    let mut fragment = tcp([1, 2], [0, 0], 0, 0, 8);
    fragment[18 + 7] = 9;
    let mut multicast = tcp([1, 2], [1, 1], 0, 0, 8);
    multicast[18 + 16] = 224;
    let arp = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 6];
    let frames = [icmp, fragment, multicast, arp, vec![1; 5], tcp([1, 1], [1, 1], 0, 0, 8)]
        .map(|frame| (1, frame));
    let captured = parse(&pcap(1, &frames)).unwrap();
    assert!(captured.flows.is_empty());
    let reasons = [
        "ARP",
        "ICMP",
        "to a multicast or broadcast address",
        "from a host to itself",
        "IP fragments without the first",
        "with wrong lengths in headers",
    ];
    assert_eq!(dropped(&captured), reasons.map(|reason| (reason, 1)));

    let captured = parse(&pcap(101, &[(0, udp6(300)), (1, udp6(200))])).unwrap();
    assert_eq!(
        captured.flows,
        [CapturedFlow { start_ns: 0, src: 0, dst: 1, bytes: 500, kind: Kind::Udp, dscp: 0 }]
    );
}

/// Returns a pcapng file in either byte order. It has one interface with time stamps of 2^-10 s and
/// an offset, an enhanced packet block and a simple packet block.
fn pcapng(little: bool) -> Vec<u8> {
    let u32_bytes = |word: u32| if little { word.to_le_bytes() } else { word.to_be_bytes() };
    let u16_bytes = |word: u16| if little { word.to_le_bytes() } else { word.to_be_bytes() };
    let block = |kind: u32, body: Vec<u8>| {
        let body = [body.clone(), vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
        let length = u32_bytes(body.len() as u32 + 12);
        [&u32_bytes(kind)[..], &length, &body, &length].concat()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| u32_bytes(*word)).collect::<Vec<u8>>();
    let section =
        [words(&[0x1a2b_3c4d]), u16_bytes(1).to_vec(), u16_bytes(0).to_vec(), vec![0xff; 8]]
            .concat();
    let offset = if little { 100u64.to_le_bytes() } else { 100u64.to_be_bytes() };
    let options = [
        &u16_bytes(9)[..],
        &u16_bytes(1),
        &[0x8a, 0, 0, 0],
        &u16_bytes(14),
        &u16_bytes(8),
        &offset,
        &[0; 4],
    ]
    .concat();
    let interface = [u16_bytes(101).to_vec(), vec![0; 6], options].concat();
    let frame = udp6(4);
    let packet = |time: u32| {
        [words(&[0, 0, time, frame.len() as u32, frame.len() as u32]), frame.clone()].concat()
    };
    let simple = [words(&[frame.len() as u32]), frame.clone()].concat();
    [
        block(0x0a0d_0d0a, section),
        block(1, interface),
        block(77, vec![1, 2, 3]),
        block(6, packet(512)),
        block(3, simple),
        block(6, packet(1_024)),
    ]
    .concat()
}

#[test]
fn pcapng_of_either_byte_order() {
    for little in [true, false] {
        let captured = parse(&pcapng(little)).unwrap();
        assert_eq!(
            captured.flows,
            [CapturedFlow { start_ns: 0, src: 0, dst: 1, bytes: 8, kind: Kind::Udp, dscp: 0 }]
        );
        assert_eq!(
            (captured.origin_ns, captured.frames, captured.cut),
            (100_500_000_000, 3, false)
        );
        assert_eq!(dropped(&captured), [("without a time (simple packet blocks)", 1)]);
        assert_eq!(
            captured.noted[1].sentence.as_deref(),
            Some("pcapng blocks of type 77 (which this reader does not know): left out")
        );
    }
}

#[test]
fn what_is_wrong_is_said() {
    let good = pcap(1, &[(0, tcp([1, 2], [1, 2], 0, 0x10, 5))]);
    let mut long = good.clone();
    long[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    for (file, says) in [
        (vec![], "pcap or pcapng"),
        (b"start_ns,src".to_vec(), "pcap or pcapng"),
        (good[..20].to_vec(), "the 24 bytes of a pcap header"),
        (pcap(147, &[(0, vec![])]), "link type 147"),
        (long, "4294967295 captured bytes before byte 40, after 0 frames"),
    ] {
        let message = parse(&file).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
        assert!(message.starts_with("capture.pcap: found"), "{message}");
    }
    let cut = parse(&good[..good.len() - 1]).unwrap();
    assert!(cut.cut && cut.flows.is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(start in 0usize..7, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let link = [0u32, 1, 12, 101, 113, 228, 276];
        let mut file = pcap(link[start], &[(0, bytes.clone())]);
        let _ = parse(&file);
        file.extend(&bytes);
        let _ = parse(&file);
        let _ = parse(&bytes);
    }

    #[test]
    fn damaged_files_are_read_or_refused(little in any::<bool>(), place in any::<prop::sample::Index>(), byte in any::<u8>(), end in any::<prop::sample::Index>()) {
        let mut file = pcapng(little);
        let place = place.index(file.len());
        file[place] = byte;
        let _ = parse(&file);
        let end = end.index(file.len());
        let _ = parse(&file[..end]);
    }
}
