//! Guests in the engines: hosts outside the network whose clock follows the simulation.
//!
//! All frames that arrive at a host in a window left other nodes before it, so they are known at its
//! start. Both engines first handle these arrivals, then let the guests of the worker run through
//! the window in parallel, and then handle the remaining events of the window, among them the
//! entries of the packets that the guests have sent. Guests and simulated hosts share all queues.

use super::packet::{Guests, Outsiders, Packet, carrier, frame_of};
use crate::frame::Event;
use crate::shard::{CardPause, Departure, Entering, Outlet, Outside, Paths, Shard};
use crate::spec::FlowId;
use crate::world::World;
use afflux_engine::random::mix;
use afflux_units::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Upper bound on the number of flows that carry the packets of guests, and on those of one pair of
/// hosts. Balancers with flow tables cannot distinguish more.
const MOST_FLOWS: usize = 1 << 16;
const MOST_OF_PAIR: usize = 64;

/// Flows that carry the packets of guests: some for each ordered pair of guests. The first flows of a
/// pair have one each. All others share the last quarter.
pub struct Carriers {
    transport: u16,
    first: FlowId,
    /// Index of each host among the guests.
    index: Vec<Option<u32>>,
    guests: usize,
    /// Flows of one pair.
    of_pair: usize,
    paths: Paths,
}

impl Carriers {
    pub fn new(world: &World, hosts: &[(u32, u16)], transport: u16) -> Carriers {
        let mut index = vec![None; world.plan.topology.hosts as usize];
        (0..).zip(hosts).for_each(|(place, &(host, _))| index[host as usize] = Some(place));
        let of_pair = (MOST_FLOWS / (hosts.len() * hosts.len())).clamp(1, MOST_OF_PAIR);
        let first = world.plan.flows.len() as FlowId + world.started.count() as FlowId;
        for &(src, class) in hosts {
            for &(dst, _) in hosts {
                for _ in 0..of_pair {
                    world.started.push(carrier(src, dst, transport, class, 0), Time::ZERO, 0);
                }
            }
        }
        let paths = Paths::default();
        Carriers { transport, first, index, guests: hosts.len(), of_pair, paths }
    }

    /// Returns the number of the pair of hosts of a packet; `None` if its destination is no guest.
    fn pair(&self, packet: &Packet) -> Option<usize> {
        let place = |host: u32| self.index.get(host as usize).copied().flatten();
        Some(place(packet.host)? as usize * self.guests + place(packet.dst)? as usize)
    }

    /// Number of carriers of a pair that serve one flow only.
    fn own(&self) -> usize {
        self.of_pair - self.of_pair.div_ceil(4)
    }
}

/// Use of the carriers of one worker's guests.
#[derive(Default)]
struct Uses {
    /// Carrier of each flow that has one of its own, by pair and ends.
    own: FxHashMap<(usize, (u64, u64)), FlowId>,
    /// Number of carriers in use that serve one flow only, by pair.
    taken: FxHashMap<usize, usize>,
    /// Ends of the flow that uses a carrier; `None` if several use it.
    by: BTreeMap<FlowId, Option<(u64, u64)>>,
}

impl Uses {
    /// Returns the flow that carries a packet; `None` if its destination is no guest.
    fn flow(&mut self, carriers: &Carriers, packet: &Packet) -> Option<FlowId> {
        let (pair, ends) = (carriers.pair(packet)?, packet.ends);
        if let Some(&flow) = self.own.get(&(pair, ends)) {
            return Some(flow);
        }
        let number = |within: usize| carriers.first + (pair * carriers.of_pair + within) as FlowId;
        let taken = self.taken.entry(pair).or_default();
        if *taken < carriers.own() {
            let flow = number(*taken);
            *taken += 1;
            self.own.insert((pair, ends), flow);
            self.by.insert(flow, Some(ends));
            return Some(flow);
        }
        let shared = carriers.of_pair - carriers.own();
        let within = (mix(mix(ends.0) ^ ends.1) % shared as u64) as usize;
        let flow = number(carriers.own() + within);
        let by = self.by.entry(flow).or_insert(Some(ends));
        *by = by.filter(|known| *known == ends);
        Some(flow)
    }
}

/// The guests of one worker.
pub struct Door<'c, 'g> {
    guests: Box<dyn Guests + 'g>,
    carriers: &'c Carriers,
    /// By local node: true for guests.
    pub at: Vec<bool>,
    /// Local nodes of the guests, ascending.
    pub nodes: Vec<u32>,
    uses: Uses,
    /// Number of packets so far, by flow.
    numbers: Vec<u32>,
    alive: i64,
    arrived: Vec<Departure>,
    paused: Vec<CardPause>,
    sent: Vec<(u64, Packet)>,
}

impl<'c, 'g> Door<'c, 'g> {
    /// Returns the door of `shard`, and lets the shard know of its guests.
    pub fn new(shard: &mut Shard, outsiders: &mut Outsiders<'g>, carriers: &'c Carriers) -> Self {
        let place = |host: &u32| shard.world.place[*host as usize];
        let of_shard = |host: &u32| place(host).shard == shard.index;
        let hosts = outsiders.hosts.iter().map(|(host, _)| *host);
        let hosts: Vec<u32> = hosts.filter(of_shard).collect();
        let mut nodes: Vec<u32> = hosts.iter().map(|host| place(host).local).collect();
        nodes.sort_unstable();
        let mut at = vec![false; shard.nodes.len()];
        nodes.iter().for_each(|&node| at[node as usize] = true);
        shard.outside = Some(Box::new(Outside {
            transport: carriers.transport,
            contents: Some(outsiders.contents.clone()),
            paths: carriers.paths.clone(),
            ..Outside::default()
        }));
        let guests = (outsiders.guests)(&hosts);
        Door {
            alive: guests.alive(),
            guests,
            carriers,
            at,
            nodes,
            uses: Uses::default(),
            numbers: vec![0; carriers.guests * carriers.guests * carriers.of_pair],
            arrived: Vec::new(),
            paused: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Returns the number of guests that can still act.
    pub fn alive(&self) -> i64 {
        self.alive
    }

    /// Returns the time in ps at which a guest next acts without a packet arriving.
    pub fn due(&mut self) -> u64 {
        self.guests.due()
    }

    /// Lets the guests run through the window that ends before `end`. The arrivals of the window
    /// have been handled. Returns by how much the number of live guests changes.
    pub fn run(&mut self, shard: &mut Shard, end: u64) -> i64 {
        let outside = shard.outside.as_mut().expect("set at the beginning");
        std::mem::swap(&mut self.arrived, &mut outside.arrived);
        std::mem::swap(&mut self.paused, &mut outside.paused);
        if !outside.lost.is_empty() {
            self.guests.lost(&mut outside.lost);
        }
        self.guests.run(&mut self.arrived, &mut self.paused, end, &mut self.sent);
        self.arrived.clear();
        self.paused.clear();
        for (at, packet) in self.sent.drain(..) {
            debug_assert!(at < end, "within the window");
            let Some(flow) = self.uses.flow(self.carriers, &packet) else {
                outside.lost.push(packet.token);
                continue;
            };
            let number = &mut self.numbers[(flow - self.carriers.first) as usize];
            let frame = frame_of(shard.world, at, &packet, *number);
            *number = number.wrapping_add(1);
            let Packet { host, nic, .. } = packet;
            let node = shard.world.place[host as usize].local;
            let entering = Entering { at, host, nic, flow, frame };
            outside.entering.entry(node).or_default().push_back(entering);
        }
        if self.guests.failed() {
            shard.world.stop_by(end + shard.world.settling);
        }
        let before = std::mem::replace(&mut self.alive, self.guests.alive());
        shard.live += self.alive - before;
        self.alive - before
    }

    /// Ends the guests' part of the run. Hands over the last dropped packets, and leaves to the shard
    /// which flows its carriers had.
    pub fn close(mut self, shard: &mut Shard) {
        let outside = shard.outside.as_mut().expect("set at the beginning");
        self.guests.lost(&mut outside.lost);
        outside.carried = self.uses.by.into_iter().collect();
    }

    /// Schedules the entries of the packets that the guest at `node` sends in this window.
    pub fn file<O: Outlet>(shard: &Shard, out: &mut O, node: u32) {
        let event = shard.event(node, 0, Event::Release);
        let entering = &shard.outside.as_ref().expect("set at the beginning").entering;
        let mut latest = None;
        for at in entering.get(&node).into_iter().flatten().map(|entering| entering.at) {
            // One event lets all packets of its instant enter.
            if latest.replace(at) != Some(at) {
                out.event(at, event);
            }
        }
    }

    /// Returns whether the guest at `node` sends packets in this window.
    pub fn sends(shard: &Shard, node: u32) -> bool {
        let outside = shard.outside.as_ref().expect("set at the beginning");
        outside.entering.get(&node).is_some_and(|entering| !entering.is_empty())
    }
}
