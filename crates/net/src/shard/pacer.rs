//! Passes TCP data through the pacer of their host.

use super::host::arm;
use super::{Node, Outlet, Shard};
use crate::frame::{Event, Frame};
use crate::pacer::Pacer;
use crate::port::Port;
use crate::queue::Reason;
use crate::world::World;
use afflux_engine::random::Stream;

/// Purpose of the random streams of pacers (see `afflux_engine::random`).
const PACER: u64 = 0x7061_6365;

/// Returns the pacer of each node, if it has one; an empty list if no host has one.
pub(super) fn pacers(world: &World, nodes: &[Node], ports: &[Port]) -> Vec<Option<Box<Pacer>>> {
    let plan = world.plan;
    if plan.hosts.iter().all(|host| host.pacer.is_none()) {
        return Vec::new();
    }
    let pacer = |node: &Node| {
        let config =
            plan.hosts[plan.topology.nodes[node.id as usize].config as usize].pacer.as_ref()?;
        let line = ports[node.first_port as usize].rate;
        Some(Box::new(Pacer::new(config, line, Stream::new(plan.run.seed, PACER, node.id as u64))))
    };
    nodes.iter().map(|node| if node.host { pacer(node) } else { None }).collect()
}

impl<'a> Shard<'a> {
    /// Tells the pacer of this host that a sender has received an ECN echo.
    #[cold]
    #[inline(never)]
    pub fn echo_to_pacer(&mut self, now: u64, node: u32, flow: u32) {
        if let Some(pacer) = &mut self.pacers[node as usize] {
            pacer.on_echo(now, flow);
        }
    }

    /// Offers a TCP data frame to the pacer. Returns whether the pacer has taken the frame.
    #[cold]
    #[inline(never)]
    pub fn is_paced<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: &Frame) -> bool {
        let Some(pacer) = &mut self.pacers[node as usize] else { return false };
        if !pacer.holds(now, frame.flow) {
            return false;
        }
        pacer.take(now, *frame);
        self.sets_out(frame.size);
        self.run_pacer(out, now, node);
        true
    }

    pub(super) fn on_pacer<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let Some(Some(pacer)) = self.pacers.get_mut(node as usize) else { return };
        if pacer.armed == now {
            pacer.armed = 0;
            self.run_pacer(out, now, node);
        }
    }

    /// Sends all frames that have their tokens to the NIC, and arms the timer for the next one.
    fn run_pacer<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        while let Some(frame) =
            self.pacers[node as usize].as_mut().expect("asked before").release(now)
        {
            self.last = self.last.max(now);
            match self.outgoing(now, node, frame.dst, frame.hash) {
                Some(port) => self.offer(out, now, node, port, &frame),
                None => self.drop_frame(frame, Reason::Down),
            }
        }
        let event = self.event(node, 0, Event::Release);
        let pacer = self.pacers[node as usize].as_mut().expect("asked before");
        arm(out, pacer.wake(now), &mut pacer.armed, || event);
    }
}
