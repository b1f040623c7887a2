//! Holds the data that never change during a run, shared by all workers: routes, the location of
//! nodes and frame sizes. It also computes the paths of frames.

use crate::RunError;
use crate::app::Flows;
use crate::frame::{PAUSE_FRAME, Ties};
use crate::paths::Paths;
use crate::queue::flowcontrol::party::Party;
use crate::routing::{PortInfo, Ports, Routes};
use crate::spec::*;
use crate::transport::frames::Frames;
use crate::transport::requirements::Hash;
use afflux_engine::random::mix;
use afflux_units::{Rate, Time};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

mod capacity;
mod connections;
mod epochs;
mod partition;

use epochs::epochs;
pub use partition::Place;

const _: () = assert!(Time::LATEST.0 <= afflux_engine::Windows::TIME_LIMIT / 2);

/// The frames of a flow: `count - 1` full ones and a last one.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub count: u64,
    pub payload: u16,
    pub last_payload: u16,
    /// Sizes of a full frame and of the last frame, in bytes.
    pub full: u16,
    pub last: u16,
    /// Size of an acknowledgement without options; `None` if the transport sends none.
    pub ack: Option<u16>,
}

/// Position of a flow in its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// First flow of the connection. Frames carry its number.
    pub head: FlowId,
    /// First segment of the flow, and the segment after its last one.
    pub from: u32,
    pub to: u32,
    /// Next flow of the connection.
    pub next: Option<FlowId>,
}

pub struct World<'a> {
    pub plan: &'a Plan,
    pub ports: Ports,
    /// Routes, each with the time from which they hold. The first routes hold from 0.
    epochs: Vec<(u64, Routes)>,
    /// Routes by number of the epoch, without failures that only the ends of a link have noticed.
    /// Only epochs with such failures have an entry.
    agreed: FxHashMap<usize, Routes>,
    /// Routes over all links, if a link fails and a balancer asks for capacities.
    whole: OnceLock<Routes>,
    /// Paths of each epoch, if any switch pins frames.
    paths: Vec<Paths>,
    /// Ports of the source and of the destination, by flow of the plan, if any switch hashes them.
    flow_ports: Vec<(u16, u16)>,
    /// Distinct rates of all links, if in-band telemetry is used.
    pub rates: Vec<u64>,
    pub place: Vec<Place>,
    /// Nodes of each shard, ascending.
    pub shards: Vec<Vec<NodeId>>,
    /// Number of ports of each shard.
    pub shard_ports: Vec<u32>,
    /// True if both directions of a flow have the same hash.
    symmetric: bool,
    /// Seed of each node for the choice among equal-cost paths.
    pub hash_seed: Vec<u32>,
    /// Order of frames that arrive at a node at one instant.
    pub ties: Ties,
    /// Number of bits per hop, if frames carry their route in [`crate::frame::Frame::hash`], hop by
    /// hop from the lowest bits on. 0 if they do not.
    pub route_bits: u32,
    /// True if the sender of some transport chooses the path of each frame.
    pub chosen_paths: bool,
    /// Minimum time in ps until an action at one node can affect another node.
    pub lookahead: u64,
    /// Time in ps after which every transmission that is decided now has reached the next node. A
    /// run that has to end early ends this long after the decision, so that all nodes see the same
    /// end.
    pub settling: u64,
    /// The run ends after the events of this instant (ps).
    until: AtomicU64,
    /// Flows that applications have started. Their numbers follow those of the plan.
    pub started: Flows,
    /// Position of each flow in its connection, if any two flows share a connection.
    messages: Vec<Message>,
}

impl<'a> World<'a> {
    pub fn new(plan: &'a Plan, workers: usize) -> Result<Self, RunError> {
        let topology = &plan.topology;
        let ports = Ports::new(topology);
        let (epochs, agreed) = epochs(topology, &ports);
        let pins = plan.switches.iter().any(|switch| switch.balance.about().pins);
        let paths = (epochs.iter().enumerate().filter(|_| pins))
            .map(|(number, (_, own))| {
                Paths::new(topology, &ports, own, agreed.get(&number).unwrap_or(own))
            })
            .collect::<Result<_, _>>()?;
        let shards = partition::partition(topology, &ports, workers);
        let (place, shard_ports) = partition::places(&shards, &ports);
        let mut world = World {
            plan,
            ports,
            epochs,
            agreed,
            whole: OnceLock::new(),
            paths,
            flow_ports: flow_ports(plan),
            rates: if plan.has_telemetry() { distinct_rates(topology) } else { Vec::new() },
            place,
            shards,
            shard_ports,
            symmetric: plan.switches.iter().any(|switch| switch.hash == RouteHash::Symmetric),
            hash_seed: hash_seeds(plan),
            ties: if plan.run.compat == Some(Compat::ConweaveNs3) {
                Ties::by_port()
            } else {
                Ties::new(plan.run.seed)
            },
            route_bits: 0,
            chosen_paths: plan
                .transports
                .iter()
                .any(|transport| transport.parameters().requirements().chooses_paths()),
            lookahead: u64::MAX,
            settling: 0,
            until: AtomicU64::new(plan.run.until.unwrap_or(Time::LATEST).min(Time::LATEST).0),
            started: Flows::behind(&plan.flows),
            messages: Vec::new(),
        };
        world.messages = world.lay_out_connections();
        world.route_bits = world.bits_of_routes().unwrap_or(0);
        world.bound_times();
        world.bound_by_starts()?;
        assert!(world.lookahead > 0, "validated: no link without delay");
        Ok(world)
    }

    /// Sets the lookahead and the settling time from the links.
    fn bound_times(&mut self) {
        let plan = self.plan;
        let largest = plan.largest_frame() + u64::from(plan.wire.gap);
        for node in 0..plan.topology.nodes.len() as NodeId {
            for port in 0..self.ports.of(node).len() as u16 {
                let info = self.ports.of(node)[port as usize];
                let delay = self.delay(node, &info);
                self.lookahead = self
                    .lookahead
                    .min(delay + self.first_bits(node, port, plan.wire.min_frame.max(1)));
                self.settling =
                    self.settling.max(2 * self.rate(&info).serialize(largest).0 + delay);
            }
        }
        for link in &plan.topology.links {
            for node in [link.a, link.b] {
                if let Some(delay) = Party::of(plan, node).pause_delay(link) {
                    self.lookahead = self.lookahead.min(
                        delay + link.rate.serialize(PAUSE_FRAME as u64 + plan.wire.gap as u64).0,
                    );
                }
            }
        }
    }

    /// Lowers the lookahead to what flows and applications wait for at other nodes. Fails if hosts
    /// that exchange data have no path.
    fn bound_by_starts(&mut self) -> Result<(), RunError> {
        let plan = self.plan;
        for flow in &plan.flows {
            if let Start::After { delay, .. } = flow.start {
                self.lookahead = self.lookahead.min(delay.0);
            }
            if flow.src != flow.dst && self.path(0, 0, flow.src, flow.dst).is_empty() {
                return Err(RunError::Unreachable { from: flow.src, to: flow.dst });
            }
        }
        if let Some(applications) = &plan.applications {
            self.lookahead = self.lookahead.min(applications.latency.0);
            for hosts in applications.programs.iter().map(|program| program.hosts()) {
                let apart = hosts
                    .iter()
                    .flat_map(|&a| [(hosts[0], a), (a, hosts[0])])
                    .find(|&(a, b)| a != b && self.path(0, 0, a, b).is_empty());
                if let Some((from, to)) = apart {
                    return Err(RunError::Unreachable { from, to });
                }
            }
        }
        Ok(())
    }

    /// Returns the instant after whose events the run ends.
    pub fn until(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// Ends the run after the events of `at` at the latest. `at` must be at least the lookahead
    /// away, so that no shard has passed it.
    pub fn stop_by(&self, at: u64) {
        self.until.fetch_min(at, Ordering::AcqRel);
    }

    /// Returns the time that messages between applications and hosts take, in ps.
    pub fn latency(&self) -> u64 {
        self.plan.applications.as_ref().map_or(0, |applications| applications.latency.0)
    }

    /// Returns a flow of the plan, or a flow that an application has started.
    #[inline(always)]
    pub fn flow(&self, flow: FlowId) -> &Flow {
        match self.plan.flows.get(flow as usize) {
            Some(flow) => flow,
            None => self.started.flow(flow),
        }
    }

    #[inline(always)]
    pub fn routes(&self, now: u64) -> &Routes {
        match self.epochs.as_slice() {
            [(_, only)] => only,
            epochs => &epochs[self.epoch(now)].1,
        }
    }

    /// Returns the paths according to the routes at `now`.
    pub fn paths(&self, now: u64) -> &Paths {
        &self.paths[self.epoch(now)]
    }

    /// Returns the number of the epoch at `now`, which is the number of route changes so far.
    #[inline(always)]
    pub fn epoch(&self, now: u64) -> usize {
        if self.epochs.len() == 1 {
            return 0;
        }
        self.later_epoch(now)
    }

    #[cold]
    #[inline(never)]
    fn later_epoch(&self, now: u64) -> usize {
        self.epochs.partition_point(|(from, _)| *from <= now) - 1
    }

    /// Returns the port numbers of the flow at its source and at its destination.
    pub fn flow_ports(&self, flow: FlowId) -> (u16, u16) {
        self.flow_ports.get(flow as usize).copied().unwrap_or((flow as u16, (flow >> 16) as u16))
    }

    /// Returns the times at which the epochs begin.
    pub fn epoch_starts(&self) -> impl Iterator<Item = u64> + '_ {
        self.epochs.iter().map(|(from, _)| *from)
    }

    /// Returns the processor of a node, if it has one.
    pub fn processor(&self, node: NodeId) -> Option<&Processor> {
        let spec = &self.plan.topology.nodes[node as usize];
        match spec.kind {
            NodeKind::Host => self.plan.hosts[spec.config as usize].processor.as_ref(),
            NodeKind::Switch => self.plan.switches[spec.config as usize].processor.as_ref(),
        }
    }

    /// Returns the timing model of a host; `None` for a host with exact timing, and for switches.
    pub fn timing(&self, node: NodeId) -> Option<&Timing> {
        let spec = &self.plan.topology.nodes[node as usize];
        if spec.kind == NodeKind::Host {
            self.plan.hosts[spec.config as usize].timing.as_ref()
        } else {
            None
        }
    }

    pub fn link(&self, port: &PortInfo) -> &Link {
        &self.plan.topology.links[port.link as usize]
    }

    /// Returns the rate at which the port sends.
    pub fn rate(&self, port: &PortInfo) -> Rate {
        self.link(port).rate_of(port.reverse)
    }

    /// Returns the time in ps from the last bit leaving `node`'s port until the peer processes the
    /// frame: the delay of the cable, of the hosts at either end and of the peer's pipeline.
    pub fn delay(&self, node: NodeId, port: &PortInfo) -> u64 {
        let extra = |id: NodeId, incoming: bool| {
            let n = &self.plan.topology.nodes[id as usize];
            match n.kind {
                NodeKind::Host => self.plan.hosts[n.config as usize].delay.0,
                NodeKind::Switch if incoming => {
                    self.plan.switches[n.config as usize].least_latency().0
                }
                NodeKind::Switch => 0,
            }
        };
        self.link(port).delay.0 + extra(node, false) + extra(port.peer, true)
    }

    /// Returns the time in ps that a frame with its gap takes on the link.
    pub fn serialize(&self, port: &PortInfo, size: u16) -> u64 {
        cut_off(self.rate(port).serialize(size as u64 + self.plan.wire.gap as u64).0, self.tick())
    }

    /// Returns the resolution in ps to which times on links are rounded down.
    pub fn tick(&self) -> u64 {
        if self.plan.run.compat == Some(Compat::ConweaveNs3) { 1_000 } else { 1 }
    }

    /// Returns the number of bytes after whose arrival the peer processes a frame; `None` if it
    /// needs the whole frame.
    pub fn header(&self, port: &PortInfo) -> Option<u16> {
        let peer = &self.plan.topology.nodes[port.peer as usize];
        match peer.kind {
            NodeKind::Switch => self.plan.switches[peer.config as usize].cut_through,
            NodeKind::Host => None,
        }
    }

    /// Returns the time in ps from the start of a transmission until the peer can process the
    /// frame, without the delay.
    pub fn first_bits(&self, node: NodeId, port: u16, size: u16) -> u64 {
        let info = &self.ports.of(node)[port as usize];
        self.serialize(info, self.header(info).map_or(size, |h| h.min(size)))
    }

    /// Returns the number and the sizes of the frames of a flow.
    pub fn shape(&self, flow: &Flow) -> Shape {
        let wire = &self.plan.wire;
        let Frames { payload, data, answer, .. } =
            self.plan.transports[flow.transport as usize].parameters().frames();
        let count = flow.bytes.div_ceil(payload as u64);
        let last_payload = (flow.bytes - (count - 1) * payload as u64) as u16;
        let size = |payload: u16| (payload + data + wire.data_header).max(wire.min_frame);
        assert!(
            count <= TransportConfig::MOST_SEGMENTS,
            "validated: a flow has fewer than 2^32 segments"
        );
        Shape {
            count,
            payload,
            last_payload,
            full: size(payload),
            last: size(last_payload),
            ack: answer.map(|more| (wire.ack + more).max(wire.min_frame)),
        }
    }

    /// True if the completion time of a flow ends with its last acknowledgement.
    pub fn ends_with_ack(&self, shape: Shape) -> bool {
        self.plan.run.fct_end == FctEnd::LastAck && shape.ack.is_some()
    }

    /// Returns the number of bits per hop, if frames can carry their route. This requires that only
    /// the hash decides, that routes never change, and that nothing else reads the hash.
    fn bits_of_routes(&self) -> Option<u32> {
        let plan = self.plan;
        let keyed = |aqm: &Option<Aqm>| aqm.as_ref().is_some_and(|aqm| aqm.about().hashes);
        let decides =
            plan.switches.iter().all(|switch| switch.hashes_plainly() && !keyed(&switch.aqm))
                && plan.hosts.iter().all(|host| !keyed(&host.aqm))
                && plan
                    .transports
                    .iter()
                    .all(|transport| transport.parameters().requirements().hash == Hash::Path);
        let most = self.routes(0).most_switches().filter(|_| decides && self.epochs.len() == 1)?;
        let ports = plan
            .topology
            .nodes
            .iter()
            .zip(0..)
            .filter(|(node, _)| node.kind == NodeKind::Switch)
            .map(|(_, id)| self.ports.of(id).len())
            .max()?;
        let bits = (usize::BITS - (ports - 1).leading_zeros()).max(1);
        (most * bits <= u32::BITS).then_some(bits)
    }

    /// Returns the value that frames from `src` to `dst` carry instead of `hash`: their route, if
    /// frames carry routes.
    pub fn route_of(&self, hash: u32, src: u32, dst: u32) -> u32 {
        self.route_via(None, hash, src, dst)
    }

    /// Returns the value that frames which leave `src` by port `via` carry instead of `hash`.
    pub fn route_via(&self, via: Option<u16>, hash: u32, src: u32, dst: u32) -> u32 {
        if self.route_bits == 0 {
            return hash;
        }
        self.path_via(0, via, hash, src, dst)
            .iter()
            .skip(1)
            .rev()
            .fold(0, |route, (_, port)| route << self.route_bits | u32::from(*port))
    }

    /// Returns the route (or hash) that replies to a flow's frames carry.
    pub fn return_route(&self, flow: &Flow) -> u32 {
        self.route_of(self.flow_hash(flow, true), flow.dst, flow.src)
    }

    /// Returns the hash of a flow's forward or return direction.
    pub fn flow_hash(&self, flow: &Flow, reverse: bool) -> u32 {
        let reverse = reverse && !self.symmetric;
        let (a, b) = if reverse { (flow.dst, flow.src) } else { (flow.src, flow.dst) };
        // All flows of a connection take one path.
        let own =
            flow.connection.map_or(flow.id as u64, |connection| (connection as u64) << 32 | 1);
        mix(mix(mix(a as u64 ^ mix(self.plan.run.seed)) ^ b as u64) ^ own) as u32
    }

    /// True if both directions of a flow have the same hash.
    pub fn hashes_symmetrically(&self) -> bool {
        self.symmetric
    }

    /// Returns the hash of a pair of hosts, for frames that belong to no flow.
    pub fn pair_hash(&self, src: u32, dst: u32) -> u32 {
        mix(mix(src as u64 ^ mix(self.plan.run.seed)) ^ dst as u64) as u32
    }

    /// Returns the output ports of a frame with this hash, from `src` to `dst`, by the routes at
    /// `now`. If these have no path because links are down, the first routes that have one are
    /// used. If switches spray, the result is one of the possible paths.
    pub fn path(&self, now: u64, hash: u32, src: u32, dst: u32) -> Vec<(NodeId, u16)> {
        let all =
            std::iter::once(self.routes(now)).chain(self.epochs.iter().map(|(_, routes)| routes));
        all.map(|routes| self.path_by(routes, hash, src, dst))
            .find(|path| !path.is_empty())
            .unwrap_or_default()
    }

    /// Returns the output ports of a frame with this hash like [`Self::path`], but with port `via`
    /// of `src` as the first one, if it is given.
    pub fn path_via(
        &self,
        now: u64,
        via: Option<u16>,
        hash: u32,
        src: u32,
        dst: u32,
    ) -> Vec<(NodeId, u16)> {
        let Some(port) = via else { return self.path(now, hash, src, dst) };
        let peer = self.ports.of(src)[port as usize].peer;
        let rest = if peer == dst { Vec::new() } else { self.path(now, hash, peer, dst) };
        if peer != dst && rest.is_empty() {
            rest
        } else {
            std::iter::once((src, port)).chain(rest).collect()
        }
    }

    /// Number of hashes that are tried to reach a port of the destination, as different source ports
    /// would be.
    pub const TRIES: u64 = 64;

    /// True if frames with this hash that leave `src` by port `via` reach `dst` at its port
    /// `target`, without passing `src` again.
    pub fn leads_to(
        &self,
        now: u64,
        (src, via): (u32, u16),
        hash: u32,
        (dst, target): (u32, u16),
    ) -> bool {
        let path = self.path_via(now, Some(via), hash, src, dst);
        let returns = path.iter().skip(1).any(|&(node, _)| node == src);
        let last = path.last().map(|&(node, port)| self.ports.of(node)[port as usize].peer_port);
        !returns && last == Some(target)
    }

    fn path_by(&self, routes: &Routes, hash: u32, src: u32, dst: u32) -> Vec<(NodeId, u16)> {
        let mut hops = Vec::with_capacity(6);
        let mut node = src;
        while node != dst {
            let Some(port) = routes.next_hop(node, dst, hash, self.hash_seed[node as usize]) else {
                return Vec::new();
            };
            hops.push((node, port));
            node = self.ports.of(node)[port as usize].peer;
        }
        hops
    }
}

/// Returns the seed of each node for the choice among equal-cost paths.
fn hash_seeds(plan: &Plan) -> Vec<u32> {
    plan.topology
        .nodes
        .iter()
        .enumerate()
        .map(|(id, node)| {
            match (node.kind, plan.switches.get(node.config as usize).map(|s| s.hash)) {
                (NodeKind::Switch, Some(RouteHash::SameSeed)) => 0,
                (NodeKind::Switch, Some(RouteHash::Murmur3)) => id as u32,
                (NodeKind::Switch, Some(RouteHash::Symmetric)) => {
                    mix(plan.run.seed ^ mix(u64::MAX - node.tier as u64)) as u32
                }
                _ => mix(plan.run.seed ^ mix(id as u64 + 1)) as u32,
            }
        })
        .collect()
}

fn distinct_rates(topology: &Topology) -> Vec<u64> {
    let mut rates: Vec<u64> =
        topology.links.iter().flat_map(Link::rates).map(|rate| rate.0).collect();
    rates.sort_unstable();
    rates.dedup();
    assert!(rates.len() <= 16, "validated: telemetry tells at most sixteen rates apart");
    rates
}

/// Rounds `time` down to whole ticks, at least one, so that consecutive frames on a link do not
/// arrive together.
#[inline(always)]
pub fn cut_off(time: u64, tick: u64) -> u64 {
    if tick == 1 { time } else { (time / tick * tick).max(tick) }
}

/// Numbers the ports of flows like ConWeave's ns-3 simulator, in the order of the flow list: source
/// ports from 10000 and destination ports from 100, per host.
fn flow_ports(plan: &Plan) -> Vec<(u16, u16)> {
    if !plan
        .switches
        .iter()
        .any(|switch| switch.hash == RouteHash::Murmur3 || switch.balance.needs_ports())
    {
        return Vec::new();
    }
    let hosts = plan.topology.hosts as usize;
    let (mut source, mut destination) = (vec![10_000u16; hosts], vec![100u16; hosts]);
    let mut next = |flow: &Flow| {
        let (a, b) = (&mut source[flow.src as usize], &mut destination[flow.dst as usize]);
        let ports = (*a, *b);
        (*a, *b) = (a.wrapping_add(1), b.wrapping_add(1));
        ports
    };
    plan.flows.iter().map(&mut next).collect()
}
