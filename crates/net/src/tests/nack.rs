//! Tests rate-based datagrams with negative acknowledgements.

use super::determinism::same_everywhere;
use crate::record::Status;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Probability, Rate, Span, Time};

/// Time between segments of 1460 B at 1 Gbps: 11.68 us.
const SPACING: u64 = 11_680_000;
/// Times on the star (two links of 100 Gbps and 1 us): a frame of 1500 B to the receiver, and a
/// report of 40 B back.
const THERE: u64 = 2 * (120_000 + 1_000_000);
const BACK: u64 = 2 * (3_200 + 1_000_000);

fn transfer(segments: u64) -> Plan {
    let mut plan = plan(star(2), vec![flow(0, 0, 1, segments * 1_460, Time::from_ns(700))]);
    plan.transports = vec![TransportConfig::Nack(Nack {
        rate: Some(Rate::from_gbps(1)),
        report: Span::from_ms(10),
        timeout: Span::from_ms(30),
        ..nack()
    })];
    plan
}

/// Loses the frames that are on the first link while the sender sends the segments `which`.
fn lose(plan: &mut Plan, which: std::ops::Range<u64>) {
    let at = |segment: u64| Time(700_000 + segment * SPACING);
    // A frame is on the link from its first bit until 1 us after its last bit.
    plan.topology.links[0].down = vec![Down {
        from: at(which.start),
        to: Some(Time(at(which.end).0 - SPACING / 2)),
        detect: Span::from_s(1),
        converge: Span::ZERO,
    }];
}

/// The time is the bytes divided by the rate, plus a round trip of the last segment.
#[test]
fn without_losses() {
    for segments in [1, 2, 100, 5_000] {
        let output = run(&transfer(segments), &Progress::default()).unwrap();
        let record = &output.flows[0];
        assert_eq!(
            (record.finish.unwrap() - record.start.unwrap()).0,
            (segments - 1) * SPACING + THERE + BACK
        );
        assert_eq!((record.packets_retransmitted, record.status), (0, Status::Finished));
        // All time beyond the ideal is pacing.
        assert_eq!(record.split.pacing, (segments - 1) * (SPACING - 120_000));
        assert_eq!(record.split.recovery + record.split.queueing + record.split.window, 0);
    }
}

/// A loss that is reported while the sender still has data costs the time of one segment. A loss of
/// the last segment but one costs a round trip.
#[test]
fn with_one_loss() {
    let time = |plan: &Plan| {
        let output = run(plan, &Progress::default()).unwrap();
        assert_eq!((output.flows[0].packets_retransmitted, output.counters.drops_down), (1, 1));
        let record = &output.flows[0];
        let parts = record.split;
        assert_eq!(
            parts.pacing + parts.recovery + parts.queueing + parts.window,
            (record.finish.unwrap() - record.start.unwrap()).0 - record.ideal.0
        );
        (record.finish.unwrap() - record.start.unwrap()).0
    };
    let mut early = transfer(100);
    lose(&mut early, 50..51);
    assert_eq!(time(&early), 100 * SPACING + THERE + BACK);
    // The last segment reveals the gap, and the report has a range of 8 B. The report arrives
    // before the pace would allow another segment to leave.
    let mut late = transfer(100);
    lose(&mut late, 98..99);
    assert_eq!(time(&late), 100 * SPACING + THERE + BACK);
    // On a longer path, the retransmission leaves when the report arrives, which takes one round
    // trip more.
    late.topology.links.iter_mut().for_each(|link| link.delay = Span::from_us(100));
    lose(&mut late, 98..99);
    late.topology.links[0].down[0].to =
        Some(Time(late.topology.links[0].down[0].from.0 + SPACING / 2));
    let (there, back, report) =
        (2 * (120_000 + 100_000_000), 2 * (3_200 + 100_000_000), 2 * (3_840 + 100_000_000));
    let output = run(&late, &Progress::default()).unwrap();
    let lost = output.counters.drops_down;
    // About nine frames are on the link at any time, and those that were on it are lost, too. They
    // are retransmitted one after the other.
    assert!((2..=12).contains(&lost), "{lost}");
    let record = &output.flows[0];
    assert_eq!(
        (record.finish.unwrap() - record.start.unwrap()).0,
        99 * SPACING + there + report + (lost - 1) * SPACING + there + back
    );
}

/// The last segment is lost, and the receiver does not know it. The sender retransmits it when no
/// report has had news for its time-out.
#[test]
fn with_a_lost_tail() {
    let mut plan = transfer(100);
    lose(&mut plan, 99..100);
    let output = run(&plan, &Progress::default()).unwrap();
    let record = &output.flows[0];
    assert_eq!((record.timeouts, output.counters.drops_down), (1, 1));
    // The first report is sent 10 ms after the first segment has arrived. It covers the segments
    // before the lost one.
    let told = THERE + 10_000_000_000 + BACK;
    assert_eq!(
        (record.finish.unwrap() - record.start.unwrap()).0,
        told + 30_000_000_000 + THERE + BACK
    );
}

/// With losses, the goodput is the rate minus the retransmissions. It does not depend on the round
/// trip.
#[test]
fn losses_cost_what_is_repeated() {
    for delay in [Span::from_us(1), Span::from_ms(2)] {
        let mut plan = transfer(20_000);
        plan.topology
            .links
            .iter_mut()
            .for_each(|link| (link.delay, link.loss) = (delay, Probability::new(0.005).unwrap()));
        plan.transports = vec![TransportConfig::Nack(Nack {
            rate: Some(Rate::from_gbps(1)),
            report: Span::from_ms(10),
            timeout: Span::from_ms(30),
            ..nack()
        })];
        let output = same_everywhere("losses", &plan);
        let record = &output.flows[0];
        let time = (record.finish.unwrap() - record.start.unwrap()).0 as f64;
        // About 1 % of the segments are lost on two links.
        let sent = record.packets_sent as f64;
        assert!((20_150.0..20_280.0).contains(&sent), "{sent}");
        // The repair of the tail takes a few more round trips.
        let paced = sent * SPACING as f64;
        assert!(
            time >= paced - SPACING as f64
                && time < paced + 10.0 * (4.0 * delay.0 as f64 + 1e6) + 6e10,
            "{time} against {paced}"
        );
        // No retransmission is needless.
        assert_eq!(record.packets_retransmitted + 20_000, record.packets_sent);
        let lost_data = record.packets_retransmitted;
        assert!(
            lost_data <= output.counters.drops_loss,
            "{lost_data} repeated, {} frames lost",
            output.counters.drops_loss
        );
    }
}
