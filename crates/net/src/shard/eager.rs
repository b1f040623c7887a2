//! Fast path of the window engine for switches that choose the next hop by hash and whose ports are
//! all plain (eager: they compute departures at admission). One loop forwards all frames of a
//! window, with the state of the switch loaded once. A frame that a policy may have to drop or mark
//! leaves the loop and goes through `offer_plain`.

use super::send::send;
use super::{Outlet, Shard};
use crate::frame::{Change, Frame};
use crate::queue::Reason;

impl<'a> Shard<'a> {
    /// Forwards all frames that arrive at the switch in one window, in order.
    #[inline(always)]
    pub fn pass_eagerly<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) {
        if self.world.route_bits != 0 {
            self.pass_all::<O, true>(out, start, node, frames)
        } else {
            self.pass_all::<O, false>(out, start, node, frames)
        }
    }

    /// Forwards all frames of a window. `ROUTED`: frames carry their route in `Frame::hash`.
    #[inline(always)]
    fn pass_all<O: Outlet, const ROUTED: bool>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        mut frames: &[Frame],
    ) {
        if let Some(last) = frames.last() {
            self.last = self.last.max(start + last.offset as u64);
        }
        loop {
            let (passed, port) = self.pass_eager::<O, ROUTED>(out, start, node, frames);
            let Some(&(mut frame)) = frames.get(passed) else { return };
            if ROUTED {
                frame.hash >>= self.world.route_bits;
            }
            self.counters.packet_hops += 1;
            let first_port = self.nodes[node as usize].first_port;
            match port {
                None => self.drop_frame(frame, Reason::Down),
                Some(port) => self.offer_plain(
                    out,
                    start + frame.offset as u64,
                    node,
                    first_port + port as u32,
                    &frame,
                ),
            }
            frames = &frames[passed + 1..];
        }
    }

    /// Forwards frames up to the first that has to leave the loop. Returns the number of forwarded
    /// frames, and the output port of the frame that has to leave the loop; `None` if it has no
    /// next hop.
    #[inline(always)]
    fn pass_eager<O: Outlet, const ROUTED: bool>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> (usize, Option<u16>) {
        let Shard { nodes, ports, extras, world, counters, .. } = self;
        let state = &mut nodes[node as usize];
        let row = world.routes(0).row(state.id);
        let own = &mut ports[state.first_port as usize..(state.first_port + state.ports) as usize];
        let (seed, fast_path, bits) = (state.hash_seed, state.fast_path, world.route_bits);
        let mut used = state.used;
        let mut ended = (frames.len(), None);
        for (number, frame) in frames.iter().enumerate() {
            debug_assert!(frame.is_traffic());
            let now = start + frame.offset as u64;
            let port = if ROUTED {
                Some(frame.routed_port(bits))
            } else {
                row.next_hop(frame.dst, frame.hash, seed)
            };
            let Some(p) = port.and_then(|port| own.get_mut(port as usize)) else {
                ended = (number, None);
                break;
            };
            let size = frame.size as u64;
            used -= p.release_idle(now);
            if !p.takes_at_once(&fast_path, used, size) {
                ended = (number, port);
                break;
            }
            used += size;
            let (from, time) = p.append(now, frame.size);
            let hash = if ROUTED { frame.hash >> bits } else { frame.hash };
            send(out, extras, p, from, time, frame, Change { hash, ..frame.to(p.peer_port) });
        }
        state.used = used;
        counters.packet_hops += ended.0 as u64;
        ended
    }
}
