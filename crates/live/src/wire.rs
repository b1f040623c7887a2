//! Attachment to an existing Ethernet interface with a real host at the other end of the cable.
//!
//! That host has the address of its NIC in the scenario and sees all other hosts on the same
//! Ethernet. This module answers its ARP requests with made-up hardware addresses, so that this
//! machine's own kernel does not accept the packets as its own.

use crate::addresses::{address, host_of, named};
use crate::capability::PACKETS;
use crate::offload::Handed;
use crate::sys::PacketSocket;
use crate::{LiveError, packet, sys};
use afflux_net::spec::Plan;
use std::cell::Cell;
use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const HEADER: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
/// First bytes of the hardware addresses of simulated NICs. They are locally administered, so no
/// device has them.
const MADE_UP: [u8; 2] = [0x02, 0xaf];
const EVERYBODY: Mac = [0xff; 6];
/// Length in bytes of the shortest frame without its checksum (IEEE 802.3).
const LEAST_FRAME: usize = 60;
/// Initial wait for the host's ARP reply, and interval between two ARP requests.
const PATIENCE: Duration = Duration::from_secs(1);
const ASK_AGAIN: Duration = Duration::from_millis(100);

type Mac = [u8; 6];

/// A real host of the scenario, and the interface of this machine for each of its NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    pub host: u32,
    pub interfaces: Vec<String>,
}

/// Parses options of the form `host2=eth1` or, with several NICs, `host2=eth1,eth2`.
pub fn attached(plan: &Plan, texts: &[String]) -> Result<Vec<Attached>, LiveError> {
    let ports = afflux_net::routing::Ports::new(&plan.topology);
    let mut all: Vec<Attached> = Vec::new();
    for text in texts {
        let wrong = |why: String| Err(LiveError::Wrong(format!("--attach {text}: {why}")));
        let Some((name, interfaces)) = text.split_once('=') else {
            return wrong("write HOST=INTERFACE, as in host2=eth1".into());
        };
        let host = match named(plan, name.trim()) {
            Ok(host) => host,
            Err(none) => return wrong(none),
        };
        let interfaces: Vec<String> =
            interfaces.split(',').map(|interface| interface.trim().to_string()).collect();
        let nics = ports.of(host).len();
        if interfaces.len() != nics {
            return wrong(format!(
                "{} needs an interface per NIC, with commas between them: {nics}, not {}",
                plan.topology.nodes[host as usize].name,
                interfaces.len()
            ));
        }
        let taken = |interface: &String| {
            all.iter().any(|other| other.interfaces.contains(interface))
                || interfaces.iter().filter(|i| *i == interface).count() > 1
        };
        if let Some(twice) = interfaces.iter().find(|interface| taken(interface)) {
            return wrong(format!("\"{twice}\" comes twice"));
        }
        if all.iter().any(|other| other.host == host) {
            return wrong(format!("\"{}\" comes twice", name.trim()));
        }
        all.push(Attached { host, interfaces });
    }
    Ok(all)
}

/// One existing interface with a real host behind it.
#[derive(Debug)]
pub struct Wire {
    socket: PacketSocket,
    /// Address of the NIC at the other end.
    address: Ipv4Addr,
    /// Address of another host, used as the sender of ARP requests.
    asker: Ipv4Addr,
    hosts: u32,
    /// Hardware address of the NIC at the other end, once it is known.
    peer: Cell<Option<Mac>>,
    asked: Cell<Option<Instant>>,
}

/// Result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// One packet, or several in one large packet.
    Packet,
    /// An ARP request or reply, which has been processed.
    Handled,
    /// A frame that is not from this host or not IPv4.
    Foreign,
    /// A packet longer than the scenario's MTU: a device or kernel merges segments.
    TooLong,
    Nothing,
}

impl Wire {
    pub fn open(
        interface: &str,
        host: u32,
        nic: u32,
        hosts: u32,
        mtu: u16,
    ) -> Result<Self, LiveError> {
        let wrong = |why: String| LiveError::Wrong(format!("--attach: {interface} {why}"));
        let doing = |what: &str| format!("{what} {interface}");
        let device =
            sys::Interface::named(interface).map_err(LiveError::system(doing("looking at")))?;
        let index = device.index().map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => wrong("is not there: `ip link` lists what is".into()),
            _ => LiveError::System { doing: doing("looking at"), source: error },
        })?;
        let look = || LiveError::system(doing("looking at"));
        if !device.is_ethernet().map_err(look())? {
            return Err(wrong("is not an Ethernet interface".into()));
        }
        if !device.is_up().map_err(look())? {
            return Err(wrong(format!("is down: `ip link set {interface} up`")));
        }
        let most = device.mtu().map_err(look())?;
        if most < i32::from(mtu) {
            return Err(wrong(format!(
                "carries packets of {most} B at most, and the scenario has {mtu} B: `ip link set {interface} mtu {mtu}`, or host.mtu"
            )));
        }
        if let Some(own) = device.address().map_err(look())? {
            return Err(wrong(format!(
                "has an address of this machine ({own}), so it is in use: `ip addr flush dev {interface}`"
            )));
        }
        if device.joins_segments().map_err(look())? {
            return Err(wrong(format!(
                "joins the segments that it receives: `ethtool -K {interface} gro off lro off`"
            )));
        }
        let socket = PacketSocket::open(index)
            .map_err(LiveError::unless_permitted(PACKETS, &doing("opening a packet socket on")))?;
        let asker = address(if host == 0 { 1 } else { 0 }, nic);
        let wire = Wire {
            socket,
            address: address(host, nic),
            asker,
            hosts,
            peer: Cell::new(None),
            asked: Cell::new(None),
        };
        wire.find_out(mtu).map_err(LiveError::system(doing("asking who is behind")))?;
        Ok(wire)
    }

    /// Waits up to [`PATIENCE`] for the host's ARP reply.
    fn find_out(&self, mtu: u16) -> io::Result<()> {
        let end = Instant::now() + PATIENCE;
        let mut handed = Handed::nothing();
        while self.peer.get().is_none() && Instant::now() < end {
            self.ask();
            if self.take(&mut handed, mtu.into())? == Taken::Nothing {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    pub fn address(&self) -> Ipv4Addr {
        self.address
    }
    pub fn descriptor(&self) -> i32 {
        self.socket.descriptor()
    }
    /// True if the host's hardware address is known.
    pub fn is_known(&self) -> bool {
        self.peer.get().is_some()
    }
    /// Returns the number of frames dropped since the last call, because they arrived faster than
    /// they were read.
    pub fn unread(&self) -> io::Result<u64> {
        self.socket.drops()
    }

    /// Sends an ARP request for the host's hardware address, at most one per [`ASK_AGAIN`].
    fn ask(&self) {
        if self.asked.get().is_none_or(|last| last.elapsed() >= ASK_AGAIN) {
            self.asked.set(Some(Instant::now()));
            let question = Question {
                asks: true,
                from: (made_up(self.asker), self.asker),
                to: ([0; 6], self.address),
            };
            // A lost request is repeated.
            let _ = self.socket.send(&question.frame(EVERYBODY));
        }
    }

    /// Reads a packet of at most `mtu` bytes from the host, if there is one.
    #[inline]
    pub fn take(&self, handed: &mut Handed, mtu: usize) -> io::Result<Taken> {
        let buffer = &mut handed.buffer_of_whole()[..mtu];
        let mut head = [0; HEADER];
        let Some(frame) = self.socket.receive(&mut head, buffer)? else {
            return Ok(Taken::Nothing);
        };
        let sender: Mac = head[6..12].try_into().expect("six");
        let kind = [head[12], head[13]];
        let Some(bytes) = frame.length.checked_sub(HEADER).filter(|_| !frame.tagged) else {
            return Ok(Taken::Foreign);
        };
        if kind == ARP {
            return Ok(self.answer(sender, &buffer[..bytes.min(buffer.len())]));
        }
        // The interface is promiscuous, so accept only frames for simulated NICs.
        let ours = kind == IPV4 && head[..2] == MADE_UP;
        let here = &buffer[..bytes.min(buffer.len())];
        let Some((from, length)) = packet::source_and_length(here).filter(|_| ours) else {
            return Ok(Taken::Foreign);
        };
        if from != self.address {
            return Ok(Taken::Foreign);
        }
        if length > bytes {
            return Ok(Taken::Foreign);
        }
        if length > buffer.len() {
            return Ok(Taken::TooLong);
        }
        self.peer.set(Some(sender));
        if frame.unsummed {
            packet::complete(&mut buffer[..length]);
        }
        handed.came_whole(length);
        Ok(Taken::Packet)
    }

    /// Answers ARP requests for hosts of the scenario, and learns the host's hardware address.
    fn answer(&self, sender: Mac, body: &[u8]) -> Taken {
        let Some(said) = Question::parse(body) else { return Taken::Foreign };
        if said.from.1 != self.address || said.from.0 != sender {
            return Taken::Foreign;
        }
        self.peer.set(Some(sender));
        let asked_for = said.to.1;
        // A host may probe its own address to detect a duplicate. Such a probe gets no reply.
        if said.asks
            && asked_for != self.address
            && host_of(asked_for).is_some_and(|host| host < self.hosts)
        {
            let answer =
                Question { asks: false, from: (made_up(asked_for), asked_for), to: said.from };
            let _ = self.socket.send(&answer.frame(sender));
        }
        Taken::Handled
    }

    /// Delivers a packet to the host.
    #[inline]
    pub fn give(&self, packet: &[u8]) -> io::Result<()> {
        let Some(peer) = self.peer.get() else {
            self.ask();
            return Err(io::ErrorKind::HostUnreachable.into());
        };
        let from = packet::source_and_length(packet).map_or(self.asker, |(from, _)| from);
        let mut head = [0; HEADER];
        head[..6].copy_from_slice(&peer);
        head[6..12].copy_from_slice(&made_up(from));
        head[12..].copy_from_slice(&IPV4);
        let padding = [0; LEAST_FRAME];
        self.socket.send_parts(&[
            &head,
            packet,
            &padding[..LEAST_FRAME.saturating_sub(HEADER + packet.len())],
        ])
    }
}

/// Returns the made-up hardware address of the NIC with this IPv4 address.
fn made_up(address: Ipv4Addr) -> Mac {
    let [a, b, c, d] = address.octets();
    [MADE_UP[0], MADE_UP[1], a, b, c, d]
}

/// An ARP request or reply (RFC 826, for IPv4 over Ethernet).
#[derive(Debug, PartialEq, Eq)]
struct Question {
    asks: bool,
    from: (Mac, Ipv4Addr),
    to: (Mac, Ipv4Addr),
}

impl Question {
    const LENGTH: usize = 28;
    /// Hardware type Ethernet, protocol type IPv4, and the lengths of their addresses.
    const KIND: [u8; 6] = [0, 1, 0x08, 0, 6, 4];

    fn parse(body: &[u8]) -> Option<Self> {
        let body = body.get(..Self::LENGTH).filter(|body| body[..6] == Self::KIND)?;
        let asks = match body[6..8] {
            [0, 1] => true,
            [0, 2] => false,
            _ => return None,
        };
        let mac = |at: usize| body[at..at + 6].try_into().expect("six");
        let address = |at: usize| Ipv4Addr::new(body[at], body[at + 1], body[at + 2], body[at + 3]);
        Some(Question { asks, from: (mac(8), address(14)), to: (mac(18), address(24)) })
    }

    fn frame(&self, to: Mac) -> [u8; LEAST_FRAME] {
        let mut frame = [0; LEAST_FRAME];
        let mut at = 0;
        let kind = [0, if self.asks { 1 } else { 2 }];
        let parts: [&[u8]; 9] = [
            &to,
            &self.from.0,
            &ARP,
            &Self::KIND,
            &kind,
            &self.from.0,
            &self.from.1.octets(),
            &self.to.0,
            &self.to.1.octets(),
        ];
        for part in parts {
            frame[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Mac = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55];

    #[test]
    fn questions_there_and_back() {
        let question = Question {
            asks: true,
            from: (HOST, Ipv4Addr::new(10, 0, 0, 3)),
            to: ([0; 6], Ipv4Addr::new(10, 0, 0, 1)),
        };
        let frame = question.frame(EVERYBODY);
        assert_eq!(
            (&frame[..6], &frame[6..12], &frame[12..14]),
            (&EVERYBODY[..], &HOST[..], &ARP[..])
        );
        assert_eq!(Question::parse(&frame[HEADER..]), Some(question));
        assert_eq!(Question::parse(&frame[HEADER..HEADER + 27]), None, "cut short");
        let mut other = frame;
        other[HEADER + 7] = 3;
        assert_eq!(Question::parse(&other[HEADER..]), None, "neither question nor answer");
        other = frame;
        other[HEADER + 2..HEADER + 4].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(Question::parse(&other[HEADER..]), None, "not IPv4");
    }

    #[test]
    fn made_up_addresses_are_local_and_differ() {
        let (one, other) = (made_up(address(0, 0)), made_up(address(0, 1)));
        assert_ne!(one, other);
        assert_eq!(one[0] & 0b11, 0b10, "locally administered, of one station");
    }
}
