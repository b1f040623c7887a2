//! Builds a node of a shard and its ports from the plan, and decides which ports are plain and
//! where bounds can decide (see `shard::hop`).

use super::lane::{Lane, Limits, NodeMemory, RANKED, TRIMMED};
use super::policy::Policy;
use super::rank_queue::RankQueue;
use super::switch::{Balanced, Managed};
use super::{Node, Shard};
use crate::fault::Fault;
use crate::features::{Discipline, Features};
use crate::port::{Port, PortSetup};
use crate::probe::hops::{Gaps, Waits, Watch};
use crate::queue::aqm::{self, policy};
use crate::queue::buffer::Buffer;
use crate::queue::buffer::mmu::Mmu;
use crate::queue::class::Queue;
use crate::queue::flowcontrol::Pause;
use crate::queue::flowcontrol::headroom::{PortFacts, headroom};
use crate::queue::flowcontrol::party::Party;
use crate::queue::marking::Red;
use crate::queue::qdisc::Qdisc;
use crate::queue::scheduling::about::Scheduling;
use crate::queue::scheduling::{Cores, Turns};
use crate::routing::PortInfo;
use crate::spec::*;
use crate::timing::Noise;
use crate::world::World;
use afflux_engine::random::Stream;
use afflux_units::Rate;
use std::collections::VecDeque;

/// Purposes of the engine's random streams (see `afflux_engine::random`).
mod purpose {
    pub const MARKING: u64 = 0x6d61_726b;
    pub const BALANCE: u64 = 0x7370_7261;
    pub const LOSS: u64 = 0x6c6f_7373;
}

/// Configuration of a node, as all of its ports have it.
pub(super) struct Site<'w> {
    world: &'w World<'w>,
    id: NodeId,
    spec: &'w crate::spec::Node,
    /// Configuration of a switch; `None` for a host.
    switch: Option<&'w SwitchConfig>,
    /// Configuration of a host; `None` for a switch.
    host: Option<&'w HostConfig>,
    classical: bool,
    /// True if the ports are sampled.
    sampled: bool,
    buffer: Buffer,
    marking: Option<Red>,
    scheduling: &'w Scheduling,
    until_start: bool,
    /// Bytes of a frame after which a cut-through switch processes it.
    header: Option<u16>,
    arrivals_first: bool,
    aqm: Option<&'w Aqm>,
    device_queue: u32,
    qdisc: Option<&'w crate::spec::Qdisc>,
    /// Number of queues of a port.
    queues: u8,
    turns: Option<Turns>,
    own: Option<Box<[Policy]>>,
    managed: Option<Box<Managed>>,
    party: Party,
    balanced: Option<Box<Balanced>>,
    /// True if a balancer may hold frames that are charged to the switch's memory. Such frames join
    /// their queue without a further admission check.
    holds: bool,
}

impl<'w> Site<'w> {
    pub fn new(world: &'w World<'w>, id: NodeId, sampled: bool, classical: bool) -> Self {
        let plan = world.plan;
        let spec = &plan.topology.nodes[id as usize];
        let (switch, host) = match spec.kind {
            NodeKind::Switch => (Some(&plan.switches[spec.config as usize]), None),
            NodeKind::Host => (None, Some(&plan.hosts[spec.config as usize])),
        };
        let scheduling = match (switch, host) {
            (Some(switch), _) => &switch.scheduling,
            (_, Some(host)) => &host.scheduling,
            _ => unreachable!("a node is a switch or a host"),
        };
        let marking = switch.map_or_else(
            || host.and_then(|host| host.marking.as_ref()),
            |switch| switch.marking.as_ref(),
        );
        let (queues, turns) = match switch {
            Some(switch) => voq_queues(switch, world.ports.of(id).len()),
            None => (scheduling.queues(), Turns::of(scheduling)),
        };
        let site = Site {
            world,
            id,
            spec,
            switch,
            host,
            classical,
            sampled,
            buffer: buffer(world, id, switch, host),
            marking: marking.map(Red::new),
            scheduling,
            until_start: switch.is_some_and(|switch| {
                switch.queue_length != QueueLength::ThroughTransmission || switch.device_queue > 0
            }),
            header: switch.and_then(|switch| switch.cut_through),
            arrivals_first: switch
                .is_some_and(|switch| switch.queue_length == QueueLength::ThroughStart),
            aqm: switch.map_or_else(
                || host.and_then(|host| host.aqm.as_ref()),
                |switch| switch.aqm.as_ref(),
            ),
            device_queue: switch.map_or(0, |switch| switch.device_queue),
            qdisc: host.and_then(|host| host.qdisc.as_ref()),
            queues,
            turns,
            own: switch.and_then(|switch| own_policies(switch, queues)),
            managed: switch.and_then(|switch| managed(world, id, switch)),
            party: Party::of(plan, id),
            balanced: Balanced::of(world, id),
            holds: switch.is_some_and(|switch| switch.balance.holds_charged()),
        };
        assert!(
            site.qdisc.is_none()
                || queues == 1
                    && site.aqm.is_none()
                    && site.marking.is_none()
                    && matches!(site.buffer, Buffer::Unlimited),
            "validated"
        );
        assert!(!site.holds || site.header.is_none(), "validated: what waits is stored");
        site
    }

    fn marks_at_start(&self) -> bool {
        let own = self.own.iter().flatten().map(|own| &own.marking);
        let all = std::iter::once(&self.marking).chain(own);
        all.flatten().any(|red| red.at == MarkAt::Dequeue)
    }

    /// Returns the recorder of gaps and waits, if the scenario asks for one here.
    fn watch(&self) -> Option<Box<Watch>> {
        let record = &self.world.plan.record;
        let gaps = record.gaps.contains(&self.id).then(Gaps::default);
        let waits = record.waits.contains(&self.id).then(Waits::default);
        (gaps.is_some() || waits.is_some()).then(|| Box::new(Watch { gaps, waits }))
    }

    fn is_watched(&self) -> bool {
        let record = &self.world.plan.record;
        record.gaps.contains(&self.id) || record.waits.contains(&self.id)
    }

    /// Returns the index of the capture that a port belongs to.
    fn capture(&self, info: &PortInfo) -> Option<usize> {
        let captures = &self.world.plan.record.captures;
        captures.iter().position(|c| c.link == info.link && c.reverse == info.reverse)
    }

    /// True if the bytes of the port are recorded as those of an uplink.
    fn is_uplink(&self, info: &PortInfo) -> bool {
        let plan = self.world.plan;
        plan.record.imbalance.is_some()
            && self.switch.is_some()
            && self.spec.tier < plan.topology.nodes[info.peer as usize].tier
    }

    fn pause(&self, info: &PortInfo) -> Option<Pause> {
        let plan = self.world.plan;
        self.party.port(&Party::of(plan, info.peer), self.world.link(info))
    }

    /// True if the ports have one first-in first-out queue each, apart from `aqm`.
    fn has_one_fifo(&self) -> bool {
        self.queues == 1
            && self.has_fifo_classes()
            && self.own.is_none()
            && self.managed.is_none()
            && !self.holds
    }

    /// True if the ports have first-in first-out queues, of which the highest goes first, apart
    /// from `aqm`.
    fn has_fifo_classes(&self) -> bool {
        self.turns.is_none() && self.own.is_none() && self.device_queue == 0 && !self.arrivals_first
    }

    /// True in the window engine if nothing but `aqm` distinguishes the ports from plain ones.
    fn is_bare(&self) -> bool {
        let (world, plan) = (self.world, self.world.plan);
        !self.classical
            && self.has_one_fifo()
            && !self.sampled
            && !self.is_watched()
            && plan.record.imbalance.is_none()
            && world.tick() == 1
            && world.rates.is_empty()
            // Links that grant rates read the queue lengths.
            && !plan.has_rates()
            && self.marking.is_none()
            && self.header.is_none()
            && world.timing(self.id).is_none()
            && matches!(self.buffer, Buffer::Unlimited)
            && self.balanced.as_ref().is_none_or(|balanced| balanced.sprays)
            && !world.ports.of(self.id).iter().any(|info| self.capture(info).is_some() || self.pause(info).is_some())
    }

    /// Returns how the queues are served in a lane, if pFabric's or NDP's queue is the only feature
    /// of the ports. In the classical engine both are disciplines like any other.
    fn order(&self) -> Option<Order<'w>> {
        let bound = |bytes: u64| bytes < Limits::MOST as u64;
        match self.aqm? {
            _ if !self.is_bare() => None,
            Aqm::Trim(trim) => {
                (bound(trim.data) && bound(trim.headers)).then_some(Order::Trimmed(trim))
            }
            aqm => {
                let about = aqm.about();
                about.pfabric_order.then_some(Order::Ranked(about.limit))
            }
        }
    }

    /// True if a port computes departures on arrival.
    fn is_plain(&self, info: &PortInfo) -> bool {
        !self.classical
            && self.queues == 1
            && self.turns.is_none()
            && !self.until_start
            && self.aqm.is_none()
            && !self.marks_at_start()
            && self.header.is_none()
            && self.qdisc.is_none()
            && self.managed.is_none()
            && self.pause(info).is_none()
            && !self.sampled
            && self.capture(info).is_none()
            && !self.is_watched()
            && !self.is_uplink(info)
            && self.world.tick() == 1
            && self.world.rates.is_empty()
            && !self.holds
    }

    /// True if bounds can decide at all ports, none of which is plain: they record nothing but
    /// uplink bytes, and the only decision at the start of transmission is a mark.
    fn has_bounds(&self) -> bool {
        let shared =
            matches!(&self.buffer, Buffer::Shared(shared) if shared.total() < Limits::MOST as u64);
        let ordinary = matches!(self.buffer, Buffer::Unlimited | Buffer::Static(_)) || shared;
        // Marking must depend on the instantaneous queue length. At the start of transmission it
        // must drop only frames that are not ECN-capable.
        let marks = self.marking.as_ref().is_none_or(|red| {
            red.weight.is_none() && (red.at == MarkAt::Enqueue || !red.hard_drop)
        });
        ordinary
            && marks
            && self.host.is_none_or(|host| host.storm.is_none())
            && (self.managed.is_some() || !self.holds)
            && self.has_fifo_classes()
            && self.aqm.is_none()
            && self.world.rates.is_empty()
            && self.header.is_none()
            && !self.sampled
            && !self.is_watched()
            && !self.world.ports.of(self.id).iter().any(|info| self.capture(info).is_some())
    }

    /// Returns the features of a port that is not plain. `ordered`: the lane serves the queue in
    /// place of `aqm`.
    fn features(&self, info: &PortInfo, ordered: bool, stream: &mut Stream) -> Features {
        let plan = self.world.plan;
        let limits_frames = self.aqm.is_some() || self.qdisc.is_some();
        let site = aqm::Site {
            line: self.world.rate(info).0,
            frame: if limits_frames { plan.largest_frame() } else { 0 },
            least: plan.wire.min_frame,
        };
        let has_aqm = self.aqm.filter(|_| !ordered);
        let discipline =
            (has_aqm.is_some() || self.device_queue > 0 || self.turns.is_some()).then(|| {
                Discipline {
                    queues: (0..self.queues).map(|_| Queue::default()).collect(),
                    turns: limited(&self.turns, self.switch, self.world.rate(info)),
                    waiting: 0,
                    aqm: has_aqm
                        .iter()
                        .flat_map(|config| {
                            (0..self.queues)
                                .map(|_| policy(config, site, stream))
                                .collect::<Vec<_>>()
                        })
                        .collect(),
                    device: VecDeque::new(),
                    capacity: self.device_queue as usize,
                }
            });
        let pause = self.pause(info);
        assert!(
            pause.is_none()
                || self.aqm.is_none_or(|aqm| !aqm.about().unpausable) && self.device_queue == 0,
            "validated: they cannot be paused"
        );
        Features {
            discipline: discipline.map(Box::new),
            qdisc: self.qdisc.map(|config| Box::new(Qdisc::new(config, site, stream))),
            pause: pause.map(Box::new),
            capture: self.capture(info).map(|capture| capture as u32),
            watch: self.watch(),
            uplink: self.is_uplink(info).then_some(0),
            ..Features::new(self.queues, self.scheduling, self.sampled)
        }
    }

    fn port(&self, local: u32, info: &PortInfo, ordered: bool) -> Port {
        let (world, seed) = (self.world, self.world.plan.run.seed);
        let peer = world.place[info.peer as usize];
        let global = 2 * info.link as u64 + info.reverse as u64;
        let mut stream = Stream::new(seed, purpose::MARKING, global);
        let plain = self.is_plain(info);
        let features = (!plain).then(|| self.features(info, ordered, &mut stream));
        let faulty = is_faulty(world.link(info), info);
        let own_timing = world.timing(self.id);
        let delayed = world.timing(info.peer).filter(|_| !faulty);
        let rate = world.rate(info).0;
        Port::new(PortSetup {
            node: local,
            rate,
            incoming: world.rate(&world.ports.of(info.peer)[info.peer_port as usize]).0,
            clocked: own_timing.map_or(rate, |timing| timing.clocked(rate, seed, global)),
            noise: (own_timing.is_some() || delayed.is_some())
                .then(|| Noise::new(own_timing, delayed, rate, seed, global)),
            delays: delayed.is_some(),
            delay: world.delay(self.id, info),
            gap: world.plan.wire.gap,
            header: world.header(info),
            peer_port: peer.first_port + info.peer_port as u32,
            peer_shard: peer.shard,
            faulty,
            stream,
            plain,
            late: own_timing.is_some(),
            tick: world.tick(),
            features,
        })
    }
}

/// Order of the frames in a lane that is not first-in first-out.
enum Order<'w> {
    /// pFabric's, with the limit of the queue.
    Ranked(Option<Limit>),
    /// NDP's.
    Trimmed(&'w TrimConfig),
}

fn is_faulty(link: &Link, info: &PortInfo) -> bool {
    link.loss_of(!info.reverse).get() > 0.0 || !link.down.is_empty() || link.longest.is_some()
}

impl<'a> Shard<'a> {
    pub(super) fn add_node(&mut self, local: u32, site: Site<'a>) {
        let (world, plan, id) = (self.world, self.world.plan, site.id);
        let first_port = self.ports.len() as u32;
        let order = site.order();
        for info in world.ports.of(id) {
            self.add_fault(info);
            self.ports.push(site.port(local, info, order.is_some()));
        }
        let ports = &self.ports[first_port as usize..];
        let count = ports.len();
        let (has_plain, all_plain) = (ports.iter().any(|p| p.plain), ports.iter().all(|p| p.plain));
        let bounded = site.has_bounds() && !has_plain && count > 0;
        let watched =
            site.sampled || ports.iter().any(|p| p.faulty) || world.processor(id).is_some();
        let uniform = !site.classical
            && site.switch.is_some()
            && !watched
            && !plan.has_rates()
            && !plan.record.paths
            && world.epoch_starts().count() == 1;
        let ring = ports
            .iter()
            .filter_map(|p| p.features.as_ref()?.qdisc.as_ref())
            .map(|qdisc| qdisc.limit() - 1)
            .min()
            .unwrap_or(u64::MAX);
        if !all_plain {
            let special = !bounded && order.is_none();
            self.lanes.resize(self.ports.len(), Lane::new(site.scheduling.of_priority(), special));
        }
        let mut memory = NodeMemory {
            exact: order.is_none(),
            ..NodeMemory::new(site.managed.as_deref(), &site.buffer, count)
        };
        // Applications may end a run at any time. All transmissions that start by then must already
        // have been started, so nothing may be deferred.
        let mut defers = None;
        match order {
            Some(Order::Ranked(limit)) => {
                let queue = RankQueue::new(limit);
                memory.kind = RANKED;
                memory.limits[0].used = queue.bound(plan.wire.least());
                self.store.rank_queues.resize(self.ports.len(), queue);
                defers = plan.applications.is_none().then_some(world.lookahead);
            }
            Some(Order::Trimmed(trim)) => {
                memory.kind = TRIMMED;
                memory.header = trim.header.max(plan.wire.min_frame);
                memory.limits = [trim.data, trim.headers]
                    .map(|limit| Limits { queue: limit as u32, ..Limits::NEVER });
            }
            None => {}
        }
        let marking = site.marking.as_ref();
        self.nodes.push(Node {
            id,
            first_port,
            ports: count as u32,
            host: site.host.is_some(),
            needs_slow_path: site.balanced.is_some()
                || plan.has_rates() && site.switch.is_some()
                || plan.topology.relays && site.host.is_some(),
            watched,
            header: site.header.unwrap_or(u16::MAX),
            marks_at_start: site.marks_at_start(),
            until_start: site.until_start,
            arrivals_first: site.arrivals_first,
            hash_seed: world.hash_seed[id as usize],
            used: 0,
            fast_path: marking
                .iter()
                .fold(site.buffer.fast_path(), |limits, red| limits.and(red.fast_path())),
            marks_from: marking.map_or(u32::MAX, Red::marks_from),
            eager: uniform && site.balanced.is_none() && all_plain,
            loops: uniform && !has_plain,
            leaves_exact: bounded && !site.classical,
            own: site.own,
            buffer: site.buffer,
            managed: site.managed,
            marking: site.marking,
            stream: Stream::new(plan.run.seed, purpose::BALANCE, id as u64),
            balanced: site.balanced,
            active: Vec::new(),
            defers,
            due: u64::MAX,
            wake_at: 0,
            ring,
            memory,
            holds: site.holds,
        });
    }

    /// Adds the losses and failures of the link by which frames arrive at the next port.
    fn add_fault(&mut self, info: &PortInfo) {
        let world = self.world;
        let link = world.link(info);
        if !is_faulty(link, info) {
            return;
        }
        // The fault belongs to the direction towards this port, because the arrival port applies
        // it.
        let peer_info = world.ports.of(info.peer)[info.peer_port as usize];
        let seed = world.plan.run.seed;
        let stream = Stream::new(seed, purpose::LOSS, 2 * info.link as u64 + !info.reverse as u64);
        let delay = (world.delay(info.peer, &peer_info), link.delay.0);
        let loss = link.loss_of(!info.reverse);
        let fault = Fault::new(loss, stream, link.down.clone(), link.longest, delay);
        self.faults.insert(self.ports.len() as u32, fault);
    }
}

/// Returns the buffer of a node.
fn buffer(
    world: &World,
    id: NodeId,
    switch: Option<&SwitchConfig>,
    host: Option<&HostConfig>,
) -> Buffer {
    if let Some(switch) = switch {
        let rates: Vec<Rate> = world.ports.of(id).iter().map(|info| world.rate(info)).collect();
        return Buffer::new(&switch.buffer, &rates, switch.queues(rates.len()));
    }
    host.and_then(|host| host.queue).map_or(Buffer::Unlimited, |limit| {
        let config = crate::spec::Buffer::Static { per_queue: limit, drop_when: Compare::Above };
        Buffer::new(&config, &[], 1)
    })
}

/// Returns limit and marking of each queue, if the queues of the switch differ. Every virtual
/// output queue of a class has the policy of that class.
fn own_policies(switch: &SwitchConfig, queues: u8) -> Option<Box<[Policy]>> {
    let classes = switch.scheduling.queues();
    if switch.own.is_empty() {
        return None;
    }
    assert!(
        switch.own.len() == classes as usize && classes > 1,
        "validated: what differs is said for every queue"
    );
    let policies =
        |own: &QueueConfig| (0..queues / classes).map(|_| Policy::new(own)).collect::<Vec<_>>();
    Some(switch.own.iter().flat_map(policies).collect())
}

/// Builds the memory management unit of a switch, if it has one.
fn managed(world: &World, id: NodeId, switch: &SwitchConfig) -> Option<Box<Managed>> {
    let plan = world.plan;
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
