//! Sending half of a rated flow.

use super::keys::{D3, Pdq, Rated};
use crate::probe::explain::Label;
use crate::record::SenderRecord;
use crate::transport::rated::allocation::{Header, Scheme, What, d3, pdq};
use crate::transport::sending::Sending;
use std::collections::VecDeque;

/// Number of later transmissions after which a segment that has not arrived is lost.
const OVERTAKEN: u64 = 3;

/// Scheme whose rules apply.
#[derive(Debug, Clone, Copy)]
pub enum Scheduling<'a> {
    Pdq(&'a Pdq),
    D3(&'a D3),
}

impl Scheduling<'_> {
    pub fn rated(self) -> Rated {
        match self {
            Scheduling::Pdq(config) => config.rated(),
            Scheduling::D3(config) => config.rated(),
        }
    }
}

pub struct SenderSetup {
    pub half: Sending,
    /// Bits on the wire of a full segment and of the last one, gaps included.
    pub full_bits: u64,
    pub last_bits: u64,
    /// Rate of the slowest link on the path, in bits per second.
    pub line: u64,
    pub deadline: Option<u64>,
}

/// Contents of an answer.
#[derive(Debug, Clone, Copy)]
pub struct AckIn {
    pub cumulative: u32,
    /// Segment that is answered, if the answered frame had data.
    pub trigger: Option<u32>,
    pub header: Header,
    pub paused: u64,
}

/// Next action of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Send this segment; `true` for a retransmission.
    Send(u32, bool),
    /// Send a header without data.
    Signal(What),
    /// Give up the flow, because it can no longer meet its deadline. It is over once an `End` has
    /// been sent.
    GiveUp,
    /// Do nothing before this time in ps; 0: wait for an answer.
    Wait(u64),
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Number of the segment's last transmission, counted over all frames.
    order: u64,
    at: u64,
    paced: u64,
    arrived: bool,
    lost: bool,
}

/// State that only one of the schemes needs.
#[derive(Debug, Clone, Copy)]
enum Memory {
    Pdq { pausing: u32, interval: f64 },
    D3 { desired: u32, granted: [u32; d3::HOPS], awaiting: bool, due: u64, ended: bool },
}

pub struct Sender {
    pub half: Sending,
    una: u32,
    next: u32,
    full_bits: u64,
    last_bits: u64,
    line: u64,
    outstanding: VecDeque<Segment>,
    lost: u32,
    orders: u64,
    /// Granted rate in bits per second, 0 if the flow must wait.
    rate: u64,
    /// Start time in ps and bits of the last transmission. The rate determines when the next one
    /// may start.
    last_sent: u64,
    last_bits_sent: u64,
    connected: bool,
    round_trip: u64,
    /// Time in ps at which the last frame without data was sent.
    signalled: u64,
    /// Send times in ps of unanswered frames without data. Used only for time attribution.
    unanswered: VecDeque<u64>,
    /// Time in ps at which the time-out last started, and number of consecutive time-outs.
    heard: u64,
    silent: u32,
    memory: Memory,
    /// Reason why the next segment could not leave earlier, for time attribution.
    cause: (Label, u64),
    pub deadline: Option<u64>,
}

impl AsMut<Sending> for Sender {
    fn as_mut(&mut self) -> &mut Sending {
        &mut self.half
    }
}

impl Sender {
    pub fn new(setup: SenderSetup, config: Scheduling) -> Self {
        let memory = match config {
            Scheduling::Pdq(_) => Memory::Pdq { pausing: pdq::NOBODY, interval: 0.0 },
            Scheduling::D3(_) => Memory::D3 {
                desired: 0,
                granted: [0; d3::HOPS],
                awaiting: false,
                due: 0,
                ended: false,
            },
        };
        Sender {
            una: 0,
            next: 0,
            full_bits: setup.full_bits,
            last_bits: setup.last_bits,
            line: setup.line,
            outstanding: VecDeque::new(),
            lost: 0,
            orders: 0,
            rate: 0,
            last_sent: 0,
            last_bits_sent: 0,
            connected: false,
            round_trip: setup.half.idle.round_trip.max(1),
            signalled: 0,
            unanswered: VecDeque::new(),
            heard: setup.half.start,
            silent: 0,
            memory,
            cause: (Label::Application, 0),
            deadline: setup.deadline,
            half: setup.half,
        }
    }

    pub fn finished(&self) -> bool {
        self.una == self.half.segments
    }

    /// Returns the state for a time series of sender records. `payload`: bytes of a segment.
    pub fn known(&self, payload: impl Fn(u32) -> u64) -> SenderRecord {
        let flight: u64 = self
            .outstanding
            .iter()
            .zip(self.una..)
            .filter(|(segment, _)| !segment.arrived && !segment.lost)
            .map(|(_, seq)| payload(seq))
            .sum();
        SenderRecord {
            smoothed: self.round_trip,
            rate: self.rate,
            ..SenderRecord::new(self.half.flow, flight)
        }
    }

    /// True unless the links have been told that the flow has ended.
    pub fn is_open(&self) -> bool {
        !matches!(self.memory, Memory::D3 { ended: true, .. })
    }

    fn is_last(&self, seq: u32) -> bool {
        seq + 1 == self.half.segments
    }

    fn bits(&self, seq: u32) -> u64 {
        if self.is_last(seq) { self.last_bits } else { self.full_bits }
    }

    /// Returns the bits that have not been sent, or must be retransmitted.
    fn remaining_bits(&self) -> u64 {
        let new = (self.half.segments - self.next) as u64;
        let fresh = if new > 0 { (new - 1) * self.full_bits + self.last_bits } else { 0 };
        fresh + self.lost as u64 * self.full_bits
    }

    /// Returns the time in ps that the rest takes at the highest rate.
    fn needed(&self) -> u64 {
        time(self.remaining_bits(), self.line)
    }

    fn timeout(&self, rated: Rated) -> u64 {
        (rated.min_rto.0.max(2 * self.round_trip)) << self.silent.min(10)
    }

    /// Returns the time in ps between probes of a paused flow.
    fn between_probes(&self) -> u64 {
        match self.memory {
            Memory::Pdq { interval, .. } => (self.round_trip as f64 * interval.max(1.0)) as u64,
            Memory::D3 { .. } => self.round_trip,
        }
    }

    /// True if the flow is to be given up: PDQ's early termination, D3's quenching.
    fn is_hopeless(&self, now: u64, rated: Rated) -> bool {
        let Some(deadline) = self.deadline.filter(|_| rated.early_termination) else {
            return false;
        };
        if self.remaining_bits() == 0 && self.connected && now <= deadline {
            return false;
        }
        let left = deadline.saturating_sub(now);
        match self.memory {
            Memory::Pdq { .. } => {
                now > deadline
                    || self.needed() > left
                    || self.connected && self.rate == 0 && left < self.round_trip
            }
            // An outstanding D3 request must be answered first, because the rates that links have
            // just granted must be given back.
            Memory::D3 { awaiting, due, .. } => {
                (!awaiting || now > due + 4 * self.round_trip)
                    && (now > deadline || self.needed() > left)
            }
        }
    }

    /// Returns the time in ps at which the next segment may leave at the current rate.
    fn next_send(&self) -> u64 {
        if self.last_bits_sent == 0 {
            self.last_sent
        } else {
            self.last_sent + time(self.last_bits_sent, self.rate)
        }
    }

    /// Returns the action at `now`. The caller performs it and asks again, until the action is to
    /// wait.
    pub fn next_act(&mut self, now: u64, config: Scheduling) -> Act {
        let rated = config.rated();
        if self.is_hopeless(now, rated) {
            return Act::GiveUp;
        }
        // Check again for termination just after the deadline.
        let last_moment = self
            .deadline
            .filter(|&deadline| rated.early_termination && deadline >= now)
            .map_or(u64::MAX, |deadline| deadline + 1);
        if !self.connected {
            let again = self.signalled + self.timeout(rated);
            return match self.orders {
                0 => Act::Signal(What::Syn),
                _ if now >= again => {
                    (self.silent, self.half.timeouts, self.half.retransmitted) =
                        (self.silent + 1, self.half.timeouts + 1, self.half.retransmitted + 1);
                    Act::Signal(What::Syn)
                }
                _ => Act::Wait(again.min(last_moment)),
            };
        }
        let mut wake = last_moment;
        if self.una < self.next {
            let expires = self.heard + self.timeout(rated);
            if now >= expires {
                self.take_for_lost(now);
            }
            wake = wake.min(self.heard + self.timeout(rated));
        }
        let has_work = self.lost > 0 || self.next < self.half.segments;
        if let Memory::D3 { awaiting, due, ended, .. } = self.memory {
            if !has_work && !ended && !awaiting {
                return Act::Signal(What::End);
            }
            // The answer may be lost: after a time-out the sender asks again.
            let due = if awaiting { self.signalled.max(due) + self.timeout(rated) } else { due };
            if has_work && self.rate == 0 {
                if now >= due {
                    return Act::Signal(What::Probe);
                }
                wake = wake.min(due);
            }
        } else if has_work && self.rate == 0 {
            let due = self.signalled + self.between_probes();
            if now >= due {
                return Act::Signal(What::Probe);
            }
            wake = wake.min(due);
        }
        if has_work && self.rate > 0 {
            let at = self.next_send();
            if now >= at {
                return self.choose();
            }
            wake = wake.min(at);
        }
        Act::Wait(if wake == u64::MAX { 0 } else { wake })
    }

    fn choose(&self) -> Act {
        match self.outstanding.iter().position(|segment| segment.lost) {
            Some(place) if self.lost > 0 => Act::Send(self.una + place as u32, true),
            _ => Act::Send(self.next, false),
        }
    }

    /// Considers everything in flight as lost, because no answer has arrived for too long.
    fn take_for_lost(&mut self, now: u64) {
        for segment in &mut self.outstanding {
            self.lost += (!segment.arrived && !segment.lost) as u32;
            segment.lost |= !segment.arrived;
        }
        self.heard = now;
        self.silent += 1;
        self.half.timeouts += 1;
        self.cause = (Label::Recovery, 0);
    }

    /// Records that the frame of `act` is sent at `now`, and returns its header.
    pub fn on_sent(&mut self, now: u64, act: Act, config: Scheduling) -> Header {
        self.orders += 1;
        let what = match act {
            Act::Send(seq, again) => {
                self.note_segment(now, seq, again);
                What::Data
            }
            Act::Signal(what) => {
                self.signalled = now;
                if what != What::End && self.half.why.is_some() {
                    self.unanswered.push_back(now);
                }
                what
            }
            Act::GiveUp => What::End,
            Act::Wait(_) => unreachable!("nothing is sent"),
        };
        Header { what, answer: false, sent: now, scheme: self.scheme(now, what, config) }
    }

    fn note_segment(&mut self, now: u64, seq: u32, again: bool) {
        let (label, excess) = self.cause;
        let label = if again { Label::Recovery } else { label };
        let paced = self.half.on_sent(now, seq, again, (label, excess));
        // The pace ends the next wait, unless something else does.
        self.cause = (Label::Pacing, 0);
        let segment = Segment { order: self.orders, at: now, paced, arrived: false, lost: false };
        if self.una == self.next {
            self.heard = now;
        }
        if again {
            self.outstanding[(seq - self.una) as usize] = segment;
            self.lost -= 1;
        } else {
            self.outstanding.push_back(segment);
            self.next += 1;
        }
        (self.last_sent, self.last_bits_sent) = (now, self.bits(seq));
    }

    fn scheme(&mut self, now: u64, what: What, config: Scheduling) -> Scheme {
        let (line, round_trip, remaining) = (self.line, self.round_trip, self.needed());
        let (bits, deadline) = (self.remaining_bits(), self.deadline);
        match (&mut self.memory, config) {
            (Memory::Pdq { pausing, .. }, _) => {
                // Probes are shorter than data. Over slow, short links a full frame would not fit
                // into the round trip of a probe at any rate, and the links would grant nothing.
                let round_trip =
                    round_trip.max((2 * pdq::LEAST * 1_000_000_000_000 / line as u128) as u64);
                Scheme::Pdq(pdq::Header {
                    rate: line,
                    pausing: *pausing,
                    deadline: deadline.unwrap_or(u64::MAX),
                    remaining,
                    round_trip,
                    interval: 0.0,
                })
            }
            (Memory::D3 { desired, granted, awaiting, due, ended }, _) => {
                let mut header = d3::Header {
                    desired_before: *desired,
                    granted_before: *granted,
                    ..d3::Header::default()
                };
                *ended |= what == What::End;
                let overdue = *awaiting && now >= *due + 4 * round_trip;
                if !*ended && now >= *due && (!*awaiting || overdue || what != What::Data) {
                    // Remaining bits over the time left, in kbit/s; 0 without a deadline.
                    let left = deadline.map(|deadline| deadline.saturating_sub(now).max(1));
                    let wants = left.map_or(0, |left| {
                        (bits as u128 * 1_000_000_000).div_ceil(left as u128).min(u32::MAX as u128)
                            as u32
                    });
                    header.request = true;
                    header.desired = wants;
                    *desired = wants;
                    *awaiting = true;
                    *due = now + round_trip;
                }
                Scheme::D3(header)
            }
        }
    }

    /// Processes an answer.
    pub fn on_ack(&mut self, now: u64, ack: &AckIn, config: Scheduling) {
        (self.heard, self.silent) = (now, 0);
        if let Some(why) = &mut self.half.why {
            why.stood(ack.paused);
        }
        self.sample(now - ack.header.sent);
        self.take_answer(&ack.header);
        let mut excess = 0;
        match ack.trigger {
            Some(seq) if seq >= self.una && seq < self.next => {
                let segment = &mut self.outstanding[(seq - self.una) as usize];
                segment.arrived = true;
                self.lost -= std::mem::take(&mut segment.lost) as u32;
                let Segment { order, at, paced, .. } = *segment;
                excess = now.saturating_sub(paced + self.half.idle.round_trip);
                if let Some(why) = &mut self.half.why
                    && ack.cumulative >= self.half.segments
                {
                    why.end_at(at);
                }
                self.mark_overtaken(order);
            }
            _ => {}
        }
        while self.una < ack.cumulative.min(self.next) {
            let segment = self.outstanding.pop_front().expect("one for each that is outstanding");
            self.lost -= segment.lost as u32;
            self.una += 1;
        }
        self.connected |= ack.header.what == What::Syn;
        self.take_grant(&ack.header, excess, config);
    }

    /// Removes answered requests. The path keeps the order, so requests that were sent before the
    /// answered one and have no answer are lost. The wait since the first of them is attributed to
    /// recovery.
    fn take_answer(&mut self, header: &Header) {
        let first_lost = self.unanswered.front().copied().filter(|&sent| sent < header.sent);
        while self.unanswered.front().is_some_and(|&sent| sent <= header.sent) {
            self.unanswered.pop_front();
        }
        if let (Some(lost), Some(why)) = (first_lost, &mut self.half.why)
            && header.what != What::Data
        {
            why.waited(lost, Label::Window, 0);
            why.waited(header.sent, Label::Recovery, 0);
        }
    }

    fn sample(&mut self, round_trip: u64) {
        // The first sample counts fully, each later one an eighth.
        self.round_trip =
            if self.connected { (7 * self.round_trip + round_trip) / 8 } else { round_trip };
    }

    /// Marks segments as lost that were sent at least three transmissions before the one that
    /// arrived.
    fn mark_overtaken(&mut self, order: u64) {
        // The path keeps the order: without losses the oldest segment is never overtaken.
        if self.outstanding.front().is_none_or(|first| first.order + OVERTAKEN > order) {
            return;
        }
        for segment in
            self.outstanding.iter_mut().filter(|segment| segment.order + OVERTAKEN <= order)
        {
            self.lost += (!segment.arrived && !segment.lost) as u32;
            segment.lost |= !segment.arrived;
        }
    }

    fn take_grant(&mut self, header: &Header, excess: u64, config: Scheduling) {
        let (before, has_work) = (self.rate, self.lost > 0 || self.next < self.half.segments);
        match (&mut self.memory, header.scheme, config) {
            (Memory::Pdq { pausing, interval }, Scheme::Pdq(said), _) => {
                (*pausing, *interval) = (said.pausing, said.interval);
                self.rate = said.rate;
            }
            (
                Memory::D3 { granted, awaiting, ended: false, .. },
                Scheme::D3(said),
                Scheduling::D3(config),
            ) if said.request => {
                *granted = said.granted;
                *awaiting = false;
                let least = said.granted[..said.hops as usize].iter().copied().min().unwrap_or(0);
                let most = least as u64 * 1_000;
                // With only the base rate, no data are sent. A flow whose data have all been sent
                // keeps its rate, in case of retransmissions.
                if most > config.base_rate.0 || has_work {
                    self.rate = if most > config.base_rate.0 { most } else { 0 };
                }
            }
            _ => {}
        }
        self.rate = self.rate.min(self.line);
        if before == 0 && self.rate > 0 {
            // The sender waited for a grant, which took a further round trip.
            self.cause = (Label::Window, excess);
        }
    }
}

/// Returns the time in ps for `bits` at `rate` bits per second, rounded to the nearest picosecond
/// as on links.
fn time(bits: u64, rate: u64) -> u64 {
    ((bits as u128 * 1_000_000_000_000 + rate as u128 / 2) / rate as u128) as u64
}
