//! Starts flows of the fluid model: their paths, windows, and connections.

use super::{Fluid, PS, Running, SHORT, SLOW_PATH, SQRT_2, Stream, What, seconds};
use crate::expected::share::Demand;
use crate::expected::{FluidModel, Unknowns};
use crate::idle::Route;
use crate::routing::NextHops;
use crate::spec::{Flow, FlowId, NodeId, NodeKind};
use crate::transport::requirements::{Hash, HostTiming};

impl Fluid<'_, '_> {
    /// Returns the one-way time of a full frame in seconds, and the path.
    pub(super) fn idle(
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
    pub(super) fn call(&mut self, at: u64, id: FlowId) {
        let flow = self.world.flow(id);
        let model = self.models[flow.transport as usize].clone();
        let (idle, path) = self.idle(id, Route::of(self.world, flow));
        let (count, hops) = (self.world.shape(flow).count, path.len() as u64);
        let slowest = path
            .iter()
            .map(|&(node, port)| self.world.rate(&self.world.ports.of(node)[port as usize]).0)
            .min()
            .unwrap_or(1);
        let rest = (count - 1) as f64 * model.payload * model.forth * 8.0 / slowest as f64;
        let ways = if model.opens { 3.0 } else { 1.0 };
        self.found.packet_hops += (count + model.acknowledgements(count as f64) as u64) * hops;
        self.found.visits += hops;
        self.found.paths += 1;
        self.found.packet_hops += (model.control.0 + model.control.1) * hops;
        self.found.bytes += flow.bytes;
        self.halves -= model.halves as u64;
        self.file(at + ((ways * idle + rest) / PS) as u64, What::Received, id);
    }

    /// Starts sending on the links of the flow's path.
    pub(super) fn open(&mut self, at: u64, id: FlowId) {
        let (world, flow) = (self.world, self.world.flow(id));
        if flow.stop.0 <= at {
            // The flow stopped before its connection was open.
            return self.last_until(seconds(flow.stop.0));
        }
        let model = self.models[flow.transport as usize].clone();
        let slot = self.free.pop().unwrap_or(self.flows.len() as u32);
        let mut running = Running {
            id,
            transport: flow.transport,
            left: flow.bytes as f64,
            one_way: 0.0,
            subflows: 0,
            ahead: 0.0,
        };
        let mut routes =
            world.plan.transports[flow.transport as usize].parameters().routes(world, flow);
        // Other subflows join a round trip after the handshake of the first one. By then, a short
        // flow has sent so much that almost no data are left to copy.
        let joins_later = model.control.0 > 0 && flow.connection.is_none();
        if model.copies > 1.0 && joins_later && flow.bytes as f64 <= SHORT * model.initial_window {
            routes.truncate(1);
        }
        for route in routes {
            self.open_stream(at, slot, &mut running, &model, route);
        }
        if model.copies > 1.0
            || running.subflows > 1
                && model.overtakes
                && self.waits_for_a_slow_one(slot, model.window)
        {
            self.found.note(Unknowns::Copies);
        }
        match self.flows.get_mut(slot as usize) {
            Some(place) => *place = running,
            None => self.flows.push(running),
        }
        self.first.get_or_insert(seconds(at));
        let soon = seconds(at).max(self.now + self.least_step());
        self.tick = Some(self.tick.map_or(soon, |tick| tick.min(soon)));
    }

    /// Starts a flow or one of its subflows on a route.
    fn open_stream(
        &mut self,
        at: u64,
        slot: u32,
        running: &mut Running,
        model: &FluidModel,
        route: Route,
    ) {
        let world = self.world;
        let flow = world.flow(running.id);
        let (one_way, path) = self.idle(running.id, route);
        let Some(&(_, nic)) = path.first() else { return };
        let nic = world.rate(&world.ports.of(flow.src)[nic as usize]).0 as f64 / 8.0;
        let first = self.paths.len() as u32;
        self.links_of(flow, &path);
        if model.ordered && self.overtakes {
            self.found.note(Unknowns::Overtaking);
        }
        let links = self.paths.len() as u32 - first;
        let round_trip = 2.0 * one_way;
        let slow = model.initial_window.is_finite();
        // The initial window leaves at once, and the next one a round trip later. The fluid
        // model starts halfway between these steps, which is half a doubling ahead.
        let (ahead, window) = if slow {
            ((SQRT_2 - 1.0) * model.initial_window.min(model.window), SQRT_2 * model.initial_window)
        } else {
            // A flow that starts at the rate of its NIC has as many outstanding bytes as this
            // rate requires.
            (0.0, nic * round_trip * 4.0)
        };
        let window = window.min(model.window);
        self.demands.push(Demand {
            first,
            links,
            forth: model.forth,
            back: model.back,
            ..Demand::default()
        });
        let since = self.now.max(seconds(at));
        let parameters = world.plan.transports[flow.transport as usize].parameters();
        let paced = if self.follows { parameters.pace(nic) } else { None };
        self.streams.push(Stream {
            flow: slot,
            sent: 0.0,
            ahead,
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
            .map_or(0.0, |demand| self.links.capacity[demand.path(&self.paths)[0] as usize]);
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
}
