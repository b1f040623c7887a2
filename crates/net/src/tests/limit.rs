//! Tests runs that end before their records exceed the memory limit.

use super::determinism::digest;
use crate::record::{Ended, Output, Status};
use crate::spec::{EngineKind, MaxMemory, Plan, PortSeries};
use crate::testing::{flow, leaf_spine, plan};
use crate::{Progress, run};
use afflux_units::{Span, Time};

/// Returns a plan with eight flows of some milliseconds over a leaf-spine fabric whose ports are
/// sampled every microsecond.
fn sampled(records: u64) -> Plan {
    let flows = (0..8)
        .map(|source| flow(i64::from(source), source, (source + 8) % 16, 4_000_000, Time::ZERO))
        .collect();
    let mut plan = plan(leaf_spine(2, 2, 8), flows);
    plan.record.ports = Some(PortSeries { interval: Span::from_us(1), nodes: (0..20).collect() });
    plan.run.max_memory = Some(MaxMemory { bytes: u64::MAX, by: None, records });
    plan
}

fn with(plan: &Plan, engine: EngineKind, threads: u32) -> Output {
    let mut plan = plan.clone();
    (plan.run.engine, plan.run.threads) = (engine, threads);
    run(&plan, &Progress::default()).unwrap()
}

#[test]
fn it_ends_at_the_same_instant_in_every_engine() {
    let whole = with(&sampled(u64::MAX), EngineKind::WindowLog, 1);
    assert_eq!(whole.ended, Ended::Done);
    let plan = sampled(2_000_000);
    let classical = with(&plan, EngineKind::Classical, 1);
    assert_eq!(classical.ended, Ended::Records);
    assert!(classical.end < whole.end && !classical.ports.is_empty());
    assert!(
        classical.flows.iter().any(|flow| flow.status == Status::Running),
        "flows are under way"
    );
    // The records so far equal those of the whole run.
    assert_eq!(classical.ports[..], whole.ports[..classical.ports.len()]);
    for threads in [1, 2, 3] {
        let output = with(&plan, EngineKind::WindowLog, threads);
        assert_eq!(
            (output.ended, output.end),
            (classical.ended, classical.end),
            "{threads} threads"
        );
        assert_eq!(digest(&output), digest(&classical), "{threads} threads");
    }
}

#[test]
fn a_process_that_takes_too_much_ends() {
    let mut plan = sampled(u64::MAX / 4);
    plan.run.max_memory.as_mut().unwrap().bytes = 1 << 20;
    for engine in [EngineKind::WindowLog, EngineKind::Classical] {
        let output = with(&plan, engine, 1);
        assert_eq!(output.ended, Ended::Process);
        assert!(output.end < Time::from_ns(3_000_000));
    }
}
