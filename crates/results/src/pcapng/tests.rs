use super::headers::checksum;
use super::multipath::{Session, hmac_sha256};
use super::side::Side;
use super::*;
use crate::testing::run;
use afflux_net::record::{CaptureKind, CaptureMultipath, Control};
use afflux_units::Time;

struct Packet {
    time_ns: u64,
    captured: Vec<u8>,
    length: u32,
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}
fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}
fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Returns (type, body) of each block, and checks both length fields.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let length = le32(bytes, 4) as usize;
        assert!(length.is_multiple_of(4) && le32(bytes, length - 4) as usize == length);
        blocks.push((le32(bytes, 0), bytes[8..length - 4].to_vec()));
        bytes = &bytes[length..];
    }
    blocks
}

fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let (code, length) = (
            u16::from_le_bytes([bytes[0], bytes[1]]),
            usize::from(u16::from_le_bytes([bytes[2], bytes[3]])),
        );
        if code == 0 {
            assert_eq!(bytes.len(), 4, "ends with the block");
            return options;
        }
        options.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

fn read(bytes: &[u8]) -> Vec<Packet> {
    let blocks = blocks(bytes);
    let (kind, section) = &blocks[0];
    assert_eq!((*kind, le32(section, 0)), (0x0A0D_0D0A, 0x1A2B_3C4D));
    let (kind, interface) = &blocks[1];
    assert_eq!((*kind, le32(interface, 0), le32(interface, 4)), (1, 1, 96), "Ethernet, snaplen");
    assert_eq!(
        options(&interface[8..]),
        [
            (2, b"leaf0->spine1".to_vec()),
            (8, 10_000_000_000u64.to_le_bytes().to_vec()),
            (9, vec![9])
        ]
    );
    let packet = |(kind, body): &(u32, Vec<u8>)| {
        assert_eq!((*kind, le32(body, 0)), (6, 0));
        let captured = le32(body, 12) as usize;
        assert_eq!(body.len(), 20 + captured.next_multiple_of(4));
        Packet {
            time_ns: u64::from(le32(body, 4)) << 32 | u64::from(le32(body, 8)),
            captured: body[20..20 + captured].to_vec(),
            length: le32(body, 16),
        }
    };
    blocks[2..].iter().map(packet).collect()
}

/// Returns the checksum over transport header and pseudo-header. The payload is all zeros.
fn transport_checksum(frame: &[u8]) -> u16 {
    let segment = be16(frame, 16) - 20;
    let mut bytes = frame[26..34].to_vec();
    bytes.extend([0, frame[23]]);
    bytes.extend(segment.to_be_bytes());
    bytes
        .extend(&frame[34..if frame[23] == 6 { 34 + usize::from(frame[46] >> 4) * 4 } else { 42 }]);
    checksum(&bytes, 0)
}

fn record(kind: CaptureKind) -> CaptureRecord {
    CaptureRecord {
        time: Time(0),
        flow: 40_000,
        src: 0,
        dst: 70_000,
        kind,
        sequence: 0,
        payload: 0,
        size: 64,
        ecn: 0,
        ece: false,
        cwr: false,
        last: false,
        again: false,
        answer: kind == CaptureKind::TcpAck,
        priority: 0,
        options: None,
        packet: None,
    }
}

fn written(records: Vec<CaptureRecord>) -> Vec<Packet> {
    let (mut scenario, mut output) = run();
    scenario.plan.record.captures = vec![Capture { link: 5, reverse: false }];
    scenario.plan.record.snaplen = 96;
    output.captures = vec![records];
    let dir = tempfile::tempdir().unwrap();
    let files = files(&scenario, &output);
    assert_eq!(files[0].0, "leaf0-spine1.pcapng");
    let path = dir.path().join(&files[0].0);
    files[0].1.write(&mut std::fs::File::create(&path).unwrap()).unwrap();
    read(&std::fs::read(path).unwrap())
}

#[test]
fn tcp_headers() {
    let late = Time((5u64 << 32) * 1_000 + 7_499);
    let data = CaptureRecord {
        time: late,
        sequence: (3 << 32) + 9,
        payload: 1_460,
        size: 1_518,
        ecn: 3,
        cwr: true,
        priority: 5,
        ..record(CaptureKind::TcpData)
    };
    let ack = CaptureRecord {
        time: late,
        src: 70_000,
        dst: 0,
        sequence: 1_469,
        ece: true,
        ..record(CaptureKind::TcpAck)
    };
    let packets = written(vec![data, ack]);
    let Packet { time_ns, captured, length } = &packets[0];
    assert_eq!((*time_ns, captured.len(), *length), ((5 << 32) + 7, 96, 1_514));
    assert_eq!(captured[0..14], [2, 0, 0, 1, 0x11, 0x71, 2, 0, 0, 0, 0, 1, 8, 0]);
    assert_eq!((captured[14], captured[15], be16(captured, 16)), (0x45, 5 << 5 | 3, 1_500));
    assert_eq!(captured[26..34], [10, 0, 0, 1, 10, 1, 0x11, 0x71]);
    assert_eq!((be16(captured, 34), be16(captured, 36)), (32_768 + 40_000 % 32_768, 1_025));
    assert_eq!((be32(captured, 38), be32(captured, 42), captured[47]), (10, 1, 0x90));
    let Packet { captured, length, .. } = &packets[1];
    assert_eq!((captured.len(), *length, be16(captured, 16)), (60, 60, 40));
    assert_eq!((be16(captured, 34), be16(captured, 36)), (1_025, 32_768 + 40_000 % 32_768));
    assert_eq!((be32(captured, 38), be32(captured, 42), captured[47]), (1, 1_470, 0x50));
    for Packet { captured, .. } in &packets {
        assert_eq!((checksum(&captured[14..34], 0), transport_checksum(captured)), (0, 0));
    }
}

#[test]
fn datagrams_and_small_profiles() {
    let datagram = CaptureRecord { payload: 10, size: 64, ecn: 1, ..record(CaptureKind::Datagram) };
    let bare = CaptureRecord { size: 40, ..record(CaptureKind::TcpAck) };
    let packets = written(vec![datagram, bare]);
    let Packet { captured, length, .. } = &packets[0];
    assert_eq!(
        (captured.len(), *length, captured[15], captured[23], be16(captured, 38)),
        (60, 60, 1, 17, 18)
    );
    assert_eq!((checksum(&captured[14..34], 0), transport_checksum(captured)), (0, 0));
    assert_eq!(
        (packets[1].captured.len(), packets[1].length),
        (54, 54),
        "never shorter than its headers"
    );
}

#[test]
fn checksum_of_rfc_1071() {
    // Example of RFC 1071, section 3: the sum is 0xddf2.
    assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0), !0xddf2);
}

/// A packet of a kernel with 1,500 bytes of IP, of which 80 are kept, and one of 40.
#[test]
fn packets_of_kernels_are_written_as_they_are() {
    let kept: Vec<u8> = (0..94u8)
        .map(|at| match at {
            16 => 5,
            17 => 0xdc,
            other => other,
        })
        .collect();
    let mut short = kept[..54].to_vec();
    (short[16], short[17]) = (0, 40);
    let packet = |bytes: &[u8]| CaptureRecord {
        size: 1_518,
        packet: Some(bytes.into()),
        ..record(CaptureKind::Datagram)
    };
    let packets = written(vec![packet(&kept), packet(&short)]);
    assert_eq!((&packets[0].captured, packets[0].length), (&kept, 1_514));
    assert_eq!((&packets[1].captured, packets[1].length), (&short, 54));
}

#[test]
fn captures_of_parallel_links_have_names_of_their_own() {
    let (mut scenario, mut output) = run();
    scenario.plan.topology.links[5] = scenario.plan.topology.links[4].clone();
    let capture = |link, reverse| Capture { link, reverse };
    scenario.plan.record.captures = vec![capture(4, false), capture(5, false), capture(4, true)];
    output.captures = vec![Vec::new(); 3];
    let names: Vec<_> = files(&scenario, &output).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["leaf0-spine0.pcapng", "leaf0-spine0-2.pcapng", "spine0-leaf0.pcapng"]);
}

#[test]
fn both_directions_share_a_file() {
    let (mut scenario, mut output) = run();
    scenario.plan.record.captures = vec![
        Capture { link: 4, reverse: false },
        Capture { link: 4, reverse: true },
        Capture { link: 5, reverse: false },
    ];
    scenario.plan.record.joined = vec![4];
    let at = |time| CaptureRecord { time: Time(time), ..record(CaptureKind::TcpAck) };
    output.captures = vec![vec![at(2_000), at(5_000)], vec![at(1_000), at(5_000)], Vec::new()];
    let files = files(&scenario, &output);
    assert_eq!(
        files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["leaf0-spine0-both.pcapng", "leaf0-spine1.pcapng"]
    );
    let mut bytes = Vec::new();
    files[0].1.write_to(&mut bytes).unwrap();
    let packets: Vec<(u32, u32)> =
        blocks(&bytes)[3..].iter().map(|(_, body)| (le32(body, 0), le32(body, 8))).collect();
    assert_eq!(packets, [(1, 1), (0, 2), (0, 5), (1, 5)]);
}

/// Test cases 2 and 1 of RFC 4231.
#[test]
fn hmac() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(
        hex(&hmac_sha256(b"Jefe", b"what do ya want for nothing?")),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    assert_eq!(
        hex(&hmac_sha256(&[0x0b; 20], b"Hi There")),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    );
}

#[test]
fn options_of_multipath_have_the_lengths_of_rfc_8684() {
    let session = Session::new(1, 7);
    let length = |control, side, subflow, closes| {
        let mut out = Vec::new();
        session.opening(&mut out, control, side, &CaptureMultipath { subflow, data: 0, closes });
        assert!(out.is_empty() || usize::from(out[1]) == out.len());
        out.len() as u16
    };
    for (control, side) in [
        (Control::Syn, Side::Asks),
        (Control::SynAck, Side::Answers),
        (Control::Ack, Side::Asks),
        (Control::Ack, Side::Answers),
    ] {
        for subflow in [0, 3] {
            let simulated = afflux_net::spec::MptcpConfig::opening_option(
                control,
                subflow > 0,
                side == Side::Asks,
            );
            assert_eq!(
                length(control, side, subflow, false),
                simulated,
                "{control:?} {side:?} {subflow}"
            );
        }
    }
    assert_eq!(length(Control::Ack, Side::Asks, 1, true), 0);
}
