//! Handles ports at which frames may wait although the transmitter is idle, because the peer
//! has paused a class or the host's queueing discipline holds frames.

use super::hop::Hop;
use super::lane::{Lane, Lost, OWN, next_start};
use super::pause::carry_pause;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::Port;
use crate::queue::Verdict;
use crate::queue::waiting::Waiting;

impl<O: Outlet, const KIND: u8> Hop<'_, O, KIND> {
    /// Starts all transmissions that are due by `now` at a port that the peer has paused, or for
    /// which a discipline holds frames. No transmission was due before `from`.
    #[cold]
    #[inline(never)]
    pub(super) fn advance_rarely(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        from: u64,
        now: u64,
    ) {
        if p.free_at > now && !lane.held {
            // The transmitter is busy and the peer pauses nothing: no flag can change.
            return;
        }
        while p.free_at <= now {
            if lane.backlog {
                self.fill_ring(p, lane, port, p.free_at.max(from));
            }
            if lane.occupied == 0 {
                break;
            }
            let at = if lane.held { next_start(&self.store.arena, p, lane) } else { p.free_at }
                .max(from);
            if at > now {
                break;
            }
            let queue = lane.first_free(&self.store.arena, p, at).expect("it may start by then");
            self.start_first::<true>(p, lane, port, queue, at);
        }
        lane.look_again(p, now);
    }

    /// Moves frames from the host's queueing discipline to the ring of the card while the ring has
    /// space.
    pub(super) fn fill_ring(&mut self, p: &mut Port, lane: &mut Lane, port: u32, at: u64) {
        let discipline = |p: &mut Port| {
            p.features
                .as_mut()
                .and_then(|a| a.qdisc.take())
                .expect("a discipline that holds frames")
        };
        let mut qdisc = discipline(p);
        while qdisc.may_give(lane.ring(p, at) + qdisc.bytes())
            && let Some((Waiting { mut frame, ready, clock }, verdict)) = qdisc.pull(at)
        {
            match verdict {
                Verdict::Drop(reason) => {
                    self.store.lose(Lost { port, queue: 0, frame, reason });
                    continue;
                }
                Verdict::Mark => frame.flags |= self.store.mark(),
                Verdict::Admit | Verdict::Trim(_) => {}
            }
            self.push(p, lane, port, 0, &frame, |_| {});
            if lane.clocked {
                self.store.arena.set_note(&lane.queues[0].chain, clock);
            }
            if lane.special {
                self.store.arena.set_ready(&lane.queues[0].chain, ready);
            }
        }
        lane.backlog = qdisc.holds();
        p.features_mut().qdisc = Some(qdisc);
    }

    /// Adds the time that the frame was paused at this port to its metadata.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_pause(&mut self, p: &Port, at: u64, clock: u64, frame: Frame) -> Frame {
        let pause = p.pause().expect("a port that has been paused");
        let paused = pause.clock(frame.priority(), at) - clock;
        if paused > 0 { carry_pause(self.extras, frame, paused) } else { frame }
    }

    /// Completes `wait` at a port that the peer has paused: notes the pause clock, and starts the
    /// frame at once if its own class is not paused.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_rarely(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        queue: usize,
        class: u8,
    ) {
        self.note_clock(p, lane, now, queue, class);
        if lane.held {
            self.advance_rarely(p, lane, port, now, now);
        }
    }

    /// Notes for the last frame of a queue how long its class had been paused in total when the
    /// frame arrived, if that is recorded.
    pub(super) fn note_clock(&mut self, p: &Port, lane: &Lane, now: u64, queue: usize, class: u8) {
        if lane.clocked {
            let pause = p.pause().expect("a port that has been paused");
            self.store.arena.set_note(&lane.queues[queue].chain, pause.clock(class, now));
        }
    }
}

impl<'a> Shard<'a> {
    /// Processes a change of the peer's flow control at a port, which has been advanced to
    /// `now`.
    #[cold]
    pub(super) fn hold<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let Shard { lanes, store, world, ports, .. } = self;
        let lane = &mut lanes[port as usize];
        let pause = ports[port as usize].pause().expect("a port that is paused");
        (lane.held, lane.rare) = (true, true);
        if world.plan.record.explain && !lane.clocked {
            lane.clocked = true;
            for (queue, q) in lane.queues.iter().enumerate() {
                if lane.occupied >> queue & 1 != 0 {
                    // Nothing has been paused since these frames arrived.
                    store.arena.set_notes(&q.chain, |frame| pause.clock(frame.priority(), now));
                }
            }
        }
        if !self.is_exact(node) {
            self.advance_lane(out, now, node, port);
        } else if !self.lanes[port as usize].sending {
            self.start_exact(out, now, node, port);
        }
    }

    /// Advances to `now` an idle port for which the host's queueing discipline holds frames.
    #[cold]
    pub(super) fn hold_on<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let (mut hop, ports, lanes) = self.hop::<O, OWN>(out, node);
        hop.advance_rarely(&mut ports[port as usize], &mut lanes[port as usize], port, now, now);
        self.see_to_losses();
    }

    /// Returns a function that is true for each class that is neither waiting nor paused at a port
    /// that is not plain.
    pub fn free_classes(&self, now: u64, port: u32) -> impl Fn(u8) -> bool {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        let a = p.features();
        move |class: u8| {
            let queue = a.queue_of_priority(class);
            let waits = match &a.discipline {
                Some(d) => !d.queues[queue].frames.is_empty(),
                None => lane.occupied >> queue & 1 != 0,
            };
            !waits && a.pause.as_ref().is_none_or(|pause| pause.may_send(class, now))
        }
    }

    /// Returns the time in ps at which the next waiting frame starts at a port that is not plain, if
    /// no other frame arrives; `u64::MAX` if none waits.
    pub fn next_start(&self, port: u32) -> u64 {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        if lane.special && self.is_disciplining(port) {
            return self.next_exact(port);
        }
        match lane.occupied {
            0 if !lane.backlog => u64::MAX,
            1.. if lane.held => next_start(&self.store.arena, p, lane),
            _ => p.free_at,
        }
    }

    /// True if the peer has paused a port that is not plain, as of the last check.
    #[inline(always)]
    pub fn is_held(&self, port: u32) -> bool {
        self.lanes[port as usize].held
    }

    /// True if a port without frames in its queues may have something to send when its transmitter
    /// is free: frames that the host's queueing discipline holds, or a PAUSE frame.
    pub fn may_act(&self, port: u32) -> bool {
        let lane = &self.lanes[port as usize];
        lane.backlog || lane.special && lane.sending
    }
}
