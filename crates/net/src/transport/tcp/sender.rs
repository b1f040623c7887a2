//! Sending half of TCP: processes acknowledgements and chooses the next segment to send. Other
//! modules contain loss detection ([`super::loss`]), window reductions ([`super::reduction`]),
//! pacing ([`super::pacing`]), the flows on a connection ([`super::connection`]) and timers
//! ([`super::timer`]).

use super::clock::{Timer, Vain};
use super::message::Message;
use super::ns3_state::Ns3;
use super::rack::Rack;
use super::rtt::Rtt;
use super::scoreboard::{Scoreboard, Segment};
use super::send_memory::SendMemory;
use super::small_queue::{AtHost, SmallQueue};
use crate::congestion::{
    Ack, CongestionControl, Control, Controller, Echo, NewReno, SampleContext, Sampler, State,
    Window,
};
use crate::idle::Idle;
use crate::probe::explain::{Attribution, Label};
use crate::probe::hops::RoundTrips;
use crate::record::SenderRecord;
use crate::spec::{Burst, EcnMode, Estimator, Manner, Receive, Recovery, TcpConfig};

use afflux_engine::random::Stream;
use std::collections::VecDeque;

pub(super) const MILLISECOND: u64 = 1_000_000_000;

/// Event that lets the sender look for segments to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Start,
    /// Acknowledgement. `excess`: time in ps by which its round trip exceeded the idle round trip.
    Ack {
        excess: u64,
    },
    Timeout,
    /// The pace allows the next segment.
    Pace,
    /// Fewer bytes of the connection wait at the host's own transmitter (small queue).
    Line,
}

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

/// Segment to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub retransmission: bool,
    /// True if the window was reduced and the segment tells the receiver so (CWR).
    pub cwr: bool,
}

pub struct SenderSetup {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub segments: u32,
    /// Segment behind the connection's last one, which carries its FIN.
    pub ends: u32,
    pub idle: Idle,
    /// Deadline of the flow, as absolute simulated time in ps.
    pub deadline: Option<u64>,
    /// ECN mode that the two ends have agreed on.
    pub ecn: EcnMode,
    pub explain: bool,
    /// Random stream for congestion controls that need one.
    pub random: Stream,
}

pub struct Sender {
    pub(super) una: u32,
    pub(super) next: u32,
    pub(super) segments: u32,
    /// First segment of the data that the application handed over last.
    pub(super) written: u32,
    /// Segment behind the connection's last one, which carries its FIN.
    pub(super) ends: u32,
    pub(super) window: Window,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) resent: u32,
    /// Segments marked lost whose retransmission has not been sent.
    pub(super) unrepeated: u32,
    /// True if the current acknowledgement or timer has found lost segments.
    pub(super) newly_lost: bool,
    pub(super) state: State,
    /// Segment whose acknowledgement ends the current state.
    pub(super) high: u32,
    /// Segment at which the search for the next retransmission starts.
    pub(super) resend_from: u32,
    /// All segments below this one have been checked for loss, and are marked if they are lost.
    pub(super) lost_below: u32,
    pub(super) highest_sacked: u32,
    pub(super) duplicates: u32,
    /// Latest SACK blocks. The segments that they cover are not examined again.
    pub(super) known_blocks: [(u32, u32); 4],
    pub(super) send_cwr: bool,
    /// True if the first lost segment is retransmitted whatever the window says.
    pub(super) at_once: bool,
    /// True if a tail loss probe is to be sent, whatever the window says.
    pub(super) probe: bool,
    pub(super) probing: bool,
    pub(super) was_recovering: bool,
    // Congestion window validation as in Linux: whether the window limited the sender in the last
    // round trip, the segment that ends the current round trip, and the most segments outstanding
    // in it.
    pub(super) limited: bool,
    pub(super) limited_until: u32,
    pub(super) most_out: u32,
    /// Proportional rate reduction: window before the reduction, and the segments delivered and
    /// sent since.
    pub(super) prior_cwnd: u32,
    pub(super) delivered_since: u32,
    pub(super) sent_since: u32,
    /// First segment beyond the receive window. With a fixed window: its size in segments.
    pub(super) edge: u32,
    pub(super) send_memory: SendMemory,
    /// Newest timestamp of the receiver, which data segments echo.
    pub echo: u32,
    /// True if the connection is open, or uses no handshake.
    pub(super) connected: bool,
    /// True if only new data may be sent, because a time-out is being verified (RFC 5682).
    pub(super) new_only: bool,
    pub(super) checking: bool,
    /// Window and threshold before the last reduction, kept while it can turn out to be
    /// unnecessary.
    pub(super) undo: Option<(u32, u32)>,
    /// Segments below `episode` were sent before the first retransmission of this loss episode.
    /// `repeated_since` counts the retransmissions since then.
    pub(super) episode: u32,
    pub(super) repeated_since: u32,
    /// Time in ps at which the last segment was sent.
    pub(super) last_sent: u64,
    /// Pacing: time in ps at which the next segment may leave, and time in ps of the wake-up for it
    /// (0: none).
    pub(super) pace_at: u64,
    pub(super) pace_wait: u64,
    /// True if the sender waits for room in the host's own transmit queue, and not for the pace.
    pub(super) in_line: bool,
    pub small_queue: SmallQueue,
    pub at_host: AtHost,
    /// Round-trip times, if they are recorded.
    pub round_trips: Option<Box<RoundTrips>>,
    pub(super) board: Scoreboard,
    pub(super) control: Control,
    pub(super) rtt: Rtt,
    pub(super) rack: Option<Box<Rack>>,
    pub(super) sampler: Option<Box<Sampler>>,
    /// Segments that may still leave together, without spacing.
    pub(super) burst: u32,
    /// Segments left in the current burst (segmentation offload).
    pub(super) in_burst: u32,
    pub(super) random: Stream,
    pub ecn: EcnMode,
    pub(super) ns3: Ns3,
    pub(super) timer: Timer,
    /// Time in ps at which the timer expires; 0 if none is set.
    pub deadline: u64,
    /// Time in ps of the pending timer event, 0 for none. An event at another time is stale.
    pub armed: u64,
    /// First flow of the connection.
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub idle: Idle,
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Oldest flow that is not fully acknowledged, and the started flows behind it.
    pub current: Message,
    pub waiting: VecDeque<Message>,
    pub(super) why: Option<Attribution>,
    /// Time in ps at which the frame was sent whose acknowledgement ended the current flow;
    /// `u64::MAX` if unknown.
    pub(super) decided: u64,
    pub(super) vain: Vain,
    /// Time in ps at which the sender last asked the receiver for its window.
    pub(super) requested_at: u64,
}

impl Sender {
    pub fn new(setup: SenderSetup, now: u64, config: &TcpConfig) -> Self {
        let limit = config.max_window.unwrap_or(u32::MAX);
        let ecn = setup.ecn;
        let mut control = agreed(config, ecn, &setup.random);
        control.on_flow(setup.segments, setup.deadline);
        Sender {
            una: 0,
            next: 0,
            segments: setup.segments,
            written: 0,
            ends: setup.ends,
            window: Window {
                cwnd: config.initial_window.min(limit),
                credit: 0,
                ssthresh: u32::MAX,
                limit,
            },
            sacked: 0,
            lost: 0,
            resent: 0,
            unrepeated: 0,
            newly_lost: false,
            state: State::Open,
            high: 0,
            resend_from: 0,
            lost_below: 0,
            highest_sacked: 0,
            duplicates: 0,
            known_blocks: [(0, 0); 4],
            send_cwr: false,
            at_once: false,
            probe: false,
            probing: false,
            was_recovering: false,
            limited: false,
            limited_until: 0,
            most_out: 0,
            prior_cwnd: 0,
            delivered_since: 0,
            sent_since: 0,
            edge: first_edge(config),
            send_memory: SendMemory::new(config),
            echo: 0,
            connected: !config.handshake,
            new_only: false,
            checking: false,
            undo: None,
            episode: 0,
            repeated_since: 0,
            last_sent: now,
            pace_at: 0,
            pace_wait: 0,
            in_line: false,
            small_queue: SmallQueue::default(),
            at_host: AtHost::default(),
            round_trips: None,
            board: Scoreboard::default(),
            control,
            sampler: None,
            burst: 0,
            in_burst: 0,
            random: setup.random,
            rtt: Rtt::new(config),
            rack: (config.recovery == Recovery::Rack
                || config.tail_probe
                || config.pacing.is_some())
            .then(Box::default),
            ecn,
            ns3: Ns3::default(),
            timer: Timer::None,
            deadline: 0,
            armed: 0,
            flow: setup.flow,
            transport: setup.transport,
            node: setup.node,
            dst: setup.dst,
            hash: setup.hash,
            priority: setup.priority,
            idle: setup.idle,
            sent: 0,
            retransmitted: 0,
            timeouts: 0,
            current: Message {
                flow: setup.flow,
                to: setup.segments,
                start: now,
                idle: setup.idle,
                deadline: setup.deadline,
                sent: 0,
                retransmitted: 0,
                timeouts: 0,
            },
            waiting: VecDeque::new(),
            why: setup.explain.then(|| Attribution::new(now)),
            decided: u64::MAX,
            vain: Vain::default(),
            requested_at: 0,
        }
    }

    /// True if all data handed over so far have been acknowledged.
    pub fn finished(&self) -> bool {
        self.una == self.segments
    }

    /// Returns `una next cwnd ssthresh state`, for traces.
    #[cfg(test)]
    pub fn snapshot(&self) -> String {
        let ssthresh = if self.window.ssthresh == u32::MAX {
            "-".to_string()
        } else {
            self.window.ssthresh.to_string()
        };
        format!(
            "{:>4}{:>5}{:>5}{:>4} {:?}",
            self.una, self.next, self.window.cwnd, ssthresh, self.state
        )
    }
    /// Returns the pacing rate and the control's own state, for traces.
    #[cfg(test)]
    pub fn details(&self, config: &TcpConfig) -> String {
        let rate = self
            .pacing_rate(config)
            .map_or(String::new(), |rate| format!(" {:.2}", rate as f64 / 1e6));
        format!("{rate}{}", self.control.details())
    }
    /// Returns the segments in flight: outstanding ones less those known or assumed to have left
    /// the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u32 {
        self.next - self.una - self.sacked - self.lost + self.resent
    }

    /// Returns the state for a time series of sender records.
    pub fn known(&self, config: &TcpConfig) -> SenderRecord {
        let bytes = |segments: u32| u64::from(segments) * u64::from(config.mss);
        let measured = self.rtt.smoothed();
        SenderRecord {
            window: bytes(self.window.cwnd),
            threshold: if self.window.ssthresh == u32::MAX {
                SenderRecord::NONE
            } else {
                bytes(self.window.ssthresh)
            },
            smoothed: if measured == 0 { SenderRecord::NONE } else { measured },
            rate: self.pacing_rate(config).unwrap_or(SenderRecord::NONE),
            ..SenderRecord::new(self.flow, bytes(self.pipe()))
        }
    }

    /// True for the last segment that has been handed over.
    pub(super) fn is_last(&self, seq: u32) -> bool {
        seq + 1 == self.segments
    }
    pub fn connected(&self) -> bool {
        self.connected
    }
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, State::Reduced | State::Recovery)
    }
    /// Returns the first segment that may not be sent: it lies beyond the receive window, or does
    /// not been written into the send buffer.
    pub(super) fn window_end(&self, config: &TcpConfig) -> u32 {
        self.allowed_end(config).min(self.send_memory.to)
    }
    fn allowed_end(&self, config: &TcpConfig) -> u32 {
        match config.receive {
            Receive::Unlimited => u32::MAX,
            Receive::Window(_) => self.una.saturating_add(self.edge),
            Receive::Buffer(_) => self.edge,
        }
    }

    /// Handles the answer to the SYN. `ecn`: the peer agrees to the ECN mode that was requested.
    pub fn on_connected(&mut self, now: u64, ecn: bool, config: &TcpConfig) -> Option<Cause> {
        if self.connected {
            return None;
        }
        self.connected = true;
        self.deadline = 0;
        self.timer = Timer::None;
        if !ecn {
            self.ecn = EcnMode::Off;
        }
        self.control = agreed(config, self.ecn, &self.random);
        self.control.on_flow(self.current.to, self.current.deadline);
        if self.retransmitted > 1 {
            // RFC 5681 §3.1: a window of 1 segment after lost SYNs. As in Linux, one lost SYN does
            // not count, because RFC 6298 made the SYN's time-out short.
            self.window.cwnd = 1;
        }
        let round_trip = now - self.last_sent;
        self.rtt.sample(round_trip, 0, 0, config);
        self.established(now, round_trip, config);
        Some(Cause::Ack { excess: round_trip.saturating_sub(self.idle.round_trip) })
    }

    /// Starts the congestion control on an open connection. `round_trip`: duration of the handshake
    /// in ps, 0 if unknown.
    pub fn established(&mut self, now: u64, round_trip: u64, config: &TcpConfig) {
        if self.control.uses_samples() {
            self.sampler = Some(Box::new(if config.manner == Manner::Ns3 {
                Sampler::as_ns3()
            } else {
                Sampler::default()
            }));
            self.rack.get_or_insert_default();
        }
        if let Some(rack) = &mut self.rack
            && round_trip > 0
        {
            rack.measure(round_trip);
        }
        self.control.on_established(&self.window, now, round_trip);
    }

    #[inline(always)]
    pub(super) fn note_round_trip(&mut self, time: u64) {
        if let Some(noted) = &mut self.round_trips {
            noted.note(time);
        }
    }

    /// Returns the first segment that is not acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Returns the first segment that has not been sent.
    pub fn next(&self) -> u32 {
        self.next
    }

    pub fn explains(&self) -> bool {
        self.why.is_some()
    }

    /// True if a part of this sender depends on the minimum round trip.
    pub fn measures(&self) -> bool {
        self.rack.is_some() || self.control.uses_samples()
    }

    /// Starts a connection that is open without a handshake. `round_trip`: time in ps that the
    /// handshake would have taken, 0 if nothing depends on it.
    pub fn open(&mut self, now: u64, round_trip: u64, config: &TcpConfig) {
        // Without tail loss probes, only the first time-out needs a round trip, and `initial_rto`
        // gives that time-out.
        if config.tail_probe {
            self.rtt.sample(round_trip, 0, 0, config);
        }
        self.established(now, round_trip, config);
    }

    /// True if a SYN sent now requests ECN. A SYN without an answer may have been dropped because
    /// of its request, so the next SYN makes no request (Linux tcp_ecn_fallback). The peer's answer
    /// counts in any case.
    pub fn requests_ecn(&self) -> bool {
        self.ecn != EcnMode::Off && self.timeouts == 0
    }

    /// Counts a SYN that was not answered in time, and backs off.
    pub(super) fn syn_lost(&mut self, now: u64) {
        self.waited(now, Label::Recovery, 0);
        self.retransmitted += 1;
        self.timeouts += 1;
        self.rtt.back_off();
    }

    /// Processes an acknowledgement. The caller then calls [`Self::transmit`] with the returned
    /// cause until that returns `None`.
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: &TcpConfig) -> Cause {
        let cumulative = ack.cumulative.min(self.next);
        self.echo = self.echo.max(ack.stamp);
        if let Some(edge) = ack.edge
            && edge > self.edge
        {
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
        // Time attribution: a wait that this acknowledgement ends counts as queueing, up to the
        // excess of this round trip over the idle one.
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
        self.was_recovering = matches!(self.state, State::Recovery | State::Loss);
        let (before, outstanding) = (self.una, self.next - self.una);
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
        let delivered = news.delivered;
        if let Some(sent) = news.oldest {
            self.rtt.sample(now - sent, self.una, self.next, config);
            self.note_round_trip(now - sent);
        } else if acked > 0
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
        if ack.ece
            && self.ecn != EcnMode::Off
            && self.state == State::Open
            && self.una < self.segments
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

    /// Waits until `at`, because the pace or the host's transmit queue holds the next segment back.
    fn hold_until(&mut self, now: u64, at: u64, config: &TcpConfig) {
        self.pace_wait = if self.has_work(config) { at } else { 0 };
        // The congestion window can be full nevertheless, or the receive window closed.
        let full = self.pipe() >= self.window.cwnd;
        if full || self.last_sent == now {
            self.validate(full);
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
            self.validate(true);
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
        self.validate(false);
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
    pub(super) fn validate(&mut self, limited: bool) {
        let out = self.next - self.una;
        if self.una >= self.limited_until || limited || (!self.limited && out > self.most_out) {
            self.limited = limited;
            self.most_out = out;
            self.limited_until = self.next;
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
                self.window.ssthresh =
                    self.window.ssthresh.max(self.window.cwnd / 2 + self.window.cwnd / 4);
            }
            let floor = config.initial_window.min(self.window.cwnd);
            let mut left = pause - timeout;
            while left > 0 && self.window.cwnd > floor {
                self.window.cwnd = (self.window.cwnd / 2).max(floor);
                left = left.saturating_sub(timeout);
            }
            self.most_out = 0;
            self.limited_until = self.next;
        }
        // Every pause is reported, for controls whose clock stops meanwhile (Linux
        // CA_EVENT_TX_START).
        self.control.on_restart(now, idle);
    }
}

/// Creates the congestion control of a connection that has agreed on `ecn`. A control that needs
/// exact ECN echoes is replaced by NewReno if ECN is off.
fn agreed(tcp: &TcpConfig, ecn: EcnMode, random: &Stream) -> Control {
    let exact = !matches!(tcp.congestion, CongestionControl::PlusPlus(_))
        && tcp.congestion.parameters().about().echo == Echo::Exact;
    if exact && ecn == EcnMode::Off {
        Control::NewReno(NewReno)
    } else {
        Control::new(&tcp.congestion, tcp.mss as u32, tcp.initial_window, random.clone())
    }
}

/// Returns the initial window edge in segments: the size of a fixed window, or the room in a
/// buffer.
pub fn first_edge(config: &TcpConfig) -> u32 {
    match config.receive {
        Receive::Unlimited => u32::MAX,
        Receive::Window(bytes) => ((bytes.0 / config.mss as u64).max(1)) as u32,
        Receive::Buffer(buffer) => {
            ((buffer.initial.0 * buffer.share as u64 / 256 / config.mss as u64).max(1)) as u32
        }
    }
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
