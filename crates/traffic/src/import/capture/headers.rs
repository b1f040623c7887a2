//! Headers of captured frames, as far as flows depend on them: addresses, ports, payload, TCP's
//! sequence numbers. Tunnels and RoCEv2 have their own files.

use super::carried::{Carried, Carrying, Datagram, Fragment, Kind, Segment};
use super::notes::{Note, Tally};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Largest number of headers above the link in a frame.
const DEEPEST: u32 = 16;

/// Link types that can be read, by their `LINKTYPE_…`.
pub const LINK_TYPES: &str =
    "Ethernet (1), raw IP (12, 14, 101, 228, 229), BSD loopback (0, 108), Linux cooked (113, 276)";

pub fn understands(link_type: u16) -> bool {
    matches!(link_type, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// A frame's bytes from one header on.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Captured bytes.
    bytes: &'a [u8],
    /// Number of bytes on the wire, by the preceding headers.
    length: u32,
    /// Whether the bytes continue in further fragments.
    goes_on: bool,
}

impl<'a> View<'a> {
    pub fn get<const N: usize>(&self, at: usize) -> Result<[u8; N], Note> {
        let missing =
            if self.goes_on || self.length as usize >= at + N { Note::Cut } else { Note::Wrong };
        self.bytes.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).ok_or(missing)
    }

    pub fn one(&self, at: usize) -> Result<u8, Note> {
        self.get::<1>(at).map(|bytes| bytes[0])
    }

    pub fn two(&self, at: usize) -> Result<u16, Note> {
        self.get(at).map(u16::from_be_bytes)
    }

    pub fn four(&self, at: usize) -> Result<u32, Note> {
        self.get(at).map(u32::from_be_bytes)
    }

    /// Returns all that follows a header of `header` bytes.
    pub fn behind(self, header: usize) -> Result<Self, Note> {
        let length = self.length.checked_sub(header as u32).ok_or(Note::Wrong)?;
        Ok(View { bytes: self.bytes.get(header..).unwrap_or(&[]), length, ..self })
    }

    /// Limits the view to the `length` bytes that a header states. Further bytes are padding.
    fn of_length(self, length: u32) -> Self {
        View { bytes: &self.bytes[..self.bytes.len().min(length as usize)], length, goes_on: false }
    }

    pub fn len(&self) -> u32 {
        self.length
    }
}

/// Fields of an IP header.
pub struct Ip {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub dscp: u8,
    is_six: bool,
}

/// Parses a frame of one of the link types that can be read. `length` is its length on the wire in
/// bytes.
pub fn parse(link_type: u16, frame: &[u8], length: u32, tally: &mut Tally) -> Carrying {
    if (frame.len() as u64) < u64::from(length) {
        tally.note(Note::Truncated);
    }
    let view = View { bytes: frame, length, goes_on: false };
    let mut walk = Walk { tally, depth: 0 };
    match link_type {
        1 => walk.ethernet(view),
        113 => walk.ether_type(view.two(14)?, view.behind(16)?),
        276 => walk.ether_type(view.two(0)?, view.behind(20)?),
        // The address family is in four bytes of the capturing machine's byte order. IP states its
        // version itself.
        0 | 108 => walk.ip(view.behind(4)?),
        _ => walk.ip(view),
    }
}

/// State of the parser on its path through the headers of a frame.
pub struct Walk<'t> {
    pub tally: &'t mut Tally,
    depth: u32,
}

impl Walk<'_> {
    /// Limits the number of headers, because a hostile file can nest headers without end.
    fn deeper(&mut self) -> Result<(), Note> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(Note::Nested) } else { Ok(()) }
    }

    pub fn ethernet(&mut self, view: View) -> Carrying {
        self.ether_type(view.two(12)?, view.behind(14)?)
    }

    /// Parses the header that an EtherType announces.
    pub fn ether_type(&mut self, number: u16, view: View) -> Carrying {
        self.deeper()?;
        match number {
            0x0800 | 0x86dd => self.ip(view),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => self.vlan(view),
            0x8847 | 0x8848 => self.mpls(view),
            0x8864 => self.pppoe(view),
            // The number is a length: LLC follows, and perhaps SNAP with an EtherType.
            ..=1_500 => match view.get(0)? {
                [0xaa, 0xaa, 3, 0, 0, 0] => self.ether_type(view.two(6)?, view.behind(8)?),
                _ => Err(Note::Llc),
            },
            _ => Err(Note::EtherType(number)),
        }
    }

    /// Skips the tags of 802.1Q and 802.1ad. There may be several.
    fn vlan(&mut self, mut view: View) -> Carrying {
        self.tally.note(Note::Vlan);
        loop {
            let number = view.two(2)?;
            view = view.behind(4)?;
            if !matches!(number, 0x8100 | 0x88a8 | 0x9100 | 0x9200) {
                return self.ether_type(number, view);
            }
        }
    }

    pub fn ip(&mut self, view: View) -> Carrying {
        match view.one(0)? >> 4 {
            4 => self.ipv4(view),
            6 => self.ipv6(view),
            _ => Err(Note::Wrong),
        }
    }

    /// Limits the view to the bytes that an IP header states, and notes a frame that has fewer.
    fn stated<'a>(&mut self, view: View<'a>, length: u32) -> View<'a> {
        if length > view.length && !view.goes_on {
            self.tally.note(Note::Longer);
        }
        view.of_length(length)
    }

    /// Parses an IPv4 header (RFC 791).
    fn ipv4(&mut self, view: View) -> Carrying {
        let header = u32::from(view.one(0)? & 0xf) * 4;
        let address = |at: usize| view.four(at).map(|address| IpAddr::V4(Ipv4Addr::from(address)));
        let ip =
            Ip { src: address(12)?, dst: address(16)?, dscp: view.one(1)? >> 2, is_six: false };
        // The total length is 0 in large segments that the network card divides (segmentation
        // offload).
        let total = match view.two(2)? {
            0 => view.length,
            total => u32::from(total),
        };
        if header < 20 || total < header {
            return Err(Note::Wrong);
        }
        let (fragment, protocol) = (view.two(6)?, view.one(9)?);
        let inside = self.stated(view, total).behind(header as usize)?;
        let (offset, last) = (u32::from(fragment & 0x1fff) * 8, fragment & 0x2000 == 0);
        if offset == 0 && last {
            self.inside(&ip, protocol, inside)
        } else {
            self.fragment(&ip, u32::from(view.two(4)?), protocol, offset, last, inside)
        }
    }

    /// Parses an IPv6 header (RFC 8200).
    fn ipv6(&mut self, view: View) -> Carrying {
        let address = |at: usize| view.get::<16>(at).map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes)));
        let ip = Ip {
            src: address(8)?,
            dst: address(24)?,
            dscp: (view.two(0)? >> 6) as u8 & 0x3f,
            is_six: true,
        };
        let next = view.one(6)?;
        let inside = view.behind(40)?;
        let length = match view.two(4)? {
            // The payload length is 0 with a jumbo payload option (RFC 2675) and with segmentation
            // offload.
            0 => jumbo(next, inside)?.unwrap_or(inside.length),
            length => u32::from(length),
        };
        let inside = self.stated(inside, length);
        self.inside(&ip, next, inside)
    }

    /// Parses the payload of an IP packet.
    pub fn inside(&mut self, ip: &Ip, protocol: u8, view: View) -> Carrying {
        self.deeper()?;
        match protocol {
            TCP => tcp(ip, view),
            UDP => self.udp(ip, view),
            4 | 41 => self.tunnel("IP in IP").ip(view),
            47 => self.gre(view),
            137 => self.mpls(view),
            // The length of the authentication header is in words of four bytes, less two.
            51 => self.inside(ip, view.one(0)?, view.behind(4 * (usize::from(view.one(1)?) + 2))?),
            43 if ip.is_six => self.routing(ip, view),
            44 if ip.is_six => self.fragment_header(ip, view),
            // These are hop-by-hop and destination options, mobility, host identity and shim6.
            0 | 60 | 135 | 139 | 140 if ip.is_six => {
                self.inside(ip, view.one(0)?, view.behind(8 + 8 * usize::from(view.one(1)?))?)
            }
            _ => Err(Note::Protocol(protocol)),
        }
    }

    /// Parses a routing header. While segments are left, the IP header has the next address of the
    /// route, and the routing header has the last.
    fn routing(&mut self, ip: &Ip, view: View) -> Carrying {
        let [next, length, kind, left] = view.get(0)?;
        // RFC 8754 lists the route backwards, RFC 6275 has one address, and RFC 2460 listed the
        // route forwards.
        let last = match kind {
            2 | 4 => Some(8),
            0 => (8 * usize::from(length)).checked_sub(8),
            _ => None,
        };
        let mut ip = Ip { ..*ip };
        if let (Some(at), 1..) = (last, left) {
            self.tally.note(Note::Routing);
            ip.dst = IpAddr::V6(Ipv6Addr::from(view.get::<16>(at)?));
        }
        self.inside(&ip, next, view.behind(8 + 8 * usize::from(length))?)
    }

    fn fragment_header(&mut self, ip: &Ip, view: View) -> Carrying {
        let (next, place, id) = (view.one(0)?, view.two(2)?, view.four(4)?);
        let (offset, last) = (u32::from(place & 0xfff8), place & 1 == 0);
        let inside = view.behind(8)?;
        if offset == 0 && last {
            self.inside(ip, next, inside)
        } else {
            self.fragment(ip, id, next, offset, last, inside)
        }
    }

    fn fragment(
        &mut self,
        ip: &Ip,
        id: u32,
        protocol: u8,
        offset: u32,
        last: bool,
        view: View,
    ) -> Carrying {
        let first = (offset == 0)
            .then(|| Box::new(self.inside(ip, protocol, View { goes_on: true, ..view })));
        let datagram = Datagram { src: ip.src, dst: ip.dst, protocol, id };
        Ok(Carried::Fragment(Fragment { datagram, offset, length: view.length, last, first }))
    }

    fn udp(&mut self, ip: &Ip, view: View) -> Carrying {
        let ports = [view.two(0)?, view.two(2)?];
        let length = match view.two(4)? {
            // The length is 0 with a jumbo payload option (RFC 2675).
            0 => view.length,
            length => u32::from(length),
        };
        if length < 8 || length > view.length && !view.goes_on {
            return Err(Note::Wrong);
        }
        let inside = view.of_length(length).behind(8)?;
        if let Some(carrying) = self.by_port(ip, ports[1], inside) {
            return carrying;
        }
        let ends = ports.map(u32::from);
        Ok(Carried::Segment(Segment {
            src: ip.src,
            dst: ip.dst,
            kind: Kind::Udp,
            dscp: ip.dscp,
            ends,
            payload: inside.length,
            sequence: 0,
            syn: false,
            goes_on: false,
        }))
    }
}

fn tcp(ip: &Ip, view: View) -> Carrying {
    let ends = [view.two(0)?.into(), view.two(2)?.into()];
    let (sequence, offset) = (view.four(4)?, view.two(12)?);
    let header = u32::from(offset >> 12) * 4;
    if header < 20 {
        return Err(Note::Wrong);
    }
    let payload = view.length.checked_sub(header).ok_or(Note::Wrong)?;
    let syn = offset & 2 != 0;
    Ok(Carried::Segment(Segment {
        src: ip.src,
        dst: ip.dst,
        kind: Kind::Tcp,
        dscp: ip.dscp,
        ends,
        payload,
        sequence,
        syn,
        goes_on: view.goes_on,
    }))
}

/// Returns the length in a jumbo payload option, which is one of the hop-by-hop options.
fn jumbo(next: u8, view: View) -> Result<Option<u32>, Note> {
    if next != 0 {
        return Ok(None);
    }
    let (mut at, end) = (2, 8 + 8 * usize::from(view.one(1)?));
    while at + 6 <= end {
        at += match view.one(at)? {
            0xc2 => return view.four(at + 2).map(Some),
            0 => 1,
            _ => 2 + usize::from(view.one(at + 1)?),
        };
    }
    Ok(None)
}
