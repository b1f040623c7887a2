//! Real headers for simulated frames.
//!
//! Host `h` (below 2²⁴ − 1) is 10.x.y.z with the 24 bits of `h + 1`, and 02:00:… with its 32 bits. Flow `f` (its position in the plan)
//! has source port 32768 + f mod 2¹⁵ and destination port 1024 + f / 2¹⁵ (mod 2¹⁵); its acknowledgements have them the
//! other way round. Sequence numbers start from 0 and are taken mod 2³²; there is no SYN. The priority is the class selector
//! of the DSCP. Payload is zeros, so that all checksums are right. Options of TCP are not shown.

use afflux_net::record::{CaptureKind, CaptureRecord, Control};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// Appends the headers, and payload up to `snaplen` bytes.
pub fn frame(out: &mut Vec<u8>, record: &CaptureRecord, snaplen: usize) {
    let start = out.len();
    let (protocol, header) = match record.kind {
        CaptureKind::TcpData | CaptureKind::TcpAck | CaptureKind::TcpControl(_) => (PROTOCOL_TCP, 20),
        CaptureKind::Datagram | CaptureKind::Switch => (PROTOCOL_UDP, 8),
    };
    let segment = header + record.payload;
    out.extend(mac(record.dst));
    out.extend(mac(record.src));
    out.extend([0x08, 0x00]);
    ipv4(out, record, protocol, segment);
    let transport = out.len();
    match record.kind {
        CaptureKind::TcpData => tcp(out, record, record.sequence as u32, 0),
        CaptureKind::TcpAck => tcp(out, record, 0, record.sequence as u32),
        // The byte before the first.
        CaptureKind::TcpControl(Control::Syn | Control::SynAck) => tcp(out, record, u32::MAX, 0),
        CaptureKind::TcpControl(Control::Ack | Control::AskWindow | Control::Report) => tcp(out, record, 0, 0),
        CaptureKind::Datagram | CaptureKind::Switch => udp(out, record, segment),
    }
    let sum = checksum(&out[transport..], pseudo_header(record, protocol, segment));
    // RFC 768: a checksum of zero is sent as all ones.
    let (offset, sum) = if protocol == PROTOCOL_TCP { (16, sum) } else { (6, if sum == 0 { 0xFFFF } else { sum }) };
    out[transport + offset..transport + offset + 2].copy_from_slice(&sum.to_be_bytes());
    let payload = usize::from(record.payload).min(snaplen.saturating_sub(out.len() - start));
    out.resize(out.len() + payload, 0);
    debug_assert!(out.len() - start >= ETHERNET + IPV4 + usize::from(header));
}

fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.wrapping_add(1).to_be_bytes();
    // Locally administered, unicast.
    [0x02, 0, a, b, c, d]
}

fn address(host: u32) -> [u8; 4] {
    let [_, x, y, z] = host.wrapping_add(1).to_be_bytes();
    [10, x, y, z]
}

/// RFC 791.
fn ipv4(out: &mut Vec<u8>, record: &CaptureRecord, protocol: u8, segment: u16) {
    let start = out.len();
    let traffic_class = record.priority << 5 | record.ecn;
    out.extend([0x45, traffic_class]);
    out.extend((IPV4 as u16 + segment).to_be_bytes());
    // No identification, don't fragment, time to live 64, checksum to come.
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(address(record.src));
    out.extend(address(record.dst));
    let sum = checksum(&out[start..], 0);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Source and destination port of a frame.
fn ports(record: &CaptureRecord) -> [u16; 2] {
    let (low, high) = ((record.flow & 0x7FFF) as u16, ((record.flow >> 15) & 0x7FFF) as u16);
    let [sender, receiver] = [0x8000 | low, 1_024 + high];
    if matches!(record.kind, CaptureKind::TcpAck | CaptureKind::TcpControl(Control::SynAck)) { [receiver, sender] } else { [sender, receiver] }
}

/// RFC 9293, RFC 3168.
fn tcp(out: &mut Vec<u8>, record: &CaptureRecord, sequence: u32, acknowledged: u32) {
    ports(record).into_iter().for_each(|port| out.extend(port.to_be_bytes()));
    out.extend(sequence.to_be_bytes());
    out.extend(acknowledged.to_be_bytes());
    let kind = match record.kind {
        CaptureKind::TcpControl(Control::Syn) => SYN,
        CaptureKind::TcpControl(Control::SynAck) => SYN | ACK,
        _ => ACK,
    };
    let flags = kind | if record.ece { ECE } else { 0 } | if record.cwr { CWR } else { 0 };
    // Five words of header, the largest window, checksum to come, nothing urgent.
    out.extend([0x50, flags, 0xFF, 0xFF, 0, 0, 0, 0]);
}

/// RFC 768.
fn udp(out: &mut Vec<u8>, record: &CaptureRecord, segment: u16) {
    ports(record).into_iter().for_each(|port| out.extend(port.to_be_bytes()));
    out.extend(segment.to_be_bytes());
    out.extend([0, 0]);
}

fn pseudo_header(record: &CaptureRecord, protocol: u8, segment: u16) -> u32 {
    sum16(&address(record.src)) + sum16(&address(record.dst)) + u32::from(protocol) + u32::from(segment)
}

fn sum16(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

/// RFC 1071, of an even number of bytes, beginning with `start`.
pub fn checksum(bytes: &[u8], start: u32) -> u16 {
    let sum = start + sum16(bytes);
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}
