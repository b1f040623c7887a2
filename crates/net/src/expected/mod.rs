//! Estimates the results of a plan before it is run: packet-hops, end of the run, and the amount of
//! data in flight. Flows are followed at the rates of max-min fairness ([`fluid`]), and frames are
//! counted from their sizes and paths. Retransmissions cannot be predicted. [`Expected::unknowns`]
//! tells if frames are likely to be lost.

mod fluid;
mod fluid_model;
mod queues;
mod rest;
mod result;
mod share;

pub use fluid_model::{FluidModel, Pace};
pub use rest::sample;
pub use result::{Expected, Unknowns};

use crate::RunError;
use crate::spec::{EngineKind, Plan};
use crate::world::World;
use fluid::Fluid;

/// Ratio up to which two estimates count as equal.
const AGREE: f64 = 1.1;

/// Estimates the results of `plan`.
///
/// # Errors
/// Returns an error if the plan cannot be run.
pub fn expected(plan: &Plan) -> Result<Expected, RunError> {
    if plan.run.engine == EngineKind::Ideal {
        let bytes: u64 = plan.flows.iter().map(|flow| flow.bytes).sum();
        let (undrawn, more) = plan
            .undrawn
            .iter()
            .fold((0.0, 0.0), |(flows, bytes), part| (flows + part.flows, bytes + part.bytes));
        let flows = plan.flows.len() as u64 + undrawn as u64;
        return Ok(Expected {
            bytes: bytes + more as u64,
            flows,
            started: flows,
            complete: true,
            ..Expected::default()
        });
    }
    let world = World::new(plan, 1)?;
    let mut found = followed(&world);
    rest::add(&world, &mut found);
    Ok(found)
}

/// Follows the flows of the plan and of its applications until they end, the run ends, or there are
/// too many.
fn followed(world: &World) -> Expected {
    let plan = world.plan;
    let mut found = Fluid::new(world, true).run();
    (found.least_hops, found.most_hops) = (found.packet_hops, found.packet_hops);
    if plan.transports.iter().any(|transport| transport.parameters().pace(1.0).is_some()) {
        // A few frames decide when notifications arrive and cut the rate. The result lies between
        // this estimate and the estimate for a control that keeps its rate.
        let steady = Fluid::new(world, false).run();
        if !(found.complete && steady.complete) {
            // The two estimates were given up at different times.
            return doubted(Expected {
                unknowns: found.unknowns.or(Some(Unknowns::Rates)),
                ..found
            });
        }
        let (few, many) = (
            found.packet_hops.min(steady.packet_hops) as f64,
            found.packet_hops.max(steady.packet_hops) as f64,
        );
        found.end = (found.end * steady.end).sqrt();
        if many > AGREE * few {
            found.note(Unknowns::Rates);
            found.packet_hops = (few * many).sqrt() as u64;
            (found.least_hops, found.most_hops) = ((0.8 * few) as u64, (1.05 * many) as u64);
            return found;
        }
    }
    doubted(found)
}

/// Sets the range of packet-hops according to the doubt.
fn doubted(mut found: Expected) -> Expected {
    if let Some(unknowns) = found.unknowns {
        let (least, most) = unknowns.range(found.cut);
        (found.least_hops, found.most_hops) =
            ((found.packet_hops as f64 * least) as u64, (found.packet_hops as f64 * most) as u64);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Progress;
    use crate::spec::{Flow, MptcpConfig, PathManager, PathScheduler, TransportConfig, Undrawn};
    use crate::testing::{flow, leaf_spine, mptcp, plan, star};
    use afflux_units::Time;

    #[test]
    fn without_losses_it_is_what_a_run_takes() {
        let flows = vec![
            flow(0, 0, 1, 100_000, Time::ZERO),
            flow(1, 0, 3, 1, Time::ZERO),
            flow(2, 2, 1, 50_001, Time::ZERO),
            flow(3, 3, 3, 9, Time::ZERO),
        ];
        let plan = plan(leaf_spine(2, 2, 2), flows);
        let output = crate::run(&plan, &Progress::default()).unwrap();
        assert_eq!(output.counters.dropped_packets, 0);
        let found = expected(&plan).unwrap();
        assert_eq!(
            (found.bytes, found.packet_hops, found.unknowns),
            (150_002, output.counters.packet_hops, None)
        );
        let end = output.end.0 as f64 * 1e-12;
        assert!((found.end / end - 1.0).abs() < 0.1, "{} of {end}", found.end);
    }

    /// The run ends when the last sender stops, not when the first one stops, and not when all data
    /// would be sent. A flow that is done before its stop ends when it is done.
    #[test]
    fn the_last_stop_is_the_end() {
        let stopping = |id: i64, stop: u64| Flow {
            stop: Time::from_ns(stop),
            ..flow(id, id as u32, 0, 1 << 40, Time::ZERO)
        };
        let mut plan = plan(star(4), vec![stopping(1, 1_000_000), stopping(2, 2_000_000)]);
        let found = expected(&plan).unwrap();
        assert!((found.end, found.cut, found.complete) == (2e-3, false, true), "{found:?}");
        let end = crate::run(&plan, &Progress::default()).unwrap().end.0 as f64 * 1e-12;
        assert!(end >= found.end, "{end}");
        plan.flows[1].bytes = 1_000;
        assert_eq!(expected(&plan).unwrap().end, 1e-3);
    }

    /// Every subflow carries all data, and skips segments that another subflow has delivered.
    #[test]
    fn copies_of_redundant_subflows_count() {
        for (subflows, bytes) in
            [(2, 2_000_000), (4, 2_000_000), (8, 300_000), (32, 300_000), (8, 20_000)]
        {
            let config = MptcpConfig {
                manager: PathManager::DiffPorts(subflows),
                scheduler: PathScheduler::Redundant,
                ..mptcp()
            };
            let flows = (0..4)
                .map(|source| flow(i64::from(source), source, 7 - source, bytes, Time::ZERO))
                .collect();
            let plan = Plan {
                transports: vec![TransportConfig::Mptcp(config)],
                ..plan(leaf_spine(2, 2, 4), flows)
            };
            let hops = crate::run(&plan, &Progress::default()).unwrap().counters.packet_hops;
            let found = expected(&plan).unwrap();
            assert_eq!(found.unknowns, Some(Unknowns::Copies));
            assert!(
                (found.least_hops..=found.most_hops).contains(&hops),
                "{subflows} subflows, {bytes} B: {hops} {found:?}"
            );
        }
    }

    /// The later flows of a random process are counted by their number and size: twice as many
    /// flows as were drawn, of the same mean size.
    #[test]
    fn undrawn_flows_count() {
        let all: Vec<Flow> = (0..3_000u32)
            .map(|n| {
                flow(
                    n.into(),
                    n % 4,
                    (n + 1 + n / 4 % 3) % 4,
                    5_000,
                    Time::from_ns(10_000 * u64::from(n)),
                )
            })
            .collect();
        let whole = plan(star(4), all.clone());
        let drawn = all[..1_000].to_vec();
        let (start, at, end) = (Time::ZERO, Time::from_ns(10_000_000), Time::from_ns(30_000_000));
        let rest = Undrawn {
            flows: 2_000.0,
            bytes: 10_000_000.0,
            start,
            drawn: at,
            end,
            sample: sample(&drawn).cloned().collect(),
        };
        let mut part = Plan { undrawn: vec![rest], ..plan(star(4), drawn) };
        for until in [None, Some(Time::from_ns(20_000_000)), Some(Time::from_ns(5_000_000))] {
            part.run.until = until;
            let run = Plan { run: part.run.clone(), ..whole.clone() };
            let output = crate::run(&run, &Progress::default()).unwrap();
            let found = expected(&part).unwrap();
            let hops = output.counters.packet_hops;
            // There is no range if all flows that start were followed.
            let bounded = found.least_hops < found.most_hops;
            assert!(
                !bounded || (found.least_hops..=found.most_hops).contains(&hops),
                "{until:?} {hops} {found:?}"
            );
            assert!(
                (found.packet_hops as f64 / hops as f64 - 1.0).abs() < 0.01,
                "{until:?} {hops} {found:?}"
            );
            let end = output.end.0 as f64 * 1e-12;
            assert!((found.end / end - 1.0).abs() < 0.01, "{until:?} {} of {end}", found.end);
        }
    }

    #[test]
    fn a_link_carries_what_it_can_until_the_end() {
        let flows = (1..4)
            .map(|source| flow(i64::from(source), source, 0, 1 << 40, Time::from_ns(100_000)))
            .collect();
        let mut plan = plan(star(4), flows);
        plan.run.until = Some(Time::from_ns(1_100_000));
        let output = crate::run(&plan, &Progress::default()).unwrap();
        let found = expected(&plan).unwrap();
        assert!(
            found.cut
                && found.packet_hops.abs_diff(output.counters.packet_hops)
                    < output.counters.packet_hops / 20,
            "{found:?} {:?}",
            output.counters
        );
    }
}
