//! Tests the flow-level engine against pFabric's Ideal: spec/transports.md §8.1 (144 hosts, 150,000
//! flows completed, one seed) and §8.2 (12 hosts, 60,000).

use crate::common::parse;
use afflux_net::{Progress, run};

/// Mean normalised completion times: of all completed flows, and of the classes up to 100 KB, up to
/// 10 MB, and above.
type Means = [f64; 4];

struct Fabric {
    leaves: u32,
    hosts_per_leaf: u32,
    core: &'static str,
    /// Completion time of one packet in the idle fabric in microseconds: within a rack, and across
    /// racks.
    idle: (f64, f64),
}

const LARGE: Fabric =
    Fabric { leaves: 9, hosts_per_leaf: 16, core: "40Gbps", idle: (13.264, 14.680) };
const SMALL: Fabric =
    Fabric { leaves: 3, hosts_per_leaf: 4, core: "10Gbps", idle: (13.264, 16.528) };

impl Fabric {
    fn text(&self, traffic: &str) -> String {
        let Fabric { leaves, hosts_per_leaf, core, .. } = self;
        format!(
            "format = 1\n[topology]\nkind = \"leaf_spine\"\nleaves = {leaves}\nspines = 4\nhosts_per_leaf = {hosts_per_leaf}\nhost_rate = \"10Gbps\"\nuplink_rate = \"{core}\"\n\
             delay = \"200ns\"\n[host]\ndelay = \"2.5us\"\nwire = \"pfabric\"\n[run]\nengine = \"ideal\"\n{traffic}"
        )
    }

    /// Runs the fabric and returns the means over the first `count` flows to complete, normalised
    /// by the idle fabric as in the table.
    fn means(&self, sizes: &str, load: f64, seed: u64, count: usize) -> Means {
        let traffic = format!(
            "seed = {seed}\n[[traffic]]\nkind = \"random\"\nsizes = \"{sizes}\"\nload = {load}\nload_basis = \"host_wire\"\nflows = {}\n",
            count + count / 20
        );
        let scenario = parse(&self.text(&traffic)).unwrap_or_else(|error| panic!("{error}"));
        let output = run(&scenario.plan, &Progress::default()).unwrap();
        let mut done: Vec<(u64, u64, f64)> = Vec::new();
        for (flow, record) in scenario.plan.flows.iter().zip(&output.flows) {
            let (start, finish) = (record.start.unwrap(), record.finish.unwrap());
            let same_rack = flow.src / self.hosts_per_leaf == flow.dst / self.hosts_per_leaf;
            let idle = if same_rack { self.idle.0 } else { self.idle.1 }
                + 1.2 * (flow.bytes.div_ceil(1460) - 1) as f64;
            let normalised = (finish - start).0 as f64 / 1e6 / idle;
            assert!(normalised > 1.0 - 1e-9, "faster than the idle fabric: {normalised}");
            done.push((finish.0, flow.bytes, normalised));
        }
        done.sort_unstable_by_key(|row| row.0);
        done.truncate(count);
        let mean = |from: u64, to: u64| {
            let class: Vec<f64> = done
                .iter()
                .filter(|row| (from..to).contains(&(row.1 - 1)))
                .map(|row| row.2)
                .collect();
            class.iter().sum::<f64>() / class.len() as f64
        };
        [mean(0, u64::MAX), mean(0, 100_000), mean(100_000, 10_000_000), mean(10_000_000, u64::MAX)]
    }
}

/// Compares the mean over three seeds with the table, each row of which is one run.
#[track_caller]
fn within_two_percent(fabric: &Fabric, sizes: &str, load: f64, count: usize, theirs: &[f64]) {
    let runs: Vec<Means> = (1..=3).map(|seed| fabric.means(sizes, load, seed, count)).collect();
    for (class, theirs) in theirs.iter().enumerate() {
        let ours = runs.iter().map(|means| means[class]).sum::<f64>() / runs.len() as f64;
        eprintln!("{sizes} {load}, class {class}: {ours:.3}, in the table {theirs}");
        assert!(
            (ours / theirs - 1.0).abs() <= 0.02,
            "{sizes} at {load}, class {class}: {ours:.3}, in the table {theirs}"
        );
    }
}

#[test]
fn web_search_on_144_hosts() {
    for (load, theirs) in [
        (0.2, [1.055, 1.002, 1.099, 1.39]),
        (0.5, [1.189, 1.006, 1.315, 2.79]),
        (0.8, [1.496, 1.010, 1.700, 8.33]),
    ] {
        within_two_percent(&LARGE, "pfabric-websearch", load, 150_000, &theirs);
    }
}

/// Leaves out elephants: with a dozen hosts there are too few of them for a mean that is known to 2
/// %.
#[test]
fn web_search_on_12_hosts() {
    within_two_percent(&SMALL, "pfabric-websearch", 0.6, 60_000, &[1.250, 1.007, 1.395]);
}

#[test]
fn data_mining_on_144_hosts() {
    within_two_percent(&LARGE, "pfabric-datamining", 0.5, 150_000, &[1.018, 1.000, 1.007, 1.36]);
}

/// Tests that a lone flow takes the time of the idle fabric. If two flows go to one host, the
/// shorter goes first and the other behind it, each with its own latency.
#[test]
fn one_flow_and_two() {
    let list = "[[traffic]]\nkind = \"pairs\"\npairs = [[0, 5]]\nsizes = \"146kB\"\n[[traffic]]\nkind = \"pairs\"\npairs = [[1, 5]]\nsizes = \"14600B\"\nstart = \"1us\"\n";
    let scenario = parse(&SMALL.text(list)).unwrap_or_else(|error| panic!("{error}"));
    let output = run(&scenario.plan, &Progress::default()).unwrap();
    let of = |bytes: u64| {
        scenario
            .plan
            .flows
            .iter()
            .position(|flow| flow.bytes == bytes)
            .map(|id| &output.flows[id])
            .unwrap()
    };
    let (long, short) = (of(146_000), of(14_600));
    // The short flow has 10 packets of 1.2 us from 1 us on, the long one 100 packets with a break
    // of 12 us. Crossing the fabric takes 16.528 us less one packet.
    assert_eq!(short.finish.unwrap().0, 1_000_000 + 12_000_000 + 15_328_000);
    assert_eq!(long.finish.unwrap().0, 120_000_000 + 12_000_000 + 15_328_000);
    assert_eq!((short.split.queueing, long.split.queueing), (0, 12_000_000));
    assert_eq!(output.counters, Default::default());
}

/// Tests what has arrived when the run ends: one flow of two is served, the other waits for it, and
/// a third has not begun to be served.
#[test]
fn delivered_bytes_of_a_run_that_is_cut() {
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"1us\"\n[run]\nengine = \"ideal\"\nuntil = \"100us\"\n\
                [[traffic]]\nkind = \"pairs\"\npairs = [[0, 2], [1, 2]]\nsizes = \"1MB\"\n";
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let output = run(&scenario.plan, &Progress::default()).unwrap();
    let bytes: Vec<u64> = output.flows.iter().map(|flow| flow.bytes_received).collect();
    // Payload of 10 Gbps for 100 us less the latency of some 4 us, with 1460 of 1538 bytes.
    assert!((112_000..119_000).contains(&bytes[0]) && bytes[1] == 0, "{bytes:?}");
}

/// A rate that the sender keeps to is refused, also that of TCP.
#[test]
fn traffic_of_a_lower_rate() {
    let text = "format = 1\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"1us\"\n[run]\nengine = \"ideal\"\nuntil = \"1ms\"\n\
                [[traffic]]\nkind = \"background\"\nrate = \"1Gbps\"\n";
    let error = parse(text).expect_err("refused").to_string();
    assert!(error.contains("the scenario has traffic of a lower rate"), "{error}");
}
