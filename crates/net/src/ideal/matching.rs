//! Selection of the flows that send: a greedy matching of sources and destinations, in ascending
//! order of remaining bytes.

use crate::spec::FlowId;

struct Active {
    flow: FlowId,
    src: u32,
    dst: u32,
    /// Remaining time on the link in ps, and the link's rate in bit/s. Their product is the
    /// remaining size.
    left: u64,
    rate: u64,
    sends: bool,
}

impl Active {
    /// Returns the remaining size in bits times 10^12.
    fn remaining(&self) -> u128 {
        self.left as u128 * self.rate as u128
    }
}

pub struct Matching {
    /// Flows in the order of their remaining size at the last choice.
    active: Vec<Active>,
    now: u64,
    next_end: u64,
    sources: Vec<bool>,
    destinations: Vec<bool>,
}

impl Matching {
    pub fn new(hosts: usize) -> Self {
        Matching {
            active: Vec::new(),
            now: 0,
            next_end: u64::MAX,
            sources: vec![false; hosts],
            destinations: vec![false; hosts],
        }
    }

    /// Returns the time in ps at which the first sending flow ends; `u64::MAX` if none sends.
    pub fn next_end(&self) -> u64 {
        self.next_end
    }

    /// Lets the sending flows go on to `now`, which is at most [`Self::next_end`]. Flows that end
    /// are added to `ended`, in the order of their size at the last choice and their number.
    pub fn advance(&mut self, now: u64, ended: &mut Vec<FlowId>) {
        let elapsed = now - self.now;
        self.now = now;
        self.active.retain_mut(|active| {
            if active.sends {
                active.left -= elapsed;
                if active.left == 0 {
                    ended.push(active.flow);
                }
            }
            active.left > 0
        });
    }

    pub fn add(&mut self, flow: FlowId, (src, dst): (u32, u32), left: u64, rate: u64) {
        self.active.push(Active { flow, src, dst, left, rate, sends: false });
    }

    /// Returns the flows that are not served, with the time in ps that they still need on the link
    /// at `at`, which is at most [`Self::next_end`], and whether they send.
    pub fn unserved(&self, at: u64) -> impl Iterator<Item = (FlowId, (u64, bool))> {
        self.active.iter().map(move |active| {
            let gone = if active.sends { at - self.now } else { 0 };
            (active.flow, (active.left - gone, active.sends))
        })
    }

    /// Selects the flows that send from now on.
    pub fn choose(&mut self) {
        // The list is nearly sorted already, which makes the sort fast.
        self.active.sort_by_key(|active| (active.remaining(), active.flow));
        self.sources.fill(false);
        self.destinations.fill(false);
        self.next_end = u64::MAX;
        for active in &mut self.active {
            let (source, destination) = (
                &mut self.sources[active.src as usize],
                &mut self.destinations[active.dst as usize],
            );
            active.sends = !*source && !*destination;
            if active.sends {
                (*source, *destination) = (true, true);
                self.next_end = self.next_end.min(self.now + active.left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = 1_000_000_000;

    /// Runs flows of given sizes that all start at once. Returns them with their end times, in
    /// order of completion.
    fn ends(flows: &[(u32, u32, u64, u64)]) -> Vec<(FlowId, u64)> {
        let mut matching = Matching::new(8);
        for (id, &(src, dst, left, rate)) in flows.iter().enumerate() {
            matching.add(id as FlowId, (src, dst), left, rate);
        }
        let (mut all, mut ended) = (Vec::new(), Vec::new());
        loop {
            matching.choose();
            let now = matching.next_end();
            if now == u64::MAX {
                return all;
            }
            matching.advance(now, &mut ended);
            all.extend(ended.drain(..).map(|flow| (flow, now)));
        }
    }

    #[test]
    fn least_first_and_only_where_both_ends_are_free() {
        // One bottleneck: in the order of size, equal sizes in the order of number.
        assert_eq!(
            ends(&[(0, 9 % 8, 30, G), (2, 1, 10, G), (3, 1, 20, G), (4, 1, 10, G)]),
            [(1, 10), (3, 20), (2, 40), (0, 70)]
        );
        // 0→1 blocks 0→2 and 3→1, which then both send at once.
        assert_eq!(
            ends(&[(0, 1, 10, G), (0, 2, 15, G), (3, 1, 16, G), (4, 5, 40, G)]),
            [(0, 10), (1, 25), (2, 26), (3, 40)]
        );
    }

    #[test]
    fn what_counts_is_bytes_not_time() {
        // The second flow takes five times as long on the link, but has half of the bytes.
        assert_eq!(ends(&[(0, 1, 20, 10 * G), (2, 1, 100, G)]), [(1, 100), (0, 120)]);
    }

    /// A later flow with fewer remaining bytes stops a sending flow.
    #[test]
    fn stops_for_a_smaller_one() {
        let (mut matching, mut ended) = (Matching::new(3), Vec::new());
        matching.add(0, (0, 1), 100, G);
        matching.choose();
        matching.advance(40, &mut ended);
        matching.add(1, (2, 1), 50, G);
        matching.choose();
        assert_eq!(matching.next_end(), 90);
        matching.advance(90, &mut ended);
        assert_eq!(ended, [1]);
        matching.choose();
        assert_eq!(matching.next_end(), 150);
        // Equal sizes: the earlier flow sends.
        matching.add(2, (2, 1), 60, G);
        matching.choose();
        assert_eq!(matching.next_end(), 150);
    }
}
