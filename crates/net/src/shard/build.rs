//! Builds a shard from the plan.

use super::build_node::Site;
use super::lane::Store;
use super::{Group, Halves, Harvest, NOT_YET, Shard, Slab};
use crate::frame::Event;
use crate::record::Counters;
use crate::shard::Outlet;
use crate::spec::*;
use crate::world::World;
use rustc_hash::{FxHashMap, FxHashSet};

impl<'a> Shard<'a> {
    /// Builds shard `index`. `classical`: for the classical engine, in which no port is plain.
    pub fn new(world: &'a World<'a>, index: u16, classical: bool) -> Self {
        let plan = world.plan;
        let sampled: FxHashSet<NodeId> =
            plan.record.ports.iter().flat_map(|p| p.nodes.iter().copied()).collect();
        let mut shard = Shard {
            world,
            index,
            nodes: Vec::new(),
            ports: Vec::with_capacity(world.shard_ports[index as usize] as usize),
            lanes: Vec::new(),
            store: Store::default(),
            // Includes the bytes that switches add to frames.
            largest: plan.largest_frame() + 256,
            faults: FxHashMap::default(),
            transports: Halves::default(),
            pacers: Vec::new(),
            processors: Vec::new(),
            extras: Slab::default(),
            sending: vec![NOT_YET; plan.flows.len()],
            receiving: vec![NOT_YET; plan.flows.len()],
            flow_slots: Default::default(),
            starts: vec![Vec::new(); world.shards[index as usize].len()],
            stops: Vec::new(),
            groups: FxHashMap::default(),
            applications: None,
            cleared: Vec::new(),
            at_host: 0,
            counters: Counters::default(),
            lost: FxHashMap::default(),
            live: 0,
            flows_done: 0,
            last: 0,
            record_paths: plan.record.paths,
            path_counts: FxHashMap::default(),
            kept: 0,
            harvest: Harvest::default(),
            open: Vec::new(),
            outside: None,
        };
        for (local, &id) in world.shards[index as usize].iter().enumerate() {
            shard.add_node(local as u32, Site::new(world, id, sampled.contains(&id), classical));
        }
        if plan
            .transports
            .iter()
            .any(|transport| transport.parameters().fluid_model(world).small_queues)
        {
            shard.cleared = vec![0; shard.ports.len()];
        }
        shard.set_up_links();
        shard.set_up_nics();
        shard.pacers = super::pacer::pacers(world, &shard.nodes, &shard.ports);
        shard.processors = super::processor::processors(world, &shard.nodes);
        for (id, flow) in plan.flows.iter().enumerate() {
            let source = world.place[flow.src as usize];
            if source.shard == index {
                shard.live += 1;
                if let Start::At(_) = flow.start {
                    shard.starts[source.local as usize].push(id as FlowId);
                }
            }
            if let Some(group) = flow.group
                && world.place[flow.dst as usize].shard == index
            {
                shard.groups.entry(group).or_insert(Group { left: 0, starts: Vec::new() }).left +=
                    1;
            }
        }
        // A flow that starts after others is announced by the shard in which those others end.
        for (id, flow) in plan.flows.iter().enumerate() {
            if let Start::After { group, .. } = flow.start
                && let Some(group) = shard.groups.get_mut(&group)
            {
                group.starts.push(id as FlowId);
            }
        }
        // The next flow is taken from the end of its list, and flows are sorted by time.
        shard.starts.iter_mut().for_each(|list| list.reverse());
        shard.list_stops();
        shard
    }

    /// Schedules all initial events. Returns the number of periodic series (samples, watchdogs),
    /// each of which always has one event scheduled.
    pub fn begin<O: Outlet>(&mut self, out: &mut O) -> i64 {
        self.arm_starts(out);
        self.arm_stops(out);
        self.begin_applications(out);
        let mut series_count = 0;
        let plan = self.world.plan;
        for node in 0..self.nodes.len() as u32 {
            let id = self.nodes[node as usize].id;
            if self.nodes[node as usize].host
                && let Some(storm) =
                    plan.hosts[plan.topology.nodes[id as usize].config as usize].storm
            {
                // A storm keeps the run going until it ends.
                self.live += 1;
                let event = self.event(node, 0, Event::Storm);
                out.event(storm.from.0, event);
            }
        }
        for node in 0..self.nodes.len() as u32 {
            for (event, every) in self.looks(node) {
                let event = self.event(node, 0, event);
                out.event(every, event);
                series_count += 1;
            }
        }
        if let Some(series) = &plan.record.ports {
            for &id in &series.nodes {
                let place = self.world.place[id as usize];
                if place.shard == self.index {
                    let event = self.event(place.local, 0, Event::Sample);
                    out.event(series.interval.0, event);
                    series_count += 1;
                }
            }
        }
        if let Some(interval) = plan.record.reordering {
            for node in 0..self.nodes.len() as u32 {
                if self.reorders(node) {
                    let event = self.event(node, 0, Event::Reordering);
                    out.event(interval.0, event);
                    series_count += 1;
                }
            }
        }
        if let Some(interval) = plan.record.senders {
            self.open = vec![Vec::new(); self.nodes.len()];
            for node in 0..self.nodes.len() as u32 {
                if self.nodes[node as usize].host {
                    let event = self.event(node, 0, Event::Senders);
                    out.event(interval.0, event);
                    series_count += 1;
                }
            }
        }
        if let Some(window) = plan.record.imbalance {
            for node in 0..self.nodes.len() as u32 {
                if self.has_uplinks(node) {
                    let event = self.event(node, 0, Event::Uplinks);
                    out.event(window.0, event);
                    series_count += 1;
                }
            }
        }
        series_count
    }

    /// Returns the periodic checks of a switch's flow control, with their intervals in ps.
    fn looks(&self, node: u32) -> Vec<(Event, u64)> {
        let Some(pfc) = self.pfc(node) else { return Vec::new() };
        let watchdog = pfc.watchdog.as_ref().map(|watchdog| (Event::Watchdog, watchdog.poll.0));
        watchdog
            .into_iter()
            .chain(pfc.deadlock_after.map(|after| (Event::Deadlock, after.0)))
            .collect()
    }

    /// Returns the flow-control settings of a switch, if it has any.
    pub(super) fn pfc(&self, node: u32) -> Option<&'a Pfc> {
        let plan = self.world.plan;
        let spec = &plan.topology.nodes[self.nodes[node as usize].id as usize];
        if spec.kind == NodeKind::Host {
            None
        } else {
            plan.switches[spec.config as usize].pfc.as_ref()
        }
    }

    pub(super) fn has_uplinks(&self, node: u32) -> bool {
        let n = &self.nodes[node as usize];
        self.ports[n.first_port as usize..(n.first_port + n.ports) as usize]
            .iter()
            .any(|p| p.features.as_ref().is_some_and(|a| a.uplink.is_some()))
    }
}
