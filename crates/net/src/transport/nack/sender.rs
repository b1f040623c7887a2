//! Sending half of a nack flow.

use crate::probe::explain::Label;
use crate::spec::Nack;
use crate::transport::sending::Sending;
use std::collections::VecDeque;

/// Contents of a report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// First segment that has not arrived. All segments below it have.
    pub cumulative: u32,
    /// Segment that arrived last, and whether it was a retransmission.
    pub latest: u32,
    pub repeated: bool,
    /// Missing ranges: first segment, and segment behind the last one.
    pub missing: &'a [(u32, u32)],
    /// True for a periodic report. The segment that arrived last has then waited for it.
    pub periodic: bool,
    pub paused: u64,
}

/// Next action of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Send this segment; `true` for a retransmission.
    Send(u32, bool),
    /// Do nothing before this time in ps.
    Wait(u64),
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Number of the segment's last transmission, counted over all segments.
    order: u64,
    at: u64,
    paced: u64,
    repeated: bool,
    /// Reported missing, and not retransmitted yet.
    asked: bool,
}

#[derive(Default)]
pub struct Sender {
    pub half: Sending,
    una: u32,
    next: u32,
    outstanding: VecDeque<Segment>,
    /// Segments to be retransmitted, in the order of the requests. Some entries may be obsolete.
    again: VecDeque<u32>,
    orders: u64,
    /// Number of the latest transmission that is known to have arrived.
    reached: u64,
    /// Start of the current pace in ps, and number of transmissions since.
    base: u64,
    paced: u64,
    due: u64,
    nic: u64,
    /// Time in ps at which the last segment was sent or the last progress was reported, and number
    /// of consecutive time-outs without progress.
    alive: u64,
    silent: u32,
    /// Time in ps by which the round trip that ended with the last report exceeded the idle one, if
    /// the sender had nothing to send before.
    excess: u64,
}

impl AsMut<Sending> for Sender {
    fn as_mut(&mut self) -> &mut Sending {
        &mut self.half
    }
}

impl Sender {
    pub fn new(half: Sending, nic: u64) -> Self {
        let now = half.start;
        Sender { base: now, due: now, nic, alive: now, half, ..Sender::default() }
    }

    pub fn finished(&self) -> bool {
        self.una == self.half.segments
    }

    /// Returns the action at `now`. The caller performs it and asks again, until the action is to
    /// wait.
    pub fn next_act(&mut self, now: u64, config: &Nack) -> Act {
        while self.again.front().is_some_and(|&seq| {
            seq < self.una || !self.outstanding[(seq - self.una) as usize].asked
        }) {
            self.again.pop_front();
        }
        let work = match self.again.front() {
            Some(&seq) => Some((seq, true)),
            None => (self.next < self.half.segments).then_some((self.next, false)),
        };
        match work {
            Some((seq, again)) if now >= self.due => Act::Send(seq, again),
            Some(_) => Act::Wait(self.due),
            None => {
                // All segments are sent and no report arrives. Either the receiver does not know
                // about the last segments, or its last report was lost.
                let expires = self.due.max(self.alive + (config.timeout.0 << self.silent.min(10)));
                if now < expires {
                    return Act::Wait(expires);
                }
                self.silent += 1;
                self.half.timeouts += 1;
                self.excess = 0;
                Act::Send(self.half.segments - 1, true)
            }
        }
    }

    /// Records that a segment was sent at `now`.
    pub fn on_sent(&mut self, now: u64, seq: u32, again: bool, config: &Nack) {
        self.orders += 1;
        let label = if again { Label::Recovery } else { Label::Pacing };
        let excess = std::mem::take(&mut self.excess);
        let paced = self.half.on_sent(now, seq, again, (label, excess));
        let segment = Segment { order: self.orders, at: now, paced, repeated: again, asked: false };
        if again {
            self.outstanding[(seq - self.una) as usize] = segment;
        } else {
            self.outstanding.push_back(segment);
            self.next += 1;
        }
        self.alive = now;
        if now > self.due {
            (self.base, self.paced) = (now, 0);
        }
        self.paced += 1;
        // Computed from the start of the pace, so that rounding does not accumulate.
        self.due = match config.rate {
            None => self.base + self.paced * self.nic,
            Some(rate) => {
                self.base
                    + (self.paced as u128 * config.payload as u128 * 8_000_000_000_000
                        / rate.0 as u128) as u64
            }
        };
    }

    pub fn on_report(&mut self, now: u64, report: &Report) {
        let (before, waiting) = (self.una, self.again.len());
        let idles = self.again.is_empty() && self.next == self.half.segments;
        if let Some(why) = &mut self.half.why {
            why.stood(report.paused);
        }
        if report.latest >= self.una && report.latest < self.next {
            let Segment { order, at, paced, repeated, .. } =
                self.outstanding[(report.latest - self.una) as usize];
            // If an unnecessarily retransmitted segment is reported as an original, its first
            // transmission has arrived. The send time of that one is no longer known.
            if repeated == report.repeated {
                self.reached = self.reached.max(order);
                self.excess = if idles && !report.periodic {
                    now.saturating_sub(paced + self.half.idle.round_trip)
                } else {
                    0
                };
                if let Some(why) = &mut self.half.why
                    && report.cumulative >= self.half.segments
                {
                    why.end_at(at);
                }
            }
        }
        while self.una < report.cumulative.min(self.next) {
            self.outstanding.pop_front();
            self.una += 1;
        }
        for &(from, to) in report.missing {
            for seq in from.max(self.una)..to.min(self.next) {
                let segment = &mut self.outstanding[(seq - self.una) as usize];
                // Otherwise the segment has been retransmitted already, and may be in flight.
                if !segment.asked && segment.order < self.reached {
                    segment.asked = true;
                    self.again.push_back(seq);
                }
            }
        }
        // A report without news may come from a receiver that does not know about the last
        // segments.
        if self.una > before || self.again.len() > waiting {
            (self.alive, self.silent) = (now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::explain::Attribution;
    use afflux_units::{Rate, Span};

    fn config() -> Nack {
        // 1000 B at 8 Gbps: one per microsecond.
        Nack {
            rate: Some(Rate::from_gbps(8)),
            payload: 1_000,
            report: Span::from_us(100),
            timeout: Span::from_us(300),
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
            100_000,
        )
    }

    fn drive(s: &mut Sender, until: u64) -> Vec<(u64, u32, bool)> {
        let (config, mut now, mut sent) = (config(), s.due, Vec::new());
        loop {
            match s.next_act(now, &config) {
                Act::Send(seq, again) => {
                    s.on_sent(now, seq, again, &config);
                    sent.push((now / 1_000_000, seq, again));
                }
                Act::Wait(at) if at > until => return sent,
                Act::Wait(at) => now = at,
            }
        }
    }

    #[test]
    fn paced_and_repeated_first() {
        let mut s = sender(10);
        assert_eq!(
            drive(&mut s, 3_500_000),
            [(0, 0, false), (1, 1, false), (2, 2, false), (3, 3, false)]
        );
        s.on_report(
            3_600_000,
            &Report {
                cumulative: 1,
                latest: 2,
                repeated: false,
                missing: &[(1, 2)],
                periodic: false,
                paused: 0,
            },
        );
        // The same gap is reported again before the retransmission can have arrived: no second
        // retransmission follows.
        assert_eq!(drive(&mut s, 4_500_000), [(4, 1, true)]);
        s.on_report(
            4_600_000,
            &Report {
                cumulative: 1,
                latest: 3,
                repeated: false,
                missing: &[(1, 2)],
                periodic: false,
                paused: 0,
            },
        );
        assert_eq!(drive(&mut s, 5_500_000), [(5, 4, false)]);
        // A segment sent after the retransmission has arrived, and the retransmission has not.
        s.on_report(
            5_600_000,
            &Report {
                cumulative: 1,
                latest: 4,
                repeated: false,
                missing: &[(1, 2)],
                periodic: false,
                paused: 0,
            },
        );
        assert_eq!(drive(&mut s, 6_500_000), [(6, 1, true)]);
        s.on_report(
            6_600_000,
            &Report {
                cumulative: 5,
                latest: 1,
                repeated: true,
                missing: &[],
                periodic: false,
                paused: 0,
            },
        );
        assert_eq!(drive(&mut s, 11_500_000).len(), 5);
        s.on_report(
            12_000_000,
            &Report {
                cumulative: 10,
                latest: 9,
                repeated: false,
                missing: &[],
                periodic: false,
                paused: 0,
            },
        );
        assert!(s.finished());
        assert_eq!((s.half.sent, s.half.retransmitted, s.half.timeouts), (12, 2, 0));
    }

    #[test]
    fn silence() {
        let mut s = sender(2);
        // The first time-out comes 300 us after the last segment, the next one after twice that
        // time.
        assert_eq!(
            drive(&mut s, 950_000_000),
            [(0, 0, false), (1, 1, false), (301, 1, true), (901, 1, true)]
        );
        assert_eq!(s.half.timeouts, 2);
        // A report postpones the time-out only if it brings news.
        let report = Report {
            cumulative: 1,
            latest: 0,
            repeated: false,
            missing: &[],
            periodic: false,
            paused: 0,
        };
        s.on_report(1_000_000_000, &report);
        s.on_report(1_100_000_000, &report);
        assert_eq!(drive(&mut s, 1_400_000_000), [(1300, 1, true)]);
    }
}
