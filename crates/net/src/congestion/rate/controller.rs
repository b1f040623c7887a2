//! Interface between congestion controls of queue pairs and the transport, and the properties that
//! other modules need.

use crate::Model;
use crate::congestion::IncreaseRule;
use crate::telemetry::Telemetry;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Speed, keys};
use afflux_units::Span;

/// An acknowledgement as input of a congestion control.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub now: u64,
    /// Round trip in ps of the acknowledged frame; `None` if it was sent more than once.
    pub round_trip: Option<u64>,
    /// Acknowledged bytes of payload.
    pub acked: u64,
}

/// Properties of a flow's path.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Rate of the NIC in bit/s.
    pub line: u64,
    pub switches: u32,
    /// Round trip of the idle path in ps.
    pub round_trip: u64,
}

/// A congestion control of one queue pair. The default methods send at the NIC's rate and do
/// nothing. The parameters are an argument of each call, so that queue pairs share them.
pub trait RateController: Sized {
    type Config;
    fn start(path: &Path, config: &Self::Config) -> Self;
    /// Returns the rate in bit/s.
    fn rate(&mut self, _now: u64, line: u64, _config: &Self::Config) -> u64 {
        line
    }
    /// Returns the time in ps to the next frame, if it does not follow from the rate.
    fn spacing(&self) -> Option<u64> {
        None
    }
    /// Returns the bytes that may be unacknowledged, if the congestion control limits them.
    /// `payload`: payload of a full frame in bytes.
    fn window(&self, _payload: u16) -> Option<u64> {
        None
    }
    fn uses_round_trips(&self) -> bool {
        false
    }
    /// Accounts for a frame of `_bytes` bytes that departs at `_now`.
    fn on_sent(&mut self, _now: u64, _bytes: u64, _config: &Self::Config) {}
    /// Handles a congestion notification.
    fn on_cnp(&mut self, _now: u64, _config: &Self::Config) {}
    fn on_ack(&mut self, _ack: &Ack, _payload: u16, _config: &Self::Config) {}
    /// Handles an acknowledgement with readings. `_positions` are in bytes: all bytes before the
    /// first are acknowledged, all before the second have been sent.
    fn on_telemetry(
        &mut self,
        _positions: (u64, u64),
        _telemetry: &Telemetry,
        _rates: &[u64],
        _config: &Self::Config,
    ) {
    }
    /// Reports that data will be retransmitted because of a NACK.
    fn on_loss(&mut self, _now: u64, _config: &Self::Config) {}
    fn on_timeout(&mut self, _now: u64, _config: &Self::Config) {}
}

/// Properties of a congestion control that do not depend on its parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// True if it slows down when receivers notify it of marks.
    pub notified: bool,
    /// True if switches write readings of their ports on its frames.
    pub telemetry: bool,
    /// Name of the congestion control, if it has a window of its own.
    pub window: Option<&'static str>,
}

impl About {
    pub const fn of(model: Model) -> Self {
        About { model, notified: false, telemetry: false, window: None }
    }
}

/// Summary of a congestion control's behaviour, for estimates without frames.
#[derive(Debug, Clone, Copy)]
pub struct RateResponse {
    /// Growth of the rate after a decrease.
    pub growth: IncreaseRule,
    /// Fraction of a limiting link that its flows use, as measured (validation/estimates.py).
    pub efficiency: f64,
    /// True if the used fraction cannot be predicted.
    pub erratic: bool,
}

/// How a receiver reports marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cnp {
    /// A bit in the acknowledgement.
    Ack,
    /// A separate frame: at most one per flow in `interval`, sent `delay` after the marked frame.
    Packet { interval: Span, delay: Span },
}

/// Parameters of a congestion control.
pub trait RateParameters {
    /// True if, in the source of these parameters, receivers report marks by separate frames.
    fn notifies_by_frames(&self) -> bool {
        false
    }
    /// Returns the summary for estimates. `_payload`: payload of a frame in bytes.
    fn rate_response(&self, _payload: f64) -> RateResponse {
        RateResponse { growth: IncreaseRule::AtOnce, efficiency: 1.0, erratic: false }
    }
    /// Returns a time within which notifications change the rate.
    fn reaction(&self, _cnp: Cnp) -> Option<Span> {
        None
    }
}

/// Checks a rate, which must be above 0. Returns it in bit/s.
pub fn bits_per_second(rate: Speed, at: Key) -> Result<u64, Wrong> {
    keys::above_zero(rate, at).map(|rate| rate.0)
}
