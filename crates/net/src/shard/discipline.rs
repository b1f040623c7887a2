//! Ports with a queue discipline (AQM) or a device queue: enqueues, dequeues and drops their
//! frames.

use super::count::mark_at_start;
use super::exact::Account;
use super::forward::rank;
use super::lane::Sent;
use super::{Outlet, Shard};
use crate::features::{Discipline, Features};
use crate::frame::Frame;
use crate::queue::Verdict;
use crate::queue::aqm::Policy;
use crate::queue::class::Queue;
use crate::queue::scheduling::Turns;
use crate::queue::waiting::Waiting;
use crate::spec::MarkAt;

impl<'a> Shard<'a> {
    /// Lets a frame that buffer and marking have admitted join `queue`, if the discipline accepts
    /// it. `HELD`: a balancer has held the frame, and the memory is already charged with it.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn offer_disciplined<O: Outlet, const HELD: bool>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        mut waiting: Waiting,
        Account { charge, taken, place }: Account,
    ) {
        let p = &mut self.ports[port as usize];
        let Features { pause, discipline, .. } = p.features.as_deref_mut().expect("not plain");
        waiting.clock = pause.as_ref().map_or_else(
            || rank(&self.extras, &waiting.frame),
            |pause| pause.clock(waiting.frame.priority(), now),
        );
        let d = discipline.as_mut().expect("only ports with one come here");
        d.catch_up(pause.as_deref(), now);
        let Discipline { queues, aqm, .. } = &mut **d;
        let q = &mut queues[queue];
        let verdict = aqm.get_mut(queue).map_or(Verdict::Admit, |aqm| {
            aqm.on_enqueue(now, q.bytes, waiting.frame.has(Frame::ECT), &mut p.stream)
        });
        if HELD && matches!(verdict, Verdict::Drop(_)) {
            self.uncharge_held(out, now, node, port, &waiting.frame);
        }
        if !self.passes(port, queue, &mut waiting.frame, verdict) {
            return;
        }
        let state = &mut self.nodes[node as usize];
        if HELD {
            // `take_in` counts the frame again below.
            state.used -= waiting.frame.size as u64;
        }
        if let Some(place) = place {
            state.join_voq(now, port, queue, waiting.frame.size, place);
        }
        if self.nodes[node as usize].managed.is_some() && !HELD {
            self.mmu(node).charge(&charge, taken.headroom);
            if taken.pause {
                self.pause_group(out, now, node, charge.input, charge.class());
            }
        }
        self.take_in(out, now, node, port, queue, waiting);
        self.note_length(node, port, queue);
        if !self.lanes[port as usize].sending {
            self.start_exact(out, now, node, port);
        } else {
            self.fill_device(out, now, node, port);
        }
        if !O::CLASSICAL {
            self.list(node, port);
        }
    }

    /// Adds a frame to `queue` and counts it.
    fn take_in<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        waiting: Waiting,
    ) {
        let size = waiting.frame.size as u64;
        self.nodes[node as usize].used += size;
        let p = &mut self.ports[port as usize];
        p.queued += size;
        let d = p.features.as_mut().and_then(|a| a.discipline.as_mut()).expect("it has one");
        let Discipline { queues, aqm, turns, waiting: count, .. } = &mut **d;
        if let Some(turns) = turns {
            turns.joined(queue, waiting.frame.size);
        }
        let q = &mut queues[queue];
        q.bytes += size;
        q.count += 1;
        *count += 1;
        let back = match aqm.get_mut(queue) {
            Some(aqm) => aqm.push(&mut q.frames, waiting, &mut p.stream),
            None => {
                q.frames.push_back(waiting);
                Vec::new()
            }
        };
        self.give_back(out, now, node, port, queue, back);
    }

    /// Processes the frames that a discipline has returned. A frame that is not dropped (for
    /// example, a trimmed one) joins its queue again.
    fn give_back<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        back: Vec<(Frame, Verdict)>,
    ) {
        for (mut frame, verdict) in back {
            let d = self.discipline(port);
            d.waiting -= 1;
            if let Some(turns) = &mut d.turns {
                turns.dropped(queue, frame.size.into());
            }
            self.forget(out, now, node, port, queue, &frame);
            if self.passes(port, queue, &mut frame, verdict) {
                self.take_in(out, now, node, port, queue, Waiting { frame, ready: now, clock: 0 });
            }
        }
    }

    /// Releases the memory of a frame that leaves `queue` without having been sent. This may resume
    /// a paused priority group.
    pub(super) fn forget<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
        queue: usize,
        frame: &Frame,
    ) {
        self.leave(node, port, queue, frame.size as u64);
        self.release(out, at, node, port, Sent::of(frame, queue as u8));
    }

    /// Subtracts a frame that has left `queue` from the occupancy of the queue, its port and its
    /// node.
    fn leave(&mut self, node: u32, port: u32, queue: usize, bytes: u64) {
        let p = &mut self.ports[port as usize];
        p.queued -= bytes;
        self.nodes[node as usize].used -= bytes;
        // A lane counts a frame only while the frame waits in it.
        if let Some(d) = p.features.as_mut().and_then(|a| a.discipline.as_mut()) {
            d.leave(queue, bytes);
        }
    }

    fn discipline(&mut self, port: u32) -> &mut Discipline {
        let a = self.ports[port as usize].features.as_mut();
        a.and_then(|a| a.discipline.as_mut()).expect("a port with a discipline")
    }

    /// Starts the next transmission at `at`, when the transmitter is idle: the first frame of the
    /// device queue, or else of the discipline. Then refills the device queue.
    #[cold]
    #[inline(never)]
    pub(super) fn start_disciplined<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
    ) {
        let waits = self.discipline(port).device.pop_front();
        let Some((waiting, queue)) = waits.or_else(|| self.pull(out, at, node, port)) else {
            if !self.lanes[port as usize].sending && self.is_disciplining(port) {
                self.await_expiry(out, port);
            }
            return;
        };
        let (frame, clock) = (waiting.frame, waiting.clock);
        self.discipline(port).waiting -= 1;
        self.depart(out, at, node, port, queue as usize, waiting, Some(clock));
        if self.nodes[node as usize].until_start {
            self.release(out, at, node, port, Sent::of(&frame, queue));
        }
        self.fill_device(out, at, node, port);
    }

    /// Moves frames from the discipline to the device queue while the device queue has space.
    pub(super) fn fill_device<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        loop {
            let d = self.discipline(port);
            if d.device.len() >= d.capacity {
                return;
            }
            let Some(next) = self.pull(out, now, node, port) else { return };
            self.discipline(port).device.push_back(next);
        }
    }

    /// Removes the next frame that the discipline releases at `at`. Returns it with its queue. The
    /// frame still counts as waiting.
    fn pull<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
    ) -> Option<(Waiting, u8)> {
        loop {
            let p = &mut self.ports[port as usize];
            let (queue, mut waiting, mut verdict) = next_of(p.features_mut(), at)?;
            let bytes = waiting.frame.size as u64;
            let state = &self.nodes[node as usize];
            let d = p.discipline().expect("just asked");
            if let Some(red) = state.marking(queue).filter(|red| red.at == MarkAt::Dequeue) {
                let behind = d.queues[queue].behind(waiting.frame.size);
                verdict = mark_at_start(red, behind, p, queue, &waiting.frame);
            }
            if matches!(verdict, Verdict::Drop(_)) {
                let d = self.discipline(port);
                d.waiting -= 1;
                d.unsent(queue, bytes);
                self.forget(out, at, node, port, queue, &waiting.frame);
            } else if state.until_start {
                self.leave(node, port, queue, bytes);
            } else {
                p.queued -= bytes;
            }
            if self.passes(port, queue, &mut waiting.frame, verdict) {
                return Some((waiting, queue as u8));
            }
            if self.ports[port as usize].pause().is_some() && self.lanes[port as usize].sending {
                // The memory of the dropped frame has resumed a priority group, and the PAUSE frame
                // that says so is now in transmission here.
                return None;
            }
        }
    }
}

/// Removes the next frame that a port's queues and their disciplines release at `at`. Returns its
/// queue, the frame, and the verdict on it.
fn next_of(a: &mut Features, at: u64) -> Option<(usize, Waiting, Verdict)> {
    let Features { discipline, pause, .. } = a;
    let d = discipline.as_mut().expect("only ports with one come here");
    d.catch_up(pause.as_deref(), at);
    let Discipline { queues, turns, aqm, .. } = &mut **d;
    let pause = pause.as_deref().filter(|pause| pause.holds_any(at));
    let may = |class: u8| pause.is_none_or(|pause| pause.may_send(class, at));
    let ask = |aqm: &mut [Box<dyn Policy>], queue: usize, q: &mut Queue| {
        let (waiting, verdict) = match aqm.get_mut(queue) {
            Some(aqm) if pause.is_none() => aqm.pull(&mut q.frames, at, q.bytes)?,
            Some(aqm) => aqm.pull_of(&mut q.frames, at, q.bytes, &may)?,
            None if !q.may_send(pause, at) => return None,
            None => (q.frames.pop_front()?, Verdict::Admit),
        };
        Some((queue, waiting, verdict))
    };
    // Empty queues are polled too, because a discipline updates its state when it finds its queue
    // empty.
    let Some(turns) = turns.as_deref_mut() else {
        // Strict priority: the highest queue comes first.
        return queues.iter_mut().enumerate().rev().find_map(|(queue, q)| ask(aqm, queue, q));
    };
    queues
        .iter_mut()
        .enumerate()
        .filter(|(_, q)| q.count == 0)
        .for_each(|(queue, q)| assert!(ask(aqm, queue, q).is_none(), "it is empty"));
    let from = |class: u8| if may(class) { 0 } else { u64::MAX };
    let head = |queue: usize| {
        let frames = &queues[queue].frames;
        aqm.get(queue).map_or(frames.front(), |aqm| aqm.head(frames))
    };
    let free = |queue: usize| match aqm.get(queue) {
        Some(aqm) => aqm.earliest(&queues[queue].frames, &from) == 0,
        None => queues[queue].may_send(pause, at),
    };
    match turns {
        Turns::Weighted(weighted) => {
            let next = weighted.choose(
                queues.len(),
                free,
                |queue| queues[queue].count == 0,
                |queue| {
                    let next = head(queue).expect("it may send");
                    (next.frame.size.into(), queues[queue].count == 1)
                },
            )?;
            ask(aqm, next, &mut queues[next])
        }
        Turns::Cores(cores) => {
            let next = cores.select(queues, at, free)?;
            let q = &mut queues[next];
            let (_, waiting, verdict) = ask(aqm, next, q)?;
            cores.charge(next, waiting.frame.size, q.count == 1);
            Some((next, waiting, verdict))
        }
    }
}
