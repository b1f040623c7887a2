//! Headers of captured frames, as far as flows need them: addresses, ports, payload, TCP's sequence numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

/// What a frame carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub protocol: u8,
    pub dscp: u8,
    pub ports: [u16; 2],
    /// Bytes above TCP or UDP, whether they were captured or not.
    pub payload: u32,
    /// TCP: the first byte's number.
    pub sequence: u32,
    /// TCP: the beginning of a connection.
    pub syn: bool,
}

/// Why a frame is in no flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    NotIp,
    Fragment,
    Protocol,
    Short,
}

/// Beginnings of frames that are understood, by their `LINKTYPE_…`.
pub const LINK_TYPES: &str = "Ethernet (1), raw IP (12, 14, 101, 228, 229), BSD loopback (0, 108), Linux cooked (113, 276)";

pub fn understands(link_type: u16) -> bool {
    matches!(link_type, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// Reads a frame of one of the link types that are understood; `length` is what it had on the wire.
pub fn parse(link_type: u16, frame: &[u8], length: u32) -> Result<Segment, Skip> {
    let at = match link_type {
        1 => ethernet(frame)?,
        113 => cooked(frame, 14, 16)?,
        276 => cooked(frame, 0, 20)?,
        // The address family in four bytes of the capturing machine's order; IP says its version itself.
        0 | 108 => 4,
        _ => 0,
    };
    let packet = frame.get(at..).ok_or(Skip::Short)?;
    // What the frame has beyond the link's header, if IP does not say (segmentation offload).
    let rest = length.saturating_sub(at as u32);
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ipv4(packet, rest),
        Some(6) => ipv6(packet, rest),
        Some(_) => Err(Skip::NotIp),
        None => Err(Skip::Short),
    }
}

fn two(bytes: &[u8], at: usize) -> Result<u16, Skip> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]])).ok_or(Skip::Short)
}

fn four(bytes: &[u8], at: usize) -> Result<u32, Skip> {
    Ok(u32::from(two(bytes, at)?) << 16 | u32::from(two(bytes, at + 2)?))
}

fn is_ip(ether_type: u16) -> bool {
    matches!(ether_type, 0x0800 | 0x86dd)
}

/// Where IP begins, behind any VLAN tags (802.1Q, 802.1ad).
fn ethernet(frame: &[u8]) -> Result<usize, Skip> {
    let mut at = 12;
    while matches!(two(frame, at)?, 0x8100 | 0x88a8 | 0x9100) {
        at += 4;
    }
    if is_ip(two(frame, at)?) { Ok(at + 2) } else { Err(Skip::NotIp) }
}

fn cooked(frame: &[u8], protocol: usize, header: usize) -> Result<usize, Skip> {
    if is_ip(two(frame, protocol)?) { Ok(header) } else { Err(Skip::NotIp) }
}

/// RFC 791.
fn ipv4(packet: &[u8], rest: u32) -> Result<Segment, Skip> {
    let header = u32::from(packet[0] & 0xf) * 4;
    let address = |at: usize| four(packet, at).map(|address| IpAddr::V4(Ipv4Addr::from(address)));
    let (src, dst) = (address(12)?, address(16)?);
    if two(packet, 6)? & 0x1fff != 0 {
        return Err(Skip::Fragment);
    }
    let total = match two(packet, 2)? {
        0 => rest,
        total => u32::from(total),
    };
    if header < 20 || total < header {
        return Err(Skip::Short);
    }
    transport(src, dst, packet[1] >> 2, packet[9], packet.get(header as usize..).ok_or(Skip::Short)?, total - header)
}

/// RFC 8200.
fn ipv6(packet: &[u8], rest: u32) -> Result<Segment, Skip> {
    let address = |at: usize| -> Result<IpAddr, Skip> {
        let bytes: [u8; 16] = packet.get(at..at + 16).and_then(|bytes| bytes.try_into().ok()).ok_or(Skip::Short)?;
        Ok(IpAddr::V6(Ipv6Addr::from(bytes)))
    };
    let (src, dst) = (address(8)?, address(24)?);
    let mut left = match two(packet, 4)? {
        0 => rest.saturating_sub(40),
        payload => u32::from(payload),
    };
    let (mut next, mut at) = (packet[6], 40);
    // Hop-by-hop options, routing, fragment, destination options.
    while matches!(next, 0 | 43 | 44 | 60) {
        let length = if next == 44 {
            if two(packet, at + 2)? & 0xfff8 != 0 {
                return Err(Skip::Fragment);
            }
            8
        } else {
            8 + 8 * usize::from(*packet.get(at + 1).ok_or(Skip::Short)?)
        };
        next = *packet.get(at).ok_or(Skip::Short)?;
        left = left.checked_sub(length as u32).ok_or(Skip::Short)?;
        at += length;
    }
    let dscp = (two(packet, 0)? >> 6) as u8 & 0x3f;
    transport(src, dst, dscp, next, packet.get(at..).ok_or(Skip::Short)?, left)
}

fn transport(src: IpAddr, dst: IpAddr, dscp: u8, protocol: u8, bytes: &[u8], length: u32) -> Result<Segment, Skip> {
    if !matches!(protocol, TCP | UDP) {
        return Err(Skip::Protocol);
    }
    let ports = [two(bytes, 0)?, two(bytes, 2)?];
    let (header, sequence, syn) = if protocol == TCP {
        let sequence = four(bytes, 4)?;
        let offset = two(bytes, 12)?;
        (u32::from(offset >> 12) * 4, sequence, offset & 2 != 0)
    } else {
        (8, 0, false)
    };
    let payload = length.checked_sub(header).ok_or(Skip::Short)?;
    Ok(Segment { src, dst, protocol, dscp, ports, payload, sequence, syn })
}
