//! LetFlow (Vanini et al., NSDI 2017): a flowlet is bound to a path drawn at random, and adapts to congestion by its length.

use super::flowlets::{Flowlets, REMEMBERED, draw_path, path_is_open};
use super::{Choice, Role, Site};
use crate::Model;
use crate::frame::Frame;
use crate::spec;

pub struct LetFlow {
    flowlets: Flowlets,
}

impl LetFlow {
    pub fn new(config: &spec::LetFlow) -> Self {
        LetFlow { flowlets: Flowlets::new(config.gap.0, REMEMBERED, config.ns3) }
    }

    pub fn choose(&mut self, site: &mut impl Site, frame: &mut Frame, role: Role) -> Choice {
        if role == Role::Source {
            let rack = site.rack_of(frame.dst);
            let path = self.flowlets.way(site, frame, |site, path| path_is_open(site, rack, path), |site, _| draw_path(site, rack));
            frame.pin(path);
        }
        Choice::Follow
    }
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "letflow",
    source: "Vanini et al., NSDI 2017; ConWeave's ns-3 simulator, commit 236a801",
    faithful: "at the source's ToR; a frame that comes later than `gap` after the one before of its flow draws one of all shortest paths uniformly and is pinned \
               to it; acknowledgements go by hash",
    simplified: "the table has an entry for every flow: no collisions, as in the simulator; with `compat = \"conweave-ns3\"` its key leaves out the source's \
                 address and or-s the priority group into the destination's port, as there",
};
