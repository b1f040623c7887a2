//! Builds a shard from the plan.

use super::lane::{Lane, Limits, NodeMemory, RANKED, Store, TRIMMED};
use super::policy::Policy;
use super::rank_queue::RankQueue;
use super::switch::{Balanced, Managed};
use super::{Group, Halves, Harvest, NOT_YET, Node, Shard, Slab};
use crate::fault::Fault;
use crate::features::{Discipline, Features};
use crate::frame::Event;
use crate::port::{Port, PortSetup};
use crate::probe::hops::{Gaps, Waits, Watch};
use crate::queue::aqm::{Site, policy};
use crate::queue::buffer::Buffer;
use crate::queue::buffer::mmu::Mmu;
use crate::queue::class::Queue;
use crate::queue::flowcontrol::headroom::{PortFacts, headroom};
use crate::queue::flowcontrol::party::Party;
use crate::queue::marking::Red;
use crate::queue::qdisc::Qdisc;
use crate::queue::scheduling::{Cores, Turns};
use crate::record::Counters;
use crate::routing::PortInfo;
use crate::shard::Outlet;
use crate::spec::*;
use crate::timing::Noise;
use crate::world::World;
use afflux_engine::random::Stream;
use afflux_units::Rate;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Purposes of the engine's random streams (see `afflux_engine::random`).
mod purpose {
    pub const MARKING: u64 = 0x6d61_726b;
    pub const BALANCE: u64 = 0x7370_7261;
    pub const LOSS: u64 = 0x6c6f_7373;
}

impl<'a> Shard<'a> {
    /// Builds shard `index`. `classical`: for the classical engine, in which no port is plain.
    pub fn new(world: &'a World<'a>, index: u16, classical: bool) -> Self {
        let plan = world.plan;
        let seed = plan.run.seed;
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
            shard.add_node(id, local as u32, sampled.contains(&id), classical, seed);
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

    fn add_node(&mut self, id: NodeId, local: u32, sampled: bool, classical: bool, seed: u64) {
        let world = self.world;
        let plan = world.plan;
        let spec = &plan.topology.nodes[id as usize];
        let first_port = self.ports.len() as u32;
        let (buffer, marking, scheduling, until_start, header) = match spec.kind {
            NodeKind::Host => {
                let host = &plan.hosts[spec.config as usize];
                let buffer = host.queue.map_or(Buffer::Unlimited, |limit| {
                    Buffer::new(
                        &crate::spec::Buffer::Static {
                            per_queue: limit,
                            drop_when: Compare::Above,
                        },
                        &[],
                        1,
                    )
                });
                (buffer, host.marking.as_ref().map(Red::new), &host.scheduling, false, None)
            }
            NodeKind::Switch => {
                let switch = &plan.switches[spec.config as usize];
                let marking = switch.marking.as_ref().map(Red::new);
                let until_start = switch.queue_length != QueueLength::ThroughTransmission
                    || switch.device_queue > 0;
                let rates: Vec<Rate> =
                    world.ports.of(id).iter().map(|info| world.rate(info)).collect();
                let buffer = Buffer::new(&switch.buffer, &rates, switch.queues(rates.len()));
                (buffer, marking, &switch.scheduling, until_start, switch.cut_through)
            }
        };
        let arrivals_first = spec.kind == NodeKind::Switch
            && plan.switches[spec.config as usize].queue_length == QueueLength::ThroughStart;
        let queues = scheduling.queues();
        let (aqm, memory, own) = match spec.kind {
            NodeKind::Host => (plan.hosts[spec.config as usize].aqm.as_ref(), 0, &[][..]),
            NodeKind::Switch => {
                let switch = &plan.switches[spec.config as usize];
                (switch.aqm.as_ref(), switch.device_queue, &switch.own[..])
            }
        };
        let qdisc = match spec.kind {
            NodeKind::Host => plan.hosts[spec.config as usize].qdisc.as_ref(),
            NodeKind::Switch => None,
        };
        assert!(
            qdisc.is_none()
                || queues == 1
                    && aqm.is_none()
                    && marking.is_none()
                    && matches!(buffer, Buffer::Unlimited),
            "validated"
        );
        assert!(
            own.is_empty() || own.len() == queues as usize && queues > 1,
            "validated: what differs is said for every queue"
        );
        let per_class = queues;
        let (queues, turns) = match spec.kind {
            NodeKind::Switch => {
                voq_queues(&plan.switches[spec.config as usize], world.ports.of(id).len())
            }
            NodeKind::Host => (queues, Turns::of(scheduling)),
        };
        // Every virtual output queue of a class has the policy of that class.
        let policies = |own: &QueueConfig| {
            (0..queues / per_class).map(|_| Policy::new(own)).collect::<Vec<_>>()
        };
        let own: Option<Box<[Policy]>> =
            (!own.is_empty()).then(|| own.iter().flat_map(policies).collect());
        let marks_at_start = std::iter::once(&marking)
            .chain(own.iter().flatten().map(|own| &own.marking))
            .flatten()
            .any(|red| red.at == MarkAt::Dequeue);
        let managed = match spec.kind {
            NodeKind::Switch => managed(world, id),
            NodeKind::Host => None,
        };
        let party = Party::of(plan, id);
        // Frames that a balancer has held join their queue without a further admission check.
        let holds = spec.kind == NodeKind::Switch
            && plan.switches[spec.config as usize].balance.holds_charged();
        assert!(!holds || header.is_none(), "validated: what waits is stored");
        let alone = queues == 1
            && turns.is_none()
            && own.is_none()
            && memory == 0
            && !arrivals_first
            && managed.is_none()
            && !holds;
        let recorded = sampled
            || [&plan.record.gaps, &plan.record.waits].iter().any(|nodes| nodes.contains(&id))
            || plan.record.imbalance.is_some();
        let captured = |info: &PortInfo| {
            plan.record.captures.iter().any(|c| c.link == info.link && c.reverse == info.reverse)
        };
        let paused =
            |info: &PortInfo| party.port(&Party::of(plan, info.peer), world.link(info)).is_some();
        let balanced = Balanced::of(world, id);
        // In the window engine, nodes with the queue of pFabric or NDP and no other feature are never
        // exact. In the classical engine both queues are disciplines like any other.
        let ordered =
            aqm.map(|aqm| aqm.about()).filter(|about| about.pfabric_order).map(|about| about.limit);
        let trimming = match aqm {
            Some(Aqm::Trim(config)) => Some(config),
            _ => None,
        };
        let bare = !classical
            && alone
            && !recorded
            && world.tick() == 1
            && world.rates.is_empty()
            // Links that grant rates read the queue lengths.
            && !plan.has_rates()
            && marking.is_none()
            && header.is_none()
            && world.timing(id).is_none()
            && matches!(buffer, Buffer::Unlimited)
            && balanced.as_ref().is_none_or(|balanced| balanced.sprays)
            && !world.ports.of(id).iter().any(|info| captured(info) || paused(info));
        let ranked = bare && ordered.is_some();
        let bound = |bytes: u64| bytes < Limits::MOST as u64;
        let trims = bare && trimming.is_some_and(|trim| bound(trim.data) && bound(trim.headers));
        let never_exact = ranked || trims;
        let switch = (spec.kind == NodeKind::Switch).then(|| &plan.switches[spec.config as usize]);
        let largest = if aqm.is_some() || qdisc.is_some() { plan.largest_frame() } else { 0 };
        // True if bounds can decide at every port (see `shard::hop`): it records nothing but uplink
        // bytes, and the only decision at the start of transmission is a mark.
        let mut common = true;
        for (number, info) in world.ports.of(id).iter().enumerate() {
            let link = world.link(info);
            let capture = plan
                .record
                .captures
                .iter()
                .position(|c| c.link == info.link && c.reverse == info.reverse);
            let uplink = plan.record.imbalance.is_some()
                && spec.kind == NodeKind::Switch
                && spec.tier < plan.topology.nodes[info.peer as usize].tier;
            let pause = party.port(&Party::of(plan, info.peer), link);
            let fifo = queues == 1
                && turns.is_none()
                && !until_start
                && aqm.is_none()
                && !marks_at_start
                && header.is_none();
            let gaps = plan.record.gaps.contains(&id).then(Gaps::default);
            let waits = plan.record.waits.contains(&id).then(Waits::default);
            let watch =
                (gaps.is_some() || waits.is_some()).then(|| Box::new(Watch { gaps, waits }));
            let counted = !sampled && capture.is_none() && watch.is_none();
            let unrecorded = counted && !uplink;
            let deep = spec.kind == NodeKind::Switch
                && matches!(
                    plan.switches[spec.config as usize].buffer,
                    crate::spec::Buffer::Voq(_)
                );
            let written = world.tick() > 1 || !world.rates.is_empty();
            let (own_timing, peer_timing) = (world.timing(id), world.timing(info.peer));
            let simple = fifo
                && qdisc.is_none()
                && managed.is_none()
                && pause.is_none()
                && unrecorded
                && !written
                && !holds;
            let plain = simple && !classical;
            // Marking must depend on the instantaneous queue length. At the start of transmission
            // it must drop only frames that are not ECN-capable.
            let marks = marking.as_ref().is_none_or(|red| {
                red.weight.is_none() && (red.at == MarkAt::Enqueue || !red.hard_drop)
            });
            let fifo_classes =
                turns.is_none() && own.is_none() && aqm.is_none() && memory == 0 && !arrivals_first;
            // With flow control, frames for virtual output queues pass two admission checks, which
            // only `shard::voq` implements.
            common &= !plain
                && fifo_classes
                && !(deep && managed.is_some())
                && world.rates.is_empty()
                && counted
                && marks
                && header.is_none();
            let peer = world.place[info.peer as usize];
            let global = 2 * info.link as u64 + info.reverse as u64;
            let mut stream = Stream::new(seed, purpose::MARKING, global);
            assert!(
                pause.is_none() || aqm.is_none_or(|aqm| !aqm.about().unpausable) && memory == 0,
                "validated: they cannot be paused"
            );
            let features = (!plain).then(|| {
                let site =
                    Site { line: world.rate(info).0, frame: largest, least: plan.wire.min_frame };
                let has_discipline = aqm.is_some() && !never_exact || memory > 0 || turns.is_some();
                let discipline = has_discipline.then(|| {
                    Box::new(Discipline {
                        queues: (0..queues).map(|_| Queue::default()).collect(),
                        turns: limited(&turns, switch, link.rate),
                        waiting: 0,
                        aqm: aqm
                            .iter()
                            .flat_map(|config| {
                                (0..queues)
                                    .map(|_| policy(config, site, &mut stream))
                                    .collect::<Vec<_>>()
                            })
                            .collect(),
                        device: VecDeque::new(),
                        capacity: memory as usize,
                    })
                });
                Features {
                    discipline,
                    qdisc: qdisc.map(|config| Box::new(Qdisc::new(config, site, &mut stream))),
                    pause: pause.map(Box::new),
                    capture: capture.map(|c| c as u32),
                    watch,
                    uplink: uplink.then_some(0),
                    ..Features::new(queues, scheduling.of_priority(), sampled)
                }
            });
            let loss = link.loss_of(!info.reverse);
            let faulty = loss.get() > 0.0 || !link.down.is_empty() || link.longest.is_some();
            if faulty {
                // The fault belongs to the direction towards this port, because the arrival port
                // applies it.
                let peer_info = world.ports.of(info.peer)[info.peer_port as usize];
                let stream =
                    Stream::new(seed, purpose::LOSS, 2 * info.link as u64 + !info.reverse as u64);
                let delay = world.delay(info.peer, &peer_info);
                self.faults.insert(
                    first_port + number as u32,
                    Fault::new(
                        loss,
                        stream,
                        link.down.clone(),
                        link.longest,
                        (delay, link.delay.0),
                    ),
                );
            }
            let rate = world.rate(info).0;
            let delayed = peer_timing.filter(|_| !faulty);
            self.ports.push(Port::new(PortSetup {
                node: local,
                rate,
                incoming: world.rate(&world.ports.of(info.peer)[info.peer_port as usize]).0,
                clocked: own_timing.map_or(rate, |timing| timing.clocked(rate, seed, global)),
                noise: (own_timing.is_some() || delayed.is_some())
                    .then(|| Noise::new(own_timing, delayed, rate, seed, global)),
                delays: delayed.is_some(),
                delay: world.delay(id, info),
                gap: plan.wire.gap,
                header: world.header(info),
                peer_port: peer.first_port + info.peer_port as u32,
                peer_shard: peer.shard,
                faulty,
                stream,
                plain,
                late: own_timing.is_some(),
                tick: world.tick(),
                features,
            }));
        }
        let ports = &self.ports[first_port as usize..];
        // Applications may end a run at any time. All transmissions that start by then must already
        // have been started, so nothing may be deferred.
        let defers = (ranked && plan.applications.is_none()).then_some(world.lookahead);
        let watched = sampled || ports.iter().any(|p| p.faulty) || world.processor(id).is_some();
        let uniform = !classical
            && spec.kind == NodeKind::Switch
            && !watched
            && !plan.has_rates()
            && !plan.record.paths
            && world.epoch_starts().count() == 1;
        let eager = uniform && balanced.is_none() && ports.iter().all(|p| p.plain);
        let shared =
            matches!(&buffer, Buffer::Shared(shared) if shared.total() < Limits::MOST as u64);
        let ordinary = matches!(buffer, Buffer::Unlimited | Buffer::Static(_)) || shared;
        let stormy =
            spec.kind == NodeKind::Host && plan.hosts[spec.config as usize].storm.is_some();
        let bounded =
            ordinary && !stormy && (managed.is_some() || !holds) && !ports.is_empty() && common;
        let ring = ports
            .iter()
            .filter_map(|p| p.features.as_ref()?.qdisc.as_ref())
            .map(|qdisc| qdisc.limit() - 1)
            .min()
            .unwrap_or(u64::MAX);
        let loops = uniform && ports.iter().all(|p| !p.plain);
        let exact = !never_exact;
        if self.ports[first_port as usize..].iter().any(|p| !p.plain) {
            let special = !bounded && !never_exact;
            self.lanes.resize(self.ports.len(), Lane::new(scheduling.of_priority(), special));
        }
        let mut memory = NodeMemory {
            exact,
            ..NodeMemory::new(managed.as_deref(), &buffer, self.ports.len() - first_port as usize)
        };
        if let Some(limit) = ordered.filter(|_| ranked) {
            let queue = RankQueue::new(limit);
            memory.kind = RANKED;
            memory.limits[0].used = queue.bound(plan.wire.least());
            self.store.rank_queues.resize(self.ports.len(), queue);
        }
        if let Some(trim) = trimming.filter(|_| trims) {
            memory.kind = TRIMMED;
            memory.header = trim.header.max(plan.wire.min_frame);
            memory.limits = [trim.data, trim.headers]
                .map(|limit| Limits { queue: limit as u32, ..Limits::NEVER });
        }
        let marks_from = marking.as_ref().map_or(u32::MAX, Red::marks_from);
        let fast_path = marking
            .iter()
            .fold(buffer.fast_path(), |fast_path, red| fast_path.and(red.fast_path()));
        self.nodes.push(Node {
            id,
            first_port,
            ports: self.ports.len() as u32 - first_port,
            host: spec.kind == NodeKind::Host,
            needs_slow_path: balanced.is_some()
                || plan.has_rates() && spec.kind == NodeKind::Switch
                || plan.topology.relays && spec.kind == NodeKind::Host,
            watched,
            header: header.unwrap_or(u16::MAX),
            until_start,
            arrivals_first,
            hash_seed: world.hash_seed[id as usize],
            used: 0,
            buffer,
            managed,
            marking,
            fast_path,
            marks_at_start,
            own,
            stream: Stream::new(seed, purpose::BALANCE, id as u64),
            balanced,
            active: Vec::new(),
            defers,
            due: u64::MAX,
            wake_at: 0,
            eager,
            loops,
            leaves_exact: bounded && !classical,
            ring,
            memory,
            marks_from,
            holds,
        });
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

/// Builds the memory management unit of a switch, if it has one.
fn managed(world: &World, id: NodeId) -> Option<Box<Managed>> {
    let plan = world.plan;
    let switch = &plan.switches[plan.topology.nodes[id as usize].config as usize];
    let (ports, pfc) = (world.ports.of(id), switch.pfc.as_ref());
    let rates: Vec<u64> = ports.iter().map(|info| world.rate(info).0).collect();
    let headroom = || {
        ports
            .iter()
            .map(|info| {
                pfc.map_or(0, |pfc| {
                    headroom(
                        pfc.headroom,
                        pfc.cable,
                        PortFacts::of(plan, world.link(info), switch, pfc),
                    )
                })
            })
            .collect()
    };
    let mmu = match (&switch.buffer, pfc) {
        (crate::spec::Buffer::Mmu(config), _) => {
            Mmu::new(config, pfc.map_or(0, |pfc| pfc.priorities), headroom(), &rates)
        }
        (crate::spec::Buffer::Voq(voq), Some(pfc)) => Mmu::with_thresholds(
            voq.xoff.expect("with flow control"),
            voq.xon.expect("with flow control"),
            pfc.priorities,
            headroom(),
        ),
        _ => {
            assert!(pfc.is_none(), "validated: flow control needs ingress accounting");
            return None;
        }
    };
    assert!(
        switch.device_queue == 0 && switch.queue_length != QueueLength::ThroughStart,
        "validated"
    );
    Some(Box::new(Managed::new(mmu, ports.len() as u32)))
}

/// Returns the number of queues of a port, and the scheduler if the queues take turns. Queues of
/// several ingress cores take turns, and so do queues that may have to wait for credits.
fn voq_queues(switch: &SwitchConfig, ports: usize) -> (u8, Option<Turns>) {
    let priorities = switch.scheduling.queues();
    let crate::spec::Buffer::Voq(voq) = &switch.buffer else {
        return (priorities, Turns::of(&switch.scheduling));
    };
    let cores = voq.cores(ports);
    let queues = u8::try_from(switch.queues(ports)).expect("validated");
    let turns = || {
        Turns::Cores(Cores::new(
            &switch.scheduling,
            cores,
            voq.per_core().unwrap_or(u32::MAX),
            voq.credit.expect("several cores, or limits"),
        ))
    };
    // With one core and unlimited credits there is one queue per class.
    (
        queues,
        if cores > 1 || voq.is_limited() { Some(turns()) } else { Turns::of(&switch.scheduling) },
    )
}

/// Returns the scheduler of a port whose link has this rate, including the limits on credits.
fn limited(turns: &Option<Turns>, switch: Option<&SwitchConfig>, rate: Rate) -> Option<Box<Turns>> {
    let turns = turns.clone()?;
    Some(Box::new(match (turns, switch.map(|switch| (&switch.buffer, &switch.scheduling))) {
        (Turns::Cores(cores), Some((crate::spec::Buffer::Voq(voq), scheduling))) => {
            Turns::Cores(cores.limited(scheduling, voq.limits(rate)))
        }
        (turns, _) => turns,
    }))
}
