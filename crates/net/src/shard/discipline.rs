//! Ports with a queue discipline or a device queue: what happens besides queueing.

use super::count::mark_at_start;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::{Discipline, Queue, Waiting};
use crate::queue::Verdict;
use crate::spec::MarkAt;
use afflux_engine::random::Stream;
use std::collections::VecDeque;

impl Discipline {
    /// Takes a frame in; gives back those that cannot stay as they are, and what becomes of them.
    fn push(&mut self, queue: usize, frames: &mut VecDeque<Waiting>, waiting: Waiting, stream: &mut Stream) -> Vec<(Frame, Verdict)> {
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
    /// Automaton: a frame that the buffer has room for, and that marking let pass, wants to join `queue`.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_disciplined<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, queue: usize, mut waiting: Waiting) {
        let p = &mut self.ports[port as usize];
        let a = p.automaton.as_mut().expect("not plain");
        let d = a.discipline.as_mut().expect("only ports with one come here");
        let q = &mut a.queues[queue];
        let verdict = d.aqm.get_mut(queue).map_or(Verdict::Admit, |aqm| aqm.on_enqueue(now, q.bytes, waiting.frame.has(Frame::ECT), &mut p.stream));
        if !self.passes(port, queue, &mut waiting.frame, verdict) {
            return;
        }
        self.take_in(now, node, port, queue, waiting);
        let p = &mut self.ports[port as usize];
        if p.automaton.as_ref().is_some_and(|a| a.series.is_some()) {
            p.note_length(self.nodes[node as usize].until_start, queue);
        }
        if p.automaton.as_ref().is_some_and(|a| a.sending.is_none()) {
            self.start_disciplined(out, now, node, port);
        } else {
            self.fill_device(now, node, port);
        }
        if !O::CLASSICAL {
            self.list(node, port);
        }
    }

    /// A frame joins `queue`.
    fn take_in(&mut self, now: u64, node: u32, port: u32, queue: usize, waiting: Waiting) {
        let size = waiting.frame.size as u64;
        self.nodes[node as usize].used += size;
        let p = &mut self.ports[port as usize];
        p.queued += size;
        let a = p.automaton.as_mut().expect("not plain");
        let q = &mut a.queues[queue];
        q.bytes += size;
        q.count += 1;
        a.waiting += 1;
        let back = a.discipline.as_mut().expect("only ports with one come here").push(queue, &mut q.frames, waiting, &mut p.stream);
        self.give_back(now, node, port, queue, back);
    }

    /// Frames that a queue's discipline gives back. What is left of them joins it again.
    pub(super) fn give_back(&mut self, now: u64, node: u32, port: u32, queue: usize, back: Vec<(Frame, Verdict)>) {
        for (mut frame, verdict) in back {
            self.leave(node, port, queue, frame.size as u64);
            self.ports[port as usize].automaton.as_mut().expect("not plain").waiting -= 1;
            if self.passes(port, queue, &mut frame, verdict) {
                self.take_in(now, node, port, queue, Waiting { frame, ready: now, clock: 0 });
            }
        }
    }

    /// Bytes no longer occupy the buffer.
    pub(super) fn leave(&mut self, node: u32, port: u32, queue: usize, bytes: u64) {
        self.ports[port as usize].leave(queue, bytes);
        self.nodes[node as usize].used -= bytes;
    }

    /// The transmitter is free at `at`: the head of the device queue goes, or of the discipline, which then fills the device queue again.
    #[cold]
    #[inline(never)]
    pub(super) fn start_disciplined<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
        let waits = a.discipline.as_mut().and_then(|d| d.device.pop_front());
        let Some((waiting, queue)) = waits.or_else(|| self.pull(at, node, port)) else { return };
        let p = &mut self.ports[port as usize];
        p.automaton.as_mut().expect("not plain").waiting -= 1;
        let departure = p.depart(at, queue as usize, waiting);
        let late = self.nodes[node as usize].arrivals_first as u64;
        self.carry_out(out, port, waiting.frame, departure, late);
        self.fill_device(at, node, port);
    }

    /// What the discipline has goes to the device queue while there is room.
    pub(super) fn fill_device(&mut self, now: u64, node: u32, port: u32) {
        loop {
            let a = self.ports[port as usize].automaton.as_ref().expect("not plain");
            if a.discipline.as_ref().is_none_or(|d| d.device.len() >= d.room) {
                return;
            }
            let Some(next) = self.pull(now, node, port) else { return };
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            a.discipline.as_mut().expect("just seen").device.push_back(next);
        }
    }

    /// The next frame that the discipline lets go at `at`, and its queue; it still counts as waiting.
    fn pull(&mut self, at: u64, node: u32, port: u32) -> Option<(Waiting, u8)> {
        loop {
            let p = &mut self.ports[port as usize];
            let a = p.automaton.as_mut().expect("not plain");
            let turn = a.turns.is_some().then(|| a.next_in_turn(at));
            let d = a.discipline.as_mut().expect("only ports with one come here");
            let mut ask = |queue: usize, q: &mut Queue| match d.aqm.get_mut(queue) {
                Some(aqm) => aqm.pull(&mut q.frames, at, q.bytes).map(|(waiting, verdict)| (queue, waiting, verdict)),
                None => q.frames.pop_front().map(|waiting| (queue, waiting, Verdict::Admit)),
            };
            // A queue that is asked in vain learns that it was.
            let (queue, mut waiting, mut verdict) = match turn {
                // The highest priority first.
                None => a.queues.iter_mut().enumerate().rev().find_map(|(queue, q)| ask(queue, q))?,
                Some(next) => {
                    a.queues.iter_mut().enumerate().filter(|(_, q)| q.frames.is_empty()).for_each(|(queue, q)| assert!(ask(queue, q).is_none(), "it is empty"));
                    let next = next?;
                    ask(next, &mut a.queues[next])?
                }
            };
            let bytes = waiting.frame.size as u64;
            let state = &self.nodes[node as usize];
            if let Some(red) = state.marking(queue).filter(|red| red.at == MarkAt::Dequeue) {
                let q = &mut a.queues[queue];
                let behind = red.length(q.behind(waiting.frame.size));
                verdict = mark_at_start(red, q, &mut p.stream, behind, waiting.frame.has(Frame::ECT));
            }
            let drops = matches!(verdict, Verdict::Drop(_));
            if drops {
                a.waiting -= 1;
                a.unsent(queue, bytes);
            }
            if state.until_start || drops {
                self.leave(node, port, queue, bytes);
            }
            if self.passes(port, queue, &mut waiting.frame, verdict) {
                return Some((waiting, queue as u8));
            }
        }
    }
}
