//! Rows of the usual tables for the flows of kernels.
//!
//! A direction of a TCP connection is a flow if it has carried payload, or if it opened a connection
//! without payload. Acknowledgements alone are none. Its start is the first segment of the
//! connection if this direction opened it, otherwise its first payload. It is complete when a FIN
//! has shown its end and everything before the FIN is acknowledged (or has arrived, with
//! `fct_end = "last_byte"`). Other protocols do not show an end.
//! A connection of MPTCP is one flow per direction. Its data have an end of their own (DATA_FIN).

use super::received::FlowKey;
use super::segment::{TCP, Tuple, of_ends, reversed};
use super::wire::{self, Flows, Transfer};
use crate::addresses::host_of;
use afflux_net::State;
use afflux_net::record::{
    Carried, FlowRecord, GapRecord, Output, OutsideRecord, PathRecord, RoundTrips, SenderRecord,
    Split, Status, WaitRecord,
};
use afflux_net::spec::{FctEnd, Flow, FlowId, Plan, Start};
use afflux_scenario::KernelHost;
use afflux_units::{Span, Time};
use std::collections::BTreeMap;

fn time(ns: u64) -> Time {
    Time(ns * 1_000)
}

/// Converts from ns to ps.
fn exact(times: RoundTrips) -> RoundTrips {
    let RoundTrips { samples, sum, least, most } = times;
    let least = least.saturating_mul(1_000);
    RoundTrips { samples, sum: sum * 1_000, least, most: most * 1_000 }
}

/// Returns whether a direction is a flow. `back`: the other direction.
fn is_flow(flow: &wire::Flow, back: Option<&wire::Flow>) -> bool {
    let has_data = |flow: &wire::Flow| flow.sent.data_packets > 0;
    has_data(flow) || flow.sent.opened && !back.is_some_and(has_data)
}

/// Start, completion, and end without completion of a flow.
struct Course {
    start: u64,
    finish: Option<u64>,
    given_up: Option<u64>,
}

fn course(protocol: u8, flow: &wire::Flow, end: FctEnd) -> Option<Course> {
    let (sent, received) = (&flow.sent, &flow.received);
    if protocol != TCP {
        return Some(Course { start: sent.first?, finish: None, given_up: sent.last });
    }
    let start = if sent.opened { sent.first? } else { sent.first_data? };
    let finish = match end {
        FctEnd::LastAck => sent.acknowledged,
        FctEnd::LastByte if sent.highest <= 1 => sent.acknowledged,
        FctEnd::LastByte => received.advanced.filter(|_| received.next >= sent.highest),
    };
    let finish = finish.filter(|_| sent.ended);
    Some(Course { start, finish, given_up: sent.reset.filter(|_| finish.is_none()) })
}

/// Rows of the flows of kernels, and the numbers of these flows.
#[derive(Debug, Default)]
pub struct Rows {
    pub flows: Vec<Flow>,
    records: Vec<FlowRecord>,
    packets: Vec<OutsideRecord>,
    /// Flows of each tuple, in the order of their starts.
    of: BTreeMap<Tuple, Vec<Known>>,
}

/// A flow with the number of its subflow, its start and completion in ns, and the largest payload of
/// its segments in bytes.
#[derive(Debug, Clone, Copy)]
struct Known {
    flow: FlowId,
    subflow: u8,
    start: u64,
    finish: Option<u64>,
    segment: u64,
}

/// Payload in bytes of a full segment, as Linux computes it from the options with which both
/// directions of a connection were opened.
fn segment(flow: &wire::Flow, back: Option<&wire::Flow>) -> u64 {
    /// Size if an end has no such option (RFC 9293 §3.7.1), and that of the option for time stamps
    /// with padding.
    const USUAL: u16 = 536;
    const TIMESTAMPS: u16 = 12;
    let own = flow.sent.options;
    let theirs = back.map(|back| back.sent.options).unwrap_or_default();
    let least = own.segment_size.unwrap_or(USUAL).min(theirs.segment_size.unwrap_or(USUAL));
    let stamped = own.timestamps && theirs.timestamps;
    u64::from(least.saturating_sub(if stamped { TIMESTAMPS } else { 0 }))
}

impl Rows {
    /// Returns the flows in the order of their starts. `dropped`: packets that the network dropped.
    pub fn new(
        plan: &Plan,
        kernels: &[KernelHost],
        seen: &Flows,
        dropped: &BTreeMap<FlowKey, u64>,
    ) -> Rows {
        let mut rows = Rows::default();
        let mut found: Vec<(Transfer, Course)> = Vec::new();
        for transfer in seen.transfers() {
            let Transfer { flow, subflows, back } = &transfer;
            let course = course(subflows[0].0.0, flow, plan.run.fct_end);
            if let Some(course) = course.filter(|_| is_flow(flow, back.as_ref())) {
                found.push((transfer, course));
            }
        }
        found.sort_by_key(|(transfer, course)| (course.start, transfer.subflows[0]));
        let first = plan.flows.len() as FlowId;
        let first_id = plan.flows.iter().map(|flow| flow.id + 1).max().unwrap_or(0).max(0);
        for (Transfer { flow, subflows, .. }, course) in &found {
            let key = &subflows[0];
            let class_of = |host: u32| kernels.iter().find(|kernel| kernel.host == host);
            let (Some(src), Some(dst)) = (host_of(key.0.1), host_of(key.0.3)) else { continue };
            let Some(class) = class_of(src).map(|kernel| kernel.class) else { continue };
            let number = rows.flows.len() as FlowId;
            let bytes = if key.0.0 == TCP { flow.sent.highest.max(1) - 1 } else { flow.sent.bytes };
            rows.flows.push(Flow {
                id: first_id + i64::from(number),
                src,
                dst,
                bytes,
                start: Start::At(time(course.start)),
                stop: Flow::ENDLESS,
                deadline: None,
                class,
                job: Flow::NO_JOB,
                transport: if key.0.0 == TCP { Flow::OUTSIDE } else { Flow::OUTSIDE_OPEN },
                group: None,
                connection: None,
                priority: 0,
            });
            rows.records.push(record(key, flow, course));
            for (subflow, key) in (0..=u8::MAX).zip(subflows) {
                let dropped = dropped.get(key).copied().unwrap_or(0);
                let of_subflow = seen.of(key);
                rows.packets.push(packets(first + number, key, of_subflow, dropped));
                rows.of.entry(key.0).or_default().push(Known {
                    flow: first + number,
                    subflow,
                    start: of_subflow.sent.first.unwrap_or(0).max(course.start),
                    finish: course.finish,
                    segment: segment(of_subflow, seen.latest(reversed(key.0))),
                });
            }
        }
        rows
    }

    /// Returns the flow of a tuple that had only one.
    fn only(&self, tuple: Tuple) -> Option<Known> {
        match self.of.get(&tuple)?[..] {
            [known] => Some(known),
            _ => None,
        }
    }

    /// Returns the sample of TCP's state in one line of `tcpinfo`. `None` if the connection was no
    /// flow at that time (ns), or had been complete.
    pub fn sample(&self, line: &str) -> Option<SenderRecord> {
        /// Largest threshold of the kernel, which stands for none.
        const NO_THRESHOLD: u64 = i32::MAX as u64;
        let fields: Vec<&str> = line.split(',').collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let (seconds, micros) = fields.first()?.split_once('.')?;
        let at = seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1_000;
        let port = |place: usize| u16::try_from(number(place)?).ok();
        let tuple =
            (TCP, fields.get(1)?.parse().ok()?, port(2)?, fields.get(3)?.parse().ok()?, port(4)?);
        let known = self.of.get(&tuple)?.iter().rfind(|known| known.start <= at)?;
        if known.finish.is_some_and(|finish| finish <= at) {
            return None;
        }
        let (window, threshold) = (number(7)?, number(8)?);
        let (round_trip, unacknowledged, pacing) = (number(9)?, number(11)?, number(15)?);
        let or_none = |value: u64, known: bool| if known { value } else { SenderRecord::NONE };
        Some(SenderRecord {
            time: time(at),
            window: window * known.segment,
            threshold: or_none(threshold.saturating_mul(known.segment), threshold < NO_THRESHOLD),
            smoothed: or_none(round_trip.saturating_mul(1_000_000), round_trip > 0),
            rate: or_none(pacing.saturating_mul(8), pacing > 0 && pacing < u64::MAX / 8),
            subflow: known.subflow,
            // Images that were built before this column lack it.
            state: number(17).and_then(state_of),
            ..SenderRecord::new(known.flow, unacknowledged * known.segment)
        })
    }

    /// Adds the rows to the results of the network. Waits and gaps of the flows that carried the
    /// packets become those of kernels' flows; those of acknowledgements belong to the acknowledged
    /// flow. Removes those that several flows have in common, and returns their waiting time in ps.
    pub fn join(self, output: &mut Output) -> u64 {
        let carried = std::mem::take(&mut output.carried);
        let of = |flow: FlowId| {
            let place = carried.binary_search_by_key(&flow, |one| one.flow).ok()?;
            let tuple = of_ends(carried[place].ends?);
            self.only(tuple).or_else(|| self.only(reversed(tuple))).map(|known| known.flow)
        };
        let first = output.flows.len() as FlowId;
        let mut lost = 0;
        let mut waits: BTreeMap<_, WaitRecord> = BTreeMap::new();
        for wait in std::mem::take(&mut output.waits) {
            let known = if wait.flow < first { Some(wait.flow) } else { of(wait.flow) };
            let Some(flow) = known else {
                lost += wait.wait.time;
                continue;
            };
            let wait = WaitRecord { flow, ..wait };
            waits
                .entry((flow, wait.node, wait.port, wait.behind))
                .and_modify(|sum| {
                    sum.wait.frames += wait.wait.frames;
                    sum.wait.time += wait.wait.time;
                })
                .or_insert(wait);
        }
        output.waits = waits.into_values().collect();
        let data = |gap: GapRecord| {
            if gap.flow < first {
                return Some(gap);
            }
            let place = carried.binary_search_by_key(&gap.flow, |one| one.flow).ok()?;
            let Known { flow, subflow, .. } = self.only(of_ends(carried[place].ends?))?;
            Some(GapRecord { flow, subflow, ..gap })
        };
        output.gaps = std::mem::take(&mut output.gaps).into_iter().filter_map(data).collect();
        output.gaps.sort_unstable_by_key(|gap| (gap.node, gap.port, gap.flow, gap.subflow));
        self.join_paths(&carried, output, first);
        output.started = self.flows;
        output.flows.extend(self.records);
        output.outside = self.packets;
        lost
    }
}

impl Rows {
    /// Gives the paths of the flows that carried data to kernels' flows. Those of acknowledgements
    /// alone, and of several flows in common, are left out.
    fn join_paths(&self, carried: &[Carried], output: &mut Output, first: FlowId) {
        let mut paths: BTreeMap<(FlowId, u32, Vec<u32>), (u64, u64)> = BTreeMap::new();
        for PathRecord { flow, subflow, nodes, frames, bytes } in std::mem::take(&mut output.paths)
        {
            let known = if flow < first {
                Some((flow, subflow))
            } else {
                let place = carried.binary_search_by_key(&flow, |one| one.flow).ok();
                let ends = place.and_then(|place| carried[place].ends);
                let known = ends.and_then(|ends| self.only(of_ends(ends)));
                known.map(|known| (known.flow, known.subflow.into()))
            };
            if let Some((flow, subflow)) = known {
                let sum = paths.entry((flow, subflow, nodes)).or_default();
                sum.0 += frames;
                sum.1 += bytes;
            }
        }
        let row = |((flow, subflow, nodes), (frames, bytes))| PathRecord {
            flow,
            subflow,
            nodes,
            frames,
            bytes,
        };
        output.paths = paths.into_iter().map(row).collect();
    }
}

fn record(key: &FlowKey, flow: &wire::Flow, course: &Course) -> FlowRecord {
    let wire::Flow { sent, received } = flow;
    let delivered = if key.0.0 == TCP { received.next.max(1) - 1 } else { received.bytes };
    FlowRecord {
        start: Some(time(course.start)),
        finish: course.finish.map(time),
        given_up: course.given_up.map(time),
        status: match (course.finish, course.given_up) {
            (Some(_), _) => Status::Finished,
            (None, Some(_)) => Status::Terminated,
            (None, None) => Status::Running,
        },
        ideal: Span::ZERO,
        propagation: Span::ZERO,
        split: Split::default(),
        packets_sent: sent.data_packets,
        packets_retransmitted: sent.retransmitted_packets,
        timeouts: 0,
        ecn_marked: received.marked,
        packets_reordered: received.reordered,
        bytes_received: delivered,
        last_received: received.advanced.map(time),
    }
}

fn packets(number: FlowId, key: &FlowKey, flow: &wire::Flow, dropped: u64) -> OutsideRecord {
    let wire::Flow { sent, received } = flow;
    let (protocol, src, src_port, dst, dst_port) = key.0;
    OutsideRecord {
        flow: number,
        protocol,
        multipath: sent.multipath,
        source: (src, src_port),
        destination: (dst, dst_port),
        sent_packets: sent.packets,
        sent_bytes: sent.bytes,
        received_packets: received.packets,
        received_bytes: received.bytes,
        dropped_packets: dropped,
        retransmitted_bytes: sent.retransmitted_bytes,
        last_sent: sent.last.map(time),
        last_received: received.last.map(time),
        delays: exact(received.delays),
        round_trips: exact(sent.round_trips),
    }
}
/// Returns the state by its number in Linux. A sender in Disorder (1) has not changed its window.
fn state_of(number: u64) -> Option<State> {
    match number {
        0 | 1 => Some(State::Open),
        2 => Some(State::Reduced),
        3 => Some(State::Recovery),
        4 => Some(State::Loss),
        _ => None,
    }
}
