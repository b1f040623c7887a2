//! PAUSE frames: when they are sent, and what they do.

use super::lane::Sent;
use super::{Outlet, Shard, Slab};
use crate::frame::{Event, Extra, Frame};
use crate::port::PAUSE_QUEUE;

impl<'a> Shard<'a> {
    /// There is cause to pause a priority group (again).
    #[cold]
    #[inline(never)]
    pub(super) fn pause_group<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, input: u32, class: u8) {
        let port = self.nodes[node as usize].first_port + input;
        let mmu = self.mmu(node);
        if !mmu.is_paused(input, class) {
            mmu.set_paused(input, class, true);
            if !O::CLASSICAL && mmu.paused == 1 {
                self.file_all(node);
            }
            // Something is left to happen as long as a group is paused.
            self.live += 1;
            let pause = self.pause_of(port);
            pause.asserted |= 1 << class;
            pause.asserted_since[class as usize] = now;
            self.arm_refresh(out, now, node, port, class);
        }
        self.announce(out, now, node, port, class);
    }

    #[cold]
    pub(super) fn resume_group<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, input: u32, class: u8) {
        let port = self.nodes[node as usize].first_port + input;
        self.mmu(node).set_paused(input, class, false);
        self.pause_of(port).asserted &= !(1 << class);
        self.announce(out, now, node, port, class);
        self.live -= 1;
    }

    pub(super) fn pause_of(&mut self, port: u32) -> &mut crate::queue::flowcontrol::Pause {
        self.ports[port as usize].automaton.as_mut().and_then(|a| a.pause.as_mut()).expect("a port with flow control")
    }

    /// Classical engine: a port at which frames can be held back ends a transmission, or what holds them back may be over.
    #[cold]
    #[inline(never)]
    pub(super) fn paused_port_due<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let p = &mut self.ports[port as usize];
        let (free_at, a) = (p.free_at, p.automaton.as_mut().expect("not plain"));
        if a.wake_at == now {
            a.wake_at = 0;
        }
        // Otherwise the event was for a pause that has been replaced, or for one that ended while something was in transmission.
        if !self.is_sending(port) || free_at == now {
            self.step(out, now, node, port);
        }
    }

    /// Frames wait at a port that can send none of them. The classical engine files an event for the moment at which that changes.
    #[cold]
    pub(super) fn await_expiry<O: Outlet>(&mut self, out: &mut O, port: u32) {
        if !O::CLASSICAL {
            return;
        }
        let at = self.next_step(port);
        let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
        if at < u64::MAX && a.wake_at != at {
            a.wake_at = at;
            out.sent(at, port);
        }
    }

    /// The peer has to be told of a class: with the next frame that starts at this port, which has been brought to `now`.
    fn announce<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, class: u8) {
        self.ports[port as usize].eventful = true;
        let pause = self.pause_of(port);
        if pause.pending == 0 {
            self.live += 1;
        }
        let pause = self.pause_of(port);
        pause.pending |= 1 << class;
        if !self.is_sending(port) {
            self.start_next(out, now, node, port);
        } else if !O::CLASSICAL {
            self.list(node, port);
        }
    }

    /// The transmitter is free at `at`, and the peer has to be told something.
    #[cold]
    #[inline(never)]
    pub(super) fn send_pause<O: Outlet>(&mut self, out: &mut O, at: u64, port: u32) {
        let p = &mut self.ports[port as usize];
        let (peer_port, peer_shard) = (p.peer_port, p.peer_shard);
        let pause = p.automaton.as_mut().and_then(|a| a.pause.as_mut()).expect("a port with flow control");
        let classes = std::mem::take(&mut pause.pending);
        pause.sent += 1;
        let delay = pause.delay;
        let frame = Frame::pause(peer_port, classes, classes & pause.asserted, pause.quanta);
        if p.open {
            p.send_pause(at, &frame);
            let lane = &mut self.lanes[port as usize];
            lane.sent = Sent { input: 0, size: frame.size, queue: PAUSE_QUEUE, class: 0 };
            lane.sending = true;
        } else {
            p.depart_pause(at, &frame);
        }
        let ends = p.free_at;
        self.counters.pause_frames += 1;
        if O::CLASSICAL {
            out.sent(ends, port);
        }
        out.pause(ends + delay, peer_shard, frame);
    }

    /// A PAUSE frame takes effect.
    #[cold]
    #[inline(never)]
    pub(super) fn on_pause<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: Frame) {
        let port = frame.port;
        self.last = self.last.max(now);
        self.live -= 1;
        self.counters.packet_hops += 1;
        if self.ports[port as usize].automaton.as_ref().is_none_or(|a| a.pause.is_none()) {
            return;
        }
        if !O::CLASSICAL {
            self.bring_up(out, now, node, port);
        }
        let (classes, xoff, quanta) = frame.pause_parts();
        self.ports[port as usize].eventful = true;
        self.ports[port as usize].automaton.as_mut().expect("a port with flow control").catch_up(now);
        self.pause_of(port).receive(now, classes, xoff, quanta);
        if self.ports[port as usize].open {
            self.hold_open(out, now, node, port);
        } else if self.ports[port as usize].automaton.as_ref().is_some_and(|a| a.sending.is_none()) {
            self.start_next(out, now, node, port);
        }
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

    /// Half of a pause has passed; if it is still the same one, it is told again.
    pub(super) fn on_refresh<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, which: u32) {
        let (input, class) = (which >> 3, (which & 7) as u8);
        let port = self.nodes[node as usize].first_port + input;
        if self.mmu(node).is_paused(input, class) && self.pause_of(port).refresh_at[class as usize] == now {
            if self.mmu(node).may_resume(input, class) {
                // Rules that look at a group only when a frame of its own leaves may miss that others have made room.
                return self.resume_group(out, now, node, input, class);
            }
            self.arm_refresh(out, now, node, port, class);
            self.announce(out, now, node, port, class);
        }
    }

    /// A host's next PAUSE frame, whatever there is to receive.
    pub(super) fn on_storm<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let state = &self.nodes[node as usize];
        let storm = self.world.plan.hosts[self.world.plan.topology.nodes[state.id as usize].config as usize].storm.expect("a stormy host");
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

/// A frame says how long it stood paused.
#[cold]
#[inline(never)]
pub(super) fn carry_pause(extras: &mut Slab<Extra>, mut frame: Frame, paused: u64) -> Frame {
    if frame.has(Frame::EXTRA) {
        extras[frame.aux].paused += paused;
    } else if !matches!(frame.kind(), Frame::CONTROL | Frame::TO_SWITCH) {
        frame.aux = extras.insert(Extra { paused, ..Extra::beside(&frame) });
        frame.flags |= Frame::EXTRA;
    }
    frame
}
