//! Flow, payload and TCP fields of an IPv4 packet.

use std::net::Ipv4Addr;

pub const TCP: u8 = 6;
const UDP: u8 = 17;
/// TCP flag bits (RFC 9293 §3.1) and option kinds; MPTCP's is of RFC 8684 §3.
const FIN: u8 = 1 << 0;
const SYN: u8 = 1 << 1;
const RST: u8 = 1 << 2;
const ACK: u8 = 1 << 4;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const SEGMENT_SIZE: u8 = 2;
const TIMESTAMPS: u8 = 8;
const MPTCP: u8 = 30;
/// Subtypes of MPTCP's option (RFC 8684 §3), and flags of the data sequence signal (§3.3): it has an
/// acknowledgement, of eight bytes, a mapping, with a sequence number of eight bytes, and the end of
/// the data.
const MP_CAPABLE: u8 = 0;
const MP_JOIN: u8 = 1;
const DSS: u8 = 2;
const ACKNOWLEDGES: u8 = 1 << 0;
const LONG_ACKNOWLEDGEMENT: u8 = 1 << 1;
const MAPS: u8 = 1 << 2;
const LONG_MAPPING: u8 = 1 << 3;
const DATA_FIN: u8 = 1 << 4;
/// Bytes of MP_JOIN in a SYN, without kind and length.
const JOIN_REQUEST: usize = 10;
/// Bytes of a TCP header without options.
const LEAST: usize = 20;

/// Protocol, source address and port, destination address and port.
pub type Tuple = (u8, Ipv4Addr, u16, Ipv4Addr, u16);

/// Returns the tuple of packets in the other direction.
pub fn reversed((protocol, src, src_port, dst, dst_port): Tuple) -> Tuple {
    (protocol, dst, dst_port, src, src_port)
}

/// Returns the tuple from the two ends of a packet ([`crate::packet::Header::ends`]).
pub fn of_ends((source, destination): (u64, u64)) -> Tuple {
    let address = |end: u64| Ipv4Addr::from((end >> 16) as u32);
    ((source >> 48) as u8, address(source), source as u16, address(destination), destination as u16)
}

/// A packet's flow, payload in bytes, and the fields of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub tuple: Tuple,
    pub payload: u64,
    pub tcp: Option<Tcp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    pub sequence: u32,
    pub acknowledged: Option<u32>,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub options: Options,
}

/// Options of a TCP segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    pub multipath: bool,
    /// MPTCP: the sender's key and, if the segment has it, the receiver's.
    pub keys: Option<(u64, Option<u64>)>,
    /// MPTCP: token of the connection that a SYN joins.
    pub token: Option<u32>,
    /// MPTCP: lower half of the next data sequence number that the sender expects.
    pub data_acknowledged: Option<u32>,
    pub mapping: Option<Mapping>,
    /// MPTCP: the data of the connection end (DATA_FIN).
    pub data_end: bool,
    pub timestamps: bool,
    /// Largest segment that the sender of the option accepts, in bytes without options.
    pub segment_size: Option<u16>,
}

/// Mapping of MPTCP from sequence numbers of a subflow to those of the connection's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Lower half of the data sequence number.
    pub data: u32,
    /// Sequence number in the subflow, from 1. 0 maps nothing.
    pub sequence: u32,
}

/// Reads an IPv4 packet.
pub fn seen(packet: &[u8]) -> Option<Seen> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let tuple = of_ends(crate::packet::parse(packet)?.ends);
    let is_first = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff == 0;
    let (length, tcp) = match tuple.0 {
        TCP if is_first => {
            let segment = packet.get(header..)?;
            (usize::from(*segment.get(12)? >> 4) * 4, Some(tcp(segment)?))
        }
        UDP | 1 if is_first => (8, None),
        _ => (0, None),
    };
    Some(Seen { tuple, payload: total.saturating_sub(header + length) as u64, tcp })
}

fn tcp(segment: &[u8]) -> Option<Tcp> {
    let word =
        |at: usize| Some(u32::from_be_bytes(segment.get(at..at + 4)?.try_into().expect("four")));
    let flags = *segment.get(13)?;
    Some(Tcp {
        sequence: word(4)?,
        acknowledged: word(8).filter(|_| flags & ACK != 0),
        syn: flags & SYN != 0,
        fin: flags & FIN != 0,
        rst: flags & RST != 0,
        options: options(segment),
    })
}

fn options(segment: &[u8]) -> Options {
    let mut found = Options::default();
    let end = (usize::from(segment[12] >> 4) * 4).min(segment.len());
    let mut at = LEAST;
    while at < end {
        let step = match segment[at] {
            END_OF_OPTIONS => break,
            NO_OPERATION => 1,
            _ => usize::from(segment.get(at + 1).copied().unwrap_or(0)).max(2),
        };
        match (segment[at], segment.get(at + 2..at + 4)) {
            (MPTCP, _) => {
                found.multipath = true;
                if let Some(body) = segment.get(at + 2..(at + step).min(end)) {
                    multipath(body, &mut found);
                }
            }
            (TIMESTAMPS, _) => found.timestamps = true,
            (SEGMENT_SIZE, Some(&[high, low])) => {
                found.segment_size = Some(u16::from_be_bytes([high, low]));
            }
            _ => {}
        }
        at += step;
    }
    found
}

/// Reads an option of MPTCP without kind and length. Fields that are cut off stay empty.
fn multipath(body: &[u8], found: &mut Options) {
    let word =
        |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().expect("four")));
    let long =
        |at: usize| Some(u64::from_be_bytes(body.get(at..at + 8)?.try_into().expect("eight")));
    match body.first().map(|first| first >> 4) {
        Some(MP_CAPABLE) => found.keys = long(2).map(|own| (own, long(10))),
        Some(MP_JOIN) if body.len() == JOIN_REQUEST => found.token = word(2),
        Some(DSS) => {
            let flags = body.get(1).copied().unwrap_or(0);
            found.data_end = flags & DATA_FIN != 0;
            let mut at = 2;
            // Only the lower half of a long number counts.
            let mut number = |is_there: u8, is_long: u8| {
                if flags & is_there == 0 {
                    return None;
                }
                at += if flags & is_long == 0 { 4 } else { 8 };
                word(at - 4)
            };
            found.data_acknowledged = number(ACKNOWLEDGES, LONG_ACKNOWLEDGEMENT);
            if let Some(data) = number(MAPS, LONG_MAPPING) {
                found.mapping = word(at).map(|sequence| Mapping { data, sequence });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ipv4_is_no_flow() {
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[0x45; 19]), None);
    }

    #[test]
    fn options_are_found() {
        let mut segment = vec![0; 20];
        segment[12] = 5 << 4;
        assert_eq!(options(&segment), Options::default());
        segment[12] = 8 << 4;
        // Largest segment, no operation, MP_CAPABLE, and the end of the list.
        segment.extend([2, 4, 5, 180, 1, 30, 4, 1, 0, 0, 0, 0]);
        let found = Options { multipath: true, segment_size: Some(1_460), ..Options::default() };
        assert_eq!(options(&segment), found);
        segment[25] = TIMESTAMPS;
        // The length of this option is that of MP_CAPABLE.
        assert_eq!(options(&segment), Options { multipath: false, timestamps: true, ..found });
        // An option of length 0 does not stop the reader.
        segment[21] = 0;
        assert_eq!(options(&segment).segment_size, Some(1_460));
        segment.truncate(22);
        assert_eq!(options(&segment), Options::default());
    }

    /// Options of RFC 8684: keys, a token, and signals with short and long numbers.
    #[test]
    fn options_of_multipath() {
        let read = |body: &[u8]| {
            let mut found = Options::default();
            multipath(body, &mut found);
            found
        };
        let none = Options::default();
        assert_eq!(read(&[]), none);
        assert_eq!(read(&[0x01, 1]), none);
        let key = [0, 0, 0, 0, 0, 0, 1, 2];
        let answer = [&[0x01, 1][..], &key].concat();
        assert_eq!(read(&answer).keys, Some((258, None)));
        assert_eq!(read(&[&answer[..], &key, &[0, 9]].concat()).keys, Some((258, Some(258))));
        let join = [0x10, 2, 0xa, 0xb, 0xc, 0xd, 1, 1, 1, 1];
        assert_eq!(read(&join), Options { token: Some(0x0a0b_0c0d), ..none });
        // The answer has a part of a hash at the token's place.
        assert_eq!(read(&[&join[..], &[0; 4]].concat()), none);
        let acknowledgement = [0x20, 0x01, 0, 0, 1, 0];
        assert_eq!(read(&acknowledgement), Options { data_acknowledged: Some(256), ..none });
        let mut both = vec![0x20, 0x1f];
        both.extend([9, 9, 9, 9, 0, 0, 0, 7, 9, 9, 9, 9, 0, 0, 0, 8, 0, 0, 0, 5, 0, 100]);
        let mapping = Some(Mapping { data: 8, sequence: 5 });
        let whole = Options { data_acknowledged: Some(7), mapping, data_end: true, ..none };
        assert_eq!(read(&both), whole);
        // Cut off before the subflow's number.
        assert_eq!(read(&both[..20]), Options { mapping: None, ..whole });
    }

    #[test]
    fn ends_are_a_tuple() {
        let mut packet = vec![0; 28];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&28u16.to_be_bytes());
        packet[9] = UDP;
        packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
        packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
        packet[20..24].copy_from_slice(&[0, 5, 0, 7]);
        let found = seen(&packet).unwrap();
        let tuple = (UDP, Ipv4Addr::new(10, 0, 0, 1), 5, Ipv4Addr::new(10, 0, 0, 2), 7);
        assert_eq!((found.tuple, found.payload), (tuple, 0));
        assert_eq!(reversed(reversed(tuple)), tuple);
    }
}
