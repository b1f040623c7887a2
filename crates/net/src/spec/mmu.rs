//! Specifies the memory management unit of shared-memory switches.

use afflux_units::Rate;

/// A memory shared by all ports, with ingress and egress accounting. A frame is charged once to the
/// priority group of its ingress port and once to the queue of its egress port.
#[derive(Debug, Clone, PartialEq)]
pub struct Mmu {
    pub total: u64,
    /// Size in bytes of the cells in which memory is allocated. The first cell of a frame also
    /// holds 64 bytes of metadata. `None` counts bytes, as the ns-3 simulators do.
    pub cell: Option<u16>,
    /// Priorities whose frames are neither counted nor limited; bit p stands for priority p.
    pub bypass: u8,
    pub rules: Rules,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rules {
    Sonic(SonicRules),
    Conweave(ConweaveRules),
    Hpcc(HpccRules),
}

/// Rules of real switches, configured in SONiC's terms. These values apply to all priority groups
/// and queues that have no values in `own`.
#[derive(Debug, Clone, PartialEq)]
pub struct SonicRules {
    /// Alpha of lossless priority groups.
    pub alpha: f64,
    /// Bytes reserved for each lossless priority group.
    pub reserved: u64,
    /// Alpha of lossy priority groups; `None`: their ingress is not limited.
    pub lossy_ingress_alpha: Option<f64>,
    /// Alpha of lossy queues.
    pub lossy_alpha: f64,
    /// Bytes reserved for each lossy queue.
    pub queue_reserved: u64,
    /// Bytes for lossy queues; `None`: 80 % of the memory that the headroom leaves.
    pub lossy_pool: Option<u64>,
    /// Bytes for the headroom of all priority groups; `None`: the sum of their maximum headrooms.
    pub headroom_pool: Option<u64>,
    pub xon: u64,
    pub xon_offset: u64,
    pub own: Box<OwnShares>,
}

/// Individual shares of priority groups (by priority) and egress queues (by number).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnShares {
    pub groups: [GroupShare; 8],
    pub queues: [QueueShare; 8],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GroupShare {
    /// Alpha of the group. It limits a lossy group at ingress even if `lossy_ingress_alpha` limits
    /// no others.
    pub alpha: Option<f64>,
    /// Fixed threshold in bytes instead of a share of the free pool. It excludes `alpha`.
    pub limit: Option<u64>,
    pub reserved: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueShare {
    pub alpha: Option<f64>,
    pub reserved: Option<u64>,
}

impl SonicRules {
    /// Returns the bytes reserved for the group of this priority.
    pub fn reserved_of(&self, class: usize, lossless: bool) -> u64 {
        self.own.groups[class].reserved.unwrap_or(if lossless { self.reserved } else { 0 })
    }

    /// Returns the bytes reserved for the groups of one port. `lossless` has a bit for each
    /// lossless priority.
    pub fn reserved_per_port(&self, lossless: u8) -> u64 {
        (0..8).map(|class| self.reserved_of(class, lossless >> class & 1 != 0)).sum()
    }
}

/// Rules of ConWeave's ns-3 simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct ConweaveRules {
    pub ingress_alpha: f64,
    pub egress_alpha: f64,
    /// Minimum bytes of a priority group and of a port. A queue has one byte more.
    pub mtu: u64,
}

/// Rules of HPCC's ns-3 simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct HpccRules {
    /// Exponent of alpha: a port at the rate of the hosts has alpha 2^-shift, and each doubling of
    /// the rate doubles it.
    pub shift: u8,
    pub nic_rate: Rate,
    pub reserved: u64,
    pub resume_offset: u64,
}
