//! Fluid model of a plan: computes the rates that links give to flows, without frames, when flows
//! end, and how far they come by the end of the run.
//!
//! Rates are constant between two ticks. A tick follows each event, but not sooner than a minimum
//! step after the previous tick. The minimum step grows with the number of flows, which bounds the
//! work. Small flows of applications (calls, heartbeats) do not use links in this model: they end
//! after the time that they take in an idle network.

use super::fluid_model::{FluidModel, Pace};
use super::queues::Queue;
use super::share::{Demand, Links};
use super::{Expected, Unknowns};
use crate::app::{Due, Runtime};
use crate::congestion::{Decrease, IncreaseRule};
use crate::idle::Route;
use crate::routing::NextHops;
use crate::spec::*;
use crate::transport::requirements::{Hash, HostTiming};
use crate::world::World;
use afflux_units::Time;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Affordable numbers of link visits and of events. Together they take about a second.
const WORK: u64 = 50_000_000;
const EVENTS: u64 = 1_000_000;
/// Work at which the model gives up. It ignores the rest of the run.
const MOST_WORK: u64 = 2 * WORK;
/// Minimum step, as a fraction of the time that has passed.
const LEAST_STEP: f64 = 1e-3;
/// Minimum step once `WORK` is used up, as a fraction of the time that has passed, so that the rest
/// goes quickly.
const COARSE_STEP: f64 = 0.05;
/// Largest number of frames of an application's flow that does not use links.
const CALL: u64 = 10;

/// Fraction of all packet-hops. If queues delay more than this beyond the end of the run, the
/// estimate is in doubt.
const LARGE: f64 = 0.1;
/// Smallest cut of a window that is modelled.
const LEAST_CUT: f64 = 0.02;

/// A flow of at most this many initial windows is over when its other subflows join.
const SHORT: f64 = 3.0;
/// Ratio of round trips above which the segments of a slow subflow are also sent on others.
const SLOW_PATH: f64 = 4.0;

const PS: f64 = 1e-12;
const SQRT_2: f64 = std::f64::consts::SQRT_2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// All data of a flow have arrived (`Received`), and its application is notified (`Heard`).
    Received,
    Heard,
    /// A flow starts (`Start`), its connection is open (`Ready`), its sender stops (`Stop`).
    Start,
    Ready,
    Stop,
}

/// An active flow.
struct Running {
    id: FlowId,
    transport: u16,
    /// Payload not yet sent.
    left: f64,
    /// Time in seconds from handing a frame to the NIC until its arrival, without queues.
    one_way: f64,
    subflows: u32,
    /// Largest amount that a subflow has sent in this step, for subflows that carry the same data.
    ahead: f64,
}

/// A subflow of a flow, or the flow itself if it has no subflows.
struct Stream<'p> {
    flow: u32,
    sent: f64,
    /// Maximum of outstanding bytes, without those that wait in queues.
    window: f64,
    /// True in slow start: the window grows by all acknowledged bytes, because no congestion has
    /// occurred.
    slow: bool,
    /// Window before the latest cut, and times of the first and of the latest cut.
    before: f64,
    cut: Option<(f64, f64)>,
    /// Round trip in seconds without queues (`round_trip`), and time in the queues met last
    /// (`queued`).
    round_trip: f64,
    queued: f64,
    /// Number of links to the destination.
    hops: u32,
    since: f64,
    /// For a flow that does not yield: payload that was dropped, multiplied by the number of links
    /// that it did not pass.
    lost: f64,
    /// Largest number of outstanding frames so far.
    most: f64,
    /// Model of the congestion control that sets the rate, if the rate is followed.
    paced: Option<Box<dyn Pace + 'p>>,
}

/// A queue whose length is followed. Its flows do not yield, or yield according to the queue.
struct Pile {
    bytes: f64,
    /// Change of the length in bytes per second, at the current rates.
    change: f64,
    queue: Queue,
}

pub struct Fluid<'w, 'p> {
    world: &'w World<'p>,
    follows: bool,
    fluid_model: Vec<FluidModel>,
    links: Links,
    /// Whether each direction of a link is captured.
    captured: Vec<bool>,
    paths: Vec<u32>,
    demands: Vec<Demand>,
    streams: Vec<Stream<'p>>,
    flows: Vec<Running>,
    free: Vec<u32>,
    planned: usize,
    waiting: BinaryHeap<Reverse<(u64, What, FlowId)>>,
    groups: FxHashMap<GroupId, (u32, Vec<FlowId>)>,
    applications: Option<Runtime>,
    now: f64,
    /// Time in seconds at which rates are set next; `None` while no flow is active.
    tick: Option<f64>,
    until: f64,
    first: Option<f64>,
    work: u64,
    events: u64,
    /// Connections that have been opened.
    connected: FxHashSet<u32>,
    /// True if switches spread the frames of a flow over several paths.
    spreads: bool,
    /// True if frames may overtake each other in a flow whose transport regards overtaken frames as
    /// lost.
    overtakes: bool,
    piles: FxHashMap<u32, Pile>,
    halves: u64,
    /// Total time in seconds that links limit flows, and the time that their NICs would need for
    /// the same bytes.
    limited: f64,
    alone: f64,
    /// Packet-hops that queues delay beyond the end of the run.
    standing: f64,
    found: Expected,
}

impl<'w, 'p> Fluid<'w, 'p> {
    /// With `follows`, the model follows the rates of congestion controls that react to queues.
    /// Otherwise it shares links as if these controls used the full capacity.
    pub fn new(world: &'w World<'p>, follows: bool) -> Self {
        let plan = world.plan;
        let directed = 2 * plan.topology.links.len();
        let mut capacity: Vec<f64> = plan
            .topology
            .links
            .iter()
            .flat_map(|link| [false, true].map(|back| link.rate_of(back).0 as f64 / 8.0))
            .collect();
        // Each node has two bundles: all links up from it, and all links down to it.
        let tier = |node: NodeId| plan.topology.nodes[node as usize].tier;
        capacity.resize(directed + 2 * plan.topology.nodes.len(), 0.0);
        for link in &plan.topology.links {
            let (low, high) =
                if tier(link.a) <= tier(link.b) { (link.a, link.b) } else { (link.b, link.a) };
            if tier(low) != tier(high) {
                // The direction up from `low` is from `a` if `low` is `a`.
                for bundle in [0, 1] {
                    capacity[directed + 2 * low as usize + bundle] +=
                        link.rate_of((bundle == 1) == (link.a == low)).0 as f64 / 8.0;
                }
            }
        }
        let mut captured = vec![false; if plan.record.captures.is_empty() { 0 } else { directed }];
        plan.record.captures.iter().for_each(|capture| {
            captured[2 * capture.link as usize + usize::from(capture.reverse)] = true
        });
        let mut groups: FxHashMap<GroupId, (u32, Vec<FlowId>)> = FxHashMap::default();
        for (id, flow) in plan.flows.iter().enumerate() {
            if let Some(group) = flow.group {
                groups.entry(group).or_default().0 += 1;
            }
            if let Start::After { group, .. } = flow.start {
                groups.entry(group).or_default().1.push(id as FlowId);
            }
        }
        Fluid {
            world,
            follows,
            fluid_model: plan
                .transports
                .iter()
                .map(|transport| transport.parameters().fluid_model(world))
                .collect(),
            links: Links::new(capacity, directed),
            captured,
            paths: Vec::new(),
            demands: Vec::new(),
            streams: Vec::new(),
            flows: Vec::new(),
            free: Vec::new(),
            planned: 0,
            waiting: BinaryHeap::new(),
            groups,
            applications: plan.applications.as_ref().map(Runtime::new),
            now: 0.0,
            tick: None,
            until: world.until() as f64 * PS,
            first: None,
            work: 0,
            events: 0,
            connected: FxHashSet::default(),
            spreads: false,
            overtakes: false,
            piles: FxHashMap::default(),
            halves: 0,
            standing: 0.0,
            limited: 0.0,
            alone: 0.0,
            found: Expected { complete: true, ..Expected::default() },
        }
    }

    /// Follows all flows to their end, or to the end of the run.
    pub fn run(mut self) -> Expected {
        self.tell(0, Due::Begin);
        loop {
            if self.events > EVENTS && self.applications.is_some() || self.work > MOST_WORK {
                (self.found.complete, self.found.end) = (false, self.now);
                self.cut();
                return self.finished();
            }
            let next = self.next_event();
            let (event, tick) = (
                next.map_or(f64::INFINITY, |at| at as f64 * PS),
                self.tick.unwrap_or(f64::INFINITY),
            );
            let at = event.min(tick);
            if at == f64::INFINITY {
                break;
            }
            if at > self.until {
                self.advance(self.until);
                (self.found.end, self.found.cut) = (self.until, true);
                self.cut();
                return self.finished();
            }
            if tick <= event {
                self.advance(tick);
                self.share();
                continue;
            }
            self.events += 1;
            self.happen(next.expect("it is the earlier one"));
        }
        self.finished()
    }

    fn finished(mut self) -> Expected {
        self.found.crowding = if self.alone > 0.0 { self.limited / self.alone } else { 1.0 };
        self.found.flows = (self.world.plan.flows.len() + self.world.started.count()) as u64;
        self.found
    }

    fn next_event(&mut self) -> Option<u64> {
        let planned = match self.world.plan.flows.get(self.planned).map(|flow| flow.start) {
            Some(Start::At(time)) => Some(time.0),
            _ => None,
        };
        let waiting = self.waiting.peek().map(|next| next.0.0);
        let timer = self.applications.as_ref().and_then(|runtime| runtime.agenda.next_timer());
        [planned, waiting, timer].into_iter().flatten().min()
    }

    /// Handles all events of this instant.
    fn happen(&mut self, at: u64) {
        while let Some(Reverse((time, what, flow))) = self.waiting.peek().copied()
            && time <= at
        {
            self.waiting.pop();
            match what {
                What::Start => self.start(at, flow),
                What::Ready => self.open(at, flow),
                What::Stop => self.stop(at, flow),
                What::Received => self.received(at, flow),
                What::Heard => self.notified(at, flow),
            }
        }
        while let Some(Start::At(time)) =
            self.world.plan.flows.get(self.planned).map(|flow| flow.start)
            && time.0 <= at
        {
            self.planned += 1;
            self.start(at, self.planned as FlowId - 1);
        }
        if self
            .applications
            .as_ref()
            .and_then(|runtime| runtime.agenda.next_timer())
            .is_some_and(|timer| timer <= at)
        {
            self.tell(at, Due::Timers);
        }
    }

    /// Notifies an application that a flow has arrived, and by when its data will have been read.
    fn notified(&mut self, at: u64, id: FlowId) {
        let flow = self.world.flow(id);
        let Start::At(start) = flow.start else {
            unreachable!("applications start flows by the clock")
        };
        let reads = self.fluid_model[flow.transport as usize].reads;
        let read = start.0 + (flow.bytes as f64 / reads / PS) as u64;
        self.tell(at, Due::Received { flow: id, read: Time(read.max(at - self.world.latency())) });
    }

    /// Calls the applications, and adds the flows that they have started.
    fn tell(&mut self, at: u64, due: Due) {
        let Some(mut runtime) = self.applications.take() else { return };
        runtime.tell(at, due, &self.world.started);
        for flow in std::mem::take(&mut runtime.agenda.started) {
            if let Start::At(time) = self.world.flow(flow).start {
                self.waiting.push(Reverse((time.0, What::Start, flow)));
            }
        }
        if self.world.plan.run.until_done && runtime.agenda.all_done() {
            self.until = self.until.min((at + self.world.latency()) as f64 * PS);
        }
        self.applications = Some(runtime);
    }

    fn start(&mut self, at: u64, id: FlowId) {
        let flow = self.world.flow(id);
        if flow.src == flow.dst {
            return self.received(at, id);
        }
        if flow.stop != Flow::ENDLESS {
            if flow.stop.0 <= at {
                return;
            }
            self.waiting.push(Reverse((flow.stop.0, What::Stop, id)));
        }
        let fluid_model = &self.fluid_model[flow.transport as usize];
        self.found.started += 1;
        self.halves += fluid_model.halves as u64;
        self.found.halves = self.found.halves.max(self.halves);
        let of_application = id as usize >= self.world.plan.flows.len();
        if of_application && self.world.shape(flow).count <= CALL {
            return self.call(at, id);
        }
        if fluid_model.opens
            && flow.connection.is_none_or(|connection| self.connected.insert(connection))
        {
            let route = Route::of(self.world, flow);
            let (idle, path) = self.idle(id, route);
            self.found.packet_hops += (self.fluid_model[flow.transport as usize].control.0
                + self.fluid_model[flow.transport as usize].control.1)
                * path.len() as u64;
            self.waiting.push(Reverse((at + (2.0 * idle / PS) as u64, What::Ready, id)));
        } else {
            self.open(at, id);
        }
    }

    /// Returns the one-way time of a full frame in seconds, and the path.
    fn idle(
        &self,
        id: FlowId,
        Route { there: (via, hash), .. }: Route,
    ) -> (f64, Vec<(NodeId, u16)>) {
        let (world, flow) = (self.world, self.world.flow(id));
        let path = world.path_via(0, via, hash, flow.src, flow.dst);
        let full = world.shape(flow).full;
        let time = |&(node, port): &(NodeId, u16)| {
            world.delay(node, &world.ports.of(node)[port as usize])
                + world.first_bits(node, port, full)
        };
        let hosts =
            if world.plan.transports[flow.transport as usize].parameters().requirements().timing
                == HostTiming::Nic
            {
                0
            } else {
                self.hosts(flow, &path)
            };
        ((path.iter().map(time).sum::<u64>() + hosts) as f64 * PS, path)
    }

    /// Returns the mean wait of a frame in ps at the two hosts of a flow: for the hand-over to the
    /// NIC and for the interrupt.
    fn hosts(&self, flow: &Flow, path: &[(NodeId, u16)]) -> u64 {
        let waits = |host: u32, place: Option<&(NodeId, u16)>| {
            let rate = place
                .map(|&(node, port)| self.world.rate(&self.world.ports.of(node)[port as usize]).0);
            self.world
                .timing(host)
                .zip(rate)
                .map_or((0, 0), |(timing, rate)| timing.mean_waits(rate))
        };
        waits(flow.src, path.first()).0 + waits(flow.dst, path.last()).1
    }

    /// Handles a flow of a few frames, which uses no links in the model.
    fn call(&mut self, at: u64, id: FlowId) {
        let flow = self.world.flow(id);
        let fluid_model = self.fluid_model[flow.transport as usize].clone();
        let (idle, path) = self.idle(id, Route::of(self.world, flow));
        let (count, hops) = (self.world.shape(flow).count, path.len() as u64);
        let slowest = path
            .iter()
            .map(|&(node, port)| self.world.rate(&self.world.ports.of(node)[port as usize]).0)
            .min()
            .unwrap_or(1);
        let rest =
            (count - 1) as f64 * fluid_model.payload * fluid_model.forth * 8.0 / slowest as f64;
        let ways = if fluid_model.opens { 3.0 } else { 1.0 };
        self.found.packet_hops +=
            (count + fluid_model.acknowledgements(count as f64) as u64) * hops;
        self.found.visits += hops;
        self.found.paths += 1;
        self.found.packet_hops += (fluid_model.control.0 + fluid_model.control.1) * hops;
        self.found.bytes += flow.bytes;
        self.halves -= fluid_model.halves as u64;
        self.waiting.push(Reverse((at + ((ways * idle + rest) / PS) as u64, What::Received, id)));
    }

    /// Stops the sender of a flow that has not sent everything.
    fn stop(&mut self, at: u64, id: FlowId) {
        while let Some(place) =
            self.streams.iter().position(|stream| self.flows[stream.flow as usize].id == id)
        {
            self.end_stream(place, false);
            self.found.end = self.found.end.max(at as f64 * PS);
        }
    }

    /// Starts sending on the links of the flow's path.
    fn open(&mut self, at: u64, id: FlowId) {
        let (world, flow) = (self.world, self.world.flow(id));
        if flow.stop.0 <= at {
            // The flow stopped before its connection was open.
            self.found.end = self.found.end.max(flow.stop.0 as f64 * PS);
            return;
        }
        let fluid_model = self.fluid_model[flow.transport as usize].clone();
        let slot = self.free.pop().unwrap_or(self.flows.len() as u32);
        let mut running = Running {
            id,
            transport: flow.transport,
            left: flow.bytes as f64,
            one_way: 0.0,
            subflows: 0,
            ahead: 0.0,
        };
        let parameters = world.plan.transports[flow.transport as usize].parameters();
        let mut routes = parameters.routes(world, flow);
        // Other subflows join a round trip after the handshake of the first one. By then, a short
        // flow has sent so much that almost no data are left to copy.
        let joins_later = fluid_model.control.0 > 0 && flow.connection.is_none();
        if fluid_model.copies > 1.0
            && joins_later
            && flow.bytes as f64 <= SHORT * fluid_model.initial_window
        {
            routes.truncate(1);
        }
        for route in routes {
            let (one_way, path) = self.idle(id, route);
            let Some(&(_, nic)) = path.first() else { continue };
            let nic = world.rate(&world.ports.of(flow.src)[nic as usize]).0 as f64 / 8.0;
            let first = self.paths.len() as u32;
            self.links_of(flow, &path);
            if fluid_model.ordered && self.overtakes {
                self.found.unknowns = self.found.unknowns.or(Some(Unknowns::Overtaking));
            }
            let links = self.paths.len() as u32 - first;
            let round_trip = 2.0 * one_way;
            let slow = fluid_model.initial_window.is_finite();
            // The initial window leaves at once, and the next one a round trip later. The fluid
            // model starts halfway between these steps, which is half a doubling ahead.
            let (ahead, window) = if slow {
                (
                    (SQRT_2 - 1.0) * fluid_model.initial_window.min(fluid_model.window),
                    SQRT_2 * fluid_model.initial_window,
                )
            } else {
                // A flow that starts at the rate of its NIC has as many outstanding bytes as this
                // rate requires.
                (0.0, nic * round_trip * 4.0)
            };
            let (sent, window) = (ahead.min(running.left), window.min(fluid_model.window));
            if fluid_model.copies > 1.0 {
                running.ahead = running.ahead.max(sent);
            } else {
                running.left -= sent;
            }
            self.demands.push(Demand {
                first,
                links,
                forth: fluid_model.forth,
                back: fluid_model.back,
                ..Demand::default()
            });
            let since = self.now.max(at as f64 * PS);
            let paced = if self.follows { parameters.pace(nic) } else { None };
            self.streams.push(Stream {
                flow: slot,
                sent,
                window,
                slow,
                before: window,
                cut: None,
                round_trip,
                queued: 0.0,
                hops: path.len() as u32,
                since,
                lost: 0.0,
                most: 0.0,
                paced,
            });
            running.one_way = running.one_way.max(one_way);
            running.subflows += 1;
        }
        running.left -= std::mem::take(&mut running.ahead);
        if fluid_model.copies > 1.0
            || running.subflows > 1
                && fluid_model.overtakes
                && self.waits_for_a_slow_one(slot, fluid_model.window)
        {
            self.found.unknowns = self.found.unknowns.or(Some(Unknowns::Copies));
        }
        match self.flows.get_mut(slot as usize) {
            Some(place) => *place = running,
            None => self.flows.push(running),
        }
        self.first.get_or_insert(at as f64 * PS);
        let soon = (at as f64 * PS).max(self.now + self.least_step());
        self.tick = Some(self.tick.map_or(soon, |tick| tick.min(soon)));
    }

    /// True if a full receive window can wait for the slower subflows of a flow, so that the faster
    /// ones retransmit their oldest segment. The round trip of the slower subflow must be more than
    /// four times that of the faster one (without queues), and the window must be small.
    fn waits_for_a_slow_one(&self, slot: u32, window: f64) -> bool {
        let round_trips = || {
            self.streams
                .iter()
                .rev()
                .take_while(|stream| stream.flow == slot)
                .map(|stream| stream.round_trip)
        };
        let (least, most) = round_trips()
            .fold((f64::INFINITY, 0.0f64), |(least, most), time| (least.min(time), most.max(time)));
        let nic = self
            .demands
            .last()
            .map_or(0.0, |demand| self.links.capacity[self.paths[demand.first as usize] as usize]);
        most > SLOW_PATH * least && window < 2.0 * nic * most
    }

    /// Adds the links of a path. If switches spread frames, two bundles replace the links between
    /// the racks.
    fn links_of(&mut self, flow: &Flow, path: &[(NodeId, u16)]) {
        let (world, plan) = (self.world, self.world.plan);
        let directed = 2 * plan.topology.links.len();
        let hash = plan.transports[flow.transport as usize].parameters().requirements().hash;
        let recycles = matches!(hash, Hash::PerFrame(_));
        let spreads = |node: NodeId| {
            let spec = &plan.topology.nodes[node as usize];
            spec.kind == NodeKind::Switch
                && (recycles || !plan.switches[spec.config as usize].balance.about().hashes)
        };
        let mut spread = false;
        for &(node, port) in path {
            let info = world.ports.of(node)[port as usize];
            let direct = 2 * info.link + u32::from(info.reverse);
            if info.peer == flow.dst || node == flow.src {
                self.paths.push(direct);
            } else if spreads(node)
                && matches!(world.routes(0).next_hops(node, flow.dst), NextHops::Many(_))
            {
                if !spread {
                    self.paths.push((directed + 2 * node as usize) as u32);
                }
                spread = true;
                self.spreads = true;
                self.overtakes |= plan.switches[plan.topology.nodes[node as usize].config as usize]
                    .balance
                    .about()
                    .overtakes;
            } else if !spread {
                self.paths.push(direct);
            } else if world.routes(0).anchor(world.routes(0).rack_of(flow.dst)) == info.peer {
                self.paths.push((directed + 2 * info.peer as usize + 1) as u32);
            }
        }
    }

    /// Returns the minimum time in seconds from one tick to the next.
    fn least_step(&self) -> f64 {
        let passed = self.now - self.first.unwrap_or(self.now);
        let of_passed = if self.work > WORK { COARSE_STEP * passed } else { LEAST_STEP * passed };
        let left = self.until - self.now;
        if left > 1e5 {
            return of_passed.max(1e-9);
        }
        let steps =
            WORK.saturating_sub(self.work) as f64 / (24.0 * self.demands.len() as f64 + 1.0);
        (left / steps.clamp(20.0, 5_000.0)).max(1e-9)
    }

    /// Lets all active flows send at their rates until `to`, and ends those that have sent
    /// everything.
    fn advance(&mut self, to: f64) {
        let step = to - self.now;
        if step <= 0.0 {
            return;
        }
        self.work += self.streams.len() as u64;
        self.found.sending += self.streams.len() as f64 * step;
        for (stream, demand) in self.streams.iter_mut().zip(&self.demands) {
            let flow = &mut self.flows[stream.flow as usize];
            let fluid_model = &self.fluid_model[flow.transport as usize];
            let rate = if fluid_model.yields { demand.rate } else { demand.most };
            let moved = (rate * step).min(flow.left);
            if fluid_model.copies > 1.0 {
                flow.ahead = flow.ahead.max(moved);
            } else {
                flow.left -= moved;
            }
            stream.sent += moved;
            if stream.slow {
                stream.window += moved;
            } else if demand.limit.is_none() {
                stream.window += step
                    * fluid_model.growth.per_second(
                        fluid_model.payload,
                        stream.round_trip + stream.queued,
                        stream.before,
                    );
            }
            stream.window = stream.window.min(fluid_model.window);
            let path = &self.paths[demand.first as usize..(demand.first + demand.links) as usize];
            if demand.limit.is_some() {
                self.limited += step;
                self.alone += moved * fluid_model.forth / self.links.capacity[path[0] as usize];
            }
            if let Some(paced) = &mut stream.paced {
                let met = |link: &u32| {
                    let pile = self.piles.get(link)?;
                    Some((
                        pile.queue.marks(pile.bytes),
                        pile.bytes / self.links.capacity[*link as usize],
                    ))
                };
                let (chance, queued) = path
                    .iter()
                    .filter_map(met)
                    .fold((0.0f64, 0.0), |(a, b), (chance, queued)| (a.max(chance), b + queued));
                stream.queued = queued;
                paced.advance(to, moved, chance);
            }
            if rate > demand.rate {
                // The lost bytes do not use the links from the limiting one on.
                let passed = path.iter().position(|link| Some(*link) == demand.limit).unwrap_or(0);
                stream.lost += moved
                    * (1.0 - demand.rate / rate)
                    * (stream.hops as usize).saturating_sub(passed) as f64;
            }
        }
        // The fastest of the subflows with the same data determines the progress of the flow. The
        // others skip acknowledged segments.
        for stream in &self.streams {
            let flow = &mut self.flows[stream.flow as usize];
            flow.left -= std::mem::take(&mut flow.ahead).min(flow.left);
        }
        self.piles.retain(|_, pile| {
            // Bytes beyond the limit of the queue do not arrive, because they are paused or
            // dropped.
            pile.bytes = (pile.bytes + pile.change * step).clamp(0.0, pile.queue.limit);
            pile.bytes > 0.0 || pile.change > 0.0
        });
        self.now = to;
        let mut place = 0;
        while place < self.streams.len() {
            let slot = self.streams[place].flow;
            if self.flows[slot as usize].left >= 0.5 {
                place += 1;
                continue;
            }
            self.end_stream(place, true);
        }
        if self.paths.len()
            > 1_000 + 2 * self.demands.iter().map(|demand| demand.links as usize).sum::<usize>()
        {
            self.compact();
        }
        if self.streams.is_empty() {
            self.tick = None;
        }
    }

    /// Removes a stream. If it is the last one of its flow, the flow ends.
    fn end_stream(&mut self, place: usize, whole: bool) {
        let (stream, demand) = (self.streams.swap_remove(place), self.demands.swap_remove(place));
        let flow = &mut self.flows[stream.flow as usize];
        flow.subflows -= 1;
        let (id, one_way, over) = (flow.id, flow.one_way, flow.subflows == 0);
        let (spec, fluid_model) = (
            self.world.flow(id),
            &self.fluid_model[self.flows[stream.flow as usize].transport as usize],
        );
        let alone = fluid_model.subflows == 1;
        // Data in flight at the end of the run have not passed all links. On average, data are
        // there half a path later, and acknowledgements one and a half.
        let rate =
            if whole { stream.sent / (self.now - stream.since).max(PS) } else { demand.rate };
        let behind = |lag: f64, time: f64| {
            (rate * (self.now + lag * time - self.until).max(0.0)).min(stream.sent)
        };
        let late = |lag: f64| behind(lag, one_way + stream.queued);
        self.standing += (late(0.5) - behind(0.5, one_way) + late(1.5) - behind(1.5, one_way))
            / fluid_model.payload
            * f64::from(stream.hops);
        let all = if whole && alone {
            self.world.shape(spec).count as f64
        } else {
            stream.sent / fluid_model.payload
        };
        let frames = (all - late(0.5) / fluid_model.payload).max(0.0);
        let answers =
            fluid_model.acknowledgements((all - late(1.5) / fluid_model.payload).max(0.0));
        let answers = answers + (self.now - stream.since) / fluid_model.reports;
        let lost = (stream.lost / fluid_model.payload) as u64;
        self.found.packet_hops += ((frames + answers) * f64::from(stream.hops)).round() as u64;
        self.found.packet_hops = self.found.packet_hops.saturating_sub(lost);
        self.found.visits += u64::from(stream.hops);
        self.found.paths += self.spread_over(id);
        if !self.captured.is_empty() {
            let path = demand.first as usize..(demand.first + demand.links) as usize;
            for &link in
                self.paths[path].iter().filter(|link| (**link as usize) < self.captured.len())
            {
                self.found.captured +=
                    if self.captured[link as usize] { frames.ceil() as u64 } else { 0 };
                self.found.captured +=
                    if self.captured[link as usize ^ 1] { answers.ceil() as u64 } else { 0 };
            }
        }
        if !over {
            return;
        }
        self.halves -= self.fluid_model[spec.transport as usize].halves as u64;
        self.free.push(stream.flow);
        let left = self.flows[stream.flow as usize].left;
        self.found.bytes += if whole { spec.bytes } else { (spec.bytes as f64 - left) as u64 };
        if whole {
            self.waiting.push(Reverse((((self.now + one_way) / PS) as u64, What::Received, id)));
            let answered = if self.world.shape(spec).ack.is_some() { 2.0 } else { 1.0 };
            self.found.end = self.found.end.max(self.now + answered * one_way);
        }
    }

    /// Returns the number of paths that the frames of a flow (or subflow) take.
    fn spread_over(&self, id: FlowId) -> u64 {
        let flow = self.world.flow(id);
        if !self.spreads || !self.world.plan.record.paths {
            return 1;
        }
        let routes = self.world.routes(0);
        let tor = routes.anchor(routes.rack_of(flow.src));
        let choices =
            |node: NodeId| routes.next_hops(node, flow.dst).as_slice().len().max(1) as u64;
        let above = self
            .world
            .ports
            .of(tor)
            .iter()
            .map(|port| port.peer)
            .find(|peer| self.world.plan.topology.nodes[*peer as usize].tier > 1);
        (choices(tor) * above.map_or(1, choices)).min(self.world.shape(flow).count)
    }

    /// Ends all streams at the end of the run.
    fn cut(&mut self) {
        while !self.streams.is_empty() {
            self.end_stream(0, false);
        }
        if self.standing > LARGE * self.found.packet_hops as f64 {
            self.found.unknowns = self.found.unknowns.or(Some(Unknowns::Queues));
        }
    }

    fn received(&mut self, at: u64, id: FlowId) {
        let flow = self.world.flow(id);
        self.found.end = self.found.end.max(at as f64 * PS);
        if let Some((left, starts)) = flow.group.and_then(|group| self.groups.get_mut(&group)) {
            *left -= 1;
            if *left == 0 {
                for next in std::mem::take(starts) {
                    if let Start::After { delay, .. } = self.world.flow(next).start {
                        self.waiting.push(Reverse((at + delay.0, What::Start, next)));
                    }
                }
            }
        }
        if id as usize >= self.world.plan.flows.len() {
            self.waiting.push(Reverse((at + self.world.latency(), What::Heard, id)));
        }
    }

    fn compact(&mut self) {
        let old = std::mem::take(&mut self.paths);
        for demand in &mut self.demands {
            let first = self.paths.len() as u32;
            self.paths.extend_from_slice(
                &old[demand.first as usize..(demand.first + demand.links) as usize],
            );
            demand.first = first;
        }
    }

    /// Sets the rates from now on, and the next tick.
    fn share(&mut self) {
        let least = self.least_step();
        let next = self.next_event().map_or(f64::INFINITY, |at| at as f64 * PS);
        let growing = self
            .streams
            .iter()
            .filter(|stream| stream.slow)
            .map(|stream| stream.round_trip)
            .fold(f64::INFINITY, f64::min);
        let longest = (next - self.now).min(growing).min(self.patience()).max(least);
        for (stream, demand) in self.streams.iter_mut().zip(&mut self.demands) {
            let flow = &self.flows[stream.flow as usize];
            let fluid_model = &self.fluid_model[flow.transport as usize];
            let by_window = if stream.slow {
                // The window doubles every round trip.
                let doublings = longest / stream.round_trip;
                stream.window * (libm::exp2(doublings.min(40.0)) - 1.0) / longest
            } else {
                stream.window / stream.round_trip
            };
            let nic =
                self.links.capacity[self.paths[demand.first as usize] as usize] / fluid_model.forth;
            let paced = stream
                .paced
                .as_mut()
                .map_or(f64::INFINITY, |paced| paced.rate(self.now) / fluid_model.forth);
            demand.most =
                by_window.min(fluid_model.rate).min(flow.left / least).min(nic).min(paced);
        }
        self.work +=
            self.links.share(&mut self.demands, &self.paths) + 4 * self.streams.len() as u64;
        for (stream, demand) in self.streams.iter().zip(&mut self.demands) {
            let nic = self.paths[demand.first as usize];
            if demand.limit.is_some_and(|link| link != nic) {
                demand.rate *= self.fluid_model
                    [self.flows[stream.flow as usize].transport as usize]
                    .efficiency;
            }
        }
        self.look();
        let ends = self.streams.iter().zip(&self.demands).map(|(stream, demand)| {
            let flow = &self.flows[stream.flow as usize];
            let rate = if self.fluid_model[flow.transport as usize].yields {
                demand.rate
            } else {
                demand.most
            };
            flow.left / rate.max(1e-9)
        });
        let first_end = ends.fold(f64::INFINITY, f64::min);
        self.tick = Some(self.now + first_end.clamp(least, longest.max(least)));
    }

    /// Returns the longest time in seconds for which rates may stay constant, considering the flows
    /// that react to queues.
    fn patience(&self) -> f64 {
        self.streams
            .iter()
            .filter_map(|stream| stream.paced.as_ref())
            .map(|paced| paced.patience())
            .fold(f64::INFINITY, f64::min)
    }

    /// Updates windows and queues according to the rates.
    fn look(&mut self) {
        let directed = 2 * self.world.plan.topology.links.len() as u32;
        // State of each link from a switch that limits flows. The first links of paths are not
        // included.
        let mut limiting: FxHashMap<u32, Limiting> = FxHashMap::default();
        for (stream, demand) in self.streams.iter().zip(&self.demands) {
            let Some(link) = demand.limit.filter(|link| *link != self.paths[demand.first as usize])
            else {
                continue;
            };
            let flow = &self.flows[stream.flow as usize];
            let fluid_model = &self.fluid_model[flow.transport as usize];
            let entry = limiting
                .entry(link)
                .or_insert_with(|| Limiting::of(self.world.flow(flow.id).priority));
            entry.flows += 1.0;
            // With fewer than four frames in flight, three duplicate acknowledgements never
            // indicate a loss.
            entry.least +=
                (if fluid_model.marked { 2.0 } else { 4.0 } * fluid_model.payload).min(flow.left);
            // A window has grown by at most the bytes sent, and the bytes that wait cannot exceed
            // those left to send.
            entry.sent += (stream.sent + fluid_model.initial_window).min(flow.left);
            entry.early += match (fluid_model.early, stream.cut) {
                (Some(early), None) => {
                    let path = demand.rate * stream.round_trip;
                    (early.times * (path + early.burst) + early.grows * stream.sent - path).max(0.0)
                }
                _ => f64::INFINITY,
            };
            entry.round_trip = entry.round_trip.max(stream.round_trip);
            entry.marked &= fluid_model.marked;
            entry.erratic |= fluid_model.erratic;
            let follows = !fluid_model.yields || stream.paced.is_some();
            entry.excess +=
                if follows { (demand.most - demand.rate) * fluid_model.forth } else { 0.0 };
            if self.now - stream.since <= stream.round_trip && !fluid_model.granted {
                entry.burst += stream.window.min(flow.left);
            }
        }
        for (link, pile) in &mut self.piles {
            pile.change = -self.links.spare(*link);
        }
        let (mut outstanding, mut rings) = (0.0, 0);
        for (&link, limiting) in &mut limiting {
            if link >= directed {
                continue;
            }
            let spec = &self.world.plan.topology.links[link as usize / 2];
            let (from, to) = if link % 2 == 0 { (spec.a, spec.b) } else { (spec.b, spec.a) };
            if self.world.plan.topology.nodes[from as usize].kind == NodeKind::Host {
                continue;
            }
            let queue = Queue::of(self.world, from, limiting.priority);
            let most = queue.standing(limiting.marked);
            let standing = most.min(limiting.sent).min(limiting.early);
            limiting.cuts = limiting.early >= most;
            limiting.standing = standing / limiting.flows;
            if limiting.excess > 0.0 {
                self.piles.entry(link).or_insert(Pile { bytes: 0.0, change: 0.0, queue }).change =
                    limiting.excess;
            }
            let room = queue.limit + self.links.capacity[link as usize] * limiting.round_trip;
            let full = self.piles.get(&link).is_some_and(|pile| pile.bytes >= queue.limit);
            let lost = limiting.least > room || limiting.burst > room || full;
            let unknowns = if lost && !queue.lossless {
                Some(Unknowns::Losses { from, to })
            } else {
                limiting.erratic.then_some(Unknowns::Rates)
            };
            self.found.unknowns = self.found.unknowns.or(unknowns);
        }
        for (stream, demand) in self.streams.iter_mut().zip(&self.demands) {
            let flow = &self.flows[stream.flow as usize];
            let fluid_model = &self.fluid_model[flow.transport as usize];
            let adapts = fluid_model.yields && fluid_model.growth != IncreaseRule::AtOnce;
            let limiting = demand.limit.and_then(|link| Some((link, limiting.get(&link)?)));
            let waiting = match limiting {
                Some((_, limiting)) => limiting.standing,
                None if adapts && !fluid_model.small_queues => stream.window.min(flow.left),
                None => 0.0,
            };
            let frames = (waiting + demand.rate * stream.round_trip) / fluid_model.payload;
            stream.most = stream.most.max(frames);
            outstanding += frames;
            if fluid_model.remembers {
                rings += (stream.most as u64 + 1).next_power_of_two().max(16);
            }
            match limiting {
                Some((link, limiting)) if adapts => {
                    stream.slow = false;
                    stream.queued =
                        limiting.standing * limiting.flows / self.links.capacity[link as usize];
                    let Decrease { part, fades } = fluid_model.cut;
                    let period = stream.round_trip + stream.queued;
                    let part = match stream.cut {
                        None if !limiting.cuts => 0.0,
                        None => part,
                        Some((first, last)) if fades > 0.0 && self.now - last >= period => {
                            part * libm::exp(-fades * (self.now - first) / period)
                        }
                        Some(_) => 0.0,
                    };
                    let full = demand.rate * stream.round_trip + limiting.standing;
                    if part > LEAST_CUT {
                        stream.cut = Some((stream.cut.map_or(self.now, |cut| cut.0), self.now));
                        stream.before = full;
                    }
                    stream.window = ((1.0 - part) * full).min(fluid_model.window);
                }
                _ => {}
            }
        }
        self.found.outstanding = self.found.outstanding.max(outstanding as u64);
        self.found.rings = self.found.rings.max(rings);
    }
}

/// State of the flows that a link limits. Units are bytes and seconds.
#[derive(Debug, Clone, Copy)]
struct Limiting {
    priority: u8,
    flows: f64,
    /// Minimum windows of the flows (`least`), and windows with which they start (`burst`).
    least: f64,
    burst: f64,
    sent: f64,
    /// Waiting bytes of flows that leave slow start without a loss or mark (`early`). `cuts` is
    /// true if the queue becomes long enough to make flows cut their windows.
    early: f64,
    cuts: bool,
    /// Rate in bytes per second beyond the capacity of the link.
    excess: f64,
    round_trip: f64,
    marked: bool,
    erratic: bool,
    /// Waiting bytes of each flow.
    standing: f64,
}

impl Limiting {
    fn of(priority: u8) -> Self {
        Limiting {
            priority,
            flows: 0.0,
            least: 0.0,
            burst: 0.0,
            sent: 0.0,
            early: 0.0,
            cuts: true,
            excess: 0.0,
            round_trip: 0.0,
            marked: true,
            erratic: false,
            standing: 0.0,
        }
    }
}
