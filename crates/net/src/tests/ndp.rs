//! Tests NDP with trimming switches.

use super::determinism::same_everywhere;
use crate::record::Status;
use crate::spec::*;
use crate::testing::*;
use crate::transport::ndp::NdpConfig;
use crate::{Progress, run};
use afflux_units::{Probability, Span, Time};

/// spec/ai.md §9.3: 127 hosts send 2 MB each to one host, in frames of 4150 B (htsim's sizes
/// include headers), with queues of 8 frames. The pulls leave capacity for a header and one per
/// cent. The sources are not ordered by distance.
fn htsim_incast(initial_window: u32, rto: Span) -> Plan {
    let flows =
        (0..127).map(|id| flow(id, 1 + (id * 53 % 127) as u32, 0, 2_000_000, Time::ZERO)).collect();
    let mut plan = plan(fat_tree(8, 1), flows);
    plan.wire = Wire { data_header: 0, ack: 64, min_frame: 64, ..wire() };
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.switches[0].aqm =
        Some(Aqm::Trim(TrimConfig { data: 8 * 4_150, headers: 16 * 4_150, header: 64 }));
    plan.transports = vec![TransportConfig::Ndp(NdpConfig {
        payload: 4_150,
        initial_window,
        pull_rate: 0.99 * 4_150.0 / 4_214.0,
        spread: true,
        rto,
    })];
    plan
}

/// Row A4 of spec/ai.md §9.5: the last flow ends after 20,862 us, within 0.2 %. The pulls explain
/// this time: 127 times 482 frames, and a round trip.
#[test]
fn an_incast_takes_what_the_pulls_take() {
    let output = run(&htsim_incast(9, Span::from_ms(50)), &Progress::default()).unwrap();
    let mut times: Vec<f64> = output
        .flows
        .iter()
        .map(|record| (record.finish.unwrap() - record.start.unwrap()).0 as f64 / 1e6)
        .collect();
    times.sort_by(f64::total_cmp);
    let (median, last) = (times[63], times[126]);
    eprintln!(
        "median {median:.1} us, last {last:.1} us, {} repeated, {} dropped",
        output.counters.retransmits, output.counters.dropped_packets
    );
    assert!((last / 20_862.0 - 1.0).abs() < 0.002, "{last}");
    assert!((median / 20_840.3 - 1.0).abs() < 0.002, "{median}");
    // The first burst has 127 times 9 frames. Queues can hold 1037 of their headers.
    assert_eq!((output.counters.dropped_packets, output.counters.timeouts), (0, 0));
}

/// Row A5: with a first window of 30 or 40, headers are lost, and time-outs detect the losses
/// (htsim stalls there, so it has no time to compare with). No flow ends before the pulls allow.
/// The last flows have lost pulls together with their headers, and are up to a tenth late.
#[test]
fn lost_headers_are_found_by_time_outs() {
    for window in [30, 40] {
        let output = run(&htsim_incast(window, Span::from_ms(1)), &Progress::default()).unwrap();
        assert!(
            output.counters.drops_buffer > 100 && output.counters.timeouts > 0,
            "{:?}",
            output.counters
        );
        assert!(output.flows.iter().all(|record| record.status == Status::Finished));
        let last = output.flows.iter().map(|record| record.finish.unwrap().0).max().unwrap();
        eprintln!(
            "window {window}: {} headers lost, {} time-outs, last {:.1} us",
            output.counters.drops_buffer,
            output.counters.timeouts,
            last as f64 / 1e6
        );
        assert!((0.998..1.1).contains(&(last as f64 / 20_862e6)), "{last}");
    }
}

/// A single flow with a window of two frames needs a round trip for every two frames, all of it
/// charged to the window.
#[test]
fn a_small_window_costs_round_trips() {
    let mut plan = plan(star(2), vec![flow(0, 0, 1, 10 * 1_460, Time::ZERO)]);
    plan.transports = vec![TransportConfig::Ndp(NdpConfig { initial_window: 2, ..ndp() })];
    let record = &run(&plan, &Progress::default()).unwrap().flows[0];
    let (segment, answer, link) = (120_000u64, 3_200, 1_000_000);
    let round_trip = 2 * segment + 2 * answer + 4 * link;
    assert_eq!((record.finish.unwrap() - record.start.unwrap()).0, 5 * round_trip + segment);
    assert_eq!(record.split.window, 4 * (round_trip - 2 * segment));
    assert_eq!(record.split.recovery + record.split.queueing + record.split.pacing, 0);
}

/// With and without losses and trimming, everything arrives, and the split adds up.
#[test]
fn with_losses() {
    for trims in [true, false] {
        let flows = (0..40)
            .map(|id| {
                flow(
                    id,
                    id as u32 % 7,
                    7,
                    20_000 + 7_000 * id as u64,
                    Time::from_ns(500 * id as u64),
                )
            })
            .collect();
        let mut plan = plan(leaf_spine(2, 2, 4), flows);
        if trims {
            (plan.switches[0].buffer, plan.switches[0].aqm) = (Buffer::Unlimited, trimming());
        } else {
            plan.switches[0].buffer =
                Buffer::Static { per_queue: Limit::Bytes(12_000), drop_when: Compare::Above };
        }
        plan.topology.links.iter_mut().for_each(|link| link.loss = Probability::new(0.01).unwrap());
        plan.flows.iter_mut().for_each(|flow| flow.priority = 0);
        let output = same_everywhere("losses", &plan_of(plan));
        for record in &output.flows {
            assert_eq!(record.status, Status::Finished);
            let s = record.split;
            let beyond = (record.finish.unwrap() - record.start.unwrap()).0 as i128
                - i128::from(record.ideal.0);
            assert_eq!(
                i128::from(
                    s.recovery
                        + s.queueing
                        + s.pacing
                        + s.window
                        + s.application
                        + s.paused
                        + s.reordering
                ),
                beyond
            );
        }
        assert!(output.counters.retransmits > 0 && output.counters.drops_loss > 0);
    }
}

/// An incast overflows the queues of headers as well. Both engines agree: with limits below one
/// frame, with sprayed paths, next to TCP, whose data cannot be trimmed, if queues take turns, and
/// if the run ends in the middle.
#[test]
fn engines_agree_on_full_queues() {
    let flows = |transport: u16| -> Vec<Flow> {
        (0..30)
            .map(|id| Flow {
                transport: if id % 3 == 2 { transport } else { 0 },
                ..flow(id, 1 + id as u32 % 15, 0, 100_000, Time::from_ns(700 * (id as u64 / 8)))
            })
            .collect()
    };
    let base = |data: u64, headers: u64, other: u16| {
        let mut plan = plan(fat_tree(4, 1), flows(other));
        (plan.switches[0].buffer, plan.switches[0].aqm) =
            (Buffer::Unlimited, Some(Aqm::Trim(TrimConfig { data, headers, header: 64 })));
        plan.transports = vec![
            TransportConfig::Ndp(NdpConfig { initial_window: 40, ..ndp() }),
            TransportConfig::Tcp(tcp()),
        ];
        plan
    };
    let mut sprayed = base(12_000, 640, 0);
    sprayed.switches[0].balance = Balance::Spray(SprayConfig {});
    let mut ended = base(12_000, 640, 1);
    ended.run.until = Some(Time::from_ns(123_456));
    let mut weighted = base(12_000, 640, 0);
    weighted.switches[0].scheduling = Scheduling::Classes(Classes {
        of_priority: [0, 1, 0, 0, 0, 0, 0, 0],
        service: vec![Service::Weight(1), Service::Weight(3)],
        quantum: 1_500,
    });
    weighted.flows.iter_mut().for_each(|flow| flow.priority = (flow.id % 2) as u8);
    // Every data frame is cut, so that no flow ends.
    let mut cut = base(1_000, 64_000, 0);
    cut.run.until = Some(Time::from_ns(600_000));
    for (name, plan) in [
        ("headers overflow", base(12_000, 640, 0)),
        ("next to TCP", base(6_000, 64_000, 1)),
        ("no data frame fits", cut),
        ("sprayed", sprayed),
        ("queues that take turns", weighted),
        ("ended in the middle", ended),
    ] {
        let output = same_everywhere(name, &plan);
        let c = &output.counters;
        assert!(c.dropped_bytes > 100_000, "{name}: {c:?}");
        assert_eq!(c.drops_buffer > 0, !name.starts_with("no data"), "{name}: {c:?}");
    }
}

fn plan_of(mut plan: Plan) -> Plan {
    plan.transports = vec![TransportConfig::Ndp(ndp())];
    plan
}
