//! Defines the estimate of a plan's results.

use crate::spec::NodeId;

/// Estimate of the results of a plan, without retransmissions and PAUSE frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Payload bytes sent.
    pub bytes: u64,
    pub packet_hops: u64,
    /// Range of packet-hops if there is a doubt. Otherwise both equal `packet_hops`.
    pub least_hops: u64,
    pub most_hops: u64,
    /// Number of flows of the plan and its applications (`flows`), and of those that start before
    /// the run ends (`started`).
    pub flows: u64,
    pub started: u64,
    /// End of the run in seconds.
    pub end: f64,
    /// True if the run ends at `until` with active flows.
    pub cut: bool,
    /// Maximum at any time of the bytes of flow state (`halves`), and of the frames that have been
    /// sent and are not acknowledged (`outstanding`).
    pub halves: u64,
    pub outstanding: u64,
    /// Number of entries in the rings in which senders keep outstanding frames.
    pub rings: u64,
    /// Number of frames on captured links.
    pub captured: u64,
    /// Number of links that flows pass (`visits`) and of paths that they take (`paths`), summed
    /// over all flows.
    pub visits: u64,
    pub paths: u64,
    /// Active time of all flows or subflows in seconds, summed up.
    pub sending: f64,
    /// Reason for which the run may need many more packet-hops, or not come as far.
    pub unknowns: Option<Unknowns>,
    /// False if applications do too much to be followed. The rest of the run is then missing.
    pub complete: bool,
    /// Fraction of `bytes` that was followed flow by flow. The rest is extrapolated from its size.
    /// `least_hops` and `most_hops` give its range.
    pub followed: f64,
    /// Ratio of the duration of flows that a link limits to their duration at the rate of their
    /// NIC.
    pub crowding: f64,
}

impl Expected {
    /// Notes an uncertainty, unless there is one already.
    pub(super) fn note(&mut self, unknowns: Unknowns) {
        self.unknowns.get_or_insert(unknowns);
    }
}

impl Default for Expected {
    fn default() -> Self {
        Expected {
            bytes: 0,
            packet_hops: 0,
            least_hops: 0,
            most_hops: 0,
            flows: 0,
            started: 0,
            end: 0.0,
            cut: false,
            halves: 0,
            outstanding: 0,
            rings: 0,
            captured: 0,
            visits: 0,
            paths: 0,
            sending: 0.0,
            unknowns: None,
            complete: false,
            followed: 1.0,
            crowding: 1.0,
        }
    }
}

/// Uncertainty that a count of frames cannot resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknowns {
    /// Links lose frames or are down for a time, which the estimate does not follow.
    Faults,
    /// Frames are likely to be lost, first at this port. Its input exceeds its capacity, because
    /// many flows send at once or do not yield.
    Losses { from: NodeId, to: NodeId },
    /// Switches let frames overtake each other, and transports regard overtaken frames as lost.
    Overtaking,
    /// The run ends while many frames wait in queues.
    Queues,
    /// Data are sent on several subflows at once. The number of copies that have left when the
    /// first one arrives depends on the differences between the paths.
    Copies,
    /// The fraction of a link that the congestion control uses is uncertain: DCQCN and TIMELY that
    /// start at the rate of their NIC, or several subflows that are marked.
    Rates,
}

impl Unknowns {
    /// Returns the minimum and maximum number of packet-hops per expected packet-hop, as measured
    /// (validation/estimates.py). A complete run needs additional retransmissions. A run that is
    /// `cut` does not come as far.
    pub fn range(self, cut: bool) -> (f64, f64) {
        match (self, cut) {
            (Unknowns::Faults, false) => (0.9, 2.0),
            (Unknowns::Faults, true) => (0.0, 1.5),
            (Unknowns::Losses { .. }, false) => (0.95, 1.3),
            (Unknowns::Losses { .. }, true) => (0.4, 1.1),
            (Unknowns::Overtaking, false) => (0.95, 4.0),
            (Unknowns::Overtaking, true) => (0.2, 1.1),
            (Unknowns::Queues, _) => (0.8, 1.3),
            (Unknowns::Copies, false) => (0.3, 1.6),
            (Unknowns::Copies, true) => (0.3, 1.3),
            (Unknowns::Rates, false) => (0.95, 1.15),
            (Unknowns::Rates, true) => (0.35, 1.1),
        }
    }
}
