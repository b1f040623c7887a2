//! Forwards the frames of a window in one loop, at switches that allow this.

use super::lane::{OWN, RANKED, SHARED, TRIMMED};
use super::{Node, Outlet, Shard};
use crate::frame::Frame;
use crate::routing::{NextHops, Row};

impl<'a> Shard<'a> {
    /// Forwards frames that arrive at a switch in one window, in order, up to the first entry that
    /// the loop cannot process. Returns the number of processed frames.
    #[inline(always)]
    pub fn pass<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> usize {
        let state = &self.nodes[node as usize];
        let exact = state.memory.exact;
        match &state.balanced {
            Some(balanced) if !balanced.sprays || exact => {
                self.pass_balanced(out, start, node, frames)
            }
            _ if exact => self.pass_exact(out, start, node, frames),
            _ => self.pass_within(out, start, node, frames),
        }
    }

    /// Forwards frames at a switch with a balancer, until the switch has scheduled an event for
    /// itself in this window, which the balancer may do when it is consulted. Returns the number of
    /// processed frames.
    #[inline(never)]
    fn pass_balanced<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> usize {
        let world = self.world;
        let (id, first) = (self.nodes[node as usize].id, self.nodes[node as usize].first_port);
        let row = world.routes(0).row(id);
        let mut passed = 0;
        for frame in frames {
            if !frame.is_traffic() || out.has_pending_event() {
                break;
            }
            let now = start + frame.offset as u64;
            passed += 1;
            let mut balancer_of;
            let hops = row.next_hops(frame.dst);
            let (port, frame, hash) = match self.hashed_port(node, frame, hops) {
                Some((port, hash)) => (port, frame, hash),
                None => {
                    balancer_of = *frame;
                    let Some(port) = self.chosen_port(out, now, node, &mut balancer_of, hops)
                    else {
                        continue;
                    };
                    (port, &balancer_of, balancer_of.hash)
                }
            };
            let state = &self.nodes[node as usize];
            if !state.memory.exact && state.memory.kind == SHARED {
                self.offer_within::<O, SHARED>(out, now, node, first + port as u32, frame, hash);
            } else {
                self.offer_to_lane(out, now, node, first + port as u32, frame, hash);
            }
        }
        if passed > 0 {
            self.last = self.last.max(start + frames[passed - 1].offset as u64);
        }
        self.counters.packet_hops += passed as u64;
        passed
    }

    /// Forwards frames that arrive at a switch in one window, up to the first that is beyond
    /// the bounds (and including it) or that is not traffic. Returns the number of processed
    /// frames.
    fn pass_within<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> usize {
        let (passed, stuck) = match (self.kind(node), self.world.route_bits != 0) {
            (SHARED, true) => self.pass_hops::<O, SHARED, true>(out, start, node, frames),
            (SHARED, false) => self.pass_hops::<O, SHARED, false>(out, start, node, frames),
            (RANKED, _) => self.pass_hops::<O, RANKED, false>(out, start, node, frames),
            (TRIMMED, _) => self.pass_hops::<O, TRIMMED, false>(out, start, node, frames),
            (_, true) => self.pass_hops::<O, OWN, true>(out, start, node, frames),
            (_, false) => self.pass_hops::<O, OWN, false>(out, start, node, frames),
        };
        self.see_to_losses();
        if passed > 0 {
            self.last = self.last.max(start + frames[passed - 1].offset as u64);
        }
        self.counters.packet_hops += passed as u64;
        if let Some((port, hash)) = stuck {
            let (frame, port) = (&frames[passed - 1], self.nodes[node as usize].first_port + port);
            self.offer_beyond(out, start + frame.offset as u64, node, port, frame, hash);
        }
        passed
    }

    /// Forwards frames within the bounds. `ROUTED`: frames carry their route in `Frame::hash`.
    /// Returns the number of processed frames, and the port and the hash of the last one if it is
    /// beyond the bounds.
    #[inline(never)]
    fn pass_hops<O: Outlet, const KIND: u8, const ROUTED: bool>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> (usize, Option<(u32, u32)>) {
        let (world, state) = (self.world, &self.nodes[node as usize]);
        let (bits, seed, row) = (world.route_bits, state.hash_seed, world.routes(0).row(state.id));
        let (first, own) = (
            state.first_port,
            state.first_port as usize..(state.first_port + state.ports) as usize,
        );
        let (mut hop, ports, lanes) = self.hop::<O, KIND>(out, node);
        let (ports, lanes) = (&mut ports[own.clone()], &mut lanes[own]);
        for (passed, frame) in frames.iter().enumerate() {
            let (port, hash) = match ROUTED {
                _ if !frame.is_traffic() => (None, 0),
                true => (Some(frame.routed_port(bits)), frame.hash >> bits),
                false => (next_port(hop.state, row, seed, frame), frame.hash),
            };
            let Some(number) = port
                .map(|port| port as usize)
                .filter(|&port| port < ports.len() && port < lanes.len())
            else {
                return (passed, None);
            };
            let port = first + number as u32;
            if !hop.offer(
                &mut ports[number],
                &mut lanes[number],
                port,
                start + frame.offset as u64,
                frame,
                hash,
                None,
            ) {
                return (passed + 1, Some((number as u32, hash)));
            }
        }
        (frames.len(), None)
    }
}

/// Returns the next hop of a frame at a switch that hashes or sprays. Returns `None` if the loop
/// cannot process the frame.
#[inline(always)]
fn next_port(state: &mut Node, row: Row, seed: u32, frame: &Frame) -> Option<u16> {
    let Node { balanced, first_port, stream, .. } = state;
    let hops = row.next_hops(frame.dst);
    match (balanced.as_deref_mut(), hops) {
        (Some(_), _) if frame.is_bound() => None,
        (Some(balanced), NextHops::Many(several)) => balanced.oblivious_choice(
            row.rack_of(frame.dst),
            frame.port - *first_port,
            several,
            stream,
        ),
        _ => hops.by_hash(frame.hash, seed),
    }
}
