//! Reorder queues in the memory of a switch, and the time series of their length.

use super::lane::Sent;
use super::{Outlet, Shard};
use crate::frame::{Event, Frame};
use crate::memory::Kept;
use crate::queue::QueueView;
use crate::queue::buffer::mmu::Take;
use crate::record::ReorderRecord;
use afflux_units::Time;

impl<'a> Shard<'a> {
    /// Charges a frame that is to wait in a reorder queue of `port`, or drops it if there is no
    /// free memory. `port` has been advanced to `now`. Returns whether the frame was charged.
    /// Without ingress accounting the buffer treats the reorder queue, which holds `length`, like a
    /// queue of the port. Otherwise its bytes count with the port's queue of the same class.
    pub(super) fn charge_held<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        mut frame: Frame,
        length: (u32, u64),
    ) -> bool {
        let size = frame.size as u64;
        let queue = self.ports[port as usize].features().queue_of(&frame);
        if !self.is_exact(node) {
            if self.charge_within(node, port, queue as u8, &frame) {
                return true;
            }
            self.advance_all(out, now, node);
            self.enter_exact(now, node);
        }
        let length = QueueView { bytes: length.1, frames: length.0 };
        let mut verdict = self.nodes[node as usize].admit(queue, length, size, O::CLASSICAL);
        if verdict.is_none() {
            self.release_all(out, now, node);
            verdict = self.nodes[node as usize].admit(queue, length, size, true);
        }
        if !self.passes(port, queue, &mut frame, verdict.expect("exact figures settle it")) {
            return false;
        }
        match self.ask_managed(out, now, node, port, queue, &frame) {
            Some((charge, Ok(Take { headroom, pause }))) => {
                self.mmu(node).charge(&charge, headroom);
                if pause {
                    self.pause_group(out, now, node, charge.input, charge.class());
                }
            }
            Some((_, Err(reason))) => {
                self.drop_at(port, queue, frame, reason);
                return false;
            }
            None => {}
        }
        self.nodes[node as usize].used += size;
        true
    }

    /// Releases the memory of a held frame that is dropped instead of joining its queue.
    pub(super) fn uncharge_held<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
    ) {
        self.nodes[node as usize].used -= frame.size as u64;
        let queue = self.ports[port as usize].features().queue_of(frame);
        self.release(out, now, node, port, Sent::of(frame, queue as u8));
    }

    /// True if this switch has reorder queues.
    pub(super) fn reorders(&self, node: u32) -> bool {
        self.nodes[node as usize]
            .balanced
            .as_ref()
            .is_some_and(|balanced| balanced.is_tor() && balanced.reorder_queues().is_some())
    }

    pub(super) fn sample_reordering<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let state = &self.nodes[node as usize];
        let queues = state
            .balanced
            .as_ref()
            .and_then(|balanced| balanced.reorder_queues())
            .expect("sampled where there are some");
        let record = |port: i32, queues: u64, bytes: u64| ReorderRecord {
            time: Time(now),
            node: state.id,
            port,
            queues,
            bytes,
        };
        let by_port: Vec<(u16, (u16, u64))> = (0..state.ports as u16)
            .map(|port| (port, queues.at_port(port)))
            .filter(|(_, (queues, _))| *queues > 0)
            .collect();
        self.kept += Kept::REORDER * (1 + by_port.len() as u64);
        self.harvest.reordering.push(record(
            -1,
            by_port.iter().map(|(_, (queues, _))| *queues as u64).sum(),
            queues.bytes,
        ));
        self.harvest.reordering.extend(
            by_port
                .into_iter()
                .map(|(port, (queues, bytes))| record(port as i32, queues as u64, bytes)),
        );
        let interval = self.world.plan.record.reordering.expect("recorded").0;
        let event = self.event(node, 0, Event::Reordering);
        out.event(now + interval, event);
    }
}
