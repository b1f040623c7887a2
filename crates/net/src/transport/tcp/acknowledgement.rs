//! Acknowledgements as the sending half of TCP processes them.

use super::clock::Timer;
use super::sender::{Cause, MILLISECOND, Sender};
use crate::congestion::{Ack, Controller, SampleContext, State};
use crate::probe::explain::Label;
use crate::spec::{EcnMode, Estimator, Manner, Recovery, TcpConfig};

/// Contents of an acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckIn<'a> {
    /// Next segment expected.
    pub cumulative: u32,
    /// Segment whose arrival caused this acknowledgement.
    pub trigger: u32,
    pub ece: bool,
    /// True if the receiver held the acknowledgement back. The excess of its round trip over the
    /// idle one is then not counted as queueing.
    pub delayed: bool,
    /// True if the segment that arrived was a retransmission (timestamps tell the sender).
    pub repeated: bool,
    /// True if the segment had arrived before (RFC 2883).
    pub duplicate: bool,
    /// First segment beyond the receive window, if the receiver has a buffer.
    pub edge: Option<u32>,
    pub blocks: &'a [(u32, u32)],
    /// Timestamp of the acknowledgement; 0 for none.
    pub stamp: u32,
    /// Time in ps that this frame and the data frame it answers spent paused. Used only for time
    /// attribution.
    pub paused: u64,
    /// Reply to a window request: time in ps at which the receiver announced the open window in an
    /// acknowledgement that was lost; 0 if the window has not opened. Used only for time
    /// attribution.
    pub opened: u64,
}

/// Changes that one acknowledgement reports about segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    /// Segments newly known to have arrived.
    pub delivered: u32,
    /// Segments newly reported by SACK.
    pub sacked: u32,
    /// Send times in ps of the oldest and the newest newly arrived segment, among those sent only
    /// once.
    pub oldest: Option<u64>,
    pub newest: Option<u64>,
    /// Latest send time in ps of the newly SACKed segments, retransmissions included.
    pub last_sent: u64,
    /// Lowest newly arrived segment among those sent only once, and highest segment SACKed before.
    /// The network reordered if the former is below the latter.
    pub lowest_original: u32,
    pub highest_before: u32,
}

impl Default for News {
    fn default() -> Self {
        News {
            delivered: 0,
            sacked: 0,
            oldest: None,
            newest: None,
            last_sent: 0,
            lowest_original: u32::MAX,
            highest_before: 0,
        }
    }
}

impl Sender {
    /// Processes an acknowledgement. The caller then calls [`Self::transmit`] with the returned
    /// cause until that returns `None`.
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: &TcpConfig) -> Cause {
        let cumulative = ack.cumulative.min(self.next);
        self.echo = self.echo.max(ack.stamp);
        self.take_edge(now, ack, config);
        let (excess, sent_then) = self.attribute(now, ack, cumulative);
        self.was_recovering = matches!(self.state, State::Recovery | State::Loss);
        let acked = cumulative.saturating_sub(self.una);
        self.newly_lost = false;
        let pipe = self.pipe();
        if let Some(sampler) = &mut self.sampler {
            sampler.begin(pipe);
        }
        if config.manner == Manner::Ns3 && config.recovery != Recovery::Rack {
            self.take_as_ns3(now, ack, config);
            return Cause::Ack { excess };
        }
        let news = self.take_news(now, ack, cumulative, config);
        let delivered = news.delivered;
        self.sample_round_trip(now, ack, &news, acked > 0, sent_then, config);
        if self.rack.is_some() {
            self.after_probe(now, ack, acked > 0 || delivered > 0);
        }
        // Leave a state before entering another.
        if self.undo.is_some() && self.was_recovering && acked > 0 && self.was_needless(ack) {
            self.undo_reduction(now);
        }
        if self.state != State::Open && self.is_over(config) {
            self.leave(now, config);
        }
        self.new_only = false;
        if self.state == State::Loss && self.checking {
            self.check_timeout(now, acked, &news, config);
        }
        match config.recovery {
            Recovery::Sack => self.mark_lost(now, config),
            Recovery::Rack => self.mark_late(now, config),
            Recovery::NewReno => {}
        }
        let (may_grow, grown) = self.growth(ack, acked, delivered, config);
        let rtt = news.newest.map_or(0, |sent| now - sent);
        let seen = Ack {
            now,
            rtt,
            state: self.state,
            acked: grown,
            delivered,
            ece: ack.ece,
            una: self.una,
            next: self.next,
            may_grow,
            ..Ack::default()
        };
        self.control.on_ack(&mut self.window, &seen);
        if ack.ece && self.ecn != EcnMode::Off && self.state == State::Open && self.una < self.ends
        {
            self.control.on_progress(self.una, self.rtt.smoothed());
            let ssthresh = self.control.on_ecn(&self.window, now);
            self.undo = None;
            self.reduce(ssthresh, State::Reduced, now, config);
        }
        if self.lost > 0 && matches!(self.state, State::Open | State::Reduced) {
            self.enter_recovery(now, ack.ece, config);
        }
        if self.sampler.is_some() {
            self.take_sample(&Ack { state: self.state, ..seen });
        } else if config.proportional_reduction && self.reducing() {
            self.pace_reduction(delivered, acked > 0);
        }
        // A SACKed segment that was sent after the oldest outstanding one does not postpone the
        // time-out (Linux tcp_clean_rtx_queue).
        let overtaken = || news.oldest.is_some_and(|sent| sent < self.board[self.una].sent());
        let news = acked > 0
            || (delivered > 0
                && config.tail_probe
                && (self.timer != Timer::Retransmit || overtaken()));
        self.set_timer(now, news, config);
        Cause::Ack { excess }
    }

    /// Moves the edge of the receive window to the one that the acknowledgement announces.
    #[inline(always)]
    fn take_edge(&mut self, now: u64, ack: &AckIn, config: &TcpConfig) {
        let Some(edge) = ack.edge.filter(|&edge| edge > self.edge) else { return };
        self.edge = edge;
        if self.timer == Timer::Persist {
            // The window has opened, so nothing was lost (Linux tcp_ack_probe).
            self.rtt.forgive();
            if ack.opened > 0 {
                // The acknowledgement that announced the open window was lost.
                self.waited(ack.opened, Label::Window, 0);
                self.waited(self.requested_at, Label::Recovery, 0);
            }
        }
        // A window update counts as a restart if the sender was idle (Linux
        // tcp_ack_update_window).
        if self.next < self.segments {
            self.restart(now, config);
        }
    }

    /// Attributes the time until now: a wait that this acknowledgement ends counts as queueing, up
    /// to the excess of its round trip over the idle one. Returns this excess in ps, and the time
    /// in ps at which the segment that caused the acknowledgement was sent (`now` if unknown).
    #[inline(always)]
    fn attribute(&mut self, now: u64, ack: &AckIn, cumulative: u32) -> (u64, u64) {
        if let Some(why) = &mut self.why {
            why.stood(ack.paused);
            why.waited_at_host(self.at_host.of(ack.trigger));
        }
        let (mut excess, mut sent_then) = (0, now);
        self.decided = u64::MAX;
        if ack.trigger >= self.una && ack.trigger < self.next {
            let segment = &self.board[ack.trigger];
            sent_then = segment.sent();
            excess = if ack.delayed {
                0
            } else {
                now.saturating_sub(segment.paced + self.idle.round_trip)
            };
            if cumulative >= self.current.to {
                self.decided = sent_then;
            }
        }
        (excess, sent_then)
    }

    /// Takes what the acknowledgement reports about segments.
    #[inline(always)]
    fn take_news(&mut self, now: u64, ack: &AckIn, cumulative: u32, config: &TcpConfig) -> News {
        let (before, outstanding) = (self.una, self.next - self.una);
        let acked = cumulative.saturating_sub(before);
        // Only segments SACKed by earlier acknowledgements are evidence of reordering. The order of
        // blocks within one acknowledgement is none.
        let mut news = News {
            highest_before: if self.sacked > 0 { self.highest_sacked } else { 0 },
            ..News::default()
        };
        if acked > 0 {
            self.take_cumulative(now, cumulative, &mut news);
        }
        match config.recovery {
            Recovery::Sack | Recovery::Rack => {
                for &(from, to) in ack.blocks {
                    self.take_block(now, from, to, &mut news);
                }
                if news.lowest_original < news.highest_before {
                    self.saw_reordering(news.highest_before - news.lowest_original);
                }
            }
            // An acknowledgement below `una` was overtaken by a later one. It is no duplicate (RFC
            // 5681 §2).
            Recovery::NewReno if ack.cumulative < before => {}
            Recovery::NewReno => self.count_duplicates(now, acked, outstanding, config),
        }
        news
    }

    /// Measures the round trip by a segment that was sent once, or by the timestamp of a
    /// retransmission. `sent_then`: time in ps at which the segment was sent that caused the
    /// acknowledgement.
    #[inline(always)]
    fn sample_round_trip(
        &mut self,
        now: u64,
        ack: &AckIn,
        news: &News,
        advances: bool,
        sent_then: u64,
        config: &TcpConfig,
    ) {
        if let Some(sent) = news.oldest {
            self.rtt.sample(now - sent, self.una, self.next, config);
            self.note_round_trip(now - sent);
        } else if advances
            && config.estimator == Estimator::Linux
            && ack.repeated
            && now - sent_then >= self.rack.as_ref().map_or(0, |r| r.min_rtt)
        {
            // With timestamps, retransmissions give samples too, in whole milliseconds. There is no
            // sample if the last transmission is too recent to have caused this acknowledgement:
            // the send times of earlier transmissions are not kept.
            self.rtt.sample(
                (now - sent_then).div_ceil(MILLISECOND).max(1) * MILLISECOND,
                self.una,
                self.next,
                config,
            );
        }
    }

    /// Returns whether the acknowledgement may grow the window, and by how many segments.
    #[inline(always)]
    fn growth(&self, ack: &AckIn, acked: u32, delivered: u32, config: &TcpConfig) -> (bool, u32) {
        let growing = matches!(self.state, State::Open | State::Loss)
            && !(self.lost > 0 && self.state == State::Open);
        let may_grow = growing && self.is_limited() && !ack.ece;
        // After a time-out the window grows by newly arrived segments only, not by those that had
        // arrived before and waited behind a hole.
        let grown = if config.proportional_reduction {
            // Linux tcp_may_raise_cwnd: an acknowledgement that does not advance `una` is a sign of
            // disorder, and the window grows only if disorder is usual.
            if acked > 0 || self.disorder_is_usual() { delivered } else { 0 }
        } else if self.state == State::Loss {
            acked.min(delivered)
        } else {
            acked
        };
        (may_grow, grown)
    }

    /// Passes a delivery sample to a control that models the path and sets the window (such as
    /// BBR).
    pub(super) fn take_sample(&mut self, ack: &Ack) {
        let in_flight = self.pipe();
        let min_rtt = self.rack.as_ref().map_or(0, |r| r.min_rtt);
        let context = SampleContext {
            now: ack.now,
            in_flight,
            min_rtt,
            ece: ack.ece,
            next_send: self.pace_at,
            window_limited: self.limited,
        };
        if let Some(sampler) = &mut self.sampler {
            let sample = sampler.end(&context);
            self.control.on_sample(&mut self.window, ack, &sample, sampler);
        }
    }
}
