//! Time series of ports, uplinks and senders.

use super::{OVER, Outlet, Shard};
use crate::features::Interval;
use crate::frame::Event;
use crate::memory::Kept;
use crate::queue::buffer::mmu::CLASSES;
use crate::record::{PortRecord, SenderRecord, UplinkRecord};
use afflux_units::Time;

impl<'a> Shard<'a> {
    pub(super) fn sample<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let (id, first, ports) = (
            self.nodes[node as usize].id,
            self.nodes[node as usize].first_port,
            self.nodes[node as usize].ports,
        );
        for number in 0..ports {
            let port = first + number;
            self.release_departed(out, now, node, port);
            // The series includes the frame in transmission and the device queue, even if the
            // buffer does not count them.
            let queues = self.ports[port as usize].features.as_ref().map_or(0, |a| a.marking.len());
            let total = self.bytes_at(node, port, None);
            let of_queues: Vec<u64> =
                (0..queues).map(|queue| self.bytes_at(node, port, Some(queue))).collect();
            let a = self.ports[port as usize].features_mut();
            let (mut pauses, mut paused) = ((0, 0), [0; CLASSES + 1]);
            if let Some(pause) = &mut a.pause {
                pauses = (std::mem::take(&mut pause.sent), std::mem::take(&mut pause.received));
                paused = pause.take_totals(now);
            }
            // A queue with several classes counts as paused for as long as the class that was
            // paused longest.
            let of_queue = |queue| {
                (0..CLASSES)
                    .filter(|class| a.is_of_class(queue, *class as u8))
                    .map(|class| paused[class])
                    .max()
                    .unwrap_or(0)
            };
            let paused_queues: Vec<u64> = (0..queues).map(of_queue).collect();
            let series = a.series.as_mut().expect("sampled");
            let rx_bytes = std::mem::take(&mut series.rx_bytes);
            for (row, interval) in series.rows.iter_mut().enumerate() {
                let queue_bytes = if row == 0 { total } else { of_queues[row - 1] };
                // The next interval starts with the current length of the queue.
                let Interval { bytes_max, tx_bytes, drops, marks, cnps, in_discards, latency_max } =
                    std::mem::replace(
                        interval,
                        Interval { bytes_max: queue_bytes, ..Interval::default() },
                    );
                self.kept += Kept::PORT;
                self.harvest.ports.push(PortRecord {
                    time: Time(now),
                    node: id,
                    port: number,
                    queue: row as i32 - 1,
                    queue_bytes,
                    queue_bytes_max: bytes_max,
                    tx_bytes,
                    rx_bytes: if row == 0 { rx_bytes } else { 0 },
                    drops,
                    in_discards,
                    ecn_marks: marks,
                    cnps,
                    pause_frames_tx: if row == 0 { pauses.0 } else { 0 },
                    pause_frames_rx: if row == 0 { pauses.1 } else { 0 },
                    paused: if row == 0 { paused[CLASSES] } else { paused_queues[row - 1] },
                    latency_max,
                });
            }
        }
        let interval = self.world.plan.record.ports.as_ref().expect("sampling").interval.0;
        let event = self.event(node, 0, Event::Sample);
        out.event(now + interval, event);
    }

    pub(super) fn sample_uplinks<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let window = self.world.plan.record.imbalance.expect("recorded").0;
        let (id, first, ports) = (
            self.nodes[node as usize].id,
            self.nodes[node as usize].first_port,
            self.nodes[node as usize].ports,
        );
        for number in 0..ports {
            self.release_departed(out, now, node, first + number);
            let link = self.world.ports.of(id)[number as usize].link;
            // A frame in transmission, which counts from its start, is subtracted.
            let p = &self.ports[(first + number) as usize];
            let late = self.nodes[node as usize].arrivals_first as u64;
            let ended = p.bytes
                - if !p.plain && p.free_at + late > now {
                    self.lanes[(first + number) as usize].sent.size as u64
                } else {
                    0
                };
            let a = self.ports[(first + number) as usize].features.as_mut();
            if let Some(before) = a.and_then(|a| a.uplink.as_mut()) {
                self.kept += Kept::UPLINK;
                self.harvest.uplinks.push(UplinkRecord {
                    time: Time(now - window),
                    node: id,
                    link,
                    bytes: ended - std::mem::replace(before, ended),
                });
            }
        }
        let event = self.event(node, 0, Event::Uplinks);
        out.event(now + window, event);
    }

    pub(super) fn sample_senders<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let mut flows = std::mem::take(&mut self.open[node as usize]);
        flows.retain(|&flow| self.sending[flow as usize] != OVER);
        let mut found: Vec<SenderRecord> = Vec::new();
        for &flow in &flows {
            self.senders_of(now, flow, &mut found);
        }
        self.open[node as usize] = flows;
        // Flows that share a connection have one sender.
        found.sort_unstable_by_key(|record| (record.flow, record.subflow));
        found.dedup_by_key(|record| (record.flow, record.subflow));
        self.kept += Kept::SENDER * found.len() as u64;
        self.harvest
            .senders
            .extend(found.into_iter().map(|record| SenderRecord { time: Time(now), ..record }));
        let interval = self.world.plan.record.senders.expect("recorded").0;
        let event = self.event(node, 0, Event::Senders);
        out.event(now + interval, event);
    }
}
