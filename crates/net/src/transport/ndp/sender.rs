//! Sending half of NDP.

use super::NdpConfig;
use crate::probe::explain::Label;
use crate::transport::sending::Sending;
use std::collections::VecDeque;

/// Number of pulls from which the time between them is known. Longest wait for the pulls before, in
/// time-outs, and for further ones, in longest times between answers.
const FEWEST_PULLS: u32 = 2;
const FIRST_PULLS: u64 = 32;
const FURTHER_PULLS: u64 = 4;

/// Segment to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u32,
    pub again: bool,
    /// Number of frames that the flow has sent before this one.
    pub order: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Sent,
    /// To be retransmitted.
    Asked,
    Arrived,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    at: u64,
    paced: u64,
    state: State,
}

#[derive(Default)]
pub struct Sender {
    pub half: Sending,
    una: u32,
    next: u32,
    outstanding: VecDeque<Segment>,
    /// Segments to be retransmitted, in the order of the requests. Some entries may be obsolete.
    again: VecDeque<u32>,
    /// Number of frames that may be sent now, and total number granted by the receiver.
    credit: u32,
    granted: u32,
    /// Time in ps of the last answer or time-out, and number of consecutive time-outs without an
    /// answer.
    alive: u64,
    silent: u32,
    /// Number of frames without an answer.
    unanswered: u32,
    /// Time in ps of the last answer, longest time between two, and number of pulls apart from
    /// answers to frames.
    heard: u64,
    longest: u64,
    pulls: u32,
    /// Clock of the flow's time attribution, in ps, at the segment that was answered last.
    answered: Option<u64>,
}

impl AsMut<Sending> for Sender {
    fn as_mut(&mut self) -> &mut Sending {
        &mut self.half
    }
}

impl Sender {
    pub fn new(half: Sending, config: &NdpConfig) -> Self {
        let now = half.start;
        Sender {
            credit: config.initial_window.min(half.segments),
            alive: now,
            heard: now,
            half,
            ..Sender::default()
        }
    }

    pub fn finished(&self) -> bool {
        self.una == self.half.segments
    }

    /// Returns the next frame that may be sent at `now`. Trimmed segments take precedence over new
    /// data.
    pub fn transmit(&mut self, now: u64) -> Option<Transmit> {
        while self.again.front().is_some_and(|&seq| {
            seq < self.una || self.outstanding[(seq - self.una) as usize].state != State::Asked
        }) {
            self.again.pop_front();
        }
        if self.credit == 0 || self.again.is_empty() && self.next == self.half.segments {
            return None;
        }
        self.credit -= 1;
        let repeated = self.again.pop_front();
        let (seq, again) = (repeated.unwrap_or(self.next), repeated.is_some());
        let excess =
            self.answered.map_or(0, |paced| now.saturating_sub(paced + self.half.idle.round_trip));
        let label = if again { Label::Recovery } else { Label::Window };
        let paced = self.half.on_sent(now, seq, again, (label, excess));
        let segment = Segment { at: now, paced, state: State::Sent };
        self.unanswered += 1;
        if again {
            self.outstanding[(seq - self.una) as usize] = segment;
        } else {
            self.outstanding.push_back(segment);
            self.next += 1;
        }
        Some(Transmit { seq, again, order: self.half.sent - 1 })
    }

    /// Processes the number of frames that an answer grants in total. `only_grants`: it is a pull,
    /// and answers no frame.
    pub fn on_granted(&mut self, now: u64, granted: u32, only_grants: bool) {
        self.longest = self.longest.max(now - self.heard);
        self.pulls += only_grants as u32;
        (self.alive, self.heard, self.silent) = (now, now, 0);
        self.credit += granted.saturating_sub(self.granted);
        self.granted = self.granted.max(granted);
    }

    /// Processes the arrival of a segment, or of its header only.
    pub fn on_answer(&mut self, seq: u32, trimmed: bool) {
        if seq < self.una || seq >= self.next {
            return;
        }
        let segment = &mut self.outstanding[(seq - self.una) as usize];
        self.unanswered -= u32::from(segment.state == State::Sent);
        match segment.state {
            State::Arrived => return,
            _ if !trimmed => segment.state = State::Arrived,
            State::Sent => {
                segment.state = State::Asked;
                self.again.push_back(seq);
            }
            State::Asked => return,
        }
        self.answered = Some(segment.paced);
        let at = segment.at;
        while self.outstanding.front().is_some_and(|first| first.state == State::Arrived) {
            self.outstanding.pop_front();
            self.una += 1;
        }
        if self.finished()
            && let Some(why) = &mut self.half.why
        {
            why.end_at(at);
        }
    }

    /// Returns the time in ps at which the timer expires if no answer arrives. The receiver pulls a
    /// flow once per turn of all its flows, so a sender whose frames are all answered is patient:
    /// only a lost pull ends its wait.
    pub fn deadline(&self, config: &NdpConfig) -> u64 {
        let patience = match (self.unanswered, self.pulls) {
            (0, ..FEWEST_PULLS) => config.rto.0 * FIRST_PULLS,
            (0, _) => config.rto.0.max(FURTHER_PULLS * self.longest),
            _ => config.rto.0,
        };
        self.alive + (patience << self.silent.min(10))
    }

    /// Marks everything outstanding for retransmission, and allows one frame without a pull.
    pub fn on_timeout(&mut self, now: u64) {
        for (place, segment) in self
            .outstanding
            .iter_mut()
            .enumerate()
            .filter(|(_, segment)| segment.state == State::Sent)
        {
            segment.state = State::Asked;
            self.again.push_back(self.una + place as u32);
        }
        self.credit = self.credit.max(1);
        self.unanswered = 0;
        (self.alive, self.answered) = (now, None);
        self.silent += 1;
        self.half.timeouts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::explain::Attribution;
    use afflux_units::Span;

    const US: u64 = 1_000_000;

    fn config() -> NdpConfig {
        NdpConfig {
            payload: 1_000,
            initial_window: 3,
            pull_rate: 1.0,
            spread: true,
            rto: Span::from_us(100),
        }
    }

    fn sender(segments: u32) -> Sender {
        Sender::new(
            Sending {
                dst: 1,
                segments,
                why: Some(Box::new(Attribution::new(0))),
                ..Sending::default()
            },
            &config(),
        )
    }

    fn drive(s: &mut Sender, now: u64) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| s.transmit(now)).map(|t| (t.seq, t.again)).collect()
    }

    #[test]
    fn a_window_at_once_and_then_what_is_pulled() {
        let mut s = sender(8);
        assert_eq!(drive(&mut s, 0), [(0, false), (1, false), (2, false)]);
        s.on_granted(US, 0, false);
        s.on_answer(0, false);
        assert_eq!(drive(&mut s, US), []);
        // The second of two pulls makes up for the first one, which was lost.
        s.on_granted(2 * US, 2, false);
        assert_eq!(drive(&mut s, 2 * US), [(3, false), (4, false)]);
        s.on_granted(3 * US, 1, false);
        assert_eq!(drive(&mut s, 3 * US), []);
    }

    #[test]
    fn what_was_trimmed_goes_first_and_once() {
        let mut s = sender(5);
        drive(&mut s, 0);
        s.on_answer(1, true);
        s.on_answer(1, true);
        assert_eq!(drive(&mut s, US), []);
        s.on_granted(US, 2, false);
        assert_eq!(drive(&mut s, US), [(1, true), (3, false)]);
        for seq in [0, 1, 2, 3] {
            s.on_answer(seq, false);
        }
        // A pull that finds nothing to send is kept for segments that turn out to be trimmed.
        s.on_granted(2 * US, 4, false);
        assert_eq!(drive(&mut s, 2 * US), [(4, false)]);
        s.on_answer(4, true);
        assert_eq!(drive(&mut s, 3 * US), [(4, true)]);
        s.on_answer(4, false);
        assert!(s.finished());
        assert_eq!((s.half.sent, s.half.retransmitted), (7, 2));
    }

    #[test]
    fn silence() {
        let (mut s, config) = (sender(3), config());
        drive(&mut s, 0);
        s.on_granted(US, 0, false);
        s.on_answer(1, false);
        assert_eq!(s.deadline(&config), 101 * US);
        s.on_timeout(101 * US);
        assert_eq!((drive(&mut s, 101 * US), s.deadline(&config)), (vec![(0, true)], 301 * US));
        s.on_granted(110 * US, 1, false);
        s.on_answer(0, false);
        assert_eq!((drive(&mut s, 110 * US), s.deadline(&config)), (vec![(2, true)], 210 * US));
        assert_eq!(s.half.timeouts, 1);
    }

    /// All segments are answered by their headers, and only pulls are missing: a time-out would send
    /// frames that nobody has pulled.
    #[test]
    fn a_sender_that_waits_for_pulls_is_patient() {
        let (mut s, config) = (sender(9), config());
        drive(&mut s, 0);
        s.on_granted(US, 0, false);
        (0..3).for_each(|seq| s.on_answer(seq, true));
        assert_eq!(s.deadline(&config), (1 + 100 * FIRST_PULLS) * US);
        for pull in 1..=2 {
            // The other flows take 150 us for a turn.
            let now = (1 + 150 * pull) * US;
            s.on_granted(now, pull as u32, true);
            assert_eq!(drive(&mut s, now), [(pull as u32 - 1, true)]);
            assert_eq!(s.deadline(&config), now + 100 * US, "a frame is on its way");
            s.on_answer(pull as u32 - 1, false);
        }
        assert_eq!(s.deadline(&config), (301 + 150 * FURTHER_PULLS) * US);
    }
}
