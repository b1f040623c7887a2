//! Ports with a queue discipline or a device queue: what happens besides queueing.

use super::forward::{Drop, left_behind, red_average, red_verdict};
use super::{Outlet, Shard};
use crate::aqm::Verdict as Early;
use crate::frame::Frame;
use crate::port::{Discipline, Waiting};
use crate::spec::MarkAt;
use std::collections::VecDeque;

impl Discipline {
    /// Takes a frame in; gives back those that have to go because there are too many.
    pub fn push(&mut self, queue: usize, frames: &mut VecDeque<Waiting>, waiting: Waiting) -> Vec<Frame> {
        match self.aqm.get_mut(queue) {
            Some(aqm) => aqm.push(frames, waiting),
            None => {
                frames.push_back(waiting);
                Vec::new()
            }
        }
    }
}

impl<'a> Shard<'a> {
    /// Automaton: what marking and disciplines say when a frame arrives that the buffer has room for.
    #[inline(always)]
    pub(super) fn early(&mut self, now: u64, node: u32, port: u32, queue: usize, capable: bool) -> Early {
        let p = &mut self.ports[port as usize];
        if let Some(red) = &self.nodes[node as usize].marking {
            let length = if red.in_packets { p.count(queue) as u64 } else { p.queue_bytes(queue) };
            if red.at == MarkAt::Enqueue {
                return red_verdict(red, now, length, p, capable);
            }
            red_average(red, now, length, p);
        }
        let bytes = p.queue_bytes(queue);
        let discipline = p.automaton.as_mut().and_then(|a| a.discipline.as_mut());
        match discipline.and_then(|d| d.aqm.get_mut(queue)) {
            Some(aqm) => aqm.on_enqueue(now, bytes, capable, &mut p.stream),
            None => Early::Send,
        }
    }

    /// Frames of a queue that the discipline no longer has room for.
    pub(super) fn drop_surplus(&mut self, node: u32, port: u32, queue: usize, surplus: Vec<Frame>) {
        for frame in surplus {
            self.leave(node, port, queue, frame.size as u64);
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            a.waiting -= 1;
            a.note(queue, |i| i.drops += 1);
            self.drop_frame(frame, Drop::Buffer);
        }
    }

    /// Bytes no longer occupy the buffer.
    fn leave(&mut self, node: u32, port: u32, queue: usize, bytes: u64) {
        let p = &mut self.ports[port as usize];
        let q = &mut p.automaton.as_mut().expect("not plain").queues[queue];
        q.bytes -= bytes;
        q.count -= 1;
        p.queued -= bytes;
        self.nodes[node as usize].used -= bytes;
    }

    /// The transmitter is free at `at`: the head of the device queue goes, or of the discipline, which then fills the device queue again.
    #[inline(never)]
    pub(super) fn start_disciplined<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
        let waits = a.discipline.as_mut().and_then(|d| d.device.pop_front());
        let Some((Waiting { frame, ready }, queue)) = waits.or_else(|| self.pull(at, node, port)) else { return };
        self.ports[port as usize].automaton.as_mut().expect("not plain").waiting -= 1;
        self.transmit(out, at, port, frame, ready, queue as usize);
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
            let d = a.discipline.as_mut().expect("only ports with one come here");
            // The highest priority first; a queue that is asked in vain learns that it was.
            let (queue, mut waiting, mut verdict) = a.queues.iter_mut().enumerate().rev().find_map(|(queue, q)| match d.aqm.get_mut(queue) {
                Some(aqm) => aqm.pull(&mut q.frames, at, q.bytes).map(|(waiting, verdict)| (queue, waiting, verdict)),
                None => q.frames.pop_front().map(|waiting| (queue, waiting, Early::Send)),
            })?;
            let (bytes, capable) = (waiting.frame.size as u64, waiting.frame.has(Frame::ECT));
            let state = &self.nodes[node as usize];
            if let Some(red) = state.marking.as_ref().filter(|red| red.at == MarkAt::Dequeue) {
                let present = left_behind(red, &a.queues[queue], bytes);
                let seen = if red.weight.is_some() { p.memory.average } else { present as f64 };
                verdict = red.verdict(seen, present, capable, &mut p.memory, &mut p.stream);
            }
            if state.until_start || verdict == Early::Drop {
                self.leave(node, port, queue, bytes);
            }
            match verdict {
                Early::Send => {}
                Early::Mark => {
                    waiting.frame.flags |= Frame::CE;
                    self.counters.ecn_marks += 1;
                    self.note(port, queue, |i| i.marks += 1);
                }
                Early::Drop => {
                    self.ports[port as usize].automaton.as_mut().expect("not plain").waiting -= 1;
                    self.note(port, queue, |i| i.drops += 1);
                    self.drop_frame(waiting.frame, Drop::Red);
                    continue;
                }
            }
            return Some((waiting, queue as u8));
        }
    }
}
