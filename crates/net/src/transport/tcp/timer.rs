//! The sender's one timer: retransmission (RFC 6298), tail loss probe (RFC 8985 §7), reordering (§6.2), and the SYN's.

use super::clock::{Timer, expiry};
use super::sender::{AckIn, Cause, Sender};
use crate::congestion::{Controller, State};
use crate::spec::{Recovery, TcpConfig};

/// Two milliseconds: Linux's least time for a probe or a reordering timer.
const LEAST: u64 = 2_000_000_000;

/// What an expired timer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// Look for something to send.
    Pump(Cause),
    /// The retransmission timer, likewise.
    TimedOut(Cause),
    /// The SYN is to be sent again.
    Syn,
    /// It has been sent in vain as often as it may be, or a segment has: the connection is over.
    InVain,
    /// The receiver is to be asked for its window.
    AskWindow,
}

impl Sender {
    /// A SYN has been sent.
    pub fn syn_sent(&mut self, now: u64, config: &TcpConfig) {
        self.last_sent = now;
        self.timer = Timer::Retransmit;
        self.deadline = expiry(now, self.rtt.timeout(config), config);
    }

    /// When the sender is to be woken; 0 for not at all.
    #[inline(always)]
    pub fn wake(&self) -> u64 {
        match (self.deadline, self.pace_wait) {
            (timer, 0) => timer,
            (0, pace) => pace,
            (timer, pace) => timer.min(pace),
        }
    }

    /// It is woken: by its pace, or by the timer.
    pub fn on_wake(&mut self, now: u64, config: &TcpConfig) -> Expired {
        if self.pace_wait != 0 && self.pace_wait <= now {
            self.pace_wait = 0;
            return Expired::Pump(if self.in_line { Cause::Line } else { Cause::Pace });
        }
        self.on_timer(now, config)
    }

    /// The timer has expired.
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
                self.asked_at = now;
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

    /// The oldest segment has been sent again as often as it may be; counts the time-out that this is if it has not.
    fn is_in_vain(&mut self, now: u64, config: &TcpConfig) -> bool {
        let una = self.una;
        config.retries.is_some_and(|retries| self.vain.count(now, una, retries))
    }

    /// After an acknowledgement that brought `news`.
    #[inline]
    pub(super) fn set_timer(&mut self, now: u64, news: bool, config: &TcpConfig) {
        if news {
            self.probe = false;
        }
        if self.una == self.next {
            self.deadline = 0;
            self.timer = Timer::None;
        } else if news && !self.waiting() && !(config.tail_probe && self.set_probe(now, true, config)) {
            self.set_retransmit(now, config);
        }
    }

    /// A segment has just been sent; `first` if nothing was outstanding, `head` if it is the oldest.
    #[inline]
    pub(super) fn sent_one(&mut self, now: u64, first: bool, retransmission: bool, head: bool, config: &TcpConfig) {
        if !config.tail_probe {
            if self.deadline == 0 || self.timer == Timer::Persist {
                self.set_retransmit(now, config);
            }
        } else if retransmission {
            if head || self.timer == Timer::None {
                self.timer = Timer::None;
                self.set_retransmit(now, config);
            }
        } else if !self.waiting() && !self.set_probe(now, false, config) && (first || matches!(self.timer, Timer::None | Timer::Persist)) {
            self.set_retransmit(now, config);
        }
    }

    /// Nothing is outstanding although there are data: the receive window is closed. Should its opening get lost, it is asked for
    /// (RFC 9293 §3.8.6.1).
    pub(super) fn persist(&mut self, now: u64, config: &TcpConfig) {
        if self.deadline == 0 && self.next == self.una && self.next < self.segments && self.connected() {
            self.timer = Timer::Persist;
            self.deadline = expiry(now, self.rtt.timeout(config), config);
        }
    }

    /// The timer is set for segments that may yet come.
    fn waiting(&self) -> bool {
        self.timer == Timer::Reordering && self.rack.as_ref().is_some_and(|rack| rack.waiting)
    }

    /// Where a probe or a reordering timer was set, the time-out counts from when the oldest segment was sent (Linux tcp_rearm_rto).
    fn set_retransmit(&mut self, now: u64, config: &TcpConfig) {
        let mut wait = self.rtt.timeout(config);
        if matches!(self.timer, Timer::Probe | Timer::Reordering) {
            wait = (self.board[self.una].sent() + wait).saturating_sub(now).max(1);
        }
        self.timer = Timer::Retransmit;
        self.deadline = expiry(now, wait, config);
    }

    /// RFC 8985 §7.2 with Linux's numbers; false where no probe is in order.
    fn set_probe(&mut self, now: u64, advancing: bool, config: &TcpConfig) -> bool {
        if !matches!(self.state, State::Open | State::Reduced) || self.una == self.next || self.sacked > 0 || config.recovery == Recovery::NewReno {
            return false;
        }
        let smoothed = self.rtt.smoothed();
        let timeout = self.rtt.timeout(config);
        let mut wait = timeout;
        if smoothed > 0 {
            // With one segment out its acknowledgement may be delayed.
            wait = 2 * smoothed + if self.next - self.una == 1 { config.min_rto.0 } else { LEAST };
        }
        // Never later than the retransmission timer, which counts from when the oldest segment was sent.
        let left = if advancing { timeout } else { (self.board[self.una].sent() + timeout).saturating_sub(now) };
        if left > 0 {
            wait = wait.min(left);
        }
        self.timer = Timer::Probe;
        self.deadline = expiry(now, wait, config);
        true
    }

    /// RFC 8985 §7.3: one probe at a time.
    fn send_probe(&mut self, now: u64, config: &TcpConfig) {
        match &self.rack {
            // Its sending sets the timer again; the pace may hold it back until then.
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

    /// RFC 8985 §7.4: what the acknowledgement of a probe tells. If the probe repaired a loss, the window has to be reduced for it.
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
                self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
                self.window.credit = 0;
                // A reduction like any other, though over at once (Linux tcp_process_tlp_ack).
                self.send_cwr = true;
                self.control.on_state(State::Reduced, &mut self.window, now);
                self.control.on_state(State::Open, &mut self.window, now);
            }
        } else if !news {
            // Both the original and the probe have arrived.
            rack.probe_high = 0;
        }
    }

    /// Some segments are late, not yet lost: look again after `wait`.
    pub(super) fn wait_for_reordering(&mut self, now: u64, wait: u64, config: &TcpConfig) {
        self.timer = Timer::Reordering;
        // Linux adds its least time for such a timer where it counts in ticks.
        let least = if config.tick.0 > 0 { LEAST } else { 1 };
        self.deadline = expiry(now, wait + least, config);
    }
}
