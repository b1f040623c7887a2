//! Passes arriving frames through the processor model of their node.

use super::host::arm;
use super::{Node, Outlet, Shard};
use crate::frame::{Event, Frame};
use crate::processor::{Processor, Taken};
use crate::queue::Reason;
use crate::world::World;

/// Returns the processor of each node, if it has one; an empty list if no node has one.
pub(super) fn processors(world: &World, nodes: &[Node]) -> Vec<Option<Box<Processor>>> {
    let of = |node: &Node| world.processor(node.id).map(|config| Box::new(Processor::new(*config)));
    if nodes.iter().any(|node| world.processor(node.id).is_some()) {
        nodes.iter().map(of).collect()
    } else {
        Vec::new()
    }
}

impl<'a> Shard<'a> {
    /// Offers an arriving frame to the processor of the node. Returns true if there is no
    /// processor, or if it processes the frame at once.
    #[cold]
    #[inline(never)]
    pub(super) fn passes_processor<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        frame: Frame,
    ) -> bool {
        let Some(Some(processor)) = self.processors.get_mut(node as usize) else { return true };
        match processor.take(now, frame) {
            Taken::AtOnce => return true,
            Taken::Held => {}
            Taken::Dropped => self.drop_frame(frame, Reason::Ingress),
        }
        self.arm_processor(out, node);
        false
    }

    pub(super) fn on_processor<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let Some(Some(processor)) = self.processors.get_mut(node as usize) else { return };
        if processor.armed != now {
            return;
        }
        processor.armed = 0;
        while let Some(frame) =
            self.processors[node as usize].as_mut().expect("its own event").release(now)
        {
            self.last = self.last.max(now);
            self.arrived(out, now, node, &frame);
        }
        self.arm_processor(out, node);
    }

    fn arm_processor<O: Outlet>(&mut self, out: &mut O, node: u32) {
        let event = self.event(node, 0, Event::Release);
        let processor = self.processors[node as usize].as_mut().expect("asked before");
        arm(out, processor.wake(), &mut processor.armed, || event);
    }
}
