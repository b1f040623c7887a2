use super::*;
use crate::{Capacity, LoadBasis, Racks, SpatialMatrix};
use afflux_net::spec::Flow;
use afflux_units::Rate;
use proptest::prelude::*;

fn web(hosts: u32, stop: Stop) -> Random {
    let sizes = SizeDistribution::named("alistorage").unwrap();
    let rate = LoadBasis::HostPayload
        .flows_per_second(0.5, &Capacity::new(hosts, Rate::from_gbps(100)), &sizes)
        .unwrap();
    Random {
        sources: (0..hosts).collect(),
        destinations: (0..hosts).collect(),
        choice: Destinations::Uniform,
        sizes,
        arrivals: Arrivals::Poisson,
        flows_per_second: rate,
        weights: None,
        start: Time::from_ns(100),
        stop,
    }
}
fn flows(random: &Random, seed: u64) -> Vec<Flow> {
    random.generate(&Template::default(), &Draws::new(seed, "web")).unwrap().flows
}
fn key(flow: &Flow) -> (Start, u32, u32, u64) {
    (flow.start, flow.src, flow.dst, flow.bytes)
}

#[test]
fn the_load_is_what_was_asked_for() {
    let random = web(64, Stop::after(Span::from_ms(20)));
    let all = flows(&random, 1);
    let bits = all.iter().map(|flow| 8.0 * flow.bytes as f64).sum::<f64>();
    let load = bits / (64.0 * 100e9 * 20e-3);
    assert!((load - 0.5).abs() < 0.01, "{load}");
    assert!((all.len() as f64 / random.expected_flows() - 1.0).abs() < 0.01);
    assert!(all.iter().all(|flow| flow.src != flow.dst && matches!(flow.start, Start::At(time) if time.0 % 1_000 == 0 && time.0 < 20_000_100_000)));
}

#[test]
fn adding_a_host_changes_no_arrival_and_no_size_of_the_others() {
    let pick = |hosts| -> Vec<_> {
        let all = flows(&web(hosts, Stop::after(Span::from_ms(1))), 5);
        all.iter()
            .filter(|flow| flow.src < 8)
            .map(|flow| (flow.start, flow.src, flow.bytes))
            .collect()
    };
    assert_eq!(pick(8), pick(9));
}

#[test]
fn other_sizes_and_rules_change_no_arrival() {
    let base = web(8, Stop::after(Span::from_ms(1)));
    let changed = Random {
        sizes: SizeDistribution::fixed(10).unwrap(),
        choice: Destinations::OtherRacks(Racks::uniform(8, 2)),
        ..base.clone()
    };
    let starts =
        |random| flows(random, 5).iter().map(|flow| (flow.start, flow.src)).collect::<Vec<_>>();
    assert_eq!(starts(&base), starts(&changed));
    assert_ne!(
        flows(&base, 5).iter().map(key).collect::<Vec<_>>(),
        flows(&base, 6).iter().map(key).collect::<Vec<_>>()
    );
}

#[test]
fn a_number_of_flows_is_a_prefix() {
    let long = flows(&web(8, Stop::flows(500)), 5);
    let short = flows(&web(8, Stop::flows(100)), 5);
    assert_eq!((long.len(), short.len()), (500, 100));
    assert_eq!(
        long[..100].iter().map(key).collect::<Vec<_>>(),
        short.iter().map(key).collect::<Vec<_>>()
    );
    assert_eq!(long.iter().map(|flow| flow.id).collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
}

#[test]
fn a_spatial_matrix_sets_who_sends_what_where() {
    let racks = Racks::uniform(8, 2);
    // Rack 0 sends three quarters of all traffic, all of it to rack 1. Rack 2 sends the rest to
    // rack 3.
    let mut rows = vec![vec![0.0; 4]; 4];
    rows[0][1] = 3.0;
    rows[2][3] = 1.0;
    let matrix = SpatialMatrix::new(rows).unwrap();
    let mut random = web(8, Stop::flows(4_000));
    random.weights = Some(matrix.weights(&racks, &random.sources).unwrap());
    random.choice = Destinations::Matrix { matrix, racks };
    let all = flows(&random, 1);
    let first = all.iter().filter(|flow| flow.src < 2).count();
    assert!((2_900..3_100).contains(&first), "{first}");
    assert!(all.iter().all(|flow| if flow.src < 2 {
        (2..4).contains(&flow.dst)
    } else {
        (6..8).contains(&flow.dst)
    }));
}

#[test]
fn mistakes_are_refused() {
    let base = web(4, Stop::after(Span::from_ms(1)));
    let refused = |random: Random| {
        random.generate(&Template::default(), &Draws::new(1, "")).unwrap_err().to_string()
    };
    assert!(
        refused(Random { stop: Stop { after: None, flows: None }, ..base.clone() })
            .contains("stop")
    );
    assert!(refused(Random { flows_per_second: f64::NAN, ..base.clone() }).contains("load"));
    assert!(
        Random { stop: Stop::after(Span::from_s(1_000_000)), ..base.clone() }.expected_flows()
            > 1e9
    );
    assert!(refused(Random { sources: vec![0, 0], ..base.clone() }).contains("twice"));
    assert!(refused(Random { weights: Some(vec![1.0]), ..base.clone() }).contains("weights"));
    assert!(
        refused(Random { arrivals: Arrivals::LogNormal { sigma: -1.0 }, ..base }).contains("sigma")
    );
}

proptest! {
    #[test]
    fn sorted_within_time_and_never_to_oneself(hosts in 2..12u32, seed: u64, us in 1..200u64) {
        let random = web(hosts, Stop::after(Span::from_us(us)));
        let all = flows(&random, seed);
        let starts: Vec<u64> = all.iter().map(|flow| match flow.start { Start::At(time) => time.0, Start::After { .. } => unreachable!() }).collect();
        prop_assert!(starts.is_sorted());
        prop_assert!(starts.iter().all(|ps| *ps >= 100_000 && *ps < 100_000 + us * 1_000_000));
        prop_assert!(all.iter().all(|flow| flow.src != flow.dst && flow.dst < hosts && flow.bytes > 0));
    }
}
