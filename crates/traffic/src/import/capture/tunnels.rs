//! Tunnels: removes their headers, because the packet inside is the one that hosts sent.

use super::carried::Carrying;
use super::headers::{Ip, View, Walk};
use super::notes::Note;
use super::roce;

impl Walk<'_> {
    /// Notes that a tunnel is removed.
    pub fn tunnel(&mut self, name: &'static str) -> &mut Self {
        self.tally.note(Note::Tunnel(name));
        self
    }

    /// Parses a tunnel or RoCEv2 in UDP to a well-known port; `None` if the payload is plain data.
    /// Port numbers are IANA's, and 8472 is Linux's old one for VXLAN.
    pub fn by_port(&mut self, ip: &Ip, port: u16, view: View) -> Option<Carrying> {
        match port {
            4_789 | 8_472 => self.vxlan(port, view),
            4_790 => self.vxlan_gpe(port, view),
            6_081 => self.geneve(port, view),
            4_791 => Some(roce::parse(ip, view)),
            6_635 => Some(self.mpls(view)),
            4_754 => Some(self.gre(view)),
            2_152 => self.closed("GTP-U"),
            1_701 => self.closed("L2TP"),
            3_544 => self.closed("Teredo"),
            4_341 => self.closed("LISP"),
            4_500 => self.closed("IPsec"),
            51_820 => self.closed("WireGuard"),
            _ => None,
        }
    }

    fn closed(&mut self, name: &'static str) -> Option<Carrying> {
        self.tally.note(Note::ClosedTunnel(name));
        None
    }

    /// Notes that a tunnel's port is used for data.
    fn not_tunnel(&mut self, port: u16) -> Option<Carrying> {
        self.tally.note(Note::NotTunnel(port));
        None
    }

    /// Parses VXLAN (RFC 7348): flags with the bit of a valid network number, the number, Ethernet.
    /// Group policies use further bits.
    fn vxlan(&mut self, port: u16, view: View) -> Option<Carrying> {
        match view.get::<8>(0) {
            Ok([flags, .., 0]) if flags & 0x7f == 8 => {
                Some(view.behind(8).and_then(|inside| self.tunnel("VXLAN").ethernet(inside)))
            }
            Ok(_) | Err(Note::Wrong) => self.not_tunnel(port),
            Err(note) => Some(Err(note)),
        }
    }

    /// Parses VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe), which has the next protocol in the fourth
    /// byte.
    fn vxlan_gpe(&mut self, port: u16, view: View) -> Option<Carrying> {
        let next = match view.get::<8>(0) {
            Ok([flags, _, _, next @ 1..=3, _, _, _, 0]) if flags & 0xc == 0xc => next,
            Ok(_) | Err(Note::Wrong) => return self.not_tunnel(port),
            Err(note) => return Some(Err(note)),
        };
        Some(view.behind(8).and_then(|inside| {
            let walk = self.tunnel("VXLAN-GPE");
            if next == 3 { walk.ethernet(inside) } else { walk.ip(inside) }
        }))
    }

    /// Parses Geneve (RFC 8926): version 0, length of the options in words of four bytes, an
    /// EtherType.
    fn geneve(&mut self, port: u16, view: View) -> Option<Carrying> {
        let (options, number) = match view.get::<8>(0) {
            Ok([first, _, high, low, ..]) if first >> 6 == 0 => {
                (usize::from(first) * 4, u16::from_be_bytes([high, low]))
            }
            Ok(_) | Err(Note::Wrong) => return self.not_tunnel(port),
            Err(note) => return Some(Err(note)),
        };
        Some(view.behind(8 + options).and_then(|inside| {
            let walk = self.tunnel("Geneve");
            if number == 0x6558 { walk.ethernet(inside) } else { walk.ether_type(number, inside) }
        }))
    }

    /// Parses GRE (RFC 2784 and 2890): an EtherType, and the fields that the flags announce:
    /// checksum, key, sequence number.
    pub fn gre(&mut self, view: View) -> Carrying {
        let (flags, number) = (view.two(0)?, view.two(2)?);
        // Routing (RFC 1701) and version 1 (PPTP) have other fields, which are not read.
        if flags & 0x4007 != 0 {
            return Err(Note::GreProtocol(number));
        }
        let words = (flags >> 15) + (flags >> 13 & 1) + (flags >> 12 & 1);
        let inside = view.behind(4 + 4 * usize::from(words))?;
        match number {
            0x0800 | 0x86dd => self.tunnel("GRE").ip(inside),
            0x6558 => self.tunnel("GRE").ethernet(inside),
            0x8847 | 0x8848 => self.tunnel("GRE").mpls(inside),
            // ERSPAN carries frames that a switch mirrors: version 1 without a header and without
            // sequence numbers, version 2, version 3 with an optional part.
            0x88be if flags & 0x1000 == 0 => self.tunnel("ERSPAN").ethernet(inside),
            0x88be => self.tunnel("ERSPAN").ethernet(inside.behind(8)?),
            0x22eb => self
                .tunnel("ERSPAN")
                .ethernet(inside.behind(if inside.one(11)? & 1 == 0 { 12 } else { 20 })?),
            _ => Err(Note::GreProtocol(number)),
        }
    }

    /// Parses MPLS (RFC 3032): skips labels until the bottom of the stack. Labels do not state what
    /// follows; IP is recognised by its version.
    pub fn mpls(&mut self, mut view: View) -> Carrying {
        loop {
            let bottom = view.one(2)? & 1 == 1;
            view = view.behind(4)?;
            if bottom {
                break;
            }
        }
        if matches!(view.one(0)? >> 4, 4 | 6) {
            self.tunnel("MPLS").ip(view)
        } else {
            Err(Note::PseudoWire)
        }
    }

    /// Parses PPPoE (RFC 2516).
    pub fn pppoe(&mut self, view: View) -> Carrying {
        match view.two(6)? {
            0x0021 | 0x0057 => self.tunnel("PPPoE").ip(view.behind(8)?),
            _ => Err(Note::EtherType(0x8864)),
        }
    }
}
