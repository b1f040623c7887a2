//! Receiving half of a queue pair.

use crate::spec::{Cnp, RdmaConfig, RdmaRecovery};
use crate::transport::blocks::Blocks;

#[derive(Default)]
pub struct Responder {
    pub flow: u32,
    pub node: u32,
    pub src: u32,
    pub hash: u32,
    /// Next segment expected.
    pub(super) expected: u32,
    pub segments: u32,
    /// Gap of the last negative acknowledgement, and time in ps until which this gap, or a held
    /// block, gets no further one.
    pub(super) nacked: u32,
    pub(super) nack_after: u64,
    /// Time in ps before which no separate notification is sent.
    pub(super) cnp_after: u64,
    pub transport: u16,
    pub priority: u8,
    pub highest: u32,
    /// IRN: segments that have arrived beyond the gap.
    pub(super) held: Blocks,
    pub marked: u64,
    pub reordered: u64,
    /// Time in ps that the last frame to arrive spent paused.
    pub paused: u64,
    /// Time in ps at which a segment last arrived for the first time.
    pub last: u64,
}

/// Answer to an arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    pub ack: Option<Acknowledgement>,
    /// True if a separate notification is to be sent.
    pub cnp: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    pub cumulative: u32,
    pub trigger: u32,
    /// Go-back-N: retransmit from `cumulative` on. IRN: `cumulative` is missing, and `trigger` has
    /// arrived.
    pub negative: bool,
    /// True if the acknowledgement carries a notification.
    pub cnp: bool,
}

impl Responder {
    pub fn on_data(&mut self, now: u64, seq: u32, marked: bool, config: &RdmaConfig) -> Answer {
        self.marked += marked as u64;
        self.reordered += (seq < self.highest) as u64;
        self.highest = self.highest.max(seq);
        if seq == self.expected
            || seq > self.expected
                && matches!(config.recovery, RdmaRecovery::Irn(_))
                && !self.held.contains(seq)
        {
            self.last = now;
        }
        let mut out_of_order = false;
        let negative = match (&config.recovery, seq == self.expected) {
            (RdmaRecovery::GoBackN { .. }, true) => {
                self.expected += 1;
                Some(false)
            }
            (RdmaRecovery::GoBackN { .. }, false) if seq > self.expected => {
                let again = self.nacked == self.expected && now < self.nack_after;
                if !again {
                    (self.nacked, self.nack_after) = (self.expected, now + config.nack_interval.0);
                    out_of_order = true;
                }
                (!again).then_some(true)
            }
            // InfiniBand C9-110: duplicates are acknowledged.
            (RdmaRecovery::GoBackN { .. }, _) => Some(false),
            (RdmaRecovery::Irn(_), true) => {
                self.expected = self.held.end_from(seq + 1);
                self.held.discard_below(self.expected);
                Some(!self.held.is_empty())
            }
            (RdmaRecovery::Irn(_), false) if seq > self.expected => {
                let again = self.held.contains(seq) && now < self.nack_after;
                if !again {
                    self.nack_after = now + config.nack_interval.0;
                    self.held.insert(seq);
                    out_of_order = true;
                }
                (!again).then_some(true)
            }
            (RdmaRecovery::Irn(_), _) => Some(!self.held.is_empty()),
        };
        let notify = marked || out_of_order && config.cnp_out_of_order;
        let (in_ack, alone) = match config.cnp {
            Cnp::Ack => (notify, false),
            Cnp::Packet { interval, .. } => {
                let alone = notify && now >= self.cnp_after;
                if alone {
                    self.cnp_after = now + interval.0;
                }
                (false, alone)
            }
        };
        Answer {
            ack: negative.map(|negative| Acknowledgement {
                cumulative: self.expected,
                trigger: seq,
                negative,
                cnp: in_ack,
            }),
            cnp: alone,
        }
    }

    pub fn is_complete(&self) -> bool {
        self.expected == self.segments
    }

    /// Returns the number of segments that have arrived, and whether the last one is among them.
    pub fn received(&self) -> (u32, bool) {
        (
            self.expected + self.held.count(),
            self.is_complete() || self.held.contains(self.segments - 1),
        )
    }
}
