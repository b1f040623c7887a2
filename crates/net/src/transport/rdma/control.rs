//! What sets a queue pair's rate, and its window.

use crate::congestion::dcqcn::Dcqcn;
use crate::spec::{RateControl, RdmaConfig};

/// An acknowledgement as a control sees it; positions are bytes of payload.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    pub now: u64,
    /// Of the frame that it answers.
    pub round_trip: Option<u64>,
    pub acked: u64,
    pub una: u64,
    pub next: u64,
}

#[derive(Debug, Clone)]
pub enum Control {
    None,
    Dcqcn(Dcqcn),
}

impl Control {
    pub fn new(line: u64, config: &RateControl) -> Self {
        match config {
            RateControl::None => Control::None,
            RateControl::Dcqcn(config) => Control::Dcqcn(Dcqcn::new(line, config)),
        }
    }

    /// Bits per second.
    #[inline(always)]
    pub fn rate(&mut self, now: u64, line: u64, config: &RdmaConfig) -> u64 {
        match (self, &config.control) {
            (Control::Dcqcn(control), RateControl::Dcqcn(config)) => control.rate(now, config),
            _ => line,
        }
    }

    /// Bytes that may be unacknowledged, where that is the control's to say.
    #[inline(always)]
    pub fn window(&self, _config: &RdmaConfig) -> Option<u64> {
        None
    }

    pub fn wants_round_trips(&self) -> bool {
        false
    }

    #[inline(always)]
    pub fn wants_acks(&self) -> bool {
        self.wants_round_trips()
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

    pub fn on_ack(&mut self, _ack: &Ack, _line: u64, _config: &RdmaConfig) {}
}
