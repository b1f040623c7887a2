//! Mean shares of a pattern's traffic from each source to each destination, for the load of the
//! most loaded link.

use super::destinations::Destinations;
use super::random::Random;
use crate::Racks;
use std::collections::BTreeMap;

/// Share of all flows of a pattern from each source to each destination. The shares add up to 1.
pub struct Shares<'a> {
    /// Share of each source, if all sources have the same rate.
    each: f64,
    /// Hosts that receive, ascending.
    receivers: Vec<u32>,
    /// Whether each host is a candidate for destinations.
    candidate: Vec<bool>,
    /// Number of candidates.
    candidates: usize,
    rule: Rule<'a>,
}

/// Rule for destinations, with the numbers from which the shares follow.
enum Rule<'a> {
    Uniform,
    OtherRacks {
        racks: &'a Racks,
        /// Candidates of each rack.
        candidates: Vec<usize>,
    },
    RackLocal {
        racks: &'a Racks,
        candidates: Vec<usize>,
        /// Share of flows that stay in the rack.
        share: f64,
    },
    Hotspot {
        /// Whether each host is hot.
        hot: Vec<bool>,
        count: usize,
        /// Share of flows that go to hot hosts.
        share: f64,
    },
    Matrix {
        racks: &'a Racks,
        /// Sources of each rack.
        sources: Vec<usize>,
        candidates: Vec<usize>,
        /// Share of all flows from rack to rack, as `shares[from][to]`.
        shares: Vec<Vec<f64>>,
    },
    Pairs(BTreeMap<u32, u32>),
}

impl<'a> Shares<'a> {
    /// Prepares the shares of a pattern. Its hosts must stand in its racks, and its matrix must
    /// have a row for each rack. Sizes and rates have no effect.
    pub fn of(random: &'a Random) -> Self {
        let Random { sources, destinations, choice, .. } = random;
        let mut receivers = destinations.clone();
        let rule = match choice {
            Destinations::Uniform => Rule::Uniform,
            Destinations::OtherRacks(racks) => {
                Rule::OtherRacks { racks, candidates: racks.counts(destinations) }
            }
            Destinations::RackLocal { racks, share } => {
                Rule::RackLocal { racks, candidates: racks.counts(destinations), share: *share }
            }
            Destinations::Hotspot { hosts, share } => {
                // The hot hosts may be absent from the candidates.
                receivers.extend(hosts);
                Rule::Hotspot { hot: flags(hosts), count: hosts.len(), share: *share }
            }
            Destinations::Matrix { matrix, racks } => {
                let senders = racks.counts(sources);
                let shares = matrix.shares(racks, &senders);
                let candidates = racks.counts(destinations);
                Rule::Matrix { racks, sources: senders, candidates, shares }
            }
            Destinations::Pairs(pairs) => {
                receivers.extend(pairs.iter().map(|(_, destination)| destination));
                Rule::Pairs(pairs.iter().copied().collect())
            }
        };
        receivers.sort_unstable();
        receivers.dedup();
        Shares {
            each: portion(sources.len()),
            receivers,
            candidate: flags(destinations),
            candidates: destinations.len(),
            rule,
        }
    }

    /// Returns the hosts that receive, ascending.
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// Returns the share of all flows that go from `source` to `to`, another host.
    pub fn share(&self, source: u32, to: u32) -> f64 {
        let candidate = |host: u32| is(&self.candidate, host);
        let others = self.candidates - usize::from(candidate(source));
        let of_source = match &self.rule {
            Rule::Uniform if candidate(to) => portion(others),
            Rule::Uniform => 0.0,
            Rule::OtherRacks { racks, candidates } => {
                let own = racks.rack(source);
                if racks.rack(to) == own || !candidate(to) {
                    0.0
                } else {
                    portion(self.candidates - candidates[own as usize])
                }
            }
            Rule::RackLocal { .. } if !candidate(to) => 0.0,
            Rule::RackLocal { racks, candidates, share } => {
                let own = racks.rack(source);
                let inside = candidates[own as usize] - usize::from(candidate(source));
                let outside = self.candidates - candidates[own as usize];
                // If a rack or the fabric has no other candidate, all flows go the other way.
                let stays = if inside == 0 {
                    0.0
                } else if outside == 0 {
                    1.0
                } else {
                    *share
                };
                if racks.rack(to) == own {
                    stays * portion(inside)
                } else {
                    (1.0 - stays) * portion(outside)
                }
            }
            Rule::Hotspot { hot, count, share } => {
                let hot_others = count - usize::from(is(hot, source));
                let to_hot = if hot_others == 0 { 0.0 } else { *share };
                let hot_part = if is(hot, to) { to_hot * portion(hot_others) } else { 0.0 };
                let any_part = if candidate(to) { (1.0 - to_hot) * portion(others) } else { 0.0 };
                hot_part + any_part
            }
            // Sources of different racks have different rates.
            Rule::Matrix { racks, sources, candidates, shares } => {
                let (from, end) = (racks.rack(source) as usize, racks.rack(to) as usize);
                let receivers = candidates[end] - usize::from(from == end && candidate(source));
                return if candidate(to) {
                    shares[from][end] * portion(sources[from]) * portion(receivers)
                } else {
                    0.0
                };
            }
            Rule::Pairs(pairs) => f64::from(u8::from(pairs.get(&source) == Some(&to))),
        };
        self.each * of_source
    }
}

/// Returns the share of each of `count` equal parts; 0 if there is none.
fn portion(count: usize) -> f64 {
    if count == 0 { 0.0 } else { 1.0 / count as f64 }
}

/// Returns, for each host up to the highest of `hosts`, whether it is one of them.
fn flags(hosts: &[u32]) -> Vec<bool> {
    let mut flags = vec![false; hosts.iter().max().map_or(0, |host| *host as usize + 1)];
    hosts.iter().for_each(|host| flags[*host as usize] = true);
    flags
}

fn is(flags: &[bool], host: u32) -> bool {
    flags.get(host as usize).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Draws, SizeDistribution, SpatialMatrix, Stop, Template};
    use afflux_units::Time;

    fn random(choice: Destinations, sources: &[u32], destinations: &[u32]) -> Random {
        Random {
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
            choice,
            sizes: SizeDistribution::fixed(1).unwrap(),
            arrivals: Arrivals::Poisson,
            flows_per_second: 1e6,
            weights: None,
            start: Time::ZERO,
            stop: Stop::flows(40_000),
        }
    }

    #[test]
    fn uniform_traffic_of_the_conweave_fabric() {
        // In 8 racks of 16 hosts, 112 of 127 destinations are in other racks.
        let all: Vec<u32> = (0..128).collect();
        let random = random(Destinations::Uniform, &all, &all);
        let shares = Shares::of(&random);
        let (inside, outside): (Vec<u32>, Vec<u32>) =
            all.iter().partition(|host| (48..64).contains(*host));
        let between = |from: &[u32], to: &[u32]| -> f64 {
            from.iter().flat_map(|a| to.iter().map(|b| shares.share(*a, *b))).sum()
        };
        assert!((between(&inside, &outside) - 112.0 / 127.0 / 8.0).abs() < 1e-12);
        assert!((between(&outside, &inside) - 112.0 / 127.0 / 8.0).abs() < 1e-12);
    }

    /// Compares the shares of all pairs of hosts with the flows that the generator draws, also where
    /// only some hosts send and receive.
    #[test]
    fn shares_are_what_is_drawn() {
        let racks = Racks::new(&[1, 3, 4]);
        let matrix =
            SpatialMatrix::new(vec![vec![5.0, 1.0, 2.0], vec![1.0, 1.0, 0.0], vec![0.5, 3.0, 2.0]])
                .unwrap();
        let rules = [
            Destinations::Uniform,
            Destinations::OtherRacks(racks.clone()),
            Destinations::RackLocal { racks: racks.clone(), share: 0.7 },
            Destinations::Hotspot { hosts: vec![0, 5], share: 0.4 },
            Destinations::Matrix { matrix: matrix.clone(), racks: racks.clone() },
            Destinations::Pairs((0..8).map(|host| (host, (host + 3) % 8)).collect()),
        ];
        let all: Vec<u32> = (0..8).collect();
        for rule in rules {
            for (sources, destinations) in [
                (&all[..], &all[..]),
                (&[0, 5, 6][..], &[0, 1, 2, 3, 4, 6][..]),
                (&[2, 3][..], &[1, 2, 4][..]),
            ] {
                let mut random = random(rule.clone(), sources, destinations);
                if let Destinations::Matrix { .. } = rule {
                    random.weights = Some(matrix.weights(&racks, &random.sources).unwrap());
                    // Rack 1 sends to racks 0 and 1, so both need a receiver.
                    if sources == [2, 3] {
                        random.destinations = vec![0, 1, 2];
                    }
                }
                let flows =
                    random.generate(&Template::default(), &Draws::new(1, "")).unwrap().flows;
                let shares = Shares::of(&random);
                let mut total = 0.0;
                for &source in sources {
                    for to in (0..8).filter(|to| *to != source) {
                        let share = shares.share(source, to);
                        let of_pair =
                            |flow: &&afflux_net::spec::Flow| (flow.src, flow.dst) == (source, to);
                        let drawn =
                            flows.iter().filter(of_pair).count() as f64 / flows.len() as f64;
                        assert!(
                            (drawn - share).abs() < 0.01,
                            "{rule:?} from {source} to {to}: {drawn} instead of {share}"
                        );
                        assert!(share == 0.0 || shares.receivers().contains(&to));
                        total += share;
                    }
                }
                assert!((total - 1.0).abs() < 1e-9, "{rule:?} of {sources:?}: {total}");
            }
        }
    }
}
