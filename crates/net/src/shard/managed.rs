//! Switches with a memory management unit: admission, release, and the order of time among ports
//! while a release may cause a RESUME.

use super::lane::Sent;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::queue::Reason;
use crate::queue::buffer::mmu::{Answer, Charge, Mmu, is_safe};

impl<'a> Shard<'a> {
    /// Asks the unit of a node, if there is one, whether the frame may occupy memory and wait in
    /// `queue` of `port`. Asks under upper bounds first, and with exact counters if these do not
    /// decide. Returns what the frame would be charged, and the answer.
    #[inline(always)]
    pub(super) fn ask_managed<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        frame: &Frame,
    ) -> Option<(Charge, Answer)> {
        let state = &self.nodes[node as usize];
        let managed = state.managed.as_deref()?;
        let charge = managed.charge_of(state.first_port, port, Sent::of(frame, queue as u8));
        let mut answer = managed.mmu.answer(&charge);
        if !O::CLASSICAL && !is_safe(answer) && managed.mmu.paused == 0 {
            answer = self.ask_exactly(out, now, node, &charge);
        }
        if answer.is_ok() && self.is_dropping(port, frame) {
            answer = Err(Reason::Watchdog);
        }
        Some((charge, answer))
    }

    /// Asks the unit with exact counters. While a group is paused they are always exact: all ports
    /// have been advanced to the current time.
    #[cold]
    #[inline(never)]
    fn ask_exactly<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        charge: &Charge,
    ) -> Answer {
        self.drain(out, now, node);
        self.mmu(node).answer(charge)
    }

    #[inline(always)]
    pub(super) fn mmu(&mut self, node: u32) -> &mut Mmu {
        &mut self.nodes[node as usize].managed.as_mut().expect("managed").mmu
    }

    /// Releases the memory of a frame that has left, if the node has a unit.
    #[inline(always)]
    pub(super) fn release<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
        sent: Sent,
    ) {
        let state = &mut self.nodes[node as usize];
        let first = state.first_port;
        let Some(managed) = &mut state.managed else { return };
        let charge = managed.charge_of(first, port, sent);
        managed.mmu.release(&charge);
        if managed.mmu.paused > 0 {
            self.resume_groups(out, at, node, charge.input, charge.class());
        }
    }

    /// Resumes paused groups if possible, after a frame of this group has released memory.
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
                // The resumed group leaves the list, and the next one takes its place.
                self.resume_group(out, at, node, input, class);
            } else {
                place += 1;
            }
        }
    }

    /// Window engine: processes everything that ports of the node do without a new arrival up to
    /// `now`. While a group is paused, a departing frame may resume it. The ports then act in order
    /// of time and, at one instant, in order of their numbers.
    pub(super) fn drain<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let first = self.nodes[node as usize].first_port;
        loop {
            let managed = self.nodes[node as usize].managed.as_mut().expect("managed");
            if managed.mmu.paused == 0 {
                return self.release_all(out, now, node);
            }
            if managed.next_due > now {
                return;
            }
            let (port, at, next) = managed.first_due();
            if at > now {
                managed.next_due = at;
                return;
            }
            // The step itself notes when this port acts next.
            managed.next_due = next;
            self.step_exact(out, at, node, first + port);
        }
    }

    /// Window engine: advances the port to `now`; while a group is paused, the whole node.
    #[inline(always)]
    pub fn bring_up<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        if self.nodes[node as usize].managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0)
        {
            self.drain(out, now, node);
        } else {
            self.advance(out, now, node, port);
        }
    }

    /// Window engine: notes when the port acts next, while a group is paused.
    #[inline(always)]
    pub(super) fn file_due(&mut self, node: u32, port: u32) {
        if self.nodes[node as usize].managed.as_ref().is_none_or(|managed| managed.mmu.paused == 0)
        {
            return;
        }
        let at = self.next_exact(port);
        let state = &mut self.nodes[node as usize];
        state.managed.as_mut().expect("just seen").set_due(port - state.first_port, at);
    }

    /// Window engine: notes when each port acts next, because a first group is paused. From now on
    /// the ports of the node act in order of time.
    pub(super) fn file_all(&mut self, node: u32) {
        let (first, ports) =
            (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        (first..first + ports).for_each(|port| self.file_due(node, port));
    }

    /// Window engine, end of a window: while a group is paused, processes all transmissions that
    /// end in the window. Returns whether a group is still paused.
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
