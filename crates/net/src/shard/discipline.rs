//! Ports with a queue discipline (AQM) or a device queue: enqueues, dequeues and drops their
//! frames.

use super::count::mark_at_start;
use super::forward::{rank, stamp};
use super::pause::carry_pause;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::{Automaton, Discipline, Queue, Waiting};
use crate::queue::Verdict;
use crate::queue::buffer::Place;
use crate::queue::buffer::mmu::{Charge, Take};
use crate::queue::scheduling::Turns;
use crate::spec::MarkAt;
use afflux_engine::random::Stream;
use std::collections::VecDeque;

impl Discipline {
    /// Enqueues a frame. Returns the frames that the discipline drops, trims or marks as a result,
    /// each with its verdict.
    fn push(
        &mut self,
        queue: usize,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        stream: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        match self.aqm.get_mut(queue) {
            Some(aqm) => aqm.push(frames, waiting, stream),
            None => {
                frames.push_back(waiting);
                Vec::new()
            }
        }
    }
}

impl<'a> Shard<'a> {
    /// Automaton: lets a frame that buffer and marking have admitted join `queue`, if the
    /// discipline accepts it. `charge`: memory still to be charged to the memory management unit,
    /// none if `HELD`. `place`: place in the memory of virtual output queues.
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
        (charge, place): (Option<(Charge, Take)>, Option<Place>),
    ) {
        let p = &mut self.ports[port as usize];
        let a = p.automaton.as_mut().expect("not plain");
        waiting.clock = a.pause.as_ref().map_or_else(
            || rank(&self.extras, &waiting.frame),
            |pause| pause.clock(waiting.frame.priority(), now),
        );
        a.catch_up(now);
        let d = a.discipline.as_mut().expect("only ports with one come here");
        let q = &mut a.queues[queue];
        let verdict = d.aqm.get_mut(queue).map_or(Verdict::Admit, |aqm| {
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
        if let Some((charge, taken)) = charge {
            self.mmu(node).charge(&charge, taken.headroom);
            if taken.pause {
                self.pause_group(out, now, node, charge.input, charge.class());
            }
        }
        self.take_in(out, now, node, port, queue, waiting);
        let p = &mut self.ports[port as usize];
        if p.automaton.as_ref().is_some_and(|a| a.series.is_some()) {
            p.note_length(self.nodes[node as usize].until_start, queue);
        }
        if p.automaton.as_ref().is_some_and(|a| a.sending.is_none()) {
            self.start_next(out, now, node, port);
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
        let a = p.automaton.as_mut().expect("not plain");
        if let Some(turns) = &mut a.turns {
            turns.joined(queue, waiting.frame.size);
        }
        let q = &mut a.queues[queue];
        q.bytes += size;
        q.count += 1;
        a.waiting += 1;
        let back = a.discipline.as_mut().expect("only ports with one come here").push(
            queue,
            &mut q.frames,
            waiting,
            &mut p.stream,
        );
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
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            a.waiting -= 1;
            if let Some(turns) = &mut a.turns {
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
        if self.nodes[node as usize].managed.is_some() {
            let charge =
                self.charge_of(node, port, queue as u8, (frame.port, frame.priority(), frame.size));
            self.release(out, at, node, &charge);
        }
    }

    /// Subtracts bytes from the occupancy of `queue`, its port and its node.
    pub(super) fn leave(&mut self, node: u32, port: u32, queue: usize, bytes: u64) {
        self.ports[port as usize].leave(queue, bytes);
        self.nodes[node as usize].used -= bytes;
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
        let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
        let waits = a.discipline.as_mut().and_then(|d| d.device.pop_front());
        let Some((Waiting { mut frame, ready, clock }, queue)) =
            waits.or_else(|| self.pull(out, at, node, port))
        else {
            if self.ports[port as usize]
                .automaton
                .as_ref()
                .is_some_and(|a| a.sending.is_none() && a.waiting > 0)
            {
                self.await_expiry(out, port);
            }
            return self.file_due(node, port);
        };
        let explains = self.world.plan.record.explain;
        let (state, p) = (&self.nodes[node as usize], &mut self.ports[port as usize]);
        let (bytes, until_start, late) =
            (frame.size as u64, state.until_start, state.arrivals_first as u64);
        if frame.has(Frame::EXTRA) && !self.world.rates.is_empty() && !state.host {
            let beside = if until_start { 0 } else { bytes };
            stamp(&mut self.extras[frame.aux], &frame, p, (at, beside), &self.world.rates);
        }
        let a = p.automaton.as_mut().expect("not plain");
        a.waiting -= 1;
        if explains && let Some(pause) = &a.pause {
            let paused = pause.clock(frame.priority(), at) - clock;
            if paused > 0 {
                frame = carry_pause(&mut self.extras, frame, paused);
            }
        }
        let departure = p.depart(at, queue as usize, Waiting { frame, ready, clock });
        let managed = state.managed.is_some();
        self.carry_out(out, port, frame, departure, late);
        if managed {
            if until_start {
                let charge =
                    self.charge_of(node, port, queue, (frame.port, frame.priority(), frame.size));
                self.release(out, at, node, &charge);
            }
            if !O::CLASSICAL {
                self.file_due(node, port);
            }
        }
        self.fill_device(out, at, node, port);
    }

    /// Moves frames from the discipline to the device queue while the device queue has space.
    pub(super) fn fill_device<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        loop {
            let a = self.ports[port as usize].automaton.as_ref().expect("not plain");
            if a.discipline.as_ref().is_none_or(|d| d.device.len() >= d.capacity) {
                return;
            }
            let Some(next) = self.pull(out, now, node, port) else { return };
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            a.discipline.as_mut().expect("just seen").device.push_back(next);
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
            let a = p.automaton.as_mut().expect("not plain");
            let (queue, mut waiting, mut verdict) = next_of(a, at)?;
            let bytes = waiting.frame.size as u64;
            let state = &self.nodes[node as usize];
            if let Some(red) = state.marking(queue).filter(|red| red.at == MarkAt::Dequeue) {
                let q = &mut a.queues[queue];
                let behind = red.length(q.behind(waiting.frame.size));
                verdict =
                    mark_at_start(red, q, &mut p.stream, behind, waiting.frame.has(Frame::ECT));
            }
            if matches!(verdict, Verdict::Drop(_)) {
                a.waiting -= 1;
                a.unsent(queue, bytes);
                self.forget(out, at, node, port, queue, &waiting.frame);
            } else if state.until_start {
                self.leave(node, port, queue, bytes);
            }
            if self.passes(port, queue, &mut waiting.frame, verdict) {
                return Some((waiting, queue as u8));
            }
            if self.ports[port as usize]
                .automaton
                .as_ref()
                .is_some_and(|a| a.pause.is_some() && a.sending.is_some())
            {
                // The memory of the dropped frame has resumed a priority group, and the PAUSE frame
                // that says so is now in transmission here.
                return None;
            }
        }
    }
}

/// Removes the next frame that a port's queues and their disciplines release at `at`. Returns its
/// queue, the frame, and the verdict on it.
fn next_of(a: &mut Automaton, at: u64) -> Option<(usize, Waiting, Verdict)> {
    a.catch_up(at);
    let Automaton { queues, turns, discipline, pause, .. } = a;
    let pause = pause.as_deref().filter(|pause| pause.holds_any(at));
    let may = |class: u8| pause.is_none_or(|pause| pause.may_send(class, at));
    let aqm = &mut discipline.as_mut().expect("only ports with one come here").aqm;
    let mut ask = |queue: usize, q: &mut Queue| match aqm.get_mut(queue) {
        Some(aqm) if pause.is_none() => {
            aqm.pull(&mut q.frames, at, q.bytes).map(|(waiting, verdict)| (queue, waiting, verdict))
        }
        Some(aqm) => aqm
            .pull_of(&mut q.frames, at, q.bytes, &may)
            .map(|(waiting, verdict)| (queue, waiting, verdict)),
        None => q.frames.pop_front().map(|waiting| (queue, waiting, Verdict::Admit)),
    };
    // Empty queues are polled too, because a discipline updates its state when it finds its queue
    // empty.
    let Some(turns) = turns.as_deref_mut() else {
        // Strict priority: the highest queue comes first.
        return queues.iter_mut().enumerate().rev().find_map(|(queue, q)| ask(queue, q));
    };
    queues
        .iter_mut()
        .enumerate()
        .filter(|(_, q)| q.count == 0)
        .for_each(|(queue, q)| assert!(ask(queue, q).is_none(), "it is empty"));
    match turns {
        Turns::Weighted(weighted) => {
            let next = weighted.next(queues, |q| q.may_send(pause, at))?;
            ask(next, &mut queues[next])
        }
        Turns::Cores(cores) => {
            let from = |class: u8| if may(class) { 0 } else { u64::MAX };
            let free = |queue: usize| {
                queues[queue].count > 0
                    && (pause.is_none() || aqm[queue].earliest(&queues[queue].frames, &from) == 0)
            };
            let next = cores.select(queues, at, free)?;
            let q = &mut queues[next];
            let (waiting, verdict) = aqm[next].pull_of(&mut q.frames, at, q.bytes, &may)?;
            cores.charge(next, waiting.frame.size, q.count == 1);
            Some((next, waiting, verdict))
        }
    }
}
