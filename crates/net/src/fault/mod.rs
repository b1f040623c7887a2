//! Applies link faults to frames on the wire: losses, failures and frames that are too long.

use crate::Model;
use crate::spec::Down;
use afflux_engine::random::Stream;
use afflux_units::Probability;

/// Faults of one direction of a link, stored at the receiving end.
pub struct Fault {
    loss: Probability,
    stream: Stream,
    down: Vec<Down>,
    longest: u16,
    /// Time in ps from the start of transmission until the frame is processed, minus the time of
    /// its bits (`delay`), and the part of it on the wire (`wire`).
    pub delay: u64,
    pub wire: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Lost,
    Down,
    TooLong,
}

impl Fault {
    pub fn new(
        loss: Probability,
        stream: Stream,
        down: Vec<Down>,
        longest: Option<u16>,
        (delay, wire): (u64, u64),
    ) -> Self {
        Fault { loss, stream, down, longest: longest.unwrap_or(u16::MAX), delay, wire }
    }

    /// Returns the fate of a frame of `size` bytes that is processed at `now`. Its transmission
    /// took `time`, and it is processed `first_bits` plus the delay after its start.
    pub fn fate(&mut self, now: u64, size: u16, first_bits: u64, time: u64) -> Fate {
        let start = now - self.delay - first_bits;
        let end = start + time + self.wire;
        // A frame is lost if it is on the wire at any instant of the failure. Both intervals are
        // half open.
        if self.down.iter().any(|d| start < d.to.map_or(u64::MAX, |t| t.0) && d.from.0 < end) {
            return Fate::Down;
        }
        match self.loss.threshold() {
            Some(0) => self.accepts(size),
            Some(threshold) if self.stream.next_u64() >= threshold => self.accepts(size),
            _ => Fate::Lost,
        }
    }
}

impl Fault {
    fn accepts(&self, size: u16) -> Fate {
        if size > self.longest { Fate::TooLong } else { Fate::Delivered }
    }
}

pub const MODELS: &[Model] = &[
    Model {
        kind: "fault",
        name: "loss",
        source: "independent loss per frame and direction",
        faithful: "for both directions or one; drawn from the direction's own stream; the frame still occupies the transmitter",
        simplified: "not per bit: long and short frames are lost alike; no bursts",
    },
    Model {
        kind: "fault",
        name: "mtu",
        source: "IEEE 802.3: frames longer than a port accepts are discarded where they arrive (giants)",
        faithful: "`mtu` of a link: a longer frame takes its time on the link and is discarded at its end, with a counter; TCP, RDMA and the other \
                   transports use what the links of their two hosts carry",
        simplified: "no path MTU discovery and no fragmentation: a smaller link between two switches loses every full frame, which `check` says",
    },
    Model {
        kind: "fault",
        name: "down",
        source: "–",
        faithful: "frames that are on the wire during the interval are lost; after `detect` the nodes at the link's ends choose their other next hops, and \
                   lose frames for which they have none; after `converge` more the routes of the whole fabric are shortest paths without the link; it is \
                   chosen again when both times have passed since its return",
        simplified: "all other nodes change their routes at one instant; frames that are already queued are sent into the dead link",
    },
];
