//! The sending half: what an acknowledgement leads to and what is sent next. Which segments are lost is found in [`super::loss`], what that does to
//! the window stands in [`super::reduction`], when the next may go in [`super::pacing`], flows on a connection in [`super::connection`], timers in
//! [`super::timer`].

use super::clock::{Timer, Vain};
use super::message::Message;
use super::ns3_state::Ns3;
use super::rack::Rack;
use super::rtt::Rtt;
use super::scoreboard::{Scoreboard, Segment};
use super::small_queue::{AtHost, SmallQueue};
use crate::congestion::{Ack, Around, CongestionControl, Control, Controller, Echo, NewReno, Sampler, State, Window};
use crate::idle::Idle;
use crate::probe::explain::{Attribution, Label};
use crate::probe::hops::RoundTrips;
use crate::record::SenderRecord;
use crate::spec::{Burst, EcnMode, Estimator, Manner, Receive, Recovery, TcpConfig};

use afflux_engine::random::Stream;
use std::collections::VecDeque;

pub(super) const MILLISECOND: u64 = 1_000_000_000;

/// Why the sender looks for something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Start,
    /// An acknowledgement whose round trip was this much longer than the idle one (picoseconds).
    Ack {
        excess: u64,
    },
    Timeout,
    /// The pace allows the next one.
    Pace,
    /// Less of the connection waits at the host's own transmitter.
    Line,
}

/// What an acknowledgement brings.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckIn<'a> {
    /// Next segment expected.
    pub cumulative: u32,
    /// The segment whose arrival caused it.
    pub trigger: u32,
    pub ece: bool,
    /// It waited for the receiver's timer: what its round trip exceeds the idle one by is not queueing.
    pub delayed: bool,
    /// What arrived was a repetition (timestamps tell a sender).
    pub repeated: bool,
    /// What arrived had arrived before (RFC 2883).
    pub duplicate: bool,
    /// The first segment beyond the receive window, if the receiver has a buffer.
    pub edge: Option<u32>,
    pub blocks: &'a [(u32, u32)],
    /// Its timestamp; 0 for none.
    pub stamp: u32,
    /// How long it, and what it answers, stood paused (for the account of time, not for the transport).
    pub paused: u64,
    /// It answers a request for the window: when the receiver said that it had opened, which was lost; 0 if it has not opened (likewise).
    pub opened: u64,
}

/// A segment to be put on the wire now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub retransmission: bool,
    /// The window was reduced: tell the receiver.
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
    /// Behind the connection's last segment, which carries its FIN.
    pub ends: u32,
    pub idle: Idle,
    /// When the flow is to have ended.
    pub deadline: Option<u64>,
    /// What the two ends have agreed on.
    pub ecn: EcnMode,
    pub explain: bool,
    /// For congestion controls that draw.
    pub random: Stream,
}

pub struct Sender {
    pub(super) una: u32,
    pub(super) next: u32,
    pub(super) segments: u32,
    /// Where what the application handed over last begins.
    pub(super) written: u32,
    /// Behind the connection's last segment, which carries its FIN.
    pub(super) ends: u32,
    pub(super) window: Window,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) resent: u32,
    /// Taken for lost, and no repetition under way.
    pub(super) unrepeated: u32,
    /// This acknowledgement or timer told of losses.
    pub(super) newly_lost: bool,
    pub(super) state: State,
    /// The state ends when this segment is acknowledged.
    pub(super) high: u32,
    /// Where the search for the next segment to repeat starts.
    pub(super) resend_from: u32,
    /// Segments below have been judged: they are marked lost if they are to be.
    pub(super) lost_below: u32,
    pub(super) highest_sacked: u32,
    pub(super) duplicates: u32,
    /// SACK blocks seen last: what they cover need not be looked at again.
    pub(super) known_blocks: [(u32, u32); 4],
    pub(super) send_cwr: bool,
    /// The first lost segment is to be repeated whatever the window says.
    pub(super) at_once: bool,
    /// A tail loss probe is to be sent, whatever the window says.
    pub(super) probe: bool,
    pub(super) probing: bool,
    pub(super) was_recovering: bool,
    // Window validation, as Linux: was the window what limited us in the last round?
    pub(super) limited: bool,
    pub(super) limited_until: u32,
    pub(super) most_out: u32,
    /// Proportional rate reduction: the window before it, what has been delivered since and what sent.
    pub(super) prior_cwnd: u32,
    pub(super) delivered_since: u32,
    pub(super) sent_since: u32,
    /// The first segment beyond the receive window.
    pub(super) edge: u32,
    /// The newest timestamp of the receiver, which data echo.
    pub echo: u32,
    /// Connected (or no handshake is wanted).
    pub(super) connected: bool,
    /// Only new data are to be sent: a time-out is being checked (RFC 5682).
    pub(super) new_only: bool,
    pub(super) checking: bool,
    /// What a reduction took away, while it may turn out to have been needless.
    pub(super) undo: Option<(u32, u32)>,
    /// Segments below were sent before the first repetition of this episode, which has repeated so many.
    pub(super) episode: u32,
    pub(super) repeated_since: u32,
    /// When the last segment was sent.
    pub(super) last_sent: u64,
    /// Pacing: when the next segment may leave; and when to look again, 0 for not at all.
    pub(super) pace_at: u64,
    pub(super) pace_wait: u64,
    /// It is not the pace that is waited for, but room in the host's own queue.
    pub(super) in_line: bool,
    pub small_queue: SmallQueue,
    pub at_host: AtHost,
    /// What it measures, if that is asked for.
    pub round_trips: Option<Box<RoundTrips>>,
    pub(super) board: Scoreboard,
    pub(super) control: Control,
    pub(super) rtt: Rtt,
    pub(super) rack: Option<Box<Rack>>,
    pub(super) sampler: Option<Box<Sampler>>,
    /// Segments that may still leave together.
    pub(super) burst: u32,
    /// Segments left of a burst that has been begun (segmentation offload).
    pub(super) in_burst: u32,
    pub(super) random: Stream,
    pub ecn: EcnMode,
    pub(super) ns3: Ns3,
    pub(super) timer: Timer,
    /// When the timer is to expire; 0 when none is set.
    pub deadline: u64,
    /// The timer event under way, 0 for none; any other is stale.
    pub armed: u64,
    /// The connection's first flow.
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
    /// The oldest flow that is not acknowledged whole, and those behind it that have started.
    pub current: Message,
    pub waiting: VecDeque<Message>,
    pub(super) why: Option<Attribution>,
    /// When the frame was sent whose acknowledgement ended the current flow; `u64::MAX` where that is not known.
    pub(super) decided: u64,
    pub(super) vain: Vain,
    /// When the receiver was last asked for its window.
    pub(super) asked_at: u64,
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
            window: Window { cwnd: config.initial_window.min(limit), credit: 0, ssthresh: u32::MAX, limit },
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
            rack: (config.recovery == Recovery::Rack || config.tail_probe || config.pacing.is_some()).then(Box::default),
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
            asked_at: 0,
        }
    }

    /// Everything handed over so far has been acknowledged.
    pub fn finished(&self) -> bool {
        self.una == self.segments
    }

    /// `una next cwnd ssthresh state`, for traces.
    #[cfg(test)]
    pub fn snapshot(&self) -> String {
        let ssthresh = if self.window.ssthresh == u32::MAX { "-".to_string() } else { self.window.ssthresh.to_string() };
        format!("{:>4}{:>5}{:>5}{:>4} {:?}", self.una, self.next, self.window.cwnd, ssthresh, self.state)
    }
    /// Pacing rate and what the control says of itself, for traces.
    #[cfg(test)]
    pub fn details(&self, config: &TcpConfig) -> String {
        let rate = self.pacing_rate(config).map_or(String::new(), |rate| format!(" {:.2}", rate as f64 / 1e6));
        format!("{rate}{}", self.control.details())
    }
    /// Segments outstanding, less those known or thought to have left the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u32 {
        self.next - self.una - self.sacked - self.lost + self.resent
    }

    /// For a series of records.
    pub fn known(&self, config: &TcpConfig) -> SenderRecord {
        let bytes = |segments: u32| u64::from(segments) * u64::from(config.mss);
        let measured = self.rtt.smoothed();
        SenderRecord {
            window: bytes(self.window.cwnd),
            threshold: if self.window.ssthresh == u32::MAX { SenderRecord::NONE } else { bytes(self.window.ssthresh) },
            smoothed: if measured == 0 { SenderRecord::NONE } else { measured },
            rate: self.pacing_rate(config).unwrap_or(SenderRecord::NONE),
            ..SenderRecord::new(self.flow, bytes(self.pipe()))
        }
    }

    /// The last of what has been handed over.
    pub(super) fn is_last(&self, seq: u32) -> bool {
        seq + 1 == self.segments
    }
    pub fn connected(&self) -> bool {
        self.connected
    }
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, State::Reduced | State::Recovery)
    }
    /// The first segment that the receive window does not allow, or that the application has no room to hand over.
    pub(super) fn window_end(&self, config: &TcpConfig) -> u32 {
        let end = self.allowed_end(config);
        match &config.send {
            None => end,
            Some(buffer) => end.min(self.una.saturating_add(buffer.segments(config.mss, self.window.cwnd))),
        }
    }
    fn allowed_end(&self, config: &TcpConfig) -> u32 {
        match config.receive {
            Receive::Unlimited => u32::MAX,
            Receive::Window(_) => self.una.saturating_add(self.edge),
            Receive::Buffer(_) => self.edge,
        }
    }

    /// The answer to a SYN is here; `ecn` if it agrees to what was asked for.
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
            // RFC 5681 §3.1; as Linux not after one lost SYN (RFC 6298 made its time-out short).
            self.window.cwnd = 1;
        }
        let round_trip = now - self.last_sent;
        self.rtt.sample(round_trip, 0, 0, config);
        self.established(now, round_trip, config);
        Some(Cause::Ack { excess: round_trip.saturating_sub(self.idle.round_trip) })
    }

    /// The connection is open; its handshake took `round_trip`.
    pub fn established(&mut self, now: u64, round_trip: u64, config: &TcpConfig) {
        if self.control.wants_samples() {
            self.sampler = Some(Box::new(if config.manner == Manner::Ns3 { Sampler::as_ns3() } else { Sampler::default() }));
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

    /// The first segment that is not acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.una
    }

    /// The first that has not been sent.
    pub fn next(&self) -> u32 {
        self.next
    }

    pub fn explains(&self) -> bool {
        self.why.is_some()
    }

    /// Does anything here go by the least round trip?
    pub fn measures(&self) -> bool {
        self.rack.is_some() || self.control.wants_samples()
    }

    /// The connection has been open since before; its handshake would have taken `round_trip`, 0 where nothing goes by it.
    pub fn open(&mut self, now: u64, round_trip: u64, config: &TcpConfig) {
        // Where only the first time-out needs a round trip, `initial_rto` says it.
        if config.tail_probe {
            self.rtt.sample(round_trip, 0, 0, config);
        }
        self.established(now, round_trip, config);
    }

    /// Does a SYN that is sent now ask for ECN? One that was not answered may have been dropped for asking: the next one does not (Linux
    /// tcp_ecn_fallback). What the answer says counts all the same.
    pub fn asks(&self) -> bool {
        self.ecn != EcnMode::Off && self.timeouts == 0
    }

    /// The SYN was not answered in time.
    pub(super) fn syn_lost(&mut self, now: u64) {
        self.waited(now, Label::Recovery, 0);
        self.retransmitted += 1;
        self.timeouts += 1;
        self.rtt.back_off();
    }

    /// Takes an acknowledgement. Afterwards [`Self::transmit`] is to be called until it returns `None`, with the cause returned here.
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: &TcpConfig) -> Cause {
        let cumulative = ack.cumulative.min(self.next);
        self.echo = self.echo.max(ack.stamp);
        if let Some(edge) = ack.edge
            && edge > self.edge
        {
            self.edge = edge;
            if self.timer == Timer::Persist {
                // Nothing was lost: the window has opened (Linux tcp_ack_probe).
                self.rtt.forgive();
                if ack.opened > 0 {
                    // The acknowledgement that told of it was lost.
                    self.waited(ack.opened, Label::Window, 0);
                    self.waited(self.asked_at, Label::Recovery, 0);
                }
            }
            // Linux tcp_ack_update_window.
            if self.next < self.segments {
                self.restart(now, config);
            }
        }
        // How much longer than on the idle network this round trip was: the waits it ends are charged to that first.
        if let Some(why) = &mut self.why {
            why.stood(ack.paused);
            why.waited_at_host(self.at_host.of(ack.trigger));
        }
        let (mut excess, mut sent_then) = (0, now);
        self.decided = u64::MAX;
        if ack.trigger >= self.una && ack.trigger < self.next {
            let segment = &self.board[ack.trigger];
            sent_then = segment.sent();
            excess = if ack.delayed { 0 } else { now.saturating_sub(segment.paced + self.idle.round_trip) };
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
        // What one acknowledgement reports, in whatever order, says nothing of reordering.
        let mut news = News { highest_before: if self.sacked > 0 { self.highest_sacked } else { 0 }, ..News::default() };
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
            // An acknowledgement older than `una` was overtaken: no duplicate (RFC 5681 §2).
            Recovery::NewReno if ack.cumulative < before => {}
            Recovery::NewReno => self.count_duplicates(now, acked, outstanding, config),
        }
        let delivered = news.delivered;
        if let Some(sent) = news.oldest {
            self.rtt.sample(now - sent, self.una, self.next, config);
            self.note_round_trip(now - sent);
        } else if acked > 0 && config.estimator == Estimator::Linux && ack.repeated && now - sent_then >= self.rack.as_ref().map_or(0, |r| r.min_rtt) {
            // Timestamps measure repetitions too, in milliseconds. (The time of an original that was repeated since is not known here, nor
            // which of several repetitions it was if the last cannot have been back yet.)
            self.rtt.sample((now - sent_then).div_ceil(MILLISECOND).max(1) * MILLISECOND, self.una, self.next, config);
        }
        if self.rack.is_some() {
            self.after_probe(now, ack, acked > 0 || delivered > 0);
        }
        // Leaving a state comes before entering another.
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
        let growing = matches!(self.state, State::Open | State::Loss) && !(self.lost > 0 && self.state == State::Open);
        let may_grow = growing && self.is_limited() && !ack.ece;
        // After a time-out the window grows by what has newly arrived, not by what had arrived before and waited behind a hole.
        let grown = if config.proportional_reduction {
            // Linux tcp_may_raise_cwnd: where nothing advances, there is disorder.
            if acked > 0 || self.disorder_is_usual() { delivered } else { 0 }
        } else if self.state == State::Loss {
            acked.min(delivered)
        } else {
            acked
        };
        let rtt = news.newest.map_or(0, |sent| now - sent);
        let seen = Ack { now, rtt, state: self.state, acked: grown, delivered, ece: ack.ece, una: self.una, next: self.next, may_grow, ..Ack::default() };
        self.control.on_ack(&mut self.window, &seen);
        if ack.ece && self.ecn != EcnMode::Off && self.state == State::Open && self.una < self.segments {
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
        // What was sent after the oldest segment and has arrived does not put its time-out off (Linux tcp_clean_rtx_queue).
        let overtaken = || news.oldest.is_some_and(|sent| sent < self.board[self.una].sent());
        let news = acked > 0 || (delivered > 0 && config.tail_probe && (self.timer != Timer::Retransmit || overtaken()));
        self.set_timer(now, news, config);
        Cause::Ack { excess }
    }

    /// For a control that models the path: it sets the window.
    pub(super) fn take_sample(&mut self, ack: &Ack) {
        let in_flight = self.pipe();
        let min_rtt = self.rack.as_ref().map_or(0, |r| r.min_rtt);
        let around = Around { now: ack.now, in_flight, min_rtt, ece: ack.ece, next_send: self.pace_at, window_limited: self.limited };
        if let Some(sampler) = &mut self.sampler {
            let sample = sampler.end(&around);
            self.control.on_sample(&mut self.window, ack, &sample, sampler);
        }
    }

    /// Something else than the window holds the next segment back.
    fn hold_until(&mut self, now: u64, at: u64, config: &TcpConfig) {
        self.pace_wait = if self.has_work(config) { at } else { 0 };
        // A window may be full all the same, or the receiver's closed.
        let full = self.pipe() >= self.window.cwnd;
        if full || self.last_sent == now {
            self.validate(full);
        }
        if self.pace_wait == 0 {
            self.persist(now, config);
        }
    }

    /// The next segment to send now, if the window allows one.
    #[inline]
    pub fn transmit(&mut self, now: u64, cause: Cause, config: &TcpConfig) -> Option<Transmit> {
        if self.pace_at > now && self.burst == 0 && !(self.at_once && config.manner == Manner::Ns3) {
            self.in_line = false;
            self.hold_until(now, self.pace_at, config);
            return None;
        }
        if let Some(at) = self.stands_in_line(now, config) {
            self.in_line = true;
            self.hold_until(now, at, config);
            return None;
        }
        let (seq, retransmission) = self.choose(now, config)?;
        self.pace(now, config);
        let time = if self.is_last(seq) { self.idle.slowest_last } else { self.idle.slowest_full };
        let mut paced = now;
        if let Some(why) = &mut self.why {
            let recovering = self.was_recovering || retransmission || matches!(self.state, State::Recovery | State::Loss);
            let label = match cause {
                _ if recovering => Label::Recovery,
                Cause::Ack { .. } => Label::Window,
                Cause::Start => Label::Application,
                Cause::Timeout => Label::Recovery,
                Cause::Pace => Label::Pacing,
                // All of it is charged to queueing.
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
            // Of a flow that starts behind others on the connection.
            let passes = cause == Cause::Start && seq >= self.current.to && !retransmission;
            paced = if passes { why.passed(now, time) } else { why.on_sent(now, label, excess, time, retransmission) };
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
            // A probe may repeat what is under way again already.
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

    /// The segment that may go now, and whether it is a repetition.
    #[inline]
    pub(super) fn choose(&mut self, now: u64, config: &TcpConfig) -> Option<(u32, bool)> {
        let pipe = self.pipe();
        if std::mem::take(&mut self.probe) {
            // A tail loss probe goes whatever the window says: new data if there is any, else the last segment again.
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

    /// Linux tcp_cwnd_validate: remembers over a round trip whether the window was the limit.
    #[inline]
    pub(super) fn validate(&mut self, limited: bool) {
        let out = self.next - self.una;
        if self.una >= self.limited_until || limited || (!self.limited && out > self.most_out) {
            self.limited = limited;
            self.most_out = out;
            self.limited_until = self.next;
        }
    }

    /// Linux tcp_is_cwnd_limited.
    pub(super) fn is_limited(&self) -> bool {
        self.limited || (self.window.slow_start() && self.window.cwnd < 2 * self.most_out)
    }

    /// The network is known to reorder by more than the threshold for losses.
    pub(super) fn disorder_is_usual(&self) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.reordering > 3)
    }

    /// Linux tcp_cwnd_restart: nothing was sent for longer than the time-out. The window is halved once per time-out down to the initial one,
    /// and the threshold remembers three quarters of it.
    pub fn restart(&mut self, now: u64, config: &TcpConfig) {
        let idle = now - self.last_sent;
        if self.next != self.una {
            return;
        }
        // Where time is counted in ticks, a time-out is whole ticks, and so is the pause between two of them.
        let (pause, timeout) = match config.tick.0 {
            0 => (idle, self.rtt.single_timeout()),
            tick => ((now / tick - self.last_sent / tick) * tick, self.rtt.single_timeout().next_multiple_of(tick)),
        };
        // One that models the path goes by its model (Linux tcp_slow_start_after_idle_check).
        if config.idle_restart && pause > timeout && self.sampler.is_none() {
            if !self.reducing() {
                self.window.ssthresh = self.window.ssthresh.max(self.window.cwnd / 2 + self.window.cwnd / 4);
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
        // Any pause, for those whose clock is not to run meanwhile (Linux CA_EVENT_TX_START).
        self.control.on_restart(now, idle);
    }
}

/// The control of a connection that has agreed on `ecn`.
fn agreed(tcp: &TcpConfig, ecn: EcnMode, random: &Stream) -> Control {
    let exact = !matches!(tcp.congestion, CongestionControl::PlusPlus(_)) && tcp.congestion.parameters().about().echo == Echo::Exact;
    if exact && ecn == EcnMode::Off { Control::NewReno(NewReno) } else { Control::new(&tcp.congestion, tcp.mss as u32, tcp.initial_window, random.clone()) }
}

/// The first edge: with a fixed window its size in segments, with a buffer what it has room for.
pub fn first_edge(config: &TcpConfig) -> u32 {
    match config.receive {
        Receive::Unlimited => u32::MAX,
        Receive::Window(bytes) => ((bytes.0 / config.mss as u64).max(1)) as u32,
        Receive::Buffer(buffer) => ((buffer.initial.0 * buffer.share as u64 / 256 / config.mss as u64).max(1)) as u32,
    }
}

/// What one acknowledgement says of segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    /// Newly known to have arrived.
    pub delivered: u32,
    /// Of those selectively.
    pub sacked: u32,
    /// When the oldest and the newest of those that were sent once were sent.
    pub oldest: Option<u64>,
    pub newest: Option<u64>,
    /// When the SACKed one that was sent last was sent, first or again.
    pub last_sent: u64,
    /// The lowest of those that were sent once, and the highest SACKed before: if the former is below the latter, the network reordered.
    pub lowest_original: u32,
    pub highest_before: u32,
}

impl Default for News {
    fn default() -> Self {
        News { delivered: 0, sacked: 0, oldest: None, newest: None, last_sent: 0, lowest_original: u32::MAX, highest_before: 0 }
    }
}
