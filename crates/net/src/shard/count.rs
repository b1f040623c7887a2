//! Applies the verdicts of queue policies: marks, trims and drops frames, and counts this.
//! Ports within bounds (`shard::hop`) mark frames themselves, and their marks and drops are counted afterwards.

use super::Shard;
use crate::frame::Frame;
use crate::port::Port;
use crate::queue::marking::Red;
use crate::queue::{QueueView, Reason, Verdict};
use crate::record::Counters;
use crate::spec::MarkAt;

impl<'a> Shard<'a> {
    /// Applies a verdict on `frame`, which is at `queue` of `port`. Returns whether the frame
    /// continues.
    #[inline(always)]
    pub(super) fn passes(
        &mut self,
        port: u32,
        queue: usize,
        frame: &mut Frame,
        verdict: Verdict,
    ) -> bool {
        match verdict {
            Verdict::Admit => true,
            Verdict::Mark => {
                mark(&mut self.counters, &mut self.ports[port as usize], queue, &mut frame.flags);
                true
            }
            Verdict::Trim(header) => {
                self.counters.dropped_bytes += u64::from(frame.size - header);
                frame.size = header;
                frame.flags |= Frame::TRIMMED;
                true
            }
            Verdict::Drop(reason) => {
                self.drop_at(port, queue, *frame, reason);
                false
            }
        }
    }

    /// Drops a frame at `queue` of `port` and counts the drop there. A drop for lack of memory at
    /// ingress counts at the port by which the frame arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_at(&mut self, port: u32, queue: usize, frame: Frame, reason: Reason) {
        if reason == Reason::Ingress {
            let input = frame.port - self.nodes[self.ports[port as usize].node as usize].first_port;
            let a = self.ports[frame.port as usize].features_mut();
            let queue = a.queue_from(&frame, input);
            a.note(queue, |i| i.in_discards += 1);
        } else {
            self.ports[port as usize].note(queue, |i| i.drops += 1);
        }
        self.drop_frame(frame, reason);
    }

    /// Drops a frame and counts the drop for the shard, but not for a port.
    #[cold]
    #[inline(never)]
    pub fn drop_frame(&mut self, frame: Frame, reason: Reason) {
        let c = &mut self.counters;
        c.dropped_packets += 1;
        c.dropped_bytes += frame.size as u64;
        match reason {
            Reason::Buffer => c.drops_buffer += 1,
            Reason::Dram => c.drops_dram += 1,
            Reason::Red => c.drops_red += 1,
            Reason::Loss => c.drops_loss += 1,
            Reason::Down => c.drops_down += 1,
            Reason::TooLong => c.drops_mtu += 1,
            Reason::Watchdog => c.drops_watchdog += 1,
            Reason::Ingress => c.in_discards += 1,
        }
        self.live -= 1;
        if self.is_from_outside(&frame) {
            self.lose_outside(&frame);
        } else if frame.kind() == Frame::DATAGRAM {
            *self.lost.entry(frame.flow).or_default() += 1;
        }
        if frame.has(Frame::EXTRA) {
            self.extras.remove(frame.aux);
        }
    }
}

/// Sets Congestion Experienced in the flags of a frame at `queue` of `p`, and counts the mark.
#[inline(always)]
pub(super) fn mark(counters: &mut Counters, p: &mut Port, queue: usize, flags: &mut u16) {
    *flags |= Frame::CE;
    counters.ecn_marks += 1;
    p.note(queue, |i| i.marks += 1);
}

/// Returns the marking verdict on `frame`, which arrives at `now` and finds `length` in `queue` of
/// `p`.
#[inline(always)]
pub(super) fn mark_at_arrival(
    red: Option<&Red>,
    now: u64,
    length: QueueView,
    p: &mut Port,
    queue: usize,
    frame: &Frame,
) -> Verdict {
    let Some(red) = red else { return Verdict::Admit };
    let length = red.length(length);
    if red.below_threshold(length) {
        Verdict::Admit
    } else {
        judge_arrival(red, now, length, p, queue, frame.has(Frame::ECT))
    }
}

#[inline(never)]
fn judge_arrival(
    red: &Red,
    now: u64,
    length: u64,
    p: &mut Port,
    queue: usize,
    capable: bool,
) -> Verdict {
    let frame_time = red.weight.map_or(0, |_| p.serialize(1500));
    let (free_at, memory) = match &mut p.features {
        None => (p.free_at, &mut p.memory),
        Some(a) => (a.marking[queue].free_at, &mut a.marking[queue].memory),
    };
    let seen = match red.weight {
        None => length as f64,
        Some(weight) => {
            red.average_after(weight, length, now.saturating_sub(free_at), frame_time, memory)
        }
    };
    match red.at {
        MarkAt::Enqueue => red.verdict(seen, length, capable, memory, &mut p.stream),
        // With marking at dequeue an arrival only updates the average.
        MarkAt::Dequeue => Verdict::Admit,
    }
}

/// Returns the verdict of marking at dequeue on `frame`, whose departure leaves `behind` in `queue`
/// of `p`.
#[inline(always)]
pub(super) fn mark_at_start(
    red: &Red,
    behind: QueueView,
    p: &mut Port,
    queue: usize,
    frame: &Frame,
) -> Verdict {
    let behind = red.length(behind);
    if red.below_threshold(behind) {
        return Verdict::Admit;
    }
    let features = p.features.as_deref_mut().expect("plain ports mark at arrival");
    let memory = &mut features.marking[queue].memory;
    let seen = if red.weight.is_some() { memory.average } else { behind as f64 };
    red.verdict(seen, behind, frame.has(Frame::ECT), memory, &mut p.stream)
}
