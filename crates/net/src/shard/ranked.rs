//! Ports that send and drop by rank (pFabric).

use super::hop::Hop;
use super::lane::{Lane, Lost, RANKED, Store};
use super::{Outlet, Shard};
use crate::frame::{Change, Frame};
use crate::port::Port;
use crate::queue::Reason;

impl<O: Outlet, const KIND: u8> Hop<'_, O, KIND> {
    /// Notes by when a busy port has to choose its next frame, because a frame of `size` bytes
    /// waits.
    #[inline(always)]
    pub(super) fn note_due(&mut self, p: &Port, size: u16) {
        self.state.due = self.state.due.min(due(p, size, self.state.defers));
    }

    /// Completes `offer` at a port that sends and drops by rank. The limit of its only queue is
    /// the bound of the memory, and only `Port::queued` has the length of the queue.
    #[inline(always)]
    pub(super) fn offer_ranked(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        frame: &Frame,
        hash: u32,
    ) -> bool {
        let full = p.queued + frame.size as u64 > self.state.memory.limits[0].used
            && self.store.rank_queues[port as usize].fills(p.queued + frame.size as u64);
        if p.free_at <= now && !full {
            self.start(p, lane, port, now, 0, frame, Change { hash, ..frame.to(p.peer_port) });
            return true;
        }
        self.push(p, lane, port, 0, frame, |frame| frame.hash = hash);
        if full {
            self.drop_worst(p, lane, port);
        }
        true
    }

    /// Drops a frame of a queue that has reached its limit.
    #[cold]
    #[inline(never)]
    fn drop_worst(&mut self, p: &mut Port, lane: &mut Lane, port: u32) {
        let Store { arena, rank_queues, .. } = &mut *self.store;
        let (frame, empty) = rank_queues[port as usize].pop_worst(arena, p.queued);
        p.queued -= frame.size as u64;
        lane.occupied &= !(empty as u8);
        self.store.lose(Lost { port, queue: 0, frame, reason: Reason::Buffer });
    }
}

impl Shard<'_> {
    /// Ends a window of a node whose ports send by rank. The next frame need not be chosen in the
    /// window in which its transmission starts, but before the window in which it arrives at the
    /// other end of the link. A frame that arrives in between first advances its port, and so finds
    /// the state of that instant. Most ports are therefore advanced only when the next frame
    /// arrives, and a node with nothing else to do is woken once for many transmissions.
    #[inline(always)]
    pub(super) fn finish_ranked<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        let (until, due) = (self.world.until(), self.nodes[node as usize].due);
        // In the window in which the run ends, start everything that starts before the end of the
        // run. The rest starts later.
        let ends = end > until;
        let due = if due < end || ends {
            let earliest = self.finish_hops::<O, RANKED>(out, end, node);
            self.nodes[node as usize].due = earliest;
            earliest
        } else {
            due
        };
        if due < u64::MAX {
            self.wake_by(out, node, if ends { due } else { due.min(until) });
        }
    }
}

/// Returns the latest time in ps at which a busy port has to choose its next frame, if no waiting
/// frame is smaller than this. `defers`: how long before its arrival at the peer the frame has to
/// be chosen, if that may be after its transmission has started.
#[inline(always)]
pub(super) fn due(p: &Port, smallest: u16, defers: Option<u64>) -> u64 {
    defers.map_or(p.free_at, |lead| p.free_at + p.first_bits(smallest) + p.delay - lead)
}
