//! What a link does to frames on the wire.

use crate::Model;
use crate::spec::Down;
use afflux_engine::random::Stream;
use afflux_units::Probability;

/// Faults of one direction of a link, kept at the receiving end.
pub struct Fault {
    loss: Probability,
    stream: Stream,
    down: Vec<Down>,
    /// From the start of transmission to the frame being dealt with, less the time of its bits; and the part of it that is the wire.
    pub delay: u64,
    pub wire: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Lost,
    Down,
}

impl Fault {
    pub fn new(loss: Probability, stream: Stream, down: Vec<Down>, delay: u64, wire: u64) -> Self {
        Fault { loss, stream, down, delay, wire }
    }

    /// The fate of a frame whose transmission took `time` and which is dealt with at `now`, `first_bits` (and the delay) after its start.
    pub fn fate(&mut self, now: u64, first_bits: u64, time: u64) -> Fate {
        let start = now - self.delay - first_bits;
        let end = start + time + self.wire;
        // On the wire at any moment of the interval: both intervals half open.
        if self.down.iter().any(|d| start < d.to.map_or(u64::MAX, |t| t.0) && d.from.0 < end) {
            return Fate::Down;
        }
        match self.loss.threshold() {
            Some(0) => Fate::Delivered,
            Some(threshold) if self.stream.next_u64() >= threshold => Fate::Delivered,
            _ => Fate::Lost,
        }
    }
}

pub const MODELS: &[Model] = &[
    Model {
        kind: "fault",
        name: "loss",
        source: "independent loss per frame and direction",
        faithful: "drawn from the link's own stream; the frame still occupies the transmitter",
        simplified: "not per bit: long and short frames are lost alike; no bursts",
    },
    Model {
        kind: "fault",
        name: "down",
        source: "–",
        faithful: "frames that are on the wire during the interval are lost; after `detect` no switch of the fabric chooses the link for further frames",
        simplified: "routes change at one instant in the whole fabric, without a convergence transient; frames that are already queued are sent into the \
                     dead link",
    },
];
