//! Door between the network and hosts outside of it, whose packets enter and leave. Every simulated
//! mechanism also acts on these packets. There are two clocks:
//!
//! - [`drive`]: the caller's clock decides how far the simulation advances (real hosts in real
//!   time). The classical engine runs the whole plan.
//! - [`Guests`]: the hosts follow the clock of the simulation. Both engines let them run window by
//!   window (`guests.rs`).

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

/// Hosts whose clock follows the simulation. One worker has one object, and calls it window by
/// window. The packets that have arrived determine the packets that a guest sends.
pub trait Guests: Send {
    /// Returns the time in ps at which a guest next acts without a packet arriving; `u64::MAX` if
    /// none does.
    fn due(&mut self) -> u64;
    /// Returns the number of guests that can still act.
    fn alive(&self) -> i64;
    /// Lets all guests run up to but not including `end` (ps). `arrived` has the packets that arrive
    /// before, ordered by time at each host. Appends the packets that the guests send, in order of
    /// time at each host.
    fn run(&mut self, arrived: &mut Vec<Departure>, end: u64, sent: &mut Vec<(u64, Packet)>);
    /// Takes the tokens of dropped packets.
    fn lost(&mut self, tokens: &mut Vec<u32>);
    /// Returns whether the run has to end because a guest cannot go on.
    fn failed(&self) -> bool;
}

/// The hosts of a plan that are guests, and the function that returns the guests of one worker.
pub struct Outsiders<'g> {
    /// Numbers of the hosts, ascending.
    pub hosts: &'g [u32],
    /// Called once per worker with its share of `hosts`.
    pub guests: &'g mut dyn FnMut(&[u32]) -> Box<dyn Guests + 'g>,
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
    let transport = add_transport(&mut plan);
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

/// Adds the transport of the flows that carry packets from outside, and returns its number.
pub(super) fn add_transport(plan: &mut Plan) -> u16 {
    let mtu = (plan.largest_frame() as u16).saturating_sub(plan.wire.data_header).max(1);
    plan.transports.push(TransportConfig::Datagram(Datagram {
        rate: None,
        payload: mtu,
        ecn_capable: true,
    }));
    plan.transports.len() as u16 - 1
}

/// Returns a flow that carries packets from outside.
pub(super) fn carrier(src: u32, dst: u32, transport: u16, priority: u8) -> NewFlow {
    NewFlow { src, dst, bytes: 1, transport, class: 0, priority, job: Flow::NO_JOB }
}

/// Returns the frame of a packet, which is number `number` of its flow.
pub(super) fn frame_of(world: &World, packet: &Packet, number: u32) -> Frame {
    let mut flags = packet.priority as u16 & Frame::PRIORITY;
    if packet.capable {
        flags |= Frame::ECT;
    }
    if packet.marked {
        flags |= Frame::ECT | Frame::CE;
    }
    let (a, b) = packet.ends;
    let (a, b) = if world.hashes_symmetrically() { (a.min(b), a.max(b)) } else { (a, b) };
    // Hash for the choice among equal-cost paths.
    let hash = mix(mix(a ^ mix(world.plan.run.seed)) ^ b) as u32;
    Frame {
        seq: number,
        aux: packet.token,
        dst: packet.dst,
        hash: world.route_of(hash, packet.host, packet.dst),
        size: packet.size.max(world.plan.wire.min_frame),
        flags,
        ..Frame::default()
    }
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
        let frame = frame_of(self.world, packet, number);
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
            let new = carrier(host, dst, transport, priority);
            (world.started.push(new, Time(self.now), 0), 0)
        });
        let number = entry.1;
        entry.1 = number.wrapping_add(1);
        (entry.0, number)
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

pub const KERNELS: Model = Model {
    kind: "kernel",
    name: "Linux kernels",
    source: "Linux 6.1 and 6.12, User-Mode Linux under an external clock (arch/um/kernel/time.c)",
    faithful: "TCP, MPTCP, queueing disciplines, timers, sockets and programs are those of the kernel; a packet arrives at the ns at which it leaves the \
               network; transmissions complete at the line rate, so small queues and byte queue limits feel the NIC",
    simplified: "CPU work takes no time, reading a clock 256 ns; one CPU; a timer of 250 Hz; IPv4 only; completions ignore PAUSE; per-flow balancers \
                 distinguish at most 64 flows of a pair of hosts; no applications, captures of links, path records",
};
