//! Periodic checks of a switch's flow control: the watchdog, and which links wait for which
//! (deadlock detection).

use super::{Outlet, Shard};
use crate::features::Discipline;
use crate::frame::{Event, Frame};
use crate::memory::Kept;
use crate::queue::Reason;
use crate::queue::aqm::take_class;
use crate::queue::buffer::mmu::CLASSES;
use crate::queue::flowcontrol::deadlock::Wait;
use crate::record::{StormRecord, Stuck};
use crate::spec::StormAction;
use afflux_units::Time;

impl<'a> Shard<'a> {
    /// Returns each port and lossless class of a switch, after everything up to `now` has been
    /// processed.
    fn lossless_of<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) -> Vec<(u32, u8)> {
        if !self.is_exact(node) {
            self.advance_all(out, now, node);
            self.enter_exact(now, node);
        }
        if !O::CLASSICAL {
            self.drain(out, now, node);
        }
        let (ports, lossless) = (self.nodes[node as usize].ports, self.mmu(node).lossless);
        (0..ports)
            .flat_map(|number| {
                (0..CLASSES as u8)
                    .filter(move |class| lossless >> class & 1 != 0)
                    .map(move |class| (number, class))
            })
            .collect()
    }

    #[cold]
    pub(super) fn on_watchdog<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let watchdog =
            self.pfc(node).and_then(|pfc| pfc.watchdog.clone()).expect("a switch with a watchdog");
        let (id, first) = (self.nodes[node as usize].id, self.nodes[node as usize].first_port);
        for (number, class) in self.lossless_of(out, now, node) {
            let (port, bit) = (first + number, 1 << class);
            if watchdog.priorities & bit == 0 {
                continue;
            }
            let a = self.ports[port as usize].features_mut();
            a.catch_up(now);
            let waits = self.has_waiting(node, port, class);
            let pause = self.pause_of(port);
            if pause.storms & bit != 0 {
                if pause.last_pause(class) + watchdog.restoration.0 <= now {
                    pause.storms &= !bit;
                    pause.ignored &= !bit;
                    pause.dropping &= !bit;
                    let storm = self
                        .harvest
                        .storms
                        .iter_mut()
                        .rev()
                        .find(|s| (s.node, s.port, s.priority) == (id, number, class));
                    storm.expect("noted when it began").restored = Some(Time(now));
                }
            } else if waits
                && pause.lasting(class, now).is_some_and(|lasting| lasting >= watchdog.detection.0)
            {
                pause.storms |= bit;
                let record = StormRecord {
                    detected: Time(now),
                    restored: None,
                    node: id,
                    port: number,
                    priority: class,
                    action: watchdog.action,
                };
                self.harvest.storms.push(record);
                match watchdog.action {
                    StormAction::Drop => {
                        self.pause_of(port).dropping |= bit;
                        self.drop_queued(out, now, node, port, class);
                    }
                    StormAction::Forward => {
                        self.pause_of(port).ignored |= bit;
                        self.start_if_idle(out, now, node, port);
                    }
                    StormAction::Alert => {}
                }
            }
        }
        let event = self.event(node, 0, Event::Watchdog);
        out.event(now + watchdog.poll.0, event);
    }

    /// Drops all frames of a class that wait at a port.
    fn drop_queued<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, class: u8) {
        self.last = self.last.max(now);
        let a = self.ports[port as usize].features_mut();
        let mut dropped: Vec<(usize, Frame)> = Vec::new();
        if let Some(d) = &mut a.discipline {
            let Discipline { queues, aqm, turns, waiting, .. } = &mut **d;
            for (queue, q) in queues.iter_mut().enumerate() {
                let taken = match aqm.get_mut(queue) {
                    None => take_class(&mut q.frames, class),
                    Some(aqm) => aqm.purge(&mut q.frames, now, class),
                };
                dropped.extend(taken.into_iter().map(|frame| (queue, frame)));
            }
            for (queue, frame) in &dropped {
                turns.iter_mut().for_each(|turns| turns.dropped(*queue, frame.size.into()));
            }
            *waiting -= dropped.len() as u32;
        }
        let lane = &mut self.lanes[port as usize];
        dropped.extend(lane.take_class(&mut self.store.arena, class));
        for (queue, frame) in dropped {
            self.forget(out, now, node, port, queue, &frame);
            self.drop_at(port, queue, frame, Reason::Watchdog);
        }
        // Frames behind the dropped ones may start now.
        self.start_if_idle(out, now, node, port);
    }

    fn start_if_idle<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        if !self.lanes[port as usize].sending {
            self.start_exact(out, now, node, port);
        }
    }

    fn has_waiting(&self, node: u32, port: u32, class: u8) -> bool {
        let mut found = false;
        self.each_waiting(node, port, |frame| found |= frame.priority() == class);
        found
    }

    /// Returns the input port of each frame of a class that waits at a port, sorted.
    fn inputs_of(&self, node: u32, port: u32, class: u8) -> Vec<u32> {
        let mut inputs = Vec::new();
        self.each_waiting(node, port, |frame| {
            inputs.extend((frame.priority() == class).then_some(frame.port));
        });
        inputs.sort_unstable();
        inputs
    }

    /// Records, at the end of the run, paused ports with waiting frames, and the links into this
    /// switch that it has paused and whose frames wait at these ports.
    pub(super) fn note_stuck(&mut self, now: u64, node: u32) {
        let (id, first, ports) = (
            self.nodes[node as usize].id,
            self.nodes[node as usize].first_port,
            self.nodes[node as usize].ports,
        );
        for number in 0..ports {
            let Some(pause) = self.ports[(first + number) as usize].pause() else { continue };
            for class in 0..CLASSES as u8 {
                let inputs = self.inputs_of(node, first + number, class);
                if inputs.is_empty() || pause.may_send(class, now) {
                    continue;
                }
                let infos = self.world.ports.of(id);
                let to = 2 * infos[number as usize].link + infos[number as usize].reverse as u32;
                self.harvest.stuck.push(Stuck {
                    link: to,
                    priority: class,
                    frames: inputs.len() as u64,
                    waits_for: Vec::new(),
                });
                let mut inputs = inputs;
                inputs.dedup();
                inputs.retain(|port| (first..first + ports).contains(port));
                for input in inputs {
                    let paused = self.ports[input as usize].pause();
                    if paused.is_some_and(|pause| pause.asserted >> class & 1 != 0) {
                        let from = &infos[(input - first) as usize];
                        self.harvest.held.push((2 * from.link + !from.reverse as u32, class, to));
                    }
                }
            }
        }
    }

    /// Records which links wait for which: a link into this switch waits for a link out of it, if
    /// the switch has paused the first, the peer has paused the second, and frames that came by the
    /// first wait for the second. Both pauses must have lasted for `deadlock_after`.
    #[cold]
    pub(super) fn look_for_deadlock<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let after =
            self.pfc(node).and_then(|pfc| pfc.deadlock_after).expect("a switch that looks").0;
        let (id, first) = (self.nodes[node as usize].id, self.nodes[node as usize].first_port);
        for (number, class) in self.lossless_of(out, now, node) {
            let pause = self.pause_of(first + number);
            if pause.lasting(class, now).is_none_or(|lasting| lasting < after)
                || pause.ignored >> class & 1 != 0
            {
                continue;
            }
            let mut inputs = self.inputs_of(node, first + number, class);
            inputs.dedup();
            for input in inputs {
                let pause = self.pause_of(input);
                if pause.asserted >> class & 1 != 0
                    && pause.asserted_since[class as usize] + after <= now
                {
                    let infos = self.world.ports.of(id);
                    let (from, to) = (&infos[(input - first) as usize], &infos[number as usize]);
                    let wait = Wait {
                        time: now,
                        class,
                        link: 2 * from.link + !from.reverse as u32,
                        waits_for: 2 * to.link + to.reverse as u32,
                    };
                    self.kept += Kept::PAUSED;
                    self.harvest.waits.push(wait);
                }
            }
        }
        let event = self.event(node, 0, Event::Deadlock);
        out.event(now + after, event);
    }
}
