//! Computes the completion time of a flow that is alone in the network. Slowdowns compare with it.

use crate::spec::{Flow, NodeKind};
use crate::world::{Shape, World};

/// Times of a flow in the idle network, in ps.
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle {
    /// Completion time of the whole flow sent back to back, including the return of the last
    /// acknowledgement if requested.
    pub total: u64,
    /// Part of `total` that is propagation.
    pub propagation: u64,
    /// Time from handing a full segment to the NIC until its acknowledgement arrives.
    pub round_trip: u64,
    /// Number of switches on the forward path.
    pub switches: u32,
    /// Transmission times of a full segment and of the last one, on the slowest link.
    pub slowest_full: u64,
    pub slowest_last: u64,
}

/// One link of a path, with the times of a train of frames on it.
struct Hop {
    delay: u64,
    full: u64,
    last: u64,
    /// Time until the peer processes a frame. It is shorter than the transmission if the peer cuts
    /// through.
    first_full: u64,
    first_last: u64,
    /// `cuts` is true if this node cuts through from the previous link. `rest_full` and `rest_last`
    /// are the times from processing a frame at this node until its tail arrives.
    cuts: bool,
    rest_full: u64,
    rest_last: u64,
    /// Time at which the transmitter becomes idle.
    free: u64,
}

impl Hop {
    /// Returns the time of a single full frame from its processing at this node to its processing
    /// at the next one.
    fn alone(&self) -> u64 {
        self.first_full + self.delay + if self.cuts { 0 } else { self.rest_full }
    }

    /// Sends a frame that this node processes at `at`. Returns the time at which the peer processes
    /// it.
    fn pass(&mut self, at: u64, is_last: bool) -> u64 {
        let (time, first, rest) = if is_last {
            (self.last, self.first_last, self.rest_last)
        } else {
            (self.full, self.first_full, self.rest_full)
        };
        let start = if self.cuts && self.free <= at { at } else { self.free.max(at + rest) };
        self.free = start + time;
        start + first + self.delay
    }
}

/// Number of frames that are simulated one by one on paths with cut-through, before the pattern is
/// assumed to repeat.
const SETTLING: u64 = 64;

fn hops(
    world: &World,
    now: u64,
    (via, hash): (Option<u16>, u32),
    (src, dst): (u32, u32),
    full: u16,
    last: u16,
) -> Vec<Hop> {
    let mut hops: Vec<Hop> = Vec::with_capacity(6);
    let mut input: Option<(u64, u64, u64)> = None;
    for (node, port) in world.path_via(now, via, hash, src, dst) {
        let info = world.ports.of(node)[port as usize];
        let full_time = world.serialize(&info, full);
        let last_time = if last == full { full_time } else { world.serialize(&info, last) };
        let header = world.header(&info);
        let first = |size: u16, time: u64| {
            header
                .filter(|&header| header < size)
                .map_or(time, |header| world.serialize(&info, header))
        };
        let (first_full, first_last) = (first(full, full_time), first(last, last_time));
        let spec = &world.plan.topology.nodes[node as usize];
        let through = spec.kind == NodeKind::Switch
            && world.plan.switches[spec.config as usize].cut_through.is_some();
        let rate = world.rate(&info).0;
        let (cuts, rest_full, rest_last) = match input {
            Some((in_rate, rest_full, rest_last)) if through => {
                (rate <= in_rate, rest_full, rest_last)
            }
            _ => (false, 0, 0),
        };
        input = Some((rate, full_time - first_full, last_time - first_last));
        hops.push(Hop {
            delay: world.delay(node, &info),
            full: full_time,
            last: last_time,
            first_full,
            first_last,
            cuts,
            rest_full,
            rest_last,
            free: 0,
        });
    }
    hops
}

/// Forward and return path of a flow: the output port at the first node if it is fixed, and the
/// hash.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub there: (Option<u16>, u32),
    pub back: (Option<u16>, u32),
}

impl Route {
    pub fn of(world: &World, flow: &Flow) -> Route {
        Route {
            there: (None, world.flow_hash(flow, false)),
            back: (None, world.flow_hash(flow, true)),
        }
    }
}

/// Returns the times in the idle network for a train of `flow` that starts at `now`. `with_return`
/// includes the return of the last acknowledgement.
pub fn idle(world: &World, now: u64, flow: &Flow, train: Shape, with_return: bool) -> Idle {
    idle_by(world, now, flow, Route::of(world, flow), train, with_return)
}

/// Returns the times for a train that uses several routes at once. The total is a lower bound of
/// the completion time, because links that the routes share after the first one are not considered.
/// With one route, the result is that of the route. `each` holds the results of [`idle_by`] for the
/// routes.
pub fn idle_over(
    world: &World,
    now: u64,
    flow: &Flow,
    (routes, each): (&[Route], &[Idle]),
    train: Shape,
    with_return: bool,
) -> Idle {
    let best = each.iter().min_by_key(|idle| idle.total).expect("a route at least");
    if routes.len() == 1 || train.count < 2 {
        return *best;
    }
    let one = Shape { count: 1, full: train.last, ..train };
    // Per route: its NIC port, the time of a full frame there, the arrival time of a single frame,
    // and the time of a full frame on the slowest link.
    let ways: Vec<(u16, u64, u64, u64)> = routes
        .iter()
        .zip(each)
        .filter_map(|(route, idle)| {
            let &(node, port) =
                world.path_via(now, route.there.0, route.there.1, flow.src, flow.dst).first()?;
            let nic = world.serialize(&world.ports.of(node)[port as usize], train.full);
            Some((
                port,
                nic,
                idle_by(world, now, flow, *route, one, with_return).total,
                idle.slowest_full,
            ))
        })
        .collect();
    let through = |by: u64, first: u64, time: u64| {
        if by < first { 0 } else { 1 + (by - first) / time.max(1) }
    };
    let frames = |by: u64| {
        let mut nics: Vec<u16> = ways.iter().map(|way| way.0).collect();
        nics.sort_unstable();
        nics.dedup();
        let of = |nic: u16| {
            let own = ways.iter().filter(move |way| way.0 == nic);
            let first = own.clone().map(|way| way.2).min().expect("one of them");
            let time = own.clone().map(|way| way.1).next().expect("one of them");
            own.map(|way| through(by, way.2, way.3)).sum::<u64>().min(through(by, first, time))
        };
        nics.into_iter().map(of).sum::<u64>()
    };
    let (mut short, mut long) = (0, best.total);
    while short < long {
        let middle = short + (long - short) / 2;
        if frames(middle) >= train.count { long = middle } else { short = middle + 1 }
    }
    Idle { total: short, ..*best }
}

/// Returns the times in the idle network for a train that takes `route`.
pub fn idle_by(
    world: &World,
    now: u64,
    flow: &Flow,
    route: Route,
    train: Shape,
    with_return: bool,
) -> Idle {
    let mut forward = hops(world, now, route.there, (flow.src, flow.dst), train.full, train.last);
    let mut idle = Idle {
        propagation: forward.iter().map(|h| h.delay).sum(),
        switches: forward.len().saturating_sub(1) as u32,
        slowest_full: forward.iter().map(|h| h.full).max().unwrap_or(0),
        slowest_last: forward.iter().map(|h| h.last).max().unwrap_or(0),
        ..Idle::default()
    };
    let one_way: u64 = forward.iter().map(Hop::alone).sum();
    // Time at which the last frame but one arrives.
    let mut before = 0;
    if train.count > 1 {
        let ahead = train.count - 1;
        if forward.iter().any(|h| h.cuts || h.rest_full > 0) {
            let simulated = ahead.min(SETTLING);
            for i in 0..simulated {
                before = forward
                    .iter_mut()
                    .enumerate()
                    .fold(0, |at, (hop, h)| h.pass(if hop == 0 { i * h.full } else { at }, false));
            }
            let mut spacing = 0;
            for hop in &mut forward {
                spacing = spacing.max(hop.full);
                hop.free += (ahead - simulated) * spacing;
            }
            before += (ahead - simulated) * spacing;
        } else {
            // With store and forward, full frames keep the spacing of the slowest link passed so
            // far.
            let (mut reached, mut spacing) = (0, 0);
            for hop in &mut forward {
                spacing = spacing.max(hop.full);
                hop.free = reached + hop.full + (ahead - 1) * spacing;
                reached += hop.full + hop.delay;
                before = hop.free + hop.delay;
            }
        }
    }
    idle.total = forward.iter_mut().fold(0, |at, hop| hop.pass(at, true));
    if let Some(ack) = train.ack {
        let mut back = hops(world, now, route.back, (flow.dst, flow.src), ack, ack);
        idle.round_trip = one_way + back.iter().map(Hop::alone).sum::<u64>();
        if with_return {
            idle.propagation += back.iter().map(|h| h.delay).sum::<u64>();
            // The last acknowledgement may have to wait for its predecessor.
            if train.count > 1 {
                back.iter_mut().fold(before, |at, hop| hop.pass(at, false));
            }
            idle.total = back.iter_mut().fold(idle.total, |at, hop| hop.pass(at, true));
        }
    }
    idle
}

/// Returns the round trip of frames as small as an acknowledgement, which a handshake would have
/// measured.
pub fn least_round_trip(world: &World, now: u64, flow: &Flow, ack: u16) -> u64 {
    least_round_trip_by(world, now, flow, Route::of(world, flow), ack)
}

/// Returns the round trip of frames as small as an acknowledgement on `route`.
pub fn least_round_trip_by(world: &World, now: u64, flow: &Flow, route: Route, ack: u16) -> u64 {
    let way =
        |by, between| hops(world, now, by, between, ack, ack).iter().map(Hop::alone).sum::<u64>();
    way(route.there, (flow.src, flow.dst)) + way(route.back, (flow.dst, flow.src))
}
