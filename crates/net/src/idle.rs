//! The network with one flow alone in it: what completion times are compared with.

use crate::spec::{Flow, Forwarding, NodeKind};
use crate::world::{Shape, World};

/// The idle network as one flow sees it, in picoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Idle {
    /// Completion time of the whole flow sent back to back, with the return of the last acknowledgement if asked for.
    pub total: u64,
    /// The part of `total` that is propagation.
    pub propagation: u64,
    /// From handing a full segment to the NIC to the arrival of its acknowledgement.
    pub round_trip: u64,
    /// Switches on the way there.
    pub switches: u32,
    /// Time of a full segment, and of the last one, on the slowest link.
    pub slowest_full: u64,
    pub slowest_last: u64,
}

/// One link of a path as a train of frames sees it.
struct Hop {
    delay: u64,
    full: u64,
    last: u64,
    /// Until the peer deals with the frame: less than the whole where the peer cuts through.
    first_full: u64,
    first_last: u64,
    /// This node cuts through from the previous link: how much of a frame is still to come when it is dealt with.
    cuts: bool,
    rest_full: u64,
    rest_last: u64,
    /// When the transmitter is free.
    free: u64,
}

impl Hop {
    /// Time of a full frame alone, from one node dealing with it to the next.
    fn alone(&self) -> u64 {
        self.first_full + self.delay + if self.cuts { 0 } else { self.rest_full }
    }

    /// A frame that is dealt with at `at` goes through; returns when it is dealt with at the peer.
    fn pass(&mut self, at: u64, is_last: bool) -> u64 {
        let (time, first, rest) = if is_last { (self.last, self.first_last, self.rest_last) } else { (self.full, self.first_full, self.rest_full) };
        let start = if self.cuts && self.free <= at { at } else { self.free.max(at + rest) };
        self.free = start + time;
        start + first + self.delay
    }
}

/// Frames simulated one by one where switches cut through, before the pattern is taken as settled.
const SETTLING: u64 = 64;

fn hops(world: &World, now: u64, (via, hash): (Option<u16>, u32), (src, dst): (u32, u32), full: u16, last: u16) -> Vec<Hop> {
    let mut hops: Vec<Hop> = Vec::with_capacity(6);
    let mut input: Option<(u64, u64, u64)> = None;
    for (node, port) in world.path_via(now, via, hash, src, dst) {
        let info = world.ports.of(node)[port as usize];
        let full_time = world.serialize(&info, full);
        let last_time = if last == full { full_time } else { world.serialize(&info, last) };
        let header = world.header(&info);
        let first = |size: u16, time: u64| header.filter(|&header| header < size).map_or(time, |header| world.serialize(&info, header));
        let (first_full, first_last) = (first(full, full_time), first(last, last_time));
        let spec = &world.plan.topology.nodes[node as usize];
        let through = spec.kind == NodeKind::Switch && matches!(world.plan.switches[spec.config as usize].forwarding, Forwarding::CutThrough { .. });
        let rate = world.rate(&info).0;
        let (cuts, rest_full, rest_last) = match input {
            Some((in_rate, rest_full, rest_last)) if through => (rate <= in_rate, rest_full, rest_last),
            _ => (false, 0, 0),
        };
        input = Some((rate, full_time - first_full, last_time - first_last));
        hops.push(Hop { delay: world.delay(node, &info), full: full_time, last: last_time, first_full, first_last, cuts, rest_full, rest_last, free: 0 });
    }
    hops
}

/// The way of a flow's frames, and of what answers them: the port by which they leave, if that is not a matter of the hash, and the hash.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub there: (Option<u16>, u32),
    pub back: (Option<u16>, u32),
}

impl Route {
    pub fn of(world: &World, flow: &Flow) -> Route {
        Route { there: (None, world.flow_hash(flow, false)), back: (None, world.flow_hash(flow, true)) }
    }
}

/// The idle network for a train of `flow` that starts at `now`; `with_return` counts the last acknowledgement's way back.
pub fn idle(world: &World, now: u64, flow: &Flow, train: Shape, with_return: bool) -> Idle {
    idle_by(world, now, flow, Route::of(world, flow), train, with_return)
}

/// The same over several routes at once: no time in which the train could be through is shorter, since what the routes share beyond their first
/// links is not counted. With one route it is that route's.
/// `each` is [`idle_by`] of the routes.
pub fn idle_over(world: &World, now: u64, flow: &Flow, (routes, each): (&[Route], &[Idle]), train: Shape, with_return: bool) -> Idle {
    let best = each.iter().min_by_key(|idle| idle.total).expect("a route at least");
    if routes.len() == 1 || train.count < 2 {
        return *best;
    }
    let one = Shape { count: 1, full: train.last, ..train };
    // By route: its NIC, a full frame's time there, when a lone frame is through, and a full frame's time on the slowest link.
    let ways: Vec<(u16, u64, u64, u64)> = routes
        .iter()
        .zip(each)
        .filter_map(|(route, idle)| {
            let &(node, port) = world.path_via(now, route.there.0, route.there.1, flow.src, flow.dst).first()?;
            let nic = world.serialize(&world.ports.of(node)[port as usize], train.full);
            Some((port, nic, idle_by(world, now, flow, *route, one, with_return).total, idle.slowest_full))
        })
        .collect();
    let through = |by: u64, first: u64, time: u64| if by < first { 0 } else { 1 + (by - first) / time.max(1) };
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

/// For a train that takes `route`.
pub fn idle_by(world: &World, now: u64, flow: &Flow, route: Route, train: Shape, with_return: bool) -> Idle {
    let mut forward = hops(world, now, route.there, (flow.src, flow.dst), train.full, train.last);
    let mut idle = Idle {
        propagation: forward.iter().map(|h| h.delay).sum(),
        switches: forward.len().saturating_sub(1) as u32,
        slowest_full: forward.iter().map(|h| h.full).max().unwrap_or(0),
        slowest_last: forward.iter().map(|h| h.last).max().unwrap_or(0),
        ..Idle::default()
    };
    let one_way: u64 = forward.iter().map(Hop::alone).sum();
    // When the last-but-one frame arrives.
    let mut before = 0;
    if train.count > 1 {
        let ahead = train.count - 1;
        if forward.iter().any(|h| h.cuts || h.rest_full > 0) {
            let simulated = ahead.min(SETTLING);
            for i in 0..simulated {
                before = forward.iter_mut().enumerate().fold(0, |at, (hop, h)| h.pass(if hop == 0 { i * h.full } else { at }, false));
            }
            let mut spacing = 0;
            for hop in &mut forward {
                spacing = spacing.max(hop.full);
                hop.free += (ahead - simulated) * spacing;
            }
            before += (ahead - simulated) * spacing;
        } else {
            // Store and forward: full frames keep the spacing of the slowest link passed so far.
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
            // The last acknowledgement may have to wait for the one before it.
            if train.count > 1 {
                back.iter_mut().fold(before, |at, hop| hop.pass(at, false));
            }
            idle.total = back.iter_mut().fold(idle.total, |at, hop| hop.pass(at, true));
        }
    }
    idle
}

/// From one end to the other and back for frames as small as an acknowledgement: what a handshake would have measured.
pub fn least_round_trip(world: &World, now: u64, flow: &Flow, ack: u16) -> u64 {
    least_round_trip_by(world, now, flow, Route::of(world, flow), ack)
}

/// The same by `route`.
pub fn least_round_trip_by(world: &World, now: u64, flow: &Flow, route: Route, ack: u16) -> u64 {
    let way = |by, between| hops(world, now, by, between, ack, ack).iter().map(Hop::alone).sum::<u64>();
    way(route.there, (flow.src, flow.dst)) + way(route.back, (flow.dst, flow.src))
}
