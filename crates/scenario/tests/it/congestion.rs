//! Tests that each of the three kinds of congestion of `studies/hadoop` builds its queue at the
//! port that the drawing shows.

use crate::common::NoParquet;
use afflux_net::{Progress, run};
use afflux_scenario::{Overrides, load};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the longest queue of each port in bytes, by the names of its link's ends, and the drops
/// of all ports.
fn longest(name: &str, set: &[(&str, &str)]) -> (BTreeMap<String, u64>, u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/hadoop").join(name);
    let set = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = load(&path, &Overrides { set, ..Overrides::default() }, &NoParquet)
        .unwrap_or_else(|error| panic!("{error}"));
    let topology = &scenario.plan.topology;
    let output = run(&scenario.plan, &Progress::default()).unwrap();
    assert!(output.flows.iter().all(|flow| flow.finish.is_some()), "{name}: all flows end");
    let mut queues = BTreeMap::new();
    for row in output.ports.iter().filter(|row| row.queue == -1) {
        let link = topology
            .links
            .iter()
            .filter(|link| link.a == row.node || link.b == row.node)
            .nth(row.port as usize)
            .unwrap();
        let peer = if link.a == row.node { link.b } else { link.a };
        let at = |node: u32| topology.nodes[node as usize].name.as_str();
        let longest = queues.entry(format!("{}>{}", at(row.node), at(peer))).or_insert(0);
        *longest = row.queue_bytes_max.max(*longest);
    }
    (queues, output.counters.dropped_packets)
}

/// Returns the port with the longest queue, and the port with the next longest.
fn first_two(queues: &BTreeMap<String, u64>) -> ((&str, u64), (&str, u64)) {
    let mut by_length: Vec<_> =
        queues.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    by_length.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    (by_length[0], by_length[1])
}

/// Leaves out the ports of hosts, where TCP's own bursts wait.
fn of_switches(queues: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    queues.into_iter().filter(|(name, _)| !name.starts_with("host")).collect()
}

#[test]
fn incast_queues_at_the_port_to_the_receiver() {
    let (queues, drops) = longest("incast.toml", &[]);
    let (queues, _) = (of_switches(queues), ());
    let (first, second) = first_two(&queues);
    eprintln!("{first:?} {second:?} {drops}");
    assert_eq!(first.0, "compute>host0");
    assert!(
        first.1 > 22_000_000 && second.1 < 1_000_000 && drops == 0,
        "{first:?}, {second:?}, {drops} drops"
    );
    // The shallow switch cannot hold this queue.
    let (queues, drops) = longest("incast.toml", &[("switch.override.0.preset", "trident3")]);
    assert!(
        queues["compute>host0"] <= 21_600_000 && drops > 0,
        "{} B, {drops} drops",
        queues["compute>host0"]
    );
}

#[test]
fn outcast_queues_at_the_sender() {
    let (queues, drops) = longest("outcast.toml", &[]);
    let (first, second) = first_two(&queues);
    eprintln!("{first:?} {second:?} {drops}");
    assert_eq!(first.0, "host14>data");
    assert!(
        first.1 > 1_000_000 && second.1 < 100_000 && drops == 0,
        "{first:?}, {second:?}, {drops} drops"
    );
}

#[test]
fn fabric_congestion_queues_at_a_shared_uplink() {
    let (queues, _) = longest("fabric.toml", &[]);
    let queues = of_switches(queues);
    let (first, second) = first_two(&queues);
    eprintln!("{first:?} {second:?}");
    assert!(first.0.starts_with("compute>spine"), "{first:?}");
    assert!(first.1 > 1_000_000 && second.1 < first.1 / 4, "{first:?}, {second:?}");
    // With another choice of path, the queue disappears.
    let (queues, _) = longest("fabric.toml", &[("switch.balance", "spray")]);
    let sprayed = of_switches(queues);
    assert!(sprayed[first.0] < first.1 / 10, "{} B", sprayed[first.0]);
}
