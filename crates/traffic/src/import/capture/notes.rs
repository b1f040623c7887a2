//! Notes on the frames of a capture: why a frame is in no flow, and what was left out of frames
//! that are in a flow.

use std::collections::BTreeMap;

/// A reason or a remark. A reason states why a frame is in no flow. A remark states what was left
/// out of a frame, or what is uncertain about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    // Reasons. Those that occur in every capture come first.
    NoPayload,
    SentAgain,
    EtherType(u16),
    Llc,
    Protocol(u8),
    GreProtocol(u16),
    Group,
    Local,
    /// The datagram of this fragment began outside the capture.
    NoFirstFragment,
    Acknowledgement,
    Notification,
    ReadRequest,
    Atomic,
    Flush,
    Management,
    Opcode(u8),
    PseudoWire,
    /// The frame has more tunnels and extension headers than any real network.
    Nested,
    /// The snap length is too short for the headers.
    Cut,
    /// A header states an impossible length.
    Wrong,
    Timeless,
    // Remarks.
    Vlan,
    Tunnel(&'static str),
    ClosedTunnel(&'static str),
    NotTunnel(u16),
    Routing,
    Truncated,
    Longer,
    Gap,
    /// The capture missed RoCEv2 packets between two messages, so their sizes are not known.
    GapOfMessages,
    NoBeginning,
    FragmentsMissing,
    Interfaces,
    Block(u32),
}

impl Note {
    /// Returns the kind of a frame that is in no flow, as words that follow a number; `None` for
    /// remarks.
    fn reason(self) -> Option<String> {
        let reason = match self {
            Note::NoPayload => "without payload",
            Note::SentAgain => "sent again",
            Note::EtherType(number) => return Some(ether_type(number).0),
            Note::Llc => "802.3 with LLC",
            Note::Protocol(number) => return Some(protocol(number).0),
            Note::GreProtocol(number) => return Some(format!("GRE of protocol {number:#06x}")),
            Note::Group => "to a multicast or broadcast address",
            Note::Local => "from a host to itself",
            Note::NoFirstFragment => "IP fragments without the first",
            Note::Acknowledgement => "acknowledgements of RoCEv2",
            Note::Notification => "congestion notifications of RoCEv2",
            Note::ReadRequest => "read requests of RoCEv2",
            Note::Atomic => "atomic requests of RoCEv2",
            Note::Flush => "flush requests of RoCEv2",
            Note::Management => "management datagrams of RoCEv2",
            Note::Opcode(number) => return Some(format!("RoCEv2 of opcode {number:#04x}")),
            Note::PseudoWire => "MPLS without IP",
            Note::Nested => "with too many headers",
            Note::Cut => "cut off within the headers",
            Note::Wrong => "with wrong lengths in headers",
            Note::Timeless => "without a time (simple packet blocks)",
            _ => return None,
        };
        Some(reason.to_string())
    }

    /// Returns a sentence on what was left out and why; `None` if the reason says everything.
    fn sentence(self) -> Option<String> {
        let sentence = match self {
            Note::NoPayload | Note::SentAgain => return None,
            Note::EtherType(number) => return Some(left_out(ether_type(number))),
            Note::Protocol(number) => return Some(left_out(protocol(number))),
            Note::GreProtocol(number) => {
                let what = format!("GRE of protocol {number:#06x}");
                let why = "only IP, Ethernet, MPLS and ERSPAN in GRE are read";
                return Some(left_out((what, why)));
            }
            Note::Llc => {
                "802.3 frames with LLC (as of spanning trees): left out, because they carry no IP"
            }
            Note::Group => {
                "frames to multicast and broadcast addresses: left out, because flows have one receiver"
            }
            Note::Local => "frames from a host to itself: left out, because they cross no network",
            Note::NoFirstFragment => {
                "IP fragments whose first fragment is not in the capture: left out, because only the first one has ports and length"
            }
            Note::Acknowledgement => {
                "acknowledgements of RoCEv2: left out, because they carry no data and simulated network cards send their own"
            }
            Note::Notification => {
                "congestion notifications (CNP) of RoCEv2: left out, because the simulated network causes its own"
            }
            Note::ReadRequest => {
                "read requests of RoCEv2: left out, because their data are in the responses, which are flows of the opposite direction"
            }
            Note::Atomic => {
                "atomic requests of RoCEv2: left out, because their operands are in headers"
            }
            Note::Flush => "flush requests of RoCEv2: left out, because they carry no data",
            Note::Management => {
                "management datagrams of RoCEv2 (to queue pair 1): left out, because they set up connections and carry no data of applications"
            }
            Note::Opcode(number) => {
                let what = format!("RoCEv2 packets of opcode {number:#04x}");
                return Some(left_out((what, "the length of their headers is not known")));
            }
            Note::PseudoWire => {
                "MPLS that does not carry IP (pseudo-wires): left out, because labels do not say what they carry"
            }
            Note::Nested => "frames with more than 16 headers above the link: left out",
            Note::Cut => {
                "frames that end within their headers: left out, because ports or lengths are missing (captured with a longer snap length, they have them)"
            }
            Note::Wrong => "frames with lengths in headers that contradict each other: left out",
            Note::Timeless => {
                "frames without a time (simple packet blocks): left out, because their flows have no start"
            }
            Note::Vlan => {
                "VLAN tags were removed: numbers and priorities of VLANs are left out, and an address that occurs in two VLANs is one host"
            }
            Note::Tunnel(name) => {
                return Some(format!(
                    "{name} was removed: flows are those inside, with the inner addresses and DSCPs; the tunnel's ends and headers are left out, and an \
                     address that occurs in two virtual networks is one host"
                ));
            }
            Note::ClosedTunnel(name) => {
                return Some(format!(
                    "UDP to the port of {name}: the tunnel is not opened, so its ends are the hosts, and its headers count as data"
                ));
            }
            Note::NotTunnel(port) => {
                return Some(format!(
                    "UDP to port {port} without the header that this port is for: taken for plain UDP"
                ));
            }
            Note::Routing => {
                "IPv6 routing headers: the receiver is the last address of the route, the addresses on the way are left out"
            }
            Note::Truncated => {
                "frames that were captured only in part: their bytes are those that the headers state"
            }
            Note::Longer => {
                "IP headers that state more bytes than the frame has: the stated bytes count"
            }
            Note::Gap => {
                "bytes that the capture missed before this frame: they count, because later bytes of the flow were seen"
            }
            Note::GapOfMessages => {
                "packets of RoCEv2 that the capture missed before this frame: left out unless their message states its length"
            }
            Note::NoBeginning => {
                "messages of RoCEv2 that began before the capture or in a gap of it: only the bytes that were seen count"
            }
            Note::FragmentsMissing => {
                "datagrams of which the capture lacks fragments: all bytes that the datagram's header states count"
            }
            Note::Interfaces => {
                "frames of several interfaces: what passed two of them without TCP or RoCEv2 sequence numbers counts twice"
            }
            Note::Block(kind) => {
                return Some(format!("pcapng blocks of type {kind} ({}): left out", block(kind)));
            }
        };
        Some(sentence.to_string())
    }
}

fn left_out((name, why): (String, &str)) -> String {
    format!("{name}: left out, because {why}")
}

const NO_DATA: &str = "it carries no data of applications";

/// Names of EtherTypes, each with the end of a sentence "left out, because …".
const ETHER_TYPES: [(u16, &str, &str); 12] = [
    (0x0806, "ARP", NO_DATA),
    (0x8808, "MAC control (PAUSE, PFC)", "the simulated switches send their own"),
    (0x8809, "LACP and other slow protocols", NO_DATA),
    (0x8863, "PPPoE discovery", NO_DATA),
    (0x888e, "802.1X", NO_DATA),
    (0x88cc, "LLDP", NO_DATA),
    (0x88e5, "MACsec", "it may be encrypted"),
    (0x88e7, "provider backbone bridges", NOT_IP),
    (0x88f7, "PTP", NO_DATA),
    (0x8906, "FCoE", NOT_IP),
    (0x8915, "RoCEv1", "it has no IP addresses of hosts"),
    (0x893f, "802.1BR", NOT_IP),
];
const NOT_IP: &str = "only flows over IP are read";

/// Names of IP protocols, each with the end of a sentence "left out, because …".
const PROTOCOLS: [(u8, &str, &str); 15] = [
    (0, "IPv6 hop-by-hop options in IPv4", NOT_READ),
    (1, "ICMP", NO_DATA),
    (2, "IGMP", NO_DATA),
    (33, "DCCP", NOT_READ),
    (46, "RSVP", NO_DATA),
    (50, "ESP", "it is encrypted"),
    (58, "ICMPv6", NO_DATA),
    (59, "IPv6 without a next header", NO_DATA),
    (88, "EIGRP", NO_DATA),
    (89, "OSPF", NO_DATA),
    (103, "PIM", NO_DATA),
    (112, "VRRP", NO_DATA),
    (115, "L2TP", NOT_READ),
    (132, "SCTP", NOT_READ),
    (136, "UDP-Lite", NOT_READ),
];
const NOT_READ: &str = "only TCP, UDP and RoCEv2 are read";

/// Returns the name of an EtherType, and why its frames are left out.
fn ether_type(number: u16) -> (String, &'static str) {
    let known = ETHER_TYPES.iter().find(|(known, ..)| *known == number);
    known.map_or_else(
        || (format!("EtherType {number:#06x}"), NOT_IP),
        |(_, name, why)| (name.to_string(), why),
    )
}

/// Returns the name of an IP protocol, and why its packets are left out.
fn protocol(number: u8) -> (String, &'static str) {
    let known = PROTOCOLS.iter().find(|(known, ..)| *known == number);
    known.map_or_else(
        || (format!("IP protocol {number}"), NOT_READ),
        |(_, name, why)| (name.to_string(), why),
    )
}

fn block(kind: u32) -> &'static str {
    match kind {
        4 => "names of addresses; --hosts names hosts",
        5 => "statistics of interfaces",
        9 => "entries of a journal",
        10 => "keys",
        _ => "which this reader does not know",
    }
}

/// Largest number of frames that a note names.
const FIRST: usize = 3;

/// A note, and the frames that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// Kind of frames that are in no flow, as words that follow a number.
    pub reason: Option<String>,
    /// Sentence on what was left out, and why.
    pub sentence: Option<String>,
    pub count: u64,
    /// Numbers of the first frames, from 1.
    pub first: Vec<u64>,
}

/// Counter of notes.
#[derive(Debug, Default)]
pub struct Tally {
    /// Number of the frame that is being read, from 1.
    pub frame: u64,
    noted: BTreeMap<Note, (u64, Vec<u64>)>,
}

impl Tally {
    pub fn note(&mut self, note: Note) {
        self.note_at(note, self.frame);
    }

    /// Counts a note about a frame. Frame 0 stands for a block that is not a frame.
    pub fn note_at(&mut self, note: Note, frame: u64) {
        let (count, first) = self.noted.entry(note).or_default();
        *count += 1;
        if frame > 0 && first.len() < FIRST && first.last() != Some(&frame) {
            first.push(frame);
        }
    }

    /// Adds the notes of another tally, which has other kinds of notes.
    pub fn join(&mut self, other: Tally) {
        self.noted.extend(other.noted);
    }

    pub fn finish(self) -> Vec<Noted> {
        self.noted
            .into_iter()
            .map(|(note, (count, first))| Noted {
                reason: note.reason(),
                sentence: note.sentence(),
                count,
                first,
            })
            .collect()
    }
}
