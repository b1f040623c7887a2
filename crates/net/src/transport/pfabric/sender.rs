//! Sending half of pFabric's transport.

use crate::probe::explain::Label;
use crate::record::SenderRecord;
use crate::spec::{CongestionControl, EcnMode, Pfabric};
use crate::transport::sending::Sending;
use crate::transport::tcp::{AckIn, Cause, Rtt, Scoreboard, Segment};

/// Segment to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub retransmission: bool,
    /// Remaining bytes of the flow; 0 without ranks.
    pub rank: u32,
}

/// DCTCP's estimate of the marked share, as in the authors' ns-2.
#[derive(Debug, Clone, Copy)]
struct Alpha {
    gain: f64,
    value: f64,
    /// The observation window ends when more than this segment is acknowledged.
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

    /// Processes an acknowledgement. A duplicate counts as one segment.
    fn on_ack(&mut self, segments: u32, marked: bool, cumulative: u32, most: u32) {
        self.seen += segments;
        self.marked += if marked { segments } else { 0 };
        if cumulative > self.end {
            self.value += self.gain * (self.marked as f64 / self.seen as f64 - self.value);
            (self.end, self.seen, self.marked) = (most, 0, 0);
        }
    }
}

/// Cause of a reduction of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutCause {
    Mark,
    Timeout,
}

/// Action that an expired timer requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    Syn,
    TimedOut,
    /// Time-out after which only a probe of this rank is sent.
    Probe(u32),
}

/// State that an idle connection keeps for its next flow.
#[derive(Debug, Clone)]
pub struct Kept {
    ssthresh: f64,
    counted: u32,
    alpha: Option<Alpha>,
    rtt: Option<Rtt>,
    /// Hash of the connection's frames.
    pub hash: u32,
}

pub struct SenderSetup {
    pub half: Sending,
    pub bytes: u64,
    pub ecn: EcnMode,
    /// True if the connection is open.
    pub connected: bool,
    pub kept: Option<Kept>,
}

#[derive(Default)]
pub struct Sender {
    pub half: Sending,
    una: u32,
    /// Next segment in order, and segment behind the highest one sent so far.
    next: u32,
    most: u32,
    /// While acknowledgements are below `recover`, holes from `hole` on are sent first.
    hole: u32,
    recover: u32,
    bytes: u64,
    mss: u32,
    sacked: u32,
    /// Segment behind the highest SACKed one.
    sacked_to: u32,
    /// Window in segments. Only whole segments are sent.
    cwnd: f64,
    ssthresh: f64,
    /// Number of window-opening acknowledgements above the threshold since the window last grew or
    /// was reduced. The window grows by one segment when this number reaches the window (ns-2's
    /// `windowOption_` 0).
    counted: u32,
    limit: f64,
    /// True if the window never changes.
    constant: bool,
    /// Estimate of the marked share; DCTCP only.
    alpha: Option<Alpha>,
    board: Scoreboard,
    /// Estimator of the time-out; `None` if the time-out is fixed.
    rtt: Option<Rtt>,
    /// Segment whose round trip is being measured, and its send time in ps.
    timed: Option<(u32, u64)>,
    /// Marks do not reduce the window until a segment beyond `reduced_to` is acknowledged, unless
    /// the last reduction followed a time-out.
    reduced_to: u32,
    last_cut: Option<CutCause>,
    /// True if the last acknowledgement echoed a mark.
    echoed: bool,
    /// Number of time-outs since the last answer.
    silent: u32,
    probing: bool,
    connected: bool,
    /// Time in ps at which the timer expires; 0 if none is set.
    pub deadline: u64,
    pub ecn: EcnMode,
}

impl AsMut<Sending> for Sender {
    fn as_mut(&mut self) -> &mut Sending {
        &mut self.half
    }
}

impl Sender {
    pub fn new(setup: SenderSetup, config: &Pfabric) -> Self {
        let tcp = &config.tcp;
        let limit = tcp.max_window.unwrap_or(u32::MAX) as f64;
        let (ssthresh, counted, alpha, rtt) = match setup.kept {
            Some(kept) => (kept.ssthresh, kept.counted, kept.alpha, kept.rtt),
            None => (
                f64::INFINITY,
                0,
                Alpha::of(&tcp.congestion, setup.ecn),
                (!config.fixed_timeout).then(|| Rtt::new(tcp)),
            ),
        };
        Sender {
            bytes: setup.bytes,
            mss: tcp.mss as u32,
            cwnd: (tcp.initial_window as f64).min(limit),
            ssthresh,
            counted,
            limit,
            constant: config.constant_window,
            alpha,
            rtt,
            connected: setup.connected,
            ecn: setup.ecn,
            half: setup.half,
            ..Sender::default()
        }
    }

    /// Returns the state that this connection keeps for its next flow.
    pub fn keep(&self) -> Kept {
        let alpha = self.alpha.map(|alpha| Alpha { end: 0, ..alpha });
        Kept {
            ssthresh: self.ssthresh,
            counted: self.counted,
            alpha,
            rtt: self.rtt,
            hash: self.half.hash,
        }
    }

    /// Returns the state for a time series of sender records.
    pub fn known(&self) -> SenderRecord {
        let bytes = |segments: f64| (segments * f64::from(self.mss)) as u64;
        SenderRecord {
            window: bytes(self.cwnd),
            threshold: bytes(self.ssthresh),
            smoothed: self
                .rtt
                .map(|rtt| rtt.smoothed())
                .filter(|measured| *measured > 0)
                .unwrap_or(SenderRecord::NONE),
            ..SenderRecord::new(
                self.half.flow,
                u64::from((self.next - self.una).saturating_sub(self.sacked)) * u64::from(self.mss),
            )
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

    /// Handles the answer to the SYN.
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

    /// Processes an acknowledgement.
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
        // ns-2: the first of consecutive echoes does not open the window, the following ones do.
        let opens = progress && (!ece || self.echoed);
        self.echoed = ece;
        if let Some(alpha) = &mut self.alpha {
            alpha.on_ack(acked, ece, ack.cumulative, self.most);
        }
        if opens {
            self.open();
        }
        if ece && (self.una > self.reduced_to || self.last_cut == Some(CutCause::Timeout)) {
            let left = self.cwnd * (1.0 - self.alpha.map_or(1.0, |alpha| alpha.value) / 2.0);
            (self.ssthresh, self.cwnd) = (left.floor().max(2.0), left.max(1.0));
            (self.reduced_to, self.last_cut, self.counted) = (self.most, Some(CutCause::Mark), 0);
        }
        Cause::Ack { excess }
    }

    /// Opens the window: by one segment in slow start, otherwise by one segment per window.
    fn open(&mut self) {
        if self.constant {
            return;
        }
        if self.cwnd >= self.ssthresh {
            self.counted += 1;
            if (self.counted as f64) < self.cwnd {
                return;
            }
            self.counted = 0;
        }
        self.cwnd = (self.cwnd + 1.0).min(self.limit);
    }

    /// Handles an expired timer.
    pub fn on_wake(&mut self, now: u64, config: &Pfabric) -> Expired {
        self.half.timeouts += 1;
        if let Some(rtt) = &mut self.rtt {
            rtt.back_off();
        }
        if !self.connected {
            self.waited(now);
            return Expired::Syn;
        }
        if !self.constant {
            self.reduce_after_timeout();
        }
        (self.next, self.hole, self.recover) = (self.una, self.una, self.most);
        self.timed = None;
        self.silent += 1;
        self.probing |= config.probe_after.is_some_and(|many| self.silent >= many);
        self.deadline = now + self.timeout(config);
        if self.probing {
            // If the answer says that all data have arrived, no segment will end this wait.
            self.waited(now);
            Expired::Probe(self.rank(config))
        } else {
            Expired::TimedOut
        }
    }

    fn reduce_after_timeout(&mut self) {
        // ns-2: after a reduction for a mark the threshold stays.
        if self.last_cut == Some(CutCause::Mark) {
            self.reduced_to = self.most;
        } else {
            self.ssthresh = (self.cwnd / 2.0).floor().max(2.0);
            self.last_cut = Some(CutCause::Timeout);
        }
        (self.cwnd, self.counted) = (1.0, 0);
    }

    /// Attributes the time until now to waiting for a time-out.
    fn waited(&mut self, now: u64) {
        if let Some(why) = &mut self.half.why {
            why.waited(now, Label::Recovery, 0);
        }
    }

    /// Returns the remaining bytes of the flow, as data frames carry them. The value is never 0 for
    /// a ranked flow, because 0 marks frames without a flow size.
    fn rank(&self, config: &Pfabric) -> u32 {
        if !config.ranked {
            return 0;
        }
        let known = (self.una + self.sacked) as u64 * self.mss as u64;
        self.bytes.saturating_sub(known).clamp(1, u32::MAX as u64) as u32
    }

    /// Returns the next segment to send now, if the window allows one.
    pub fn transmit(&mut self, now: u64, cause: Cause, config: &Pfabric) -> Option<Transmit> {
        if self.probing || !self.connected {
            return None;
        }
        let seq = self.choose()?;
        let retransmission = seq < self.most;
        let label = match cause {
            _ if retransmission || self.una < self.recover => Label::Recovery,
            Cause::Ack { .. } => Label::Window,
            Cause::Start => Label::Application,
            Cause::Timeout | Cause::Pace | Cause::Line => Label::Recovery,
        };
        let excess =
            if let (Cause::Ack { excess }, Label::Window) = (cause, label) { excess } else { 0 };
        let paced = self.half.on_sent(now, seq, retransmission, (label, excess));
        let rank = self.rank(config);
        if retransmission {
            self.board[seq].resend(now, paced);
        } else {
            self.board.reserve(self.una, self.most);
            self.board[seq] = Segment::new(now, paced);
            self.most += 1;
            self.timed.get_or_insert((seq, now));
        }
        self.next = self.next.max(seq + 1);
        if self.deadline == 0 {
            self.deadline = now + self.timeout(config);
        }
        Some(Transmit { seq, retransmission, rank })
    }

    /// Returns the next segment that the window allows. Segments that have arrived beyond a hole do
    /// not make room in the window.
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
