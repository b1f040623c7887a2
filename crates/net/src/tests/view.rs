//! Tests views of a run in progress.

use super::determinism::{digest, traffic};
use crate::record::Status;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, View, run};
use afflux_units::Span;
use std::time::Duration;

/// Runs `plan` while another thread requests views all the time. Returns the latest view, and the
/// output of the run.
fn looked_at(plan: &Plan) -> (View, u64, crate::record::Output) {
    let progress = Progress::default();
    // Views are made only on request. A short run may be over before this thread requests one.
    assert!(progress.view(0).is_none());
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(plan, &progress).unwrap());
        let mut longest = 0;
        while !running.is_finished() {
            longest = longest.max(
                progress
                    .view(0)
                    .and_then(|view| view.snapshot.queues.first().map(|queue| queue.bytes))
                    .unwrap_or(0),
            );
            std::thread::sleep(Duration::from_micros(20));
        }
        let output = running.join().unwrap();
        (progress.view(0).expect("everybody shows something at the end"), longest, output)
    })
}

fn busy(transport: TransportConfig, fct_end: FctEnd) -> Plan {
    let mut plan = plan(leaf_spine(4, 2, 8), traffic(32, 600, 300, 60_000, 7));
    plan.transports = vec![transport];
    plan.run.fct_end = fct_end;
    plan
}

#[test]
fn looking_changes_nothing_and_shows_every_completion() {
    for (transport, fct_end) in [
        (TransportConfig::Tcp(tcp()), FctEnd::LastAck),
        (TransportConfig::Tcp(tcp()), FctEnd::LastByte),
        (TransportConfig::Pfabric(pfabric()), FctEnd::LastAck),
        (TransportConfig::Rdma(rdma()), FctEnd::LastByte),
    ] {
        for (engine, threads) in
            [(EngineKind::WindowLog, 1), (EngineKind::WindowLog, 3), (EngineKind::Classical, 1)]
        {
            let mut plan = busy(transport.clone(), fct_end);
            (plan.run.engine, plan.run.threads) = (engine, threads);
            let (view, _, output) = looked_at(&plan);
            assert_eq!(
                digest(&output),
                digest(&run(&plan, &Progress::default()).unwrap()),
                "{transport:?} {engine:?} {threads}"
            );
            let finished: Vec<_> =
                output.flows.iter().filter(|flow| flow.status == Status::Finished).collect();
            assert_eq!(finished.len(), 600);
            let counted = |steps: &mut dyn Iterator<Item = (u64, u64, u64)>| {
                steps.map(|(_, _, count)| count).sum::<u64>()
            };
            assert_eq!(
                (counted(&mut view.completion.steps()), counted(&mut view.slowdown.steps())),
                (600, 600)
            );
            let most = finished
                .iter()
                .map(|flow| (flow.finish.unwrap() - flow.start.unwrap()).0 / 1_000)
                .max()
                .unwrap();
            let (low, high, _) = view.completion.steps().last().unwrap();
            assert!((low..high).contains(&most), "{low} to {high}: {most}");
            assert_eq!(
                view.snapshot.drops + view.snapshot.in_discards,
                output.counters.dropped_packets
            );
            assert_eq!(
                (view.snapshot.ecn_marks, view.snapshot.timeouts),
                (output.counters.ecn_marks, output.counters.timeouts)
            );
            // Nothing is left in the fabric.
            assert_eq!((view.snapshot.queued, view.snapshot.queues.len()), (0, 0));
        }
    }
}

/// Both engines show the same queue at a port with one sender too many.
#[test]
fn a_standing_queue_is_seen() {
    for engine in [EngineKind::WindowLog, EngineKind::Classical] {
        let flows = (0..3)
            .map(|id| flow(id, id as u32, 3, 400_000_000, afflux_units::Time::ZERO))
            .collect();
        let mut plan = plan(star(4), flows);
        plan.transports = tcp_only(tcp());
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(1_000_000), drop_when: Compare::Above };
        plan.run.until = Some(afflux_units::Time(Span::from_ms(20).0));
        plan.run.engine = engine;
        let (_, longest, output) = looked_at(&plan);
        assert!(output.counters.dropped_packets > 0);
        assert!((200_000..=1_000_000).contains(&longest), "{engine:?}: {longest}");
    }
}
