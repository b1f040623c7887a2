//! Shared-memory switches as bought: what their memory management unit may admit.

use afflux_units::Rate;

/// A memory shared by all ports, with ingress and egress accounting. A frame is charged once to the priority group of its ingress port and
/// once to the queue of its egress port.
#[derive(Debug, Clone, PartialEq)]
pub struct Mmu {
    pub total: u64,
    /// Memory is handed out in cells of so many bytes, the first of which holds 64 B of metadata; `None` counts bytes as the ns-3
    /// simulators do.
    pub cell: Option<u16>,
    /// Priorities whose frames are neither counted nor limited, bit p for priority p.
    pub bypass: u8,
    pub rules: Rules,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rules {
    Sonic(SonicRules),
    Conweave(ConweaveRules),
    Hpcc(HpccRules),
}

/// As real switches, configured in SONiC's terms. Priority groups and queues have these values unless they have their own.
#[derive(Debug, Clone, PartialEq)]
pub struct SonicRules {
    /// Of lossless priority groups.
    pub alpha: f64,
    /// Bytes that each lossless priority group has to itself.
    pub reserved: u64,
    /// Of lossy priority groups; `None`: their ingress is not limited.
    pub lossy_ingress_alpha: Option<f64>,
    /// Of lossy queues.
    pub lossy_alpha: f64,
    /// Bytes that each lossy queue has to itself.
    pub queue_reserved: u64,
    /// Memory for lossy queues; `None`: 80 % of what the headroom leaves.
    pub lossy_pool: Option<u64>,
    /// Memory set aside for the headroom of all priority groups; `None`: the sum of what each may have.
    pub headroom_pool: Option<u64>,
    pub xon: u64,
    pub xon_offset: u64,
    pub own: Box<OwnShares>,
}

/// Priority groups (by priority) and egress queues (by number) with shares of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnShares {
    pub groups: [GroupShare; 8],
    pub queues: [QueueShare; 8],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GroupShare {
    /// Of a lossy group: it is limited at ingress, even if the others are not.
    pub alpha: Option<f64>,
    /// Fixed threshold in bytes instead of a share of the free pool; not together with `alpha`.
    pub limit: Option<u64>,
    pub reserved: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueShare {
    pub alpha: Option<f64>,
    pub reserved: Option<u64>,
}

impl SonicRules {
    /// Bytes that the group of this priority has to itself.
    pub fn reserved_of(&self, class: usize, lossless: bool) -> u64 {
        self.own.groups[class].reserved.unwrap_or(if lossless { self.reserved } else { 0 })
    }

    /// Bytes that the groups of one port have to themselves; `lossless` has a bit for each lossless priority.
    pub fn reserved_per_port(&self, lossless: u8) -> u64 {
        (0..8).map(|class| self.reserved_of(class, lossless >> class & 1 != 0)).sum()
    }
}

/// As in ConWeave's ns-3.
#[derive(Debug, Clone, PartialEq)]
pub struct ConweaveRules {
    pub ingress_alpha: f64,
    pub egress_alpha: f64,
    /// Minimum of a priority group and of a port; a queue has one byte more.
    pub mtu: u64,
}

/// As in HPCC's ns-3.
#[derive(Debug, Clone, PartialEq)]
pub struct HpccRules {
    /// A port at the hosts' rate has alpha 2^-shift; twice that for every doubling above.
    pub shift: u8,
    pub nic_rate: Rate,
    pub reserved: u64,
    pub resume_offset: u64,
}
