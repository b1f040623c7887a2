//! Merges the results of the shards into one output, in canonical order.

use super::window::Done;
use crate::balance::path_step;
use crate::probe::pieces::Pieces;
use crate::queue::flowcontrol::deadlock::{Wait, deadlocks};
use crate::record::*;
use crate::routing::NextHops;
use crate::shard::{Harvest, ReceivedRecord, SentRecord, Shard};
use crate::spec::{Flow, FlowId, NodeId};
use crate::world::World;
use afflux_units::{Span, Time};
use rustc_hash::FxHashMap;

/// Records of the shards that the output has in another form.
#[derive(Default)]
struct Gathered {
    /// Records by flow.
    sent: Vec<Option<SentRecord>>,
    received: Vec<Option<ReceivedRecord>>,
    ports: Vec<Pieces<PortRecord>>,
    uplinks: Vec<Pieces<UplinkRecord>>,
    reordering: Vec<Pieces<ReorderRecord>>,
    senders: Vec<Pieces<SenderRecord>>,
    waits: Vec<Wait>,
    held: Vec<(u32, u8, u32)>,
    paths: Vec<(FlowId, u8, u32, u64, u64)>,
}

impl Gathered {
    /// Takes what a shard hands over. Lists that need no other form are added to `output`.
    fn take(&mut self, harvest: Harvest, output: &mut Output) {
        for record in harvest.sent.into_pieces().flatten() {
            let flow = record.flow as usize;
            self.sent[flow] = Some(record);
        }
        for record in harvest.received.into_pieces().flatten() {
            self.received[record.flow as usize] = Some(record);
        }
        self.ports.push(harvest.ports);
        self.uplinks.push(harvest.uplinks);
        self.reordering.push(harvest.reordering);
        self.senders.push(harvest.senders);
        self.waits.extend(harvest.waits);
        self.held.extend(harvest.held);
        self.paths.extend(harvest.paths);
        for (capture, record) in harvest.captures.into_pieces().flatten() {
            output.captures[capture as usize].push(record);
        }
        output.storms.extend(harvest.storms);
        output.stuck.extend(harvest.stuck);
        output.tasks.extend(harvest.tasks);
        output.gaps.extend(harvest.gaps);
        output.waits.extend(harvest.waits_behind);
        output.round_trips.extend(harvest.round_trips);
        output.memory_faults.extend(harvest.memory_faults);
    }
}

pub fn merge(
    world: &World,
    mut shards: Vec<Shard>,
    done: &[Done],
    end: u64,
    classical: bool,
) -> Output {
    let plan = world.plan;
    let mut output = Output {
        links: vec![LinkRecord::default(); 2 * plan.topology.links.len()],
        captures: vec![Vec::new(); plan.record.captures.len()],
        end: Time(end),
        ..Output::default()
    };
    let flows = plan.flows.len() + world.started.count();
    let mut gathered =
        Gathered { sent: vec![None; flows], received: vec![None; flows], ..Gathered::default() };
    let mut decisive = Vec::new();
    let mut lost: FxHashMap<FlowId, u64> = FxHashMap::default();
    for (shard, done) in shards.iter_mut().zip(done) {
        let (harvest, links) =
            if classical { shard.finish::<true>(end) } else { shard.finish::<false>(end) };
        output.counters.add(&shard.counters);
        output.counters.in_flight_packets += done.in_flight.0;
        output.counters.in_flight_bytes += done.in_flight.1;
        for (direction, record) in links {
            output.links[direction] = record;
        }
        gathered.take(harvest, &mut output);
        decisive.extend(shard.transports.decisive());
        for (flow, frames) in std::mem::take(&mut shard.lost) {
            *lost.entry(flow).or_default() += frames;
        }
    }
    for (flow, decisive) in decisive {
        // The flow is complete at the receiver, but the last acknowledgement had not reached the
        // sender.
        let record = gathered.sent[flow as usize].as_mut();
        if let Some(record) = record.filter(|record| record.finish.is_none()) {
            let shard = world.place[world.flow(flow).src as usize].shard;
            record.why = shards[shard as usize].account_of(flow, decisive);
        }
    }
    let Gathered { sent, received, ports, uplinks, reordering, senders, mut waits, held, paths } =
        gathered;
    let over = plan.record.imbalance.map_or(0, |window| window.0);
    output.ports = until(ports, end, |r| r.time, |r| (r.time, r.node, r.port, r.queue));
    output.uplinks = until(uplinks, end, |r| r.time + Span(over), |r| (r.time, r.node, r.link));
    output.reordering = until(reordering, end, |r| r.time, |r| (r.time, r.node, r.port));
    output.senders = until(senders, end, |r| r.time, |r| (r.time, r.flow, r.subflow));
    sort(&mut output, end);
    waits.retain(|wait| wait.time <= end);
    output.deadlocks = deadlocks(waits);
    if done.iter().any(|done| done.limited == Some(Ended::Stalled)) {
        tell_what_is_stuck(&mut output.stuck, held);
    } else {
        output.stuck.clear();
    }
    output.paths = path_records(world, paths);
    let complete = !done.iter().any(|d| d.reached_until);
    output.flows = sent
        .into_iter()
        .zip(received)
        .enumerate()
        .map(|(id, (s, r))| {
            let id = id as FlowId;
            // A frame of a datagram flow is on its way, or has arrived, or is lost.
            let sent = s.as_ref().map_or(0, |sent| sent.packets);
            let gone = r.as_ref().map_or(0, |r| r.frames) + lost.get(&id).copied().unwrap_or(0);
            flow_record(world, world.flow(id), s, r, complete || sent == gone)
        })
        .collect();
    output
}

/// Returns the samples up to `end` in the order of `key`. The window engine notices the end of the
/// run only at the border of a window, so that some were taken after it.
fn until<R, K: Ord>(
    pieces: Vec<Pieces<R>>,
    end: u64,
    time: impl Fn(&R) -> Time,
    key: impl Fn(&R) -> K,
) -> Vec<R> {
    let mut all = Pieces::join(pieces);
    all.retain(|record| time(record).0 <= end);
    all.sort_unstable_by_key(key);
    all
}

/// Brings the lists that all shards have added to into their order, without what happened after
/// `end`.
fn sort(output: &mut Output, end: u64) {
    output.memory_faults.sort_unstable_by_key(|fault| fault.node);
    output.storms.retain(|r| r.detected.0 <= end);
    output.storms.iter_mut().for_each(|r| r.restored = r.restored.filter(|at| at.0 <= end));
    output.storms.sort_by_key(|r| (r.detected, r.node, r.port, r.priority));
    for capture in &mut output.captures {
        capture.retain(|r| r.time.0 <= end);
        if !capture.is_sorted_by_key(|r| r.time) {
            capture.sort_by_key(|r| r.time);
        }
    }
    output.gaps.sort_unstable_by_key(|r| (r.node, r.port, r.flow, r.subflow));
    output.waits.sort_unstable_by_key(|r| (r.flow, r.node, r.port, r.behind));
    output.round_trips.sort_unstable_by_key(|r| (r.flow, r.subflow));
}

/// Sets the links for which the frames of each paused port wait. `held` has the paused links, as in
/// [`Harvest`].
fn tell_what_is_stuck(stuck: &mut [Stuck], mut held: Vec<(u32, u8, u32)>) {
    held.sort_unstable();
    stuck.sort_unstable();
    for one in stuck {
        one.waits_for = held
            .iter()
            .filter(|(link, priority, _)| (*link, *priority) == (one.link, one.priority))
            .map(|(.., to)| *to)
            .collect();
        one.waits_for.dedup();
    }
}

fn path_records(world: &World, mut paths: Vec<(FlowId, u8, u32, u64, u64)>) -> Vec<PathRecord> {
    paths.sort_unstable();
    paths
        .into_iter()
        .map(|(flow, subflow, number, frames, bytes)| PathRecord {
            flow,
            subflow: subflow as u32,
            nodes: path_nodes(world, flow, number),
            frames,
            bytes,
        })
        .collect()
}

fn flow_record(
    world: &World,
    flow: &Flow,
    sent: Option<SentRecord>,
    received: Option<ReceivedRecord>,
    settled: bool,
) -> FlowRecord {
    let shape = world.shape(flow);
    let received_bytes = received.map_or(0, |r| match (r.frames, r.has_last) {
        (0, _) => 0,
        (frames, true) => (frames - 1) * shape.payload as u64 + shape.last_payload as u64,
        (frames, false) => frames * shape.payload as u64,
    });
    // A sender that has stopped before the flow's start never starts it.
    let Some(sent) = sent.filter(|sent| sent.start < flow.stop.0) else {
        return FlowRecord {
            start: None,
            finish: None,
            given_up: None,
            status: Status::Running,
            ideal: Span::ZERO,
            propagation: Span::ZERO,
            split: Split::default(),
            packets_sent: 0,
            packets_retransmitted: 0,
            timeouts: 0,
            ecn_marked: 0,
            packets_reordered: 0,
            bytes_received: 0,
            last_received: None,
        };
    };
    let by_last_ack = world.ends_with_ack(shape);
    let finish = if by_last_ack { sent.finish } else { received.and_then(|r| r.finish) };
    // Data that arrive after the sender has given up do not finish a flow.
    let finish = finish.filter(|finish| sent.given_up.is_none_or(|given_up| *finish <= given_up));
    let mut split = Split::default();
    let mut ideal = sent.ideal;
    if let Some(finish) = finish {
        // If switches spray over unequal paths, frames may have taken a shorter path than the ideal
        // one.
        ideal = ideal.min(finish - sent.start);
        if let Some(mut why) = sent.why {
            if !by_last_ack {
                // Waits of the sender after the last byte had arrived, for example for a lost
                // acknowledgement, did not delay the flow.
                why.end_at(finish);
                why.stood(received.map_or(0, |r| r.paused));
            }
            split = why.close(finish - sent.start - ideal);
        }
    }
    // No frame is on its way: a datagram source that has sent all its data and lost some will never
    // finish.
    let hopeless =
        settled && shape.ack.is_none() && finish.is_none() && sent.packets == shape.count;
    FlowRecord {
        start: Some(Time(sent.start)),
        finish: finish.map(Time),
        given_up: sent.given_up.map(Time),
        status: match finish {
            Some(_) => Status::Finished,
            None if hopeless || sent.given_up.is_some() => Status::Terminated,
            None => Status::Running,
        },
        ideal: Span(ideal),
        propagation: Span(sent.propagation.min(ideal)),
        split,
        packets_sent: sent.packets,
        packets_retransmitted: sent.retransmitted,
        timeouts: sent.timeouts,
        ecn_marked: received.map_or(0, |r| r.marked),
        packets_reordered: received.map_or(0, |r| r.reordered),
        bytes_received: received_bytes,
        last_received: received.filter(|r| r.frames > 0).map(|r| Time(r.last)),
    }
}

/// Returns the nodes of a path, given its number (see `balance::path_step`). A path may combine
/// routes of different times.
fn path_nodes(world: &World, flow: FlowId, number: u32) -> Vec<NodeId> {
    fn search(
        world: &World,
        times: &[u64],
        node: NodeId,
        dst: u32,
        so_far: u32,
        number: u32,
        path: &mut Vec<NodeId>,
    ) -> bool {
        if path.contains(&node) {
            return false;
        }
        path.push(node);
        if node == dst {
            if so_far == number {
                return true;
            }
        } else {
            for &now in times {
                let one;
                let ports: &[u16] = match world.routes(now).next_hops(node, dst) {
                    NextHops::None => &[],
                    NextHops::One(port) => {
                        one = [port];
                        &one
                    }
                    NextHops::Many(set) => set,
                };
                for &port in ports {
                    // The path number does not include the output port of the host.
                    let number_here =
                        if node == path[0] { so_far } else { path_step(so_far, node, port) };
                    if search(
                        world,
                        times,
                        world.ports.of(node)[port as usize].peer,
                        dst,
                        number_here,
                        number,
                        path,
                    ) {
                        return true;
                    }
                }
            }
        }
        path.pop();
        false
    }
    let spec = world.flow(flow);
    let times: Vec<u64> = world.epoch_starts().collect();
    let mut path = Vec::with_capacity(8);
    for &from in &times {
        if search(world, &[from], spec.src, spec.dst, 0, number, &mut path) {
            return path;
        }
    }
    // The routes changed while the frame was in flight.
    search(world, &times, spec.src, spec.dst, 0, number, &mut path);
    path
}
