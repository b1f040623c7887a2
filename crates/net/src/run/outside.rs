//! Door between the network and hosts outside of it, whose packets enter and leave. Every simulated
//! mechanism also acts on these packets. There are two clocks:
//!
//! - [`drive`]: the caller's clock decides how far the simulation advances (real hosts in real
//!   time). The classical engine runs the whole plan.
//! - [`Guests`]: the hosts follow the clock of the simulation. Both engines let them run window by
//!   window (`guests.rs`).

use super::classical::Later;
use super::merge;
use super::packet::{add_transport, carrier, frame_of};
use super::window::Done;
use crate::record::{Engine, Output};
use crate::shard::{Outside, Shard};
use crate::spec::{FlowId, Plan};
use crate::world::World;
use crate::{Model, RunError};
use afflux_engine::random::mix;
use afflux_units::{Span, Time};
use rustc_hash::FxHashMap;
use std::time::Instant;

pub use super::packet::{Guests, Outsiders, Packet};
pub use crate::shard::{CardPause, Contents, Departure};

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
        windows: 0,
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
        windows: 0,
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
        let frame = frame_of(self.world, self.now, packet, number);
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
            let new = carrier(host, dst, transport, 0, priority);
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
               network; transmissions complete at the line rate, and wait while the switch pauses the host, so small queues and byte queue limits feel the NIC",
    simplified: "CPU work takes no time, reading a clock 256 ns; one CPU; a timer of 250 Hz; IPv4 only; a paused priority holds the whole card; a \
                 card tells of fewer than 17 sent frames up to 1 ms late; per-flow balancers distinguish at most 64 flows of a pair of hosts; no applications",
};
