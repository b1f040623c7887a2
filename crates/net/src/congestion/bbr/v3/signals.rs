//! Congestion signals: losses and marks end start-up, and lower the bounds while not probing.

use super::super::super::{Ack, Sample, State, Window};
use super::super::arithmetic::{UNIT, scaled};
use super::*;

impl Bbr3 {
    /// Updates the fraction of marked segments, once per round.
    pub(super) fn update_alpha(&mut self, delivered: u32) {
        if !self.ecn.eligible && self.reacts_to_marks && self.core.min_rtt.value <= ECN_MAX_RTT {
            self.ecn.eligible = true;
        }
        let acked = delivered - self.ecn.delivered_before;
        if !self.ecn.eligible || acked == 0 {
            return;
        }
        let share = (((self.ecn.marked - self.ecn.marked_before) as u64 * UNIT as u64)
            / acked as u64) as u32;
        self.ecn.alpha =
            (scaled(self.ecn.alpha, UNIT - ECN_GAIN) + scaled(share, ECN_GAIN)).min(UNIT);
        self.ecn.delivered_before = delivered;
        self.ecn.marked_before = self.ecn.marked;
        if !self.core.full.reached {
            self.ecn.startup_rounds =
                if share >= ECN_THRESHOLD { self.ecn.startup_rounds + 1 } else { 0 };
            if self.ecn.startup_rounds >= FULL_ECN_ROUNDS {
                self.queue_too_high_in_startup();
            }
        }
    }

    pub(super) fn queue_too_high_in_startup(&mut self) {
        self.core.full.reached = true;
        self.in_flight_high =
            self.in_flight_at(self.bandwidth()).max(self.signals.in_flight_latest);
    }

    pub(super) fn update_signals(&mut self, window: &Window, sample: &Sample, found: u64) {
        if !sample.app_limited || found >= self.bandwidth() {
            self.bandwidth_high[1] = self.bandwidth_high[1].max(found);
        }
        self.signals.loss_in_round |= sample.losses > 0;
        if self.signals.loss_round_start {
            self.adapt_lower_bounds(window);
            self.signals.loss_in_round = false;
            self.signals.ecn_in_round = false;
        }
    }

    /// Lowers the bounds after losses and marks while not probing, but not below what still
    /// arrives.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.is_probing() {
            return;
        }
        let mut by_ecn = UNBOUNDED;
        if self.signals.ecn_in_round {
            if self.in_flight_low == UNBOUNDED {
                self.in_flight_low = window.cwnd;
            }
            by_ecn = scaled(self.in_flight_low, UNIT - scaled(self.ecn.alpha, ECN_FACTOR));
        }
        if self.signals.loss_in_round {
            if self.bandwidth_low == u64::MAX {
                self.bandwidth_low = self.bandwidth();
            }
            if self.in_flight_low == UNBOUNDED {
                self.in_flight_low = window.cwnd;
            }
            self.bandwidth_low =
                self.signals.bandwidth_latest.max((self.bandwidth_low * (UNIT - BETA) as u64) >> 8);
            self.in_flight_low =
                self.signals.in_flight_latest.max(scaled(self.in_flight_low, UNIT - BETA));
        }
        self.in_flight_low = self.in_flight_low.min(by_ecn);
        self.bandwidth_low = self.bandwidth_low.max(1);
    }

    pub(super) fn reset_lower_bounds(&mut self) {
        self.bandwidth_low = u64::MAX;
        self.in_flight_low = UNBOUNDED;
    }

    pub(super) fn reset_signals(&mut self) {
        self.signals.loss_in_round = false;
        self.signals.ecn_in_round = false;
        self.signals.loss_in_cycle = false;
        self.signals.ecn_in_cycle = false;
        self.signals.bandwidth_latest = 0;
        self.signals.in_flight_latest = 0;
    }

    pub(super) fn check_losses_in_startup(&mut self, ack: &Ack, sample: &Sample) {
        if self.core.full.reached {
            return;
        }
        if sample.losses > 0 {
            self.signals.losses_in_round = (self.signals.losses_in_round + 1).min(15);
        }
        if !self.signals.loss_round_start {
            return;
        }
        if ack.state == State::Recovery
            && self.signals.losses_in_round >= FULL_LOSSES
            && self.is_too_high(sample.lost, sample.tx_in_flight, sample)
        {
            self.queue_too_high_in_startup();
        } else {
            self.signals.losses_in_round = 0;
        }
    }

    /// True if more than 2 % of the segments in flight were lost, or more than half of them marked.
    pub(super) fn is_too_high(&self, lost: u32, tx_in_flight: u32, sample: &Sample) -> bool {
        if lost > 0 && tx_in_flight > 0 && lost > scaled(tx_in_flight, LOSS_THRESHOLD) {
            return true;
        }
        self.ecn.eligible
            && sample.marked > 0
            && sample.delivered > 0
            && sample.marked > scaled(sample.delivered, ECN_THRESHOLD)
    }

    /// Returns the segments in flight at which the fraction of losses exceeded the threshold.
    pub(super) fn bound_from_loss(lost: &Lost) -> u32 {
        let (before, lost_before) = (lost.tx_in_flight - 1, (lost.lost - 1) as u64);
        let budget = (before as u64 * LOSS_THRESHOLD as u64).div_ceil(UNIT as u64);
        let prefix =
            budget.saturating_sub(lost_before) * UNIT as u64 / (UNIT - LOSS_THRESHOLD) as u64;
        before + prefix as u32
    }
}
