//! The answer.

use crate::spec::NodeId;

/// Without retransmissions and PAUSE frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Payload that is sent.
    pub bytes: u64,
    pub packet_hops: u64,
    /// Between these, where there is a doubt; otherwise the same.
    pub least_hops: u64,
    pub most_hops: u64,
    /// Flows of the plan and of its applications; those that start before the run ends.
    pub flows: u64,
    pub started: u64,
    /// When the run ends, in seconds.
    pub end: f64,
    /// It ends at `until`, with flows under way.
    pub cut: bool,
    /// At a time, at most: bytes of the state of flows, and frames that have been sent and are not acknowledged.
    pub halves: u64,
    pub outstanding: u64,
    /// Entries of the rings in which senders keep what is outstanding.
    pub rings: u64,
    /// Frames on captured links.
    pub captured: u64,
    /// Links that flows pass, all flows together, and paths that they take.
    pub visits: u64,
    pub paths: u64,
    /// Seconds that flows, or subflows, are under way, all together.
    pub sending: f64,
    /// Why it may take much more, or come less far.
    pub doubt: Option<Doubt>,
    /// False: applications do too much to follow; the rest is missing.
    pub complete: bool,
    /// Part of `bytes` that was followed flow by flow. The rest is counted by its size: more closely by `least_hops` and `most_hops`.
    pub followed: f64,
    /// How many times longer flows that a link limits take than at the rate of their NIC.
    pub crowding: f64,
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
            doubt: None,
            complete: false,
            followed: 1.0,
            crowding: 1.0,
        }
    }
}

/// What a count of frames cannot know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Frames are likely to be lost at this port first: it cannot take what is sent to it, because so many flows send at once or do not yield.
    Losses { from: NodeId, to: NodeId },
    /// Switches let frames overtake each other, and transports take those for lost that were overtaken.
    Overtaking,
    /// The run ends while many frames stand in queues.
    Queues,
    /// Data go on several subflows at once: how many copies have left when the first one arrives depends on how the paths compare.
    Copies,
    /// How much of a link the congestion control uses: DCQCN and TIMELY that start at the rate of their NIC, several subflows that are marked.
    Rates,
}

impl Doubt {
    /// The least and the most packet-hops for each one that is expected, as measured (validation/estimates.py): a run to its end takes
    /// repetitions on top, one that is `cut` does not come as far.
    pub fn range(self, cut: bool) -> (f64, f64) {
        match (self, cut) {
            (Doubt::Losses { .. }, false) => (0.95, 1.3),
            (Doubt::Losses { .. }, true) => (0.4, 1.1),
            (Doubt::Overtaking, false) => (0.95, 4.0),
            (Doubt::Overtaking, true) => (0.2, 1.1),
            (Doubt::Queues, _) => (0.8, 1.3),
            (Doubt::Copies, false) => (0.3, 1.6),
            (Doubt::Copies, true) => (0.3, 1.3),
            (Doubt::Rates, false) => (0.95, 1.15),
            (Doubt::Rates, true) => (0.35, 1.1),
        }
    }
}
