//! The sender's single timer, used for retransmission (RFC 6298), tail loss probes (RFC 8985 §7),
//! reordering (§6.2), a closed receive window, and SYNs.

use super::acknowledgement::AckIn;
use super::clock::{Timer, expiry};
use super::sender::{Cause, Sender};
use crate::congestion::{Controller, State};
use crate::spec::{Recovery, TcpConfig};

/// Linux's minimum for a probe or a reordering timer: 2 ms.
const LEAST: u64 = 2_000_000_000;

/// Action that an expired timer requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// Look for segments to send.
    Pump(Cause),
    /// Look for segments to send after the retransmission timer expired.
    TimedOut(Cause),
    /// Retransmit the SYN.
    Syn,
    /// Give up the connection: the SYN or a segment has used up its retransmissions.
    InVain,
    /// Ask the receiver for its window.
    AskWindow,
}

impl Sender {
    /// Sets the timer after a SYN was sent.
    pub fn syn_sent(&mut self, now: u64, config: &TcpConfig) {
        self.last_sent = now;
        self.timer = Timer::Retransmit;
        self.deadline = expiry(now, self.rtt.timeout(config), config);
    }

    /// Returns the time in ps at which the sender must be woken; 0 for never.
    #[inline(always)]
    pub fn wake(&self) -> u64 {
        match (self.deadline, self.pace_wait) {
            (timer, 0) => timer,
            (0, pace) => pace,
            (timer, pace) => timer.min(pace),
        }
    }

    /// Wakes the sender, because of its pace or its timer.
    pub fn on_wake(&mut self, now: u64, config: &TcpConfig) -> Expired {
        if self.pace_wait != 0 && self.pace_wait <= now {
            self.pace_wait = 0;
            return Expired::Pump(if self.in_line { Cause::Line } else { Cause::Pace });
        }
        self.on_timer(now, config)
    }

    /// Handles the expired timer.
    fn on_timer(&mut self, now: u64, config: &TcpConfig) -> Expired {
        self.new_only = false;
        if !self.connected() {
            if config.syn_retries.is_some_and(|most| self.timeouts >= most.into()) {
                return Expired::InVain;
            }
            self.syn_lost(now);
            return Expired::Syn;
        }
        match self.timer {
            Timer::Probe => {
                self.send_probe(now, config);
                Expired::Pump(Cause::Timeout)
            }
            Timer::Reordering => {
                self.set_retransmit(now, config);
                self.newly_lost = false;
                self.mark_late(now, config);
                if self.newly_lost {
                    self.after_reordering(now, config);
                }
                Expired::Pump(Cause::Timeout)
            }
            Timer::Persist => {
                self.rtt.back_off();
                self.requested_at = now;
                self.deadline = expiry(now, self.rtt.timeout(config), config);
                Expired::AskWindow
            }
            Timer::Retransmit | Timer::None => {
                if self.is_in_vain(now, config) {
                    return Expired::InVain;
                }
                let cause = self.time_out(now, config);
                self.timer = Timer::Retransmit;
                self.deadline = expiry(now, self.rtt.timeout(config), config);
                Expired::TimedOut(cause)
            }
        }
    }

    /// Counts a time-out. Returns true if the oldest segment has used up its retransmissions.
    fn is_in_vain(&mut self, now: u64, config: &TcpConfig) -> bool {
        let una = self.una;
        config.retries.is_some_and(|retries| self.vain.count(now, una, retries))
    }

    /// Sets the timer after an acknowledgement. `news`: it reported progress.
    #[inline]
    pub(super) fn set_timer(&mut self, now: u64, news: bool, config: &TcpConfig) {
        if news {
            self.probe = false;
        }
        if self.una == self.next {
            self.deadline = 0;
            self.timer = Timer::None;
        } else if news
            && !self.waiting()
            && !(config.tail_probe && self.set_probe(now, true, config))
        {
            self.set_retransmit(now, config);
        }
    }

    /// Sets the timer after a segment was sent. `first`: nothing was outstanding before. `head`:
    /// the segment is the oldest outstanding one.
    #[inline]
    pub(super) fn sent_one(
        &mut self,
        now: u64,
        first: bool,
        retransmission: bool,
        head: bool,
        config: &TcpConfig,
    ) {
        if !config.tail_probe {
            if self.deadline == 0 || self.timer == Timer::Persist {
                self.set_retransmit(now, config);
            }
        } else if retransmission {
            if head || self.timer == Timer::None {
                self.timer = Timer::None;
                self.set_retransmit(now, config);
            }
        } else if !self.waiting()
            && !self.set_probe(now, false, config)
            && (first || matches!(self.timer, Timer::None | Timer::Persist))
        {
            self.set_retransmit(now, config);
        }
    }

    /// Starts the persist timer if data are left but nothing is outstanding, because the receive
    /// window is closed. If the announcement of the open window is lost, the sender asks for it
    /// (RFC 9293 §3.8.6.1).
    pub(super) fn persist(&mut self, now: u64, config: &TcpConfig) {
        if self.deadline == 0
            && self.next == self.una
            && self.next < self.segments
            && self.connected()
        {
            self.timer = Timer::Persist;
            self.deadline = expiry(now, self.rtt.timeout(config), config);
        }
    }

    /// True if the timer is set for late segments that can still arrive.
    fn waiting(&self) -> bool {
        self.timer == Timer::Reordering && self.rack.as_ref().is_some_and(|rack| rack.waiting)
    }

    /// Sets the retransmission timer. If it replaces a probe or reordering timer, the time-out
    /// counts from when the oldest segment was sent (Linux tcp_rearm_rto).
    fn set_retransmit(&mut self, now: u64, config: &TcpConfig) {
        let mut wait = self.rtt.timeout(config);
        if matches!(self.timer, Timer::Probe | Timer::Reordering) {
            wait = (self.board[self.una].sent() + wait).saturating_sub(now).max(1);
        }
        self.timer = Timer::Retransmit;
        self.deadline = expiry(now, wait, config);
    }

    /// Sets the timer for a tail loss probe (RFC 8985 §7.2 with Linux's numbers). Returns false if
    /// a probe is not appropriate.
    fn set_probe(&mut self, now: u64, advancing: bool, config: &TcpConfig) -> bool {
        if !matches!(self.state, State::Open | State::Reduced)
            || self.una == self.next
            || self.sacked > 0
            || config.recovery == Recovery::NewReno
        {
            return false;
        }
        let smoothed = self.rtt.smoothed();
        let timeout = self.rtt.timeout(config);
        let mut wait = timeout;
        if smoothed > 0 {
            // With one outstanding segment, the receiver may delay the acknowledgement.
            wait = 2 * smoothed + if self.next - self.una == 1 { config.min_rto.0 } else { LEAST };
        }
        // The probe is never later than the retransmission time-out, which counts from when the
        // oldest segment was sent.
        let left = if advancing {
            timeout
        } else {
            (self.board[self.una].sent() + timeout).saturating_sub(now)
        };
        if left > 0 {
            wait = wait.min(left);
        }
        self.timer = Timer::Probe;
        self.deadline = expiry(now, wait, config);
        true
    }

    /// Requests a tail loss probe, unless one is outstanding (RFC 8985 §7.3).
    fn send_probe(&mut self, now: u64, config: &TcpConfig) {
        match &self.rack {
            // The transmission of the probe sets the timer again. The pace may hold the probe back
            // until then.
            Some(rack) if rack.probe_high == 0 && self.next > self.una => {
                self.probe = true;
                self.deadline = 0;
            }
            _ => self.set_retransmit(now, config),
        }
    }

    pub(super) fn probe_sent(&mut self, now: u64, repeats: bool, config: &TcpConfig) {
        if let Some(rack) = &mut self.rack {
            rack.probe_high = self.next;
            rack.probe_repeats = repeats;
        }
        // RFC 8985 §7.3: the time-out counts from now.
        self.timer = Timer::None;
        self.set_retransmit(now, config);
    }

    pub(super) fn forget_probe(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.probe_high = 0;
        }
    }

    /// Evaluates the acknowledgement of a probe (RFC 8985 §7.4). If the probe repaired a loss, the
    /// window is reduced for it.
    pub(super) fn after_probe(&mut self, now: u64, ack: &AckIn, news: bool) {
        let una = self.una;
        let Some(rack) = &mut self.rack else { return };
        if rack.probe_high == 0 {
            return;
        }
        if una < rack.probe_high {
            return;
        }
        if !rack.probe_repeats || ack.duplicate {
            rack.probe_high = 0;
        } else if una > rack.probe_high {
            rack.probe_high = 0;
            if self.state == State::Open {
                self.window.ssthresh = self.control.on_loss(&self.window, now);
                // A control that models the path sets the window itself.
                if self.sampler.is_none() {
                    self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
                }
                self.window.credit = 0;
                // The reduction is a regular one, although it ends at once (Linux
                // tcp_process_tlp_ack).
                self.send_cwr = true;
                self.control.on_state(State::Reduced, &mut self.window, now);
                self.control.on_state(State::Open, &mut self.window, now);
            }
        } else if !news {
            // Both the original and the probe have arrived.
            rack.probe_high = 0;
        }
    }

    /// Sets the reordering timer: some segments are late but not yet lost, and are checked again
    /// after `wait` ps.
    pub(super) fn wait_for_reordering(&mut self, now: u64, wait: u64, config: &TcpConfig) {
        self.timer = Timer::Reordering;
        // Linux adds its minimum to this timer, because it counts in ticks.
        let least = if config.tick.0 > 0 { LEAST } else { 1 };
        self.deadline = expiry(now, wait + least, config);
    }
}
