//! D3's router: grants rates first come, first served, from sums over all flows. The paper's router
//! keeps only the sums, which lost SYNs, requests, answers and FINs leave wrong for ever. With
//! `forget`, the router also knows each flow's part of the sums.

pub use super::header::{D3Header as Header, HOPS};

use super::header::{Seen, What};
use crate::spec;
use rustc_hash::FxHashMap;

#[derive(Debug)]
pub struct Link {
    line: f64,
    base: u32,
    alpha: f64,
    beta: f64,
    interval: u64,
    /// Estimate of the rate that can be granted, in kbit/s.
    capacity: f64,
    updated: u64,
    sent_then: u64,
    /// Number of flows, and sums of the desired and the granted rates in kbit/s (N, D and A of the
    /// paper).
    flows: i64,
    desired: i64,
    allocated: i64,
    known: Option<Known>,
}

/// Each flow's part of the sums.
#[derive(Debug)]
struct Known {
    forget: u64,
    swept: u64,
    flows: FxHashMap<u32, Part>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    desired: u32,
    granted: u32,
    heard: u64,
}

impl Link {
    pub fn new(line: u64, config: &spec::D3) -> Self {
        let line = line as f64 / 1e3;
        let base = (config.base_rate.0 / 1_000) as u32;
        let interval = config.interval.0;
        let known = config.forget.map(|forget| Known {
            forget: forget.0,
            swept: 0,
            flows: FxHashMap::default(),
        });
        let (alpha, beta) = (config.alpha, config.beta);
        Link {
            line,
            base,
            alpha,
            beta,
            interval,
            capacity: line,
            updated: 0,
            sent_then: 0,
            flows: 0,
            desired: 0,
            allocated: 0,
            known,
        }
    }

    /// Updates the estimate, once per interval when a frame arrives: capacity + alpha * (line -
    /// used) - beta * queue / interval, limited to the rate of the link.
    fn refresh(&mut self, seen: &Seen) {
        let elapsed = seen.now - self.updated;
        if elapsed < self.interval {
            return;
        }
        // Kilobits per second are bits per millisecond.
        let used = (seen.sent - self.sent_then) as f64 * 8.0 / (elapsed as f64 / 1e9);
        let queue = seen.waiting as f64 * 8.0 / (self.interval as f64 / 1e9);
        self.capacity = (self.capacity + self.alpha * (self.line - used) - self.beta * queue)
            .clamp(0.0, self.line);
        (self.updated, self.sent_then) = (seen.now, seen.sent);
    }

    /// Removes flows from the sums that have not sent a request for `forget`.
    fn sweep(&mut self, now: u64) {
        let Some(known) = &mut self.known else { return };
        if now - known.swept < known.forget / 4 {
            return;
        }
        known.swept = now;
        let forget = known.forget;
        known.flows.retain(|_, part| {
            let stays = now - part.heard < forget;
            if !stays {
                self.flows -= 1;
                self.desired -= i64::from(part.desired);
                self.allocated -= i64::from(part.granted);
            }
            stays
        });
    }

    /// Returns the part of the sums that a flow's request or end removes, and updates the number of
    /// flows.
    fn before(&mut self, flow: u32, what: What, header: &Header, hop: usize) -> Part {
        let Some(known) = &mut self.known else {
            self.flows += match what {
                What::Syn => 1,
                What::End => -1,
                What::Data | What::Probe => 0,
            };
            return Part {
                desired: header.desired_before,
                granted: header.granted_before[hop],
                heard: 0,
            };
        };
        let part = known.flows.remove(&flow);
        self.flows += match (what, part) {
            (What::End, Some(_)) => -1,
            (What::End, None) | (_, Some(_)) => 0,
            (_, None) => 1,
        };
        part.unwrap_or_default()
    }

    pub fn on_forward(&mut self, seen: &Seen, flow: u32, what: What, header: &mut Header) {
        let hop = header.hops as usize;
        assert!(hop < HOPS, "validated: no path has more links");
        if what != What::End && !header.request {
            debug_assert!(what != What::Syn, "a SYN asks for a rate");
            return;
        }
        self.sweep(seen.now);
        let before = self.before(flow, what, header, hop);
        self.allocated -= i64::from(before.granted);
        self.desired -= i64::from(before.desired);
        if what == What::End {
            header.hops += 1;
            return;
        }
        self.refresh(seen);
        let capacity = self.capacity as i64;
        self.desired += i64::from(header.desired);
        let left = capacity - self.allocated;
        let share = ((capacity - self.desired) / self.flows.max(1)).max(0);
        let desired = header.desired as i64;
        let granted = if left > desired { desired + share } else { left.max(0) };
        let granted = granted.clamp(self.base as i64, u32::MAX as i64);
        self.allocated += granted;
        header.granted[hop] = granted as u32;
        if let Some(known) = &mut self.known {
            known.flows.insert(
                flow,
                Part { desired: header.desired, granted: granted as u32, heard: seen.now },
            );
        }
        header.hops += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use afflux_units::{Rate, Span};

    fn link() -> Link {
        Link::new(
            10_000_000_000,
            &spec::D3 {
                forget: None,
                interval: Span::from_us(20),
                base_rate: Rate(1_000_000),
                ..testing::d3()
            },
        )
    }

    fn seen(us: u64, waiting: u64, sent: u64) -> Seen {
        Seen { now: us * 1_000_000, waiting, sent }
    }

    fn ask(link: &mut Link, what: What, desired: u32, before: Option<&Header>) -> Header {
        let mut header = Header { request: true, desired, ..Header::default() };
        if let Some(before) = before {
            (header.desired_before, header.granted_before) = (before.desired, before.granted);
        }
        link.on_forward(&seen(1, 0, 0), 0, what, &mut header);
        header
    }

    /// spec/transports.md §9.9: if d1 + d2 < C, each flow gets d_i + (C - D) / 2. A third flow that
    /// wants more than is left gets the rest.
    #[test]
    fn shares_and_what_is_left() {
        let mut link = link();
        let first = ask(&mut link, What::Syn, 2_000_000, None);
        // A single flow gets the whole link.
        assert_eq!(first.granted[0], 10_000_000);
        let second = ask(&mut link, What::Syn, 3_000_000, None);
        // First come, first served: nothing is left, so the second flow gets the base rate.
        assert_eq!(second.granted[0], 1_000);
        let first = ask(&mut link, What::Data, 2_000_000, Some(&first));
        assert_eq!(first.granted[0], 2_000_000 + 2_500_000);
        let second = ask(&mut link, What::Data, 3_000_000, Some(&second));
        assert_eq!(second.granted[0], 3_000_000 + 2_500_000);
        let first = ask(&mut link, What::Data, 2_000_000, Some(&first));
        assert_eq!((first.granted[0], link.allocated), (4_500_000, 10_000_000));
        // The second flow is content with less, and a third one wants more than that leaves.
        let second = ask(&mut link, What::Data, 1_000_000, Some(&second));
        assert_eq!(second.granted[0], 1_000_000 + 3_500_000);
        let third = ask(&mut link, What::Syn, 2_000_000, None);
        assert_eq!(third.granted[0], 1_000_000);
        // Rates that flows return are available again.
        for of in [first, second, third] {
            let mut end = Header {
                desired_before: of.desired,
                granted_before: of.granted,
                ..Header::default()
            };
            link.on_forward(&seen(2, 0, 0), 0, What::End, &mut end);
        }
        assert_eq!((link.flows, link.desired, link.allocated), (0, 0, 0));
    }

    /// The sums cover exactly the flows that still send requests, whatever frames are lost.
    #[test]
    fn sums_of_known_flows() {
        let config = spec::D3 {
            forget: Some(Span::from_ms(4)),
            interval: Span::from_us(20),
            base_rate: Rate(1_000_000),
            ..testing::d3()
        };
        let mut link = Link::new(10_000_000_000, &config);
        let mut ask = |us: u64, flow: u32, what: What, desired: u32| {
            let mut header = Header { request: what != What::End, desired, ..Header::default() };
            link.on_forward(&seen(us, 0, 0), flow, what, &mut header);
            (header.granted[0], link.flows, link.desired, link.allocated)
        };
        // The answers to the first two requests are lost. The flow asks again as if nothing had
        // been granted.
        assert_eq!(ask(1, 7, What::Syn, 2_000_000), (10_000_000, 1, 2_000_000, 10_000_000));
        assert_eq!(ask(2, 7, What::Syn, 2_000_000), (10_000_000, 1, 2_000_000, 10_000_000));
        assert_eq!(ask(3, 7, What::Data, 4_000_000), (10_000_000, 1, 4_000_000, 10_000_000));
        assert_eq!(ask(3_000, 8, What::Syn, 5_000_000), (1_000, 2, 9_000_000, 10_001_000));
        // The end of the first flow is lost, too. It no longer counts 4 ms after its last request,
        // and a late FIN has no effect.
        assert_eq!(ask(4_500, 8, What::Data, 5_000_000), (10_000_000, 1, 5_000_000, 10_000_000));
        assert_eq!(ask(4_600, 7, What::End, 0), (0, 1, 5_000_000, 10_000_000));
        assert_eq!(ask(4_700, 8, What::End, 0), (0, 0, 0, 0));
    }

    /// A queue reduces the capacity, and an idle link recovers it.
    #[test]
    fn capacity_follows_the_queue() {
        let mut link = link();
        // 25,000 B can be sent in 20 us at 10 Gbps, and all of them were. A tenth of that, 2,500 B,
        // waits.
        link.refresh(&seen(20, 2_500, 25_000));
        assert_eq!(link.capacity, 9e6);
        link.refresh(&seen(40, 0, 37_500));
        assert_eq!(link.capacity, 9.5e6);
        link.refresh(&seen(45, 9_999, 37_500));
        assert_eq!(link.capacity, 9.5e6);
        link.refresh(&seen(1_000, 0, 37_500));
        assert_eq!(link.capacity, 10e6);
    }
}
