//! Mean rate of random traffic towards each receiver.

use afflux_traffic::{Destinations, Random, Shares};
use std::collections::BTreeMap;

/// Largest number of kinds of hosts for which rates are computed, which takes time for each pair of
/// kinds. Only fabrics with more racks have more.
const KINDS: usize = 2_000;

/// Returns the hosts that receive flows of the pattern, ascending, with the share of all its flows
/// that each gets. Empty for a fabric of very many racks.
pub fn shares(pattern: &Random) -> Vec<(u32, f64)> {
    let none: &[u32] = &[];
    let (racks, hot) = match &pattern.choice {
        Destinations::OtherRacks(racks)
        | Destinations::RackLocal { racks, .. }
        | Destinations::Matrix { racks, .. } => (Some(racks), none),
        Destinations::Hotspot { hosts, .. } => (None, hosts.as_slice()),
        Destinations::Uniform => (None, none),
        // Each source has a destination of its own.
        Destinations::Pairs(_) => return Vec::new(),
    };
    let shares = Shares::of(pattern);
    // Hosts of a kind are alike: their rack is the same, and whether they send, are candidates for
    // destinations, and are hot.
    let mut of_hosts: BTreeMap<u32, [bool; 3]> = BTreeMap::new();
    for (role, hosts) in [&pattern.sources, &pattern.destinations, hot].into_iter().enumerate() {
        hosts.iter().for_each(|host| of_hosts.entry(*host).or_default()[role] = true);
    }
    let mut kinds: BTreeMap<(Option<u32>, [bool; 3]), Vec<u32>> = BTreeMap::new();
    for (host, roles) in of_hosts {
        kinds.entry((racks.map(|racks| racks.rack(host)), roles)).or_default().push(host);
    }
    if kinds.len() > KINDS {
        return Vec::new();
    }
    let mut received = Vec::new();
    for (kind, hosts) in kinds.iter().filter(|((_, [_, candidate, hot]), _)| *candidate || *hot) {
        let to = hosts[0];
        let share = kinds
            .iter()
            .filter(|((_, [sends, ..]), _)| *sends)
            .map(|(from, sources)| {
                // A host sends nothing to itself.
                let others = &sources[usize::from(from == kind)..];
                others.first().map_or(0.0, |source| others.len() as f64 * shares.share(*source, to))
            })
            .sum::<f64>();
        received.extend(hosts.iter().map(|host| (*host, share)));
    }
    received.sort_by_key(|(host, _)| *host);
    received
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_traffic::{Arrivals, Racks, SizeDistribution, SpatialMatrix, Stop};
    use afflux_units::Time;

    /// Compares with the sum over all sources.
    #[test]
    fn kinds_of_hosts_replace_the_sum_over_sources() {
        let racks = Racks::new(&[1, 3, 4]);
        let matrix =
            SpatialMatrix::new(vec![vec![5.0, 1.0, 2.0], vec![1.0, 1.0, 0.0], vec![0.5, 3.0, 2.0]])
                .unwrap();
        for choice in [
            Destinations::Uniform,
            Destinations::OtherRacks(racks.clone()),
            Destinations::RackLocal { racks: racks.clone(), share: 0.7 },
            Destinations::Hotspot { hosts: vec![0, 5], share: 0.4 },
            Destinations::Matrix { matrix, racks },
        ] {
            for (sources, destinations) in
                [((0..8).collect(), (0..8).collect()), (vec![0, 5, 6], vec![0, 1, 2, 3, 4, 6])]
            {
                let pattern = Random {
                    sources,
                    destinations,
                    choice: choice.clone(),
                    sizes: SizeDistribution::fixed(1).unwrap(),
                    arrivals: Arrivals::Poisson,
                    flows_per_second: 1.0,
                    weights: None,
                    start: Time::ZERO,
                    stop: Stop::flows(1),
                };
                let each = Shares::of(&pattern);
                let got = shares(&pattern);
                let receivers: Vec<u32> = got.iter().map(|(host, _)| *host).collect();
                assert_eq!(receivers, each.receivers(), "{choice:?}");
                for (to, share) in got {
                    let senders = pattern.sources.iter().filter(|source| **source != to);
                    let sum: f64 = senders.map(|source| each.share(*source, to)).sum();
                    assert!((share - sum).abs() < 1e-12, "{choice:?} to {to}: {share}, {sum}");
                }
            }
        }
    }
}
