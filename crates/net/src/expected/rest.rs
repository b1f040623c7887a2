//! Estimates the traffic that is not followed flow by flow. Its bytes are known in closed form or
//! from the list of flows, and its packet-hops are extrapolated from a sample.

use super::Expected;
use super::fluid_model::FluidModel;
use crate::idle::Route;
use crate::spec::{Flow, Start, Undrawn};
use crate::world::World;
use afflux_units::Time;

/// Maximum number of flows in a sample.
const SAMPLE: usize = 4_096;
/// Precision of packet-hops that are extrapolated from a sample, as factors.
const LEAST: f64 = 0.93;
const MOST: f64 = 1.07;
/// Range of the rate at which a run that is cut off delivers the rest, as factors of the rate so
/// far.
const SLOWER: f64 = 0.4;
const FASTER: f64 = 2.5;
/// Ratio of the time that flows need to the time in which they start. Queues grow if it is above
/// this value.
const OVERLOAD: f64 = 1.5;
/// Limit for the ratio of all flows to the flows of the process. Below it, other traffic is
/// negligible.
const ALONE: f64 = 1.1;

const PS: f64 = 1e-12;

/// Returns flows picked at even distances.
pub fn sample(flows: &[Flow]) -> impl Iterator<Item = &Flow> {
    flows.iter().step_by(flows.len().div_ceil(SAMPLE).max(1))
}

/// Traffic in addition to the followed flows. Bytes are minimum, expected value and maximum. Times
/// are in seconds.
#[derive(Debug, Clone, Copy)]
struct Part {
    flows: f64,
    bytes: [f64; 3],
    hops_per_byte: f64,
    end: f64,
    /// True if the amount of data in flight grows with time.
    grows: bool,
}

/// Adds the rest of the plan's traffic to `found`, the estimate for the followed flows.
pub fn add(world: &World, found: &mut Expected) {
    let mut parts: Vec<Part> =
        world.plan.undrawn.iter().filter_map(|undrawn| of_undrawn(world, found, undrawn)).collect();
    if !found.complete && world.plan.applications.is_none() {
        parts.extend(of_list(world, found));
        found.complete = true;
    }
    let until = world.until() as f64 * PS;
    let followed = found.bytes as f64;
    for part in parts {
        let [least, bytes, most] = part.bytes;
        let (_, above) = found.unknowns.map_or((1.0, 1.0), |unknowns| unknowns.range(false));
        let hops = |bytes: f64, times: f64| (bytes * part.hops_per_byte * times) as u64;
        found.least_hops += hops(least, LEAST);
        found.packet_hops += hops(bytes, 1.0);
        found.most_hops += hops(most, MOST * above);
        found.bytes += bytes as u64;
        found.flows += part.flows as u64;
        found.started += part.flows as u64;
        found.end = found.end.max(part.end).min(until);
        found.cut |= part.end > until;
        let times = found.bytes as f64 / followed.max(1.0);
        if part.grows {
            found.halves = (found.halves as f64 * times) as u64;
            found.outstanding = (found.outstanding as f64 * times) as u64;
            found.rings = (found.rings as f64 * times) as u64;
        }
    }
    let times = found.bytes as f64 / followed.max(1.0);
    if times > 1.0 {
        found.followed = 1.0 / times;
        found.sending *= times;
        for count in [&mut found.visits, &mut found.paths, &mut found.captured] {
            *count = (*count as f64 * times) as u64;
        }
    }
}

/// Returns the later flows of a random process: their number follows from its rate, and they have
/// the mean size.
fn of_undrawn(world: &World, found: &Expected, undrawn: &Undrawn) -> Option<Part> {
    let seconds = |time: Time| time.0 as f64 * PS;
    let (start, drawn, end, until) = (
        seconds(undrawn.start),
        seconds(undrawn.drawn),
        seconds(undrawn.end),
        world.until() as f64 * PS,
    );
    if end.min(until) <= drawn {
        return None;
    }
    let share = (end.min(until) - drawn) / (end - drawn);
    let bytes = undrawn.bytes * share;
    // If flows end long after the last of them has started, they share links with less capacity
    // than the offered load. Next to other traffic, their end is not known.
    let number = undrawn.flows * (drawn - start) / (end - drawn);
    let alone = world.plan.undrawn.len() == 1 && (world.plan.flows.len() as f64) < ALONE * number;
    let pace = if alone { ((found.end - start) / (drawn - start).max(PS)).max(1.0) } else { 1.0 };
    let grows = pace > OVERLOAD;
    let lag = if alone { (found.end - drawn).max(0.0) } else { 0.0 };
    let done = if grows { start + pace * (end - start) } else { end + lag };
    let least = if done <= until { bytes } else { bytes / pace };
    let expected = if grows { least } else { bytes };
    Some(Part {
        flows: undrawn.flows * share,
        bytes: [least.min(expected), expected, bytes],
        hops_per_byte: ratio(world, undrawn.sample.iter()),
        end: done,
        grows,
    })
}

/// Returns the rest of the plan's flows, if the model gave up following them at `found.end`.
fn of_list(world: &World, found: &Expected) -> Option<Part> {
    let until = world.until();
    let flows = || {
        let begins = move |flow: &&Flow| match flow.start {
            Start::At(start) => start.0 < until,
            Start::After { .. } => true,
        };
        world.plan.flows.iter().filter(|flow| flow.src != flow.dst).filter(begins)
    };
    let offered: f64 = flows().map(|flow| flow.bytes as f64).sum();
    let last = flows()
        .filter_map(|flow| {
            if let Start::At(start) = flow.start { Some(start.0 as f64 * PS) } else { None }
        })
        .fold(0.0, f64::max);
    let first = flows()
        .find_map(
            |flow| if let Start::At(start) = flow.start { Some(start.0 as f64 * PS) } else { None },
        )
        .unwrap_or(0.0);
    let rest = offered - found.bytes as f64;
    if rest <= 0.0 {
        return None;
    }
    let rate = found.bytes as f64 / (found.end - first).max(PS);
    let left = until as f64 * PS - found.end;
    let end = last.max(found.end + rest / rate.max(PS));
    let by_rate =
        |times: f64| if end <= until as f64 * PS { rest } else { rest.min(times * rate * left) };
    let hops_per_byte = ratio(world, sample(&world.plan.flows));
    Some(Part {
        flows: 0.0,
        bytes: [by_rate(SLOWER), by_rate(1.0), by_rate(FASTER)],
        hops_per_byte,
        end,
        grows: true,
    })
}

/// Returns the packet-hops per byte of payload of these flows, without losses.
fn ratio<'f>(world: &World, flows: impl Iterator<Item = &'f Flow>) -> f64 {
    let models = FluidModel::all(world);
    let (mut hops, mut bytes) = (0.0, 0.0);
    for flow in flows.filter(|flow| flow.src != flow.dst) {
        let model = &models[flow.transport as usize];
        let (via, hash) = Route::of(world, flow).there;
        let links = world.path_via(0, via, hash, flow.src, flow.dst).len() as f64;
        let frames = world.shape(flow).count as f64;
        let control = if flow.connection.is_some() { 0 } else { model.control.0 + model.control.1 };
        hops += (model.copies * (frames + model.acknowledgements(frames)) + control as f64) * links;
        bytes += flow.bytes as f64;
    }
    if bytes > 0.0 { hops / bytes } else { 0.0 }
}
