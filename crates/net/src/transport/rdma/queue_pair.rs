//! Sending half of a queue pair: determines which frame is sent next, and when it may leave.

use super::reps::Reps;
use crate::congestion::rate::{Ack, Control, Path};
use crate::probe::explain::Label;
use crate::record::SenderRecord;
use crate::spec::{Entropy, Irn, RdmaConfig, RdmaRecovery, RdmaWindow};
use crate::telemetry::Telemetry;
use crate::transport::blocks::Blocks;
use crate::transport::sending::Sending;
use crate::world::cut_off;
use std::collections::VecDeque;

/// Bit that marks the send time of a segment that was sent more than once.
const REPEATED: u64 = 1 << 63;

pub struct Setup {
    pub half: Sending,
    /// Port of the NIC, and its rate in bits per second.
    pub port: u32,
    pub line: u64,
    pub bytes: u64,
    /// Entropy values, if each frame has its own.
    pub reps: Option<Box<Reps>>,
}

pub struct QueuePair {
    pub half: Sending,
    /// First segment that is not acknowledged, next one to be sent, and segment behind the highest
    /// one sent.
    una: u32,
    next: u32,
    sent_to: u32,
    pub control: Control,
    /// Time in ps before which the pace allows no frame.
    pub available: u64,
    /// Time in ps at which the last frame left, and that it takes at the rate of the NIC.
    left: u64,
    at_line: u64,
    /// Time in ps at which the retransmission timer expires, 0 for never.
    deadline: u64,
    pub port: u32,
    /// Place in the NIC's list.
    pub place: u32,
    line: u64,
    bytes: u64,
    /// Limit in bytes: window of go-back-N, or bandwidth-delay product of IRN.
    limit: u64,
    irn: Option<Box<Selective>>,
    reps: Option<Box<Reps>>,
    account: Option<Box<Account>>,
    /// Latest send times in ps of the unacknowledged segments, marked with [`REPEATED`] where it
    /// applies, if time attribution or the congestion control needs them.
    times: Option<VecDeque<u64>>,
}

/// State of IRN's sender.
#[derive(Debug, Default)]
struct Selective {
    held: Blocks,
    /// Highest segment sent, and highest cumulative acknowledgement.
    highest: u32,
    acknowledged: u32,
    /// Segment whose acknowledgement ends the recovery.
    recovery: Option<u32>,
    /// Recovery: segment behind the last retransmitted one, and limit below which missing segments
    /// are retransmitted, which is the highest segment that the receiver holds. With ns-3's rules
    /// all segments are retransmitted.
    repeated: u32,
    repeat_to: u32,
}

/// Addition to the time attribution of a queue pair.
struct Account {
    /// Time in ps at which the window, or the detection of a loss, last allowed the queue pair to
    /// continue, label of that wait, and time in ps by which the round trip exceeded the idle one.
    opened: u64,
    label: Label,
    excess: u64,
    /// Reading of the port's pause clock when the last frame left.
    clock: u64,
}

/// Segment to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub retransmission: bool,
}

/// Contents of an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub struct AckIn<'a> {
    pub cumulative: u32,
    pub trigger: u32,
    pub negative: bool,
    pub cnp: bool,
    /// Time in ps that this frame and the data frame it answers spent paused.
    pub paused: u64,
    /// Telemetry of the switches on the path of the answered frame, and the rates of their ports.
    pub telemetry: Option<(&'a Telemetry, &'a [u64])>,
}

impl AsMut<Sending> for QueuePair {
    fn as_mut(&mut self) -> &mut Sending {
        &mut self.half
    }
}

impl QueuePair {
    pub fn new(setup: Setup, config: &RdmaConfig) -> Self {
        let Setup { half, port, line, bytes, reps } = setup;
        let (now, idle) = (half.start, half.idle);
        let product = || (line as u128 * idle.round_trip as u128 / 8_000_000_000_000) as u64;
        let (limit, irn) = match (&config.recovery, config.window) {
            (RdmaRecovery::Irn(irn), _) => {
                (irn.bdp.unwrap_or_else(product), Some(Box::<Selective>::default()))
            }
            (_, RdmaWindow::None) => (u64::MAX, None),
            (_, RdmaWindow::Fixed(bytes) | RdmaWindow::Scaled(bytes)) => {
                (bytes.unwrap_or_else(product), None)
            }
        };
        let control = Control::new(
            &Path { line, switches: idle.switches, round_trip: idle.round_trip },
            &config.control,
        );
        let account = half
            .why
            .is_some()
            .then(|| Box::new(Account { opened: now, label: Label::Window, excess: 0, clock: 0 }));
        QueuePair {
            half,
            una: 0,
            next: 0,
            sent_to: 0,
            available: now,
            left: now,
            at_line: 0,
            deadline: 0,
            port,
            place: 0,
            line,
            bytes,
            limit: limit.max(1),
            irn,
            times: (account.is_some() || control.uses_round_trips()).then(VecDeque::new),
            reps,
            account,
            control,
        }
    }

    pub fn is_complete(&self) -> bool {
        self.una == self.half.segments
    }

    /// Returns IRN's bytes of sent frames that the responder has not reported.
    #[inline]
    fn outstanding(&self, selective: &Selective, config: &RdmaConfig) -> u64 {
        u64::from((self.next - self.una).saturating_sub(selective.held.count()))
            * u64::from(config.payload)
    }

    /// Returns the limit in proportion to the rate (HPCC's variable window).
    #[inline]
    fn scaled(&self, rate: u64) -> u64 {
        ((u128::from(self.limit) * u128::from(rate) / u128::from(self.line)) as u64).max(1)
    }

    /// Returns the state for a time series of sender records. `bits`: size of a full frame with
    /// headers and gap.
    pub fn known(&mut self, now: u64, bits: u64, config: &RdmaConfig) -> SenderRecord {
        let rate = self.control.rate(now, self.line, &config.control);
        let own = self.control.window(config.payload);
        let (flight, limit) = match &self.irn {
            Some(selective) => (
                self.outstanding(selective, config).min(self.bytes),
                Some(self.limit.min(own.unwrap_or(u64::MAX))),
            ),
            None => (
                self.position(self.next, config) - self.position(self.una, config),
                own.or(match config.window {
                    RdmaWindow::None => None,
                    RdmaWindow::Fixed(_) => Some(self.limit),
                    RdmaWindow::Scaled(_) => Some(self.scaled(rate)),
                }),
            ),
        };
        SenderRecord {
            window: limit.unwrap_or(SenderRecord::NONE),
            rate: self.control.spacing().map_or(rate, |time| bits * 1_000_000_000_000 / time),
            ..SenderRecord::new(self.half.flow, flight)
        }
    }

    #[inline(always)]
    pub fn is_last(&self, seq: u32) -> bool {
        seq + 1 == self.half.segments
    }

    /// Returns the hash of the next frame.
    #[inline(always)]
    pub fn next_hash(&mut self, now: u64, config: &RdmaConfig) -> u32 {
        match (&mut self.reps, &config.entropy) {
            (Some(reps), Entropy::Reps(config)) => reps.next(now, config),
            _ => self.half.hash,
        }
    }

    /// Reuses the entropy value that an acknowledgement returns.
    #[inline(always)]
    pub fn recycle(&mut self, hash: u32, marked: bool, config: &RdmaConfig) {
        if let (Some(reps), Entropy::Reps(config)) = (&mut self.reps, &config.entropy) {
            reps.on_ack(hash, marked, config);
        }
    }

    /// Returns the payload before segment `seq`, in bytes.
    #[inline(always)]
    fn position(&self, seq: u32, config: &RdmaConfig) -> u64 {
        if seq == self.half.segments { self.bytes } else { seq as u64 * config.payload as u64 }
    }

    /// Skips segments that the receiver holds already.
    #[inline]
    fn skip(&mut self, irn: &Irn) {
        let Some(selective) = &mut self.irn else { return };
        if irn.ns3 {
            // ns-3 checks only the first block, and only its beginning.
            if let Some((from, to)) = selective.held.first()
                && from == self.next
            {
                self.next = to;
                selective.held.discard_below(to);
            }
        } else if self.next < self.sent_to {
            // "Lost only if another with a higher number has been selectively acknowledged" (§3.1).
            let at = selective.held.end_from(self.next);
            self.next = if at < selective.repeat_to { at } else { self.sent_to };
        }
    }

    /// Returns the time in ps from which this queue pair allows its next frame; `u64::MAX` if there
    /// is none or the window is full.
    #[inline]
    pub fn due(&mut self, now: u64, config: &RdmaConfig) -> u64 {
        if self.may_send(now, config) { self.available } else { u64::MAX }
    }

    #[inline]
    fn may_send(&mut self, now: u64, config: &RdmaConfig) -> bool {
        if let RdmaRecovery::Irn(irn) = &config.recovery {
            self.skip(irn);
        }
        if self.next >= self.half.segments {
            return false;
        }
        let next = self.position(self.next, config);
        if let Some(selective) = &self.irn {
            let acknowledged = self.position(selective.acknowledged, config);
            let payload = (self.bytes - next).min(config.payload as u64);
            let in_flight = self.position(selective.highest, config).saturating_sub(acknowledged);
            if in_flight + payload >= self.limit && acknowledged + self.limit <= next {
                return false;
            }
            let outstanding = self.outstanding(selective, config);
            return self.control.window(config.payload).is_none_or(|window| outstanding < window);
        }
        if let Some(window) = self.control.window(config.payload) {
            return next - self.position(self.una, config) < window;
        }
        let limit = match config.window {
            RdmaWindow::None => return true,
            RdmaWindow::Fixed(_) => self.limit,
            RdmaWindow::Scaled(_) => {
                let rate = self.control.rate(now, self.line, &config.control);
                self.scaled(rate)
            }
        };
        next - self.position(self.una, config) < limit
    }

    /// Makes the next frame, which [`Self::due`] has allowed. `clock`: pause clock of its class at
    /// the port.
    #[inline]
    pub fn transmit(&mut self, now: u64, clock: u64, config: &RdmaConfig) -> Transmit {
        let seq = self.next;
        let retransmission = seq < self.sent_to;
        self.next += 1;
        self.sent_to = self.sent_to.max(self.next);
        if let Some(selective) = &mut self.irn {
            selective.highest = selective.highest.max(seq);
            if retransmission {
                selective.repeated = self.next;
            }
        }
        self.restart_timer(now, config);
        if self.times.is_some() {
            self.note_sent(now, seq, clock);
        }
        self.half.on_sent(now, seq, retransmission, (Label::Pacing, 0));
        Transmit { seq, retransmission }
    }

    #[cold]
    #[inline(never)]
    fn note_sent(&mut self, now: u64, seq: u32, clock: u64) {
        let times = self.times.as_mut().expect("asked for");
        let at = (seq - self.una) as usize;
        if at < times.len() {
            times[at] = now | REPEATED;
        } else {
            times.resize(at + 1, now);
        }
        if let (Some(account), Some(why)) = (&mut self.account, &mut self.half.why) {
            why.waited(self.available.min(now), Label::Pacing, 0);
            why.waited(account.opened.min(now), account.label, account.excess);
            // From then on it was its turn, and only other queue pairs of the NIC and pauses
            // delayed the frame.
            why.held(now, clock - account.clock);
            account.clock = clock;
        }
    }

    /// Sets the pace after a frame. `bits`: size with headers and gap. `at_line`: time in ps at the
    /// rate of the NIC. `tick`: resolution in ps to which times are cut off.
    #[inline]
    pub fn pace(&mut self, now: u64, bits: u64, at_line: u64, tick: u64, config: &RdmaConfig) {
        self.control.on_sent(now, bits / 8, &config.control);
        let rate = self.control.rate(now, self.line, &config.control);
        let time = if rate >= self.line { at_line } else { bits * 1_000_000_000_000 / rate };
        let time = self.control.spacing().map_or(time, |spacing| spacing.max(at_line));
        self.available = now + cut_off(time, tick);
        (self.left, self.at_line) = (now, at_line);
    }

    /// Moves the next departure if the control begins or ends to space frames (Swift with a window
    /// below one frame). `before`: what it did before.
    #[inline]
    fn respace(&mut self, before: Option<u64>) {
        let spacing = self.control.spacing();
        if spacing.is_some() != before.is_some() {
            self.available = self.left + spacing.unwrap_or(0).max(self.at_line);
        }
    }

    #[inline]
    fn restart_timer(&mut self, now: u64, config: &RdmaConfig) {
        self.deadline = now
            + match &config.recovery {
                RdmaRecovery::GoBackN { rto } => rto.0,
                RdmaRecovery::Irn(irn) if !irn.timeouts => return,
                RdmaRecovery::Irn(irn) => {
                    let selective = self.irn.as_ref().expect("IRN");
                    let many = selective.highest.saturating_sub(selective.acknowledged) > irn.few;
                    if many { irn.rto_high.0 } else { irn.rto_low.0 }
                }
            };
    }

    /// Returns the time in ps at which the timer must be checked, 0 for never.
    pub fn wake(&self) -> u64 {
        self.deadline
    }

    #[inline]
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: &RdmaConfig) {
        let could = self.account.is_some() && self.may_send(now, config);
        let (before, spacing) = (self.una, self.control.spacing());
        let round_trip = self.round_trip(now, ack.trigger);
        let mut una = self.una.max(ack.cumulative);
        let mut back = ack.negative;
        if let (Some(selective), RdmaRecovery::Irn(irn)) = (&mut self.irn, &config.recovery) {
            selective.acknowledged = selective.acknowledged.max(ack.cumulative);
            if ack.negative && ack.trigger >= una {
                selective.held.insert(ack.trigger);
                selective.repeat_to =
                    if irn.ns3 { 0 } else { selective.repeat_to.max(ack.trigger) };
            }
            if let Some((from, to)) = selective.held.first()
                && from == una
            {
                una = to;
            }
            selective.held.discard_below(una);
            if selective.recovery.is_some_and(|until| una >= until) || irn.ns3 && !ack.negative {
                selective.recovery = None;
            }
            back = ack.negative && selective.recovery.is_none();
        }
        self.una = una;
        self.next = self.next.max(una);
        if let Some(why) = &mut self.half.why {
            why.stood(ack.paused);
        }
        if self.is_complete() {
            self.end(ack.trigger, before);
            return;
        }
        if let Some(times) = &mut self.times {
            times.drain(..((una - before) as usize).min(times.len()));
        }
        if self.next > una {
            self.restart_timer(now, config);
        } else if !matches!(&config.recovery, RdmaRecovery::Irn(irn) if irn.ns3) {
            // The timer runs only while a response is expected (InfiniBand specification, o9-85).
            self.deadline = 0;
        }
        if back {
            if let Some(selective) = &mut self.irn {
                selective.recovery = Some(self.next);
                selective.repeated = una;
            }
            self.next = una;
            self.control.on_loss(now, &config.control);
        } else if let Some(selective) = &self.irn
            && selective.recovery.is_some()
        {
            // The acknowledgement reveals further losses.
            let at = selective.held.end_from(selective.repeated.max(una));
            if at < selective.repeat_to {
                self.next = self.next.min(at);
            }
        }
        if ack.cnp {
            self.control.on_cnp(now, &config.control);
        }
        if let Some((telemetry, rates)) = ack.telemetry {
            let positions = (self.position(una, config), self.position(self.next, config));
            self.control.on_telemetry(positions, telemetry, rates, &config.control);
        }
        if self.control.uses_round_trips() {
            let acked = self.position(una, config) - self.position(before, config);
            self.control.on_ack(&Ack { now, round_trip, acked }, config.payload, &config.control);
            self.respace(spacing);
        }
        if self.account.is_some() && !could && self.may_send(now, config) {
            let label = if self.next < self.sent_to { Label::Recovery } else { Label::Window };
            self.opens(
                now,
                label,
                round_trip.map_or(0, |time| time.saturating_sub(self.half.idle.round_trip)),
            );
        }
    }

    /// Returns the time in ps since the last transmission of segment `trigger`. `None` if the
    /// segment was sent more than once and even an idle path would have taken longer, because the
    /// acknowledgement then is that of an earlier transmission.
    #[inline]
    fn round_trip(&self, now: u64, trigger: u32) -> Option<u64> {
        let times = self.times.as_ref()?;
        let sent = *times.get(trigger.checked_sub(self.una)? as usize)?;
        let time = now - (sent & !REPEATED);
        (sent & REPEATED == 0 || time >= self.half.idle.round_trip).then_some(time)
    }

    #[cold]
    fn opens(&mut self, now: u64, label: Label, excess: u64) {
        let account = self.account.as_mut().expect("asked for");
        (account.opened, account.label, account.excess) = (now, label, excess);
    }

    /// Ends the time attribution when everything is acknowledged. `trigger`: frame whose
    /// acknowledgement completed the flow. `una`: first segment that was unacknowledged before.
    #[cold]
    fn end(&mut self, trigger: u32, una: u32) {
        let sent =
            trigger.checked_sub(una).and_then(|at| self.times.as_ref()?.get(at as usize).copied());
        if let (Some(why), Some(sent)) = (&mut self.half.why, sent) {
            why.end_at(sent & !REPEATED);
        }
    }

    /// Handles an expired timer: everything from the first gap on is retransmitted.
    pub fn on_timeout(&mut self, now: u64, config: &RdmaConfig) {
        let could = self.may_send(now, config);
        self.deadline = 0;
        self.half.timeouts += 1;
        if let Some(selective) = &mut self.irn {
            // Recovery lasts until everything sent so far is acknowledged, unless a NACK has
            // started one before.
            selective.recovery = selective.recovery.or(Some(self.sent_to));
            (selective.repeated, selective.repeat_to) = (self.una, self.sent_to);
        }
        self.next = self.una;
        if let (Some(reps), Entropy::Reps(config)) = (&mut self.reps, &config.entropy) {
            reps.on_timeout(now, config);
        }
        let spacing = self.control.spacing();
        self.control.on_timeout(now, &config.control);
        self.respace(spacing);
        if self.account.is_some() && !could {
            self.opens(now, Label::Recovery, 0);
        }
    }
}
