//! The answer.

use crate::spec::NodeId;

/// Without retransmissions and PAUSE frames.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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
    /// False: there is too much to follow; the rest is missing.
    pub complete: bool,
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
            (Doubt::Rates, false) => (0.95, 1.15),
            (Doubt::Rates, true) => (0.35, 1.1),
        }
    }
}
