//! Merges the results of the shards into one output, in canonical order.

use super::window::Done;
use crate::balance::path_step;
use crate::probe::pieces::Pieces;
use crate::queue::flowcontrol::deadlock::{Wait, deadlocks};
use crate::record::*;
use crate::routing::NextHops;
use crate::shard::{ReceivedRecord, SentRecord, Shard};
use crate::spec::{Flow, FlowId, NodeId};
use crate::world::World;
use afflux_units::{Span, Time};

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
    let mut sent: Vec<Option<SentRecord>> = vec![None; plan.flows.len() + world.started.count()];
    let mut received: Vec<Option<ReceivedRecord>> = vec![None; sent.len()];
    let (mut paths, mut waits, mut held) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ports, mut uplinks, mut reordering, mut senders) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut decisive = Vec::new();
    for (shard, done) in shards.iter_mut().zip(done) {
        let (harvest, links) =
            if classical { shard.finish::<true>(end) } else { shard.finish::<false>(end) };
        output.counters.add(&shard.counters);
        output.counters.in_flight_packets += done.in_flight.0;
        output.counters.in_flight_bytes += done.in_flight.1;
        for (direction, record) in links {
            output.links[direction] = record;
        }
        for record in harvest.sent.into_pieces().flatten() {
            let flow = record.flow as usize;
            sent[flow] = Some(record);
        }
        for record in harvest.received.into_pieces().flatten() {
            received[record.flow as usize] = Some(record);
        }
        ports.push(harvest.ports);
        uplinks.push(harvest.uplinks);
        reordering.push(harvest.reordering);
        senders.push(harvest.senders);
        output.storms.extend(harvest.storms);
        waits.extend(harvest.waits);
        output.stuck.extend(harvest.stuck);
        held.extend(harvest.held);
        for (capture, record) in harvest.captures.into_pieces().flatten() {
            output.captures[capture as usize].push(record);
        }
        paths.extend(harvest.paths);
        output.tasks.extend(harvest.tasks);
        output.gaps.extend(harvest.gaps);
        output.waits.extend(harvest.waits_behind);
        output.round_trips.extend(harvest.round_trips);
        output.memory_faults.extend(harvest.memory_faults);
        decisive.extend(shard.transports.decisive());
    }
    for (flow, decisive) in decisive {
        // The flow is complete at the receiver, but the last acknowledgement had not reached the
        // sender.
        if let Some(record) = sent[flow as usize].as_mut().filter(|record| record.finish.is_none())
        {
            let shard = world.place[world.flow(flow).src as usize].shard;
            record.why = shards[shard as usize].account_of(flow, decisive);
        }
    }
    output.memory_faults.sort_unstable_by_key(|fault| fault.node);
    // Remove samples taken after the end: the window engine notices the end only at the border of a
    // window.
    output.ports = Pieces::join(ports);
    output.ports.retain(|r| r.time.0 <= end);
    output.ports.sort_unstable_by_key(|r| (r.time, r.node, r.port, r.queue));
    output.uplinks = Pieces::join(uplinks);
    if let Some(window) = plan.record.imbalance {
        output.uplinks.retain(|r| r.time.0 + window.0 <= end);
    }
    output.uplinks.sort_unstable_by_key(|r| (r.time, r.node, r.link));
    output.reordering = Pieces::join(reordering);
    output.reordering.retain(|r| r.time.0 <= end);
    output.reordering.sort_unstable_by_key(|r| (r.time, r.node, r.port));
    output.senders = Pieces::join(senders);
    output.senders.retain(|r| r.time.0 <= end);
    output.senders.sort_unstable_by_key(|r| (r.time, r.flow, r.subflow));
    output.storms.retain(|r| r.detected.0 <= end);
    output.storms.iter_mut().for_each(|r| r.restored = r.restored.filter(|at| at.0 <= end));
    output.storms.sort_by_key(|r| (r.detected, r.node, r.port, r.priority));
    waits.retain(|wait: &Wait| wait.time <= end);
    output.deadlocks = deadlocks(waits);
    if done.iter().any(|done| done.limited == Some(Ended::Stalled)) {
        held.sort_unstable();
        output.stuck.sort_unstable();
        for stuck in &mut output.stuck {
            stuck.waits_for = held
                .iter()
                .filter(|(link, priority, _)| (*link, *priority) == (stuck.link, stuck.priority))
                .map(|(.., to)| *to)
                .collect();
            stuck.waits_for.dedup();
        }
    } else {
        output.stuck.clear();
    }
    for capture in &mut output.captures {
        capture.retain(|r| r.time.0 <= end);
        if !capture.is_sorted_by_key(|r| r.time) {
            capture.sort_by_key(|r| r.time);
        }
    }
    output.gaps.sort_unstable_by_key(|r| (r.node, r.port, r.flow, r.subflow));
    output.waits.sort_unstable_by_key(|r| (r.flow, r.node, r.port, r.behind));
    output.round_trips.sort_unstable_by_key(|r| (r.flow, r.subflow));
    paths.sort_unstable();
    output.paths = paths
        .into_iter()
        .map(|(flow, subflow, number, frames, bytes)| PathRecord {
            flow,
            subflow: subflow as u32,
            nodes: path_nodes(world, flow, number),
            frames,
            bytes,
        })
        .collect();
    let complete = !done.iter().any(|d| d.reached_until);
    output.flows = sent
        .into_iter()
        .zip(received)
        .enumerate()
        .map(|(id, (s, r))| flow_record(world, world.flow(id as FlowId), s, r, complete))
        .collect();
    output
}

fn flow_record(
    world: &World,
    flow: &Flow,
    sent: Option<SentRecord>,
    received: Option<ReceivedRecord>,
    complete: bool,
) -> FlowRecord {
    let shape = world.shape(flow);
    let received_bytes = received.map_or(0, |r| match (r.frames, r.has_last) {
        (0, _) => 0,
        (frames, true) => (frames - 1) * shape.payload as u64 + shape.last_payload as u64,
        (frames, false) => frames * shape.payload as u64,
    });
    let Some(sent) = sent else {
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
    // No event is left: a datagram source that has sent all its data and lost some will never
    // finish.
    let hopeless =
        complete && shape.ack.is_none() && finish.is_none() && sent.packets == shape.count;
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
