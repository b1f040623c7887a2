//! Frame sizes: built-in profiles, and the sizes that a scenario uses.

use afflux_net::spec::Wire;

/// A named set of frame sizes, with its source.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    pub name: &'static str,
    /// Bytes of all headers and trailers of a data frame, and how many of them count towards the MTU.
    pub data_header: u16,
    pub mtu_header: u16,
    pub ack: u16,
    /// Size of an RDMA congestion notification in a frame of its own.
    pub cnp: u16,
    /// Size of a SYN or SYN-ACK with its options.
    pub syn: u16,
    pub sack_base: u16,
    pub sack_block: u16,
    pub min_frame: u16,
    pub gap: u16,
    /// Default MTU.
    pub mtu: u16,
    /// Source of the sizes.
    pub source: &'static str,
    /// Description for the schema and the reference.
    pub about: &'static str,
}

pub const PROFILES: &[Profile] = &[
    Profile {
        name: "ethernet",
        data_header: 58,
        mtu_header: 40,
        ack: 58,
        cnp: 58,
        syn: 70,
        sack_base: 4,
        sack_block: 8,
        min_frame: 64,
        gap: 20,
        mtu: 1500,
        source: "IEEE 802.3, RFC 791, RFC 9293, RFC 2018",
        about: "TCP over IPv4 over Ethernet as it is on a cable: 14 Ethernet + 20 IP + 20 TCP + 4 FCS, frames of at least 64 B, 20 B of preamble \
                (8) and inter-frame gap (12) on the link; SACK adds 4 + 8 per block. MTU 1500, MSS 1460: 1518 B \
                frames.",
    },
    Profile {
        name: "ethernet_timestamps",
        data_header: 70,
        mtu_header: 52,
        ack: 70,
        cnp: 70,
        syn: 78,
        sack_base: 4,
        sack_block: 8,
        min_frame: 64,
        gap: 20,
        mtu: 1500,
        source: "as ethernet, RFC 7323",
        about: "As \"ethernet\" with TCP timestamps, 12 B more in every frame. MTU 1500, MSS 1448: 1518 B frames.",
    },
    Profile {
        name: "linux",
        data_header: 66,
        mtu_header: 52,
        ack: 66,
        cnp: 66,
        syn: 74,
        sack_base: 4,
        sack_block: 8,
        min_frame: 0,
        gap: 0,
        mtu: 1500,
        source: "Linux 6.12, packets as a queueing discipline sees them",
        about: "What a Linux queueing discipline counts: 14 Ethernet + 20 IP + 32 TCP (timestamps), no FCS, no gap. MTU 1500, MSS 1448: 1514 B frames.",
    },
    Profile {
        name: "ns3p2p",
        data_header: 42,
        mtu_header: 40,
        ack: 42,
        cnp: 42,
        syn: 50,
        sack_base: 4,
        sack_block: 8,
        min_frame: 0,
        gap: 0,
        mtu: 1500,
        source: "ns-3 PointToPointNetDevice",
        about: "ns-3's point-to-point links: 2 PPP + 20 IP + 20 TCP, no gap. MTU 1500, MSS 1460: 1502 B frames.",
    },
    Profile {
        name: "ns3rdma",
        data_header: 48,
        mtu_header: 0,
        ack: 60,
        cnp: 60,
        syn: 60,
        sack_base: 0,
        sack_block: 0,
        min_frame: 0,
        gap: 0,
        mtu: 1000,
        source: "HPCC and ConWeave ns-3",
        about: "The RDMA simulators HPCC and ConWeave: 14 + 20 IP + 8 UDP + 6 sequence; acknowledgements of 60 B; no gap. `mtu` is payload: 1000 B, \
                1048 B frames.",
    },
    Profile {
        name: "rocev2",
        data_header: 62,
        mtu_header: 44,
        ack: 66,
        cnp: 78,
        syn: 70,
        sack_base: 4,
        sack_block: 8,
        min_frame: 64,
        gap: 20,
        mtu: 1068,
        source: "InfiniBand Architecture Specification, annex A17 (RoCEv2); IEEE 802.3",
        about: "RDMA over UDP as it is on a cable: 14 Ethernet + 20 IP + 8 UDP + 12 BTH + 4 ICRC + 4 FCS; acknowledgements have 4 B of AETH more, notification \
                packets (CNP) 16 B; 20 B of preamble and gap on the link. `mtu` is the IP packet of a path MTU of 1024 B: 1086 B frames; write \
                `mtu = \"4140B\"` for a path MTU of 4096 B. The 16 B of RETH in the first packet of an RDMA write are left out. TCP in the same scenario \
                has the headers of this profile, too, 4 B more than its own.",
    },
    Profile {
        name: "pfabric",
        data_header: 40,
        mtu_header: 40,
        ack: 40,
        cnp: 40,
        syn: 40,
        sack_base: 0,
        sack_block: 0,
        min_frame: 0,
        gap: 0,
        mtu: 1500,
        source: "the pFabric authors' ns-2; yaps",
        about: "The pFabric authors' ns-2 and yaps: 40 B of headers, acknowledgements of 40 B, no gap. MTU 1500, MSS 1460: 1500 B frames.",
    },
    Profile {
        name: "htsim",
        data_header: 0,
        mtu_header: 0,
        ack: 40,
        cnp: 40,
        syn: 40,
        sack_base: 0,
        sack_block: 0,
        min_frame: 0,
        gap: 0,
        mtu: 1500,
        source: "Broadcom csg-htsim",
        about: "htsim: a frame of 1500 B counts as 1500 B of payload; acknowledgements of 40 B, no gap.",
    },
];

impl Profile {
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        PROFILES.iter().map(|profile| profile.name)
    }
    pub fn wire(&self, name: &str) -> Wire {
        Wire {
            name: name.to_string(),
            data_header: self.data_header,
            ack: self.ack,
            cnp: self.cnp,
            syn: self.syn,
            sack_base: self.sack_base,
            sack_block: self.sack_block,
            min_frame: self.min_frame,
            gap: self.gap,
        }
    }
}

/// Frame sizes and the payload that they leave.
pub struct Frames {
    pub wire: Wire,
    /// Payload of a full frame in bytes.
    pub payload: u16,
    /// Explanation of how `payload` follows from the MTU, for messages.
    pub why: String,
    /// Size of the largest IP packet in bytes.
    pub mtu: u16,
    /// Bytes of a frame around its packet: the headers that do not count towards the MTU.
    pub link_header: u16,
}

impl Frames {
    /// Returns the bytes of a frame that do not count towards the MTU, and the size of the smallest
    /// packet that carries data.
    pub fn overhead(&self) -> (u16, u16) {
        (self.link_header, self.wire.data_header - self.link_header + 1)
    }
}
