//! Flowlet table: the latest path of each flow and the time of its last frame. A gap between two
//! frames begins a new flowlet.

use super::Site;
use crate::frame::Frame;
use rustc_hash::FxHashMap;

/// Idle time in ps after which a flow may be forgotten (ConWeave's simulator clears its tables every
/// 2 ms).
pub const REMEMBERED: u64 = 2_000_000_000;

/// Number of flows up to which a table forgets none.
const ALWAYS_KEPT: usize = 65_536;

/// Flowlet table with an entry per flow, so there are no collisions, as in ConWeave's simulator.
///
/// A full table removes the flows that have been idle for longer than `keep`. Its size is therefore
/// at most twice the number of flows that have sent within this time, or `ALWAYS_KEPT` if that is more.
pub struct Flowlets {
    gap: u64,
    /// Idle time in ps for which the path of a flow is remembered in a full table. In ConWeave's
    /// simulator, the path is forgotten after this time in any table.
    keep: u64,
    ns3: bool,
    flows: FxHashMap<u64, Flowlet>,
    /// Number of entries at which the table is full.
    room: usize,
}

#[derive(Clone, Copy)]
struct Flowlet {
    last: u64,
    path: u32,
}

impl Flowlets {
    pub fn new(gap: u64, keep: u64, ns3: bool) -> Self {
        Flowlets { gap, keep: keep.max(gap), ns3, flows: FxHashMap::default(), room: ALWAYS_KEPT }
    }

    /// Returns the path of the frame's flowlet. If a flowlet begins, or if `is_open` is false for
    /// its path, `choose` selects the path. Its argument is the previous path of the flow.
    pub fn path<S: Site>(
        &mut self,
        site: &mut S,
        frame: &Frame,
        is_open: impl FnOnce(&S, u32) -> bool,
        choose: impl FnOnce(&mut S, Option<u32>) -> u32,
    ) -> u32 {
        let now = site.now();
        let key = if self.ns3 { site.ns3_key(frame.flow) } else { site.connection(frame) };
        let (ns3, keep) = (self.ns3, self.keep);
        let known = self.flows.get_mut(&key).filter(|known| !ns3 || now - known.last <= keep);
        let Some(flowlet) = known else {
            let path = choose(site, None);
            self.forget_idle(now);
            self.flows.insert(key, Flowlet { last: now, path });
            return path;
        };
        let (before, idle) = (flowlet.path, now - std::mem::replace(&mut flowlet.last, now));
        let begins = idle > self.gap;
        if !begins && is_open(site, before) {
            return before;
        }
        let path = choose(site, Some(before));
        flowlet.path = path;
        let counters = site.counters();
        counters.flowlets += begins as u64;
        counters.reroutes += (path != before) as u64;
        path
    }

    fn forget_idle(&mut self, now: u64) {
        if self.flows.len() >= self.room {
            let keep = self.keep;
            self.flows.retain(|_, flowlet| now - flowlet.last <= keep);
            self.room = (2 * self.flows.len()).max(ALWAYS_KEPT);
        }
    }
}

/// True if frames may still be pinned to this path.
pub fn path_is_open(site: &impl Site, rack: u32, path: u32) -> bool {
    !site.rerouted() || site.paths(rack).binary_search(&path).is_ok()
}

/// Draws one of the paths to a rack.
pub fn draw_path(site: &mut impl Site, rack: u32) -> u32 {
    let draw = site.below(site.paths(rack).len() as u64);
    site.paths(rack)[draw as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_table_forgets() {
        for (flows, rest) in [(ALWAYS_KEPT - 1, ALWAYS_KEPT - 1), (ALWAYS_KEPT, 10)] {
            let mut table = Flowlets::new(1, 5, false);
            let idle = (0..flows as u64).map(|key| (key, Flowlet { last: 0, path: 0 }));
            table.flows.extend(idle);
            (0..10).for_each(|key| table.flows.get_mut(&key).expect("known").last = 3);
            table.forget_idle(8);
            assert_eq!((table.flows.len(), table.room), (rest, ALWAYS_KEPT));
        }
    }
}
