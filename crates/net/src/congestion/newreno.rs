//! NewReno: the window rules of RFC 5681. Recovery by RFC 6582 is part of the transport.

use super::{About, Ack, Controller, Opening, Parameters, Sender, Window};
use crate::Model;
use afflux_config::{keys, words};

words! {
    /// How NewReno counts.
    pub enum RenoFlavour {
        /// As in Linux: counts acknowledged segments while the window is the limit. Half of the
        /// window remains after a loss.
        Linux,
        /// RFC 5681 literally, as in ns-3's TcpNewReno: counts acknowledgements, always. Half of
        /// the data in flight remain after a loss.
        Rfc5681,
    }
}

keys! {
    /// Parameters of NewReno.
    pub struct Keys as "Newreno" => NewrenoConfig(_sender: &Sender) {
        /// How NewReno counts.
        flavour: RenoFlavour = "linux";
    }
}

impl NewrenoConfig {
    pub fn start<C: From<NewReno> + From<Rfc5681>>(&self, _: Opening) -> C {
        match self.flavour {
            RenoFlavour::Linux => NewReno.into(),
            RenoFlavour::Rfc5681 => Rfc5681::default().into(),
        }
    }
}

impl Parameters for NewrenoConfig {
    fn about(&self) -> About {
        ABOUT
    }
}

#[derive(Debug, Clone, Copy)]
pub struct NewReno;

impl Controller for NewReno {
    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked == 0 {
        } else if ack.open {
            // An acknowledgement that ends slow start adds nothing in congestion avoidance. Slow
            // start grows whatever limits the sender.
            if window.slow_start() {
                window.slow_start_increase(ack.acked);
            } else if ack.may_grow {
                window.increase_per(window.cwnd, ack.acked);
            }
        } else if ack.may_grow {
            window.reno_increase(ack.acked);
        }
    }

    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        window.half()
    }
}

/// RFC 5681 literally, without byte counting: an acknowledgement adds one segment in slow start,
/// 1/cwnd afterwards, whatever limits the sender. Half of the data in flight remain after a loss.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rfc5681 {
    /// Fraction of a segment by which the window exceeds whole segments.
    part: f64,
    /// Segments in flight, and the fraction by which the threshold exceeds whole segments.
    pub flight: u32,
    half: f64,
}

impl Controller for Rfc5681 {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !(ack.may_grow || ack.open) || ack.acked == 0 {
            return;
        }
        let mut left = ack.acked;
        if window.slow_start() {
            window.cwnd = (window.cwnd + 1).min(window.limit);
            left -= 1;
        }
        if left > 0 && !window.slow_start() {
            let size = window.cwnd as f64 + self.part;
            self.part += 1.0 / size;
            if self.part >= 1.0 {
                self.part -= 1.0;
                window.cwnd = (window.cwnd + 1).min(window.limit);
            }
        }
    }

    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        let flight = if self.flight == 0 { window.cwnd } else { std::mem::take(&mut self.flight) };
        self.half = if flight > 4 { (flight % 2) as f64 / 2.0 } else { 0.0 };
        (flight / 2).max(2)
    }

    fn on_window_set(&mut self) {
        self.part = self.half;
    }

    fn on_flight(&mut self, flight: u32) {
        self.flight = flight;
    }
}

pub const ABOUT: About = About::of(MODEL);

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "newreno",
    source: "RFC 5681, RFC 6582; counting of segments as in Linux tcp_cong.c",
    faithful: "slow start by segments acknowledged, one segment per window in congestion avoidance, halving on loss and on an ECN echo once per round trip",
    simplified: "the window is kept in whole segments",
};
