//! Describes the flows of a transport for the fluid model, which knows rates but no frames.

use crate::congestion::{Decrease, IncreaseRule, SlowStartExit};
use crate::transport::frames::Frames;
use crate::world::World;

/// Properties that all flows of a transport share. Units are bytes, bytes per second and seconds.
#[derive(Debug, Clone)]
pub struct FluidModel {
    /// Payload of a full frame.
    pub payload: f64,
    /// Bytes on a link per byte of payload, gap included: of data (`forth`), and of the replies in
    /// the other direction (`back`).
    pub forth: f64,
    pub back: f64,
    /// Number of acknowledgements that are sent at once at the start of a connection (`quick`).
    /// After them, there is one acknowledgement per `frames_per_ack` frames; 0 for none.
    pub quick: f64,
    pub frames_per_ack: f64,
    /// Interval of periodic reports by the receiver; infinite if there are none.
    pub reports: f64,
    /// Number of frames that open and close a connection: from its source, and to it.
    pub control: (u64, u64),
    /// True if data are sent only after a round trip.
    pub opens: bool,
    /// Initial window; infinite if a flow starts at the rate of its NIC.
    pub initial_window: f64,
    /// Maximum window.
    pub window: f64,
    pub rate: f64,
    /// True if the rate yields to congestion.
    pub yields: bool,
    /// Decrease of the window in reaction to congestion, and its growth afterwards.
    pub cut: Decrease,
    pub growth: IncreaseRule,
    pub early: Option<SlowStartExit>,
    /// Fraction of a switch's link that flows use if it limits them.
    pub efficiency: f64,
    /// True if the used fraction of the link cannot be predicted.
    pub erratic: bool,
    /// True if links grant rates, so that flows never send more than links can carry.
    pub granted: bool,
    /// True if the transport regards overtaken frames as lost.
    pub ordered: bool,
    /// Rate at which the receiving application reads.
    pub reads: f64,
    /// True if frames can be marked, and are not dropped where they would be marked.
    pub marked: bool,
    /// True if the transport limits the data that wait at the host's own NIC.
    pub small_queues: bool,
    /// Bytes of memory for the two ends of a flow, without the part that depends on the window.
    pub halves: usize,
    /// True if senders keep a record of each outstanding frame.
    pub remembers: bool,
    pub subflows: usize,
    /// Maximum number of copies of each frame. If it is above one, every subflow carries all data.
    pub copies: f64,
    /// True if a full receive window makes the sender send the oldest segment also on a faster
    /// subflow.
    pub overtakes: bool,
}

impl FluidModel {
    /// Returns the properties of all transports of a plan.
    pub fn all(world: &World) -> Vec<FluidModel> {
        world.plan.transports.iter().map(|config| config.parameters().fluid_model(world)).collect()
    }

    /// Returns the properties of flows that start at the rate of their NIC and use exactly what
    /// links give. They have one acknowledgement per `frames_per_ack` frames; 0 for none.
    pub fn new(world: &World, frames: Frames, frames_per_ack: f64) -> Self {
        let wire = &world.plan.wire;
        let on_link = |bytes: u16| f64::from(bytes.max(wire.min_frame)) + f64::from(wire.gap);
        let payload = f64::from(frames.payload.max(1));
        let back = frames
            .answer
            .filter(|_| frames_per_ack > 0.0)
            .map_or(0.0, |answer| on_link(wire.ack + answer) / frames_per_ack / payload);
        FluidModel {
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
            cut: Decrease::default(),
            growth: IncreaseRule::AtOnce,
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

    /// Returns the number of acknowledgements of this number of frames.
    pub fn acknowledgements(&self, frames: f64) -> f64 {
        if self.frames_per_ack == 0.0 {
            return 0.0;
        }
        let quick = frames.min(self.quick);
        quick + ((frames - quick) / self.frames_per_ack).ceil()
    }
}

/// Model of a congestion control that reacts to the queues on its path. Units are seconds, and
/// bytes per second on the link.
pub trait Pace {
    fn rate(&mut self, now: f64) -> f64;
    /// Returns the time for which the rate does not change much.
    fn patience(&self) -> f64;
    /// Updates the state to `now`, after `sent` bytes of payload since the last update. Each frame
    /// was marked with probability `chance`.
    fn advance(&mut self, now: f64, sent: f64, chance: f64);
}
