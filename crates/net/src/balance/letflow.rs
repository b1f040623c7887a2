//! LetFlow (Vanini et al., NSDI 2017): each flowlet takes a random path. Flowlets are shorter on
//! congested paths, which balances the load.

use super::flowlets::{Flowlets, REMEMBERED, draw_path, path_is_open};
use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::{Duration, keys};

keys! {
    /// Flowlets on random paths.
    pub struct Keys as "LetFlow" => LetflowConfig(context: &PathContext<'_>) {
        /// Gap between two frames of a flow after which a new flowlet begins.
        gap: Duration = "500us" from "the paper, recalled; ConWeave's evaluation has 100 us";
    }
    plus {
        /// Whether flows are distinguished as in ConWeave's ns-3 simulator.
        ns3: bool = context.ns3;
    }
}

pub struct Letflow {
    flowlets: Flowlets,
}

impl Policy for Letflow {
    type Config = LetflowConfig;
    fn new(config: &LetflowConfig, _: &[Option<u64>]) -> Self {
        Letflow { flowlets: Flowlets::new(config.gap.0, REMEMBERED, config.ns3) }
    }

    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        _: &[u16],
    ) -> Choice {
        if role == Role::Source {
            let rack = site.rack_of(frame.dst);
            let path = self.flowlets.path(
                site,
                frame,
                |site, path| path_is_open(site, rack, path),
                |site, _| draw_path(site, rack),
            );
            frame.pin(path);
        }
        Choice::Follow
    }
    fn needs_ports(config: &LetflowConfig) -> bool {
        config.ns3
    }
}

pub const ABOUT: About = About::pinning(MODEL);

pub const MODEL: Model = Model {
    kind: "balance",
    name: "letflow",
    source: "Vanini et al., NSDI 2017; ConWeave's ns-3 simulator, commit 236a801",
    faithful: "the source's ToR decides; a frame that comes more than `gap` after the previous frame of its flow draws one of all shortest paths \
               uniformly, and the flowlet is pinned to it; acknowledgements are hashed",
    simplified: "the table has an entry for each flow, without collisions, as in ConWeave's simulator; with `compat = \"conweave-ns3\"` the key of an \
                 entry lacks the source's address and contains the priority group or-ed into the destination's port, as in that simulator",
};
