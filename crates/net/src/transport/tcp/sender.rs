//! The sending half.

use super::rtt::Rtt;
use super::scoreboard::{Scoreboard, Segment};
use crate::congestion::{Ack, Control, State, Window};
use crate::idle::Idle;
use crate::probe::explain::{Attribution, Label};
use crate::spec::{EcnMode, Recovery, TcpConfig};

/// Why the sender looks for something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Start,
    /// An acknowledgement whose round trip was this much longer than the idle one (picoseconds).
    Ack {
        excess: u64,
    },
    Timeout,
}

/// What an acknowledgement brings.
#[derive(Debug, Clone, Copy)]
pub struct AckIn<'a> {
    /// Next segment expected.
    pub cumulative: u32,
    /// The segment whose arrival caused it.
    pub trigger: u32,
    pub ece: bool,
    /// It waited for the receiver's timer: what its round trip exceeds the idle one by is not queueing.
    pub delayed: bool,
    pub blocks: &'a [(u32, u32)],
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
    pub idle: Idle,
    pub explain: bool,
}

pub struct Sender {
    una: u32,
    next: u32,
    segments: u32,
    window: Window,
    sacked: u32,
    lost: u32,
    resent: u32,
    state: State,
    /// The state ends when this segment is acknowledged.
    high: u32,
    /// Where the search for the next segment to repeat starts.
    resend_from: u32,
    /// Segments below are marked lost if they are to be.
    lost_below: u32,
    highest_sacked: u32,
    duplicates: u32,
    /// SACK blocks seen last: what they cover need not be looked at again.
    known_blocks: [(u32, u32); 4],
    send_cwr: bool,
    /// The first lost segment is to be repeated whatever the window says.
    at_once: bool,
    was_recovering: bool,
    // Window validation, as Linux: was the window what limited us in the last round?
    limited: bool,
    limited_until: u32,
    most_out: u32,
    board: Scoreboard,
    control: Control,
    rtt: Rtt,
    /// When the retransmission timer is to expire; 0 when there is nothing outstanding.
    pub deadline: u64,
    /// The timer event under way, 0 for none; any other is stale.
    pub armed: u64,
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub start: u64,
    pub idle: Idle,
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub why: Option<Attribution>,
}

impl Sender {
    pub fn new(setup: SenderSetup, now: u64, config: &TcpConfig) -> Self {
        let limit = config.max_window.unwrap_or(u32::MAX);
        Sender {
            una: 0,
            next: 0,
            segments: setup.segments,
            window: Window { cwnd: config.initial_window.min(limit), credit: 0, ssthresh: u32::MAX, limit },
            sacked: 0,
            lost: 0,
            resent: 0,
            state: State::Open,
            high: 0,
            resend_from: 0,
            lost_below: 0,
            highest_sacked: 0,
            duplicates: 0,
            known_blocks: [(0, 0); 4],
            send_cwr: false,
            at_once: false,
            was_recovering: false,
            limited: false,
            limited_until: 0,
            most_out: 0,
            board: Scoreboard::default(),
            control: Control::new(&config.congestion),
            rtt: Rtt::new(config),
            deadline: 0,
            armed: 0,
            flow: setup.flow,
            transport: setup.transport,
            node: setup.node,
            dst: setup.dst,
            hash: setup.hash,
            priority: setup.priority,
            start: now,
            idle: setup.idle,
            sent: 0,
            retransmitted: 0,
            timeouts: 0,
            why: setup.explain.then(|| Attribution::new(now)),
        }
    }

    pub fn finished(&self) -> bool {
        self.una == self.segments
    }
    /// `una next cwnd ssthresh state`, for traces.
    #[cfg(test)]
    pub fn snapshot(&self) -> String {
        let ssthresh = if self.window.ssthresh == u32::MAX { "-".to_string() } else { self.window.ssthresh.to_string() };
        format!("{:>4}{:>5}{:>5}{:>4} {:?}", self.una, self.next, self.window.cwnd, ssthresh, self.state)
    }
    /// Segments outstanding, less those known or thought to have left the network (RFC 6675's pipe).
    fn pipe(&self) -> u32 {
        self.next - self.una - self.sacked - self.lost + self.resent
    }
    pub fn is_last(&self, seq: u32) -> bool {
        seq + 1 == self.segments
    }

    /// Takes an acknowledgement. Afterwards [`Self::transmit`] is to be called until it returns `None`, with the cause returned here.
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: &TcpConfig) -> Cause {
        let cumulative = ack.cumulative.min(self.next);
        // How much longer than on the idle network this round trip was: the waits it ends are charged to that first.
        let mut excess = 0;
        if ack.trigger >= self.una && ack.trigger < self.next {
            let segment = &self.board[ack.trigger];
            excess = if ack.delayed { 0 } else { now.saturating_sub(segment.paced + self.idle.round_trip) };
            if let Some(why) = &mut self.why
                && cumulative == self.segments
            {
                why.end_at(segment.sent());
            }
        }
        self.was_recovering = matches!(self.state, State::Recovery | State::Loss);
        let (before, outstanding) = (self.una, self.next - self.una);
        let acked = cumulative.saturating_sub(self.una);
        let mut delivered = 0;
        // Sample the segment sent last of those that were sent once.
        let mut sampled: Option<u64> = None;
        let mut ambiguous = false;
        if acked > 0 {
            for seq in self.una..cumulative {
                let segment = &self.board[seq];
                if segment.has(Segment::SACKED) {
                    self.sacked -= 1;
                    continue;
                }
                delivered += 1;
                self.lost -= segment.has(Segment::LOST) as u32;
                self.resent -= segment.has(Segment::RESENT) as u32;
                if segment.has(Segment::AMBIGUOUS) {
                    ambiguous = true;
                } else {
                    sampled = Some(segment.sent());
                }
            }
            // What lay behind a repeated segment has waited for it at the receiver (as Linux: no sample from such an acknowledgement).
            if ambiguous {
                sampled = None;
            }
            self.una = cumulative;
            self.resend_from = self.resend_from.max(cumulative);
            self.lost_below = self.lost_below.max(cumulative);
        }
        match config.recovery {
            Recovery::Sack => {
                for &(from, to) in ack.blocks {
                    delivered += self.on_block(from, to, &mut sampled);
                }
                self.mark_lost(config);
            }
            // An acknowledgement older than `una` was overtaken: no duplicate (RFC 5681 §2).
            Recovery::NewReno if ack.cumulative < before => {}
            Recovery::NewReno => self.count_duplicates(acked, outstanding, config),
        }
        if let Some(sent) = sampled {
            self.rtt.sample(now - sent, config);
        }
        // Leaving a state comes before entering another.
        if self.state != State::Open && self.is_over(config) {
            self.state = State::Open;
            self.control.on_state(State::Open, &mut self.window, now);
        }
        let growing = matches!(self.state, State::Open | State::Loss);
        let may_grow = growing && self.is_limited() && !ack.ece;
        // After a time-out the window grows by what has newly arrived, not by what had arrived before and waited behind a hole.
        let grown = if self.state == State::Loss { acked.min(delivered) } else { acked };
        let rtt = sampled.map_or(0, |sent| now - sent);
        let seen = Ack { now, rtt, state: self.state, acked: grown, delivered, ece: ack.ece, una: self.una, next: self.next, may_grow };
        self.control.on_ack(&mut self.window, &seen);
        if ack.ece && config.ecn != EcnMode::Off && self.state == State::Open && self.una < self.segments {
            let ssthresh = self.control.on_ecn(&self.window, now);
            self.reduce(ssthresh, State::Reduced, now);
        }
        if self.lost > 0 && matches!(self.state, State::Open | State::Reduced) {
            // A reduction under way for an ECN echo is not made twice for the same window.
            let ssthresh = if self.state == State::Open { self.control.on_loss(&self.window, now) } else { self.window.cwnd };
            self.reduce(ssthresh, State::Recovery, now);
            self.resend_from = self.una;
            // RFC 6675 §5 (4.3), RFC 6582 §3.2 step 3: the first retransmission does not wait for the pipe to drain.
            self.at_once = true;
        }
        if acked > 0 {
            self.deadline = if self.una == self.next { 0 } else { now + self.rtt.timeout(config) };
        }
        Cause::Ack { excess }
    }

    /// The state under way ends. An ECN reduction lasts until something sent after it is acknowledged: only then has the receiver seen the
    /// CWR, and only from then on do echoes tell of the reduced window. Without SACK the same holds for losses, lest duplicates of what a
    /// time-out repeated in vain be taken for another loss (RFC 6582 §4.1; Linux tcp_try_undo_recovery).
    fn is_over(&self, config: &TcpConfig) -> bool {
        let beyond = self.state == State::Reduced || config.recovery == Recovery::NewReno;
        self.una > self.high || (self.una == self.high && !beyond)
    }

    /// Never opens the window: a threshold of two segments may be above it.
    fn reduce(&mut self, ssthresh: u32, state: State, now: u64) {
        self.window.ssthresh = ssthresh;
        self.window.cwnd = self.window.cwnd.min(ssthresh);
        // RFC 3168 §6.1.2: every reduction is announced, so that the receiver's echo ends.
        self.send_cwr = true;
        self.window.credit = 0;
        self.state = state;
        self.high = self.next;
        self.control.on_state(state, &mut self.window, now);
    }

    /// Marks what a SACK block covers; returns how much of it is new.
    fn on_block(&mut self, from: u32, to: u32, sampled: &mut Option<u64>) -> u32 {
        let (from, to) = (from.max(self.una), to.min(self.next));
        if from >= to {
            return 0;
        }
        let mut delivered = 0;
        // Blocks grow: skip the part that an earlier block covered.
        let known = self.known_blocks.iter().copied().filter(|&(a, b)| a >= from && b <= to && b > a).max_by_key(|&(a, b)| b - a);
        let (skip_from, skip_to) = known.unwrap_or((to, to));
        let mut seq = from;
        while seq < to {
            if seq == skip_from {
                seq = skip_to;
                continue;
            }
            let segment = &mut self.board[seq];
            if !segment.has(Segment::SACKED) {
                self.lost -= segment.has(Segment::LOST) as u32;
                self.resent -= segment.has(Segment::RESENT) as u32;
                if !segment.has(Segment::AMBIGUOUS) {
                    *sampled = Some(sampled.map_or(segment.sent(), |s| s.max(segment.sent())));
                }
                segment.unset(Segment::LOST | Segment::RESENT);
                segment.set(Segment::SACKED);
                self.sacked += 1;
                delivered += 1;
            }
            seq += 1;
        }
        self.highest_sacked = self.highest_sacked.max(to - 1);
        // Replace the block this one grew from, or the one furthest back.
        let slot = self.known_blocks.iter().position(|&(a, b)| (a >= from && b <= to) || b <= self.una).unwrap_or(3);
        self.known_blocks[slot] = (from, to);
        self.known_blocks[..=slot].rotate_right(1);
        delivered
    }

    /// RFC 6675: a segment is lost when `dupack_threshold` segments above it have been SACKed.
    fn mark_lost(&mut self, config: &TcpConfig) {
        let Some(threshold) = config.dupack_threshold else { return };
        if self.sacked < threshold || self.highest_sacked < self.una {
            return;
        }
        let (mut seen, mut seq) = (0, self.highest_sacked + 1);
        while seen < threshold && seq > self.una {
            seq -= 1;
            seen += self.board[seq].has(Segment::SACKED) as u32;
        }
        if seen < threshold {
            return;
        }
        for lost in self.lost_below..seq {
            let segment = &mut self.board[lost];
            if !segment.has(Segment::SACKED | Segment::LOST | Segment::AMBIGUOUS) {
                segment.set(Segment::LOST);
                self.lost += 1;
            }
        }
        self.lost_below = self.lost_below.max(seq);
    }

    /// Without SACK each duplicate stands for one segment that has left the network (as Linux emulates it).
    fn count_duplicates(&mut self, acked: u32, outstanding: u32, config: &TcpConfig) {
        if acked > 0 {
            // The acknowledgement covers the hole and what had piled up behind it.
            self.sacked = self.sacked.saturating_sub(acked - 1).min((self.next - self.una).saturating_sub(self.lost));
            self.duplicates = 0;
            if self.una >= self.high || self.state == State::Open {
                self.sacked = 0;
            } else if self.state == State::Recovery {
                // Partial acknowledgement: the next hole, at once (RFC 6582 §3.2 step 5).
                self.mark_first_lost();
                self.at_once = true;
            }
        } else if outstanding > 0 {
            self.duplicates += 1;
            if self.sacked + self.lost + 1 < outstanding {
                self.sacked += 1;
            }
            if config.dupack_threshold.is_some_and(|t| self.duplicates >= t) && matches!(self.state, State::Open | State::Reduced) {
                self.mark_first_lost();
            }
        }
    }

    fn mark_first_lost(&mut self) {
        let segment = &mut self.board[self.una];
        if !segment.has(Segment::LOST) {
            segment.set(Segment::LOST);
            self.lost += 1;
            self.sacked = self.sacked.min(self.next - self.una - self.lost);
        }
        self.resend_from = self.una;
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, now: u64, config: &TcpConfig) -> Cause {
        self.timeouts += 1;
        // ssthresh falls once per window (RFC 5681 §3.1; Linux tcp_enter_loss): not at every back-off, nor again where fast recovery
        // or an echo has already lowered it for this window.
        if self.state == State::Open || self.una >= self.high {
            self.window.ssthresh = self.control.on_loss(&self.window, now);
        }
        self.send_cwr = true;
        self.window.cwnd = 1;
        self.window.credit = 0;
        if config.recovery == Recovery::NewReno {
            self.sacked = 0;
        }
        self.lost = 0;
        self.resent = 0;
        for seq in self.una..self.next {
            let segment = &mut self.board[seq];
            segment.unset(Segment::RESENT);
            if !segment.has(Segment::SACKED) {
                segment.set(Segment::LOST);
                self.lost += 1;
            }
        }
        self.resend_from = self.una;
        self.lost_below = self.next;
        self.duplicates = 0;
        self.state = State::Loss;
        self.high = self.next;
        self.control.on_state(State::Loss, &mut self.window, now);
        self.rtt.back_off();
        self.deadline = now + self.rtt.timeout(config);
        Cause::Timeout
    }

    /// The next segment to send now, if the window allows one.
    #[inline]
    pub fn transmit(&mut self, now: u64, cause: Cause, config: &TcpConfig, window_segments: u32) -> Option<Transmit> {
        let pipe = self.pipe();
        let at_once = std::mem::take(&mut self.at_once) && self.lost > self.resent;
        if pipe >= self.window.cwnd && !at_once {
            self.validate(true);
            return None;
        }
        let (seq, retransmission) = if self.lost > self.resent
            && let Some(seq) = self.next_lost()
        {
            (seq, true)
        } else if self.next < self.segments && self.next - self.una < window_segments {
            (self.next, false)
        } else {
            self.validate(false);
            return None;
        };
        let time = if self.is_last(seq) { self.idle.slowest_last } else { self.idle.slowest_full };
        let mut paced = now;
        if let Some(why) = &mut self.why {
            let recovering = self.was_recovering || retransmission || matches!(self.state, State::Recovery | State::Loss);
            let label = match cause {
                _ if recovering => Label::Recovery,
                Cause::Ack { .. } => Label::Window,
                Cause::Start => Label::Application,
                Cause::Timeout => Label::Recovery,
            };
            let excess = if let (Cause::Ack { excess }, false) = (cause, recovering) { excess } else { 0 };
            paced = why.on_sent(now, label, excess, time, retransmission);
        }
        if retransmission {
            self.board[seq].resend(now, paced);
            self.resent += 1;
            self.retransmitted += 1;
            self.resend_from = seq + 1;
        } else {
            self.board.reserve(self.una, self.next);
            self.board[seq] = Segment::new(now, paced);
            self.next += 1;
        }
        self.sent += 1;
        if self.deadline == 0 {
            self.deadline = now + self.rtt.timeout(config);
        }
        let cwr = !retransmission && std::mem::take(&mut self.send_cwr) && config.ecn != EcnMode::Off;
        Some(Transmit { seq, retransmission, cwr })
    }

    fn next_lost(&mut self) -> Option<u32> {
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
    fn validate(&mut self, limited: bool) {
        let out = self.next - self.una;
        if self.una >= self.limited_until || limited || (!self.limited && out > self.most_out) {
            self.limited = limited;
            self.most_out = out;
            self.limited_until = self.next;
        }
    }

    /// Linux tcp_is_cwnd_limited.
    fn is_limited(&self) -> bool {
        self.limited || (self.window.slow_start() && self.window.cwnd < 2 * self.most_out)
    }
}
