//! Which way each flow went last, and when: flows cut into flowlets by their gaps.

use super::Site;
use crate::frame::Frame;
use rustc_hash::FxHashMap;

/// After this a flow that is idle is forgotten (ConWeave's simulator clears its tables every 2 ms).
pub const REMEMBERED: u64 = 2_000_000_000;

/// An entry for every flow: no collisions, as in ConWeave's simulator.
pub struct Flowlets {
    gap: u64,
    /// How long the way of a flow that is idle is remembered.
    keep: u64,
    ns3: bool,
    flows: FxHashMap<u64, Flowlet>,
    /// Entries at which those that have been idle for long are let go.
    room: usize,
}

#[derive(Clone, Copy)]
struct Flowlet {
    last: u64,
    way: u32,
}

impl Flowlets {
    pub fn new(gap: u64, keep: u64, ns3: bool) -> Self {
        Flowlets { gap, keep: keep.max(gap), ns3, flows: FxHashMap::default(), room: 1024 }
    }

    /// The way of the frame's flowlet. One that begins, or whose way `is_open` no more, gets its way from `choose`, which is told the one before.
    pub fn way<S: Site>(&mut self, site: &mut S, frame: &Frame, is_open: impl FnOnce(&S, u32) -> bool, choose: impl FnOnce(&mut S, Option<u32>) -> u32) -> u32 {
        let now = site.now();
        let key = if self.ns3 { site.ns3_key(frame.flow) } else { frame.flow as u64 };
        let known = self.flows.get_mut(&key).filter(|flowlet| now - flowlet.last <= self.keep);
        let Some(flowlet) = known else {
            let way = choose(site, None);
            self.make_room(now);
            self.flows.insert(key, Flowlet { last: now, way });
            return way;
        };
        let (before, idle) = (flowlet.way, now - std::mem::replace(&mut flowlet.last, now));
        let begins = idle > self.gap;
        if !begins && is_open(site, before) {
            return before;
        }
        let way = choose(site, Some(before));
        flowlet.way = way;
        let counters = site.counters();
        counters.flowlets += begins as u64;
        counters.reroutes += (way != before) as u64;
        way
    }

    fn make_room(&mut self, now: u64) {
        if self.flows.len() >= self.room {
            let keep = self.keep;
            self.flows.retain(|_, flowlet| now - flowlet.last <= keep);
            self.room = (2 * self.flows.len()).max(1024);
        }
    }
}

/// May frames still be pinned to this path?
pub fn path_is_open(site: &impl Site, rack: u32, path: u32) -> bool {
    !site.rerouted() || site.paths(rack).binary_search(&path).is_ok()
}

/// One of the paths to a rack.
pub fn draw_path(site: &mut impl Site, rack: u32) -> u32 {
    let draw = site.below(site.paths(rack).len() as u64);
    site.paths(rack)[draw as usize]
}
