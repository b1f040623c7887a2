//! Parser and editor of IPv4 packets, as far as the network uses their headers.

use std::net::Ipv4Addr;

/// Mask of the ECN field (RFC 3168 §5).
const ECN: u8 = 0b11;
const CE: u8 = 0b11;
const TCP: u8 = 6;
const UDP: u8 = 17;
const LEAST_HEADER: usize = 20;

/// Header fields that the network uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub destination: Ipv4Addr,
    pub dscp: u8,
    /// `capable`: ECN-capable (not Not-ECT). `marked`: congestion experienced (CE).
    pub capable: bool,
    pub marked: bool,
    /// Protocol, address and port of source and destination. The port is 0 in fragments and for
    /// protocols without ports.
    pub ends: (u64, u64),
}

/// Parses a packet. `None`: not IPv4.
pub fn parse(packet: &[u8]) -> Option<Header> {
    let &[version_and_length, traffic_class, ..] = packet else { return None };
    let length = header_length(packet);
    if version_and_length >> 4 != 4 || length < LEAST_HEADER || packet.len() < length {
        return None;
    }
    let word = |at: usize| {
        u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
    };
    let protocol = packet[9];
    let (source_port, destination_port) = match packet.get(length..length + 4) {
        Some(&[a, b, c, d]) if matches!(protocol, TCP | UDP) && !is_fragment(packet) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    };
    let end = |address: u32, port: u16| {
        u64::from(protocol) << 48 | u64::from(address) << 16 | u64::from(port)
    };
    let (source, destination) = (word(12), word(16));
    Some(Header {
        destination: Ipv4Addr::from(destination),
        dscp: traffic_class >> 2,
        capable: traffic_class & ECN != 0,
        marked: traffic_class & ECN == CE,
        ends: (end(source, source_port), end(destination, destination_port)),
    })
}

/// Length in bytes of the IPv4 header, from its IHL field.
fn header_length(packet: &[u8]) -> usize {
    usize::from(packet[0] & 0xf) * 4
}

/// True for fragments of an IPv4 packet, including the first one.
fn is_fragment(packet: &[u8]) -> bool {
    u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0
}

/// Returns the source address and the total length in bytes from an IPv4 header.
pub fn source_and_length(packet: &[u8]) -> Option<(Ipv4Addr, usize)> {
    let header = packet.get(..LEAST_HEADER).filter(|header| header[0] >> 4 == 4)?;
    Some((
        Ipv4Addr::new(header[12], header[13], header[14], header[15]),
        u16::from_be_bytes([header[2], header[3]]).into(),
    ))
}

/// Returns the total length in bytes of the IPv4 and TCP headers. `None`: not TCP over IPv4, or the
/// headers are incomplete.
pub fn tcp_headers(packet: &[u8]) -> Option<usize> {
    let network = header_length(packet.get(..LEAST_HEADER)?);
    if packet[0] >> 4 != 4 || network < LEAST_HEADER || packet[9] != TCP || is_fragment(packet) {
        return None;
    }
    let transport = usize::from(*packet.get(network + 12)? >> 4) * 4;
    Some(network + transport).filter(|&both| transport >= LEAST_HEADER && both <= packet.len())
}

/// Turns the common headers of several segments into the headers of segment number `index`, which
/// follows `bytes_before` bytes of payload. Sets the checksum field to the sum over addresses,
/// protocol and length, as TCP offload expects.
pub fn become_segment(packet: &mut [u8], index: usize, bytes_before: u32, last: bool) {
    /// TCP flag bits (RFC 9293 §3.1; CWR: RFC 3168 §6.1).
    const FIN: u8 = 1 << 0;
    const PSH: u8 = 1 << 3;
    const CWR: u8 = 1 << 7;
    let network = header_length(packet);
    let length = packet.len() as u16;
    let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(index as u16);
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet[10..12].fill(0);
    let sum = !folded(words(&packet[..network]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let sequence = u32::from_be_bytes(packet[network + 4..network + 8].try_into().expect("four"))
        .wrapping_add(bytes_before);
    packet[network + 4..network + 8].copy_from_slice(&sequence.to_be_bytes());
    packet[network + 13] &= !(if last { 0 } else { FIN | PSH } | if index == 0 { 0 } else { CWR });
    let sum = folded(words(&packet[12..20]) + u32::from(TCP) + u32::from(length) - network as u32);
    packet[network + 16..network + 18].copy_from_slice(&sum.to_be_bytes());
}

/// Computes the TCP or UDP checksum of a packet whose sender left it to the device.
pub fn complete(packet: &mut [u8]) {
    let length = header_length(packet);
    let protocol = packet[9];
    let place = match protocol {
        TCP => length + 16,
        UDP => length + 6,
        _ => return,
    };
    if packet.len() < place + 2 {
        return;
    }
    packet[place..place + 2].fill(0);
    let segment = (packet.len() - length) as u32;
    let sum =
        folded(words(&packet[12..20]) + words(&packet[length..]) + u32::from(protocol) + segment);
    // In UDP a checksum of zero means that there is none, so a computed zero becomes all ones (RFC
    // 768).
    let sum = if sum == u16::MAX && protocol == UDP { u16::MAX } else { !sum };
    packet[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Sums all 16-bit words (RFC 1071) of at most 64 kB.
fn words(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum()
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Sets "congestion experienced" in an ECN-capable packet, and updates the header checksum.
pub fn mark(packet: &mut [u8]) {
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    let after = before | u16::from(CE);
    packet[1] = after as u8;
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    packet[10..12].copy_from_slice(&updated(sum, before, after).to_be_bytes());
}

/// Returns the header checksum after one 16-bit word has changed (RFC 1624, equation 3).
fn updated(sum: u16, before: u16, after: u16) -> u16 {
    !folded(u32::from(!sum) + u32::from(!before) + u32::from(after))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Straightforward sum of RFC 1071, independent of the code under test.
    pub fn summed(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)))
            .sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// Returns a TCP segment or UDP datagram with the pseudo-header that its checksum covers.
    pub fn covered(packet: &[u8]) -> Vec<u8> {
        let length = (packet.len() as u16 - 20).to_be_bytes();
        [&packet[12..20], &[0, packet[9]], &length, &packet[20..]].concat()
    }

    /// RFC 1071 checksum of the whole header. It is 0 for a correct header.
    fn checksum(header: &[u8]) -> u16 {
        !summed(header)
    }

    fn packet(traffic_class: u8, flags: u16, identification: u16) -> Vec<u8> {
        let mut packet = vec![
            0x45,
            traffic_class,
            0,
            28,
            0,
            0,
            0,
            0,
            64,
            UDP,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            1,
            2,
            0x12,
            0x34,
            0x56,
            0x78,
            0,
            8,
            0,
            0,
        ];
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[6..8].copy_from_slice(&flags.to_be_bytes());
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    #[test]
    fn reads_what_switches_look_at() {
        let header = parse(&packet(46 << 2 | 0b10, 0x4000, 7)).unwrap();
        assert_eq!(
            (header.destination, header.dscp, header.capable, header.marked),
            (Ipv4Addr::new(10, 0, 1, 2), 46, true, false)
        );
        assert_eq!(
            header.ends,
            (17 << 48 | 0x0a00_0001 << 16 | 0x1234, 17 << 48 | 0x0a00_0102 << 16 | 0x5678)
        );
        let header = parse(&packet(0b11, 0x2000, 7)).unwrap();
        assert_eq!(
            (header.capable, header.marked, header.ends.0 & 0xffff),
            (true, true, 0),
            "a fragment has no ports"
        );
        assert!(!parse(&packet(0, 0, 7)).unwrap().capable);
    }

    #[test]
    fn refuses_what_is_not_ipv4() {
        assert_eq!(parse(&[]), None);
        assert_eq!(parse(&[0x60; 40]), None, "IPv6");
        assert_eq!(parse(&[0x45; 19]), None, "cut short");
        assert_eq!(parse(&[0x44; 40]), None, "a header of 16 bytes");
        assert_eq!(parse(&[0x4f; 40]), None, "a header longer than the packet");
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for identification in 0..=u16::MAX {
            for capable in [0b01, 0b10] {
                let mut packet = packet(0x28 | capable, 0x4000, identification);
                mark(&mut packet);
                assert_eq!(
                    (packet[1], checksum(&packet[..20])),
                    (0x2b, 0),
                    "identification {identification}"
                );
            }
        }
    }

    #[test]
    fn completes_checksums() {
        // A datagram as a kernel sends it: 10.0.0.1 to 10.0.0.2, UDP ports 7 and 9, "hi!".
        let mut datagram = packet(0, 0, 1);
        datagram[24..26].copy_from_slice(&11u16.to_be_bytes());
        datagram.extend(b"hi!");
        complete(&mut datagram);
        // RFC 768: the sum over addresses, protocol, length and datagram is all ones.
        assert_eq!(summed(&covered(&datagram)), 0xffff);
        let mut segment = packet(0, 0, 1);
        segment[9] = TCP;
        segment.extend([0; 12]);
        segment[36] = 0xab;
        complete(&mut segment);
        assert_eq!(summed(&covered(&segment)), 0xffff);
        let mut short = packet(0, 0, 1)[..24].to_vec();
        let before = short.clone();
        complete(&mut short);
        assert_eq!(short, before, "no room for a checksum");
    }

    #[test]
    fn reads_sender_and_length() {
        assert_eq!(source_and_length(&packet(0, 0, 7)), Some((Ipv4Addr::new(10, 0, 0, 1), 28)));
        assert_eq!(source_and_length(&[0x45; 19]), None);
        assert_eq!(source_and_length(&[0x60; 40]), None);
    }
}
