//! Bandwidth probing: the phases of PROBE_BW, and the upper bound that they find.

use super::super::super::{Ack, Sample, State, Window};
use super::*;

impl Bbr3 {
    pub(super) fn start_refill(&mut self, up_rounds: u32, delivered: u32) {
        self.reset_lower_bounds();
        self.probe.up_rounds = up_rounds;
        self.probe.up_acked = 0;
        self.probe.stopped_at_bound = false;
        self.probe.acks = Acks::Refilling;
        self.core.next_round = delivered;
        self.phase = Phase::Refill;
    }

    pub(super) fn start_up(&mut self, window: &Window, now: u64, found: u64, delivered: u32) {
        self.probe.acks = Acks::ProbeStarting;
        self.core.next_round = delivered;
        self.phase_since = now;
        self.core.full.restart(found);
        self.phase = Phase::Up;
        self.raise_slope(window);
    }

    pub(super) fn start_down(&mut self, now: u64, delivered: u32) {
        self.reset_signals();
        self.probe.up_count = UNBOUNDED;
        self.probe.rounds_since = self.core.random.below(PROBE_RANDOM_ROUNDS) as u32;
        self.probe.wait = PROBE_WAIT + self.core.random.below(PROBE_RANDOM_WAIT);
        self.phase_since = now;
        self.probe.acks = Acks::ProbeStopping;
        self.core.next_round = delivered;
        self.phase = Phase::Down;
    }

    pub(super) fn start_cruise(&mut self) {
        if self.in_flight_low != UNBOUNDED {
            self.in_flight_low = self.in_flight_low.min(self.in_flight_high);
        }
        self.phase = Phase::Cruise;
    }

    /// Doubles the step of the upper bound, in each round of probing up.
    pub(super) fn raise_slope(&mut self, window: &Window) {
        let growth = 1u32 << self.probe.up_rounds.min(31);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_count = (window.cwnd / growth).max(1);
    }

    pub(super) fn raise_upper_bound(&mut self, window: &Window, sample: &Sample) {
        if !sample.window_limited || window.cwnd < self.in_flight_high {
            return;
        }
        self.probe.up_acked += sample.acked_sacked;
        if self.probe.up_acked >= self.probe.up_count {
            let delta = self.probe.up_acked / self.probe.up_count;
            self.probe.up_acked -= delta * self.probe.up_count;
            self.in_flight_high = self.in_flight_high.saturating_add(delta);
        }
        if self.core.round_start {
            self.raise_slope(window);
        }
    }

    /// Handles a probe that went too far: once per probe, the upper bound falls to the segments in
    /// flight at that point.
    pub(super) fn too_high(
        &mut self,
        window: &Window,
        now: u64,
        delivered: u32,
        tx_in_flight: u32,
        app_limited: bool,
    ) {
        self.probe.too_high = true;
        self.probe.samples = false;
        if !app_limited {
            self.in_flight_high =
                tx_in_flight.max(scaled(self.target_in_flight(window), UNIT - BETA));
        }
        if self.is_in(Phase::Up) {
            self.start_down(now, delivered);
        }
    }

    /// Adapts the upper bound. Returns true if the phase has changed.
    pub(super) fn adapt_upper_bound(
        &mut self,
        window: &Window,
        ack: &Ack,
        sample: &Sample,
        delivered: u32,
    ) -> bool {
        if self.probe.acks == Acks::ProbeStarting && self.core.round_start {
            self.probe.acks = Acks::ProbeFeedback;
        }
        if self.probe.acks == Acks::ProbeStopping && self.core.round_start {
            self.probe.samples = false;
            self.probe.acks = Acks::Ordinary;
            if self.core.mode == Mode::ProbeBandwidth {
                // The last segments of the probe have arrived: the previous cycle may be forgotten.
                if !sample.app_limited && self.bandwidth_high[1] > 0 {
                    self.bandwidth_high = [self.bandwidth_high[1], 0];
                }
                // The probe stopped at the bound without losses: continue beyond it.
                if self.probe.stopped_at_bound && !self.probe.too_high {
                    self.start_refill(0, delivered);
                    return true;
                }
            }
        }
        if self.is_too_high(sample.lost, sample.tx_in_flight, sample) {
            if self.probe.samples {
                self.too_high(window, ack.now, delivered, sample.tx_in_flight, sample.app_limited);
            }
        } else if self.in_flight_high != UNBOUNDED {
            self.in_flight_high = self.in_flight_high.max(sample.tx_in_flight);
            if self.is_in(Phase::Up) {
                self.raise_upper_bound(window, sample);
            }
        }
        false
    }

    pub(super) fn starts_to_probe(&mut self, window: &Window, ack: &Ack, delivered: u32) -> bool {
        if self.ecn.eligible
            && self.signals.ecn_in_cycle
            && !self.signals.loss_in_cycle
            && ack.state == State::Open
        {
            // The marks have ceased: probe soon, with a first step of half the bound.
            let step = scaled(self.in_flight_high, REPROBE_GAIN).max(1);
            self.start_refill(step.ilog2(), delivered);
            return true;
        }
        // Probe as often as a Reno flow with this window would have a loss, but at least every few
        // seconds.
        let rounds = PROBE_MOST_ROUNDS.min(self.target_in_flight(window));
        if ack.now > self.phase_since + self.probe.wait || self.probe.rounds_since >= rounds {
            self.start_refill(0, delivered);
            return true;
        }
        false
    }

    pub(super) fn update_phase(
        &mut self,
        window: &Window,
        ack: &Ack,
        sample: &Sample,
        found: u64,
        delivered: u32,
    ) {
        if !self.core.full.reached
            || self.adapt_upper_bound(window, ack, sample, delivered)
            || self.core.mode != Mode::ProbeBandwidth
        {
            return;
        }
        let in_flight = self.in_network(sample.prior_in_flight, sample, ack.now);
        match self.phase {
            Phase::Cruise => {
                self.starts_to_probe(window, ack, delivered);
            }
            Phase::Refill => {
                if self.core.round_start {
                    self.probe.samples = true;
                    self.start_up(window, ack.now, found, delivered);
                }
            }
            Phase::Up => {
                let mut done = false;
                if self.probe.too_high && in_flight >= self.in_flight_high {
                    self.probe.stopped_at_bound = true;
                    done = true;
                } else if sample.window_limited && window.cwnd >= self.in_flight_high {
                    // The bound limits the rate.
                    self.core.full.restart(found);
                } else if self.core.full.now {
                    done = true;
                }
                if done {
                    self.probe.too_high = false;
                    self.start_down(ack.now, delivered);
                }
            }
            Phase::Down => {
                if self.starts_to_probe(window, ack, delivered) {
                    return;
                }
                if in_flight <= self.with_headroom()
                    && in_flight <= self.in_flight_at(self.bandwidth())
                {
                    self.start_cruise();
                }
            }
        }
    }

    /// Returns the upper bound minus the headroom for other flows.
    pub(super) fn with_headroom(&self) -> u32 {
        if self.in_flight_high == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = scaled(self.in_flight_high, HEADROOM).max(1);
        self.in_flight_high.saturating_sub(headroom).max(MIN_WINDOW)
    }
}
