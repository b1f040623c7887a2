//! What the control of a queue pair is: what it is told, what it answers, and what other rooms have to know of it.

use crate::Model;
use crate::congestion::Growth;
use crate::telemetry::Telemetry;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Speed, keys};
use afflux_units::Span;

/// An acknowledgement as a control sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub now: u64,
    /// Of the frame that it answers.
    pub round_trip: Option<u64>,
    /// Bytes of payload.
    pub acked: u64,
}

/// A flow's path.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Bits per second of the NIC.
    pub line: u64,
    pub switches: u32,
    /// Picoseconds, idle.
    pub round_trip: u64,
}

/// What a control does about what its queue pair sees. Without a method of its own it sends at the NIC's rate and does nothing. Its parameters
/// are handed in each time, so that queue pairs share them.
pub trait RateController: Sized {
    type Config;
    fn start(path: &Path, config: &Self::Config) -> Self;
    /// Bits per second.
    fn rate(&mut self, _now: u64, line: u64, _config: &Self::Config) -> u64 {
        line
    }
    /// Time to the next frame, where it does not follow from the rate.
    fn spacing(&self) -> Option<u64> {
        None
    }
    /// Bytes that may be unacknowledged, where that is the control's to say; `payload` is that of a full frame.
    fn window(&self, _payload: u16) -> Option<u64> {
        None
    }
    fn wants_round_trips(&self) -> bool {
        false
    }
    fn on_sent(&mut self, _bytes: u64, _config: &Self::Config) {}
    /// A congestion notification has come.
    fn on_cnp(&mut self, _now: u64, _config: &Self::Config) {}
    fn on_ack(&mut self, _ack: &Ack, _round_trip: u64, _payload: u16, _config: &Self::Config) {}
    /// An acknowledgement with readings; positions in bytes: all before the first is acknowledged, all before the second has been sent.
    fn on_telemetry(&mut self, _positions: (u64, u64), _telemetry: &Telemetry, _rates: &[u64], _config: &Self::Config) {}
    /// Something is to be sent again because of a NACK.
    fn on_loss(&mut self, _now: u64, _config: &Self::Config) {}
    fn on_timeout(&mut self, _now: u64, _config: &Self::Config) {}
}

/// What does not depend on parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// It slows down when receivers notify it of marks.
    pub notified: bool,
    /// Switches write readings of their ports on its frames.
    pub telemetry: bool,
    /// Its name, if it has a window of its own.
    pub window: Option<&'static str>,
}

impl About {
    pub const fn of(model: Model) -> Self {
        About { model, notified: false, telemetry: false, window: None }
    }
}

/// What an estimate without frames has to know of it.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// How it grows that has been cut.
    pub growth: Growth,
    /// Part of a link that flows use which it limits, as measured (validation/estimates.py).
    pub efficiency: f64,
    /// How much of it they use is not known beforehand.
    pub erratic: bool,
}

/// How a receiver tells of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cnp {
    /// A bit in the acknowledgement.
    Ack,
    /// A frame of its own, per flow at most one in `interval`, so long after the marked frame.
    Packet { interval: Span, delay: Span },
}

/// The parameters of a control.
pub trait RateParameters {
    /// Receivers tell of marks by frames of their own, where its source has it so.
    fn notifies_by_frames(&self) -> bool {
        false
    }
    /// With so much payload in a frame.
    fn habits(&self, _payload: f64) -> Habits {
        Habits { growth: Growth::AtOnce, efficiency: 1.0, erratic: false }
    }
    /// A time in which notifications change the rate.
    fn reaction(&self, _cnp: Cnp) -> Option<Span> {
        None
    }
}

/// A rate above 0.
pub fn bits_per_second(rate: Speed, at: Key) -> Result<u64, Wrong> {
    keys::above_zero(rate, at).map(|rate| rate.0)
}
