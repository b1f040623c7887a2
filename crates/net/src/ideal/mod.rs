//! Flow-level engine: one big switch on which the flow with the fewest remaining bytes sends first.
//!
//! This is pFabric's "Ideal". There are no packets, buffers or round trips. At every arrival and
//! completion all flows are sorted by their remaining bytes. In that order, each flow whose source
//! and destination are both free sends at line rate. A completion time is the time until the flow
//! is served plus its latency in the idle fabric.

mod matching;

use crate::idle::idle;
use crate::record::{Ended, Engine, FlowRecord, LinkRecord, Output, Split, Status};
use crate::spec::{Flow, FlowId, Plan, Start};
use crate::world::{Shape, World};
use crate::{Model, Progress, RunError};
use afflux_units::{Span, Time};
use matching::Matching;
use std::time::Instant;

pub const MODEL: Model = Model {
    kind: "engine",
    name: "ideal",
    source: "Alizadeh et al., SIGCOMM 2013 (Ideal); the readme of their ideal simulator",
    faithful: "at every arrival and completion of a flow, flows are ordered by their remaining bytes; each flow whose source and destination are both \
               free sends at line rate, all others stop; headers count; the latency of the idle path is added to the completion time, so a lone flow has \
               slowdown 1",
    simplified: "the fabric is one big switch whose inner links never limit; the mean completion time is at most twice the least possible one; equal \
                 flows are served in the order of the list; a flow occupies its destination at once (in yaps a propagation delay later); a host has the \
                 rate of its first link",
};

/// Demand of a flow on the big switch.
struct Demand {
    /// Time in ps of all its frames on the slower of its two hosts' links.
    time: u64,
    /// Rate of that link in bit/s.
    rate: u64,
    ideal: u64,
    propagation: u64,
}

fn demand(world: &World, now: u64, flow: &Flow, shape: Shape) -> Demand {
    let idle = idle(world, now, flow, shape, world.ends_with_ack(shape));
    let path = world.path(now, world.flow_hash(flow, false), flow.src, flow.dst);
    let ends = [path.first(), path.last()].map(|hop| {
        let &(node, port) = hop.expect("checked: every destination can be reached");
        world.ports.of(node)[port as usize]
    });
    let slower = ends.iter().min_by_key(|info| world.rate(info).0).expect("two ends");
    let time = (shape.count - 1) * world.serialize(slower, shape.full)
        + world.serialize(slower, shape.last);
    Demand { time, rate: world.rate(slower).0, ideal: idle.total, propagation: idle.propagation }
}

/// Runs `plan`, whose flows all start at given times.
pub fn run(plan: &Plan, progress: &Progress) -> Result<Output, RunError> {
    let wall = Instant::now();
    let cpu = crate::clock::thread_cpu_s();
    let world = World::new(plan, 1)?;
    let until = world.until();
    let mut matching = Matching::new(plan.topology.hosts as usize);
    let mut demands: Vec<Option<Demand>> = plan.flows.iter().map(|_| None).collect();
    // Time in ps at which the big switch has served each flow.
    let mut served: Vec<Option<u64>> = vec![None; plan.flows.len()];
    let (mut next, mut events) = (0, 0u64);
    let mut ended: Vec<FlowId> = Vec::new();
    loop {
        let arrival = plan.flows.get(next).map_or(u64::MAX, start);
        let now = arrival.min(matching.next_end());
        if now > until || now == u64::MAX {
            break;
        }
        if progress.cancelled() {
            return Err(RunError::Cancelled);
        }
        matching.advance(now, &mut ended);
        events += ended.len() as u64;
        progress.advance(now, 0, ended.len() as u64);
        ended.drain(..).for_each(|flow| served[flow as usize] = Some(now));
        while let Some(flow) = plan.flows.get(next).filter(|flow| start(flow) == now) {
            let id = next as FlowId;
            next += 1;
            events += 1;
            if flow.src == flow.dst {
                (demands[id as usize], served[id as usize]) =
                    (Some(Demand { time: 0, rate: 1, ideal: 0, propagation: 0 }), Some(now));
                continue;
            }
            let demand = demand(&world, now, flow, world.shape(flow));
            matching.add(id, (flow.src, flow.dst), demand.time, demand.rate);
            demands[id as usize] = Some(demand);
        }
        matching.choose();
    }
    let mut left = vec![None; plan.flows.len()];
    matching.unserved(until).for_each(|(flow, rest)| left[flow as usize] = Some(rest));
    let mut end = 0;
    let mut record = |(id, flow): (usize, &Flow)| {
        let demand = demands[id].as_ref();
        let begun = demand.map(|_| start(flow));
        // Latency of the flow: the time on the idle path beyond the frames' time on the link.
        let finish = served[id]
            .zip(demand)
            .map(|(at, demand)| at + demand.ideal.saturating_sub(demand.time))
            .filter(|&finish| finish <= until);
        end = end.max(finish.or(begun).unwrap_or(0));
        let waited =
            finish.zip(demand).map_or(0, |(finish, demand)| finish - start(flow) - demand.ideal);
        FlowRecord {
            start: begun.map(Time),
            finish: finish.map(Time),
            given_up: None,
            status: if finish.is_some() { Status::Finished } else { Status::Running },
            ideal: Span(demand.map_or(0, |demand| demand.ideal)),
            propagation: Span(demand.map_or(0, |demand| demand.propagation)),
            split: if plan.record.explain {
                Split { queueing: waited, ..Split::default() }
            } else {
                Split::default()
            },
            packets_sent: if finish.is_some() && flow.src != flow.dst {
                world.shape(flow).count
            } else {
                0
            },
            packets_retransmitted: 0,
            timeouts: 0,
            ecn_marked: 0,
            packets_reordered: 0,
            bytes_received: match (finish, demand) {
                (Some(_), _) => flow.bytes,
                (None, Some(demand)) => arrived(flow, demand, (served[id], left[id]), until),
                (None, None) => 0,
            },
            last_received: finish.map(Time),
        }
    };
    let flows: Vec<FlowRecord> = plan.flows.iter().enumerate().map(&mut record).collect();
    let cut = flows.iter().any(|flow| flow.finish.is_none());
    Ok(Output {
        flows,
        links: vec![LinkRecord::default(); 2 * plan.topology.links.len()],
        end: Time(if cut { until } else { end }),
        ended: if cut { Ended::Until } else { Ended::Done },
        engine: Engine {
            events,
            thread_cpu_s: vec![crate::clock::thread_cpu_s() - cpu],
            wall_s: wall.elapsed().as_secs_f64(),
            window_ps: 0,
            windows: 0,
        },
        ..Output::default()
    })
}

/// Returns the bytes of an unfinished flow that have arrived by `until` (ps), which is later than
/// their service by the latency of the idle path. `served`: time at which the flow was served.
/// `left`: time that it still needs on the link, and whether it sends.
fn arrived(
    flow: &Flow,
    demand: &Demand,
    (served, left): (Option<u64>, Option<(u64, bool)>),
    until: u64,
) -> u64 {
    let latency = demand.ideal.saturating_sub(demand.time);
    let missing = match (served, left) {
        (Some(at), _) => (at + latency).saturating_sub(until),
        (None, Some((left, sends))) => left + if sends { latency } else { 0 },
        (None, None) => demand.time,
    };
    let there = demand.time.saturating_sub(missing);
    (u128::from(flow.bytes) * u128::from(there) / u128::from(demand.time.max(1))) as u64
}

fn start(flow: &Flow) -> u64 {
    match flow.start {
        Start::At(time) => time.0,
        Start::After { .. } => unreachable!("validated: only flows that start by the clock"),
    }
}
