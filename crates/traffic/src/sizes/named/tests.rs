//! Tests means and percentiles against those published with the tables.

use super::*;
use crate::SizeDistribution;

fn close(ours: f64, published: f64, tolerance: f64) -> bool {
    (ours / published - 1.0).abs() < tolerance
}

#[test]
fn means_of_the_percent_tables() {
    // Each row has mean, median, 90 %, 99 % and largest. The published percentiles are rounded to
    // two or three digits.
    let published = [
        ("WebSearch", 1_711_250.0, 73_077.0, 5.0e6, 23.3e6, 30e6),
        ("DataMining", 7_487_884.0, 6_288.0, 390_541.0, 100e6, 1e9),
        ("FbHdp-20", 120_421.0, 700.0, 120_000.0, 2.0e6, 10e6),
        ("AliStorage", 40_870.0, 6_340.0, 31_237.0, 1.29e6, 2e6),
        ("Solar", 39_424.0, 16_384.0, 65_536.0, 223_000.0, 262_144.0),
    ];
    for (name, mean, p50, p90, p99, max) in published {
        let sizes = SizeDistribution::named(name).unwrap();
        assert!(close(sizes.mean(), mean, 0.001), "{name}: mean {}", sizes.mean());
        for (share, value) in [(0.5, p50), (0.9, p90), (0.99, p99), (1.0, max)] {
            assert!(
                close(sizes.quantile(share), value, 0.005),
                "{name} at {share}: {}",
                sizes.quantile(share)
            );
        }
    }
}

#[test]
fn means_of_the_packet_tables() {
    for (name, packets) in [
        ("pfabric-websearch", 1_141.0),
        ("pfabric-datamining", 5_116.6),
        ("imc10", 195_357.1 / 1_460.0),
    ] {
        let sizes = SizeDistribution::named(name).unwrap();
        assert!(
            close(sizes.mean() / 1_460.0, packets, 0.001),
            "{name}: {}",
            sizes.mean() / 1_460.0
        );
        // Rounding up adds less than one packet.
        let added = (sizes.mean_drawn() - sizes.mean()) / 1_460.0;
        assert!((0.0..1.0).contains(&added), "{name}: {added}");
        assert_eq!(sizes.sample(0.77) % 1_460, 0);
    }
}

#[test]
fn shares_below_100_kb() {
    // Share of flows with at most 100 kB, and share of bytes in such flows: web search 54.4 % and
    // 1.1 %, data mining 82.4 % and about 0 % (pFabric's classes).
    for (name, flows, bytes) in [
        ("pfabric-websearch", 0.544, 0.011),
        ("pfabric-datamining", 0.824, 0.0),
        ("alistorage", 0.95, 0.24),
        ("solar", 0.96, 0.81),
    ] {
        let sizes = SizeDistribution::named(name).unwrap();
        let below = sizes.expect(|size| f64::from(size <= 100_000));
        let share = sizes.expect(|size| if size <= 100_000 { size as f64 } else { 0.0 })
            / sizes.mean_drawn();
        assert!((below - flows).abs() < 0.006, "{name}: {below}");
        assert!((share - bytes).abs() < 0.006, "{name}: {share}");
    }
}

#[test]
fn errors_help() {
    let error = SizeDistribution::named("webserch").unwrap_err().to_string();
    assert!(error.contains("did you mean `websearch`"), "{error}");
    let error = SizeDistribution::named("GoogleRPC2008").unwrap_err().to_string();
    assert!(
        error.contains("distribution file") && error.contains("traffic_gen/GoogleRPC2008.txt"),
        "{error}"
    );
    for name in names() {
        assert_eq!(SizeDistribution::named(&name.to_uppercase()).unwrap().name(), name);
    }
}
