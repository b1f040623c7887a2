//! Runs a network in real time, with packets of real hosts that enter and leave. The caller's clock
//! decides how far the simulation advances. The classical engine runs the whole plan, including
//! switches and simulated flows, so every simulated mechanism also acts on real packets.

use super::classical::Later;
use super::merge;
use super::window::Done;
use crate::app::NewFlow;
use crate::frame::Frame;
use crate::record::{Engine, Output};
use crate::shard::{Outside, Shard};
use crate::spec::{Datagram, Flow, FlowId, Plan, TransportConfig};
use crate::world::World;
use crate::{Model, RunError};
use afflux_engine::random::mix;
use afflux_units::{Span, Time};
use rustc_hash::FxHashMap;
use std::time::Instant;

pub use crate::shard::Departure;

/// A packet of a real host.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Host and port at which the packet enters the network.
    pub host: u32,
    pub nic: u32,
    /// Destination host.
    pub dst: u32,
    /// Size of the frame in buffers in bytes, without the gap.
    pub size: u16,
    /// ECN-capable (`capable`), and marked on its way here (`marked`).
    pub capable: bool,
    pub marked: bool,
    /// Priority, 0 (lowest) to 7.
    pub priority: u8,
    /// Hashes of the packet's two ends (protocol, address and port). Packets with equal ends are
    /// one flow.
    pub ends: (u64, u64),
    /// Handle that the caller gets back with the packet.
    pub token: u32,
}

/// Number of flows per pair of hosts that switches with flow tables can distinguish. Additional
/// flows share entries, as they do in real switches.
const DISTINGUISHED: u64 = 4096;

pub struct Driven<'w, 'p> {
    world: &'w World<'p>,
    shard: Shard<'w>,
    later: Later,
    events: u64,
    now: u64,
    /// Flow and its packets so far, by source, destination and the hash of the ends modulo
    /// [`DISTINGUISHED`].
    flows: FxHashMap<(u32, u32, u64), (FlowId, u32)>,
}

/// Builds the network of `plan` and lets `work` drive it. Returns the records up to the time that
/// `work` has reached.
///
/// # Errors
/// Returns the errors of [`crate::run`].
///
/// # Panics
/// Panics if the plan has applications, or captures or paths to record: they need flows that are
/// known in advance.
pub fn drive<R>(plan: &Plan, work: impl FnOnce(&mut Driven) -> R) -> Result<(Output, R), RunError> {
    assert!(
        plan.applications.is_none() && plan.record.captures.is_empty() && !plan.record.paths,
        "not with packets from outside"
    );
    let wall = Instant::now();
    let mut plan = plan.clone();
    plan.run.until = None;
    let transport = plan.transports.len() as u16;
    let mtu = (plan.largest_frame() as u16).saturating_sub(plan.wire.data_header).max(1);
    plan.transports.push(TransportConfig::Datagram(Datagram {
        rate: None,
        payload: mtu,
        ecn_capable: true,
    }));
    let world = World::new(&plan, 1)?;
    let mut shard = Shard::new(&world, 0, true);
    shard.outside = Some(Box::new(Outside { transport, ..Outside::default() }));
    let mut driven = Driven {
        world: &world,
        shard,
        later: Later::new(world.ties),
        events: 0,
        now: 0,
        flows: FxHashMap::default(),
    };
    driven.shard.begin(&mut driven.later);
    let cpu = crate::clock::thread_cpu_s();
    let result = work(&mut driven);
    let Driven { shard, later, events, now, .. } = driven;
    let cpu_s = crate::clock::thread_cpu_s() - cpu;
    let done = Done {
        events,
        cpu_s,
        in_flight: later.in_flight(),
        reached_until: true,
        limited: None,
        cancelled: false,
    };
    let mut output = merge::merge(&world, vec![shard], &[done], now, true);
    // Flows of packets from outside have no results.
    output.flows.truncate(plan.flows.len());
    output.engine = Engine {
        events,
        thread_cpu_s: vec![cpu_s],
        wall_s: wall.elapsed().as_secs_f64(),
        window_ps: 0,
    };
    Ok((output, result))
}

impl Driven<'_, '_> {
    /// Returns the time of the next event, assuming that no packet enters before.
    #[inline]
    pub fn due(&mut self) -> Option<Time> {
        self.later.next().map(Time)
    }

    /// Handles all events up to `now`.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        while self.later.next().is_some_and(|at| at <= now.0) {
            self.later.step(&mut self.shard);
            self.events += 1;
        }
        self.now = self.now.max(now.0);
    }

    /// Lets a packet enter the network at the current time.
    pub fn enter(&mut self, packet: &Packet) {
        let (flow, number) = self.flow_of(packet);
        let mut flags = packet.priority as u16 & Frame::PRIORITY;
        if packet.capable {
            flags |= Frame::ECT;
        }
        if packet.marked {
            flags |= Frame::ECT | Frame::CE;
        }
        let hash = self.world.route_of(self.hash(packet.ends), packet.host, packet.dst);
        let frame = Frame {
            seq: number,
            aux: packet.token,
            dst: packet.dst,
            hash,
            size: packet.size.max(self.world.plan.wire.min_frame),
            flags,
            ..Frame::default()
        };
        self.shard.enter_from_outside(
            &mut self.later,
            self.now,
            (packet.host, packet.nic),
            flow,
            frame,
        );
    }

    /// Returns the number of hosts in the network.
    pub fn hosts(&self) -> u32 {
        self.world.plan.topology.hosts
    }

    /// Returns the propagation delay of a path from `a` to `b` at the beginning of the run,
    /// including the delays of hosts and switches; `None` if there is no path.
    pub fn propagation(&self, a: u32, b: u32) -> Option<Span> {
        let path = self.world.path(0, self.world.pair_hash(a, b), a, b);
        let delays = path
            .iter()
            .map(|&(node, port)| self.world.delay(node, &self.world.ports.of(node)[port as usize]));
        (!path.is_empty()).then(|| Span(delays.sum()))
    }

    /// Returns the packets that have reached their hosts, in order of time. The caller removes
    /// them.
    pub fn arrived(&mut self) -> &mut Vec<Departure> {
        &mut self.outside().arrived
    }

    /// Returns the tokens of dropped packets. The caller removes them.
    pub fn lost(&mut self) -> &mut Vec<u32> {
        &mut self.outside().lost
    }

    fn outside(&mut self) -> &mut Outside {
        self.shard.outside.as_mut().expect("set at the beginning")
    }

    /// Returns the flow of a packet, and the number of its earlier packets.
    fn flow_of(&mut self, packet: &Packet) -> (FlowId, u32) {
        let Packet { host, dst, ends, priority, .. } = *packet;
        let apart = mix(mix(ends.0) ^ ends.1) % DISTINGUISHED;
        let world = self.world;
        let entry = self.flows.entry((host, dst, apart)).or_insert_with(|| {
            let transport = self.shard.outside.as_ref().expect("set at the beginning").transport;
            let new = NewFlow {
                src: host,
                dst,
                bytes: 1,
                transport,
                class: 0,
                priority,
                job: Flow::NO_JOB,
            };
            (world.started.push(new, Time(self.now), 0), 0)
        });
        let number = entry.1;
        entry.1 = number.wrapping_add(1);
        (entry.0, number)
    }

    /// Returns the hash for the choice among equal-cost paths.
    fn hash(&self, (a, b): (u64, u64)) -> u32 {
        let (a, b) = if self.world.hashes_symmetrically() { (a.min(b), a.max(b)) } else { (a, b) };
        mix(mix(a ^ mix(self.world.plan.run.seed)) ^ b) as u32
    }
}

pub const MODEL: Model = Model {
    kind: "live",
    name: "real hosts",
    source: "-",
    faithful: "packets of real hosts pass the simulated NICs, links and switches in real time, with the size that they would have on a cable; ECN marks \
               are written into their IP headers",
    simplified: "IPv4 only; the time in a host's own stack adds to host.delay; per-flow balancers distinguish 4096 flows of a pair of hosts; no \
                 applications, captures, path records",
};
