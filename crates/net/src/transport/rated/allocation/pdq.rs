//! PDQ's rate allocation at a link (spec/transports.md §2.9): a list of the link's most critical
//! flows. The first ones send, and the others wait.

pub use super::header::{NOBODY, PdqHeader as Header};

use super::header::{Seen, What};
use crate::spec;
use std::cmp::Ordering;

#[derive(Debug, Clone, Copy)]
struct Entry {
    flow: u32,
    /// Rate in bits per second; 0 if the flow does not send.
    rate: u64,
    /// Rate granted to a frame whose answer has not passed yet.
    promised: u64,
    deadline: u64,
    remaining: u64,
    round_trip: u64,
    heard: u64,
}

impl Entry {
    fn takes(&self) -> u64 {
        self.rate.max(self.promised)
    }

    /// Compares criticality: earlier deadline first, then less remaining time, then smaller flow
    /// number.
    fn criticality(&self, other: &Entry) -> Ordering {
        (self.deadline, self.remaining, self.flow).cmp(&(
            other.deadline,
            other.remaining,
            other.flow,
        ))
    }
}

#[derive(Debug)]
pub struct Link {
    id: u32,
    line: u64,
    early_start: f64,
    suppression: f64,
    dampening: u64,
    most: usize,
    interval: u64,
    /// Rate that can be granted, in bits per second.
    capacity: u64,
    updated: u64,
    /// Listed flows, most critical first.
    list: Vec<Entry>,
    /// Time in ps at which a paused flow was last allowed to send, and its number.
    accepted: Option<(u64, u32)>,
    /// Flows that found no place in the list in this interval, and their number in the previous
    /// interval.
    outside: Vec<u32>,
    outside_before: usize,
}

/// Number of probe intervals without a frame after which a flow is forgotten.
const SILENT: f64 = 10.0;
/// Bits of a full frame. A rate below one such frame per round trip counts as zero.
pub const LEAST: u128 = 12_000;

impl Link {
    pub fn new(id: u32, line: u64, config: &spec::Pdq) -> Self {
        Link {
            id,
            line,
            early_start: config.early_start,
            suppression: config.suppressed_probing,
            dampening: config.dampening.0,
            most: config.max_flows as usize,
            interval: config.interval.0,
            capacity: line,
            updated: 0,
            list: Vec::new(),
            accepted: None,
            outside: Vec::new(),
            outside_before: 0,
        }
    }

    /// Updates the capacity to C = max(0, r - q / (2 RTT)), every two round trips when a frame
    /// arrives.
    fn refresh(&mut self, seen: &Seen) {
        let period = 2 * self.interval;
        if seen.now - self.updated < period {
            return;
        }
        let drain = (seen.waiting as u128 * 8_000_000_000_000 / period as u128) as u64;
        self.capacity = self.line.saturating_sub(drain);
        self.updated = seen.now;
        self.outside_before = std::mem::take(&mut self.outside).len();
        let (now, step, interval) = (seen.now, self.suppression, self.interval);
        let mut rank = 0.0;
        self.list.retain(|entry| {
            rank += 1.0;
            let between = interval.max(entry.round_trip) as f64 * f64::max(1.0, step * rank);
            (now - entry.heard) as f64 <= SILENT * between
        });
    }

    fn forget(&mut self, flow: u32) {
        self.list.retain(|entry| entry.flow != flow);
    }

    /// Returns the rate that flows more critical than the one at `place` leave. Flows that will end
    /// within K round trips in total do not count.
    fn available(&self, place: usize) -> u64 {
        let (mut ending, mut taken) = (0.0, 0u64);
        for entry in &self.list[..place] {
            let rounds = entry.remaining as f64 / entry.round_trip.max(1) as f64;
            if rounds < self.early_start && ending < self.early_start {
                ending += rounds;
            } else {
                taken += entry.takes();
            }
            if taken >= self.capacity {
                return 0;
            }
        }
        self.capacity - taken
    }

    /// Inserts a flow if it belongs to the most critical ones, twice as many as send, and returns
    /// its place.
    fn insert(&mut self, entry: Entry) -> Option<usize> {
        let sending = self.list.iter().filter(|entry| entry.takes() > 0).count();
        let room = (2 * sending).max(2).min(self.most);
        let place = self.list.partition_point(|other| other.criticality(&entry).is_lt());
        if place >= room {
            return None;
        }
        self.list.insert(place, entry);
        self.list.truncate(room);
        Some(place)
    }

    pub fn on_forward(&mut self, seen: &Seen, flow: u32, what: What, header: &mut Header) {
        self.refresh(seen);
        let known = self.list.iter().position(|entry| entry.flow == flow);
        if what == What::End || header.pausing != NOBODY && header.pausing != self.id {
            return self.forget(flow);
        }
        let Header { deadline, remaining, round_trip, .. } = *header;
        let mut entry =
            Entry { flow, rate: 0, promised: 0, deadline, remaining, round_trip, heard: seen.now };
        let place = match known {
            Some(place) => {
                entry.rate = self.list.remove(place).rate;
                let place = self.list.partition_point(|other| other.criticality(&entry).is_lt());
                self.list.insert(place, entry);
                Some(place)
            }
            None => self.insert(entry),
        };
        let Some(place) = place else { return self.share(flow, header) };
        let granted = self.available(place).min(header.rate);
        let paused = entry.rate == 0;
        let just_let_go = self
            .accepted
            .is_some_and(|(at, other)| other != flow && seen.now - at < self.dampening);
        if granted as u128 * round_trip as u128 / 1_000_000_000_000 < LEAST || paused && just_let_go
        {
            self.list[place].rate = 0;
            (header.pausing, header.rate) = (self.id, 0);
            return;
        }
        if paused {
            self.accepted = Some((seen.now, flow));
        }
        self.list[place].promised = granted;
        (header.pausing, header.rate) = (NOBODY, granted);
    }

    /// Grants a flow outside the list its share of the rate that the listed flows leave.
    fn share(&mut self, flow: u32, header: &mut Header) {
        if !self.outside.contains(&flow) {
            self.outside.push(flow);
        }
        // Listed flows that wait take precedence.
        let waits = self.list.iter().any(|entry| entry.takes() == 0);
        let taken: u64 =
            if waits { self.capacity } else { self.list.iter().map(Entry::takes).sum() };
        let left = self.capacity.saturating_sub(taken)
            / self.outside.len().max(self.outside_before) as u64;
        let granted = left.min(header.rate);
        let none = granted as u128 * header.round_trip as u128 / 1_000_000_000_000 < LEAST;
        (header.pausing, header.rate) = if none { (self.id, 0) } else { (NOBODY, granted) };
    }

    pub fn on_answer(&mut self, flow: u32, header: &mut Header) {
        if header.pausing != NOBODY && header.pausing != self.id {
            self.forget(flow);
        }
        if header.pausing != NOBODY {
            header.rate = 0;
        }
        if let Some(place) = self.list.iter().position(|entry| entry.flow == flow) {
            (self.list[place].rate, self.list[place].promised) = (header.rate, 0);
            header.interval = header.interval.max(self.suppression * place as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use afflux_units::Span;

    const G: u64 = 1_000_000_000;
    const US: u64 = 1_000_000;

    fn link(early_start: f64) -> Link {
        Link::new(
            7,
            10 * G,
            &spec::Pdq {
                interval: Span::from_us(20),
                early_start,
                max_flows: 100,
                ..testing::pdq()
            },
        )
    }

    /// Sends a request through the link and its answer back. Returns the header that the sender
    /// receives.
    fn ask(
        link: &mut Link,
        us: u64,
        flow: u32,
        remaining_us: u64,
        deadline_us: Option<u64>,
        pausing: u32,
    ) -> Header {
        let seen = Seen { now: us * US, waiting: 0, sent: 0 };
        let deadline = deadline_us.map_or(u64::MAX, |us| us * US);
        let mut header = Header {
            rate: 10 * G,
            pausing,
            deadline,
            remaining: remaining_us * US,
            round_trip: 20 * US,
            interval: 0.0,
        };
        link.on_forward(&seen, flow, What::Data, &mut header);
        link.on_answer(flow, &mut header);
        header
    }

    #[test]
    fn the_most_critical_sends_and_the_others_wait() {
        let mut link = link(2.0);
        assert_eq!(ask(&mut link, 0, 1, 1_000, None, NOBODY).rate, 10 * G);
        let second = ask(&mut link, 20, 2, 2_000, None, NOBODY);
        assert_eq!((second.rate, second.pausing, second.interval), (0, 7, 0.2));
        // A flow with less remaining time takes precedence at once, and so does a flow with a
        // deadline, however long.
        assert_eq!(ask(&mut link, 40, 3, 500, None, NOBODY).rate, 10 * G);
        assert_eq!(ask(&mut link, 60, 1, 1_000, None, NOBODY).rate, 0);
        assert_eq!(ask(&mut link, 80, 4, 9_000, Some(90_000), NOBODY).rate, 10 * G);
        assert_eq!(ask(&mut link, 100, 3, 480, None, NOBODY).rate, 0);
        // The flow ends. The next one may send when it probes.
        link.on_forward(
            &Seen { now: 120 * US, waiting: 0, sent: 0 },
            4,
            What::End,
            &mut Header { pausing: NOBODY, ..second },
        );
        assert_eq!(ask(&mut link, 130, 3, 480, None, 7).rate, 10 * G);
    }

    /// §9.10: with K = 2 the next flow starts up to two round trips before the current one ends.
    #[test]
    fn early_start() {
        for (early_start, left, granted) in [(2.0, 39, 10 * G), (2.0, 41, 0), (0.0, 1, 0)] {
            let mut link = link(early_start);
            ask(&mut link, 0, 1, left, None, NOBODY);
            assert_eq!(ask(&mut link, 20, 2, 1_000, None, NOBODY).rate, granted, "{left} us left");
        }
        // Two flows end within one and a half round trips each. The second still counts as ending,
        // because the sum was below K before it.
        let mut link = link(2.0);
        ask(&mut link, 0, 1, 30, None, NOBODY);
        ask(&mut link, 20, 2, 31, None, NOBODY);
        assert_eq!(ask(&mut link, 40, 3, 1_000, None, NOBODY).rate, 10 * G);
        // A fourth flow comes after flows with a sum of 3 round trips.
        assert_eq!(ask(&mut link, 60, 4, 2_000, None, NOBODY).rate, 0);
    }

    #[test]
    fn dampening() {
        let mut link = link(2.0);
        ask(&mut link, 0, 1, 10, None, NOBODY);
        // The first flow is about to end, but it was allowed to send less than 10 us ago.
        assert_eq!(ask(&mut link, 9, 2, 1_000, None, NOBODY).rate, 0);
        assert_eq!(ask(&mut link, 10, 2, 1_000, None, 7).rate, 10 * G);
    }

    /// A flow that another switch pauses leaves the list.
    #[test]
    fn paused_elsewhere() {
        let mut link = link(2.0);
        ask(&mut link, 0, 1, 500, None, NOBODY);
        ask(&mut link, 20, 1, 500, None, 9);
        assert!(link.list.is_empty());
        let mut answer = Header {
            rate: 0,
            pausing: 9,
            deadline: u64::MAX,
            remaining: US,
            round_trip: US,
            interval: 0.0,
        };
        ask(&mut link, 40, 2, 400, None, NOBODY);
        link.on_answer(2, &mut answer);
        assert!(link.list.is_empty());
    }

    /// The list has room for twice the number of sending flows. The others share the remaining
    /// rate, which is zero here.
    #[test]
    fn a_list_of_twice_those_that_send() {
        let mut link = link(0.0);
        for flow in 1..6 {
            ask(&mut link, 20 * flow as u64, flow, 100 * flow as u64 + 1_000, None, NOBODY);
        }
        let listed: Vec<u32> = link.list.iter().map(|entry| entry.flow).collect();
        assert_eq!((listed, link.outside.len()), (vec![1, 2], 2));
        // A flow that is more critical than the last one takes its place.
        ask(&mut link, 140, 9, 1_150, None, NOBODY);
        assert_eq!(link.list.iter().map(|entry| entry.flow).collect::<Vec<_>>(), [1, 9]);
    }

    /// Where flows have ended, the list may be longer than its room. A new flow takes a place only if
    /// it is more critical than the last one that has room.
    #[test]
    fn a_list_longer_than_its_room() {
        let mut link = link(0.0);
        // Three of six flows send, and the two most critical of them end.
        for flow in 1..=6u32 {
            let entry = Entry {
                flow,
                rate: if flow <= 3 { G } else { 0 },
                promised: 0,
                deadline: u64::MAX,
                remaining: 1_000 * US + 100 * US * flow as u64,
                round_trip: 20 * US,
                heard: 0,
            };
            link.list.push(entry);
        }
        for flow in 1..=2 {
            link.forget(flow);
        }
        // One flow sends, so there is room for two of the four.
        ask(&mut link, 20, 7, 1_450, None, NOBODY);
        let listed = |link: &Link| link.list.iter().map(|entry| entry.flow).collect::<Vec<_>>();
        assert_eq!((listed(&link), &link.outside[..]), (vec![3, 4, 5, 6], &[7][..]));
        ask(&mut link, 40, 8, 1_350, None, NOBODY);
        assert_eq!(listed(&link), [3, 8]);
    }

    #[test]
    fn capacity_yields_to_the_queue_and_silence_is_forgotten() {
        let mut link = link(2.0);
        ask(&mut link, 0, 1, 5_000, None, NOBODY);
        // 10,000 B in two round trips of 20 us are 2 Gbps.
        let mut header = Header {
            rate: 10 * G,
            pausing: NOBODY,
            deadline: u64::MAX,
            remaining: 4_900 * US,
            round_trip: 20 * US,
            interval: 0.0,
        };
        link.on_forward(
            &Seen { now: 50 * US, waiting: 10_000, sent: 0 },
            1,
            What::Data,
            &mut header,
        );
        assert_eq!(header.rate, 8 * G);
        assert_eq!(ask(&mut link, 1_000, 2, 9_000, None, NOBODY).rate, 10 * G);
    }
}
