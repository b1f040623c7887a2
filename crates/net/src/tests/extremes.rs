//! Tests fabrics at the limits of the engine.

use crate::routing::Routes;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// A rack with 5 m cables next to a path of 300 ms. The windows of the window log are as short as
/// the cable, and almost all are empty.
#[test]
fn short_cables_beside_a_long_path() {
    let mut topology = star(4);
    for link in &mut topology.links {
        link.delay = Span::from_ns(25);
    }
    topology.links[3].delay = Span::from_ms(150);
    topology.links[3].rate = Rate::from_gbps(1);
    let flows = vec![
        flow(0, 0, 1, 1_000_000, Time::ZERO),
        flow(1, 0, 3, 50_000_000, Time::ZERO),
        flow(2, 2, 1, 1_000_000, Time::from_ns(5_000_000_000)),
    ];
    let mut plan = plan(topology, flows);
    plan.transports =
        tcp_only(TcpConfig { min_rto: Span::from_s(1), initial_rto: Span::from_s(1), ..tcp() });
    plan.switches[0].buffer = Buffer::Unlimited;
    let output = run(&plan, &Progress::default()).unwrap();
    assert!(output.flows.iter().all(|f| f.finish.is_some()));
    assert!(output.end > Time::from_ns(3_000_000_000), "{}", output.end);
    // The run has about 200,000 hops in five seconds of 28 ns windows. Visiting all of these
    // windows would take minutes.
    let (visited, all) = (output.engine.windows, output.end.0 / output.engine.window_ps);
    assert!(visited > 0 && visited < all / 100, "{visited} of {all}");
}

/// A fat tree with k = 36 has 11,664 hosts.
#[test]
fn eleven_thousand_hosts() {
    let topology = fat_tree(36, 1);
    assert_eq!(topology.hosts, 11_664);
    let routes = Routes::build(&topology);
    assert_eq!(routes.racks(), 648);
    let hosts = topology.hosts;
    let flows =
        (0..hosts).map(|h| flow(h as i64, h, (h + 5_000) % hosts, 14_600, Time::ZERO)).collect();
    let output = run(&plan(topology, flows), &Progress::default()).unwrap();
    assert!(output.flows.iter().all(|f| f.finish.is_some()));
    // An arrival at a node is one event. Timers and starts of flows are few.
    let (events, hops) = (output.engine.events, output.counters.packet_hops);
    assert!(events < 2 * hops, "{events} events for {hops} hops");
}
