//! DRILL(d, m) (Ghorbani et al., SIGCOMM 2017): sends each frame to the shortest of a few queues.

use super::shares::Shares;
use super::{About, Choice, Holding, PathContext, Policy, Role, Site};
use crate::Model;
use crate::frame::Frame;
use afflux_config::keys;
use rustc_hash::FxHashMap;

keys! {
    /// DRILL(d, m) of the paper.
    pub struct Keys as "Drill" => DrillConfig(context: &PathContext<'_>) {
        /// Number of next hops drawn for every frame: d.
        samples: u32 = 2 from "the paper; ConWeave's evaluation", in 1 to 64;
        /// Number of best next hops remembered from the previous frame: m.
        memory: u32 = 1 from "the paper; ConWeave's evaluation", in 0 to 64;
    }
    plus {
        /// Whether DRILL works as in ConWeave's ns-3 simulator.
        ns3: bool = context.ns3;
    }
}

pub struct Drill {
    samples: usize,
    memory: usize,
    ns3: bool,
    /// Least loaded ports of the previous choice, best first, by destination and component.
    remembered: FxHashMap<u32, Vec<u16>>,
    /// Components of next hops, by epoch of the routes and destination rack.
    components: FxHashMap<(usize, u32), Components>,
    /// Scratch list: load and port of the next hops considered.
    seen: Vec<(u64, u16)>,
    shuffled: Vec<u16>,
}

/// Groups of next hops with equal capacity behind them, and the shares of flows that the groups
/// get.
struct Components {
    groups: Vec<Vec<u16>>,
    shares: Shares,
}

impl Components {
    fn new(site: &impl Site, dst: u32, hops: &[u16]) -> Self {
        let mut capacities: Vec<(u64, u16)> =
            hops.iter().map(|&port| (site.capacity(port, dst), port)).collect();
        capacities.sort_unstable();
        let groups: Vec<&[(u64, u16)]> = capacities.chunk_by(|a, b| a.0 == b.0).collect();
        let weight = |group: &[(u64, u16)]| group.iter().map(|(capacity, _)| capacity).sum();
        let shares = Shares::new(
            groups.iter().enumerate().map(|(number, group)| (number as u16, weight(group))),
        );
        Components {
            groups: groups
                .iter()
                .map(|group| group.iter().map(|(_, port)| *port).collect())
                .collect(),
            shares,
        }
    }
}

impl Policy for Drill {
    type Config = DrillConfig;
    fn new(config: &DrillConfig, _: &[Option<u64>]) -> Self {
        Drill {
            samples: config.samples as usize,
            memory: config.memory as usize,
            ns3: config.ns3,
            remembered: FxHashMap::default(),
            components: FxHashMap::default(),
            seen: Vec::new(),
            shuffled: Vec::new(),
        }
    }

    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        _: Role,
        hops: &[u16],
    ) -> Choice {
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let rack = site.rack_of(frame.dst);
        let Drill { seen, shuffled, .. } = self;
        let (hops, place) = if self.ns3 {
            (hops, frame.dst)
        } else {
            let components = self
                .components
                .entry((site.epoch(), rack))
                .or_insert_with(|| Components::new(site, frame.dst, hops));
            match components.groups.as_slice() {
                [only] => (only.as_slice(), rack << 8),
                groups => {
                    let group = components.shares.of(site.hash(frame));
                    (groups[group as usize].as_slice(), rack << 8 | group as u32)
                }
            }
        };
        let remembered = self.remembered.entry(place).or_default();
        seen.clear();
        // Remembered ports come first, so they win ties.
        for &port in remembered.iter().filter(|port| hops.contains(port)) {
            seen.push((site.queued(port), port));
        }
        shuffled.clear();
        shuffled.extend_from_slice(hops);
        for sample in 0..self.samples.min(hops.len()) {
            let other = sample + site.below((hops.len() - sample) as u64) as usize;
            shuffled.swap(sample, other);
            let port = shuffled[sample];
            if seen.iter().all(|(_, known)| *known != port) {
                seen.push((site.queued(port), port));
            }
        }
        seen.sort_by_key(|(load, _)| *load);
        remembered.clear();
        remembered.extend(seen.iter().take(self.memory).map(|(_, port)| *port));
        Choice::Port(seen[0].1)
    }
}

pub const ABOUT: About = About { overtakes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "drill",
    source: "Ghorbani et al., SIGCOMM 2017; ConWeave's ns-3 simulator, commit 236a801",
    faithful: "every switch sends every data frame to the least loaded next hop among `samples` drawn without replacement and the `memory` best ones of \
               the last choice for the same rack, which win ties (load: bytes of all queues of the port, as its buffer counts them); next hops with \
               different capacity behind them form components, and flows are hashed over the components in proportion to capacity; with `compat = \
               \"conweave-ns3\"` the memory is per destination host and there are no components",
    simplified: "queue lengths are current, without the staleness of several forwarding engines in parallel; components are distinguished by capacity \
                 alone; the receiver's reordering shim is not modelled",
};
