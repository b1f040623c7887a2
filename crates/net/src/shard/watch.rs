//! Records on request the gaps between the frames of a flow that a port sends, and the flows that
//! were ahead of each frame in the queue.

use super::Shard;
use crate::features::Departure;
use crate::frame::Frame;
use crate::memory::Kept;
use crate::probe::hops::Sent;
use crate::queue::aqm::trim;

impl<'a> Shard<'a> {
    /// Records a frame whose transmission is described by `departure`.
    #[cold]
    #[inline(never)]
    pub(super) fn watch(&mut self, port: u32, frame: &Frame, departure: &Departure) {
        // The window engine starts all transmissions of its window, even those after the end of the
        // run.
        if departure.start > self.world.until() {
            return;
        }
        let flow = self.world.flow(frame.flow);
        let subflow =
            if self.is_multipath(frame) { self.extras[frame.aux].multipath.subflow - 1 } else { 0 };
        let forward = frame.dst == flow.dst && self.carries_data(frame);
        let a = self.ports[port as usize].features_mut();
        let mut watch = a.watch.take().expect("it is");
        if let Some(gaps) = &mut watch.gaps
            && forward
        {
            let before = gaps.of.len();
            gaps.note((frame.flow, subflow), departure.start, frame.size);
            self.kept += Kept::GAP * (gaps.of.len() - before) as u64;
        }
        if let Some(waits) = &mut watch.waits {
            let sent = Sent {
                start: departure.start,
                end: departure.ends,
                flow: frame.flow,
                class: flow.class,
            };
            let before = waits.of.len();
            let (arena, lane) = (&self.store.arena, &self.lanes[port as usize]);
            let in_lane = || lane.slots(arena).map(|slot| arena.ready(slot)).min();
            waits.note(sent, departure.ready, || {
                a.held().map(|waiting| waiting.ready).chain(in_lane()).min()
            });
            self.kept += Kept::WAIT * (waits.of.len() - before) as u64;
        }
        a.watch = Some(watch);
    }

    /// True if the frame carries payload of a flow.
    pub fn carries_data(&self, frame: &Frame) -> bool {
        if frame.kind() != Frame::RATED {
            return trim::is_data(frame);
        }
        let header = self.extras[frame.aux].header.as_ref();
        header.is_some_and(|header| header.carries_data())
    }
}
