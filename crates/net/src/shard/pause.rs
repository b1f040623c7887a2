//! Sends PAUSE frames, and applies them at the receiver.

use super::lane::Sent;
use super::{Outlet, Shard, Slab};
use crate::frame::{Event, Extra, Frame};
use crate::port::PAUSE_QUEUE;

impl<'a> Shard<'a> {
    /// Pauses a priority group, or announces its pause again.
    #[cold]
    #[inline(never)]
    pub(super) fn pause_group<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        input: u32,
        class: u8,
    ) {
        let port = self.nodes[node as usize].first_port + input;
        let mmu = self.mmu(node);
        if !mmu.is_paused(input, class) {
            mmu.set_paused(input, class, true);
            if !O::CLASSICAL && mmu.paused == 1 {
                self.file_all(node);
            }
            // A paused group keeps the run going, because its RESUME is still to come.
            self.live += 1;
            let pause = self.pause_of(port);
            pause.asserted |= 1 << class;
            pause.asserted_since[class as usize] = now;
            self.arm_refresh(out, now, node, port, class);
        }
        self.announce(out, now, node, port, class);
    }

    #[cold]
    pub(super) fn resume_group<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        input: u32,
        class: u8,
    ) {
        let port = self.nodes[node as usize].first_port + input;
        self.mmu(node).set_paused(input, class, false);
        self.pause_of(port).asserted &= !(1 << class);
        self.announce(out, now, node, port, class);
        self.live -= 1;
    }

    pub(super) fn pause_of(&mut self, port: u32) -> &mut crate::queue::flowcontrol::Pause {
        self.ports[port as usize]
            .features
            .as_mut()
            .and_then(|a| a.pause.as_mut())
            .expect("a port with flow control")
    }

    /// Classical engine: processes an event of a port at which frames can be blocked. Either a
    /// transmission ends, or the blocked frames may be free to go.
    #[cold]
    #[inline(never)]
    pub(super) fn paused_port_due<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
    ) {
        let late = self.nodes[node as usize].arrivals_first as u64;
        let p = &mut self.ports[port as usize];
        let (free_at, a) = (p.free_at, p.features_mut());
        if a.wake_at == now {
            a.wake_at = 0;
        }
        // Otherwise the event belongs to a pause that was replaced, or that ended during a
        // transmission.
        if !self.lanes[port as usize].sending || free_at + late == now {
            self.step_exact(out, now - late, node, port);
        }
    }

    /// Classical engine: schedules an event for the time at which a port whose waiting frames are
    /// all blocked may send again.
    #[cold]
    pub(super) fn await_expiry<O: Outlet>(&mut self, out: &mut O, port: u32) {
        if !O::CLASSICAL {
            return;
        }
        let p = &self.ports[port as usize];
        let late = self.nodes[p.node as usize].arrivals_first as u64;
        let at = self.next_exact(port).saturating_add(late);
        let a = self.ports[port as usize].features_mut();
        if at < u64::MAX && a.wake_at != at {
            a.wake_at = at;
            out.sent(at, port);
        }
    }

    /// Announces the state of a class to the peer. The PAUSE frame is the next frame that starts at
    /// this port, which has been advanced to `now`.
    fn announce<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, class: u8) {
        self.ports[port as usize].pause_seen = true;
        let pause = self.pause_of(port);
        if pause.pending == 0 {
            self.live += 1;
        }
        let pause = self.pause_of(port);
        pause.pending |= 1 << class;
        if !self.lanes[port as usize].sending {
            self.start_exact(out, now, node, port);
        } else if !O::CLASSICAL {
            self.list(node, port);
        }
    }

    /// Sends a PAUSE frame with everything that is to be announced. The transmitter is idle at
    /// `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn send_pause<O: Outlet>(&mut self, out: &mut O, at: u64, port: u32) {
        let p = &mut self.ports[port as usize];
        let (peer_port, peer_shard) = (p.peer_port, p.peer_shard);
        let pause =
            p.features.as_mut().and_then(|a| a.pause.as_mut()).expect("a port with flow control");
        let classes = std::mem::take(&mut pause.pending);
        pause.sent += 1;
        let delay = pause.delay;
        let frame = Frame::pause(peer_port, classes, classes & pause.asserted, pause.quanta);
        p.send_pause(at, &frame);
        let lane = &mut self.lanes[port as usize];
        lane.sent = Sent { input: 0, size: frame.size, flags: 0, queue: PAUSE_QUEUE };
        lane.sending = true;
        let ends = p.free_at;
        self.counters.pause_frames += 1;
        if O::CLASSICAL {
            out.sent(ends, port);
        }
        out.pause(ends + delay, peer_shard, frame);
    }

    /// Applies a PAUSE frame at the time at which it takes effect.
    #[cold]
    #[inline(never)]
    pub(super) fn on_pause<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: Frame) {
        let port = frame.port;
        self.last = self.last.max(now);
        self.live -= 1;
        self.counters.packet_hops += 1;
        if self.ports[port as usize].features.as_ref().is_none_or(|a| a.pause.is_none()) {
            return;
        }
        if !O::CLASSICAL {
            self.bring_up(out, now, node, port);
        }
        let (classes, xoff, quanta) = frame.pause_parts();
        self.ports[port as usize].pause_seen = true;
        self.ports[port as usize].features_mut().catch_up(now);
        self.pause_of(port).receive(now, classes, xoff, quanta);
        self.hold(out, now, node, port);
        if self.nodes[node as usize].host {
            self.free_for_pairs(out, now, node, port);
        }
    }

    fn arm_refresh<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, class: u8) {
        let pause = self.pause_of(port);
        if pause.half == 0 {
            return;
        }
        let at = now + pause.half;
        pause.refresh_at[class as usize] = at;
        let number = port - self.nodes[node as usize].first_port;
        let event = self.event(node, number << 3 | class as u32, Event::Refresh);
        out.event(at, event);
    }

    /// Repeats a PAUSE after half of its duration, if the group is still in the same pause. Resumes
    /// the group instead if its memory allows.
    pub(super) fn on_refresh<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, which: u32) {
        let (input, class) = (which >> 3, (which & 7) as u8);
        let port = self.nodes[node as usize].first_port + input;
        if self.mmu(node).is_paused(input, class)
            && self.pause_of(port).refresh_at[class as usize] == now
        {
            if self.mmu(node).may_resume(input, class) {
                // Rules that check a group only when one of its own frames leaves may miss memory
                // that other groups have released.
                return self.resume_group(out, now, node, input, class);
            }
            self.arm_refresh(out, now, node, port, class);
            self.announce(out, now, node, port, class);
        }
    }

    /// Sends the next PAUSE frame of a host's pause storm, whatever the host receives.
    pub(super) fn on_storm<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let state = &self.nodes[node as usize];
        let storm = self.world.plan.hosts
            [self.world.plan.topology.nodes[state.id as usize].config as usize]
            .storm
            .expect("a stormy host");
        self.last = self.last.max(now);
        for port in state.first_port..state.first_port + state.ports {
            if !O::CLASSICAL {
                self.advance(out, now, node, port);
            }
            self.pause_of(port).asserted = 1 << storm.priority;
            self.announce(out, now, node, port, storm.priority);
        }
        let next = now + storm.period.0;
        if storm.until.is_none_or(|until| next < until.0) {
            let event = self.event(node, 0, Event::Storm);
            out.event(next, event);
        } else {
            self.live -= 1;
        }
    }
}

/// Adds a time in ps for which a frame was paused to its metadata. Control frames without metadata
/// stay as they are.
#[cold]
#[inline(never)]
pub(super) fn carry_pause(extras: &mut Slab<Extra>, mut frame: Frame, paused: u64) -> Frame {
    if frame.has(Frame::EXTRA) {
        extras[frame.aux].paused += paused;
    } else if !matches!(frame.kind(), Frame::CONTROL | Frame::TO_SWITCH) {
        frame.aux = extras.insert(Extra { paused, ..Extra::for_frame(&frame) });
        frame.flags |= Frame::EXTRA;
    }
    frame
}
