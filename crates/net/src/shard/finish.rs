//! Ends a run: final counters and records of a shard.

use super::lane::{RANKED, TRIMMED};
use super::{Harvest, NOT_YET, OVER, Outlet, Shard};
use crate::port::PAUSE_QUEUE;
use crate::record::{GapRecord, LinkRecord, MemoryFault, RoundTripRecord, WaitRecord};
use crate::spec::FlowId;
use crate::transport::tcp::Sender;

/// Outlet for a run that has ended. It discards later events.
pub struct Nothing<const CLASSICAL: bool>;

impl<const C: bool> Outlet for Nothing<C> {
    const CLASSICAL: bool = C;
    fn frame(
        &mut self,
        _: u64,
        _: u16,
        _: &crate::frame::Frame,
        _: crate::frame::Change,
        _: &mut super::Slab<crate::frame::Extra>,
    ) {
        unreachable!("everything up to the end has been started")
    }
    fn pause(&mut self, _: u64, _: u16, _: crate::frame::Frame) {
        unreachable!("everything up to the end has been started")
    }
    fn event(&mut self, _: u64, _: crate::frame::Frame) {}
    fn start(&mut self, _: u64, _: u16, _: crate::frame::Frame) {}
}

impl<'a> Shard<'a> {
    /// Ends the run at `end`, after the events of that instant. Returns the records, and what each
    /// port of this shard has sent, with the port's global direction `2 * link + reverse`. Frames
    /// that still wait in queues count as in flight; the engine adds the frames in its logs.
    pub fn finish<const CLASSICAL: bool>(
        &mut self,
        end: u64,
    ) -> (Harvest, Vec<(usize, LinkRecord)>) {
        let mut links = Vec::with_capacity(self.ports.len());
        for node in 0..self.nodes.len() as u32 {
            let (id, first, ports) = (
                self.nodes[node as usize].id,
                self.nodes[node as usize].first_port,
                self.nodes[node as usize].ports,
            );
            for number in 0..ports {
                let port = first + number;
                self.release_departed(&mut Nothing::<CLASSICAL>, end, node, port);
                let p = &self.ports[port as usize];
                let late = self.nodes[node as usize].arrivals_first as u64;
                let latest = if p.plain { 0 } else { self.lanes[port as usize].sent.size };
                let (frames, bytes, busy) = p.ended(end.saturating_sub(late), latest);
                let info = self.world.ports.of(id)[number as usize];
                links.push((
                    2 * info.link as usize + info.reverse as usize,
                    LinkRecord { frames, bytes, busy },
                ));
                let watch =
                    self.ports[port as usize].features.as_mut().and_then(|a| a.watch.take());
                if let Some(watch) = watch {
                    let gaps = watch.gaps.into_iter().flat_map(|gaps| gaps.of);
                    self.harvest.gaps.extend(gaps.map(|((flow, subflow), gap)| GapRecord {
                        node: id,
                        port: number,
                        flow,
                        subflow,
                        gap,
                    }));
                    let waits = watch.waits.into_iter().flat_map(|waits| waits.of);
                    self.harvest.waits_behind.extend(waits.map(|((flow, behind), wait)| {
                        WaitRecord { flow, node: id, port: number, behind, wait }
                    }));
                }
                if !self.ports[port as usize].plain {
                    let (mut frames, mut bytes) = (0, 0);
                    self.each_waiting(node, port, |frame| {
                        (frames, bytes) = (frames + 1, bytes + frame.size as u64);
                    });
                    self.counters.in_flight_packets += frames;
                    self.counters.in_flight_bytes += bytes;
                }
            }
        }
        if self.world.plan.run.stall.is_some() {
            (0..self.nodes.len() as u32).for_each(|node| self.note_stuck(end, node));
        }
        self.harvest.memory_faults =
            (0..self.nodes.len() as u32).filter_map(|node| self.memory_fault(end, node)).collect();
        for balanced in self.nodes.iter().filter_map(|node| node.balanced.as_ref()) {
            let (packets, bytes) = balanced.held();
            self.counters.in_flight_packets += packets;
            self.counters.in_flight_bytes += bytes;
        }
        for (packets, bytes) in self.pacers.iter().flatten().map(|pacer| pacer.held()) {
            self.counters.in_flight_packets += packets;
            self.counters.in_flight_bytes += bytes;
        }
        for (packets, bytes) in self.processors.iter().flatten().map(|processor| processor.held()) {
            self.counters.in_flight_packets += packets;
            self.counters.in_flight_bytes += bytes;
        }
        let flows = self.sending.len().max(self.receiving.len());
        for flow in 0..flows as FlowId {
            let slot = self.sending.get(flow as usize).copied().unwrap_or(NOT_YET);
            if slot != NOT_YET
                && slot != OVER
                && self.world.place[self.world.flow(flow).src as usize].shard == self.index
            {
                let record = self.unfinished(flow, slot);
                record.into_iter().for_each(|record| self.harvest.leave(record));
            }
            let slot = self.receiving_slot(flow);
            if slot != NOT_YET && slot != OVER {
                let record = self.incomplete(flow, slot);
                self.harvest.received.push(record);
            }
        }
        self.harvest.tasks =
            self.applications.take().map(|runtime| runtime.agenda.tasks).unwrap_or_default();
        self.harvest.paths = self
            .path_counts
            .drain()
            .map(|((flow, subflow, path), (frames, bytes))| (flow, subflow, path, frames, bytes))
            .collect();
        (std::mem::take(&mut self.harvest), links)
    }
}

impl Shard<'_> {
    /// Returns a fault if the memory in use at a node differs from the bytes that its queues and
    /// balancers hold. The ports have been advanced to the end of the run.
    fn memory_fault(&mut self, end: u64, node: u32) -> Option<MemoryFault> {
        let (first, ports) =
            (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        // The counters of pFabric's and NDP's queues are those of their ports.
        let alone = matches!(self.kind(node), RANKED | TRIMMED);
        if !alone && !self.is_exact(node) {
            self.enter_exact(end, node);
        }
        let state = &self.nodes[node as usize];
        let mmu = state.managed.as_ref().map(|managed| &managed.mmu);
        let size_of =
            |size: u16, class: u8| mmu.map_or(size as u64, |mmu| mmu.size_of(size as u64, class));
        let mut held: u64 = state
            .balanced
            .iter()
            .flat_map(|balanced| balanced.charged())
            .map(|frame| size_of(frame.size, frame.priority()))
            .sum();
        for port in first..first + ports {
            let p = &self.ports[port as usize];
            let Some(a) = &p.features else {
                held += p.plain_bytes();
                continue;
            };
            self.each_waiting(node, port, |frame| held += size_of(frame.size, frame.priority()));
            // Frames in a device queue have left the buffer, and those that a host's kernel holds
            // have not reached it.
            let device = a.discipline.iter().flat_map(|d| d.device.iter().map(|(w, _)| w));
            let beside = device.chain(a.qdisc.iter().flat_map(|qdisc| qdisc.held()));
            held -= beside.map(|w| size_of(w.frame.size, w.frame.priority())).sum::<u64>();
            let lane = &self.lanes[port as usize];
            let sent = lane.sent;
            if lane.sending && !alone && sent.queue != PAUSE_QUEUE && !state.until_start {
                held += size_of(sent.size, sent.class());
            }
        }
        let used = if alone {
            (first..first + ports).map(|port| self.ports[port as usize].queued).sum()
        } else {
            mmu.map_or(state.used, |mmu| mmu.used())
        };
        (used != held).then_some(MemoryFault { node: state.id, used, held })
    }
}

/// Returns the round-trip times that a sender has measured, if they are recorded.
pub fn round_trips(s: &Sender, subflow: usize) -> Option<RoundTripRecord> {
    let measured = *s.round_trips.as_deref()?;
    Some(RoundTripRecord {
        flow: s.flow,
        subflow: subflow as u8,
        measured,
        smoothed: s.smoothed_round_trip(),
    })
}
