//! What a transport's flows are like to a network that knows rates but no frames.

use crate::congestion::{Cut, Early, Growth};
use crate::transport::frames::Frames;
use crate::world::World;

/// What all flows of a transport have in common. Bytes, bytes per second, seconds.
#[derive(Debug, Clone)]
pub struct Habits {
    /// Payload of a full frame.
    pub payload: f64,
    /// Bytes on a link for each byte of payload, gap included: of the data, and of what answers them in the other direction.
    pub forth: f64,
    pub back: f64,
    /// Acknowledgements that are sent at once at the start of a connection; from then on one for so many frames, 0 for none.
    pub quick: f64,
    pub frames_per_ack: f64,
    /// So often a receiver reports, whatever comes.
    pub reports: f64,
    /// Frames that open and close a connection: from its source, and to it.
    pub control: (u64, u64),
    /// Nothing is sent before a round trip has passed.
    pub opens: bool,
    /// The window at the start; infinite where a flow starts at the rate of its NIC.
    pub initial_window: f64,
    /// The window never exceeds this.
    pub window: f64,
    pub rate: f64,
    /// The rate yields to congestion.
    pub yields: bool,
    /// How the window answers to congestion, and how it grows from then on.
    pub cut: Cut,
    pub growth: Growth,
    pub early: Option<Early>,
    /// Part of a switch's link that flows use which are limited by it.
    pub efficiency: f64,
    /// How much of it they use is not known beforehand.
    pub erratic: bool,
    /// Links grant rates: nobody sends more than they carry.
    pub granted: bool,
    /// Frames that overtake each other are taken for losses.
    pub ordered: bool,
    /// The receiving application takes its time: bytes per second.
    pub reads: f64,
    /// Its frames can be marked, and are not dropped by what marks.
    pub marked: bool,
    /// What waits at the host's own NIC is bounded.
    pub small_queues: bool,
    /// Bytes of memory for its two ends, without what depends on the window.
    pub halves: usize,
    /// Senders keep a record of each frame that is outstanding.
    pub remembers: bool,
    pub subflows: usize,
    /// Copies of each frame that are sent at most: every subflow carries all data, if more than one.
    pub copies: f64,
    /// A full receive window sends the oldest segment on a faster subflow too.
    pub overtakes: bool,
}

impl Habits {
    /// Of flows that start at the rate of their NIC and keep to what links give, with one acknowledgement for so many frames, 0 for none.
    pub fn new(world: &World, frames: Frames, frames_per_ack: f64) -> Self {
        let wire = &world.plan.wire;
        let on_link = |bytes: u16| f64::from(bytes.max(wire.min_frame)) + f64::from(wire.gap);
        let payload = f64::from(frames.payload.max(1));
        let back = frames.answer.filter(|_| frames_per_ack > 0.0).map_or(0.0, |answer| on_link(wire.ack + answer) / frames_per_ack / payload);
        Habits {
            payload,
            forth: on_link(frames.payload + frames.data + wire.data_header) / payload,
            back,
            quick: 0.0,
            frames_per_ack,
            reports: f64::INFINITY,
            control: (0, 0),
            opens: false,
            initial_window: f64::INFINITY,
            window: f64::INFINITY,
            rate: f64::INFINITY,
            yields: true,
            cut: Cut::default(),
            growth: Growth::AtOnce,
            early: None,
            efficiency: 1.0,
            erratic: false,
            granted: false,
            ordered: false,
            reads: f64::INFINITY,
            marked: false,
            small_queues: false,
            halves: 0,
            remembers: false,
            subflows: 1,
            copies: 1.0,
            overtakes: false,
        }
    }

    /// Acknowledgements of so many frames.
    pub fn acknowledgements(&self, frames: f64) -> f64 {
        if self.frames_per_ack == 0.0 {
            return 0.0;
        }
        let quick = frames.min(self.quick);
        quick + ((frames - quick) / self.frames_per_ack).ceil()
    }
}

/// A congestion control that is told what the queues on its path would tell it. Seconds, bytes per second on the link.
pub trait Pace {
    fn rate(&mut self, now: f64) -> f64;
    /// Time in which it does not change much.
    fn patience(&self) -> f64;
    /// So many bytes of payload have been sent until `now`, and each frame was marked with this chance.
    fn advance(&mut self, now: f64, sent: f64, chance: f64);
}
