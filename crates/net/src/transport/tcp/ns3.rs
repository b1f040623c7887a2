//! Processing of acknowledgements as in ns-3's TcpSocketBase (3.48), where it departs from the RFCs
//! and from Linux.
//!
//! - A duplicate is an acknowledgement with new SACK blocks. The third one, or a hole below three
//!   SACKed segments, starts a recovery. The window then does not grow until an acknowledgement
//!   without new SACK blocks arrives.
//! - A retransmission is lost when a segment sent after it has been SACKed.
//! - In a recovery, an acknowledgement that advances and has new SACK blocks counts twice for
//!   proportional rate reduction. An acknowledgement that advances to a hole that is not
//!   retransmitted yet sends one segment whatever the window says. If there are no new data,
//!   segments below the highest SACKed one are retransmitted without being marked lost (RFC 6675's
//!   third rule). Only the first advancing acknowledgement restarts the retransmission timer.
//! - The acknowledgement that ends a recovery lets the window grow by all segments over which it
//!   advances.
//! - An ECN echo reduces the window by the same proportional rate reduction, also within a
//!   recovery.
//! - Only segments sent once and acknowledged in order give round-trip samples, one per
//!   acknowledgement.
//! - Without SACK, except after a time-out, each duplicate is taken for the arrival of the segment
//!   behind the last one guessed to have arrived. The guesses are kept when an acknowledgement
//!   advances. But a segment that becomes the oldest outstanding one cannot have arrived: it is
//!   lost, and its guess moves to the next segment. A time-out clears all guesses and retransmits
//!   everything. Segments that had arrived before then cause duplicates, which look like another
//!   loss. Proportional rate reduction counts each duplicate as one segment, until as many have
//!   been counted as were outstanding.

use super::acknowledgement::{AckIn, News};
use super::scoreboard::Segment;
use super::sender::Sender;
use crate::congestion::{Ack, Controller, Sample, SampleContext, State};
use crate::spec::{EcnMode, Manner, Recovery, TcpConfig};

/// Window growth that an acknowledgement allows.
#[derive(Debug, Clone, Copy)]
struct AllowedGrowth {
    segments: u32,
    grows: bool,
}

impl Sender {
    pub(super) fn take_as_ns3(&mut self, now: u64, ack: &AckIn, config: &TcpConfig) {
        let cumulative = ack.cumulative.min(self.next);
        let (before, lost_before) = (self.una, self.lost);
        self.ns3.note_least(self.rtt.smoothed());
        if cumulative > before && !self.board[before].has(Segment::AMBIGUOUS) {
            let sent = self.board[before].sent();
            self.rtt.sample(now - sent, cumulative, self.next, config);
            self.note_round_trip(now - sent);
            self.ns3.note_least(self.rtt.smoothed());
        }
        let mut news = News::default();
        let guessing = config.recovery == Recovery::NewReno;
        let duplicate = if guessing {
            cumulative == before && before < self.next
        } else {
            for &(from, to) in ack.blocks {
                self.take_block(now, from, to, &mut news);
            }
            if news.sacked > 0 {
                self.lose_repetitions(news.last_sent);
                self.lose_below(config);
            }
            news.sacked > 0
        };
        if cumulative < before {
            return;
        }
        let safe = self.state == State::Recovery
            && cumulative < self.high
            && (before..cumulative).any(|seq| {
                self.board[seq].has(Segment::RESENT) && !self.board[seq].has(Segment::SACKED)
            });
        let acked = cumulative - before;
        let rtt = if acked > 0 { now - self.board[cumulative - 1].sent() } else { 0 };
        if acked > 0 && !self.board[cumulative - 1].has(Segment::AMBIGUOUS) {
            self.ns3.rtt = rtt;
        }
        if acked > 0 {
            if guessing {
                self.forget_guesses(before, cumulative);
            }
            self.take_cumulative(now, cumulative, &mut news);
            if guessing {
                self.correct_guesses();
            }
        }
        let pipe = self.pipe();
        let delivered = news.delivered;
        if self.state == State::Reduced && cumulative > self.high {
            self.end_reduction();
            self.enter(State::Open, now);
        }
        if acked > 0 && self.ecn != EcnMode::Off {
            self.take_echo(now, ack.ece, delivered, safe, config);
        }
        let mut restart = false;
        let mut growth = AllowedGrowth { segments: acked.min(1), grows: false };
        if duplicate {
            self.take_duplicate(now, delivered, safe, pipe, config);
        }
        if acked > 0 {
            growth =
                self.take_advance(now, acked, delivered, duplicate, safe, &mut restart, config);
        }
        let seen = Ack {
            now,
            rtt,
            smoothed: self.rtt.smoothed(),
            state: self.state,
            acked: growth.segments,
            delivered: if acked > 0 { delivered } else { duplicate as u32 },
            ece: ack.ece,
            una: self.una,
            next: self.next,
            may_grow: growth.grows && self.limited,
            open: growth.grows,
        };
        self.control.on_ack(&mut self.window, &seen);
        if self.sampler.is_some() {
            self.take_sample_as_ns3(&seen, lost_before);
        }
        if restart {
            self.rtt.forgive();
        }
        if restart || self.una == self.next {
            self.set_timer(now, true, config);
        }
    }

    /// Passes a sample to a control that models the path. A retransmission that is due at once
    /// counts as in flight, and the losses are the change in the number of lost segments.
    fn take_sample_as_ns3(&mut self, ack: &Ack, lost_before: u32) {
        let context = SampleContext {
            now: ack.now,
            in_flight: self.pipe() + self.at_once as u32,
            min_rtt: self.ns3.least,
            ece: ack.ece,
            ..SampleContext::default()
        };
        let losses = self.lost.abs_diff(lost_before);
        if let Some(sampler) = &mut self.sampler {
            let sample = Sample { losses, ..sampler.end(&context) };
            self.control.on_sample(
                &mut self.window,
                &Ack { rtt: self.ns3.rtt, ..*ack },
                &sample,
                sampler,
            );
        }
    }

    /// Marks retransmissions as lost if a segment sent after them has arrived.
    fn lose_repetitions(&mut self, newest: u64) {
        if self.resent == 0 {
            return;
        }
        for seq in self.una..self.highest_sacked {
            let segment = &mut self.board[seq];
            if segment.has(Segment::RESENT)
                && !segment.has(Segment::SACKED)
                && segment.sent() < newest
            {
                segment.unset(Segment::RESENT);
                self.resent -= 1;
                if !segment.has(Segment::LOST) {
                    segment.set(Segment::LOST);
                    self.lost += 1;
                }
                self.unrepeated += 1;
                self.resend_from = self.resend_from.min(seq);
            }
        }
    }

    /// Marks segments as lost that have `dupack_threshold` SACKed segments above them.
    fn lose_below(&mut self, config: &TcpConfig) {
        let Some(threshold) = config.dupack_threshold else { return };
        let (mut seen, mut seq) = (0, self.highest_sacked + 1);
        while seen < threshold && seq > self.una {
            seq -= 1;
            seen += self.board[seq].has(Segment::SACKED) as u32;
        }
        if seen < threshold {
            return;
        }
        for lost in self.lost_below.max(self.una)..seq {
            if !self.board[lost].has(Segment::SACKED | Segment::LOST) {
                self.lose(lost);
            }
        }
        self.lost_below = self.lost_below.max(seq);
    }

    fn lose(&mut self, seq: u32) {
        let segment = &mut self.board[seq];
        segment.set(Segment::LOST);
        self.lost += 1;
        if !segment.has(Segment::RESENT) {
            self.unrepeated += 1;
            self.resend_from = self.resend_from.min(seq);
        }
    }

    fn enter(&mut self, state: State, now: u64) {
        self.state = state;
        self.control.on_state(state, &mut self.window, now);
    }

    /// Ends a reduction: sets the window to the threshold.
    fn end_reduction(&mut self) {
        if self.sampler.is_none() && self.window.ssthresh < u32::MAX {
            self.window.cwnd = self.window.ssthresh.clamp(1, self.window.limit);
            self.control.on_window_set();
        }
    }

    fn take_echo(&mut self, now: u64, ece: bool, delivered: u32, safe: bool, config: &TcpConfig) {
        if !ece {
            self.send_cwr = false;
            return;
        }
        if self.ns3.echoed >= self.una {
            return;
        }
        self.ns3.echoed = self.una;
        self.send_cwr = self.una > self.ns3.answered;
        if self.state != State::Reduced {
            self.control.on_flight(self.pipe());
            self.control.on_progress(self.una, self.rtt.smoothed());
            self.window.ssthresh = self.control.on_ecn(&self.window, now);
            self.enter(State::Reduced, now);
            self.high = self.next;
            self.begin_reduction(delivered, safe, config);
        }
    }

    /// Records that segment `seq` carries the answer to the last echo (CWR).
    pub(super) fn answer_echo(&mut self, seq: u32) {
        self.ns3.answered = seq;
    }

    fn take_duplicate(
        &mut self,
        now: u64,
        delivered: u32,
        safe: bool,
        pipe: u32,
        config: &TcpConfig,
    ) {
        let guessing = config.recovery == Recovery::NewReno;
        match self.state {
            State::Loss => return,
            State::Recovery if guessing => {
                self.guess();
                return self.reduce_as_ns3(
                    (self.delivered_since < self.prior_cwnd) as u32,
                    safe,
                    pipe,
                    config,
                );
            }
            State::Recovery => return self.reduce_as_ns3(delivered, safe, pipe, config),
            State::Reduced | State::Open => self.ns3.duplicates += 1,
        }
        if self.state != State::Open || self.una == self.next {
            return;
        }
        self.ns3.disorder = true;
        let third = config.dupack_threshold == Some(self.ns3.duplicates)
            && (self.una >= self.high || !self.ns3.recovering);
        let lost = self.board[self.una].has(Segment::LOST)
            && (!guessing || (self.ns3.guessed && self.una < self.highest_sacked));
        if guessing {
            self.guess();
        }
        if !third && !lost {
            return;
        }
        if guessing {
            self.lose_oldest();
        } else if !lost {
            self.lose(self.una);
        }
        self.ns3.disorder = false;
        self.high = self.next;
        self.ns3.recovering = true;
        self.enter(State::Recovery, now);
        // Without SACK, the oldest segment counts as in flight.
        self.control.on_flight(self.pipe() + guessing as u32);
        self.window.ssthresh = self.control.on_loss(&self.window, now);
        self.begin_reduction(delivered, safe, config);
        self.resend_from = self.una;
        self.at_once = true;
    }

    fn begin_reduction(&mut self, delivered: u32, safe: bool, config: &TcpConfig) {
        if self.sampler.is_some() {
            return;
        }
        let guessing = config.recovery == Recovery::NewReno;
        self.prior_cwnd = if guessing {
            self.next - self.una
        } else {
            self.next - self.una - self.sacked + delivered
        }
        .max(1);
        self.delivered_since = 0;
        self.sent_since = 0;
        if config.proportional_reduction {
            self.reduce_as_ns3(delivered + guessing as u32, safe, self.pipe(), config);
        } else {
            self.window.cwnd = self.window.ssthresh.max(1);
        }
    }

    /// Applies proportional rate reduction (RFC 6937), which ns-3 computes in bytes: a remainder
    /// below one segment is not sent.
    fn reduce_as_ns3(&mut self, delivered: u32, safe: bool, pipe: u32, config: &TcpConfig) {
        if self.sampler.is_some() || !config.proportional_reduction || delivered == 0 {
            return;
        }
        self.delivered_since += delivered;
        let ssthresh = self.window.ssthresh;
        let send = if pipe > ssthresh {
            let due = self.delivered_since as u64 * ssthresh as u64 / self.prior_cwnd as u64;
            due as i64 - self.sent_since as i64
        } else {
            let bound = (self.delivered_since as i64 - self.sent_since as i64)
                .max(delivered as i64)
                + safe as i64;
            bound.min((ssthresh - pipe) as i64)
        };
        let send = send.max((self.sent_since == 0) as i64);
        self.window.cwnd = (pipe as i64 + send).max(1) as u32;
    }

    #[allow(clippy::too_many_arguments)]
    fn take_advance(
        &mut self,
        now: u64,
        acked: u32,
        delivered: u32,
        duplicate: bool,
        safe: bool,
        restart: &mut bool,
        config: &TcpConfig,
    ) -> AllowedGrowth {
        let before = self.ns3.duplicates;
        if !duplicate {
            self.ns3.duplicates = 0;
        }
        let mut segments = delivered;
        if self.una < self.high && self.state == State::Recovery {
            let pipe = self.pipe();
            if config.recovery == Recovery::NewReno {
                self.lose_oldest();
            }
            if delivered >= 1 {
                self.reduce_as_ns3(delivered, safe, pipe, config);
            }
            self.at_once |= !self.board[self.una].has(Segment::RESENT);
            *restart = !std::mem::replace(&mut self.ns3.restarted, true);
            return AllowedGrowth { segments: 1, grows: false };
        }
        if self.una < self.high && self.state == State::Loss {
            *restart = true;
            return AllowedGrowth { segments, grows: true };
        }
        if self.state == State::Reduced {
            if delivered >= 1 {
                self.reduce_as_ns3(delivered, safe, self.pipe(), config);
            }
            *restart = true;
            return AllowedGrowth { segments, grows: false };
        }
        match self.state {
            State::Recovery => {
                segments = acked;
                self.ns3.duplicates = 0;
                self.ns3.restarted = false;
                self.enter(State::Open, now);
                self.end_reduction();
            }
            State::Loss => {
                segments = self.una - self.high;
                self.ns3.restarted = false;
                self.enter(State::Open, now);
            }
            _ if self.ns3.disorder && duplicate => segments = segments.saturating_sub(before),
            _ => self.ns3.disorder = false,
        }
        if self.una >= self.high {
            self.ns3.recovering = false;
        }
        let grows = self.state == State::Open && !self.ns3.disorder;
        *restart = grows;
        AllowedGrowth { segments, grows }
    }

    /// Without SACK: takes a duplicate for the arrival of the next segment that is not guessed to
    /// have arrived yet. The oldest segment is never guessed.
    fn guess(&mut self) {
        let first = if self.ns3.guessed { self.highest_sacked.max(self.una) } else { self.una };
        let Some(seq) = (first + 1..self.next).find(|&seq| !self.board[seq].has(Segment::SACKED))
        else {
            return;
        };
        self.board[seq].set(Segment::SACKED);
        self.sacked += 1;
        self.highest_sacked = seq;
        self.ns3.guessed = true;
    }

    /// Clears the guesses for the segments `from..to`.
    fn forget_guesses(&mut self, from: u32, to: u32) {
        if self.sacked == 0 {
            return;
        }
        for seq in from..to {
            self.sacked -= self.board[seq].has(Segment::SACKED) as u32;
            self.board[seq].unset(Segment::SACKED);
        }
    }

    /// Corrects the guesses after an advance: the oldest outstanding segment cannot have arrived.
    fn correct_guesses(&mut self) {
        if self.una < self.next && self.sacked > 0 && self.board[self.una].has(Segment::SACKED) {
            self.board[self.una].unset(Segment::SACKED);
            self.sacked -= 1;
            self.guess();
            self.lose_oldest();
        }
        if self.highest_sacked <= self.una {
            self.ns3.guessed = false;
        }
    }

    /// Marks the oldest segment as lost, and also its retransmission, if there is one.
    fn lose_oldest(&mut self) {
        if self.una == self.next {
            return;
        }
        let segment = &mut self.board[self.una];
        let (lost, resent) = (segment.has(Segment::LOST), segment.has(Segment::RESENT));
        segment.unset(Segment::RESENT);
        segment.set(Segment::LOST);
        self.lost += !lost as u32;
        self.resent -= resent as u32;
        self.unrepeated += (!lost || resent) as u32;
        self.resend_from = self.una;
    }

    /// Discards all conclusions from duplicates after a time-out.
    pub(super) fn time_out_as_ns3(&mut self) {
        self.ns3.duplicates = 0;
        self.ns3.disorder = false;
        self.ns3.recovering = true;
        self.send_cwr = false;
        if self.ns3.guessed {
            self.forget_guesses(self.una, self.next);
            self.ns3.guessed = false;
        }
        // The pace no longer holds back segments.
        self.pace_at = 0;
    }

    /// True if RFC 6675's third rule may find a segment to retransmit.
    pub(super) fn rescues(&self, config: &TcpConfig) -> bool {
        config.manner == Manner::Ns3
            && config.recovery == Recovery::Sack
            && self.state == State::Recovery
            && self.sacked > 0
            && self.next == self.segments
    }

    /// Returns the next segment to send, and whether it is a retransmission: a lost segment (while
    /// any segment is SACKed, only below the highest SACKed one), new data, or in a recovery a hole
    /// below the highest SACKed segment.
    pub(super) fn choose_as_ns3(&mut self, config: &TcpConfig) -> Option<(u32, bool)> {
        let at_once = std::mem::take(&mut self.at_once) && self.una < self.next;
        if self.pipe() >= self.window.cwnd && !at_once {
            return None;
        }
        let guessing = config.recovery == Recovery::NewReno;
        if self.unrepeated > 0
            && let Some(seq) = self.next_lost()
            && (if guessing { !self.ns3.guessed } else { self.sacked == 0 }
                || seq < self.highest_sacked)
        {
            return Some((seq, true));
        }
        let end = self.segments.min(self.window_end(config));
        if self.next < end && self.connected() {
            return Some((self.next, false));
        }
        if self.next == self.una && self.next < self.segments && self.connected() {
            return None;
        }
        if !guessing
            && self.state == State::Recovery
            && self.sacked > 0
            && self.next == self.segments
            && !at_once
        {
            return (self.una..self.highest_sacked)
                .find(|&seq| !self.board[seq].has(Segment::SACKED | Segment::RESENT))
                .map(|seq| (seq, true));
        }
        (at_once && !self.board[self.una].has(Segment::RESENT)).then_some((self.una, true))
    }
}
