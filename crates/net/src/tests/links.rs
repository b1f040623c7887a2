//! Tests links whose directions differ, that carry only short frames, and that fail and return.

use super::determinism::same_everywhere;
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Probability, Rate, Span, Time};

/// Datagrams of 1,500 B with headers, every 1.2 us if a rate is given.
fn datagrams(rate: Option<Rate>) -> TransportConfig {
    TransportConfig::Datagram(Datagram { rate, payload: 1_460, ecn_capable: false })
}

const EVERY_NS: u64 = 1_200;

fn regular() -> TransportConfig {
    datagrams(Some(Rate(1_460 * 8 * 1_000_000_000 / EVERY_NS)))
}

/// Two hosts at a switch send 100 frames to each other.
fn both_directions(change: impl Fn(&mut Link)) -> Output {
    let mut plan =
        plan(star(2), vec![flow(0, 0, 1, 146_000, Time::ZERO), flow(1, 1, 0, 146_000, Time::ZERO)]);
    plan.transports = vec![datagrams(None)];
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.record.explain = true;
    change(&mut plan.topology.links[0]);
    same_everywhere("both ways", &plan)
}

fn time(output: &Output, flow: usize) -> Span {
    output.flows[flow].finish.unwrap().since(output.flows[flow].start.unwrap())
}

/// Each direction is as fast as if both directions had its rate, including the ideal time.
#[test]
fn each_direction_has_its_rate() {
    let (up, down) = (Rate::from_gbps(10), Rate::from_gbps(1));
    let two = both_directions(|link| (link.rate, link.rate_back) = (up, Some(down)));
    let [fast, slow] = [up, down].map(|rate| both_directions(|link| link.rate = rate));
    assert_eq!((time(&two, 0), two.flows[0].ideal), (time(&fast, 0), fast.flows[0].ideal));
    assert_eq!((time(&two, 1), two.flows[1].ideal), (time(&slow, 1), slow.flows[1].ideal));
    // 100 frames of 1,500 B at 1 Gbps, after crossing the other link.
    let expected = Span::from_ns(100 * 12_000).0;
    assert!((expected..expected + Span::from_us(10).0).contains(&time(&two, 1).0));
    // The link is busy for 12 us, or 1.2 us, per frame sent.
    assert_eq!(
        [0, 1].map(|direction| two.links[direction].busy),
        [100 * 1_200_000, 100 * 12_000_000]
    );
}

#[test]
fn each_direction_has_its_loss() {
    let half = Probability::new(0.5).unwrap();
    for (direction, loses) in [(0, 1), (1, 0)] {
        let output = both_directions(|link| {
            if direction == 0 {
                (link.loss, link.loss_back) = (half, Some(Probability::ZERO))
            } else {
                link.loss_back = Some(half)
            }
        });
        let received = [0, 1].map(|flow| output.flows[flow].bytes_received / 1_460);
        assert!((30..70).contains(&received[direction]) && received[loses] == 100, "{received:?}");
        assert_eq!(output.counters.drops_loss, 100 - received[direction]);
    }
}

/// Time-outs and retransmissions of a run are those of its flows, whatever their transport.
#[test]
fn counters_are_sums_over_flows() {
    for transport in reliable() {
        let flows = (0..40).map(|id| {
            flow(
                id,
                (id % 4) as u32,
                (id + 1) as u32 % 5,
                30_000,
                Time::from_ns(10_000 * id as u64),
            )
        });
        let mut plan = plan(star(5), flows.collect());
        plan.transports = vec![transport];
        plan.topology.links.iter_mut().for_each(|link| link.loss = Probability::new(0.1).unwrap());
        plan.run.until = Some(Time::from_ns(3_000_000_000));
        let Output { flows, counters, .. } = run(&plan, &Progress::default()).unwrap();
        let timeouts = flows.iter().map(|flow| flow.timeouts).sum::<u64>();
        let retransmitted = flows.iter().map(|flow| flow.packets_retransmitted).sum::<u64>();
        assert!(timeouts > 0 && retransmitted > 0, "{:?}", plan.transports);
        assert_eq!(
            (counters.timeouts, counters.retransmits),
            (timeouts, retransmitted),
            "{:?}",
            plan.transports
        );
    }
}

/// A frame is on the wire for its time at the rate of its own direction, no matter how slow the
/// other direction is.
#[test]
fn each_direction_fails_for_its_own_frames() {
    let (from, to) = (Time::from_ns(20_000), Some(Time::from_ns(21_000)));
    let failing = |back: Rate| {
        both_directions(|link| {
            (link.rate, link.rate_back) = (Rate::from_gbps(10), Some(back));
            link.down =
                vec![Down { from, to, detect: Span::from_ms(10), converge: Span::from_ms(10) }];
        })
    };
    let [slow, alike] = [Rate(1_000_000), Rate::from_gbps(10)]
        .map(|back| failing(back).flows[0].bytes_received / 1_460);
    // A frame starts every 1.2 us, and takes 1.2 us plus 1 us of cable. Frames that start from 18.0
    // to 20.4 us are on the wire during the failure.
    assert_eq!((slow, alike), (97, 97));
}

/// A switch cuts through if its output is not faster than the input. The rate of the reverse
/// direction does not matter.
#[test]
fn cut_through_goes_by_the_rate_of_what_comes_in() {
    let times = [Rate::from_gbps(1), Rate::from_gbps(10)].map(|back| {
        let mut plan = plan(star(2), vec![flow(0, 0, 1, 146_000, Time::ZERO)]);
        plan.transports = vec![datagrams(None)];
        plan.switches[0].buffer = Buffer::Unlimited;
        plan.switches[0].cut_through = Some(64);
        (plan.topology.links[0].rate, plan.topology.links[0].rate_back) =
            (Rate::from_gbps(10), Some(back));
        plan.topology.links[1].rate = Rate::from_gbps(10);
        time(&same_everywhere("cut through", &plan), 0)
    });
    assert_eq!(times[0], times[1]);
}

/// A frame that the port at the end of a link does not accept takes its time on the link and is
/// discarded.
#[test]
fn long_frames_are_discarded_where_they_arrive() {
    for (longest, lost) in [(1_500, 0), (1_499, 200)] {
        let output = both_directions(|link| link.longest = Some(longest));
        assert_eq!(
            (output.counters.drops_mtu, output.counters.dropped_packets),
            (lost, lost),
            "{longest} B"
        );
        assert_eq!(output.links[0].frames, 100);
    }
}

/// Each of 16 flows to and from the other rack sends a frame every 1.2 us. One of leaf 0's links
/// fails and returns.
fn failing(spines: u32, balance: Balance, (detect, converge): (Span, Span)) -> (Plan, u64) {
    let (from, back) = (Time::from_ns(300_000), Time::from_ns(600_000));
    let mut topology = leaf_spine(2, spines, 2);
    let (leaf, spine) = (topology.hosts, topology.hosts + 2);
    let failing = topology.links.iter_mut().find(|link| (link.a, link.b) == (leaf, spine)).unwrap();
    failing.down = vec![Down { from, to: Some(back), detect, converge }];
    let frames = 1_000_000 / EVERY_NS;
    let flows = (0..32).map(|id| {
        flow(
            id,
            if id < 16 { 0 } else { 2 },
            if id < 16 { 2 } else { 0 },
            frames * 1_460,
            Time::from_ns(id as u64),
        )
    });
    let mut plan = plan(topology, flows.collect());
    plan.transports = vec![regular()];
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.switches[0].balance = balance;
    plan.topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(400));
    (plan, frames)
}

/// Half of the flows hash to the spine whose link to leaf 0 fails, or are pinned to it as endless
/// flowlets.
#[test]
fn detection_and_convergence() {
    let (detect, converge) = (Span::from_us(24), Span::from_us(60));
    for balance in
        [Balance::default(), Balance::Letflow(LetflowConfig { gap: Span::from_ms(1), ns3: false })]
    {
        let (plan, frames) = failing(2, balance, (detect, converge));
        let output = same_everywhere("a link fails and returns", &plan);
        let lost: Vec<u64> =
            output.flows.iter().map(|flow| frames - flow.bytes_received / 1_460).collect();
        let per = |span: Span| span.0 / (EVERY_NS * 1_000);
        // Flows from leaf 0 lose frames until the leaf notices, flows to leaf 0 until the other
        // leaf knows.
        for (flows, outage) in [(&lost[..16], detect), (&lost[16..], detect + converge)] {
            let hit: Vec<u64> = flows.iter().copied().filter(|lost| *lost > 0).collect();
            assert!((4..13).contains(&hit.len()), "{lost:?}");
            assert!(
                hit.iter().all(|lost| (per(outage)..=per(outage) + 3).contains(lost)),
                "{outage}: {lost:?}"
            );
        }
        assert_eq!(output.counters.drops_down, lost.iter().sum::<u64>());
    }
}

/// An outage that is over before the ends of the link notice it changes no path.
#[test]
fn a_short_outage_is_not_noticed() {
    let lost = |detect: Span| {
        let (plan, _) = failing(2, Balance::default(), (detect, Span::from_us(60)));
        same_everywhere("a short outage", &plan).counters.drops_down
    };
    // The link is down for 300 us. Flows to leaf 0 lose frames for 299 + 60 us if it is noticed.
    let (noticed, unnoticed) = (lost(Span::from_us(299)), lost(Span::from_us(300)));
    assert!(unnoticed < noticed, "{unnoticed}, {noticed}");
    assert_eq!(unnoticed, lost(Span::from_ms(10)));
}

/// The other leaf keeps sending to the only spine until it knows of the failure. With every
/// balancer, nothing arrives from the failure until its return is known.
#[test]
fn the_only_path_fails() {
    for (name, balance) in super::balance::balancers() {
        let (plan, frames) = failing(1, balance, (Span::from_us(24), Span::from_us(60)));
        let output = same_everywhere(name, &plan);
        for flow in &output.flows {
            let lost = frames - flow.bytes_received / 1_460;
            // 300 us, plus 84 us until the return is known, plus the frames in flight.
            assert!((320..=323).contains(&lost), "{name}: {lost}");
        }
    }
}
