//! Choice of the segment that the sending half of TCP transmits next.

use super::scoreboard::Segment;
use super::sender::{Cause, Sender};
use crate::congestion::{Controller, State};
use crate::probe::explain::Label;
use crate::spec::{Burst, EcnMode, Manner, Recovery, TcpConfig};

/// Segment to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub retransmission: bool,
    /// True if the window was reduced and the segment tells the receiver so (CWR).
    pub cwr: bool,
}

impl Sender {
    /// Waits until `at`, because the pace or the host's transmit queue holds the next segment back.
    fn hold_until(&mut self, now: u64, at: u64, config: &TcpConfig) {
        self.pace_wait = if self.has_work(config) { at } else { 0 };
        // The congestion window can be full nevertheless, or the receive window closed.
        let full = self.pipe() >= self.window.cwnd;
        if full || self.last_sent == now {
            self.validate(now, full, config);
        }
        if self.pace_wait == 0 {
            self.persist(now, config);
        }
    }

    /// Returns the next segment to send now, if pace, transmit queue and window allow one.
    #[inline]
    pub fn transmit(&mut self, now: u64, cause: Cause, config: &TcpConfig) -> Option<Transmit> {
        self.fill_send_buffer(config);
        if self.pace_at > now && self.burst == 0 && !(self.at_once && config.manner == Manner::Ns3)
        {
            self.in_line = false;
            self.hold_until(now, self.pace_at, config);
            return None;
        }
        if let Some(at) = self.waits_for_host_queue(now, config) {
            self.in_line = true;
            self.hold_until(now, at, config);
            return None;
        }
        let (seq, retransmission) = self.choose(now, config)?;
        self.pace(now, config);
        let time = if self.is_last(seq) { self.idle.slowest_last } else { self.idle.slowest_full };
        let mut paced = now;
        if let Some(why) = &mut self.why {
            let recovering = self.was_recovering
                || retransmission
                || matches!(self.state, State::Recovery | State::Loss);
            let label = match cause {
                _ if recovering => Label::Recovery,
                Cause::Ack { .. } => Label::Window,
                Cause::Start => Label::Application,
                Cause::Timeout => Label::Recovery,
                Cause::Pace => Label::Pacing,
                // The whole wait is charged to queueing: the excess below has no limit.
                Cause::Line => Label::Window,
            };
            let excess = match cause {
                Cause::Ack { excess } if !recovering => excess,
                Cause::Line if !recovering => {
                    why.stood(0);
                    why.waited_at_host(u64::MAX);
                    u64::MAX
                }
                _ => 0,
            };
            // True for the first segments of a flow that starts behind others on the connection.
            let passes = cause == Cause::Start && seq >= self.current.to && !retransmission;
            paced = if passes {
                why.passed(now, time)
            } else {
                why.on_sent(now, label, excess, time, retransmission)
            };
        }
        let first = self.next == self.una;
        let probe = std::mem::take(&mut self.probing);
        let pipe = self.pipe();
        if let Some(sampler) = &mut self.sampler {
            sampler.on_send(seq, now, self.una, self.next, pipe);
        }
        if retransmission {
            let segment = &mut self.board[seq];
            self.unrepeated -= (segment.has(Segment::LOST) && !segment.has(Segment::RESENT)) as u32;
            // A probe can retransmit a segment whose earlier retransmission is still in flight.
            self.resent += !segment.has(Segment::RESENT) as u32;
            segment.resend(now, paced);
            self.retransmitted += 1;
            self.repeated_since += 1;
            if !probe {
                self.resend_from = seq + 1;
            }
            if config.recovery == Recovery::Rack
                && let Some(rack) = &mut self.rack
            {
                rack.repeated.push_back((seq, now));
            }
        } else {
            self.board.reserve(self.una, self.next);
            self.board[seq] = Segment::new(now, paced);
            self.next += 1;
        }
        self.sent_since += 1;
        self.sent += 1;
        self.last_sent = now;
        if probe {
            self.probe_sent(now, retransmission, config);
        } else {
            self.sent_one(now, first, retransmission, seq == self.una, config);
        }
        let cwr = !retransmission && std::mem::take(&mut self.send_cwr) && self.ecn != EcnMode::Off;
        if config.manner == Manner::Ns3 {
            self.limited = self.window.cwnd <= self.pipe();
            if cwr {
                self.answer_echo(seq);
            }
        }
        Some(Transmit { seq, retransmission, cwr })
    }

    /// Returns the segment that may be sent now, and whether it is a retransmission.
    #[inline]
    pub(super) fn choose(&mut self, now: u64, config: &TcpConfig) -> Option<(u32, bool)> {
        let pipe = self.pipe();
        if std::mem::take(&mut self.probe) {
            // A tail loss probe ignores the window. It carries new data if there are any, otherwise
            // the last segment again.
            self.probing = true;
            let new = self.next < self.segments && self.next < self.window_end(config);
            return Some(if new { (self.next, false) } else { (self.next - 1, true) });
        }
        if config.manner == Manner::Ns3 && config.recovery != Recovery::Rack {
            let chosen = self.choose_as_ns3(config);
            if chosen.is_none() {
                self.persist(now, config);
            }
            return chosen;
        }
        let at_once = std::mem::take(&mut self.at_once) && self.unrepeated > 0;
        if pipe >= self.window.cwnd && !at_once {
            self.validate(now, true, config);
            return None;
        }
        if self.unrepeated > 0
            && !self.new_only
            && let Some(seq) = self.next_lost()
        {
            return Some((seq, true));
        }
        let end = self.segments.min(self.window_end(config));
        if self.next < end && self.connected {
            if config.burst != Burst::Segments(1) && self.defers(now, pipe, end, config) {
                return None;
            }
            return Some((self.next, false));
        }
        self.validate(now, false, config);
        self.persist(now, config);
        None
    }

    pub(super) fn next_lost(&mut self) -> Option<u32> {
        let mut seq = self.resend_from.max(self.una);
        while seq < self.next {
            let segment = &self.board[seq];
            if segment.has(Segment::LOST) && !segment.has(Segment::RESENT) {
                return Some(seq);
            }
            seq += 1;
        }
        self.resend_from = seq;
        None
    }

    /// Records for a round trip whether the window was the limit (Linux tcp_cwnd_validate).
    #[inline]
    pub(super) fn validate(&mut self, now: u64, limited: bool, config: &TcpConfig) {
        let out = self.next - self.una;
        if self.una >= self.limited_until || limited || (!self.limited && out > self.most_out) {
            self.limited = limited;
            self.most_out = out;
            self.limited_until = self.next;
        }
        if self.is_limited() {
            (self.used, self.adapted) = (0, now);
        } else if self.last_sent == now {
            self.used = self.used.max(out);
            if config.idle_restart && now - self.adapted >= self.rtt.single_timeout() {
                self.adapt(config);
                (self.used, self.adapted) = (0, now);
            }
        }
    }

    /// Lowers a window that the application has not used for a time-out, half of the way to what it
    /// has used (Linux tcp_cwnd_application_limited). An application that waits for room in the send
    /// buffer does not count.
    fn adapt(&mut self, config: &TcpConfig) {
        let waits = self.send_memory.to < self.segments;
        let used = self.used.max(config.initial_window);
        if self.state == State::Open && self.sampler.is_none() && !waits && used < self.window.cwnd
        {
            self.window.ssthresh = self.window.kept();
            self.window.cwnd = (self.window.cwnd + used) / 2;
        }
    }

    /// True if the window limits the sender (Linux tcp_is_cwnd_limited).
    pub(super) fn is_limited(&self) -> bool {
        self.limited || (self.window.slow_start() && self.window.cwnd < 2 * self.most_out)
    }

    /// True if the network is known to reorder by more segments than the loss threshold of 3.
    pub(super) fn disorder_is_usual(&self) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.reordering > 3)
    }

    /// Shrinks the window after nothing was sent for longer than the time-out (Linux
    /// tcp_cwnd_restart). The window is halved once per time-out down to the initial window, and
    /// the threshold keeps at least three quarters of the old one.
    pub fn restart(&mut self, now: u64, config: &TcpConfig) {
        let idle = now - self.last_sent;
        if self.next != self.una {
            return;
        }
        // With kernel ticks, a time-out is a whole number of ticks, and so is a pause.
        let (pause, timeout) = match config.tick.0 {
            0 => (idle, self.rtt.single_timeout()),
            tick => (
                (now / tick - self.last_sent / tick) * tick,
                self.rtt.single_timeout().next_multiple_of(tick),
            ),
        };
        // A control that models the path relies on its model (Linux
        // tcp_slow_start_after_idle_check).
        if config.idle_restart && pause > timeout && self.sampler.is_none() {
            if !self.reducing() {
                self.window.ssthresh = self.window.kept();
            }
            let floor = config.initial_window.min(self.window.cwnd);
            let mut left = pause - timeout;
            while left > 0 && self.window.cwnd > floor {
                self.window.cwnd = (self.window.cwnd / 2).max(floor);
                left = left.saturating_sub(timeout);
            }
            self.most_out = 0;
            self.limited_until = self.next;
            (self.used, self.adapted) = (0, now);
        }
        // Every pause is reported, for controls whose clock stops meanwhile (Linux
        // CA_EVENT_TX_START).
        self.control.on_restart(now, idle);
    }
}
