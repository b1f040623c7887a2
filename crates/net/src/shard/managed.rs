//! Switches with a memory management unit: admission, release, and keeping the order of time while a release may cause a RESUME.

use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::queue::Reason;
use crate::queue::buffer::mmu::{Answer, CLASSES, Charge, Mmu, is_safe};

impl<'a> Shard<'a> {
    /// What a frame that came by `input` for a queue of `port` costs.
    #[inline(always)]
    pub(super) fn charge_of(&self, node: u32, port: u32, queue: u8, (input, class, bytes): (u32, u8, u16)) -> Charge {
        let state = &self.nodes[node as usize];
        let mmu = &state.managed.as_ref().expect("managed").mmu;
        // Virtual output queues can be more than the unit counts; its rules for them do not look at queues.
        Charge::new(mmu.size_of(bytes as u64, class), input - state.first_port, port - state.first_port, class, queue % CLASSES as u8)
    }

    /// May the frame, which costs `charge`, come in and wait at `port`? Asked under upper bounds first; if that does not settle it, with exact counters.
    #[inline(always)]
    pub(super) fn ask_managed<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame, charge: &Charge) -> Answer {
        let mut answer = self.mmu(node).answer(charge);
        if !O::CLASSICAL && !is_safe(answer) {
            answer = self.ask_exactly(out, now, node, charge, answer);
        }
        if answer.is_ok() && self.is_dropping(port, frame) { Err(Reason::Watchdog) } else { answer }
    }

    #[cold]
    #[inline(never)]
    fn ask_exactly<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, charge: &Charge, bounded: Answer) -> Answer {
        if self.mmu(node).paused > 0 {
            // Everything is in order up to now.
            return bounded;
        }
        self.drain(out, now, node);
        self.mmu(node).answer(charge)
    }

    #[inline(always)]
    pub(super) fn mmu(&mut self, node: u32) -> &mut Mmu {
        &mut self.nodes[node as usize].managed.as_mut().expect("managed").mmu
    }

    /// A frame has left.
    #[inline(always)]
    pub(super) fn release<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, charge: &Charge) {
        let mmu = self.mmu(node);
        mmu.release(charge);
        if mmu.paused > 0 {
            self.resume_groups(out, at, node, charge.input, charge.class());
        }
    }

    /// Memory has been freed by a frame of this group.
    #[cold]
    #[inline(never)]
    fn resume_groups<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, input: u32, class: u8) {
        let mmu = self.mmu(node);
        if !mmu.resumes_any() {
            if mmu.is_paused(input, class) && mmu.may_resume(input, class) {
                self.resume_group(out, at, node, input, class);
            }
            return;
        }
        let mut place = 0;
        while let Some((input, class)) = self.mmu(node).paused_group(place) {
            if self.mmu(node).may_resume(input, class) {
                // It leaves its place to the next one.
                self.resume_group(out, at, node, input, class);
            } else {
                place += 1;
            }
        }
    }

    /// Window engine: everything that ports of the node do by themselves up to `now`. While a group is paused, a frame that leaves may let it go on: then in the
    /// order of time and, at one moment, of ports.
    pub(super) fn drain<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let first = self.nodes[node as usize].first_port;
        loop {
            let managed = self.nodes[node as usize].managed.as_mut().expect("managed");
            if managed.mmu.paused == 0 {
                return self.settle_all(out, now, node);
            }
            if managed.next_due > now {
                return;
            }
            let (port, at, next) = managed.first_due();
            if at > now {
                managed.next_due = at;
                return;
            }
            // What the port does after this step is written down by the step.
            managed.next_due = next;
            self.step(out, at, node, first + port);
        }
    }

    /// Window engine: brings the node, or the port at hand, to `now`.
    #[inline(always)]
    pub fn bring_up<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        if self.nodes[node as usize].managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0) {
            self.drain(out, now, node);
        } else {
            self.advance(out, now, node, port);
        }
    }

    /// Window engine: writes down when the port acts next.
    #[inline(always)]
    pub(super) fn file_due(&mut self, node: u32, port: u32) {
        if self.nodes[node as usize].managed.as_ref().is_none_or(|managed| managed.mmu.paused == 0) {
            return;
        }
        let at = self.next_step(port);
        let state = &mut self.nodes[node as usize];
        state.managed.as_mut().expect("just seen").set_due(port - state.first_port, at);
    }

    /// Window engine: a first group is paused. From now on the node keeps the order of time.
    pub(super) fn file_all(&mut self, node: u32) {
        let (first, ports) = (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        (first..first + ports).for_each(|port| self.file_due(node, port));
    }

    /// Window engine, at the end of a window: while a group is paused, what ends must be seen to in its window too. Returns whether one still is.
    #[inline(never)]
    pub(super) fn finish_paused<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) -> bool {
        self.drain(out, end - 1, node);
        let managed = self.nodes[node as usize].managed.as_mut().expect("managed");
        let paused = managed.mmu.paused > 0;
        if paused {
            let (_, earliest, _) = managed.first_due();
            managed.next_due = earliest;
            self.wake_by(out, node, earliest);
        }
        paused
    }
}
