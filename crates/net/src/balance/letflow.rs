//! LetFlow (Vanini et al., NSDI 2017): a flowlet is bound to a path drawn at random, and adapts to congestion by its length.

use super::{Choice, Role, Site};
use crate::Model;
use crate::frame::Frame;
use crate::spec;
use rustc_hash::FxHashMap;

pub struct LetFlow {
    gap: u64,
    ns3: bool,
    flows: FxHashMap<u64, Flowlet>,
    /// Entries at which those that have been idle are let go.
    room: usize,
}

struct Flowlet {
    last: u64,
    path: u32,
}

impl LetFlow {
    pub fn new(config: &spec::LetFlow) -> Self {
        LetFlow { gap: config.gap.0, ns3: config.ns3, flows: FxHashMap::default(), room: 1024 }
    }

    pub fn choose(&mut self, site: &mut impl Site, frame: &mut Frame, role: Role) -> Choice {
        if role == Role::Source {
            let path = self.path(site, frame);
            frame.pin(path);
        }
        Choice::Follow
    }

    fn path(&mut self, site: &mut impl Site, frame: &Frame) -> u32 {
        let now = site.now();
        let key = if self.ns3 { site.ns3_key(frame.flow) } else { frame.flow as u64 };
        let rack = site.rack_of(frame.dst);
        let draw = |site: &mut _| draw(site, rack);
        if let Some(flowlet) = self.flows.get_mut(&key) {
            let idle = now - std::mem::replace(&mut flowlet.last, now);
            if idle > self.gap {
                site.counters().flowlets += 1;
            } else if !site.rerouted() || site.paths(rack).binary_search(&flowlet.path).is_ok() {
                return flowlet.path;
            }
            let path = draw(site);
            site.counters().reroutes += (path != flowlet.path) as u64;
            flowlet.path = path;
            return path;
        }
        let path = draw(site);
        self.make_room(now);
        self.flows.insert(key, Flowlet { last: now, path });
        path
    }

    /// What has been idle for longer than the gap would draw anew anyway.
    fn make_room(&mut self, now: u64) {
        if self.flows.len() == self.room {
            self.flows.retain(|_, flowlet| now - flowlet.last <= self.gap);
            self.room = (2 * self.flows.len()).max(1024);
        }
    }
}

/// One of the paths to a rack.
fn draw(site: &mut impl Site, rack: u32) -> u32 {
    let draw = site.below(site.paths(rack).len() as u64);
    site.paths(rack)[draw as usize]
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "letflow",
    source: "Vanini et al., NSDI 2017; ConWeave's ns-3 simulator, commit 236a801",
    faithful: "at the source's ToR; a frame that comes later than `gap` after the one before of its flow draws one of all shortest paths uniformly and is pinned \
               to it; acknowledgements go by hash",
    simplified: "the table has an entry for every flow: no collisions, as in the simulator; with `compat = \"conweave-ns3\"` the simulator's key, which leaves out \
                 the source's address and or-s the priority group into the destination's port",
};
