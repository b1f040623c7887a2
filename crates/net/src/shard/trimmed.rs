//! Ports that cut data frames to headers instead of dropping them (NDP's queue, see
//! `queue::aqm::trim`). Data frames have the first queue of a lane. Headers and answers have the
//! second one, which goes first.

use super::Outlet;
use super::hop::Hop;
use super::lane::{Lane, Lost};
use crate::frame::{Change, Frame};
use crate::port::Port;
use crate::queue::Reason;
use crate::queue::aqm::trim::{is_data, is_trimmable};

/// Index of the queue of data frames, and of that of headers and answers.
const DATA: usize = 0;
const HEADERS: usize = 1;

impl<O: Outlet, const KIND: u8> Hop<'_, O, KIND> {
    /// Completes `offer` at a port that trims.
    #[inline(always)]
    pub(super) fn offer_trimmed(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        frame: &Frame,
        hash: u32,
    ) -> bool {
        let queue = if is_data(frame) { DATA } else { HEADERS };
        if self.is_full(p, lane, queue, now, frame) {
            self.trim(p, lane, port, now, queue, &Frame { hash, ..*frame });
        } else {
            self.join(p, lane, port, now, queue, frame, hash);
        }
        true
    }

    /// True if the queue has no room for this frame. The frame in transmission counts.
    #[inline(always)]
    fn is_full(&self, p: &Port, lane: &Lane, queue: usize, now: u64, frame: &Frame) -> bool {
        let holds = lane.queues[queue].waits.bytes() as u64
            + lane.in_transmission(p, Some(queue), now)
            + frame.size as u64;
        holds > self.state.memory.limits[queue].queue as u64
    }

    /// Starts the transmission of a frame, or appends it to its queue. The port has been advanced
    /// to `now`, so that nothing waits if the transmitter is idle.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn join(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        queue: usize,
        frame: &Frame,
        hash: u32,
    ) {
        if p.free_at <= now {
            self.start(p, lane, port, now, queue, frame, Change { hash, ..frame.to(p.peer_port) });
        } else {
            self.push(p, lane, port, queue, frame, |frame| frame.hash = hash);
        }
    }

    /// Makes room for a frame that finds its queue full. In the queue of data the arriving frame or
    /// the newest waiting one is cut to a header, each with probability 1/2.
    #[cold]
    #[inline(never)]
    fn trim(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        queue: usize,
        frame: &Frame,
    ) {
        let mut victim = *frame;
        if queue == DATA && lane.occupied & 1 << DATA != 0 && p.stream.next_u64() & 1 == 0 {
            let q = &mut lane.queues[DATA];
            victim = self.store.arena.replace_last(&q.chain, *frame);
            q.waits.take(victim.size);
            q.waits.add(frame.size);
            p.queued = p.queued - victim.size as u64 + frame.size as u64;
        }
        let header = self.state.memory.header;
        if queue == DATA && is_trimmable(&victim) {
            let size = victim.size.min(header);
            self.store.trim(victim.size - size);
            (victim.size, victim.flags) = (size, victim.flags | Frame::TRIMMED);
            if !self.is_full(p, lane, HEADERS, now, &victim) {
                let hash = victim.hash;
                return self.join(p, lane, port, now, HEADERS, &victim, hash);
            }
        }
        self.store.lose(Lost { port, queue: 0, frame: victim, reason: Reason::Buffer });
    }
}
