//! What sets a queue pair's rate, and its window.

use crate::congestion::dcqcn::Dcqcn;
use crate::congestion::hpcc::Hpcc;
use crate::congestion::swift::Swift;
use crate::congestion::timely::Timely;
use crate::spec::{RateControl, RdmaConfig};
use crate::telemetry::Telemetry;

/// An acknowledgement as a control sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub now: u64,
    /// Of the frame that it answers.
    pub round_trip: Option<u64>,
    /// Bytes of payload.
    pub acked: u64,
}

#[derive(Debug, Clone)]
pub enum Control {
    None,
    Dcqcn(Dcqcn),
    Timely(Timely),
    Swift(Swift),
    Hpcc(Box<Hpcc>),
}

impl Control {
    /// For a path through so many switches, whose idle round trip is `round_trip`.
    pub fn new(line: u64, switches: u32, round_trip: u64, config: &RateControl) -> Self {
        match config {
            RateControl::None => Control::None,
            RateControl::Dcqcn(config) => Control::Dcqcn(Dcqcn::new(line, config)),
            RateControl::Timely(_) => Control::Timely(Timely::new(line)),
            RateControl::Swift(config) => Control::Swift(Swift::new(switches, round_trip, config)),
            RateControl::Hpcc(config) => Control::Hpcc(Box::new(Hpcc::new(line, round_trip, config))),
        }
    }

    /// Bits per second.
    #[inline(always)]
    pub fn rate(&mut self, now: u64, line: u64, config: &RdmaConfig) -> u64 {
        match (self, &config.control) {
            (Control::Dcqcn(control), RateControl::Dcqcn(config)) => control.rate(now, config),
            (Control::Timely(control), _) => control.rate(),
            (Control::Hpcc(control), _) => control.rate(),
            _ => line,
        }
    }

    /// Time to the next frame, where it does not follow from the rate.
    #[inline(always)]
    pub fn spacing(&self) -> Option<u64> {
        match self {
            Control::Swift(control) => control.spacing(),
            _ => None,
        }
    }

    /// Bytes that may be unacknowledged, where that is the control's to say.
    #[inline(always)]
    pub fn window(&self, config: &RdmaConfig) -> Option<u64> {
        match self {
            Control::Swift(control) => Some(control.frames() * config.payload as u64),
            Control::Hpcc(control) => Some(control.window()),
            _ => None,
        }
    }

    pub fn wants_round_trips(&self) -> bool {
        matches!(self, Control::Timely(_) | Control::Swift(_))
    }

    #[inline(always)]
    pub fn on_sent(&mut self, bytes: u64, config: &RdmaConfig) {
        if let (Control::Dcqcn(control), RateControl::Dcqcn(config)) = (self, &config.control) {
            control.on_sent(bytes, config);
        }
    }

    #[inline(always)]
    pub fn on_cnp(&mut self, now: u64, config: &RdmaConfig) {
        if let (Control::Dcqcn(control), RateControl::Dcqcn(config)) = (self, &config.control) {
            control.on_cnp(now, config);
        }
    }

    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, config: &RdmaConfig) {
        let Some(round_trip) = ack.round_trip else { return };
        match (self, &config.control) {
            (Control::Timely(control), RateControl::Timely(config)) => control.on_ack(ack.acked, round_trip, config),
            (Control::Swift(control), RateControl::Swift(swift)) => {
                control.on_ack(ack.now, ack.acked as f64 / config.payload as f64, round_trip, swift);
            }
            _ => {}
        }
    }

    /// An acknowledgement with readings; positions in bytes.
    pub fn on_telemetry(&mut self, positions: (u64, u64), telemetry: &Telemetry, rates: &[u64], config: &RdmaConfig) {
        if let (Control::Hpcc(control), RateControl::Hpcc(config)) = (self, &config.control) {
            control.on_ack(positions, telemetry, rates, config);
        }
    }

    /// Something is to be sent again because of a NACK.
    pub fn on_loss(&mut self, now: u64, config: &RdmaConfig) {
        if let (Control::Swift(control), RateControl::Swift(config)) = (self, &config.control) {
            control.on_loss(now, config);
        }
    }

    pub fn on_timeout(&mut self, now: u64, config: &RdmaConfig) {
        if let (Control::Swift(control), RateControl::Swift(config)) = (self, &config.control) {
            control.on_timeout(now, config);
        }
    }
}
