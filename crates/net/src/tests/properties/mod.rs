//! Tests properties that hold in any fabric, with any configuration and any traffic.

mod case;
mod memory;
mod switches;
mod transports;

use super::determinism::{difference, digest};
use crate::record::{Output, Status};
use crate::spec::*;
use crate::{Progress, run};
use case::{Case, case};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

fn run_with(plan: &Plan, engine: EngineKind, threads: u32) -> Output {
    let mut plan = plan.clone();
    plan.run.engine = engine;
    plan.run.threads = threads;
    // This call also checks conservation, memory and the sum of the parts.
    run(&plan, &Progress::default()).expect("a valid plan")
}

fn same_from_both_engines(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    let expected = digest(output);
    for threads in [1, case.threads] {
        // Workers meet after every window, so long runs with short windows are left to the
        // scenarios of `determinism`.
        if threads > 1 && output.engine.events > 60_000 {
            continue;
        }
        let got = digest(&run_with(&case.plan, EngineKind::WindowLog, threads));
        if let Some(difference) = difference(&got, &expected) {
            return Err(TestCaseError::fail(format!("{threads} threads:\n{difference}")));
        }
    }
    Ok(())
}

fn nothing_is_faster_than_ideal(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    for (flow, record) in case.plan.flows.iter().zip(&output.flows) {
        let (Some(start), Some(finish)) = (record.start, record.finish) else { continue };
        let took = finish.since(start);
        prop_assert!(
            took >= record.ideal,
            "flow {}: {took} is less than the ideal {}",
            flow.id,
            record.ideal
        );
    }
    Ok(())
}

fn everything_arrives(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    let both = || case.plan.flows.iter().zip(&output.flows);
    for (flow, record) in both() {
        let given_up = (flow.deadline.is_some() || flow.stop != Flow::ENDLESS)
            && record.status == Status::Terminated;
        // Flows that follow a group with a terminated flow never start.
        let follows = matches!(flow.start, Start::After { group, .. } if both().any(|(f, r)| f.group == Some(group) && r.status == Status::Terminated));
        if flow.transport != 2 && !given_up && !follows {
            prop_assert_eq!(record.status, Status::Finished, "flow {}: {:?}", flow.id, record);
        }
    }
    prop_assert_eq!(output.counters.in_flight_packets, 0);
    prop_assert_eq!(output.counters.in_flight_bytes, 0);
    Ok(())
}

fn buffers_hold(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    let switch = &case.plan.switches[0];
    let several = switch.scheduling.queues() > 1;
    // Series count the frame in transmission and the device queue, even if the buffer does not.
    let beyond =
        if switch.queue_length != QueueLength::ThroughTransmission || switch.device_queue > 0 {
            1 + switch.device_queue as u64
        } else {
            0
        };
    let sending = beyond * 9_100;
    let of_switches = output.ports.iter().filter(|r| r.node >= case.plan.topology.hosts);
    if let Buffer::Static { per_queue: Limit::Bytes(limit), .. } = switch.buffer {
        for r in of_switches.clone().filter(|r| !several || r.queue >= 0) {
            prop_assert!(
                r.queue_bytes <= r.queue_bytes_max && r.queue_bytes_max <= limit + sending,
                "{r:?}"
            );
        }
    }
    if let Buffer::Voq(Voq { max_bytes: Some(limit), dram, on_chip, .. }) = switch.buffer {
        // Without priorities and cores, the port is the queue. Lossless queues have no cap.
        for r in of_switches
            .clone()
            .filter(|r| switch.pfc.is_none() && (r.queue >= 0 || switch.queues(8) == 1))
        {
            prop_assert!(r.queue_bytes_max <= limit, "{r:?}");
        }
        let mut in_use = std::collections::BTreeMap::new();
        for r in of_switches.clone().filter(|r| r.queue == -1) {
            *in_use.entry((r.time, r.node)).or_insert(0) += r.queue_bytes;
        }
        prop_assert!(in_use.values().all(|bytes| *bytes <= on_chip + dram));
    }
    if let Buffer::Shared { total, .. } = switch.buffer {
        let mut in_use = std::collections::BTreeMap::new();
        for r in of_switches.filter(|r| r.queue == -1) {
            prop_assert!(r.queue_bytes_max <= total + sending, "{r:?}");
            *in_use.entry((r.time, r.node)).or_insert(0) += r.queue_bytes.saturating_sub(sending);
        }
        prop_assert!(in_use.values().all(|bytes| *bytes <= total));
    }
    Ok(())
}

fn nothing_overtakes(case: &Case, output: &Output) -> Result<(), TestCaseError> {
    for (flow, record) in case.plan.flows.iter().zip(&output.flows) {
        // Recycled entropies take many paths.
        let one_path = !matches!(&case.plan.transports[flow.transport as usize], TransportConfig::Rdma(rdma) if matches!(rdma.entropy, Entropy::Reps(_)));
        if record.packets_retransmitted == 0 && one_path {
            prop_assert_eq!(record.packets_reordered, 0, "flow {}", flow.id);
        }
    }
    Ok(())
}

/// Runs one of `PARTS` tests with equal shares of the cases, so that they share the cores.
fn any_simulation(part: u64) {
    // A failing case is reported within minutes, even if it is not minimal.
    let mut config =
        Config { failure_persistence: None, max_shrink_time: 120_000, ..Config::default() };
    // Half of proptest's usual number of cases is run. PROPTEST_CASES sets another number, as
    // `make fuzz` does. The seeds are fixed, and PROPTEST_RNG_SEED sets others.
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases /= 2;
    }
    config.cases = config.cases.div_ceil(PARTS as u32);
    config.rng_seed = RngSeed::Fixed(match config.rng_seed {
        RngSeed::Random => 1 + part,
        RngSeed::Fixed(seed) => PARTS * seed + part,
    });
    proptest!(config, |(case in case())| {
        let output = run_with(&case.plan, EngineKind::Classical, 1);
        same_from_both_engines(&case, &output)?;
        nothing_is_faster_than_ideal(&case, &output)?;
        buffers_hold(&case, &output)?;
        if case.completes {
            everything_arrives(&case, &output)?;
        }
        if case.lossless {
            prop_assert_eq!((output.counters.in_discards, output.counters.drops_buffer), (0, 0));
        }
        if case.in_order {
            nothing_overtakes(&case, &output)?;
        }
    });
}

const PARTS: u64 = 16;

parts! {
    any_simulation:
    any_simulation_0 0
    any_simulation_1 1
    any_simulation_2 2
    any_simulation_3 3
    any_simulation_4 4
    any_simulation_5 5
    any_simulation_6 6
    any_simulation_7 7
    any_simulation_8 8
    any_simulation_9 9
    any_simulation_10 10
    any_simulation_11 11
    any_simulation_12 12
    any_simulation_13 13
    any_simulation_14 14
    any_simulation_15 15
}
