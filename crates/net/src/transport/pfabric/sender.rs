//! The sending half.

use crate::probe::explain::Label;
use crate::record::SenderRecord;
use crate::spec::{CongestionControl, EcnMode, Pfabric};
use crate::transport::sending::Sending;
use crate::transport::tcp::{AckIn, Cause, Rtt, Scoreboard, Segment};

/// A segment to be put on the wire now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub retransmission: bool,
    /// What remains of the flow.
    pub rank: u32,
}

/// DCTCP's estimate of the marked share, as the authors' ns-2 has it.
#[derive(Debug, Clone, Copy)]
struct Alpha {
    gain: f64,
    value: f64,
    /// The window of observation ends when more than this is acknowledged.
    end: u32,
    seen: u32,
    marked: u32,
}

impl Alpha {
    fn of(congestion: &CongestionControl, ecn: EcnMode) -> Option<Alpha> {
        match congestion {
            CongestionControl::Dctcp(config) if ecn != EcnMode::Off => {
                let value = f64::from(config.first_alpha()) / 1024.0;
                Some(Alpha { gain: config.gain, value, end: 0, seen: 0, marked: 0 })
            }
            _ => None,
        }
    }

    /// Takes an acknowledgement, a duplicate one for one segment.
    fn on_ack(&mut self, segments: u32, marked: bool, cumulative: u32, most: u32) {
        self.seen += segments;
        self.marked += if marked { segments } else { 0 };
        if cumulative > self.end {
            self.value += self.gain * (self.marked as f64 / self.seen as f64 - self.value);
            (self.end, self.seen, self.marked) = (most, 0, 0);
        }
    }
}

/// What reduced the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Mark,
    Timeout,
}

/// What a timer that has gone off leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    Syn,
    TimedOut,
    /// The same, and only a probe is to be sent, of this rank.
    Probe(u32),
}

/// What a connection that lies idle keeps for its next flow.
#[derive(Debug, Clone)]
pub struct Kept {
    ssthresh: f64,
    counted: u32,
    alpha: Option<Alpha>,
    rtt: Option<Rtt>,
    /// What its frames say of the connection.
    pub hash: u32,
}

pub struct SenderSetup {
    pub half: Sending,
    pub bytes: u64,
    pub ecn: EcnMode,
    /// The connection is open.
    pub connected: bool,
    pub kept: Option<Kept>,
}

pub struct Sender {
    pub half: Sending,
    una: u32,
    /// The next segment in order, and behind the highest sent so far.
    next: u32,
    most: u32,
    /// While acknowledgements are below `recover`, holes from here on go first.
    hole: u32,
    recover: u32,
    bytes: u64,
    mss: u32,
    sacked: u32,
    /// Behind the highest SACKed segment.
    sacked_to: u32,
    /// In segments; whole ones are sent.
    cwnd: f64,
    ssthresh: f64,
    /// Acknowledgements that opened the window above the threshold since it grew or was reduced: so many as it is long let it grow by one (ns-2's
    /// `windowOption_` 0).
    counted: u32,
    limit: f64,
    /// With DCTCP.
    alpha: Option<Alpha>,
    board: Scoreboard,
    /// `None`: the time-out is fixed.
    rtt: Option<Rtt>,
    /// The segment whose round trip is being taken, and when it was sent.
    timed: Option<(u32, u64)>,
    /// No reduction for marks while not more than this is acknowledged, unless the last reduction was after a time-out.
    reduced_to: u32,
    last_cut: Option<Cut>,
    /// The last acknowledgement told of a mark.
    echoed: bool,
    /// Time-outs since anything was heard.
    silent: u32,
    probing: bool,
    connected: bool,
    /// When the timer is to expire; 0 when none is set.
    pub deadline: u64,
    pub ecn: EcnMode,
}

impl Sender {
    pub fn new(setup: SenderSetup, config: &Pfabric) -> Self {
        let tcp = &config.tcp;
        let limit = tcp.max_window.unwrap_or(u32::MAX) as f64;
        let (ssthresh, counted, alpha, rtt) = match setup.kept {
            Some(kept) => (kept.ssthresh, kept.counted, kept.alpha, kept.rtt),
            None => (f64::INFINITY, 0, Alpha::of(&tcp.congestion, setup.ecn), (!config.fixed_timeout).then(|| Rtt::new(tcp))),
        };
        Sender {
            una: 0,
            next: 0,
            most: 0,
            hole: 0,
            recover: 0,
            bytes: setup.bytes,
            mss: tcp.mss as u32,
            sacked: 0,
            sacked_to: 0,
            cwnd: (tcp.initial_window as f64).min(limit),
            ssthresh,
            counted,
            limit,
            alpha,
            board: Scoreboard::default(),
            rtt,
            timed: None,
            reduced_to: 0,
            last_cut: None,
            echoed: false,
            silent: 0,
            probing: false,
            connected: setup.connected,
            deadline: 0,
            ecn: setup.ecn,
            half: setup.half,
        }
    }

    /// What this connection keeps for its next flow.
    pub fn keep(&self) -> Kept {
        let alpha = self.alpha.map(|alpha| Alpha { end: 0, ..alpha });
        Kept { ssthresh: self.ssthresh, counted: self.counted, alpha, rtt: self.rtt, hash: self.half.hash }
    }

    /// For a series of records.
    pub fn known(&self) -> SenderRecord {
        let bytes = |segments: f64| (segments * f64::from(self.mss)) as u64;
        SenderRecord {
            window: bytes(self.cwnd),
            threshold: bytes(self.ssthresh),
            smoothed: self.rtt.map(|rtt| rtt.smoothed()).filter(|measured| *measured > 0).unwrap_or(SenderRecord::NONE),
            ..SenderRecord::new(self.half.flow, u64::from((self.next - self.una).saturating_sub(self.sacked)) * u64::from(self.mss))
        }
    }

    pub fn finished(&self) -> bool {
        self.una == self.half.segments
    }

    fn timeout(&self, config: &Pfabric) -> u64 {
        self.rtt.map_or(config.tcp.min_rto.0, |rtt| rtt.timeout(&config.tcp))
    }

    pub fn syn_sent(&mut self, now: u64, config: &Pfabric) {
        self.deadline = now + self.timeout(config);
        self.timed = (self.half.timeouts == 0).then_some((0, now));
        self.half.sent += 1;
        self.half.retransmitted += (self.half.timeouts > 0) as u64;
    }

    /// The answer to a SYN is here.
    pub fn on_connected(&mut self, now: u64, config: &Pfabric) -> Option<Cause> {
        if self.connected {
            return None;
        }
        self.connected = true;
        self.deadline = 0;
        (self.silent, self.probing) = (0, false);
        let excess = self.timed.take().map_or(0, |(_, sent)| {
            if let Some(rtt) = &mut self.rtt {
                rtt.sample(now - sent, 0, 0, &config.tcp);
            }
            (now - sent).saturating_sub(self.half.idle.round_trip)
        });
        Some(Cause::Ack { excess })
    }

    /// Takes an acknowledgement.
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: &Pfabric) -> Cause {
        (self.silent, self.probing) = (0, false);
        let mut excess = 0;
        if ack.trigger >= self.una && ack.trigger < self.most {
            let segment = &self.board[ack.trigger];
            excess = now.saturating_sub(segment.paced + self.half.idle.round_trip);
            if let Some(why) = &mut self.half.why {
                why.stood(ack.paused);
                if ack.cumulative >= self.half.segments {
                    why.end_at(segment.sent());
                }
            }
        }
        let acked = if ack.cumulative > self.una { ack.cumulative - self.una } else { 1 };
        let cumulative = ack.cumulative.min(self.most);
        let progress = cumulative > self.una;
        if progress {
            for seq in self.una..cumulative {
                self.sacked -= self.board[seq].has(Segment::SACKED) as u32;
            }
            self.una = cumulative;
            self.next = self.next.max(cumulative);
            self.hole = self.hole.max(cumulative);
            if let Some((seq, sent)) = self.timed
                && cumulative > seq
            {
                self.timed = None;
                if let Some(rtt) = &mut self.rtt {
                    rtt.sample(now - sent, self.una, self.most, &config.tcp);
                }
            }
            self.deadline = if self.una == self.most { 0 } else { now + self.timeout(config) };
        }
        for &(from, to) in ack.blocks {
            for seq in from.max(self.una)..to.min(self.most) {
                let segment = &mut self.board[seq];
                if !segment.has(Segment::SACKED) {
                    segment.set(Segment::SACKED);
                    self.sacked += 1;
                    self.sacked_to = self.sacked_to.max(seq + 1);
                }
            }
        }
        let ece = ack.ece && self.ecn != EcnMode::Off;
        // ns-2: while echoes come in a row the window opens, the first one does not open it.
        let opens = progress && (!ece || self.echoed);
        self.echoed = ece;
        if let Some(alpha) = &mut self.alpha {
            alpha.on_ack(acked, ece, ack.cumulative, self.most);
        }
        if opens {
            self.open();
        }
        if ece && (self.una > self.reduced_to || self.last_cut == Some(Cut::Timeout)) {
            let left = self.cwnd * (1.0 - self.alpha.map_or(1.0, |alpha| alpha.value) / 2.0);
            (self.ssthresh, self.cwnd) = (left.floor().max(2.0), left.max(1.0));
            (self.reduced_to, self.last_cut, self.counted) = (self.most, Some(Cut::Mark), 0);
        }
        Cause::Ack { excess }
    }

    /// Slow start, or one segment more for each window.
    fn open(&mut self) {
        if self.cwnd >= self.ssthresh {
            self.counted += 1;
            if (self.counted as f64) < self.cwnd {
                return;
            }
            self.counted = 0;
        }
        self.cwnd = (self.cwnd + 1.0).min(self.limit);
    }

    /// The timer.
    pub fn on_wake(&mut self, now: u64, config: &Pfabric) -> Expired {
        self.half.timeouts += 1;
        if let Some(rtt) = &mut self.rtt {
            rtt.back_off();
        }
        if !self.connected {
            self.waited(now);
            return Expired::Syn;
        }
        // ns-2: after a reduction for a mark the threshold stays.
        if self.last_cut == Some(Cut::Mark) {
            self.reduced_to = self.most;
        } else {
            self.ssthresh = (self.cwnd / 2.0).floor().max(2.0);
            self.last_cut = Some(Cut::Timeout);
        }
        (self.cwnd, self.counted) = (1.0, 0);
        (self.next, self.hole, self.recover) = (self.una, self.una, self.most);
        self.timed = None;
        self.silent += 1;
        self.probing |= config.probe_after.is_some_and(|many| self.silent >= many);
        self.deadline = now + self.timeout(config);
        if self.probing {
            // Should the answer be that everything has come, no segment will end this wait.
            self.waited(now);
            Expired::Probe(self.rank(config))
        } else {
            Expired::TimedOut
        }
    }

    /// The time until now has gone into waiting for a time-out.
    fn waited(&mut self, now: u64) {
        if let Some(why) = &mut self.half.why {
            why.waited(now, Label::Recovery, 0);
        }
    }

    /// What remains of the flow, as data say it: never 0, which is for frames without a flow's size.
    fn rank(&self, config: &Pfabric) -> u32 {
        if !config.ranked {
            return 0;
        }
        let known = (self.una + self.sacked) as u64 * self.mss as u64;
        self.bytes.saturating_sub(known).clamp(1, u32::MAX as u64) as u32
    }

    /// The next segment to send now, if the window allows one.
    pub fn transmit(&mut self, now: u64, cause: Cause, config: &Pfabric) -> Option<Transmit> {
        if self.probing || !self.connected {
            return None;
        }
        let seq = self.choose()?;
        let retransmission = seq < self.most;
        let time = if seq + 1 == self.half.segments { self.half.idle.slowest_last } else { self.half.idle.slowest_full };
        let mut paced = now;
        if let Some(why) = &mut self.half.why {
            let label = match cause {
                _ if retransmission || self.una < self.recover => Label::Recovery,
                Cause::Ack { .. } => Label::Window,
                Cause::Start => Label::Application,
                Cause::Timeout | Cause::Pace | Cause::Line => Label::Recovery,
            };
            let excess = if let (Cause::Ack { excess }, Label::Window) = (cause, label) { excess } else { 0 };
            paced = why.on_sent(now, label, excess, time, retransmission);
        }
        let rank = self.rank(config);
        if retransmission {
            self.board[seq].resend(now, paced);
            self.half.retransmitted += 1;
        } else {
            self.board.reserve(self.una, self.most);
            self.board[seq] = Segment::new(now, paced);
            self.most += 1;
            self.timed.get_or_insert((seq, now));
        }
        self.next = self.next.max(seq + 1);
        self.half.sent += 1;
        if self.deadline == 0 {
            self.deadline = now + self.timeout(config);
        }
        Some(Transmit { seq, retransmission, rank })
    }

    /// What has arrived beyond a hole does not make room in the window.
    fn choose(&mut self) -> Option<u32> {
        let end = self.half.segments.min(self.una.saturating_add(self.cwnd as u32));
        if self.una < self.recover {
            while self.hole < self.sacked_to.min(end) {
                let seq = self.hole;
                self.hole += 1;
                if !self.board[seq].has(Segment::SACKED) {
                    return Some(seq);
                }
            }
        }
        while self.next < self.most && self.board[self.next].has(Segment::SACKED) {
            self.next += 1;
        }
        (self.next < end).then_some(self.next)
    }
}
