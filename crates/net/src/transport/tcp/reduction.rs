//! Window reductions after a loss, an ECN echo or a time-out, and the return from them: recovery
//! with proportional rate reduction (RFC 6937), verification of time-outs (F-RTO, RFC 5682), and
//! undo of unnecessary reductions (RFC 3522).

use super::acknowledgement::{AckIn, News};
use super::scoreboard::Segment;
use super::sender::{Cause, Sender};
use crate::congestion::{Controller, State};
use crate::spec::{Manner, Recovery, TcpConfig};

impl Sender {
    pub(super) fn enter_recovery(&mut self, now: u64, ece: bool, config: &TcpConfig) {
        // A reduction that an ECN echo has started is not repeated for the same window, unless the
        // control wants a deeper one after a loss (DCTCP).
        let reducing = self.state == State::Reduced;
        if config.undo {
            self.undo = (!reducing && !ece).then_some((self.window.cwnd, self.window.ssthresh));
            self.episode = self.next;
            self.repeated_since = 0;
        }
        let threshold = if reducing {
            self.control.on_loss_after_echo(&self.window)
        } else {
            Some(self.control.on_loss(&self.window, now))
        };
        if reducing && config.proportional_reduction {
            self.window.ssthresh = threshold.unwrap_or(self.window.ssthresh);
            self.state = State::Recovery;
            self.control.on_state(State::Recovery, &mut self.window, now);
        } else {
            let ssthresh = threshold.unwrap_or(self.window.cwnd);
            self.reduce(ssthresh, State::Recovery, now, config);
        }
        self.resend_from = self.una;
        // RFC 6675 §5 (4.3), RFC 6582 §3.2 step 3: the first retransmission does not wait for the pipe to drain.
        self.at_once = !config.proportional_reduction;
    }

    /// True if the current state ends. An ECN reduction lasts until a segment sent after it is
    /// acknowledged: only then has the receiver seen the CWR, and only from then on do echoes refer
    /// to the reduced window. Without SACK a loss recovery lasts as long. Otherwise duplicates of
    /// segments that a time-out retransmitted unnecessarily would look like another loss (RFC 6582
    /// §4.1; Linux tcp_try_undo_recovery).
    pub(super) fn is_over(&self, config: &TcpConfig) -> bool {
        let beyond = self.state == State::Reduced || config.recovery == Recovery::NewReno;
        self.una > self.high || (self.una == self.high && !beyond)
    }

    pub(super) fn leave(&mut self, now: u64, config: &TcpConfig) {
        if config.proportional_reduction
            && self.sampler.is_none()
            && self.reducing()
            && self.window.ssthresh < u32::MAX
        {
            self.window.cwnd = self.window.ssthresh.min(self.window.limit);
        }
        self.undo = None;
        self.checking = false;
        self.adapted = now;
        self.state = State::Open;
        self.control.on_state(State::Open, &mut self.window, now);
    }

    /// Lowers the threshold, and the window either at once or step by step. The window never rises
    /// here, although a threshold of two segments can be above it.
    pub(super) fn reduce(&mut self, ssthresh: u32, state: State, now: u64, config: &TcpConfig) {
        self.window.ssthresh = ssthresh;
        if config.proportional_reduction {
            self.prior_cwnd = self.window.cwnd;
            self.delivered_since = 0;
            self.sent_since = 0;
        } else if self.sampler.is_none() {
            self.window.cwnd = self.window.cwnd.min(ssthresh);
        }
        // RFC 3168 §6.1.2: every reduction is announced, so that the receiver's echo ends.
        self.send_cwr = true;
        self.window.credit = 0;
        self.state = state;
        self.high = self.next;
        self.forget_probe();
        self.control.on_state(state, &mut self.window, now);
    }

    /// Sets the window to the segments in flight plus those that may be sent now (RFC 6937, with
    /// the slow start of Linux).
    pub(super) fn pace_reduction(&mut self, delivered: u32, advanced: bool) {
        if delivered == 0 || self.prior_cwnd == 0 {
            // No segment has left the network. The first retransmission of a recovery is sent
            // nevertheless.
            if self.sent_since == 0 && self.state == State::Recovery && self.unrepeated > 0 {
                self.window.cwnd = self.window.cwnd.max(self.pipe() + 1);
            }
            return;
        }
        let pipe = self.pipe();
        self.delivered_since += delivered;
        let ssthresh = self.window.ssthresh;
        let mut send = if pipe > ssthresh {
            let due =
                (ssthresh as u64 * self.delivered_since as u64).div_ceil(self.prior_cwnd as u64);
            due as i64 - self.sent_since as i64
        } else {
            let mut send =
                (self.delivered_since as i64 - self.sent_since as i64).max(delivered as i64);
            if advanced && !self.newly_lost {
                send += 1;
            }
            send.min((ssthresh - pipe) as i64)
        };
        send = send.max((self.sent_since == 0) as i64);
        self.window.cwnd = (pipe as i64 + send).max(1) as u32;
    }

    /// Verifies a time-out whose first retransmission has been acknowledged (RFC 5682 with SACK).
    pub(super) fn check_timeout(&mut self, now: u64, acked: u32, news: &News, config: &TcpConfig) {
        if news.lowest_original < self.high {
            // An original has arrived, so the time-out was spurious.
            return self.undo_reduction(now);
        }
        if self.next > self.high {
            if news.sacked > 0 || acked == 0 {
                self.checking = false;
            }
        } else if acked > 0 {
            self.high = self.next;
            if self.next < self.segments && self.next < self.window_end(config) {
                self.new_only = true;
            } else {
                self.checking = false;
            }
        }
    }

    /// True if the acknowledgement covers a retransmitted segment, but an original caused it (RFC
    /// 3522). The reduction was then unnecessary.
    pub(super) fn was_needless(&self, ack: &AckIn) -> bool {
        !ack.repeated && ack.trigger < self.episode && self.repeated_since > 0
    }

    /// Undoes an unnecessary reduction: restores the window, the threshold and the open state.
    pub(super) fn undo_reduction(&mut self, now: u64) {
        let Some((cwnd, ssthresh)) = self.undo.take() else { return };
        for seq in self.una..self.next {
            self.board[seq].unset(Segment::LOST);
        }
        (self.lost, self.unrepeated) = (0, 0);
        if self.state == State::Loss {
            // Check all segments that have not arrived for loss again, because the time-out said
            // nothing about them.
            self.lost_below = self.una;
        }
        let kept =
            self.sampler.as_ref().and_then(|sampler| self.control.on_undo(&self.window, sampler));
        self.window.cwnd = self.window.cwnd.max(kept.unwrap_or(cwnd));
        self.window.ssthresh = self.window.ssthresh.max(ssthresh);
        self.checking = false;
        self.new_only = false;
        self.send_cwr = false;
        self.adapted = now;
        self.state = State::Open;
        self.control.on_state(State::Open, &mut self.window, now);
    }

    /// Enters recovery after the reordering timer has expired and found lost segments.
    pub(super) fn after_reordering(&mut self, now: u64, config: &TcpConfig) {
        if matches!(self.state, State::Open | State::Reduced) {
            self.enter_recovery(now, false, config);
            if config.proportional_reduction && self.sampler.is_none() {
                self.pace_reduction(1, false);
            }
        }
    }

    /// Handles the expiry of the retransmission timer: all segments that have not arrived are
    /// considered lost.
    pub(super) fn time_out(&mut self, now: u64, config: &TcpConfig) -> Cause {
        self.timeouts += 1;
        // The threshold falls once per window (RFC 5681 §3.1; Linux tcp_enter_loss). It does not
        // fall at each back-off, nor if fast recovery or an echo has already lowered it for this
        // window. But after a time-out, a retransmitted segment can have been lost again.
        let fresh = matches!(self.state, State::Open | State::Reduced) || self.rtt.backed_off();
        let ns3 = config.manner == Manner::Ns3;
        if ns3 {
            self.control.on_flight(self.pipe());
            self.time_out_as_ns3();
        }
        if self.state == State::Open
            || self.una >= self.high
            || ns3
            || (self.state == State::Loss && !self.rtt.backed_off())
        {
            if config.undo {
                self.undo = Some((self.window.cwnd, self.window.ssthresh));
            }
            self.window.ssthresh = self.control.on_timeout(&self.window, now);
        }
        self.episode = self.next;
        self.repeated_since = 0;
        self.checking = config.undo && fresh && config.recovery != Recovery::NewReno;
        if !ns3 {
            self.send_cwr = true;
            self.window.credit = 0;
        }
        if config.recovery == Recovery::NewReno {
            self.sacked = 0;
        }
        self.mark_all_lost(now, config);
        // One segment, in addition to those that RACK does not consider lost yet.
        self.window.cwnd = self.pipe() + 1;
        self.duplicates = 0;
        self.state = State::Loss;
        self.high = self.next;
        self.forget_probe();
        self.control.on_state(State::Loss, &mut self.window, now);
        self.rtt.back_off();
        Cause::Timeout
    }
}
