//! Fluid model of a plan: computes the rates that links give to flows, without frames, when flows
//! end, and how far they come by the end of the run.
//!
//! Rates are constant between two ticks. A tick follows each event, but not sooner than a minimum
//! step after the previous tick. The minimum step grows with the number of flows, which bounds the
//! work. Small flows of applications (calls, heartbeats) do not use links in this model: they end
//! after the time that they take in an idle network.

mod begin;
mod progress;
mod rates;

use super::fluid_model::{FluidModel, Pace};
use super::queues::Queue;
use super::share::{Demand, Links};
use super::{Expected, Unknowns};
use crate::app::{Due, Runtime};
use crate::idle::Route;
use crate::spec::*;
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
    /// Bytes of the initial window that leave before the window begins to grow.
    ahead: f64,
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
    models: Vec<FluidModel>,
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

fn seconds(ps: u64) -> f64 {
    ps as f64 * PS
}

/// Returns the capacities in bytes per second of the links' directions, and of two bundles for each
/// node: all links up from it, with those to nodes of its own tier, and all links down to it.
fn capacities(topology: &Topology) -> Vec<f64> {
    let directed = 2 * topology.links.len();
    let mut capacity: Vec<f64> = topology
        .links
        .iter()
        .flat_map(|link| [false, true].map(|back| link.rate_of(back).0 as f64 / 8.0))
        .collect();
    let tier = |node: NodeId| topology.nodes[node as usize].tier;
    capacity.resize(directed + 2 * topology.nodes.len(), 0.0);
    for link in &topology.links {
        let (low, high) =
            if tier(link.a) <= tier(link.b) { (link.a, link.b) } else { (link.b, link.a) };
        if tier(low) == tier(high) {
            for (node, back) in [(link.a, false), (link.b, true)] {
                capacity[directed + 2 * node as usize] += link.rate_of(back).0 as f64 / 8.0;
            }
        } else {
            // The direction up from `low` is from `a` if `low` is `a`.
            for bundle in [0, 1] {
                capacity[directed + 2 * low as usize + bundle] +=
                    link.rate_of((bundle == 1) == (link.a == low)).0 as f64 / 8.0;
            }
        }
    }
    capacity
}

impl<'w, 'p> Fluid<'w, 'p> {
    /// With `follows`, the model follows the rates of congestion controls that react to queues.
    /// Otherwise it shares links as if these controls used the full capacity.
    pub fn new(world: &'w World<'p>, follows: bool) -> Self {
        let plan = world.plan;
        let directed = 2 * plan.topology.links.len();
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
        let mut found = Expected { complete: true, ..Expected::default() };
        let until = world.until();
        if plan.topology.links.iter().any(|link| link.is_faulty(until)) {
            found.note(Unknowns::Faults);
        }
        Fluid {
            world,
            follows,
            models: FluidModel::all(world),
            links: Links::new(capacities(&plan.topology), directed),
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
            until: seconds(until),
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
            found,
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
            let (event, tick) =
                (next.map_or(f64::INFINITY, seconds), self.tick.unwrap_or(f64::INFINITY));
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

    /// Files an event at a time in ps.
    fn file(&mut self, at: u64, what: What, flow: FlowId) {
        self.waiting.push(Reverse((at, what, flow)));
    }

    /// Lets the run last at least until `to`.
    fn last_until(&mut self, to: f64) {
        self.found.end = self.found.end.max(to);
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
        let reads = self.models[flow.transport as usize].reads;
        let read = start.0 + (flow.bytes as f64 / reads / PS) as u64;
        self.tell(at, Due::Received { flow: id, read: Time(read.max(at - self.world.latency())) });
    }

    /// Calls the applications, and adds the flows that they have started.
    fn tell(&mut self, at: u64, due: Due) {
        let Some(mut runtime) = self.applications.take() else { return };
        runtime.tell(at, due, &self.world.started);
        for flow in std::mem::take(&mut runtime.agenda.started) {
            if let Start::At(time) = self.world.flow(flow).start {
                self.file(time.0, What::Start, flow);
            }
        }
        if self.world.plan.run.until_done && runtime.agenda.all_done() {
            self.until = self.until.min(seconds(at + self.world.latency()));
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
            self.file(flow.stop.0, What::Stop, id);
        }
        let model = &self.models[flow.transport as usize];
        self.found.started += 1;
        self.halves += model.halves as u64;
        self.found.halves = self.found.halves.max(self.halves);
        let of_application = id as usize >= self.world.plan.flows.len();
        if of_application && self.world.shape(flow).count <= CALL {
            return self.call(at, id);
        }
        if model.opens && flow.connection.is_none_or(|connection| self.connected.insert(connection))
        {
            let (to, from) = model.control;
            let (idle, path) = self.idle(id, Route::of(self.world, flow));
            self.found.packet_hops += (to + from) * path.len() as u64;
            self.file(at + (2.0 * idle / PS) as u64, What::Ready, id);
        } else {
            self.open(at, id);
        }
    }

    /// Stops the sender of a flow that has not sent everything.
    fn stop(&mut self, at: u64, id: FlowId) {
        while let Some(place) =
            self.streams.iter().position(|stream| self.flows[stream.flow as usize].id == id)
        {
            self.end_stream(place, false);
            self.last_until(seconds(at));
        }
    }

    fn received(&mut self, at: u64, id: FlowId) {
        let flow = self.world.flow(id);
        self.last_until(seconds(at));
        if let Some((left, starts)) = flow.group.and_then(|group| self.groups.get_mut(&group)) {
            *left -= 1;
            if *left == 0 {
                for next in std::mem::take(starts) {
                    if let Start::After { delay, .. } = self.world.flow(next).start {
                        self.file(at + delay.0, What::Start, next);
                    }
                }
            }
        }
        if id as usize >= self.world.plan.flows.len() {
            self.file(at + self.world.latency(), What::Heard, id);
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
}
