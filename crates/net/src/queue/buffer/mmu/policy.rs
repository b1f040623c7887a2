//! Interface of the rules of a memory management unit.

use super::charge::{Answer, Bounds, Charge, Group, Totals};
use crate::queue::flowcontrol::keys::Formula;
use afflux_units::Rate;

/// Rules for the counters of a memory management unit.
pub trait Policy {
    type Config;
    /// True if a departing frame can resume any paused group, not only its own.
    const RESUMES_ANY: bool = false;

    /// Creates the rules of a switch. `headroom`: bytes by port, for each lossless class. `rates`:
    /// by port.
    fn new(
        config: &Self::Config,
        total: u64,
        lossless: u8,
        headroom: &[u64],
        rates: &[u64],
    ) -> Self;

    /// Decides whether a frame is taken. `queue`: bytes of its egress queue. `limit`: headroom of
    /// its priority group in bytes.
    fn answer(
        &self,
        totals: &Totals,
        group: &Group,
        queue: u64,
        limit: u64,
        charge: &Charge,
        lossless: bool,
    ) -> Answer;

    /// Charges a frame, which the headroom takes if `headroom` is true.
    fn charge(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        headroom: bool,
        lossless: bool,
    );

    /// Releases a departed frame, of which `from_headroom` bytes were in the headroom.
    fn release(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        from_headroom: u64,
        lossless: bool,
    );

    /// Fast version of [`Self::release`] that also updates `totals.used`. Returns false, and does
    /// nothing, if the rules have none for this frame.
    #[inline(always)]
    fn give_back(&self, _: &mut Totals, _: &mut Group, _: &Charge, _lossless: bool) -> bool {
        false
    }

    /// Returns bounds for the groups of `classes`, for at most `used` bytes in use.
    fn bounds(&self, used: u64, classes: u8, lossless: bool) -> Option<Bounds>;

    /// Returns the bytes that the priority groups share.
    fn shared(&self) -> u64;

    /// True if a paused group of the port `input` may be resumed.
    fn may_resume(&self, totals: &Totals, group: &Group, input: u32, class: u8) -> bool;
}

/// Settings of such rules, as other parts of the program see them.
pub trait Settings {
    /// Returns the bytes that are reserved at `ports` ports. `lossless` has a bit for each lossless
    /// priority.
    fn reserved(&self, ports: u64, lossless: u8) -> u64;

    /// Returns the bytes that are set aside for headroom. `headroom`: that of one priority at all
    /// ports.
    fn headroom(&self, headroom: u64, _lossless: u8) -> u64 {
        headroom
    }

    /// Returns alpha of an egress queue: it may hold that multiple of the free memory.
    fn alpha(&self, queue: usize) -> f64;

    /// Returns the shares of single egress queues, if they can differ.
    fn own_queues(&mut self) -> Option<&mut [QueueShare; 8]> {
        None
    }
}

/// Individual share of an egress queue.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueShare {
    pub alpha: Option<f64>,
    pub reserved: Option<u64>,
}

/// Individual share of the priority groups of a priority.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GroupShare {
    /// Alpha of the group. It limits a lossy group at ingress even if the rules limit no others.
    pub alpha: Option<f64>,
    /// Fixed threshold in bytes instead of a share of the free pool. It excludes `alpha`.
    pub limit: Option<u64>,
    pub reserved: Option<u64>,
}

/// Keys of `[switch]` and `[switch.mmu]` and properties of the fabric that the rules use.
pub struct MemorySite {
    pub total: u64,
    pub alpha: f64,
    pub reserved: u64,
    /// Lowest rate of a host's link.
    pub nic_rate: Rate,
    pub xon_offset: u64,
    pub groups: [GroupShare; 8],
}

/// Properties of a kind of memory management unit.
pub struct About {
    /// Usual size of the whole buffer.
    pub total: u64,
    /// Usual alpha, and bytes reserved. `None`: the key has no effect.
    pub alpha: Option<f64>,
    pub reserved: Option<u64>,
    /// Usual bytes below the threshold at which a paused group is resumed. `None`: the key has no
    /// effect.
    pub xon_offset: Option<u64>,
    /// True if priority groups and egress queues can have shares of their own.
    pub own_shares: bool,
    /// Usual formula of the headroom.
    pub formula: Formula,
}
