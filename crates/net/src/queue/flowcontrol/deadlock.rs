//! Detection of PFC deadlocks: cycles of links that have paused each other.

use crate::Model;
use crate::record::Deadlock;
use afflux_units::Time;
use rustc_hash::FxHashSet;

/// Observation at `time` (ps): `link` has been paused for long, and frames that arrived by it wait
/// for the link `waits_for`, which has been paused for long too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    pub time: u64,
    pub class: u8,
    pub link: u32,
    pub waits_for: u32,
}

/// Returns the cycles among the waits. Each cycle is reported once, when it is first seen.
pub fn deadlocks(mut waits: Vec<Wait>) -> Vec<Deadlock> {
    waits.sort_unstable();
    let mut known = FxHashSet::default();
    let mut found = Vec::new();
    for now in waits.chunk_by(|a, b| (a.time, a.class) == (b.time, b.class)) {
        for links in cycles(now) {
            let mut members = links.clone();
            members.sort_unstable();
            if known.insert((now[0].class, members)) {
                found.push(Deadlock { time: Time(now[0].time), priority: now[0].class, links });
            }
        }
    }
    found
}

/// Returns a shortest cycle through each link that is not on a cycle already listed. `waits` must
/// be sorted.
fn cycles(waits: &[Wait]) -> Vec<Vec<u32>> {
    let next = |link: u32| {
        waits[waits.partition_point(|w| w.link < link)..]
            .iter()
            .take_while(move |w| w.link == link)
            .map(|w| w.waits_for)
    };
    let mut listed: FxHashSet<u32> = FxHashSet::default();
    let mut found: Vec<Vec<u32>> = Vec::new();
    for start in waits.iter().map(|w| w.link) {
        if listed.contains(&start) {
            continue;
        }
        // Breadth-first search. Each entry holds the index of its predecessor.
        let mut reached: Vec<(u32, usize)> = vec![(start, 0)];
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut at = 0;
        'search: while at < reached.len() {
            for link in next(reached[at].0) {
                if link == start {
                    let (mut cycle, mut back) = (Vec::new(), at);
                    while back != 0 {
                        cycle.push(reached[back].0);
                        back = reached[back].1;
                    }
                    cycle.push(start);
                    cycle.reverse();
                    listed.extend(&cycle);
                    found.push(cycle);
                    break 'search;
                }
                if seen.insert(link) {
                    reached.push((link, at));
                }
            }
            at += 1;
        }
    }
    found
}

pub const MODEL: Model = Model {
    kind: "flow control",
    name: "deadlock",
    source: "cyclic buffer dependency (Guo et al. 2016, Hu et al. 2016)",
    faithful: "a cycle of links, each paused without interruption for `deadlock_after` while frames that came over it wait for the next link of the \
               cycle; each cycle is reported once, with its links",
    simplified: "checked at multiples of `deadlock_after`, so a deadlock is reported between once and twice that time after it begins; nothing resolves it",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_once() {
        let wait = |time, link, waits_for| Wait { time, class: 3, link, waits_for };
        // Links 1 → 2 → 3 → 1 form a cycle, 4 waits for it, and 5 → 6 leads nowhere. The cycle 7 →
        // 8 → 7 appears at time 20.
        let mut waits =
            vec![wait(10, 1, 2), wait(10, 2, 3), wait(10, 3, 1), wait(10, 4, 1), wait(10, 5, 6)];
        waits.extend([
            wait(20, 1, 2),
            wait(20, 2, 3),
            wait(20, 3, 1),
            wait(20, 7, 8),
            wait(20, 8, 7),
        ]);
        let found = deadlocks(waits);
        assert_eq!(
            found.iter().map(|d| (d.time.0, d.links.clone())).collect::<Vec<_>>(),
            [(10, vec![1, 2, 3]), (20, vec![7, 8])]
        );
    }
}
