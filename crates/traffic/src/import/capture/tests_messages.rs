//! Tests RoCEv2: which bytes belong to a message, and which packets belong to none.

use super::tests::{dropped, parse, pcap};
use super::tests_headers::{ETHERNET, ethernet, ipv4, ipv6, udp};
use super::*;

const UNIT: u32 = 1_024;

/// Returns a packet with a base header, extended headers and data of an operation, padding and a
/// check sequence.
fn packet(opcode: u8, pair: u32, number: u32, extended: &[u8], payload: u32) -> Vec<u8> {
    let padding = payload.next_multiple_of(4) - payload;
    let base = [
        &[opcode, (padding << 4) as u8, 0xff, 0xff][..],
        &pair.to_be_bytes(),
        &(0x8000_0000 | number).to_be_bytes(),
    ]
    .concat();
    [&base[..], extended, &vec![7; (payload + padding) as usize], &[0; 4]].concat()
}

/// Returns the extended header of a write or a read of `length` bytes.
fn rdma(length: u32) -> Vec<u8> {
    [&[0; 12][..], &length.to_be_bytes()].concat()
}

fn frame(packet: &[u8]) -> Vec<u8> {
    ethernet(0x0800, &ipv4(1, 17, &udp(4_791, packet)))
}

/// Returns a packet's frame in the opposite direction.
fn back(packet: &[u8]) -> Vec<u8> {
    let mut frame = frame(packet);
    (frame[14 + 15], frame[14 + 19]) = (2, 1);
    frame
}

fn read(packets: &[Vec<u8>]) -> Captured {
    let frames: Vec<(u64, Vec<u8>)> =
        packets.iter().enumerate().map(|(at, frame)| (at as u64, frame.clone())).collect();
    parse(&pcap(ETHERNET, &frames)).unwrap()
}

fn bytes(captured: &Captured) -> Vec<u64> {
    captured.flows.iter().map(|flow| flow.bytes).collect()
}

fn notes(captured: &Captured) -> Vec<&str> {
    captured
        .noted
        .iter()
        .filter(|noted| noted.reason.is_none())
        .filter_map(|noted| noted.sentence.as_deref())
        .collect()
}

/// Returns a write of `count` packets from `number` on. The last packet has 600 bytes.
fn write(number: u32, count: u32) -> Vec<Vec<u8>> {
    let length = (count - 1) * UNIT + 600;
    let of = |at: u32| match at {
        0 => packet(6, 0x11, number, &rdma(length), UNIT),
        at if at + 1 == count => packet(8, 0x11, (number + at) % (1 << 24), &[], 600),
        at => packet(7, 0x11, (number + at) % (1 << 24), &[], UNIT),
    };
    (0..count).map(|at| frame(&of(at))).collect()
}

#[test]
fn every_operation_has_the_payload_without_its_headers() {
    let immediate = [1; 4];
    for (opcode, extended, right) in [
        (0x04, vec![], 601),
        (0x05, immediate.to_vec(), 601),
        (0x0a, rdma(601), 601),
        (0x0b, [rdma(601), immediate.to_vec()].concat(), 601),
        (0x10, vec![0; 4], 601),
        (0x17, vec![0; 4], 601),
        (0x1d, rdma(601), 601),
        // These are an unreliable connection, shared receive queues (XRC), datagrams and reliable
        // datagrams.
        (0x24, vec![], 601),
        (0x2a, rdma(601), 601),
        (0xa4, vec![0; 4], 601),
        (0xaa, [vec![0; 4], rdma(601)].concat(), 601),
        (0xb0, vec![0; 4], 601),
        (0x64, vec![0; 8], 601),
        (0x65, [vec![0; 8], immediate.to_vec()].concat(), 601),
        (0x44, vec![0; 12], 601),
        (0x50, vec![0; 8], 601),
    ] {
        let captured = read(&[frame(&packet(opcode, 0x11, 5, &extended, 601))]);
        assert_eq!(bytes(&captured), [right], "{opcode:#04x}: {:?}", captured.noted);
        assert_eq!(captured.flows[0].kind, Kind::Rdma);
        assert_eq!(captured.flows[0].dscp, 26);
        assert_eq!((notes(&captured), captured.used), (vec![], 1), "{opcode:#04x}");
    }
    let captured =
        parse(&pcap(101, &[(0, ipv6(17, &udp(4_791, &packet(4, 0x11, 5, &[], 601))))])).unwrap();
    assert_eq!(bytes(&captured), [601]);
}

#[test]
fn packets_that_carry_no_data_are_no_flows() {
    for (opcode, extended, reason) in [
        (0x11, 4, "acknowledgements of RoCEv2"),
        (0x12, 12, "acknowledgements of RoCEv2"),
        (0xb1, 4, "acknowledgements of RoCEv2"),
        (0x81, 16, "congestion notifications of RoCEv2"),
        (0x0c, 16, "read requests of RoCEv2"),
        (0x13, 28, "atomic requests of RoCEv2"),
        (0x14, 28, "atomic requests of RoCEv2"),
        (0x1c, 20, "flush requests of RoCEv2"),
        (0x04, 0, "without payload"),
        (0xc0, 16, "RoCEv2 of opcode 0xc0"),
        (0x31, 4, "RoCEv2 of opcode 0x31"),
        (0x6c, 24, "RoCEv2 of opcode 0x6c"),
    ] {
        let captured = read(&[frame(&packet(opcode, 0x11, 5, &vec![0; extended], 0))]);
        assert_eq!(
            (bytes(&captured), dropped(&captured)),
            (vec![], vec![(reason, 1)]),
            "{opcode:#04x}"
        );
        assert!(captured.hosts.is_empty());
    }
    let captured = read(&[frame(&packet(0x64, 1, 5, &[0; 8], 256))]);
    assert_eq!(dropped(&captured), [("management datagrams of RoCEv2", 1)]);
    let captured = read(&[frame(&[4, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 9])]);
    assert_eq!(dropped(&captured), [("with wrong lengths in headers", 1)]);
}

#[test]
fn a_message_is_a_flow() {
    let acknowledged = back(&packet(0x11, 0x12, 3, &[0; 4], 0));
    let captured =
        read(&[write(0, 4), vec![acknowledged], write(4, 2), write(9_000_000, 3)].concat());
    // The last message begins far from the others, so it belongs to another connection of the queue
    // pair.
    assert_eq!(bytes(&captured), [3 * 1_024 + 600, 1_024 + 600, 2 * 1_024 + 600]);
    assert_eq!(captured.flows.iter().map(|flow| flow.start_ns).collect::<Vec<_>>(), [0, 5, 7]);
    assert_eq!(
        (captured.used, dropped(&captured), notes(&captured).len()),
        (9, vec![("acknowledgements of RoCEv2", 1)], 0)
    );
    // Queue pairs and directions are separate.
    let other = |pair: u32, number: u32| packet(4, pair, number, &[], 50);
    let captured = read(&[
        frame(&other(1, 0)),
        frame(&other(2, 900_000)),
        back(&other(1, 50_000)),
        frame(&other(1, 1)),
    ]);
    assert_eq!(bytes(&captured), [50; 4]);
    assert_eq!(notes(&captured), Vec::<&str>::new());
}

#[test]
fn packets_that_are_sent_again_count_once() {
    let whole = write(0xff_fffe, 5);
    let captured = read(&[&whole[..], &whole[2..], &whole[4..]].concat());
    assert_eq!(bytes(&captured), [4 * 1_024 + 600]);
    assert_eq!(dropped(&captured), [("sent again", 4)]);
    // Packets may come in any order, as over several paths, after the end of another message.
    let end = write(0xff_fffc, 2).remove(1);
    for order in
        [[0, 2, 3, 1, 4], [1, 0, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1], [3, 0, 1, 4, 2]]
    {
        let captured =
            read(&[vec![end.clone()], order.map(|at| whole[at].clone()).to_vec()].concat());
        assert_eq!(
            (bytes(&captured), captured.used),
            (vec![600, 4 * 1_024 + 600], 6),
            "{order:?}: {:?}",
            captured.noted
        );
        assert_eq!(
            captured.noted.iter().map(|noted| &noted.first[..]).collect::<Vec<_>>(),
            [[1]],
            "{order:?}: {:?}",
            captured.noted
        );
    }
    // Whole messages may come late, too.
    let three = [write(50, 2), write(52, 2), write(54, 2)];
    let captured = read(&[0, 2, 1].map(|at: usize| three[at].clone()).concat());
    assert_eq!((bytes(&captured), notes(&captured)), (vec![1_624; 3], vec![]));
}

#[test]
fn what_the_capture_missed_counts_within_a_message() {
    let whole = write(100, 6);
    let without = |missing: &[usize]| {
        read(
            &(0..6)
                .filter(|at| !missing.contains(at))
                .map(|at| whole[at].clone())
                .collect::<Vec<_>>(),
        )
    };
    for missing in [&[1][..], &[2, 3], &[1, 4]] {
        let captured = without(missing);
        assert_eq!(bytes(&captured), [5 * 1_024 + 600], "{missing:?}");
        assert!(notes(&captured)[0].starts_with("bytes that the capture missed"));
    }
    // The beginning or the end of the message is not in the capture.
    let captured = without(&[0, 1]);
    assert_eq!(bytes(&captured), [3 * 1_024 + 600]);
    assert!(notes(&captured)[0].starts_with("messages of RoCEv2 that began before the capture"));
    assert_eq!(bytes(&without(&[4, 5])), [4 * 1_024]);
    // A write states its length, which counts when the next message shows that its end is missing.
    let captured = read(&[&whole[..3], &write(106, 2)].concat());
    assert_eq!(bytes(&captured), [5 * 1_024 + 600, 1_024 + 600]);
    assert!(notes(&captured)[0].starts_with("packets of RoCEv2 that the capture missed"));
}

#[test]
fn reads_are_flows_of_their_responses() {
    let response = |code: u8, number: u32| {
        let (extended, payload) =
            if code == 0x0e { (0, UNIT) } else { (4, if code == 0x0f { 600 } else { UNIT }) };
        back(&packet(code, 0x12, number, &vec![0; extended], payload))
    };
    let ask = |number: u32, length: u32| frame(&packet(0x0c, 0x11, number, &rdma(length), 0));
    let one = [response(0x0d, 10), response(0x0e, 11), response(0x0f, 12)];
    // The request's own direction continues after the numbers of the responses, without a gap.
    // Responses after writes do so, too.
    let mut frames = vec![ask(10, 2_648), one[0].clone(), one[1].clone(), one[2].clone()];
    frames.extend([
        frame(&packet(4, 0x11, 13, &[], 70)),
        ask(14, 600),
        back(&packet(0x10, 0x12, 14, &[0; 4], 600)),
    ]);
    let captured = read(&frames);
    assert_eq!(bytes(&captured), [2_648, 70, 600]);
    assert_eq!(
        (notes(&captured), dropped(&captured)),
        (vec![], vec![("read requests of RoCEv2", 2)])
    );
    // A request that comes late explains the missing numbers after it.
    let captured = read(&[
        frame(&packet(4, 0x11, 9, &[], 70)),
        frame(&packet(4, 0x11, 13, &[], 70)),
        ask(10, 2_648),
    ]);
    assert_eq!((bytes(&captured), notes(&captured)), (vec![70, 70], vec![]));
    // The rest of the read is requested again, and begins as a new message.
    let captured = read(&[one[0].clone(), response(0x0d, 11), one[2].clone()]);
    assert_eq!(bytes(&captured), [2_648]);
}

/// Tests gaps of thousands of packets each, of which only the latest are kept.
#[test]
fn hostile_numbers_cost_little() {
    let frames: Vec<Vec<u8>> =
        (0..3_000u32).map(|at| frame(&packet(4, 0x11, at * 60_000 % (1 << 24), &[], 4))).collect();
    let captured = read(&frames);
    assert_eq!(bytes(&captured), vec![4; 3_000]);
    assert!(notes(&captured)[0].starts_with("packets of RoCEv2 that the capture missed"));
}
