//! Real protocol headers for simulated frames. Packets of kernels have their own.
//!
//! Host `h` has its first IPv4 address of the scenario. A host without one (below 2²⁴ − 1) has
//! 10.x.y.z with the 24 bits of `h + 1`. Its MAC address is 02:00:… with the 32 bits of `h + 1`, at
//! each of its NICs. Flow `f` (its position in the plan) has source port 32768 + f mod 2¹⁵ and
//! destination port 1024 + f / 2¹⁵ (mod 2¹⁵). Its further subflows have source ports from 49152 on.
//! Frames of the answering side have the ports reversed. The first byte of payload has sequence
//! number 1, and all sequence numbers are taken mod 2³². The priority is the class selector of the
//! DSCP. The payload is all zeros, so that all checksums are correct. Frame check sequences are left
//! out, as network cards do.

use super::tcp::{Facts, Seen, Segment};
use afflux_net::record::{CaptureKind, CaptureRecord, Control};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// Appends the frame up to `snaplen` bytes, but at least its headers. Returns its full length in
/// bytes: the simulated size without the frame check sequence. Profiles of other simulators have
/// frames smaller than real headers, so the length is at least that of headers and payload.
pub fn frame(
    out: &mut Vec<u8>,
    record: &CaptureRecord,
    facts: &Facts,
    seen: &mut Seen,
    snaplen: usize,
) -> u32 {
    if let Some(packet) = &record.packet {
        // The packet's own length: short frames are not padded, as in the captures of kernels.
        out.extend(&packet[..packet.len().min(snaplen)]);
        let total = packet.get(16..18).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        return (ETHERNET as u32 + u32::from(total)).max(packet.len() as u32);
    }
    let start = out.len();
    let segment = match record.kind {
        CaptureKind::TcpData | CaptureKind::TcpAck | CaptureKind::TcpControl(_) => {
            Some(seen.segment(record))
        }
        CaptureKind::Datagram | CaptureKind::Switch => None,
    };
    let (protocol, header) = segment
        .as_ref()
        .map_or((PROTOCOL_UDP, UDP), |segment| (PROTOCOL_TCP, TCP + segment.options.len()));
    let carried = header as u16 + record.payload;
    out.extend(mac(record.dst));
    out.extend(mac(record.src));
    out.extend([0x08, 0x00]);
    ipv4(out, record, facts, protocol, carried);
    let transport = out.len();
    match &segment {
        Some(segment) => tcp(out, record, segment),
        None => udp(out, record, carried),
    }
    let sum = checksum(&out[transport..], pseudo_header(record, facts, protocol, carried));
    // RFC 768: a checksum of zero is sent as all ones.
    let (offset, sum) =
        if protocol == PROTOCOL_TCP { (16, sum) } else { (6, if sum == 0 { 0xFFFF } else { sum }) };
    out[transport + offset..transport + offset + 2].copy_from_slice(&sum.to_be_bytes());
    debug_assert_eq!(out.len() - start, ETHERNET + IPV4 + header);
    let length = usize::from(record.size.saturating_sub(facts.fcs))
        .max(out.len() - start + usize::from(record.payload));
    out.resize(start + length.min(snaplen.max(out.len() - start)), 0);
    length as u32
}

fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.wrapping_add(1).to_be_bytes();
    // Locally administered unicast address.
    [0x02, 0, a, b, c, d]
}

/// Appends an IPv4 header (RFC 791).
fn ipv4(out: &mut Vec<u8>, record: &CaptureRecord, facts: &Facts, protocol: u8, carried: u16) {
    let start = out.len();
    let traffic_class = record.priority << 5 | record.ecn;
    out.extend([0x45, traffic_class]);
    out.extend((IPV4 as u16 + carried).to_be_bytes());
    // No identification, don't fragment, time to live 64; the checksum is filled in below.
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(facts.addresses.of(record.src));
    out.extend(facts.addresses.of(record.dst));
    let sum = checksum(&out[start..], 0);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the source and destination port of a frame.
fn ports(record: &CaptureRecord) -> [u16; 2] {
    let (low, high) = ((record.flow & 0x7FFF) as u16, ((record.flow >> 15) & 0x7FFF) as u16);
    let subflow = record
        .options
        .as_ref()
        .and_then(|options| options.multipath)
        .map_or(0, |multipath| multipath.subflow);
    let source = match subflow {
        0 => 0x8000 | low,
        // Dynamic ports (RFC 6335), by which no program recognises another protocol. Neighbouring
        // flows get different ones.
        number => 49_152 + ((u64::from(record.flow) * 63 + u64::from(number)) % 16_384) as u16,
    };
    if record.answer && record.kind != CaptureKind::Switch {
        [1_024 + high, source]
    } else {
        [source, 1_024 + high]
    }
}

/// Appends a TCP header (RFC 9293, RFC 3168).
fn tcp(out: &mut Vec<u8>, record: &CaptureRecord, segment: &Segment) {
    ports(record).into_iter().for_each(|port| out.extend(port.to_be_bytes()));
    out.extend(segment.sequence.to_be_bytes());
    out.extend(segment.acknowledged.to_be_bytes());
    let kind = match record.kind {
        // RFC 3168 §6.1.1: a SYN that requests ECN has both flags.
        CaptureKind::TcpControl(Control::Syn) => SYN | if record.ece { CWR } else { 0 },
        CaptureKind::TcpControl(Control::SynAck) => SYN | ACK,
        _ => ACK,
    };
    let flags = kind
        | if record.ece { ECE } else { 0 }
        | if record.cwr { CWR } else { 0 }
        | if segment.fin { FIN } else { 0 };
    let words = (TCP + segment.options.len()) / 4;
    out.extend([(words as u8) << 4, flags]);
    out.extend(segment.window.to_be_bytes());
    // The caller fills in the checksum. The urgent pointer is zero.
    out.extend([0, 0, 0, 0]);
    out.extend(&segment.options);
}

/// Appends a UDP header (RFC 768).
fn udp(out: &mut Vec<u8>, record: &CaptureRecord, carried: u16) {
    ports(record).into_iter().for_each(|port| out.extend(port.to_be_bytes()));
    out.extend(carried.to_be_bytes());
    out.extend([0, 0]);
}

fn pseudo_header(record: &CaptureRecord, facts: &Facts, protocol: u8, carried: u16) -> u32 {
    sum16(&facts.addresses.of(record.src))
        + sum16(&facts.addresses.of(record.dst))
        + u32::from(protocol)
        + u32::from(carried)
}

fn sum16(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

/// Returns the checksum of RFC 1071 over an even number of bytes, with `start` as initial sum.
pub fn checksum(bytes: &[u8], start: u32) -> u16 {
    let sum = start + sum16(bytes);
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}
