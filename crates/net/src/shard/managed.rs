//! Switches with a memory management unit: admission, release, and the order of time among ports
//! while a release may cause a RESUME.

use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::queue::Reason;
use crate::queue::buffer::mmu::{Answer, CLASSES, Charge, Mmu, is_safe};

impl<'a> Shard<'a> {
    /// Returns the charge for a frame that arrived by `input` and joins a queue of `port`.
    #[inline(always)]
    pub(super) fn charge_of(
        &self,
        node: u32,
        port: u32,
        queue: u8,
        (input, class, bytes): (u32, u8, u16),
    ) -> Charge {
        let state = &self.nodes[node as usize];
        let mmu = &state.managed.as_ref().expect("managed").mmu;
        // A port may have more virtual output queues than the unit counts, but the unit's rules for
        // them do not read queue lengths.
        Charge::new(
            mmu.size_of(bytes as u64, class),
            input - state.first_port,
            port - state.first_port,
            class,
            queue % CLASSES as u8,
        )
    }

    /// Decides whether the frame, with this charge, may occupy memory and wait at `port`. Asks the
    /// unit under upper bounds first, and with exact counters if these do not decide.
    #[inline(always)]
    pub(super) fn ask_managed<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
        charge: &Charge,
    ) -> Answer {
        let mut answer = self.mmu(node).answer(charge);
        if !O::CLASSICAL && !is_safe(answer) {
            answer = self.ask_exactly(out, now, node, charge, answer);
        }
        if answer.is_ok() && self.is_dropping(port, frame) { Err(Reason::Watchdog) } else { answer }
    }

    #[cold]
    #[inline(never)]
    fn ask_exactly<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        charge: &Charge,
        bounded: Answer,
    ) -> Answer {
        if self.mmu(node).paused > 0 {
            // While a group is paused, the counters are exact: all ports have been advanced to
            // `now`.
            return bounded;
        }
        self.drain(out, now, node);
        self.mmu(node).answer(charge)
    }

    #[inline(always)]
    pub(super) fn mmu(&mut self, node: u32) -> &mut Mmu {
        &mut self.nodes[node as usize].managed.as_mut().expect("managed").mmu
    }

    /// Releases the memory of a frame that has left.
    #[inline(always)]
    pub(super) fn release<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, charge: &Charge) {
        let mmu = self.mmu(node);
        mmu.release(charge);
        if mmu.paused > 0 {
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
