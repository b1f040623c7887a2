//! Judges frames that exceed a bound of their port. A frame within the bounds never comes here
//! (see `shard::hop`).

use super::Outlet;
use super::count::{mark_at_arrival, mark_at_start};
use super::hop::{Hop, Judgement};
use super::lane::{Lane, Length, Limits, Lost};
use crate::frame::Frame;
use crate::port::Port;
use crate::queue::{QueueView, Verdict};

impl<O: Outlet, const KIND: u8> Hop<'_, O, KIND> {
    /// Judges a frame beyond a bound by the exact length of its queue. The port has been advanced
    /// to `now`.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn judge_closer(
        &mut self,
        p: &mut Port,
        lane: &Lane,
        port: u32,
        queue: usize,
        now: u64,
        frame: &Frame,
        used: Option<u64>,
    ) -> Judgement {
        let limits = self.state.memory.limits_of(frame.priority());
        let waits = lane.queues[queue].waits.bytes();
        if used.is_none()
            && (self.exceeds(limits, frame) || waits + frame.size as u32 > limits.memory)
            || waits > Limits::MOST
        {
            return Judgement::Unknown;
        }
        if lane.fills_ring(p, frame, now) {
            return Judgement::Unknown;
        }
        let sending =
            if self.state.until_start { 0 } else { lane.in_transmission(p, Some(queue), now) };
        let length = lane.length(queue, sending);
        let mut verdict = self
            .state
            .buffer
            .admit(length, frame.size as u64, used.unwrap_or(0), true)
            .expect("exact figures settle it");
        if matches!(verdict, Verdict::Admit) {
            verdict = mark_at_arrival(self.state.marking.as_ref(), now, length, p, queue, frame);
        }
        let mut flags = frame.flags;
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => flags |= self.store.mark(),
            Verdict::Trim(_) => unreachable!("ports without a discipline do not trim"),
            Verdict::Drop(reason) => {
                self.store.lose(Lost { port, queue: queue as u8, frame: *frame, reason });
                return Judgement::Dropped;
            }
        }
        Judgement::Goes(flags)
    }

    /// Applies marking at the start of a transmission that leaves `behind` in the queue. Returns
    /// the flags of the frame, or `None` if it is dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn judge_start(
        &mut self,
        p: &mut Port,
        port: u32,
        queue: usize,
        behind: Length,
        frame: &Frame,
    ) -> Option<u16> {
        let red =
            self.state.marking.as_ref().expect("where there is no marking everything is quiet");
        let behind = QueueView { bytes: behind.bytes() as u64, frames: behind.frames() };
        match mark_at_start(red, behind, p, queue, frame) {
            Verdict::Mark => Some(frame.flags | self.store.mark()),
            Verdict::Drop(reason) => {
                self.store.lose(Lost { port, queue: queue as u8, frame: *frame, reason });
                None
            }
            Verdict::Admit | Verdict::Trim(_) => Some(frame.flags),
        }
    }
}
